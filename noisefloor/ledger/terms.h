// The vocabulary of the ledger: what a budget promises, and what a use of it costs.
//
// A budget is a total (ε, δ) for one kind of neighbours and one privacy unit, with a rule for adding up costs. A
// planned budget exists only if the certified ε of the whole plan is within the total.
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
#include "noisefloor/ledger/blocks.h"

namespace noisefloor {

// A use that was fixed in advance and may be made up to `times` times.
struct PlanItem {
  std::string name;
  DpEvent event;
  Steps times;
};

// Milliseconds since 1970, UTC.
using TimeMs = std::int64_t;

// Writes "2026-03-01T12:00:00.000Z", for any time. Reads a date, or a date and a time in UTC.
[[nodiscard]] std::string show_time(TimeMs time);
[[nodiscard]] Result<TimeMs> parse_time(const std::string& text);

struct BudgetTerms {
  std::string name;
  Epsilon epsilon;
  Delta delta;
  Adjacency adjacency;
  PrivacyUnit unit;
  Rule rule;
  // The part of δ that uses may spend as a δ of their own, for the rules zcdp, rdp and approx-dp; the filter itself
  // needs the rest. In [0, 1).
  double failures;
  double rho = 0;                   // for zcdp: the whole budget, from account.h's zcdp_budget_of
  std::vector<double> orders = {};  // for rdp
  std::vector<PlanItem> plan = {};  // for planned
  std::string parent = {};          // or empty
  std::optional<TimeMs> from = {};  // earlier uses are refused
  std::optional<TimeMs> until = {};
  // The budget holds for each block of a growing dataset by itself, and new blocks bring new budget (blocks.h).
  std::optional<BlockTerms> blocks = {};
};

// The largest name, key or purpose, in bytes.
inline constexpr std::size_t kMaxName = 200;
inline constexpr std::size_t kMaxPlanItems = 10'000;
inline constexpr std::size_t kMaxOrders = 64;

// Checks a new name: printable UTF-8 (base/printable.h) of 1 to kMaxName bytes, without a space at either end. The
// error calls it `what`, and names the character that is refused.
[[nodiscard]] Result<void> check_name(std::string_view what, std::string_view text);
// Checks a name that a ledger holds already: UTF-8 of 1 to kMaxName bytes without U+0000 to U+001F and U+007F. Version
// 0.1 allowed no less and no more, and what it wrote stays readable; such names are shown written out.
[[nodiscard]] Result<void> check_kept_name(std::string_view what, std::string_view text);

// The share of δ for failures and the orders that a rule starts from.
[[nodiscard]] double default_failures(Rule rule);
[[nodiscard]] std::vector<double> default_budget_orders();

// The cost of one use under a rule. `amounts` is ε for basic and approx-dp, ρ for zcdp, one divergence for each order
// for rdp (+∞ where nothing is known), and empty for planned.
struct Charge {
  std::vector<double> amounts;
  double delta = 0;
  friend bool operator==(const Charge&, const Charge&) = default;
};

}  // namespace noisefloor
