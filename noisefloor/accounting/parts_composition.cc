#include "noisefloor/accounting/parts_composition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "noisefloor/accounting/composition.h"
#include "noisefloor/accounting/contour.h"
#include "noisefloor/accounting/gaussian_dp.h"
#include "noisefloor/accounting/gaussian_transform.h"
#include "noisefloor/accounting/loss_lattice.h"
#include "noisefloor/accounting/loss_law.h"
#include "noisefloor/accounting/smoothed_composition.h"
#include "noisefloor/accounting/subsampled_gaussian.h"
#include "noisefloor/numerics/bisect.h"

namespace noisefloor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Interval intersect(Interval a, Interval b) { return {std::max(a.lower, b.lower), std::min(a.upper, b.upper)}; }

constexpr double kContourOperations = 1e7;
constexpr double kFewContourOperations = 1e6;
constexpr double kMostContourSteps = 1e13;
// With less noise the integral takes long to find out that it is not for these.
constexpr double kLeastContourMultiplier = 0.15;
constexpr double kRelativeWidth = 1e-6;
constexpr std::size_t kMostLaws = 24;  // on a lattice
constexpr double kWidestWindow = 600;
constexpr int kFineBits = 16;
constexpr int kMediumBits = 14;
constexpr int kCoarseBits = 12;
// δ(ε) ≥ P(L > ε + kGap) (1 − e^−kGap).
constexpr double kGap = 20;
const double kGapShare = -std::expm1(-kGap);

// An interval that is this narrow is not worth what the next engine takes.
bool is_nearly_narrow(Interval epsilon) {
  return std::isfinite(epsilon.upper) && epsilon.upper - epsilon.lower <= std::max(1e-4 * epsilon.upper, 1e-9);
}

// The probability of losses above x, from below. Its errors hold also where Q is out of range.
double tail_below(const LossLaw& law, double x) {
  const Masses m = law.masses(x, kInfinity);
  return std::max(0.0, m.p - m.p_error + law.infinite_mass() * (1 - 0x1p-50));
}

// Whether Q of the losses above x is a normal number, or there are none.
bool is_in_range(const LossLaw& law, double x) {
  const Masses m = law.masses(x, kInfinity);
  return m.q >= 1e-306 || m.p + m.p_error == 0;
}

// ε of one mechanism, once. From below, what is told by Q counts only where Q is in the range of doubles.
Interval one_epsilon(const LossLaw& law, double log_delta) {
  Interval found = single_epsilon(law, log_delta);
  if (!(found.lower <= found.upper)) return {0, kInfinity};
  if (is_in_range(law, found.lower)) return found;
  const double needed = std::exp(log_delta) / kGapShare * (1 + 1e-12);
  const double high = std::min(found.lower, 1e12);
  if (tail_below(law, high) >= needed) return {std::max(0.0, high - kGap), found.upper};
  const auto is_enough = [&](double x) { return tail_below(law, x) >= needed; };
  if (!is_enough(0)) return {0, found.upper};
  const double low = bisect({.holds = 0, .fails = high}, {.halvings = 60}, is_enough).holds;
  return {std::max(0.0, low - kGap), found.upper};
}

Interval one_delta(const LossLaw& law, double epsilon) {
  Interval found = single_delta(law, epsilon);
  if (!(found.lower <= found.upper)) return {0, 1};
  if (!is_in_range(law, epsilon)) {
    found.lower = std::min(found.upper, tail_below(law, epsilon + kGap) * kGapShare * (1 - 1e-12));
  }
  return found;
}

// Mean from below and variance from above of a bounded loss under P.
struct Moments {
  double mean;
  double variance;
};

