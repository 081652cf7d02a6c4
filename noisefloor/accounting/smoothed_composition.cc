#include "noisefloor/accounting/smoothed_composition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <utility>
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
// Of smoothing and of cells, in the first attempt.
constexpr double kFirstWidth = 6e-3;
// Narrower than this, an interval is narrow whatever ε is.
constexpr double kAbsoluteWidth = 2e-10;
// Attempts with more nodes and atoms than the first that gain less than a factor of ten.
constexpr int kMostFine = 1;

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

// Steps with a loss above the cut, at most this many; more of them are too rare.
constexpr std::size_t kMostHeavy = 3;

// One side of all laws once more, divided by how many steps of the first law have a loss above `cut`: where rare large
// losses compete with the sum of all small ones, no line suits both. What each number of them comes to is added up.
class Division {
 public:
  Division(std::span<const RepeatedLaw> laws, const std::vector<AtomicLaw>& atoms, bool above, double cut)
      : above_(above) {
    for (std::size_t i = 0; i < laws.size(); ++i) {
      const LossAtoms& all = above ? atoms[i].above : atoms[i].below;
      if (above) log_finite_ += laws[i].count * std::log1p(-std::min(1.0, atoms[i].infinite));
      if (i == 0 && divide(all, laws[i].count, cut)) continue;
      others_.push_back({keep(all), laws[i].count});
    }
  }

  [[nodiscard]] std::size_t size() const { return heavy_ == nullptr ? 1 : kMostHeavy + 1; }
  // The losses of all steps where so many are above the cut, and ln of how likely that is, on the safe side.
  [[nodiscard]] std::vector<RepeatedLoss> losses(std::size_t heavy) const {
    std::vector<RepeatedLoss> list = others_;
    if (heavy_ == nullptr) return list;
    list.push_back({light_, count_ - static_cast<double>(heavy)});
    if (heavy > 0) list.push_back({heavy_, static_cast<double>(heavy)});
    return list;
  }
  [[nodiscard]] double log_weight(std::size_t heavy) const {
    double sum = 0;
    for (std::size_t i = 0; i < heavy; ++i) {
      const auto before = static_cast<double>(i);
      sum += std::log((count_ - before) / (before + 1)) + std::log(heavy_mass_);
    }
    return sum + (above_ ? 1 : -1) * 0x1p-46 * (1 + std::fabs(sum)) * (heavy > 0 ? 1 : 0);
  }
  // What is in none of these: more steps above the cut, and infinite losses.
  [[nodiscard]] double rest() const {
    if (!above_) return 0;
    const double more = heavy_ == nullptr ? 0 : std::exp(log_weight(kMostHeavy + 1));
    return (more - std::expm1(log_finite_)) * (1 + 1e-12);
  }

 private:
  const AtomTransform* keep(LossAtoms atoms) {
    owned_.push_back(std::make_unique<LossAtoms>(std::move(atoms)));
    transforms_.push_back(std::make_unique<AtomTransform>(*owned_.back(), 0.0));
    return transforms_.back().get();
  }
  bool divide(const LossAtoms& all, double count, double cut) {
    LossAtoms light;
    LossAtoms heavy;
    double sum = 0;
    for (std::size_t j = 0; j < all.loss.size(); ++j) {
      LossAtoms& part = all.loss[j] > cut ? heavy : light;
      part.loss.push_back(all.loss[j]);
      part.mass.push_back(all.mass[j]);
      if (all.loss[j] > cut) sum += all.mass[j];
    }
    if (!(sum > 0) || light.loss.empty() || count <= kMostHeavy) return false;
    count_ = count;
    heavy_mass_ = sum;
    // Masses of the heavy part add up to 1, with roundings to the safe side.
    for (double& mass : heavy.mass) mass = mass / sum * (above_ ? 1 + 0x1p-51 : 1 - 0x1p-51);
    light_ = keep(std::move(light));
    heavy_ = keep(std::move(heavy));
    return true;
  }

  bool above_;
  std::vector<std::unique_ptr<LossAtoms>> owned_;
  std::vector<std::unique_ptr<AtomTransform>> transforms_;
  std::vector<RepeatedLoss> others_;
  const AtomTransform* light_ = nullptr;
  const AtomTransform* heavy_ = nullptr;
  double count_ = 0;
  double heavy_mass_ = 0;
  double log_finite_ = 0;
};

