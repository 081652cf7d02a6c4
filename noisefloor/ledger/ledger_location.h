// Where a ledger, its key and its witnesses are, and how programs open it: to read, to write, to spend from it, or to
// make it where there is none.
//
//   const LedgerLocation here{"study.ledger", "study.ledger.key", {"/mnt/other/study.witness"}};
//   NF_TRY(const OpenedLedger opened, open_to_pay(here, {terms, allowed, "…"}, outlook));
//
// Guarantee:     a ledger that a witness knows is not made anew where its file is missing: it was lost, and the refusal
//                names it. A ledger that was rolled back, as its fence, this machine's counters or its witnesses know,
//                is opened neither to write nor to look ahead, except for its adoption. Nothing is made for uses that
//                are refused without a ledger.
// Thread safety: as the ledger's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/ledger/outlook.h"

namespace noisefloor {

struct LedgerLocation {
  std::string place;                        // a path, or postgresql://…
  std::string key_file;                     // not needed to read
  std::vector<std::string> witnesses = {};  // asked beside those that the ledger's entries name (witness_place.h)
};

// What was stated, or NOISEFLOOR_LEDGER, or noisefloor.ledger.
[[nodiscard]] std::string usual_place(const std::string& stated);
// What was stated, or NOISEFLOOR_LEDGER_KEY, or the file's name with .key; empty for PostgreSQL, where no name is
// usual.
[[nodiscard]] std::string usual_key_file(const std::string& stated, const std::string& place);

// Whether there is a ledger at that place, or a key to one in PostgreSQL.
[[nodiscard]] bool is_there(const LedgerLocation& location);

enum class OpenFor : std::uint8_t {
  kWriting,
  kMending,  // an adoption, or witnesses that are dropped: also if it was rolled back
};
[[nodiscard]] Result<std::unique_ptr<Ledger>> open_to_write(const LedgerLocation& location,
                                                            OpenFor purpose = OpenFor::kWriting);
// Does not ask the guards: whoever only looks may look at a copy.
[[nodiscard]] Result<std::unique_ptr<Ledger>> open_to_read(const LedgerLocation& location);
// For a look at what a use would be told, by the member whose key lies there: an analyst's rights and quota count.
// Without a key, or where the ledger cannot be written, it looks as whoever owns the ledger would.
[[nodiscard]] Result<std::unique_ptr<Ledger>> open_to_look_ahead(const LedgerLocation& location);

// The ledger, made with a new key if there is none. Witnesses that are files are then made, too.
struct OpenedLedger {
  std::unique_ptr<Ledger> ledger;
  bool is_new;
};
[[nodiscard]] Result<OpenedLedger> open_or_create(const LedgerLocation& location);

// A budget that uses need and that may not be there.
struct WantedBudget {
  BudgetTerms terms;
  bool may_be_made;    // and the ledger, too
  std::string remedy;  // for the refusal, in the words of the front end: how to allow for it
};
// The ledger that is to pay. Unless it may be made, neither a ledger nor a budget is made: the refusal says what would
// be. Uses that the budget would not allow for leave no ledger behind.
using AskOutlook = std::function<Result<Outlook>(Ledger*)>;
[[nodiscard]] Result<OpenedLedger> open_to_pay(const LedgerLocation& location, const WantedBudget& budget,
                                               const AskOutlook& outlook);
// The outlook on the ledger, which is only read, or on none if there is none.
[[nodiscard]] Result<Outlook> outlook_at(const LedgerLocation& location, const AskOutlook& outlook);

}  // namespace noisefloor
