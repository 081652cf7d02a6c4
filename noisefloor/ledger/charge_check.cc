#include "noisefloor/ledger/charge_check.h"

#include <fmt/format.h>

#include <cmath>

#include "noisefloor/base/text.h"
#include "noisefloor/event/json.h"
#include "noisefloor/ledger/account.h"

namespace noisefloor::internal {

Result<Charge> charge_due(const BudgetTerms& terms, const ReserveEntry& e) {
  NF_TRY(const DpEvent event, parse_event(e.event));
  std::optional<Delta> delta;
  if (e.delta) {
    NF_TRY(delta, Delta::make(*e.delta));
  }
  if (terms.rule == Rule::kPlanned) {
    for (const PlanItem& item : terms.plan) {
      if (item.name == e.item && item.event != event) {
        return invalid_argument(fmt::format("the item {} was planned with another event", shown(e.item)));
      }
    }
  }
  return charge_for(terms, event, delta);
}

Result<void> check_charged(const Charge& charged, const Result<Charge>& due) {
  if (!due.has_value()) {
    return verification_failed(fmt::format("its cost cannot be recomputed: {}", due.error().message));
  }
  const Charge& cost = due.value();
  bool enough = charged.amounts.size() == cost.amounts.size() && charged.delta * kSameCharge >= cost.delta;
  for (std::size_t i = 0; enough && i < cost.amounts.size(); ++i) {
    enough = charged.amounts[i] * kSameCharge >= cost.amounts[i] || charged.amounts[i] == HUGE_VAL;
  }
  if (enough) return success();
  return verification_failed(fmt::format("it was charged less than its event costs ({:.10g} instead of {:.10g})",
                                         charged.amounts.empty() ? charged.delta : charged.amounts[0],
                                         cost.amounts.empty() ? cost.delta : cost.amounts[0]));
}

}  // namespace noisefloor::internal
