// Privacy filters and odometers: budgets for mechanisms whose parameters may depend on all earlier answers.
//
// Guarantee:     if every cost is true of its mechanism given the answers before it, and a mechanism runs only after
//                try_spend has accepted its cost, then all answers together keep the budget of the filter, however the
//                mechanisms, their costs and the time to stop were chosen. spent_epsilon_at(δ) is an odometer: with
//                probability 1 − δ, the privacy loss is at most its value at all times at once, not only at the end.
//                Composing the usual accountants and stopping when they reach the budget is neither.
// Rounding:      sums of ρ and of Rényi divergences are kept as two doubles that together are never below the exact sum
//                of what was accepted, and above it by less than 2^-104 of itself a step; budgets are rounded down.
//                Sums of ε (SumFilter) and of δ (all filters) are sums of decimals: see ChargeSum, which says by how
//                little the doubles may exceed the budget.
// Implements:    SumFilter: Rogers, Roth, Ullman and Vadhan 2016 (basic composition is a filter).
//                ZcdpFilter: Whitehouse, Ramdas, Rogers and Wu 2023 (approximate zCDP), Feldman and Zrnic 2021.
//                ApproxDpFilter: Whitehouse et al. 2023, Theorem 1: stop before √(2 ln(1/δ') Σε²) + Σε²/2 exceeds ε or
//                Σδ exceeds δ''. It is the zCDP filter with ρ = ε²/2.
//                RdpFilter: for one order, Feldman and Zrnic 2021, Theorem 3.1, and Lécuyer 2021. For several orders
//                the proven form here is by a union bound; see the class.
// Odometers:     e^((α−1) L_t − Σ(α−1) ε_i(α)) is a supermartingale for each order α, so by Ville's inequality L_t
//                stays below Σ ε_i(α) + ln(1/δ_α)/(α−1) at all times, except with probability δ_α; a fixed list of
//                orders shares δ. (That costs a ln of the list's length, which is what validity at all times is known
//                to need.)
// Taking back:   a cost may be taken back if it was accepted and its mechanism never ran and never will. Sums stay at
//                or above those of what is left.
// Thread safety: not thread-safe; one owner at a time. A filter is copied with its State, which is plain data.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "noisefloor/accounting/composition.h"
#include "noisefloor/accounting/decimal_sum.h"
#include "noisefloor/accounting/zcdp.h"
#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"

namespace noisefloor {

// A sum of doubles ≥ 0 that is never below the exact one: high + low, with high the nearest double to it.
struct SumUp {
  double high = 0;
  double low = 0;

  // The sum with one more term. Infinite where it overflows.
  [[nodiscard]] SumUp plus(double term) const;
  [[nodiscard]] bool within(double budget) const { return high < budget || (high == budget && low <= 0); }
  // The sum without one of its terms.
  [[nodiscard]] SumUp minus(double term) const { return std::isfinite(high) ? plus(-term) : *this; }
  // As one double, rounded up.
  [[nodiscard]] double value() const;
  // budget − sum as one double, rounded down, at least 0.
  [[nodiscard]] double remaining_of(double budget) const;
  // Whether it is a state that plus() can have left: finite, not negative, high the nearest double.
  [[nodiscard]] bool is_valid() const;

  friend bool operator==(const SumUp&, const SumUp&) = default;
};

// A sum of charges whose doubles stand for decimals (decimal_sum.h): a hundred charges of 0.1 fit into a budget of 10.
//
// within(B) says that the decimals of all charges add up to at most the decimal of B, or that the doubles add up to at
// most B. Either way the doubles, and these are what mechanisms run with, add up to at most (1 + 2^-52) times the
// decimal of B: that is the promise of a budget. Proof: let u = 2^-53, let x_i and d_i be the double and the decimal of
// a charge, and let D be the decimal of B. In the first case Σ x_i ≤ Σ d_i / (1 − u) ≤ D / (1 − u). In the second case
// Σ x_i ≤ B ≤ D / (1 − u). And 1 / (1 − u) < 1 + 2u.
//
// The second case keeps old histories valid: it is the rule of version 0.1, its sum takes the same steps, and hence it
// accepts whatever was accepted then. The first case alone would not. The double nearest to 1 − 0.7 is the decimal
// 0.30000000000000004; together with 0.7 it fits into 1 by doubles and not by decimals.
struct ChargeSum {
  SumUp binary;
  DecimalSum decimal;

