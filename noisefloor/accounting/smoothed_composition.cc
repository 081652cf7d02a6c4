#include "noisefloor/accounting/smoothed_composition.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <vector>

#include "noisefloor/accounting/atom_transform.h"
#include "noisefloor/accounting/contour.h"
#include "noisefloor/accounting/loss_atoms.h"
#include "noisefloor/numerics/bisect.h"

namespace noisefloor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMostAtoms = 40'000;
constexpr double kCoarseAtoms = 8'000;
constexpr double kOperationsPerNode = 40;

// One side of all laws, ready for the integral.
struct Side {
  std::vector<std::unique_ptr<AtomTransform>> owned;
  std::vector<RepeatedLoss> losses;

  Side(std::span<const RepeatedLaw> laws, const std::vector<AtomicLaw>& atoms, bool above) {
    for (std::size_t i = 0; i < laws.size(); ++i) {
      owned.push_back(
          std::make_unique<AtomTransform>(above ? atoms[i].above : atoms[i].below, above ? atoms[i].infinite : 0.0));
      losses.push_back({owned.back().get(), laws[i].count});
    }
  }
  // Σ count · ln φ(c), about, with its derivatives.
  [[nodiscard]] MomentEstimate moments(double c) const {
    MomentEstimate sum{0, 0, 0};
    for (const auto& [loss, count] : losses) {
      const MomentEstimate one = loss->estimate(c);
      sum.log_moment += count * one.log_moment;
      sum.slope += count * one.slope;
      sum.curvature += count * one.curvature;
    }
    return sum;
  }
};

// Where ε is, about, and how far below 0 the sum of all losses may go: both decide what is cut off. None of this carries
// the proof, and all of it the width.
struct Outline {
  double epsilon;
  double lowest;  // losses below this are too rare to matter
  double depth;   // and so are sums below minus this
  double tilt;    // of Chernoff's bound

  [[nodiscard]] AtomRange range(double relative_spread) const {
    const double unit = relative_spread * epsilon;
    return {lowest, 1.1 * epsilon + 1.05 * depth, unit * unit, tilt};
  }
};

// What is rarer than this, below 0, hardly moves ε.
constexpr double kRare = 3e-8;

double lowest_loss(std::span<const RepeatedLaw> laws) {
  const auto is_rare = [&](double depth) {
    double sum = 0;
    for (const RepeatedLaw& one : laws) sum += one.count * one.law->masses(-kInfinity, -depth).p;
    return sum <= kRare;
  };
  if (!is_rare(1e4)) return -kInfinity;
  return -bisect_ratio({.holds = 1e4, .fails = 1e-30}, 1.1, 60, is_rare).holds;
}

double depth_of(const Side& side, double scale) {
  double depth = kInfinity;
  int worse = 0;
  for (double c = 1e-3 / scale; c < 1e8 / scale && worse < 6; c *= 1.5) {
    const double at = (side.moments(-c).log_moment - std::log(kRare)) / c;
    worse = at < depth ? 0 : worse + 1;
    depth = std::min(depth, at);
  }
  return std::max(depth, 0.0);
}

// By Chernoff's bound, or where the integrand's saddle says that ε is less.
class Estimate {
 public:
  Estimate(const Side& side, double log_delta, double scale) : side_(side), log_delta_(log_delta) {
    int worse = 0;
    for (double c = 0.1 / scale; c < 1e6 / scale && worse < 6; c *= 1.5) worse = ask(c) ? 0 : worse + 1;
    // More closely around the best: where δ is small, moments of losses that are cut off rise steeply.
    log_before_ = -kInfinity;
    const double best = tilt_;
    for (double c = best / 1.5; c < best * 1.5; c *= std::exp(6 / (16 - log_delta))) (void)ask(c);
  }
  [[nodiscard]] double epsilon() const {
    return at_saddle_ > 0.2 * chernoff_ ? std::min(chernoff_, at_saddle_) : chernoff_;
  }
  [[nodiscard]] double tilt() const { return tilt_; }

 private:
  // Whether this order gives less than those before.
  bool ask(double c) {
    const MomentEstimate moments = side_.moments(c);
    // (1 − e^−x)⁺ is at most e^{cx} times this.
    const double log_factor = -c * std::log1p(1 / c) - std::log1p(c);
    const double bound = (moments.log_moment + log_factor - log_delta_) / c;
    const bool better = bound < chernoff_;
    if (better) {
      chernoff_ = bound;
      tilt_ = c;
    }
    // Where the integrand has its saddle at c, and ln δ there.
    const double saddle = moments.slope - 1 / c - 1 / (c + 1);
    const double width = moments.curvature + 1 / (c * c) + 1 / ((c + 1) * (c + 1));
    const double log_at =
        moments.log_moment - c * saddle - std::log(c * (c + 1)) - 0.5 * std::log(2 * std::numbers::pi * width);
    if (log_before_ >= log_delta_ && log_at < log_delta_ && std::isfinite(log_at)) {
      const double share = (log_before_ - log_delta_) / (log_before_ - log_at);
      at_saddle_ = std::min(at_saddle_, saddle_before_ + share * (saddle - saddle_before_));
    }
    log_before_ = log_at;
    saddle_before_ = saddle;
    return better;
  }

