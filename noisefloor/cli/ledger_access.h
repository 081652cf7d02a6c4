// Which ledger a command works on, and its key.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger_location.h"

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

// ledger/ledger_location.h, with the place, the key and the witnesses that the options name.
[[nodiscard]] Result<std::unique_ptr<Ledger>> open_to_write(const LedgerAccess& access,
                                                            OpenFor purpose = OpenFor::kWriting);
[[nodiscard]] Result<std::unique_ptr<Ledger>> open_to_read(const LedgerAccess& access);
[[nodiscard]] Result<std::unique_ptr<Ledger>> open_to_look_ahead(const LedgerAccess& access);
[[nodiscard]] bool ledger_is_there(const LedgerAccess& access);
[[nodiscard]] Result<OpenedLedger> open_or_create(const LedgerAccess& access);
// For uses of the dataset which `file` describes.
[[nodiscard]] Result<OpenedLedger> open_to_pay(const LedgerAccess& access, bool create, const BudgetTerms& if_new,
                                               const std::string& file, const AskOutlook& outlook);
[[nodiscard]] Result<Outlook> outlook_at(const LedgerAccess& access, const AskOutlook& outlook);

}  // namespace noisefloor::cli
