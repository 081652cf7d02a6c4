#include "noisefloor/accounting/mixture_law.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace noisefloor::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Roundings of one mass, relatively to the terms that it is a sum or difference of: erfc to eight units, the
// probability, and the sum.
constexpr double kRounding = 0x1p-48;

double underflow(double mass) { return mass < 1e-290 ? 1e-320 : 0; }

struct NormalMass {
  double mass;
  double error;
};
// P(a < N(0, 1) ≤ b). Both tails are taken on the side where they are small.
NormalMass mass_between(double a, double b) {
  if (!(a < b)) return {0, 0};
  if (a < 0 && b <= 0) return mass_between(-b, -a);
  const double upper = b == kInfinity ? 0 : 0.5 * std::erfc(b / std::numbers::sqrt2);
  if (a >= 0) {
    const double lower = 0.5 * std::erfc(a / std::numbers::sqrt2);
    // Ends are rounded by 2^-52 of themselves, which moves the tail by a (a + 1) times that.
    return {std::max(0.0, lower - upper), lower * kRounding * (1 + a * a) + underflow(lower)};
  }
  const double left = a == -kInfinity ? 0 : 0.5 * std::erfc(-a / std::numbers::sqrt2);
  return {1 - left - upper, kRounding};
}

// N(0, 1) exceeds this with a probability of at most `mass`.
double reach_of(double mass) { return std::sqrt(2 * std::log(1 / std::clamp(mass, 1e-300, 0.5))); }

class GaussianMixtureLaw final : public LossLaw {
 public:
  GaussianMixtureLaw(std::vector<MixturePart> parts, MixtureSide side) : side_(side) {
    std::sort(parts.begin(), parts.end(),
              [](const MixturePart& a, const MixturePart& b) { return a.distance < b.distance; });
    double rarest = 0;
    for (const MixturePart& part : parts) {
      if (part.probability == 0) continue;
      rarest = std::max(rarest, -std::log(part.probability));
      if (part.distance == 0) {
        absent_ += part.probability;
        continue;
      }
      parts_.push_back({part.distance, part.distance * part.distance / 2, part.probability});
    }
    const double farthest = parts_.back().distance;
    constant_error_ = 0x1p-47 * (rarest + farthest * farthest + std::log(static_cast<double>(parts_.size()) + 1) + 4);
    log_absent_ = absent_ > 0 ? std::log(absent_) : -kInfinity;
    constexpr int size = 1024;
    table_begin_ = -farthest - 40;
    table_step_ = -2 * table_begin_ / size;
    for (int i = 0; i <= size; ++i) table_.push_back(loss(table_begin_ + table_step_ * i));
    if (!std::is_sorted(table_.begin(), table_.end())) table_.clear();
  }

  [[nodiscard]] Masses masses(double from, double to) const override {
    if (side_ == MixtureSide::kAdd) {
      // The loss is −ℓ: the interval turns around, and so do P and Q.
      const Masses m = between(place(-to), place(-from));
      return {m.q, m.p, m.q_error, m.p_error};
    }
    return between(place(from), place(to));
  }

  // Of ℓ at the place that place() finds: streams_and_samples.md.
  [[nodiscard]] double loss_error(double largest) const override { return 0x1p-47 * largest + 2 * constant_error_; }

  [[nodiscard]] Interval range(double below, double above) const override {
    // Every part of P beyond these ends has less than `below` or `above`.
    if (side_ == MixtureSide::kAdd) return {-loss(reach_of(below)), -loss(-reach_of(above))};
    double low = absent_ > 0 ? -reach_of(below) : kInfinity;
    double high = absent_ > 0 ? reach_of(above) : -kInfinity;
    const auto size = static_cast<double>(parts_.size() + 1);
    for (const Part& part : parts_) {
      // Parts that are rarer than what may be left out do not count.
      const double cut_below = below / (size * part.probability);
      const double cut_above = above / (size * part.probability);
      if (cut_below < 1) low = std::min(low, part.distance - reach_of(cut_below));
      if (cut_above < 1) high = std::max(high, part.distance + reach_of(cut_above));
    }
    if (!(low <= high)) low = high = 0;
    return {loss(low), loss(high)};
  }

 private:
  struct Part {
    double distance;
    double half_square;
    double probability;
  };
  struct Value {
    double loss;
    double slope;
  };

  // ln Σ p_i e^{a_i x − a_i²/2} and its derivative.
  [[nodiscard]] Value tilt(double x) const {
    double largest = absent_ > 0 ? 0 : -kInfinity;
    for (const Part& part : parts_) largest = std::max(largest, part.distance * x - part.half_square);
    if (absent_ >= 0.5 && largest < 600) {
      // Without what adds up to 1: small losses have small errors.
      double sum = 0;
      double slope = 0;
      for (const Part& part : parts_) {
        const double less = std::expm1(part.distance * x - part.half_square);
        sum += part.probability * less;
        slope += part.probability * part.distance * (less + 1);
      }
      return {std::log1p(sum), slope / (1 + sum)};
    }
    double sum = absent_ > 0 ? absent_ * std::exp(-largest) : 0;
    double slope = 0;
    for (const Part& part : parts_) {
      const double weight = part.probability * std::exp(part.distance * x - part.half_square - largest);
      sum += weight;
      slope += weight * part.distance;
    }
    return {std::log(sum) + largest, slope / sum};
  }

  [[nodiscard]] Value at(double x) const {
    const Value one = tilt(x);
    if (side_ != MixtureSide::kReplace) return one;
    const Value other = tilt(-x);
    return {one.loss - other.loss, one.slope + other.slope};
  }
  [[nodiscard]] double loss(double x) const { return at(x).loss; }