  [[nodiscard]] ChargeSum plus(double term) const { return {binary.plus(term), decimal.plus(term)}; }
  [[nodiscard]] ChargeSum minus(double term) const { return {binary.minus(term), decimal.minus(term)}; }
  [[nodiscard]] bool within(double budget) const {
    return binary.within(budget) || (std::isfinite(binary.high) && decimal.within(budget));
  }
  // As one double that is at least the sum of the doubles.
  [[nodiscard]] double value() const { return binary.value(); }
  // What is left as a decimal; where that is used up, as a double. At least 0. A charge of this size fits.
  [[nodiscard]] double remaining_of(double budget) const {
    return decimal.within(budget) ? decimal.remaining_of(budget) : binary.remaining_of(budget);
  }
  [[nodiscard]] bool is_valid() const { return binary.is_valid() && decimal.is_valid(); }

  friend bool operator==(const ChargeSum&, const ChargeSum&) = default;
};

// ε and δ add up. Its odometer needs no probability: the loss never exceeds Σε (except for failures, of probability
// Σδ).
class SumFilter {
 public:
  struct State {
    ChargeSum epsilon;
    ChargeSum delta;
    friend bool operator==(const State&, const State&) = default;
  };

  [[nodiscard]] static SumFilter create(ApproxDp budget) { return SumFilter(budget); }
  // A filter as it was; refused if the state is not one that this budget allows.
  [[nodiscard]] static Result<SumFilter> restore(ApproxDp budget, const State& state);

  // Accepts and counts the cost, or refuses with kBudgetExhausted and changes nothing.
  [[nodiscard]] Result<void> try_spend(ApproxDp cost);
  void take_back(ApproxDp cost);

  [[nodiscard]] ApproxDp remaining() const;
  // The share of ε that is spent, in [0, 1], for display.
  [[nodiscard]] double spent_share() const { return std::min(1.0, state_.epsilon.value() / budget_.epsilon.value()); }
  // Σε so far. Requires δ to be at least the Σδ so far.
  [[nodiscard]] Result<PrivacyLoss> spent_epsilon_at(Delta delta) const;
  [[nodiscard]] const State& state() const { return state_; }

 private:
  explicit SumFilter(ApproxDp budget) : budget_(budget) {}

  ApproxDp budget_;
  State state_;
};

class ZcdpFilter {
 public:
  struct State {
    SumUp rho;
    ChargeSum delta;
    friend bool operator==(const State&, const State&) = default;
  };

  // All answers together are δ-approximately ρ-zCDP.
  [[nodiscard]] static ZcdpFilter create(ZcdpCost budget) { return ZcdpFilter(budget); }
  [[nodiscard]] static Result<ZcdpFilter> restore(ZcdpCost budget, const State& state);

  [[nodiscard]] Result<void> try_spend(ZcdpCost cost);
  void take_back(ZcdpCost cost);

  [[nodiscard]] ZcdpCost remaining() const;
  // The share of ρ that is spent, in [0, 1], for display.
  [[nodiscard]] double spent_share() const { return state_.rho.value() / budget_.rho.value(); }
  // The odometer, over a list of 64 orders that depends on the budget only. δ pays for the δ of the budget first (so it
  // must be above it): outside of failures of that total probability, and of δ minus it, the loss is at most this.
  [[nodiscard]] Result<PrivacyLoss> spent_epsilon_at(Delta delta) const;
  // What the whole budget amounts to at δ, fixed beforehand: ρ + 2 √(ρ ln(1/(δ − δ_budget))) (Bun and Steinke 2016).
  // A filter, unlike an odometer, pays no more than this.
  [[nodiscard]] Result<PrivacyLoss> budget_epsilon_at(Delta delta) const;
  [[nodiscard]] const State& state() const { return state_; }