std::optional<Moments> moments_below(const LossLaw& law) {
  if (law.infinite_mass() > 0) return std::nullopt;
  const Interval range = law.range(1e-300, 1e-300);
  const Masses above = law.masses(range.upper, kInfinity);
  const Masses below = law.masses(-kInfinity, range.lower - 1e-12 * std::fabs(range.lower));
  if (above.p + above.p_error > 0 || below.p + below.p_error > 0 || !(range.upper - range.lower <= 4 * kLargestLoss)) {
    return std::nullopt;
  }
  // The divergence of P from Q is at least Σ p ln(p/q) over any cells (data processing), and the errors of p and q move
  // it by no more than to the least of p ln(p/q) within them. Squares are at most those of the cells' ends.
  constexpr int cells = 2048;
  const double lowest = range.lower - 1e-12 * std::fabs(range.lower);
  const double h = (range.upper - lowest) / cells;
  double mean = 0;
  double squares = 0;
  double size = 0;
  for (int i = 0; i < cells; ++i) {
    const double from = i == 0 ? -kInfinity : lowest + h * i;
    const double to = i == cells - 1 ? kInfinity : lowest + h * (i + 1);
    const Masses m = law.masses(from, to);
    const double p_low = std::max(0.0, m.p - m.p_error);
    const double p_high = m.p + m.p_error;
    const double q = m.q + m.q_error;
    const auto term = [&](double p) { return p > 0 && q > 0 ? p * (std::log(p) - std::log(q)) : 0; };
    double least = std::min(term(p_low), term(p_high));
    if (p_low * 2.7 < q && q < p_high * 2.8) least = std::min(least, -q / 2.7);
    mean += least;
    size += std::fabs(least);
    const double end = std::max(std::fabs(lowest + h * i), std::fabs(lowest + h * (i + 1)));
    squares += p_high * end * end;
  }
  return Moments{mean - 1e-12 * size, squares * (1 + 1e-12)};
}

// The window that lattice.h would choose for δ, or for the δ of an ε that is given: about. Its exponentials overflow at
// 709.
struct EstimatedWindow {
  double width;
  double log_delta;
};
EstimatedWindow estimated_window(std::span<const RepeatedLaw> laws, double log_delta, std::optional<double> given) {
  constexpr int cells = 128;
  constexpr std::size_t orders = 53;
  constexpr EstimatedWindow unknown{kInfinity, 0};
  double steps = 0;
  for (const RepeatedLaw& one : laws) steps += one.count;
  const double cut = 1e-9 / steps;
  std::vector<Interval> ranges;
  double longest = 0;
  for (const RepeatedLaw& one : laws) {
    ranges.push_back(one.law->range(std::max(1e-300, cut), std::max(1e-300, cut * std::exp(log_delta))));
    longest = std::max(longest, ranges.back().upper - ranges.back().lower);
  }
  if (longest == 0) longest = std::fabs(ranges.front().upper);  // one atom
  if (!(longest > 0 && longest < kInfinity)) return unknown;
  std::array<double, orders> log_moment{};
  std::array<double, orders> c{};
  for (std::size_t k = 0; k < orders; ++k) c[k] = std::exp2(0.5 * (static_cast<double>(k) - 24)) / longest;
  for (std::size_t l = 0; l < laws.size(); ++l) {
    const double h = (ranges[l].upper - ranges[l].lower) / cells;
    std::array<double, cells> p{};
    for (int i = 0; i < cells; ++i) {
      const double from = i == 0 ? -kInfinity : ranges[l].lower + h * i;
      p[static_cast<std::size_t>(i)] = laws[l].law->masses(from, ranges[l].lower + h * (i + 1)).p;
    }
    for (std::size_t k = 0; k < orders; ++k) {
      double sum = 0;
      for (int i = 0; i < cells; ++i) {
        const double mass = p[static_cast<std::size_t>(i)];
        if (mass > 0) sum += mass * std::exp(c[k] * h * (i + 1 - cells));
      }
      log_moment[k] += laws[l].count * (std::log(sum) + c[k] * ranges[l].upper);
    }
  }
  double epsilon = kInfinity;
  for (std::size_t k = 0; k < orders; ++k) {
    if (!std::isfinite(log_moment[k])) continue;
    epsilon = std::min(epsilon, (log_moment[k] - log_delta) / c[k]);
  }
  epsilon = std::max(0.0, 0.95 * epsilon);
  if (given) {
    epsilon = *given;
    log_delta = -0.1;
    for (std::size_t k = 0; k < orders; ++k) {
      if (std::isfinite(log_moment[k])) log_delta = std::min(log_delta, log_moment[k] - c[k] * epsilon);
    }
    log_delta = std::max(log_delta, -600.0);
  }
  const double log_small = log_delta - 16;
  double window = kInfinity;
  for (std::size_t i = 0; i < orders; ++i) {
    const double cancelled = log_moment[i] - c[i] * epsilon - log_delta;
    if (!(cancelled <= 16)) continue;
    for (std::size_t j = i + 1; j < orders; ++j) {
      const double above = (log_moment[j] - c[j] * epsilon - log_small) / (c[j] - c[i]);
      if (!std::isfinite(above)) continue;
      window = std::min(window, std::max(-log_small / c[i], above) * (1 + 0.02 * std::max(0.0, cancelled)));
    }
  }
  return {std::max(1.6 * window, longest / 32), log_delta};
}

