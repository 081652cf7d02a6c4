#include "noisefloor/accounting/filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "noisefloor/base/rounding.h"

namespace noisefloor {
namespace {

// Short formulas without cancellation, in long double.
constexpr long double kUp = 1 + 0x1p-56L;

// high + low as nearest double and exact remainder (Knuth).
SumUp two_sum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

Error exhausted(std::string_view what, double asked, double left) {
  return budget_exhausted(
      fmt::format("this costs {} {:.6g}, and {:.6g} is left; ask for less or get a larger budget", what, asked, left));
}

Error bad_state() {
  return invalid_argument("the saved state of the filter does not fit its budget; restore it with the budget it had");
}

// Requires 0 ≤ value. Never above it.
double rounded_down(long double value) { return std::max(0.0, std::nextafter(static_cast<double>(value / kUp), -1.0)); }

Result<PrivacyLoss> loss_rounded_up(long double value) {
  if (value == 0) return PrivacyLoss::make(0);
  const long double largest = std::numeric_limits<double>::max();
  if (value * kUp >= largest) return invalid_argument("the epsilon spent is too large for a number; use more noise");
  return PrivacyLoss::make(next_up(static_cast<double>(value * kUp)));
}

// δ minus what the failures may take, as ln(1/·), rounded up.
Result<long double> log_inverse_of_rest(Delta delta, Delta failures) {
  // The δ of uses may exceed the decimal of their budget by 2^-52 of it (ChargeSum).
  const long double most = static_cast<long double>(failures.value()) * (1 + 0x1p-51L);
  const long double rest = static_cast<long double>(delta.value()) - most;
  if (rest > 0) return -std::log(rest) * kUp;
  return invalid_argument(
      fmt::format("delta must be above {}, which mechanisms may fail with; got {}", failures.value(), delta.value()));
}

}  // namespace

SumUp SumUp::plus(double term) const {
  const SumUp sum = two_sum(high, term);
  if (!std::isfinite(sum.high)) return {HUGE_VAL, 0};
  // The only rounding, upwards and of the small part.
  return two_sum(sum.high, add_up(sum.low, low));
}

double SumUp::value() const { return low > 0 ? next_up(high) : high; }

double SumUp::remaining_of(double budget) const {
  if (!within(budget)) return 0;
  // −add_up(high − budget, low) with both roundings upwards.
  return std::max(0.0, -add_up(add_up(high, -budget), low));
}

bool SumUp::is_valid() const {
  return std::isfinite(high) && std::isfinite(low) && high >= 0 && high + low == high && (high > 0 || low == 0);
}

// --- Sums ------------------------------------------------------------------------------------------------------------

Result<SumFilter> SumFilter::restore(ApproxDp budget, const State& state) {
  const bool fits = state.epsilon.is_valid() && state.delta.is_valid() &&
                    state.epsilon.within(budget.epsilon.value()) && state.delta.within(budget.delta.value());
  if (!fits) return bad_state();
  SumFilter filter(budget);
  filter.state_ = state;
  return filter;
}

Result<void> SumFilter::try_spend(ApproxDp cost) {
  const State next{state_.epsilon.plus(cost.epsilon.value()), state_.delta.plus(cost.delta.value())};
  if (!next.epsilon.within(budget_.epsilon.value())) {
    return exhausted("epsilon", cost.epsilon.value(), remaining().epsilon.value());
  }
  if (!next.delta.within(budget_.delta.value())) {
    return exhausted("delta", cost.delta.value(), remaining().delta.value());
  }
  state_ = next;
  return success();
}

void SumFilter::take_back(ApproxDp cost) {
  state_ = {state_.epsilon.minus(cost.epsilon.value()), state_.delta.minus(cost.delta.value())};
}

ApproxDp SumFilter::remaining() const {
  return {PrivacyLoss::make(state_.epsilon.remaining_of(budget_.epsilon.value())).value(),
          Delta::make(state_.delta.remaining_of(budget_.delta.value())).value()};
}

Result<PrivacyLoss> SumFilter::spent_epsilon_at(Delta delta) const {
  if (!state_.delta.within(delta.value())) {
    return invalid_argument(
        fmt::format("mechanisms with a total delta of {} were run; ask at that delta or above, not at {}",
                    state_.delta.value(), delta.value()));
  }
  return PrivacyLoss::make(state_.epsilon.value());
}

// --- zCDP ------------------------------------------------------------------------------------------------------------

Result<ZcdpFilter> ZcdpFilter::restore(ZcdpCost budget, const State& state) {
  const bool fits = state.rho.is_valid() && state.delta.is_valid() && state.rho.within(budget.rho.value()) &&
                    state.delta.within(budget.delta.value());
  if (!fits) return bad_state();
  ZcdpFilter filter(budget);
  filter.state_ = state;
  return filter;
}

Result<void> ZcdpFilter::try_spend(ZcdpCost cost) {
  const State next{state_.rho.plus(cost.rho.value()), state_.delta.plus(cost.delta.value())};
  if (!next.rho.within(budget_.rho.value())) return exhausted("rho", cost.rho.value(), remaining().rho.value());
  if (!next.delta.within(budget_.delta.value())) {
    return exhausted("delta", cost.delta.value(), remaining().delta.value());
  }
  state_ = next;
  return success();
}

void ZcdpFilter::take_back(ZcdpCost cost) {
  state_ = {state_.rho.minus(cost.rho.value()), state_.delta.minus(cost.delta.value())};
}

ZcdpCost ZcdpFilter::remaining() const {
  return {Rho::make(state_.rho.remaining_of(budget_.rho.value())).value(),
          Delta::make(state_.delta.remaining_of(budget_.delta.value())).value()};
}

Result<PrivacyLoss> ZcdpFilter::spent_epsilon_at(Delta delta) const {
  NF_TRY(const long double log_inverse, log_inverse_of_rest(delta, budget_.delta));
  const long double spent = state_.rho.value();
  if (spent == 0) return PrivacyLoss::make(0);
  // The orders are best for ρ = budget · 2^-i, at a nominal δ of 10^-6: they may not depend on what was spent. Order i
  // has the share 1/(i + 1)(i + 2) of δ; these add up to less than 1. So the odometer is tight near the whole budget.
  constexpr int kOrders = 64;
  const long double nominal = std::log(1e6L);
  long double best = HUGE_VALL;
  for (int i = 0; i < kOrders; ++i) {
    const long double rho =
        std::max<long double>(std::ldexp(static_cast<long double>(budget_.rho.value()), -i), 1e-300L);
    const long double excess = std::sqrt(nominal / rho);  // α − 1
    const long double shares = static_cast<long double>(i + 1) * static_cast<long double>(i + 2);
    best = std::min(best, (1 + excess) * spent + (log_inverse + std::log(shares)) / excess);
  }
  return loss_rounded_up(best);
}

Result<PrivacyLoss> ZcdpFilter::budget_epsilon_at(Delta delta) const {
  NF_TRY(const long double log_inverse, log_inverse_of_rest(delta, budget_.delta));
  const long double rho = budget_.rho.value();
  return loss_rounded_up(rho + 2 * std::sqrt(rho * log_inverse));
}

// --- (ε, δ) ----------------------------------------------------------------------------------------------------------

namespace {

// The ρ at which ρ + 2 √(ρ ln(1/δ')) is ε: ε²/(√(L + ε) + √L)², rounded down.
Result<ZcdpCost> zcdp_budget(Epsilon epsilon, Delta concentration, Delta failures) {
  if (!(concentration.value() > 0)) {
    return invalid_argument("advanced composition needs a delta above 0 for concentration; got 0. Use a SumFilter");
  }
  if (!(add_up(concentration.value(), failures.value()) < 1)) {
    return invalid_argument(
        fmt::format("the two deltas {} and {} add up to 1 or more", concentration.value(), failures.value()));
  }
  const long double e = epsilon.value();
  const long double log_inverse = -std::log(static_cast<long double>(concentration.value())) * kUp;
  const long double root = e / (std::sqrt(log_inverse + e) + std::sqrt(log_inverse));
  NF_TRY(const Rho rho, Rho::make(rounded_down(root * root / kUp)));
  return ZcdpCost{rho, failures};
}

// ε²/2, rounded up: ε-DP is ε²/2-zCDP (Bun and Steinke 2016, Proposition 1.4).
double rho_of(double epsilon) {
  const double square = times_up(epsilon, epsilon);
  // Halving is exact, except for the least numbers, where the remainder of the square is not seen either.
  return square < 1e-280 && epsilon > 0 ? next_up(square / 2) : square / 2;
}

}  // namespace

Result<ApproxDpFilter> ApproxDpFilter::create(Epsilon epsilon, Delta concentration, Delta failures) {
  NF_TRY(const ZcdpCost budget, zcdp_budget(epsilon, concentration, failures));
  return ApproxDpFilter(ZcdpFilter::create(budget));
}

Result<ApproxDpFilter> ApproxDpFilter::restore(Epsilon epsilon, Delta concentration, Delta failures,
                                               const State& state) {
  NF_TRY(const ZcdpCost budget, zcdp_budget(epsilon, concentration, failures));
  NF_TRY(ZcdpFilter filter, ZcdpFilter::restore(budget, state));
  return ApproxDpFilter(filter);
}

Result<void> ApproxDpFilter::try_spend(ApproxDp cost) {
  const double rho = rho_of(cost.epsilon.value());
  const ApproxDp left = remaining();
  if (!std::isfinite(rho)) return exhausted("epsilon", cost.epsilon.value(), left.epsilon.value());
  NF_TRY(const Rho spent, Rho::make(rho));
  if (filter_.try_spend({spent, cost.delta}).has_value()) return success();
  if (cost.delta > left.delta) return exhausted("delta", cost.delta.value(), left.delta.value());
  return exhausted("epsilon", cost.epsilon.value(), left.epsilon.value());
}

void ApproxDpFilter::take_back(ApproxDp cost) {
  filter_.take_back({Rho::make(rho_of(cost.epsilon.value())).value(), cost.delta});
}

ApproxDp ApproxDpFilter::remaining() const {
  const ZcdpCost left = filter_.remaining();
  const double epsilon = std::sqrt(2 * left.rho.value());
  return {PrivacyLoss::make(std::max(0.0, epsilon * (1 - 0x1p-51))).value(), left.delta};
}

// --- Rényi -----------------------------------------------------------------------------------------------------------

RdpFilter::RdpFilter(std::vector<double> orders, std::vector<double> budgets)
    : orders_(std::move(orders)), budgets_(std::move(budgets)), state_{std::vector<SumUp>(orders_.size())} {}

Result<RdpFilter> RdpFilter::create(Epsilon epsilon, Delta delta, std::vector<double> orders) {
  if (!(delta.value() > 0)) return invalid_argument("a Renyi filter needs a delta above 0; got 0. Use a SumFilter");
  if (orders.empty() || orders.size() > 1000) {
    return invalid_argument(fmt::format("a Renyi filter takes 1 to 1000 orders; got {}", orders.size()));
  }
  std::vector<double> budgets;
  bool useful = false;
  for (double order : orders) {
    if (!(order > 1) || !std::isfinite(order)) {
      return invalid_argument(fmt::format("Renyi orders must be finite and above 1; got {}", order));
    }
    const long double a = order;
    const long double log_share = std::log(static_cast<long double>(orders.size()) / delta.value());
    // Each term is rounded by less than 2^-60 of its size.
    const std::array<long double, 2> terms = {(log_share - std::log(a)) / (a - 1), std::log1p(-1 / a)};
    const long double size = epsilon.value() + (log_share + std::log(a)) / (a - 1) + std::fabs(terms[1]);
    const long double budget = epsilon.value() - terms[0] - terms[1] - size * 0x1p-58L;
    budgets.push_back(budget < 0 ? -1 : rounded_down(budget));
    useful = useful || budgets.back() > 0;
  }
  if (!useful) {
    return invalid_argument(
        fmt::format("epsilon {} at delta {} leaves nothing at any of the orders; use larger orders or a larger budget",
                    epsilon.value(), delta.value()));
  }
  return RdpFilter(std::move(orders), std::move(budgets));
}

Result<RdpFilter> RdpFilter::restore(Epsilon epsilon, Delta delta, std::vector<double> orders, const State& state) {
  NF_TRY(RdpFilter filter, create(epsilon, delta, std::move(orders)));
  if (state.spent.size() != filter.orders_.size()) return bad_state();
  bool within = false;
  for (std::size_t i = 0; i < state.spent.size(); ++i) {
    const bool infinite = state.spent[i] == SumUp{HUGE_VAL, 0};
    if (!infinite && !state.spent[i].is_valid()) return bad_state();
    within = within || state.spent[i].within(filter.budgets_[i]);
  }
  if (!within) return bad_state();
  filter.state_ = state;
  return filter;
}

Result<void> RdpFilter::try_spend(std::span<const double> costs) {
  if (costs.size() != orders_.size()) {
    return invalid_argument(fmt::format("the filter has {} orders; got {} costs", orders_.size(), costs.size()));
  }
  State next;
  next.spent.reserve(costs.size());
  bool within = false;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (!(costs[i] >= 0)) return invalid_argument(fmt::format("a Renyi cost must be 0 or above; got {}", costs[i]));
    next.spent.push_back(std::isfinite(state_.spent[i].high) ? state_.spent[i].plus(costs[i]) : state_.spent[i]);
    within = within || next.spent.back().within(budgets_[i]);
  }
  if (!within) {
    return budget_exhausted(
        "this costs more than is left at every Renyi order of the filter; ask for less or get a larger budget");
  }
  state_ = std::move(next);
  return success();
}