 private:
  explicit ZcdpFilter(ZcdpCost budget) : budget_(budget) {}

  ZcdpCost budget_;
  State state_;
};

// (ε, δ)-DP at the rate of advanced composition, constants included.
class ApproxDpFilter {
 public:
  using State = ZcdpFilter::State;

  // The budget is (ε, δ' + δ''): δ' > 0 for the concentration, δ'' for the costs' own δ. The sum of the two is below 1.
  [[nodiscard]] static Result<ApproxDpFilter> create(Epsilon epsilon, Delta concentration, Delta failures);
  [[nodiscard]] static Result<ApproxDpFilter> restore(Epsilon epsilon, Delta concentration, Delta failures,
                                                      const State& state);

  [[nodiscard]] Result<void> try_spend(ApproxDp cost);
  void take_back(ApproxDp cost);

  // The largest (ε, δ) that one more cost may have, up to a relative 1e-15.
  [[nodiscard]] ApproxDp remaining() const;
  // The share of Σε² that is spent, in [0, 1], for display.
  [[nodiscard]] double spent_share() const { return filter_.spent_share(); }
  [[nodiscard]] Result<PrivacyLoss> spent_epsilon_at(Delta delta) const { return filter_.spent_epsilon_at(delta); }
  [[nodiscard]] const State& state() const { return filter_.state(); }

 private:
  explicit ApproxDpFilter(ZcdpFilter filter) : filter_(filter) {}

  ZcdpFilter filter_;
};

// Rényi costs at a fixed list of orders, each above 1; a cost is one number an order, bounding both directions.
//
// Goes on while the sum at one order at least is within that order's share of the budget,
//   B(α) = ε − (ln(m/δ) − ln α)/(α − 1) − ln(1 − 1/α)   for m orders,
// and then everything is (ε, δ)-DP. Proof: which order holds in the end may depend on the answers. But for each α, over
// the outcomes that end within B(α), E[(1 − e^(ε−L))⁺] ≤ α⁻¹ (1 − 1/α)^(α−1) e^((α−1)(B(α)−ε)) = δ/m by the
// supermartingale above, and m of them make δ. With m = 1 nothing is lost. Without the m, "one order is enough" is a
// filter only if that order is named beforehand, which is m = 1.
class RdpFilter {
 public:
  struct State {
    std::vector<SumUp> spent;  // one an order
    friend bool operator==(const State&, const State&) = default;
  };

  // Refused if no order leaves anything to spend. Requires δ > 0 and 1 to 1000 orders.
  [[nodiscard]] static Result<RdpFilter> create(Epsilon epsilon, Delta delta, std::vector<double> orders);
  [[nodiscard]] static Result<RdpFilter> restore(Epsilon epsilon, Delta delta, std::vector<double> orders,
                                                 const State& state);

  // One cost an order, finite or +∞ (nothing is known at that order), none negative.
  [[nodiscard]] Result<void> try_spend(std::span<const double> costs);
  // An order at which an infinite cost was accepted stays unusable.
  void take_back(std::span<const double> costs);

  // What is left at each order; 0 where nothing is. A cost that is within it at one order is accepted.
  [[nodiscard]] std::vector<double> remaining() const;
  // The share that is spent at the order where it is least, in [0, 1], for display.
  [[nodiscard]] double spent_share() const;
  // The least over orders of Σ + ln(m/δ)/(α − 1). Requires δ > 0.
  [[nodiscard]] Result<PrivacyLoss> spent_epsilon_at(Delta delta) const;
  [[nodiscard]] const std::vector<double>& orders() const { return orders_; }
  // What there is to spend at each order; negative where the order is unusable.
  [[nodiscard]] const std::vector<double>& budgets() const { return budgets_; }
  [[nodiscard]] const State& state() const { return state_; }

 private:
  RdpFilter(std::vector<double> orders, std::vector<double> budgets);

  std::vector<double> orders_;
  std::vector<double> budgets_;  // negative where the order is unusable
  State state_;
};

}  // namespace noisefloor