// The composition of the parts in one direction, with the laws from above or from below.
class Composition {
 public:
  // `max_bits` of a lattice: fewer where the bounds are wide for other reasons.
  Composition(const Parts& parts, bool remove, bool above, int max_bits)
      : parts_(parts),
        max_bits_(max_bits),
        mu_squared_(static_cast<double>(above ? parts.mu_squared : parts.mu_squared_below)) {
    // Sums of μ² are right to 2^-52 or so, which the errors of laws and transforms allow for.
    if (mu_squared_ > 0) {
      transforms_.push_back(std::make_unique<GaussianTransform>(mu_squared_));
      losses_.push_back({transforms_.back().get(), 1});
      add(gaussian_law(std::sqrt(mu_squared_)), 1);
    }
    for (const auto& [key, count] : above ? parts.sampled : parts.sampled_below) {
      add_transform(key, remove ? Direction::kRemove : Direction::kAdd, count);
      add(sampled_law(gaussian_law(1 / key.second), key.first, remove), count);
    }
    for (const auto& [key, count] : above ? parts.replaced_samples : parts.replaced_samples_below) {
      add_transform(key, Direction::kReplace, count);
      add(opposite_samples_law(key.first, key.second), count);
    }
    for (const auto& [key, count] : parts.epsilon_delta) {
      if (key.first == 0) {
        log_success_ += count * std::log1p(-key.second);
        ++failures_;
        continue;
      }
      if (above && key.first > kLargestLoss) in_range_ = false;
      add(epsilon_delta_law(above ? key.first : std::min(key.first, kLargestLoss), key.second), count);
    }
    for (const auto& [key, leaf] : parts.laws) {
      const LawPair& pair = remove ? leaf.first.remove : leaf.first.add;
      if (const LawPtr& law = above ? pair.above : pair.below) add(law, leaf.second);
    }
  }

  // An upper bound below `enough` need not be improved: the other direction has more.
  [[nodiscard]] Result<Interval> epsilon(Delta delta, double enough = 0) const {
    if (log_success_ == 0) return epsilon_of_rest(delta, enough);
    // Parts of ε = 0 fail with probability f, and tell nothing otherwise: δ = f + (1 − f) δ of the rest.
    const double failure = -std::expm1(log_success_);
    const auto rest = [&](double side) {
      return std::min((delta.value() - failure * (1 - side)) / (1 - failure) * (1 + side), 1 - 0x1p-53);
    };
    const Result<Delta> low = Delta::make(rest(-kFailureError));
    const Result<Delta> high = Delta::make(rest(kFailureError));
    if (!high.has_value() || high.value().value() <= 0) return Interval{kInfinity, kInfinity};
    Interval found{0, kInfinity};
    NF_TRY(const Interval below, epsilon_of_rest(high.value(), enough));
    found.lower = below.lower;
    if (low.has_value() && low.value().value() > 0) {
      NF_TRY(const Interval above, epsilon_of_rest(low.value(), enough));
      found.upper = above.upper;
    }
    return found;
  }

  [[nodiscard]] Result<Interval> delta(PrivacyLoss epsilon) const {
    NF_TRY(const Interval rest, delta_of_rest(epsilon));
    if (log_success_ == 0) return rest;
    const double failure = -std::expm1(log_success_);
    return Interval{std::max(0.0, (failure + (1 - failure) * rest.lower) * (1 - kFailureError)),
                    std::min(1.0, (failure + (1 - failure) * rest.upper) * (1 + kFailureError))};
  }

 private:
  static constexpr double kFailureError = 1e-13;