void RdpFilter::take_back(std::span<const double> costs) {
  for (std::size_t i = 0; i < costs.size() && i < state_.spent.size(); ++i) {
    state_.spent[i] = state_.spent[i].minus(costs[i]);
  }
}

std::vector<double> RdpFilter::remaining() const {
  std::vector<double> left;
  for (std::size_t i = 0; i < orders_.size(); ++i) left.push_back(state_.spent[i].remaining_of(budgets_[i]));
  return left;
}

double RdpFilter::spent_share() const {
  double least = 1;
  for (std::size_t i = 0; i < orders_.size(); ++i) {
    if (budgets_[i] > 0) least = std::min(least, state_.spent[i].value() / budgets_[i]);
  }
  return least;
}

Result<PrivacyLoss> RdpFilter::spent_epsilon_at(Delta delta) const {
  if (!(delta.value() > 0)) return invalid_argument("Renyi costs need a delta above 0 to be read as epsilon; got 0");
  const long double log_share = std::log(static_cast<long double>(orders_.size()) / delta.value());
  long double best = HUGE_VALL;
  bool anything = false;
  for (std::size_t i = 0; i < orders_.size(); ++i) {
    const long double spent = state_.spent[i].value();
    anything = anything || spent > 0;
    best = std::min(best, spent + log_share / (static_cast<long double>(orders_[i]) - 1));
  }
  return loss_rounded_up(anything ? best : 0);
}

}  // namespace noisefloor
