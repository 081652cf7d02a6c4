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

// An event that cannot be accounted for at some parameter is as bad as an infinite ε there, and proves nothing.
Interval epsilon_or_nothing(const DpEvent& event, const Target& target) {
  const Result<Interval> found = pld_epsilon(event, target.adjacency, target.delta);
  return found.has_value() ? found.value() : Interval{0, kInfinity};
}

// Searches for where an increasing function crosses the target, on logarithms of both. Each evaluation is a whole
// composition, so that few of them matter more than elegance.
class Search {
 public:
  struct Found {
    double value;
    Interval epsilon;
    double limit;
  };

  // `evaluate` gives the certified ε at a parameter; `rising` is whether it grows with the parameter.
  Search(double target, bool rising, std::function<Interval(double)> evaluate)
      : target_(target), rising_(rising), evaluate_(std::move(evaluate)) {}

  // The best parameter in [low, high] whose ε is at most the target, within `tolerance` relatively, or the best whole
  // number; nothing if there is none. `start` is a first guess.
  std::optional<Found> solve(double low, double high, double start, double tolerance, bool whole = false) {
    whole_ = whole;
    // good_ is always acceptable, bad_ never; between them lies the answer.
    const double good_end = rising_ ? low : high;
    const double bad_end = rising_ ? high : low;
    double guess = std::clamp(start, low, high);
    double factor = 4;
    while (!good_ || !bad_) {
      look(guess);
      if (good_ && bad_) break;
      const double end = good_ ? bad_end : good_end;
      if (guess == end) break;
      const bool up = end > guess;
      guess = up ? std::min(rounded(guess * factor), end) : std::max(rounded(guess / factor), end);
      factor *= factor;
    }
    if (!good_) return std::nullopt;
    if (!bad_) return Found{good_->parameter, good_->epsilon, bad_end};
    for (int i = 0; i < 100 && is_open(tolerance); ++i) {
      const double next = rounded(next_guess(i, whole ? 1 / good_->parameter : tolerance));
      const auto [least, most] = std::minmax(good_->parameter, bad_->parameter);
      look(next > least && next < most ? next : rounded(std::sqrt(least) * std::sqrt(most)));
    }
    return Found{good_->parameter, good_->epsilon, limit(bad_end, tolerance)};
  }

 private:
  struct Point {
    double parameter;
    double log_ratio;  // ln(ε/target)
    Interval epsilon;
  };

  [[nodiscard]] double rounded(double parameter) const {
    if (!whole_) return parameter;
    // Towards what is acceptable, but beyond it.
    const double down = std::floor(parameter);
    return good_ && down <= good_->parameter ? good_->parameter + 1 : down;
  }
  [[nodiscard]] bool is_open(double tolerance) const {
    if (whole_) return std::fabs(bad_->parameter - good_->parameter) > 1;
    return std::fabs(std::log(bad_->parameter / good_->parameter)) > tolerance;
  }
  [[nodiscard]] bool is_beyond(double a, double b) const { return rising_ ? a > b : a < b; }

  // Returns whether ε is above the target for certain, here and at everything beyond.
  bool look(double parameter) {
    const Interval epsilon = evaluate_(parameter);
    const Point point{parameter, std::log(std::max(epsilon.upper, 1e-300) / target_), epsilon};
    if (epsilon.upper <= target_) {
      if (!good_ || is_beyond(parameter, good_->parameter)) good_ = point;
    } else if (!bad_ || is_beyond(bad_->parameter, parameter)) {
      bad_ = point;
    }
    const bool proved = epsilon.lower > target_;
    if (proved && (!proved_ || is_beyond(*proved_, parameter))) proved_ = parameter;
    return proved;
  }

