#include "noisefloor/federated/round_budget.h"

#include "noisefloor/crypto/hash.h"

namespace noisefloor::federated {

Result<BudgetAnswer> LedgerBudget::reserve(const std::string& key, const DpStatement& statement) {
  ReserveRequest request{.budget = budget_, .key = key, .statement = statement, .delta = delta_};
  auto reserved = ledger_.reserve(request);
  if (!reserved.has_value()) {
    if (reserved.error().code == ErrorCode::kBudgetExhausted) return BudgetAnswer::kExhausted;
    return reserved.error();
  }
  Reservation reservation = std::move(reserved).value();
  if (reservation.earlier_release()) return BudgetAnswer::kBegunBefore;
  reservation.begin();
  // If this is interrupted, the next call reserves the same again, and nothing was drawn in between.
  NF_TRY_VOID(ledger_.commit(reservation.sequence(), blake2b(key)));
  return BudgetAnswer::kGranted;
}

}  // namespace noisefloor::federated
