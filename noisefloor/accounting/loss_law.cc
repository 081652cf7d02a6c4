#include "noisefloor/accounting/loss_law.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

namespace noisefloor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Roundings of one mass, relatively to the terms it is a sum or difference of. erfc, exp and log1p are within an ulp or
// two; arguments are rounded before.
constexpr double kRounding = 0x1p-49;

// P(a < N(0, 1) ≤ b) and a bound of its error. Both tails are taken on the side where they are small.
struct NormalMass {
  double mass;
  double error;
};
NormalMass normal_mass(double a, double b) {
  if (!(a < b)) return {0, 0};
  if (a < 0 && b <= 0) return normal_mass(-b, -a);
  const double upper = b == kInfinity ? 0 : 0.5 * std::erfc(b / std::numbers::sqrt2);
  if (a >= 0) {
    const double lower = 0.5 * std::erfc(a / std::numbers::sqrt2);
    // The argument is rounded by 2^-52 of itself, which moves the tail by about a² times that.
    return {std::max(0.0, lower - upper), lower * kRounding * (1 + a * a)};
  }
  const double left = a == -kInfinity ? 0 : 0.5 * std::erfc(-a / std::numbers::sqrt2);
  return {1 - left - upper, kRounding};
}

// N(0, 1) exceeds this with a probability of at most `mass`.
double normal_reach(double mass) { return std::sqrt(2 * std::log(1 / std::clamp(mass, 1e-300, 0.5))); }

class GaussianLaw final : public LossLaw {
 public:
  explicit GaussianLaw(double mu) : mu_(mu) {}

  [[nodiscard]] Masses masses(double from, double to) const override {
    const NormalMass p = normal_mass(from / mu_ - mu_ / 2, to / mu_ - mu_ / 2);
    const NormalMass q = normal_mass(from / mu_ + mu_ / 2, to / mu_ + mu_ / 2);
    return {p.mass, q.mass, p.error, q.error};
  }

  [[nodiscard]] Interval range(double below, double above) const override {
    return {mu_ * mu_ / 2 - mu_ * normal_reach(below), mu_ * mu_ / 2 + mu_ * normal_reach(above)};
  }

 private:
  double mu_;
};

class LaplaceLaw final : public LossLaw {
 public:
  explicit LaplaceLaw(double epsilon) : epsilon_(epsilon) {}

  [[nodiscard]] Masses masses(double from, double to) const override {
    // Between the atoms at ±ε the densities are ¼ e^{(∓ε ± ℓ)/2}.
    const double a = std::clamp(from, -epsilon_, epsilon_);
    const double b = std::clamp(to, -epsilon_, epsilon_);
    const double step = std::expm1((b - a) / 2);
    Masses sum{0.5 * std::exp((a - epsilon_) / 2) * step, 0.5 * std::exp((-b - epsilon_) / 2) * step, 0, 0};
    const auto add = [&](double at, double p, double q) {
      if (!(from < at && at <= to)) return;
      sum.p += p;
      sum.q += q;
    };
    add(epsilon_, 0.5, 0.5 * std::exp(-epsilon_));
    add(-epsilon_, 0.5 * std::exp(-epsilon_), 0.5);
    sum.p_error = sum.p * kRounding;
    sum.q_error = sum.q * kRounding;
    return sum;
  }

  [[nodiscard]] double atom_loss() const override { return epsilon_; }
  [[nodiscard]] Interval range(double /*below*/, double /*above*/) const override { return {-epsilon_, epsilon_}; }

 private:
  double epsilon_;
};

class FiniteLaw final : public LossLaw {
 public:
  explicit FiniteLaw(const std::vector<Outcome>& outcomes) {
    for (const Outcome& one : outcomes) {
      if (one.q == 0) {
        infinite_ += one.p;
      } else {
        // A loss of −∞ has no mass under P; only the other direction sees it. It is kept as the lowest number.
        const double loss = one.p == 0 ? std::numeric_limits<double>::lowest() : std::log(one.p) - std::log(one.q);
        atoms_.push_back({loss, one});
      }
    }
    std::sort(atoms_.begin(), atoms_.end(), [](const Atom& a, const Atom& b) { return a.loss < b.loss; });
  }