// Where ε is, about, and how far below 0 the sum of all losses may go: both decide what is cut off. None of this
// carries the proof, and all of it the width.
struct Outline {
  double epsilon;
  double lowest;           // losses below this are too rare to matter
  double depth;            // and so are sums below minus this
  double tilt;             // of Chernoff's bound
  double rarity;           // −ln δ
  double cut = kInfinity;  // losses above it are counted one by one

  // Relative to ε, or to what moves δ by a factor of e^10 or so.
  [[nodiscard]] AtomRange range(double relative_spread) const {
    const double unit = relative_spread * std::min(epsilon, 10 / tilt);
    return {lowest, 1.1 * epsilon + 1.05 * depth, unit * unit, tilt, rarity};
  }
};

// What is rarer than this, beside δ, hardly moves ε.
constexpr double kRare = 3e-8;

// Which share of δ is left if something else takes `depth` off, about: a single loss has to make up for it, or all of
// them together.
class Share {
 public:
  Share(std::span<const RepeatedLaw> laws, double epsilon, double delta, double tilt)
      : laws_(laws), epsilon_(epsilon), delta_(delta), tilt_(tilt) {}
  [[nodiscard]] double beyond(double depth) const {
    double sum = 0;
    for (const RepeatedLaw& one : laws_) {
      sum += one.count * (one.law->masses(epsilon_ + depth, kInfinity).p + one.law->infinite_mass());
    }
    return std::min(1.0, sum / delta_ + std::exp(-tilt_ * depth));
  }

 private:
  std::span<const RepeatedLaw> laws_;
  double epsilon_;
  double delta_;
  double tilt_;
};

double lowest_loss(std::span<const RepeatedLaw> laws, const Share& share) {
  const auto is_rare = [&](double depth) {
    double sum = 0;
    for (const RepeatedLaw& one : laws) sum += one.count * one.law->masses(-kInfinity, -depth).p;
    return sum <= 1e-3 && sum * share.beyond(depth) <= kRare;
  };
  if (!is_rare(1e4)) return -kInfinity;
  return -bisect_ratio({.holds = 1e4, .fails = 1e-30}, 1.1, 60, is_rare).holds;
}

double depth_of(const Side& side, double scale, double lowest, const Share& share) {
  std::vector<std::pair<double, double>> moments;  // c and Σ ln φ(−c)
  double best = kInfinity;
  int worse = 0;
  for (double c = 1e-3 / std::max(scale, -lowest); c < 1e8 / scale && worse < 6; c *= 1.5) {
    moments.emplace_back(c, side.moments(-c).log_moment);
    const double at = (moments.back().second - std::log(kRare)) / c;
    worse = at < best ? 0 : worse + 1;
    best = std::min(best, at);
  }
  if (!(best > 0)) return 0;
  const auto is_deep = [&](double depth) {
    double log_below = 0;
    for (const auto& [c, log_moment] : moments) log_below = std::min(log_below, log_moment - c * depth);
    return log_below + std::log(share.beyond(depth)) <= std::log(kRare);
  };
  return is_deep(best) ? bisect_ratio({.holds = best, .fails = 1e-6 * best}, 1.02, 60, is_deep).holds : best;
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
  Outline outline{start, 0, 0, -log_delta / start, -log_delta};
  double least = 0;  // below this too much is cut off
  double spread = 0.03;
  for (int round = 0; round < 24; ++round) {
    const Share share(laws, outline.epsilon, delta, outline.tilt);
    outline.lowest = lowest_loss(laws, share);
    if (!std::isfinite(outline.lowest)) return std::nullopt;
    const std::vector<AtomicLaw> atoms = atomic_laws(laws, outline.range(spread), kCoarseAtoms);
    if (atoms.empty()) {
      spread *= 2;
      continue;
    }
    double infinite = 0;
    for (std::size_t i = 0; i < laws.size(); ++i) infinite += laws[i].count * atoms[i].infinite;
    const Side side(laws, atoms, true);
    const double scale = outline.epsilon + outline.depth;
    const double depth = depth_of(side, scale, outline.lowest, share);
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
    const bool settled = epsilon > 0.8 * outline.epsilon && epsilon < 1.25 * outline.epsilon && !too_much;
    outline.epsilon = std::clamp(epsilon, outline.epsilon / 100, outline.epsilon * 100);
    if (settled) return outline;
  }
  return outline;
}

