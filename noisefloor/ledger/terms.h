// What a budget promises, and what a use of it costs: the vocabulary of the ledger.
//
// A budget is a total (ε, δ) for one kind of neighbours and one privacy unit, with a rule for adding up costs. A planned
// one exists only if the certified ε of the whole plan is within the total.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/accounting/rule.h"
#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"

namespace noisefloor {

// One use that was fixed in advance, up to `times` times.
struct PlanItem {
  std::string name;
  DpEvent event;
  Steps times;
};

// Milliseconds since 1970, UTC.
using TimeMs = std::int64_t;

struct BudgetTerms {
  std::string name;
  Epsilon epsilon;
  Delta delta;
  Adjacency adjacency;
  PrivacyUnit unit;
  Rule rule;
  // The part of δ that uses may spend as a δ of their own, for the rules zcdp, rdp and approx-dp; the rest is what the
  // filter itself needs. In [0, 1).
  double failures;
  double rho = 0;                   // of zcdp: the whole budget, from account.h's zcdp_budget_of
  std::vector<double> orders = {};  // of rdp
  std::vector<PlanItem> plan = {};  // of planned
  std::string parent = {};          // or empty
  std::optional<TimeMs> from = {};  // uses before it are refused
  std::optional<TimeMs> until = {};
};

// The largest name, key or purpose, in bytes.
inline constexpr std::size_t kMaxName = 200;
inline constexpr std::size_t kMaxPlanItems = 10'000;
inline constexpr std::size_t kMaxOrders = 64;

// Not empty, at most kMaxName bytes of UTF-8, no control characters. `what` names it in the error.
[[nodiscard]] Result<void> check_name(std::string_view what, std::string_view text);

// The share of δ for failures and the orders that a rule starts from.
[[nodiscard]] double default_failures(Rule rule);
[[nodiscard]] std::vector<double> default_budget_orders();

// What one use costs under a rule. `amounts` is ε for basic and approx-dp, ρ for zcdp, one divergence an order for rdp
// (+∞ where nothing is known), and nothing for planned.
struct Charge {
  std::vector<double> amounts;
  double delta = 0;
  friend bool operator==(const Charge&, const Charge&) = default;
};

}  // namespace noisefloor
