#include "noisefloor/accounting/composition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "noisefloor/accounting/binomial.h"
#include "noisefloor/base/rounding.h"

namespace noisefloor {
namespace {

// Formulas below are short and free of cancellation: a few dozen roundings of 2^-64, elementary functions included.
constexpr long double kUp = 1 + 0x1p-56L;

// The next double above; infinite where there is none.
double rounded_up(long double value) {
  return value < std::numeric_limits<double>::max() ? next_up(static_cast<double>(value)) : HUGE_VAL;
}

double rounded_down(long double value) { return std::max(0.0, std::nextafter(static_cast<double>(value), -1.0)); }

Result<Delta> delta_below_one(double delta) {
  if (delta < 1) return Delta::make(delta);
  return invalid_argument(
      fmt::format("the deltas add up to {}, which promises nothing; use fewer mechanisms or smaller deltas", delta));
}

Result<void> check_slack(Delta slack) {
  if (slack.value() > 0) return success();
  return invalid_argument("advanced composition needs a delta slack above 0; got 0. Use basic composition");
}

Result<ApproxDp> make_bound(double epsilon, double delta) {
  NF_TRY(const PrivacyLoss loss, PrivacyLoss::make(epsilon));
  NF_TRY(const Delta total, delta_below_one(delta));
  return ApproxDp{loss, total};
}

Result<void> check_count(Steps count) {
  if (count.value() <= kMaxTrials) return success();
  return invalid_argument(
      fmt::format("optimal composition takes up to 2^40 mechanisms; got {}. Use advanced composition", count.value()));
}

// k binary randomized responses: the truth j times of k has loss (2j − k) ε₀, with probability Bin(k, p)(j).
class Responses {
 public:
  // Above 11000 the probability of a lie is set to e^-11000 instead of less, which moves no result by 1e-4000.
  Responses(double epsilon, std::uint64_t count)
      : epsilon_(epsilon),
        law_{count, 1 / (1 + std::exp(-std::min<long double>(epsilon, 11000))),
             1 / (1 + std::exp(std::min<long double>(epsilon, 11000)))},
        step_(-std::expm1(-2 * epsilon_)) {}

  // (2j − k) ε₀ − shift, within 2^-61 of itself: the product of two doubles is held exactly.
  [[nodiscard]] long double loss(std::uint64_t j, long double shift = 0) const {
    const long double times = 2 * static_cast<long double>(j) - static_cast<long double>(law_.trials);
    const long double product = times * epsilon_;
    return (product - shift) + std::fma(times, epsilon_, -product);
  }

  // δ(ε) = Σ P(j) (1 − e^(ε − loss)) over losses above ε. All terms are positive and none is got by subtraction, so
  // the relative error is at most 8 · 2^-63 a step.
  [[nodiscard]] Interval delta_at(double epsilon) const {
    const std::uint64_t k = law_.trials;
    if (epsilon_ == 0 || loss(k, epsilon) <= 0) return {0, 0};
    // The least j with a loss above ε; the guess is off by rounding only.
    const long double guess = (epsilon / epsilon_ + static_cast<long double>(k)) / 2;
    auto first = static_cast<std::uint64_t>(std::min(guess, static_cast<long double>(k)));
    while (first > 0 && loss(first - 1, epsilon) > 0) --first;
    while (loss(first, epsilon) <= 0) ++first;

    // What is left out below the window is at most 2^-80 of the rest: the factors 1 − e^(ε − loss) grow with j.
    const CountWindow window = window_of(law_, -80 * std::numbers::ln2_v<long double>);
    const std::uint64_t start = std::max(first, window.first);
    const LogProbability reference = log_probability(law_, start);
    if (reference.value < -11000) return {0, std::numeric_limits<double>::denorm_min()};
    long double probability = std::exp(reference.value);
    long double factor = -std::expm1(-loss(start, epsilon));
    long double sum = probability * factor;
    long double rest = 0;
    std::uint64_t j = start;
    for (; j < k; ++j) {
      const long double ratio = law_.ratio_after(j);
      if (ratio < 1) {
        rest = probability * ratio / (1 - ratio);
        if (rest <= std::ldexp(sum, -70)) break;
      }
      probability *= ratio;
      factor = factor * (1 - step_) + step_;
      sum += probability * factor;
      rest = 0;
    }
    const long double error = std::ldexp(static_cast<long double>(j - start) + 64, -60) + 2 * reference.error;
    return {rounded_down(sum * (1 - error)), std::min(1.0, rounded_up((sum + rest) * (1 + error)))};
  }

