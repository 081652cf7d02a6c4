#include "noisefloor/ledger/account.h"
#include "noisefloor/numerics/bisect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/accounting/rdp.h"
#include "noisefloor/accounting/zcdp.h"
#include "noisefloor/base/check.h"
#include "noisefloor/base/overloaded.h"
#include "noisefloor/base/text.h"
#include "noisefloor/ledger/block_accounts.h"

namespace noisefloor {
namespace {

// The two parts of δ. The first is a decimal where δ and the share are simple ones, so that decimals add up to it; the
// second is rounded down. Both together exceed δ by less than 2^-51 of it.
double failures_of(const BudgetTerms& terms) { return terms.delta.value() * terms.failures; }
double concentration_of(const BudgetTerms& terms) { return terms.delta.value() * (1 - terms.failures) * (1 - 0x1p-50); }

DpEvent event_of(const std::vector<PlanItem>& plan) {
  std::vector<DpEvent> events;
  events.reserve(plan.size());
  for (const PlanItem& item : plan) events.emplace_back(SelfComposedEvent{item.times, item.event});
  return ComposedEvent{std::move(events)};
}

Result<void> check_plan(const BudgetTerms& terms) {
  if (terms.plan.empty()) {
    return invalid_argument("a planned budget needs at least one item: state the uses that are planned");
  }
  if (terms.plan.size() > kMaxPlanItems) {
    return invalid_argument(fmt::format("a plan has at most {} items; got {}. Use `times` for equal items",
                                        kMaxPlanItems, terms.plan.size()));
  }
  std::set<std::string_view> names;
  for (const PlanItem& item : terms.plan) {
    NF_TRY_VOID(check_kept_name("the name of an item", item.name));
    if (!names.insert(item.name).second) {
      return invalid_argument(
          fmt::format("the plan has two items {}: give each its own name, or use `times`", shown(item.name)));
    }
    if (contains<NonPrivateEvent>(item.event)) {
      return invalid_argument(fmt::format("the item {} is not private: no budget covers it", shown(item.name)));
    }
  }
  NF_TRY(const Interval epsilon, plan_epsilon(terms));
  if (epsilon.upper > terms.epsilon.value()) {
    return budget_exhausted(fmt::format(
        "the plan costs epsilon {:.6g} at delta {:.3g}, and the budget is {:.6g}: plan fewer uses or more noise",
        epsilon.upper, terms.delta.value(), terms.epsilon.value()));
  }
  return success();
}

Result<void> check_orders(const BudgetTerms& terms) {
  if (terms.orders.empty() || terms.orders.size() > kMaxOrders) {
    return invalid_argument(fmt::format("the rule rdp needs 1 to {} orders; got {}", kMaxOrders, terms.orders.size()));
  }
  for (std::size_t i = 0; i < terms.orders.size(); ++i) {
    if (!(terms.orders[i] > 1 && terms.orders[i] <= 1e6) || (i > 0 && terms.orders[i] <= terms.orders[i - 1])) {
      return invalid_argument(
          fmt::format("orders must be above 1, at most 1e6, and increasing; got {}", terms.orders[i]));
    }
  }
  return success();
}

Error needs_delta(const DpEvent& event) {
  return invalid_argument(fmt::format(
      "a use of kind {} has no epsilon at delta 0: state the delta that it may spend, or use a budget with the rule "
      "zcdp, rdp or planned",
      kind_name(event)));
}

Error needs_positive_delta(Rule rule) {
  return invalid_argument(fmt::format("the rule {} needs a delta above 0: use basic for pure budgets", name_of(rule)));
}

Result<double> only_amount(const Charge& charge) {
  if (charge.amounts.size() != 1) return invalid_argument("a charge does not fit the rule of its budget");
  return charge.amounts[0];
}

Result<ZcdpCost> zcdp_of(const Charge& charge) {
  NF_TRY(const double amount, only_amount(charge));
  NF_TRY(const Rho rho, Rho::make(amount));
  NF_TRY(const Delta delta, Delta::make(charge.delta));
  return ZcdpCost{rho, delta};
}

Result<ApproxDp> approx_dp_of(const Charge& charge) {
  NF_TRY(const double amount, only_amount(charge));
  NF_TRY(const PrivacyLoss epsilon, PrivacyLoss::make(amount));
  NF_TRY(const Delta delta, Delta::make(charge.delta));
  return ApproxDp{epsilon, delta};
}

}  // namespace

Result<Rho> zcdp_budget_of(const BudgetTerms& terms) {
  if (terms.delta.value() == 0) return needs_positive_delta(terms.rule);
  NF_TRY(const Delta delta, Delta::make(concentration_of(terms)));
  const auto within = [&](double rho) -> Result<bool> {
    NF_TRY(const Rho candidate, Rho::make(rho));
    // ρ-zCDP means the same for all neighbours.
    NF_TRY(const RenyiEpsilon found, renyi_epsilon(ZcdpEvent{candidate, Delta::of(0)}, Adjacency::kAddRemove, delta));
    return found.epsilon <= terms.epsilon.value();
  };
  // ρ = (√(L + ε) − √L)² with L = ln(1/δ) is within the budget; 2^16 times as much is beyond it.
  const double l = -std::log(delta.value());
  const double epsilon = terms.epsilon.value();
  const double root = epsilon / (std::sqrt(l + epsilon) + std::sqrt(l));
  const double low = root * root * (1 - 1e-9);
  NF_TRY(const bool fits, within(low));
  if (!fits) return internal_error("the closed form of a zCDP budget exceeds the budget");
  NF_TRY(const Bracket found, try_bisect({low, low * 0x1p16}, {.halvings = 100, .relative = 1e-12}, within));
  return Rho::make(found.holds);
}

Result<void> check_terms(const BudgetTerms& terms) {
  NF_TRY_VOID(check_kept_name("the name of a budget", terms.name));
  if (!terms.parent.empty()) NF_TRY_VOID(check_kept_name("the name of a parent", terms.parent));
  if (!(terms.failures >= 0 && terms.failures < 1)) {
    return invalid_argument(fmt::format("the share of delta for failures must be in [0, 1); got {}", terms.failures));
  }
  if (terms.from && terms.until && *terms.from >= *terms.until) {
    return invalid_argument("the time of a budget must begin before it ends: correct one of the two");
  }
  const bool filtered = terms.rule == Rule::kZcdp || terms.rule == Rule::kRdp || terms.rule == Rule::kApproxDp;
  if (filtered && terms.delta.value() == 0) return needs_positive_delta(terms.rule);
  if (terms.rule == Rule::kRdp) NF_TRY_VOID(check_orders(terms));
  if (terms.rule == Rule::kPlanned) NF_TRY_VOID(check_plan(terms));
  if (terms.blocks) NF_TRY_VOID(internal::check_blocked_terms(terms));
  NF_TRY(const Account account, Account::open(terms));
  return success();
}

Result<Interval> plan_epsilon(const BudgetTerms& terms) {
  return pld_epsilon(event_of(terms.plan), terms.adjacency, terms.delta);
}

Result<Charge> charge_for(const BudgetTerms& terms, const DpEvent& event, std::optional<Delta> delta) {
  if (contains<NonPrivateEvent>(event)) {
    return invalid_argument("this use is not private: no budget covers it");
  }
  switch (terms.rule) {
    case Rule::kPlanned:
      return Charge{};
    case Rule::kZcdp: {
      NF_TRY(const ZcdpCost cost, zcdp_cost(event, terms.adjacency));
      return Charge{{cost.rho.value()}, cost.delta.value()};
    }
    case Rule::kRdp: {
      Charge charge;
      NF_TRY(const std::vector<RenyiBound> bounds, renyi_bounds(event, terms.adjacency, terms.orders));
      for (const RenyiBound& bound : bounds) {
        charge.amounts.push_back(bound.divergence);
        charge.delta = std::max(charge.delta, bound.delta);
      }
      return charge;
    }
    case Rule::kApproxDp:
    case Rule::kBasic: {
      const Delta own = delta.value_or(Delta::of(0));
      const Result<Interval> epsilon = pld_epsilon(event, terms.adjacency, own);
      if (!epsilon.has_value()) return delta ? epsilon.error() : needs_delta(event);
      return Charge{{epsilon.value().upper}, own.value()};
    }
  }
  NF_UNREACHABLE("a rule outside the closed list");
}

Result<Account> Account::open(const BudgetTerms& terms) {
  switch (terms.rule) {
    case Rule::kPlanned: {
      Planned planned;
      for (const PlanItem& item : terms.plan) planned.items[item.name] = {0, item.times.value()};
      return Account(std::move(planned));
    }
    case Rule::kBasic: {
      NF_TRY(const PrivacyLoss epsilon, PrivacyLoss::make(terms.epsilon.value()));
      return Account(SumFilter::create(ApproxDp{epsilon, terms.delta}));
    }
    case Rule::kApproxDp: {
      NF_TRY(const Delta concentration, Delta::make(concentration_of(terms)));
      NF_TRY(const Delta failures, Delta::make(failures_of(terms)));
      NF_TRY(ApproxDpFilter filter, ApproxDpFilter::create(terms.epsilon, concentration, failures));
      return Account(filter);
    }
    case Rule::kZcdp: {
      NF_TRY(const Rho rho, Rho::make(terms.rho));
      NF_TRY(const Delta failures, Delta::make(failures_of(terms)));
      return Account(ZcdpFilter::create(ZcdpCost{rho, failures}));
    }
    case Rule::kRdp: {
      NF_TRY(const Delta concentration, Delta::make(concentration_of(terms)));
      NF_TRY(RdpFilter filter, RdpFilter::create(terms.epsilon, concentration, terms.orders));
      return Account(Renyi{std::move(filter), ChargeSum{}, failures_of(terms)});
    }
  }
  NF_UNREACHABLE("a rule outside the closed list");
}

Result<void> Account::spend(const Charge& charge, const std::string& item) {
  return std::visit(
      Overloaded{[&](Planned& planned) -> Result<void> {
                   const auto place = planned.items.find(item);
                   if (place == planned.items.end()) {
                     return invalid_argument(fmt::format("the plan has no item {}", shown(item)));
                   }
                   auto& [used, times] = place->second;
                   if (used >= times) {
                     return budget_exhausted(fmt::format("the plan allows {} {} time{}, and all are used", shown(item),
                                                         times, times == 1 ? "" : "s"));
                   }
                   ++used;
                   return success();
                 },
                 [&](ZcdpFilter& filter) -> Result<void> {
                   NF_TRY(const ZcdpCost cost, zcdp_of(charge));
                   return filter.try_spend(cost);
                 },
                 [&](Renyi& renyi) -> Result<void> {
                   const ChargeSum failures = renyi.failures.plus(charge.delta);
                   if (!failures.within(renyi.failures_budget)) {
                     return budget_exhausted(fmt::format("delta {:.6g} asked for, {:.6g} left", charge.delta,
                                                         renyi.failures.remaining_of(renyi.failures_budget)));
                   }
                   NF_TRY_VOID(renyi.filter.try_spend(charge.amounts));
                   renyi.failures = failures;
                   return success();
                 },
                 [&](auto& filter) -> Result<void> {  // filters of (ε, δ)
                   NF_TRY(const ApproxDp cost, approx_dp_of(charge));
                   return filter.try_spend(cost);
                 }},
      filter_);
}

Result<void> Account::take_back(const Charge& charge, const std::string& item) {
  return std::visit(Overloaded{[&](Planned& planned) -> Result<void> {
                                 const auto place = planned.items.find(item);
                                 if (place == planned.items.end() || place->second.first == 0) {
                                   return internal_error("a planned use that was not made cannot be taken back");
                                 }
                                 --place->second.first;
                                 return success();
                               },
                               [&](ZcdpFilter& filter) -> Result<void> {
                                 NF_TRY(const ZcdpCost cost, zcdp_of(charge));
                                 filter.take_back(cost);
                                 return success();
                               },
                               [&](Renyi& renyi) -> Result<void> {
                                 renyi.filter.take_back(charge.amounts);
                                 renyi.failures = renyi.failures.minus(charge.delta);
                                 return success();
                               },
                               [&](auto& filter) -> Result<void> {
                                 NF_TRY(const ApproxDp cost, approx_dp_of(charge));
                                 filter.take_back(cost);
                                 return success();
                               }},
                    filter_);
}

bool Account::fits(const Charge& charge, const std::string& item) const {
  Account copy = *this;
  return copy.spend(charge, item).has_value();
}

std::string Account::left() const {
  return std::visit(
      Overloaded{[](const Planned& planned) {
                   std::uint64_t used = 0;
                   std::uint64_t all = 0;
                   for (const auto& [name, counts] : planned.items) used += counts.first, all += counts.second;
                   return fmt::format("{} of {} planned uses", all - used, all);
                 },
                 [](const ZcdpFilter& filter) {
                   const ZcdpCost left = filter.remaining();
                   return fmt::format("rho {:.6g} and delta {:.3g} for failures", left.rho.value(), left.delta.value());
                 },
                 [](const Renyi& renyi) {
                   const std::vector<double> left = renyi.filter.remaining();
                   const std::vector<double>& budgets = renyi.filter.budgets();
                   std::size_t best = 0;
                   std::size_t useful = 0;
                   double share = 0;  // what is left, at the order where it is the most
                   for (std::size_t i = 0; i < left.size(); ++i) {
                     if (!(left[i] > 0)) continue;
                     ++useful;
                     if (left[i] / budgets[i] > share) best = i, share = left[i] / budgets[i];
                   }
                   if (useful == 0) return std::string("nothing");
                   return fmt::format("{:.6g} of {:.6g} in Renyi divergence at order {:g}{}", left[best], budgets[best],
                                      renyi.filter.orders()[best],
                                      useful == 1 ? "" : fmt::format(", something at {} others", useful - 1));
                 },
                 [](const auto& filter) {
                   const ApproxDp left = filter.remaining();
                   return fmt::format("epsilon {:.6g} and delta {:.3g}", left.epsilon.value(), left.delta.value());
                 }},
      filter_);
}

double Account::spent_share() const {
  return std::visit(Overloaded{[](const Planned& planned) {
                                 double used = 0;
                                 double all = 0;
                                 for (const auto& [name, counts] : planned.items) {
                                   used += static_cast<double>(counts.first);
                                   all += static_cast<double>(counts.second);
                                 }
                                 return all == 0 ? 0 : used / all;
                               },
                               [](const SumFilter& filter) { return filter.spent_share(); },
                               [](const ApproxDpFilter& filter) { return filter.spent_share(); },
                               [](const ZcdpFilter& filter) { return filter.spent_share(); },
                               [](const Renyi& renyi) { return renyi.filter.spent_share(); }},
                    filter_);
}

double Account::failures_spent() const {
  return std::visit(Overloaded{[](const Planned& /*planned*/) { return 0.0; },
                               [](const Renyi& renyi) { return renyi.failures.value(); },
                               [](const auto& filter) { return filter.state().delta.value(); }},
                    filter_);
}

Result<PrivacyLoss> Account::odometer(Delta delta) const {
  return std::visit(
      Overloaded{[](const Planned& /*planned*/) -> Result<PrivacyLoss> {
                   return internal_error("a planned budget has no odometer: its cost is composed from its events");
                 },
                 [&](const Renyi& renyi) -> Result<PrivacyLoss> {
                   NF_TRY(const Delta rest,
                          Delta::make(std::max(0.0, (delta.value() - renyi.failures.value()) * (1 - 0x1p-50))));
                   return renyi.filter.spent_epsilon_at(rest);
                 },
                 [&](const auto& filter) -> Result<PrivacyLoss> { return filter.spent_epsilon_at(delta); }},
      filter_);
}

std::optional<std::uint64_t> Account::item_left(const std::string& item) const {
  const auto* planned = std::get_if<Planned>(&filter_);
  if (planned == nullptr) return std::nullopt;
  const auto place = planned->items.find(item);
  if (place == planned->items.end()) return std::nullopt;
  return place->second.second - place->second.first;
}

}  // namespace noisefloor