  [[nodiscard]] Result<Interval> epsilon_of_rest(Delta delta, double enough) const {
    const double log_delta = std::log(delta.value());
    if (laws_.empty()) return Interval{0, 0};
    if (only_gaussians()) {
      // μ² was added up with roundings.
      NF_TRY(const GaussianDp low, GaussianDp::of_mu(std::sqrt(mu_squared_) * (1 - 1e-13)));
      NF_TRY(const GaussianDp high, GaussianDp::of_mu(std::sqrt(mu_squared_) * (1 + 1e-13)));
      NF_TRY(const Interval lower, low.epsilon_at(delta));
      NF_TRY(const Interval upper, high.epsilon_at(delta));
      return Interval{lower.lower, upper.upper};
    }
    if (const auto part = only_equal_bounds()) {
      const Result<Interval> found = optimal_composition_epsilon(part->first, part->second, delta);
      if (found.has_value()) return found.value();
    }
    if (infinite_mass() > delta.value()) return Interval{kInfinity, kInfinity};
    if (!in_range_) return Interval{0, kInfinity};
    if (laws_.size() == 1 && laws_[0].count == 1) return one_epsilon(*laws_[0].law, log_delta);
    if (is_enough_at_zero(delta.value())) return Interval{0, 0};
    const double simple = simple_epsilon_below(delta.value());
    const auto checked = [&](Interval found) {
      // An engine that contradicts the simple bound, or itself, is out of its depth.
      return found.lower <= found.upper && found.upper >= simple ? found : Interval{0, kInfinity};
    };
    Interval found{simple, std::max(simple, std::min(sum_of_equal_shares(log_delta), largest_sum()))};
    if (found.upper <= enough) return found;
    const bool fewer = has_too_many_steps();
    const auto integrate = [&](double operations) {
      const auto integral = ContourIntegral::for_delta(fewer ? fewer_losses() : losses_, log_delta, operations);
      if (!integral) return;
      Interval other = integral->epsilon(log_delta);
      if (fewer && other.lower <= other.upper) other.upper = kInfinity;
      found = intersect(found, checked(other));
    };
    if (suits_contour()) {
      integrate(fewer ? kContourOperations : kFewContourOperations);
      if (is_narrow(found) || found.upper <= enough) return found;
    }
    if (has_transforms() && !fewer) {
      const double about = std::max(found.lower, one_large_loss(log_delta));
      const Interval other = checked(smoothed_epsilon(laws_, log_delta, about, kRelativeWidth, smoothed_nodes()));
      if (other.lower <= found.upper && found.lower <= other.upper) found = intersect(found, other);
      if (is_nearly_narrow(found)) return found;
      if (suits_contour()) integrate(kContourOperations);
      if (is_nearly_narrow(found)) return found;
    }
    const auto fit = lattice_fit(log_delta, std::nullopt);
    const auto use_lattice = [&](int bits) {
      Interval other = checked(lattice_epsilon(laws_, log_delta, kRelativeWidth, bits));
      if (!fit->from_below) other.lower = 0;
      if (other.lower <= found.upper && found.lower <= other.upper) found = intersect(found, other);
    };
    if (!has_transforms() && laws_.size() <= kMostLaws) {
      // A few points are enough for laws that lie on a lattice.
      if (fit) use_lattice(kCoarseBits);
      if (is_narrow(found) || found.upper <= enough) return found;
      const double about = std::isfinite(found.upper) ? found.upper : std::max(found.lower, one_large_loss(log_delta));
      const Interval other = checked(smoothed_epsilon(laws_, log_delta, about, kRelativeWidth, smoothed_nodes()));
      if (other.lower <= found.upper && found.lower <= other.upper) found = intersect(found, other);
      if (is_nearly_narrow(found)) return found;
    }
    if (fit) use_lattice(fit->bits);
    return found;
  }

