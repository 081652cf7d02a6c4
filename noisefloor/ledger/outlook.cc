#include "noisefloor/ledger/outlook.h"

#include <chrono>
#include <utility>

#include "noisefloor/ledger/ledger.h"
#include "noisefloor/ledger/reserving.h"

namespace noisefloor {

Result<Outlook> outlook_of(std::span<const ReserveRequest> uses, const BudgetTerms& if_new, Ledger* ledger,
                           Repeats repeats) {
  if (ledger != nullptr) return ledger->outlook(uses, if_new, repeats);
  const TimeMs time =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  LedgerState empty;
  NF_TRY_VOID(empty.apply({0, time, GenesisEntry{}}));
  NF_TRY(internal::Rehearsal rehearsed, internal::rehearse(std::move(empty), time, uses, if_new, repeats));
  return std::move(rehearsed.outlook);
}

Result<void> expect_fits(const Outlook& outlook) {
  if (outlook.fits) return success();
  return budget_exhausted(outlook.refusal);
}

}  // namespace noisefloor