  [[nodiscard]] Masses masses(double from, double to) const override {
    Masses sum{0, 0, 0, 0};
    auto at = std::upper_bound(atoms_.begin(), atoms_.end(), from,
                               [](double value, const Atom& atom) { return value < atom.loss; });
    for (; at != atoms_.end() && at->loss <= to; ++at) {
      sum.p += at->outcome.p;
      sum.q += at->outcome.q;
    }
    sum.p_error = sum.p * kRounding;
    sum.q_error = sum.q * kRounding;
    return sum;
  }

  [[nodiscard]] double infinite_mass() const override { return infinite_; }

  [[nodiscard]] double atom_loss() const override {
    double largest = 0;
    for (const Atom& atom : atoms_) {
      if (atom.outcome.p > 0) largest = std::max(largest, std::fabs(atom.loss));
    }
    for (const Atom& atom : atoms_) {
      const double size = std::fabs(atom.loss);
      if (atom.outcome.p > 0 && size > 1e-13 * largest && size < largest * (1 - 1e-13)) return 0;
    }
    return largest;
  }

  [[nodiscard]] Interval range(double below, double above) const override {
    if (atoms_.empty()) return {0, 0};
    std::size_t low = 0;
    for (double sum = atoms_[low].outcome.p; sum <= below && low + 1 < atoms_.size(); sum += atoms_[low].outcome.p)
      ++low;
    std::size_t high = atoms_.size() - 1;
    for (double sum = atoms_[high].outcome.p; sum <= above && high > low; sum += atoms_[high].outcome.p) --high;
    return {atoms_[low].loss, atoms_[high].loss};
  }

 private:
  struct Atom {
    double loss;
    Outcome outcome;
  };
  std::vector<Atom> atoms_;  // by growing loss
  double infinite_ = 0;
};

class DiscreteLaplaceLaw final : public LossLaw {
 public:
  DiscreteLaplaceLaw(double scale, double shift) : scale_(scale), shift_(shift) {}

  [[nodiscard]] Masses masses(double from, double to) const override {
    // P is centred at 0 and Q at `shift`. The loss (shift − 2x)/scale falls from x = 0 to x = shift and is constant
    // outside: { from < L ≤ to } is a range of whole x.
    const auto first_at_most = [&](double loss) {  // the smallest x with L(x) ≤ loss
      if (loss >= shift_ / scale_) return -kInfinity;
      return loss < -shift_ / scale_ ? kInfinity : std::ceil((shift_ - loss * scale_) / 2);
    };
    const double begin = first_at_most(to);
    const double end = first_at_most(from);
    if (!(begin < end)) return {0, 0, 0, 0};
    Masses sum{between(begin, end), between(begin - shift_, end - shift_), 0, 0};
    sum.p_error = sum.p * kRounding;
    sum.q_error = sum.q * kRounding;
    return sum;
  }

  [[nodiscard]] Interval range(double /*below*/, double /*above*/) const override {
    return {-shift_ / scale_, shift_ / scale_};
  }

 private:
  // P(begin ≤ X < end) of noise around 0, without differences of nearly equal numbers.
  [[nodiscard]] double between(double begin, double end) const {
    if (!(begin < end)) return 0;
    if (begin <= 0 && end > 0) return one_side(0, end) + one_side(1, 1 - begin);
    return begin > 0 ? one_side(begin, end) : one_side(1 - end, 1 - begin);
  }
  // For 0 ≤ begin ≤ end: (r^begin − r^end)/(1 + r) with r = e^{−1/scale}.
  [[nodiscard]] double one_side(double begin, double end) const {
    const double span = end == kInfinity ? 1 : -std::expm1(-(end - begin) / scale_);
    return std::exp(-begin / scale_) * span / (1 + std::exp(-1 / scale_));
  }

  double scale_;
  double shift_;
};

class SampledLaw final : public LossLaw {
 public:
  SampledLaw(std::shared_ptr<const LossLaw> inner, double q, bool remove)
      : inner_(std::move(inner)), q_(q), remove_(remove) {}

  [[nodiscard]] Masses masses(double from, double to) const override {
    if (remove_) return mixed(inner_->masses(inner_loss(from), inner_loss(to)));
    // The loss is − ln(1 − q + q e^L): the interval turns around, and so do P and Q.
    const Masses m = mixed(inner_->masses(inner_loss(-to), inner_loss(-from)));
    return {m.q, m.p, m.q_error, m.p_error};
  }

  [[nodiscard]] double infinite_mass() const override { return remove_ ? q_ * inner_->infinite_mass() : 0; }