  [[nodiscard]] Result<Interval> delta_of_rest(PrivacyLoss epsilon) const {
    if (laws_.empty()) return Interval{0, 0};
    if (only_gaussians()) {
      NF_TRY(const GaussianDp low, GaussianDp::of_mu(std::sqrt(mu_squared_) * (1 - 1e-13)));
      NF_TRY(const GaussianDp high, GaussianDp::of_mu(std::sqrt(mu_squared_) * (1 + 1e-13)));
      return Interval{low.delta_at(epsilon).lower, high.delta_at(epsilon).upper};
    }
    if (const auto part = only_equal_bounds()) {
      const Result<Interval> found = optimal_composition_delta(part->first, part->second, epsilon);
      if (found.has_value()) return found.value();
    }
    const double infinite = infinite_mass() * (1 - 1e-12);
    if (!in_range_) return Interval{infinite, 1};
    if (laws_.size() == 1 && laws_[0].count == 1) return one_delta(*laws_[0].law, epsilon.value());
    const double simple = std::max(infinite, simple_delta_below(epsilon.value()));
    Interval found{simple, 1};
    const auto narrow_down = [&](Interval other) {
      if (other.lower <= other.upper && other.upper >= found.lower && other.lower <= found.upper) {
        found = intersect(found, other);
      }
    };
    if (suits_contour() && !has_too_many_steps()) {
      const auto integral = ContourIntegral::for_epsilon(losses_, epsilon.value(), kContourOperations);
      if (integral) {
        const Interval logs = integral->log_delta(epsilon.value());
        narrow_down({std::exp(logs.lower) * (1 - 1e-12), std::min(1.0, std::exp(logs.upper) * (1 + 1e-12))});
      }
      if (found.upper - found.lower <= 1e-4 * found.upper) return found;
    }
    if (const auto fit = lattice_fit(-23, epsilon.value())) {
      Interval other = lattice_delta(laws_, epsilon.value(), kRelativeWidth, fit->bits);
      if (!fit->from_below) other.lower = 0;
      narrow_down(other);
    }
    return found;
  }

  void add(LawPtr law, double count) {
    owned_.push_back(std::move(law));
    laws_.push_back({owned_.back().get(), count});
  }

  void add_transform(const Sample& sample, Direction direction, double count) {
    suits_contour_ = suits_contour_ && sample.second >= kLeastContourMultiplier;
    transforms_.push_back(std::make_unique<SubsampledGaussianTransform>(
        SamplingRate::make(sample.first).value(), NoiseMultiplier::make(sample.second).value(), direction));
    losses_.push_back({transforms_.back().get(), count});
  }

  [[nodiscard]] bool has_transforms() const { return losses_.size() == laws_.size(); }
  [[nodiscard]] bool only_gaussians() const { return mu_squared_ > 0 && laws_.size() == 1; }
  [[nodiscard]] std::optional<std::pair<ApproxDp, Steps>> only_equal_bounds() const {
    if (parts_.epsilon_delta.size() != failures_ + 1 || laws_.size() != 1) return std::nullopt;
    const auto& [key, count] = *parts_.epsilon_delta.rbegin();  // failures have the least epsilon, 0
    if (count > 0x1p40) return std::nullopt;
    return std::pair{ApproxDp{PrivacyLoss::make(key.first).value(), Delta::make(key.second).value()},
                     Steps::make(static_cast<std::uint64_t>(count)).value()};
  }

  // 1 − Π (1 − mass), from below.
  [[nodiscard]] double infinite_mass() const {
    double log_finite = 0;
    for (const RepeatedLaw& one : laws_) log_finite += one.count * std::log1p(-std::min(1.0, one.law->infinite_mass()));
    return -std::expm1(log_finite) * (1 - 1e-12);
  }