  // The ε with δ(ε) in [low, high], 0 < low ≤ high. From the largest loss down, with for each j
  //   tail = Σ P(i),  divergence = δ(loss(j)),  other = Σ P(i) e^(loss(j) − loss(i)) over i ≥ j,
  // and between two losses δ(loss(j) − t) = divergence + (1 − e^-t) other.
  [[nodiscard]] Interval epsilon_at(long double low, long double high) const {
    const std::uint64_t k = law_.trials;
    if (epsilon_ == 0) return {0, 0};
    const CountWindow upper = window_of(law_, std::log(low) - 50);
    const CountWindow lower = window_of(law_, -60);
    const LogProbability reference = log_probability(law_, upper.last);
    const std::uint64_t stop = std::min(lower.first, upper.last);
    const long double error = std::ldexp(static_cast<long double>(upper.last - stop) + 64, -60) + 2 * reference.error;
    // What lies above the window is less than e^-50 low.
    const long double target_low = low * (1 - error - 0x1p-70L);
    const long double target_high = high * (1 + error);

    Interval result{0, 0};
    bool have_upper = false;
    long double probability = std::exp(reference.value);
    long double tail = probability;
    long double divergence = 0;
    long double other = probability;
    std::uint64_t j = upper.last;
    // One more than the truth may hold in rounding of loss and t.
    const long double slack = std::ldexp(loss(k), -60);
    const auto solve = [&](long double target) {
      const long double share = std::clamp((target - divergence) / other, 0.0L, step_);
      return share >= 1 ? 0.0L : loss(j) + std::log1p(-share);
    };
    while (2 * j > k) {  // a loss above 0
      const long double next = step_ * tail + (1 - step_) * divergence;
      if (!have_upper && next >= target_low) {
        result.upper = rounded_up(std::max(0.0L, solve(target_low) * kUp) + 0x1p-60L * epsilon_);
        have_upper = true;
      }
      if (next >= target_high) {
        result.lower = rounded_down(solve(target_high) / kUp - 0x1p-60L * epsilon_);
        break;
      }
      if (j == stop) {
        // Only a δ within rounding of 1 gets here. δ(loss(j)) is below it, and that is all.
        if (!have_upper) result.upper = rounded_up(loss(j) + slack);
        break;
      }
      divergence = next;
      probability /= law_.ratio_after(j - 1);
      tail += probability;
      other = probability + (1 - step_) * other;
      --j;
    }
    // No loss can exceed k ε₀.
    result.upper = std::min(result.upper, times_up(static_cast<double>(k), static_cast<double>(epsilon_)));
    result.lower = std::min(result.lower, result.upper);
    return result;
  }