  [[nodiscard]] Interval range(double below, double above) const override {
    // The inner ranges are those under P; both of the inner laws take part, so that both sides are asked for.
    const double least = std::min(below, above);
    const Interval inner = remove_ ? inner_->range(least, above) : inner_->range(least, below);
    const auto outer = [&](double loss) {
      return loss > 700 ? loss + std::log(q_) : std::log1p(q_ * std::expm1(loss));
    };
    if (remove_) return {outer(inner.lower), outer(inner.upper)};
    return {-outer(inner.upper), -std::log1p(-q_)};
  }

 private:
  // The L with ln(1 − q + q e^L) = loss.
  [[nodiscard]] double inner_loss(double loss) const {
    if (loss == kInfinity) return kInfinity;
    if (loss > 700) return loss - std::log(q_);
    const double excess = std::expm1(loss) / q_;
    return excess <= -1 ? -kInfinity : std::log1p(excess);
  }

  [[nodiscard]] Masses mixed(const Masses& m) const {
    return {(1 - q_) * m.q + q_ * m.p, m.q, ((1 - q_) * m.q_error + q_ * m.p_error) + kRounding * (m.q + m.p),
            m.q_error};
  }

  std::shared_ptr<const LossLaw> inner_;
  double q_;
  bool remove_;
};

class FixedSizeLaw final : public LossLaw {
 public:
  FixedSizeLaw(std::shared_ptr<const LossLaw> inner, double q) : remove_(inner, q, true), add_(inner, q, false) {
    const Masses positive = remove_.masses(0, kInfinity);
    const Masses negative = add_.masses(-kInfinity, -kTiny);
    // What is left has the loss 0, under both.
    centre_.p = std::max(0.0, 1 - positive.p - remove_.infinite_mass() - negative.p);
    centre_.q = centre_.p;
    centre_.p_error = positive.p_error + negative.p_error + kRounding;
    centre_.q_error = positive.q_error + negative.q_error + kRounding;
  }

  [[nodiscard]] Masses masses(double from, double to) const override {
    Masses sum{0, 0, 0, 0};
    const auto add = [&](const Masses& m) {
      sum = {sum.p + m.p, sum.q + m.q, sum.p_error + m.p_error, sum.q_error + m.q_error};
    };
    if (to > 0) add(remove_.masses(std::max(from, 0.0), to));
    if (from < -kTiny) add(add_.masses(from, std::min(to, -kTiny)));
    if (from < 0 && to >= 0) add(centre_);
    return sum;
  }

  [[nodiscard]] double infinite_mass() const override { return remove_.infinite_mass(); }

  [[nodiscard]] Interval range(double below, double above) const override {
    return {std::min(add_.range(below, above).lower, 0.0), std::max(remove_.range(below, above).upper, 0.0)};
  }

 private:
  static constexpr double kTiny = 1e-300;
  SampledLaw remove_;
  SampledLaw add_;
  Masses centre_;
};

class OppositeSamplesLaw final : public LossLaw {
 public:
  OppositeSamplesLaw(double q, double multiplier) : q_(q), z_(multiplier) {}

  [[nodiscard]] Masses masses(double from, double to) const override {
    const double a = place(from);
    const double b = place(to);
    const NormalMass rest = normal_mass(a / z_, b / z_);
    const NormalMass up = normal_mass((a - 1) / z_, (b - 1) / z_);
    const NormalMass down = normal_mass((a + 1) / z_, (b + 1) / z_);
    const auto mix = [&](double one, double other) { return (1 - q_) * one + q_ * other; };
    return {mix(rest.mass, up.mass), mix(rest.mass, down.mass), mix(rest.error, up.error) + kRounding * rest.mass,
            mix(rest.error, down.error) + kRounding * rest.mass};
  }

  [[nodiscard]] Interval range(double below, double above) const override {
    return {loss(-1 - z_ * normal_reach(below)), loss(1 + z_ * normal_reach(above))};
  }

 private:
  [[nodiscard]] double loss(double x) const { return log_share(x) - log_share(-x); }
  [[nodiscard]] double log_share(double x) const {
    const double u = (2 * x - 1) / (2 * z_ * z_);
    return u > 700 ? u + std::log(q_) : std::log1p(q_ * std::expm1(u));
  }
  // Where the loss is ℓ: b E² + a (1 − e^ℓ) E − e^ℓ b = 0 for E = e^{x/z²}, a = 1 − q, b = q e^{−1/2z²}.
  [[nodiscard]] double place(double l) const {
    if (std::isinf(l)) return l;
    if (l < 0) return -place(-l);
    const double half = (1 - q_) / q_ * std::exp(0.5 / (z_ * z_)) * std::expm1(std::min(l, 700.0)) / 2;
    const double growth = std::exp(std::min(l, 700.0));
    return z_ * z_ * std::log(half + std::sqrt(half * half + growth));
  }