  const Side& side_;
  double log_delta_;
  double chernoff_ = kInfinity;
  double tilt_ = 1;
  double at_saddle_ = kInfinity;
  double saddle_before_ = 0;
  double log_before_ = -kInfinity;
};

// Again and again, as what is cut off changes with ε.
std::optional<Outline> outline_of(std::span<const RepeatedLaw> laws, double log_delta, double about) {
  const double start = std::max(about, 1e-30);
  const double delta = std::exp(log_delta);
  Outline outline{start, lowest_loss(laws), 0, -log_delta / start};
  if (!std::isfinite(outline.lowest)) return std::nullopt;
  double least = 0;  // below this too much is cut off
  for (int round = 0; round < 24; ++round) {
    const std::vector<AtomicLaw> atoms = atomic_laws(laws, outline.range(0.03), kCoarseAtoms);
    if (atoms.empty()) return std::nullopt;
    double infinite = 0;
    for (std::size_t i = 0; i < laws.size(); ++i) infinite += laws[i].count * atoms[i].infinite;
    const Side side(laws, atoms, true);
    const double scale = outline.epsilon + outline.depth;
    const double depth = depth_of(side, scale);
    if (!std::isfinite(depth)) return std::nullopt;
    const bool deep_enough = depth <= 1.2 * outline.depth + 1e-3 * outline.epsilon;
    outline.depth = depth;
    const bool too_much = infinite > 0.3 * delta;
    if (too_much) least = 1.1 * outline.epsilon;
    double epsilon = 2 * outline.epsilon;
    if (infinite < delta) {
      const Estimate estimate(side, std::log(delta - infinite), scale);
      epsilon = std::max(estimate.epsilon(), least);
      outline.tilt = estimate.tilt();
    }
    if (!deep_enough) continue;
    if (!(epsilon > 1e-14 && epsilon < 1e3)) return std::nullopt;
    if (epsilon > 0.8 * outline.epsilon && epsilon < 1.25 * outline.epsilon && !too_much) return outline;
    outline.epsilon = std::clamp(epsilon, outline.epsilon / 100, outline.epsilon * 100);
  }
  return outline;
}

// P − e^ε Q of the event that any loss is in its law's tail, from below; as a share of δ that is never negative.
double tail_below(std::span<const RepeatedLaw> laws, const std::vector<AtomicLaw>& atoms, double epsilon) {
  double log_without = 0;  // ln of the probability of none, under Q, from below
  double difference = 0;   // that less the same under P
  for (std::size_t i = 0; i < laws.size(); ++i) {
    const double q = std::min(atoms[i].tail_q_high * (1 + 0x1p-50), 1.0);
    const double gain = std::max(0.0, atoms[i].tail_gain_low);
    if (q == 0 && gain == 0) continue;
    if (!(q < 0.5 && gain < 0.5)) return 0;
    log_without += laws[i].count * std::log1p(-q) * (1 + 0x1p-48);
    difference -= laws[i].count * std::log1p(-gain / (1 - q)) * (1 - 0x1p-48);
  }
  const double more = std::exp(log_without) * -std::expm1(-difference);
  const double less = std::expm1(epsilon) * -std::expm1(log_without);
  return std::max(0.0, more * (1 - 0x1p-46) - less * (1 + 0x1p-46));
}

struct Bound {
  double value;  // of δ, over the one that is asked for
  double slope;  // of that in ε
};

// An ε where the bound is on the right side of 1, close to where it crosses: by Newton's method for ln δ, which is nearly
// a line, between ends that are known to be on either side.
template <class BoundAt>
std::optional<double> solve(double start, bool from_above, const BoundAt& bound_at) {
  double above = kInfinity;  // the least ε whose bound is at most 1
  double below = 0;          // the largest ε whose bound is more
  double epsilon = start;
  for (int i = 0; i < 40; ++i) {
    const Bound bound = bound_at(epsilon);
    if (std::isnan(bound.value)) return std::nullopt;
    (bound.value <= 1 ? above : below) = epsilon;
    const double step = std::log(bound.value) * bound.value / -bound.slope;
    const bool is_close = std::fabs(step) <= 1e-8 * epsilon;
    double next = epsilon + step;
    // A little beyond, so that both ends are found.
    if (is_close) next = epsilon + (bound.value <= 1 ? -1 : 1) * std::max(2 * std::fabs(step), 2e-10 * epsilon);
    if (!(next > below && next < above)) {
      if (above == kInfinity) {
        next = 1.5 * epsilon;
      } else if (below == 0) {
        next = 0.7 * epsilon;
      } else {
        next = 0.5 * (below + above);
      }
    }
    if (std::isfinite(above) && above - below <= 1e-8 * above) break;
    epsilon = next;
  }
  if (from_above) return std::isfinite(above) ? std::optional(above) : std::nullopt;
  return below > 0 ? std::optional(below) : std::nullopt;
}

