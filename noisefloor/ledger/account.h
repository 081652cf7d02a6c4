// Keeps count of how much of one budget is spent: a privacy filter with the budget's terms. It does no I/O.
//
// Guarantee:     if every accepted charge holds for its use (those of charge_for do, for the events that it is given),
//                then all uses together are (ε, δ)-DP with the ε and δ of the terms: however they were chosen under an
//                adaptive rule, and whichever of the planned ones were made under `planned`. A refused charge changes
//                nothing.
// Rounding:      costs up, budgets down, except for sums of decimals: the ε of the rule basic, and the δ that uses
//                spend as their own under every rule, may exceed the stated ones by less than 2^-50 (filters.h).
//                "(ε, δ) of the terms" above means these.
// Implements:    filters.h. For rdp with failures: a mechanism that is δᵢ-approximately Rényi-DP differs from a
//                Rényi-DP one with probability δᵢ at most, given the past; Σδᵢ ≤ failures · δ whatever was chosen, and
//                the filter over the others takes the rest of δ.
// Thread safety: not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "noisefloor/accounting/filters.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/ledger/terms.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor {

// Checks ranges and whatever the rule needs; for planned, also that all items together are within the total. Names may
// be those of an existing ledger (check_kept_name).
[[nodiscard]] Result<void> check_terms(const BudgetTerms& terms);

// The largest ρ that is (ε, δ)-DP for the part of δ that is not for failures, found once when a zcdp budget is made.
[[nodiscard]] Result<Rho> zcdp_budget_of(const BudgetTerms& terms);

// The certified ε at the budget's δ of all items of a plan, each done as often as it may be.
[[nodiscard]] Result<Interval> plan_epsilon(const BudgetTerms& terms);

// The cost of `event` under the rule. Under basic and approx-dp, a use that has no pure ε needs a δ of its own. Under
// planned, the cost is nothing: the plan has paid.
[[nodiscard]] Result<Charge> charge_for(const BudgetTerms& terms, const DpEvent& event, std::optional<Delta> delta);

class Account {
 public:
  // Requires terms that check_terms accepts.
  [[nodiscard]] static Result<Account> open(const BudgetTerms& terms);

  // Counts the charge, or refuses with kBudgetExhausted and changes nothing. `item` is the plan's item for planned, and
  // empty otherwise.
  [[nodiscard]] Result<void> spend(const Charge& charge, const std::string& item);
  // Takes back a charge that was accepted for a use that never began and never will.
  [[nodiscard]] Result<void> take_back(const Charge& charge, const std::string& item);
  [[nodiscard]] bool fits(const Charge& charge, const std::string& item) const;

  // What remains, in the rule's own measure, as text for people: "rho 0.12 and delta 1e-6", "2 of 3 of 'mean age'".
  [[nodiscard]] std::string left() const;
  // The part of the budget that is spent, in [0, 1]. It is a part of ε for basic, of ρ for zcdp and approx-dp, of the
  // divergence at the best order for rdp, and of the items for planned.
  [[nodiscard]] double spent_share() const;
  // The δ that uses have spent as their own.
  [[nodiscard]] double failures_spent() const;
  // The ε spent so far at δ, valid at all times at once. Not available for planned, whose uses are composed from their
  // events.
  [[nodiscard]] Result<PrivacyLoss> odometer(Delta delta) const;
  // How often an item of the plan may still be used; nothing if there is no such item.
  [[nodiscard]] std::optional<std::uint64_t> item_left(const std::string& item) const;

 private:
  struct Planned {
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> items;  // name → (used, times)
  };
  struct Renyi {
    RdpFilter filter;
    ChargeSum failures;
    double failures_budget;
  };
  using Filter = std::variant<Planned, SumFilter, ApproxDpFilter, ZcdpFilter, Renyi>;

  explicit Account(Filter filter) : filter_(std::move(filter)) {}

  Filter filter_;
};

}  // namespace noisefloor