  // The sum's mean less its deviation (Cantelli): losses above mean − λ have the probability λ²/(variance + λ²) at
  // least.
  [[nodiscard]] std::optional<Moments> sum_below() const {
    Moments sum{0, 0};
    for (const RepeatedLaw& one : laws_) {
      const auto moments = moments_below(*one.law);
      if (!moments) return std::nullopt;
      sum.mean += one.count * moments->mean * (1 - 0x1p-40);
      sum.variance += one.count * moments->variance * (1 + 0x1p-40);
    }
    return sum;
  }
  // ε is at least that of one step, and about the mean.
  [[nodiscard]] double simple_epsilon_below(double delta) const {
    double best = 0;
    if (laws_.size() <= kMostLaws) {
      for (const RepeatedLaw& one : laws_) best = std::max(best, one_epsilon(*one.law, std::log(delta)).lower);
    }
    const bool many = std::any_of(laws_.begin(), laws_.end(), [](const RepeatedLaw& one) { return one.count > 1; });
    if (!many && laws_.size() < 8) return best;
    if (const auto sum = sum_below()) {
      const double gap = std::log(2 / (1 - delta));
      const double share = 2 * delta / (1 + delta);
      const double lambda = std::sqrt(sum->variance * share / (1 - share));
      best = std::max(best, (sum->mean - gap - lambda) * (1 - 1e-12));
    }
    return best;
  }
  [[nodiscard]] double simple_delta_below(double epsilon) const {
    double best = 0;
    if (laws_.size() <= kMostLaws) {
      for (const RepeatedLaw& one : laws_) best = std::max(best, one_delta(*one.law, epsilon).lower);
    }
    const auto sum = sum_below();
    if (!sum) return best;
    for (double gap : {1.0, 5.0, 20.0}) {
      const double lambda = sum->mean - epsilon - gap;
      if (lambda <= 0) continue;
      best = std::max(best, -std::expm1(-gap) * lambda * lambda / (sum->variance + lambda * lambda) * (1 - 1e-12));
    }
    return best;
  }

  // How finely the lattice may be refined, and whether its lower bounds count; nothing where it would be out of its
  // depth or take long.
  struct Fit {
    int bits;
    bool from_below;
  };
  [[nodiscard]] std::optional<Fit> lattice_fit(double log_delta, std::optional<double> epsilon) const {
    const std::size_t n = laws_.size();
    if (n > kMostLaws) return std::nullopt;
    const EstimatedWindow window = estimated_window(laws_, log_delta, epsilon);
    if (!(window.width < kWidestWindow)) return std::nullopt;
    double largest = 0;
    for (const RepeatedLaw& one : laws_) {
      largest = std::max(largest, one.law->range(1e-20, std::max(1e-300, 1e-20 * std::exp(window.log_delta))).upper);
    }
    if (!(largest <= kLargestLoss)) return std::nullopt;
    return Fit{std::min(max_bits_, n <= 4 ? 16 : n <= 16 ? 14 : 12), largest - window.log_delta <= kLargestLoss + 50};
  }
  // The distance of two laws in total variation is δ at ε = 0, and adds up.
  [[nodiscard]] bool is_enough_at_zero(double delta) const {
    double sum = 0;
    for (const RepeatedLaw& one : laws_) {
      if (!(sum <= delta)) return false;
      sum += one.count * one_delta(*one.law, 0).upper * (1 + 0x1p-50);
    }
    return sum <= delta || total_variation_above(delta) <= delta;
  }
  // By the moment E_P[dP/dQ] = 1 + χ² of all steps together: total variation is at most ½ √χ².
  // As closely as it takes to compare it with δ.
  [[nodiscard]] double total_variation_above(double delta) const {
    if (!has_transforms()) return 1;
    double steps = 0;
    for (const RepeatedLoss& one : losses_) steps += one.count;
    const double tolerance = std::max(0.1 * delta * delta / steps, 1e-25);
    double log_moment = 0;
    for (const RepeatedLoss& one : losses_) {
      const auto at_one = one.loss->on_line(1)->evaluate(1, tolerance, {}, {});
      if (!(at_one.log_moment_error < 1)) return 1;
      log_moment += one.count * (at_one.log_moment + at_one.log_moment_error + 0x1p-50 * std::fabs(at_one.log_moment));
    }
    return log_moment < 1 ? 0.5 * std::sqrt(std::max(0.0, std::expm1(log_moment))) * (1 + 1e-12) : 1;
  }
  // Basic composition: every step gets an equal share of δ.
  [[nodiscard]] double sum_of_equal_shares(double log_delta) const {
    if (laws_.size() > kMostLaws) return kInfinity;
    double steps = 0;
    for (const RepeatedLaw& one : laws_) steps += one.count;
    const double log_share = (log_delta - std::log(steps)) * (1 + 0x1p-50) - 0x1p-50;
    double sum = 0;
    for (const RepeatedLaw& one : laws_) sum += one.count * one_epsilon(*one.law, log_share).upper * (1 + 0x1p-50);
    return sum * (1 + 0x1p-45);
  }
  // The sum of the largest losses: of added records, that is not much.
  [[nodiscard]] double largest_sum() const {
    if (!has_transforms()) return kInfinity;
    double sum = 0;
    for (const RepeatedLoss& one : losses_) sum += one.count * one.loss->max_loss() * (1 + 0x1p-50);
    return sum * (1 + 0x1p-45);
  }
  // About where ε is if one large loss among all steps decides.
  [[nodiscard]] double one_large_loss(double log_delta) const {
    double steps = 0;
    for (const RepeatedLaw& one : laws_) steps += one.count;
    double largest = 0;
    for (const RepeatedLaw& one : laws_) {
      const double alone = one_epsilon(*one.law, log_delta - std::log(steps)).upper;
      if (std::isfinite(alone)) largest = std::max(largest, alone);
    }
    return largest;
  }
  [[nodiscard]] double smoothed_nodes() const { return std::exp2(max_bits_); }
  [[nodiscard]] bool suits_contour() const { return has_transforms() && suits_contour_; }
  // Fewer steps than there are lose less.
  [[nodiscard]] bool has_too_many_steps() const {
    return std::any_of(losses_.begin(), losses_.end(), [](const auto& one) { return one.count > kMostContourSteps; });
  }
  [[nodiscard]] std::vector<RepeatedLoss> fewer_losses() const {
    std::vector<RepeatedLoss> fewer = losses_;
    for (RepeatedLoss& one : fewer) one.count = std::min(one.count, kMostContourSteps);
    return fewer;
  }