// The same for an ε that is about known.
void refit(std::span<const RepeatedLaw> laws, double log_delta, double epsilon, Outline& outline) {
  Outline fitted = outline;
  fitted.epsilon = epsilon;
  const double delta = std::exp(log_delta);
  for (int round = 0; round < 3; ++round) {
    const Share share(laws, epsilon, delta, fitted.tilt);
    fitted.lowest = lowest_loss(laws, share);
    const std::vector<AtomicLaw> atoms = atomic_laws(laws, fitted.range(0.03), kCoarseAtoms);
    if (!std::isfinite(fitted.lowest) || atoms.empty()) return;
    const Side side(laws, atoms, true);
    fitted.depth = depth_of(side, epsilon + fitted.depth, fitted.lowest, share);
    if (!std::isfinite(fitted.depth)) return;
    // The order of Chernoff's bound at this ε.
    double best = kInfinity;
    const double scale = epsilon + fitted.depth;
    int worse = 0;
    for (double c = 0.1 / scale; c < 1e6 / scale && worse < 6; c *= 1.2) {
      const double bound = side.moments(c).log_moment - c * epsilon;
      worse = bound < best ? 0 : worse + 1;
      if (bound >= best) continue;
      best = bound;
      fitted.tilt = c;
    }
    outline = fitted;
  }
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

// An ε where the bound is on the right side of 1, close to where it crosses: by Newton's method for ln δ, which is
// nearly a line, between ends that are known to be on either side.
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

using Widths = std::array<double, kMostHeavy + 1>;

struct Attempt {
  Interval epsilon{0, kInfinity};
  Widths smoothing_gaps{};  // what of the interval is due to the smoothing of each part, about
  double rounding_gap = 0;  // and to roundings
  [[nodiscard]] double width() const {
    return epsilon.lower <= epsilon.upper ? epsilon.upper - epsilon.lower : kInfinity;
  }
  // What was possible within the limits of nodes and atoms, relative to the outline.
  Widths smoothing{};
  double spread = 0;
};

// The integrals of all parts, for an ε that is about known. A part that is too rare to matter has none, and counts
// whole from above and as nothing from below.
class Integrals {
 public:
  static std::optional<Integrals> make(const Division& division, double log_delta, double epsilon, double tilt,
                                       const Widths& widths, double operations) {
    Integrals all;
    all.rest_ = division.rest();
    for (std::size_t j = 0; j < division.size(); ++j) {
      const double log_weight = division.log_weight(j);
      Part part{log_weight, widths[j], std::nullopt};
      if (log_weight > log_delta - 23) {
        const double log_share = std::min(log_delta - log_weight, -0.1);
        // With more smoothing where it would take too many nodes.
        for (int i = 0; i < 12 && !part.integral; ++i) {
          if (i > 0) part.width *= 1.6;
          part.integral =
              ContourIntegral::smoothed(division.losses(j), log_share, epsilon, tilt, part.width, operations);
        }
        if (!part.integral) return std::nullopt;
      }
      all.parts_.push_back(std::move(part));
    }
    return all;
  }

  [[nodiscard]] Widths widths() const {
    Widths used{};
    for (std::size_t j = 0; j < parts_.size(); ++j) used[j] = parts_[j].width;
    return used;
  }

  struct Sum {
    double upper = 0;  // of δ, over e^log_delta
    double lower = 0;  // after what the smoothing adds
    double slope = 0;
    Widths corrections{};
  };
  [[nodiscard]] Sum at(double epsilon, double log_delta) const {
    Sum sum;
    sum.upper = rest_ * std::exp(-log_delta);
    for (std::size_t j = 0; j < parts_.size(); ++j) {
      const Part& part = parts_[j];
      const double log_weight = part.log_weight - log_delta;
      if (!part.integral) {
        sum.upper += std::exp(log_weight) * (1 + 1e-12);
        continue;
      }
      const ContourIntegral::Local local = part.integral->local(epsilon);
      const double upper = std::exp(local.log_delta.upper + log_weight);
      const double lower = std::exp(local.log_delta.lower + log_weight);
      const double variance = part.width * part.width;
      sum.corrections[j] = variance * std::exp(variance / 8 + local.log_density + log_weight) * (1 + 1e-9);
      sum.upper += upper * (1 + 0x1p-50);
      const double size = lower + sum.corrections[j];
      // A part is never negative.
      sum.lower += std::max(0.0, lower - sum.corrections[j] - 0x1p-50 * size);
      if (upper > 0) sum.slope += local.slope * std::max(lower, 0.3 * upper);
    }
    sum.upper *= 1 + 0x1p-48;
    sum.lower *= 1 - 0x1p-48;
    return sum;
  }

 private:
  struct Part {
    double log_weight;
    double width;
    std::optional<ContourIntegral> integral;
  };
  std::vector<Part> parts_;
  double rest_ = 0;
};

Attempt attempt(std::span<const RepeatedLaw> laws, double log_delta, const Outline& outline, const Widths& relative,
                double relative_spread, double most_nodes) {
  Attempt found;
  found.spread = relative_spread;
  std::vector<AtomicLaw> atoms = atomic_laws(laws, outline.range(found.spread), kMostAtoms);
  for (int i = 0; i < 24 && atoms.empty(); ++i) {
    found.spread *= 1.5;
    atoms = atomic_laws(laws, outline.range(found.spread), kMostAtoms);
  }
  if (atoms.empty()) return found;
  Widths widths = relative;
  for (double& width : widths) width *= outline.epsilon;
  // ln δ may be a rounded logarithm, of a δ that was itself rounded.
  const double slack = 0x1p-48 * (1 + std::fabs(log_delta));
  const Division larger(laws, atoms, true, outline.cut);
  const double operations =
      most_nodes * kOperationsPerNode * static_cast<double>(laws.size()) / static_cast<double>(larger.size());
  double centre = outline.epsilon;
  for (int round = 0; round < 5; ++round) {
    const auto integrals = Integrals::make(larger, log_delta, centre, outline.tilt, widths, operations);
    if (!integrals) return found;
    widths = integrals->widths();
    const auto above = [&](double epsilon) {
      // What is infinite has no slope, which makes the steps of Newton's method a little too short.
      const Integrals::Sum sum = integrals->at(epsilon, log_delta);
      return Bound{sum.upper * (1 + 2 * slack), sum.slope};
    };
    const auto upper = solve(centre, true, above);
    if (!upper) return found;
    found.epsilon.upper = std::min(found.epsilon.upper, *upper * (1 + 0x1p-50));
    // An integral knows ε where it was made for.
    if (std::fabs(*upper - centre) * outline.tilt < 1) break;
    centre = *upper;
  }
  const Division smaller(laws, atoms, false, outline.cut);
  const auto integrals = Integrals::make(smaller, log_delta, found.epsilon.upper, outline.tilt, widths, operations);
  if (!integrals) return found;
  Integrals::Sum sum;
  const auto below = [&](double epsilon) {
    sum = integrals->at(epsilon, log_delta);
    const double tail = tail_below(laws, atoms, epsilon) * std::exp(-log_delta);
    double slope = sum.slope;
    for (std::size_t i = 0; i < laws.size(); ++i) {
      slope -= laws[i].count * atoms[i].tail_q_high * std::exp(epsilon - log_delta);
    }
    sum.slope = slope;
    return Bound{(sum.lower + tail * (1 - 0x1p-48)) * (1 - 2 * slack), slope};
  };
  const auto lower = solve(found.epsilon.upper, false, below);
  found.epsilon.lower = lower ? *lower * (1 - 0x1p-50) : 0;
  double corrections = 0;
  widths = integrals->widths();
  for (std::size_t j = 0; j < widths.size(); ++j) {
    found.smoothing[j] = widths[j] / outline.epsilon;
    found.smoothing_gaps[j] = sum.corrections[j] / -sum.slope;
    corrections += sum.corrections[j];
  }
  found.rounding_gap = std::max(0.0, sum.upper - sum.lower - corrections) / -sum.slope;
  return found;
}

// A loss that is rare enough for the cut: all steps together have more than kMostHeavy above it hardly ever.
double cut_for(std::span<const RepeatedLaw> laws, double log_delta, double highest) {
  if (laws.size() != 1 || !(laws[0].count > 2 * kMostHeavy)) return kInfinity;
  const double enough = std::exp((log_delta + std::log(24 * 1e-9)) / (kMostHeavy + 1));
  const auto is_rare = [&](double loss) { return laws[0].count * laws[0].law->masses(loss, kInfinity).p <= enough; };
  if (!is_rare(highest)) return kInfinity;
  return bisect_ratio({.holds = highest, .fails = 1e-9 * highest}, 1.05, 60, is_rare).holds;
}

}  // namespace