struct Attempt {
  Interval epsilon{0, kInfinity};
  double smoothing_gap = 0;  // what of the interval is due to the smoothing, about
};

Attempt attempt(std::span<const RepeatedLaw> laws, double log_delta, const Outline& outline, double relative_smoothing,
                double relative_spread, double most_nodes) {
  Attempt found;
  const std::vector<AtomicLaw> atoms = atomic_laws(laws, outline.range(relative_spread), kMostAtoms);
  if (atoms.empty()) return found;
  const double width = relative_smoothing * outline.epsilon;
  const double operations = most_nodes * kOperationsPerNode * static_cast<double>(laws.size());
  // ln δ may be a rounded logarithm, of a δ that was itself rounded.
  const double slack = 0x1p-48 * (1 + std::fabs(log_delta));
  const Side larger(laws, atoms, true);
  double centre = outline.epsilon;
  for (int round = 0; round < 5; ++round) {
    const auto integral = ContourIntegral::smoothed(larger.losses, log_delta, centre, outline.tilt, width, operations);
    if (!integral) return found;
    const auto above = [&](double epsilon) {
      const ContourIntegral::Local at = integral->local(epsilon);
      // What is infinite has no slope, which makes the steps of Newton's method a little too short.
      return Bound{std::exp(at.log_delta.upper - log_delta + slack),
                   at.slope * std::exp(std::max(at.log_delta.lower, at.log_delta.upper - 1) - log_delta)};
    };
    const auto upper = solve(centre, true, above);
    if (!upper) return found;
    found.epsilon.upper = std::min(found.epsilon.upper, *upper * (1 + 0x1p-50));
    // An integral knows ε where it was made for.
    if (std::fabs(*upper - centre) * outline.tilt < 1) break;
    centre = *upper;
  }
  const Side smaller(laws, atoms, false);
  const auto integral =
      ContourIntegral::smoothed(smaller.losses, log_delta, found.epsilon.upper, outline.tilt, width, operations);
  if (!integral) return found;
  double correction = 0;
  double slope = 0;
  const auto below = [&](double epsilon) {
    const ContourIntegral::Local at = integral->local(epsilon);
    correction = width * width * std::exp(width * width / 8 + at.log_density - log_delta) * (1 + 1e-9);
    const double smooth = std::exp(at.log_delta.lower - slack - log_delta);
    const double tail = std::exp(std::log(tail_below(laws, atoms, epsilon)) - slack - log_delta);
    const double value = smooth - correction + tail;
    slope = at.slope * smooth;
    for (std::size_t i = 0; i < laws.size(); ++i) {
      slope -= laws[i].count * atoms[i].tail_q_high * std::exp(epsilon - log_delta);
    }
    return Bound{value - 0x1p-50 * (smooth + correction + tail), slope};
  };
  const auto lower = solve(found.epsilon.upper, false, below);
  found.epsilon.lower = lower ? *lower * (1 - 0x1p-50) : 0;
  found.smoothing_gap = correction / -slope;
  return found;
}

}  // namespace

Interval smoothed_epsilon(std::span<const RepeatedLaw> laws, double log_delta, double about, double relative_width,
                          double most_nodes) {
  Interval best{0, kInfinity};
  std::optional<Outline> outline = outline_of(laws, log_delta, about);
  if (!outline) return best;
  double smoothing = 6e-3;
  double spread = 6e-3;
  bool known = false;
  for (int round = 0; round < 6; ++round) {
    const Attempt found = attempt(laws, log_delta, *outline, smoothing, spread, most_nodes);
    if (!(found.epsilon.lower <= found.epsilon.upper)) return {0, kInfinity};
    best = {std::max(best.lower, found.epsilon.lower), std::min(best.upper, found.epsilon.upper)};
    if (!std::isfinite(found.epsilon.upper)) {
      // Before anything is known, too much was cut off; later, it would have taken too many nodes or atoms.
      if (known) {
        smoothing *= 1.7;
        spread *= 1.7;
      } else {
        outline->epsilon *= 1.3;
      }
      continue;
    }
    known = true;
    const double goal = relative_width * best.upper;
    const double gap = found.epsilon.upper - found.epsilon.lower;
    if (best.upper - best.lower <= std::max(goal, 1e-12)) break;
    // Both gaps fall with the square of their widths.
    const double of_smoothing = std::min(found.smoothing_gap, gap);
    const auto narrower = [&](double part) { return std::clamp(std::sqrt(0.4 * goal / part), 1e-3, 1.0); };
    const double finer = narrower(of_smoothing);
    if (round > 2 && finer > 0.8) break;
    smoothing *= finer;
    spread *= narrower(std::max(gap - of_smoothing, 0.0));
    outline->epsilon = found.epsilon.upper;
  }
  return best;
}

}  // namespace noisefloor