 private:
  long double epsilon_;
  BinomialLaw law_;
  long double step_;  // 1 − e^(−2ε₀)
};

}  // namespace

Result<ApproxDp> basic_composition(std::span<const ApproxDp> parts) {
  double epsilon = 0;
  double delta = 0;
  for (const ApproxDp& part : parts) {
    epsilon = add_up(epsilon, part.epsilon.value());
    delta = add_up(delta, part.delta.value());
  }
  return make_bound(epsilon, delta);
}

Result<ApproxDp> basic_composition(ApproxDp part, Steps count) {
  // A count above 2^53 may have been rounded down.
  const auto times = static_cast<double>(count.value());
  const double k = count.value() <= (std::uint64_t{1} << 53) ? times : next_up(times);
  return make_bound(times_up(k, part.epsilon.value()), times_up(k, part.delta.value()));
}

Result<ApproxDp> advanced_composition(ApproxDp part, Steps count, Delta slack) {
  NF_TRY_VOID(check_slack(slack));
  NF_TRY(const ApproxDp basic, basic_composition(part, count));
  const auto k = static_cast<long double>(count.value());
  const long double e = part.epsilon.value();
  const long double formula =
      e * std::sqrt(-2 * k * std::log(static_cast<long double>(slack.value()))) + k * e * std::expm1(e);
  const bool usable = formula < std::numeric_limits<double>::max() / 4;
  return make_bound(e == 0 ? 0 : (usable ? rounded_up(formula * kUp) : basic.epsilon.value()),
                    add_up(basic.delta.value(), slack.value()));
}

Result<ApproxDp> advanced_composition(std::span<const ApproxDp> parts, Delta slack) {
  NF_TRY_VOID(check_slack(slack));
  const long double d = slack.value();
  long double sum = 0;
  long double mean = 0;
  long double squares = 0;
  long double log_success = std::log1p(-d);
  for (const ApproxDp& part : parts) {
    const long double e = part.epsilon.value();
    sum += e;
    mean += e * std::tanh(e / 2);  // (e^ε − 1)/(e^ε + 1), without overflow
    squares += e * e;
    log_success += std::log1p(-static_cast<long double>(part.delta.value()));
  }
  const long double plain = std::sqrt(-2 * squares * std::log(d));
  const long double refined =
      std::sqrt(2 * squares * std::log(std::numbers::e_v<long double> + std::sqrt(squares) / d));
  const long double epsilon = std::min(sum, mean + std::min(plain, refined));
  // Sums of many parts round once a part.
  const long double up = kUp + std::ldexp(static_cast<long double>(parts.size()), -60);
  return make_bound(epsilon == 0 ? 0 : rounded_up(epsilon * up), rounded_up(-std::expm1(log_success * up)));
}

Result<Interval> optimal_composition_delta(ApproxDp part, Steps count, PrivacyLoss epsilon) {
  NF_TRY_VOID(check_count(count));
  const Interval pure = Responses(part.epsilon.value(), count.value()).delta_at(epsilon.value());
  if (part.delta.value() == 0) return pure;
  // 1 − (1 − δ₀)^k (1 − δ).
  const long double log_success =
      static_cast<long double>(count.value()) * std::log1p(-static_cast<long double>(part.delta.value()));
  const long double lower = -std::expm1((log_success + std::log1p(-static_cast<long double>(pure.lower))) / kUp);
  const long double upper = -std::expm1((log_success + std::log1p(-static_cast<long double>(pure.upper))) * kUp);
  return Interval{rounded_down(lower / kUp), std::min(1.0, rounded_up(upper * kUp))};
}

Result<Interval> optimal_composition_epsilon(ApproxDp part, Steps count, Delta delta) {
  NF_TRY_VOID(check_count(count));
  const auto k = static_cast<long double>(count.value());
  // What is left for the pure part: 1 − (1 − δ)/(1 − δ₀)^k.
  const long double total = std::log1p(-static_cast<long double>(delta.value()));
  const long double spent = k * std::log1p(-static_cast<long double>(part.delta.value()));
  const long double error = part.delta.value() == 0 ? 0 : std::ldexp(std::fabs(total) + std::fabs(spent), -60);
  const long double low = -std::expm1(total - spent + error) / kUp;
  const long double high = -std::expm1(total - spent - error) * kUp;
  if (high < 0) {
    return invalid_argument(fmt::format(
        "{} mechanisms with delta {} each fail with probability {:.6g}; no epsilon reaches delta {}. Ask for more",
        count.value(), part.delta.value(), static_cast<double>(-std::expm1(spent)), delta.value()));
  }
  const double all = times_up(static_cast<double>(count.value()), part.epsilon.value());
  if (!std::isfinite(all)) {
    return invalid_argument(fmt::format("{} mechanisms of epsilon {} exceed all numbers; use smaller epsilons",
                                        count.value(), part.epsilon.value()));
  }
  const Responses responses(part.epsilon.value(), count.value());
  if (high == 0) return Interval{std::nextafter(all, 0.0), all};
  if (low <= 0) return Interval{responses.epsilon_at(high, high).lower, all};
  return responses.epsilon_at(low, high);
}

}  // namespace noisefloor