Interval smoothed_epsilon(std::span<const RepeatedLaw> laws, double log_delta, double about, double relative_width,
                          double most_nodes) {
  Interval best{0, kInfinity};
  std::optional<Outline> outline = outline_of(laws, log_delta, about);
  if (!outline) return best;
  Widths smoothing;
  smoothing.fill(kFirstWidth);
  double spread = kFirstWidth;
  bool divides = true;
  int fine = 0;
  for (int round = 0; round < 8 && fine < kMostFine; ++round) {
    const auto ask = [&](bool divided) {
      outline->cut = divided ? cut_for(laws, log_delta, outline->epsilon + outline->depth) : kInfinity;
      return attempt(laws, log_delta, *outline, smoothing, spread, most_nodes);
    };
    const bool first = spread == kFirstWidth;
    Attempt found = ask(divides);
    if (first && std::isfinite(outline->cut)) {
      // Which of both is better is soon known.
      const Attempt whole = ask(false);
      divides = !(whole.width() < found.width());
      if (!divides) found = whole;
    }
    if (!(found.epsilon.lower <= found.epsilon.upper)) return {0, kInfinity};
    const double width_before = best.upper - best.lower;
    best = {std::max(best.lower, found.epsilon.lower), std::min(best.upper, found.epsilon.upper)};
    if (!first && !(best.upper - best.lower < 0.1 * width_before)) ++fine;
    if (!std::isfinite(best.upper)) {
      // Too much was cut off.
      outline->epsilon *= 1.3;
      continue;
    }
    const double goal = std::max(relative_width * best.upper, kAbsoluteWidth);
    if (best.upper - best.lower <= goal || !std::isfinite(found.epsilon.upper)) break;
    const double before = outline->epsilon;
    // Lower bounds see losses above the range that the upper ones count as infinite.
    const double centre =
        best.lower > 0.1 * best.upper ? best.upper * std::pow(best.lower / best.upper, 0.8) : best.upper;
    const bool moved = !(centre > 0.9 * before && centre < 1.1 * before);
    if (moved) refit(laws, log_delta, centre, *outline);
    const double gap = found.epsilon.upper - found.epsilon.lower;
    outline->epsilon = centre;
    if (gap > 0.1 * best.upper && moved && round < 4) continue;
    if (round > 1 && best.upper - best.lower > 0.7 * width_before) break;
    // Both gaps fall with the square of their widths.
    const auto narrower = [&](double part, double share) {
      return std::clamp(std::sqrt(share * goal / std::min(part, gap)), 1e-3, 3.0);
    };
    double of_smoothing = 0;
    double finest = 1;
    for (std::size_t j = 0; j < smoothing.size(); ++j) {
      const double finer = narrower(found.smoothing_gaps[j], 0.5 / static_cast<double>(smoothing.size()));
      // Widths stay what they are where no narrower ones were possible.
      const bool limited = found.smoothing[j] > 1.01 * smoothing[j] && finer < 1;
      if (!limited) finest = std::min(finest, finer);
      smoothing[j] = found.smoothing[j] * (limited ? 1 : finer) * before / outline->epsilon;
      of_smoothing += found.smoothing_gaps[j];
    }
    const double finer = std::min(1.0, narrower(std::max(gap - of_smoothing - found.rounding_gap, 0.0), 0.4));
    if (!(found.spread > 1.01 * spread && finer < 1)) {
      spread *= finer;
      finest = std::min(finest, finer);
    }
    if (finest > 0.8) break;
  }
  return best;
}

}  // namespace noisefloor