  const Parts& parts_;
  int max_bits_;
  double mu_squared_;
  double log_success_ = 0;    // of all parts that fail with a probability, and tell nothing otherwise
  std::size_t failures_ = 0;  // kinds of them
  bool in_range_ = true;
  bool suits_contour_ = true;
  std::vector<LawPtr> owned_;
  std::vector<RepeatedLaw> laws_;
  std::vector<std::unique_ptr<LossTransform>> transforms_;
  std::vector<RepeatedLoss> losses_;
};

bool is_alike_above(const Parts& parts) {
  return parts.sampled.empty() && std::all_of(parts.laws.begin(), parts.laws.end(), [](const auto& one) {
           return one.second.first.remove.above == one.second.first.add.above;
         });
}

// Bounds over both directions: what is above from the laws above, what is below from those below. `solve` also gets a
// value that the answer exceeds in any case.
template <class Solve>
Result<Interval> both_directions(const Parts& parts, Solve&& solve) {
  const bool known = parts.mu_squared == parts.mu_squared_below && parts.sampled == parts.sampled_below &&
                     parts.replaced_samples == parts.replaced_samples_below &&
                     std::all_of(parts.epsilon_delta.begin(), parts.epsilon_delta.end(),
                                 [](const auto& one) { return one.first.first <= kLargestLoss; }) &&
                     std::all_of(parts.laws.begin(), parts.laws.end(), [](const auto& one) {
                       const Leaf& leaf = one.second.first;
                       return leaf.remove.above == leaf.remove.below && leaf.add.above == leaf.add.below;
                     });
  const bool alike_above = is_alike_above(parts);
  const bool alike_below =
      parts.sampled_below.empty() && std::all_of(parts.laws.begin(), parts.laws.end(), [](const auto& one) {
        return one.second.first.remove.below == one.second.first.add.below;
      });
  Interval result{0, 0};
  for (bool remove : {true, false}) {
    if (remove || !alike_above) {
      NF_TRY(const Interval found,
             solve(Composition(parts, remove, true, known ? kFineBits : kMediumBits), result.lower));
      result.upper = std::max(result.upper, found.upper);
      if (known) result.lower = std::max(result.lower, found.lower);
    }
    if (!known && (remove || !alike_below)) {
      NF_TRY(const Interval found, solve(Composition(parts, remove, false, kMediumBits), 0));
      result.lower = std::max(result.lower, found.lower);
    }
  }
  return result;
}

