// Which ledger a command works on, and its key.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"

namespace CLI {
class App;
}

namespace noisefloor::cli {

struct LedgerAccess {
  std::string ledger;
  std::string key_file;
  std::vector<std::string> witnesses;

  void add_to(CLI::App& command, bool writes, bool with_witnesses);
};

inline constexpr const char* kSignerHelp =
    "Whose signature you believe: a public key, or a file with a key and a name on each line; may be repeated";

// --ledger, or NOISEFLOOR_LEDGER, or noisefloor.ledger.
[[nodiscard]] std::string location_of(const LedgerAccess& access);
// --key-file, or NOISEFLOOR_LEDGER_KEY, or the ledger's name with .key.
[[nodiscard]] Result<std::string> key_file_of(const LedgerAccess& access);

[[nodiscard]] Result<std::unique_ptr<Ledger>> open_to_write(const LedgerAccess& access);
[[nodiscard]] Result<std::unique_ptr<Ledger>> open_to_read(const LedgerAccess& access);

// Whether there is a ledger at that place, or a key to one in PostgreSQL.
[[nodiscard]] bool ledger_is_there(const LedgerAccess& access);

// The ledger, made with a new key if there is none.
struct OpenedLedger {
  std::unique_ptr<Ledger> ledger;
  bool is_new;
};
[[nodiscard]] Result<OpenedLedger> open_or_create(const LedgerAccess& access);

// The ledger that is to pay for uses of the dataset which `file` describes. Unless `create` is set, neither a ledger
// nor a budget is made: the refusal says what would be. Uses that the budget would not allow for leave no ledger
// behind.
using AskOutlook = std::function<Result<Outlook>(Ledger*)>;
[[nodiscard]] Result<OpenedLedger> open_to_pay(const LedgerAccess& access, bool create, const BudgetTerms& if_new,
                                               const std::string& file, const AskOutlook& outlook);
// The outlook on the ledger, which is only read, or on none if there is none.
[[nodiscard]] Result<Outlook> outlook_at(const LedgerAccess& access, const AskOutlook& outlook);

}  // namespace noisefloor::cli