  // The parameter next to the answer at which ε is above the target for certain: what is beyond it is worse. Whole
  // numbers: the last one that may still do.
  [[nodiscard]] double limit(double bad_end, double tolerance) {
    const double here = good_->parameter;
    const double sign = rising_ ? 1 : -1;
    const auto at = [&](double gap) {
      const double there = whole_ ? here + std::ceil(here * gap) : here * (1 + sign * gap);
      return is_beyond(there, bad_end) ? bad_end : there;
    };
    const auto gap_of = [&](double there) { return std::fabs(there - here) / here; };
    double open = 0;                                 // nothing is proved here
    double gap = whole_ ? 1 / here : 5 * tolerance;  // the next to try
    while (!proved_ || gap_of(*proved_) > gap * 1.01) {
      const double there = at(gap);
      if (look(there)) break;
      open = gap;
      if (there == bad_end) return bad_end;
      gap = std::max(gap * 16, whole_ ? 2 / here : 0);
    }
    // Between a gap that proves nothing and one that does.
    for (int i = 0; i < 6 && open > 0 && gap_of(*proved_) > 1.2 * open; ++i) {
      const double middle = std::sqrt(open * gap_of(*proved_));
      if (whole_ && at(middle) >= *proved_) break;
      if (!look(at(middle))) open = middle;
    }
    return whole_ ? *proved_ - 1 : *proved_;
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
  bool whole_ = false;
  std::function<Interval(double)> evaluate_;
  std::optional<Point> good_;
  std::optional<Point> bad_;
  std::optional<double> proved_;
};

Error not_reached(const Target& target, std::string_view what) {
  return invalid_argument(
      fmt::format("{} reaches epsilon {} at delta {}", what, target.epsilon.value(), target.delta.value()));
}

constexpr double kTolerance = 1e-7;

template <class T>
Result<Calibrated<T>> calibrated(const Search::Found& found) {
  const auto made = [](double number) { return T::make(static_cast<typename T::Value>(number)); };
  NF_TRY(const T value, made(found.value));
  NF_TRY(const T limit, made(found.limit));
  return Calibrated<T>{value, found.epsilon, limit};
}

// The largest whole number up to `most`; nothing if 1 is too many.
template <class T>
std::optional<Search::Found> largest_count(const Target& target, double most,
                                           const std::function<DpEvent(T)>& event_with) {
  Search search(target.epsilon.value(), /*rising=*/true, [&](double count) {
    return epsilon_or_nothing(event_with(T::make(static_cast<std::uint64_t>(count)).value()), target);
  });
  return search.solve(1, most, 100, 0, /*whole=*/true);
}

}  // namespace

Result<Calibrated<NoiseMultiplier>> calibrate_noise(const Target& target,
                                                    const std::function<DpEvent(NoiseMultiplier)>& event_with) {
  // What is wrong with the event at any noise is an error of its own.
  NF_TRY(const Interval at_one, pld_epsilon(event_with(NoiseMultiplier::of(1)), target.adjacency, target.delta));
  Search search(target.epsilon.value(), /*rising=*/false, [&](double z) {
    return z == 1 ? at_one : epsilon_or_nothing(event_with(NoiseMultiplier::make(z).value()), target);
  });
  const auto found = search.solve(1e-3, 1e6, 1.0, kTolerance);
  if (!found) return not_reached(target, "no noise multiplier up to 1e6");
  return calibrated<NoiseMultiplier>(*found);
}

Result<Calibrated<Steps>> calibrate_steps(const Target& target, const std::function<DpEvent(Steps)>& event_with) {
  NF_TRY(const Interval one, pld_epsilon(event_with(Steps::of(1)), target.adjacency, target.delta));
  if (one.upper > target.epsilon.value()) {
    return invalid_argument(fmt::format("one step alone costs epsilon {:.6g}, above {}: use more noise", one.upper,
                                        target.epsilon.value()));
  }
  const auto found = largest_count<Steps>(target, 0x1p40, event_with);
  if (!found) return internal_error("one step was within the target, and is not");
  return calibrated<Steps>(*found);
}

Result<Calibrated<Rows>> calibrate_batch(const Target& target, Rows rows,
                                         const std::function<DpEvent(Rows)>& event_with) {
  NF_TRY(const Interval one, pld_epsilon(event_with(Rows::of(1)), target.adjacency, target.delta));
  if (one.upper > target.epsilon.value()) {
    return invalid_argument(
        fmt::format("a batch of one row costs epsilon {:.6g}, above {}: use more noise or fewer "
                    "steps",
                    one.upper, target.epsilon.value()));
  }
  // Numbers up to 2^53 are doubles.
  const double most = std::min(static_cast<double>(rows.value()), 0x1p53);
  const auto found = largest_count<Rows>(target, most, event_with);
  if (!found) return internal_error("a batch of one row was within the target, and is not");
  return calibrated<Rows>(*found);
}

Result<Calibrated<SamplingRate>> calibrate_rate(const Target& target,
                                                const std::function<DpEvent(SamplingRate)>& event_with) {
  NF_TRY(const Interval first, pld_epsilon(event_with(SamplingRate::of(0.01)), target.adjacency, target.delta));
  Search search(target.epsilon.value(), /*rising=*/true, [&](double q) {
    return q == 0.01 ? first : epsilon_or_nothing(event_with(SamplingRate::make(q).value()), target);
  });
  const auto found = search.solve(1e-9, 1, 0.01, kTolerance);
  if (!found) return not_reached(target, "no sampling rate from 1e-9 on");
  return calibrated<SamplingRate>(*found);
}

}  // namespace noisefloor