// Groups of parts of one kind that differ in their parameters only, as many times the worst of them from above and the
// best from below.
Parts merged(const Parts& parts) {
  constexpr std::size_t groups = 8;
  Parts result = parts;
  const auto group_of = [](std::size_t i, std::size_t size) { return i * groups / size; };
  // A larger rate and a smaller multiplier dominate; by multiplier.
  const auto merge_samples = [&](std::map<Sample, double>& worst, std::map<Sample, double>& best) {
    if (worst.size() <= groups || worst != best) return;
    std::vector<std::tuple<double, double, double>> all;
    all.reserve(worst.size());
    for (const auto& [key, count] : worst) all.emplace_back(key.second, key.first, count);
    std::sort(all.begin(), all.end());
    worst.clear();
    best.clear();
    for (std::size_t i = 0; i < all.size();) {
      auto [least, rate, count] = all[i];
      double most = least;
      double rate_below = rate;
      std::size_t next = i + 1;
      for (; next < all.size() && group_of(next, all.size()) == group_of(i, all.size()); ++next) {
        most = std::get<0>(all[next]);
        rate = std::max(rate, std::get<1>(all[next]));
        rate_below = std::min(rate_below, std::get<1>(all[next]));
        count += std::get<2>(all[next]);
      }
      worst[{rate, least}] += count;
      best[{rate_below, most}] += count;
      i = next;
    }
  };
  merge_samples(result.sampled, result.sampled_below);
  merge_samples(result.replaced_samples, result.replaced_samples_below);
  for (double kind : {1.0, 5.0, 6.0}) {
    // Keys are {kind, ε}, by growing ε, and a larger ε dominates.
    std::vector<std::pair<std::vector<double>, std::pair<Leaf, double>>> all;
    for (const auto& one : parts.laws) {
      if (one.first.size() == 2 && one.first[0] == kind) all.emplace_back(one);
    }
    if (all.size() <= groups) continue;
    for (const auto& one : all) result.laws.erase(one.first);
    for (std::size_t i = 0; i < all.size();) {
      std::size_t last = i;
      double count = 0;
      for (; last < all.size() && group_of(last, all.size()) == group_of(i, all.size()); ++last) {
        count += all[last].second.second;
      }
      const Leaf& best = all[i].second.first;
      const Leaf& worst = all[last - 1].second.first;
      result.laws[all[i].first] = {Leaf{{worst.remove.above, best.remove.below}, {worst.add.above, best.add.below}},
                                   count};
      i = last;
    }
  }
  return result;
}

}  // namespace

bool is_narrow(Interval epsilon) {
  return std::isfinite(epsilon.upper) && epsilon.upper - epsilon.lower <= std::max(1e-6 * epsilon.upper, 2e-10);
}

Result<Interval> epsilon_of(const Parts& parts, Delta delta) {
  const auto solve = [&](const Composition& composition, double enough) { return composition.epsilon(delta, enough); };
  NF_TRY(const Interval found, both_directions(parts, solve));
  if (parts.kinds() <= kMostLaws || is_narrow(found)) return found;
  NF_TRY(const Interval other, both_directions(merged(parts), solve));
  return intersect(found, other);
}

Result<double> epsilon_above(const Parts& parts, Delta delta, NeighbourDirection which, bool coarse) {
  const bool alike = is_alike_above(parts);
  const auto solve = [&](const Parts& some) -> Result<double> {
    double upper = 0;
    for (bool remove : {true, false}) {
      if (which != NeighbourDirection::kBoth && (which == NeighbourDirection::kRemoved) != remove) continue;
      if (which == NeighbourDirection::kBoth && !remove && alike) continue;
      NF_TRY(const Interval found, Composition(some, remove, true, coarse ? kCoarseBits : kFineBits).epsilon(delta));
      upper = std::max(upper, found.upper);
    }
    return upper;
  };
  NF_TRY(const double found, solve(parts));
  if (parts.kinds() <= kMostLaws || std::isfinite(found)) return found;
  return solve(merged(parts));
}

Result<Interval> delta_of(const Parts& parts, PrivacyLoss epsilon) {
  const auto solve = [&](const Composition& composition, double /*enough*/) { return composition.delta(epsilon); };
  NF_TRY(const Interval found, both_directions(parts, solve));
  if (parts.kinds() <= kMostLaws || found.upper - found.lower <= 1e-5 * found.upper) return found;
  NF_TRY(const Interval other, both_directions(merged(parts), solve));
  return intersect(found, other);
}

}  // namespace noisefloor