  // The x with this loss (not turned around): Newton's steps within an interval that holds it. The same for the same
  // loss, so that what one interval ends with is what the next begins with.
  [[nodiscard]] double place(double l) const {
    if (std::isinf(l)) return l;
    if (side_ != MixtureSide::kReplace && l <= log_absent_) return -kInfinity;
    const double farthest = parts_.back().distance;
    // Outside of these the loss is on the other side of l. Slopes are at most `farthest`, and losses at 0 are at most
    // 0.
    double low = -kInfinity;
    double high = kInfinity;
    double x = l > 0 ? l / farthest + farthest / 2 : 0;
    const auto above = std::upper_bound(table_.begin(), table_.end(), l);
    if (above != table_.begin() && above != table_.end() && *above > above[-1]) {
      const auto index = static_cast<double>(above - table_.begin());
      x = table_begin_ + table_step_ * (index - (*above - l) / (*above - above[-1]));
    }
    for (int i = 0; i < 200; ++i) {
      const Value here = at(x);
      const double gap = here.loss - l;
      if (std::fabs(gap) <= 0x1p-51 * std::fabs(l) + 0x1p-5 * constant_error_) return x;
      (gap < 0 ? low : high) = x;
      double next = x - gap / here.slope;
      if (!(next > low && next < high)) {
        next = low == -kInfinity   ? x - 2 * std::max(1.0, std::fabs(x))
               : high == kInfinity ? x + 2 * std::max(1.0, std::fabs(x))
                                   : low + (high - low) / 2;
      }
      if (next == low || next == high) return next;
      x = next;
    }
    return x;
  }

  [[nodiscard]] Masses between(double a, double b) const {
    const NormalMass rest = mass_between(a, b);
    Masses sum{absent_ * rest.mass, absent_ * rest.mass, absent_ * rest.error, absent_ * rest.error};
    const bool replace = side_ == MixtureSide::kReplace;
    for (const Part& part : parts_) {
      const NormalMass up = mass_between(a - part.distance, b - part.distance);
      sum.p += part.probability * up.mass;
      sum.p_error += part.probability * up.error;
      if (!replace) continue;
      const NormalMass down = mass_between(a + part.distance, b + part.distance);
      sum.q += part.probability * down.mass;
      sum.q_error += part.probability * down.error;
    }
    if (!replace) {
      sum.q = rest.mass;
      sum.q_error = rest.error;
    }
    const double additions = kRounding * (1 + 0x1p-4 * static_cast<double>(parts_.size()));
    sum.p_error += sum.p * additions + underflow(sum.p);
    sum.q_error += sum.q * additions + underflow(sum.q);
    return sum;
  }

  MixtureSide side_;
  std::vector<Part> parts_;  // by growing distance
  double absent_ = 0;        // the probability of the distance 0
  double log_absent_;
  double constant_error_;
  // Losses at places of equal distance: where searches start.
  std::vector<double> table_;
  double table_begin_;
  double table_step_;
};

class EitherLaw final : public LossLaw {
 public:
  explicit EitherLaw(std::vector<WeightedLaw> laws) : laws_(std::move(laws)) {}

  [[nodiscard]] Masses masses(double from, double to) const override {
    Masses sum{0, 0, 0, 0};
    for (const WeightedLaw& one : laws_) {
      const Masses m = one.law->masses(from, to);
      sum.p += one.probability * m.p;
      sum.q += one.probability * m.q;
      sum.p_error += one.probability * m.p_error + (m.p > 0 ? underflow(one.probability * m.p) : 0);
      sum.q_error += one.probability * m.q_error + (m.q > 0 ? underflow(one.probability * m.q) : 0);
    }
    const double additions = kRounding * (1 + 0x1p-4 * static_cast<double>(laws_.size()));
    sum.p_error += sum.p * additions;
    sum.q_error += sum.q * additions;
    return sum;
  }

  [[nodiscard]] double loss_error(double largest) const override {
    double error = 0;
    for (const WeightedLaw& one : laws_) error = std::max(error, one.law->loss_error(largest));
    return error;
  }

  [[nodiscard]] double infinite_mass() const override {
    double sum = 0;
    for (const WeightedLaw& one : laws_) sum += one.probability * one.law->infinite_mass();
    return sum;
  }

  [[nodiscard]] Interval range(double below, double above) const override {
    Interval whole{kInfinity, -kInfinity};
    const auto size = static_cast<double>(laws_.size());
    for (const WeightedLaw& one : laws_) {
      const double cut_below = below / (size * one.probability);
      const double cut_above = above / (size * one.probability);
      if (cut_below >= 1 && cut_above >= 1) continue;
      const Interval part = one.law->range(std::min(cut_below, 0.5), std::min(cut_above, 0.5));
      whole = {std::min(whole.lower, part.lower), std::max(whole.upper, part.upper)};
    }
    return whole.lower <= whole.upper ? whole : Interval{0, 0};
  }

 private:
  std::vector<WeightedLaw> laws_;
};

}  // namespace

std::unique_ptr<LossLaw> gaussian_mixture_law(std::vector<MixturePart> parts, MixtureSide side) {
  return std::make_unique<GaussianMixtureLaw>(std::move(parts), side);
}

std::unique_ptr<LossLaw> either_law(std::vector<WeightedLaw> laws) {
  laws.erase(std::remove_if(laws.begin(), laws.end(), [](const WeightedLaw& one) { return one.probability == 0; }),
             laws.end());
  return std::make_unique<EitherLaw>(std::move(laws));
}

}  // namespace noisefloor::internal
