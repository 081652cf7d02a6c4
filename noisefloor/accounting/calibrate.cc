#include "noisefloor/accounting/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "noisefloor/accounting/pld.h"

namespace noisefloor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Searches for where an increasing function crosses the target, on logarithms of both. Each evaluation is a whole
// composition, so that few of them matter more than elegance.
class Search {
 public:
  // `evaluate` gives the certified ε at a parameter; `rising` is whether it grows with the parameter.
  Search(double target, bool rising, std::function<Result<Interval>(double)> evaluate)
      : target_(target), rising_(rising), evaluate_(std::move(evaluate)) {}

  // The best parameter in [low, high] whose ε is at most the target, within `tolerance` relatively or `distance`
  // absolutely; nothing if there is none. `start` is a first guess.
  Result<std::optional<double>> solve(double low, double high, double start, double tolerance, double distance = 0) {
    // good_ is always acceptable, bad_ never; between them lies the answer.
    double good_end = rising_ ? low : high;
    double bad_end = rising_ ? high : low;
    double guess = std::clamp(start, low, high);
    double factor = 4;
    while (!good_ || !bad_) {
      NF_TRY_VOID(look(guess));
      if (good_ && bad_) break;
      const double end = good_ ? bad_end : good_end;
      if (guess == end) break;
      const bool up = end > guess;
      guess = up ? std::min(guess * factor, end) : std::max(guess / factor, end);
      factor *= factor;
    }
    if (!good_) return std::optional<double>();
    if (!bad_) return std::optional<double>(good_->parameter);
    const auto is_open = [&] {
      return std::fabs(std::log(bad_->parameter / good_->parameter)) > tolerance &&
             std::fabs(bad_->parameter - good_->parameter) > distance;
    };
    for (int i = 0; i < 60 && is_open(); ++i) {
      NF_TRY_VOID(look(next_guess(i, std::max(tolerance, distance / good_->parameter))));
    }
    return std::optional<double>(good_->parameter);
  }

 private:
  struct Point {
    double parameter;
    double log_ratio;  // ln(ε/target)
  };

  Result<void> look(double parameter) {
    NF_TRY(const Interval epsilon, evaluate_(parameter));
    const Point point{parameter, std::log(std::max(epsilon.upper, 1e-300) / target_)};
    (epsilon.upper <= target_ ? good_ : bad_) = point;
    return success();
  }

  // The secant between the two ends, a little to the side that is still missing so that the interval closes from both;
  // every third time the middle, in case the function is bent.
  [[nodiscard]] double next_guess(int round, double tolerance) const {
    const double a = std::log(good_->parameter);
    const double b = std::log(bad_->parameter);
    const double span = bad_->log_ratio - good_->log_ratio;
    double share = -good_->log_ratio / span;
    if (round % 3 == 2 || !std::isfinite(share) || good_->log_ratio < -50) share = 0.5;
    // Steps of this size towards either end bracket the root once it is nearly found.
    const double nudge = std::min(0.25, 0.4 * tolerance / std::fabs(b - a));
    share += round % 2 == 0 ? -nudge : nudge;
    return std::exp(a + std::clamp(share, nudge, 1 - nudge) * (b - a));
  }

  double target_;
  bool rising_;
  std::function<Result<Interval>(double)> evaluate_;
  std::optional<Point> good_;
  std::optional<Point> bad_;
};

// An event that cannot be accounted for at some parameter is as bad as an infinite ε there.
Result<Interval> epsilon_or_infinity(const DpEvent& event, const Target& target) {
  const Result<Interval> found = pld_epsilon(event, target.adjacency, target.delta);
  return found.has_value() ? found.value() : Interval{0, kInfinity};
}

Error not_reached(const Target& target, std::string_view what) {
  return invalid_argument(
      fmt::format("{} reaches epsilon {} at delta {}", what, target.epsilon.value(), target.delta.value()));
}

}  // namespace

Result<Calibrated<NoiseMultiplier>> calibrate_noise(const Target& target,
                                                    const std::function<DpEvent(NoiseMultiplier)>& event_with) {
  // What is wrong with the event at any noise is an error of its own.
  NF_TRY_VOID(pld_epsilon(event_with(NoiseMultiplier::of(1)), target.adjacency, target.delta));
  Search search(target.epsilon.value(), /*rising=*/false, [&](double z) -> Result<Interval> {
    NF_TRY(const NoiseMultiplier multiplier, NoiseMultiplier::make(z));
    return epsilon_or_infinity(event_with(multiplier), target);
  });
  NF_TRY(const std::optional<double> found, search.solve(1e-3, 1e6, 1.0, 1e-7));
  if (!found) return not_reached(target, "no noise multiplier up to 1e6");
  NF_TRY(const NoiseMultiplier multiplier, NoiseMultiplier::make(*found));
  NF_TRY(const Interval epsilon, pld_epsilon(event_with(multiplier), target.adjacency, target.delta));
  return Calibrated<NoiseMultiplier>{multiplier, epsilon};
}

Result<Calibrated<Steps>> calibrate_steps(const Target& target, const std::function<DpEvent(Steps)>& event_with) {
  NF_TRY(const Interval one, pld_epsilon(event_with(Steps::of(1)), target.adjacency, target.delta));
  if (one.upper > target.epsilon.value()) {
    return invalid_argument(fmt::format("one step alone costs epsilon {:.6g}, above {}: use more noise", one.upper,
                                        target.epsilon.value()));
  }
  const auto at = [&](double count) -> Result<Interval> {
    NF_TRY(const Steps steps, Steps::make(static_cast<std::uint64_t>(count)));
    return epsilon_or_infinity(event_with(steps), target);
  };
  constexpr double most = 0x1p40;
  Search search(target.epsilon.value(), /*rising=*/true, [&](double count) { return at(std::floor(count)); });
  NF_TRY(const std::optional<double> found, search.solve(1, most, 100, 1e-12, 1));
  double best = std::floor(found.value_or(1));
  // The search ends within a step or two.
  for (int i = 0; i < 4; ++i) {
    NF_TRY(const Interval more, at(best + 1));
    if (best + 1 > most || more.upper > target.epsilon.value()) break;
    best += 1;
  }
  NF_TRY(const Steps steps, Steps::make(static_cast<std::uint64_t>(best)));
  NF_TRY(const Interval epsilon, pld_epsilon(event_with(steps), target.adjacency, target.delta));
  return Calibrated<Steps>{steps, epsilon};
}

Result<Calibrated<SamplingRate>> calibrate_rate(const Target& target,
                                                const std::function<DpEvent(SamplingRate)>& event_with) {
  NF_TRY_VOID(pld_epsilon(event_with(SamplingRate::of(0.01)), target.adjacency, target.delta));
  Search search(target.epsilon.value(), /*rising=*/true, [&](double q) -> Result<Interval> {
    NF_TRY(const SamplingRate rate, SamplingRate::make(q));
    return epsilon_or_infinity(event_with(rate), target);
  });
  NF_TRY(const std::optional<double> found, search.solve(1e-9, 1, 0.01, 1e-7));
  if (!found) return not_reached(target, "no sampling rate from 1e-9 on");
  NF_TRY(const SamplingRate rate, SamplingRate::make(*found));
  NF_TRY(const Interval epsilon, pld_epsilon(event_with(rate), target.adjacency, target.delta));
  return Calibrated<SamplingRate>{rate, epsilon};
}

}  // namespace noisefloor