  double q_;
  double z_;
};

}  // namespace

std::unique_ptr<LossLaw> gaussian_law(double mu) { return std::make_unique<GaussianLaw>(mu); }

std::unique_ptr<LossLaw> laplace_law(double epsilon) { return std::make_unique<LaplaceLaw>(epsilon); }

std::unique_ptr<LossLaw> finite_law(std::vector<Outcome> outcomes) { return std::make_unique<FiniteLaw>(outcomes); }

std::unique_ptr<LossLaw> epsilon_delta_law(double epsilon, double delta) {
  const double rest = 1 - delta;
  const double high = rest / (1 + std::exp(-epsilon));
  const double low = high * std::exp(-epsilon);
  return finite_law({{delta, 0}, {high, low}, {low, high}, {0, delta}});
}

std::unique_ptr<LossLaw> discrete_laplace_law(double scale, double shift) {
  return std::make_unique<DiscreteLaplaceLaw>(scale, shift);
}

std::unique_ptr<LossLaw> discrete_gaussian_law(double sigma, double shift) {
  // 36 standard deviations on both sides of both centres hold all but e^-640.
  const double reach = std::ceil(36 * sigma) + 1;
  std::vector<Outcome> outcomes;
  double total = 0;
  const auto weight = [&](double x) { return std::exp(-x * x / (2 * sigma * sigma)); };
  const auto reach_steps = static_cast<std::int64_t>(reach);
  for (std::int64_t x = -reach_steps; x <= reach_steps; ++x) total += weight(static_cast<double>(x));
  for (std::int64_t x = -reach_steps; x <= reach_steps + static_cast<std::int64_t>(shift); ++x) {
    outcomes.push_back({weight(static_cast<double>(x)) / total, weight(static_cast<double>(x) - shift) / total});
  }
  return finite_law(std::move(outcomes));
}

std::unique_ptr<LossLaw> sampled_law(std::shared_ptr<const LossLaw> inner, double q, bool remove) {
  return std::make_unique<SampledLaw>(std::move(inner), q, remove);
}

std::unique_ptr<LossLaw> fixed_size_law(std::shared_ptr<const LossLaw> inner, double q) {
  return std::make_unique<FixedSizeLaw>(std::move(inner), q);
}

std::unique_ptr<LossLaw> opposite_samples_law(double q, double multiplier) {
  return std::make_unique<OppositeSamplesLaw>(q, multiplier);
}

Interval single_delta(const LossLaw& law, double epsilon) {
  const Masses m = law.masses(epsilon, kInfinity);
  const double infinite = law.infinite_mass();
  const double p = m.p + infinite;
  const double q = m.q > 0 ? std::exp(epsilon + std::log(m.q)) : 0;
  const double q_error = (m.q_error > 0 ? std::exp(epsilon + std::log(m.q_error)) : 0) + q * kRounding * (4 + epsilon);
  const double error = m.p_error + q_error + p * kRounding;
  return {std::clamp(p - q - error, 0.0, 1.0), std::clamp(p - q + error, 0.0, 1.0)};
}

Interval single_epsilon(const LossLaw& law, double log_delta) {
  const double delta = std::exp(log_delta);
  // Both bounds fall with ε: the smallest ε where the upper one is small enough, the largest where the lower one is not.
  const auto solve = [&](auto&& is_above) {
    if (!is_above(0.0)) return 0.0;
    double low = 0;
    double high = 1e-12;
    while (is_above(high)) {
      low = high;
      high *= 2;
      if (high > 1e9) return kInfinity;
    }
    for (int i = 0; i < 200 && high - low > 1e-15 * high; ++i) {
      const double middle = low + (high - low) / 2;
      (is_above(middle) ? low : high) = middle;
    }
    return high;
  };
  const double upper = solve([&](double e) { return single_delta(law, e).upper > delta * (1 - 0x1p-50); });
  const double lower = solve([&](double e) { return single_delta(law, e).lower > delta * (1 + 0x1p-50); });
  return {std::max(0.0, lower * (1 - 1e-14)), upper};
}

}  // namespace noisefloor
