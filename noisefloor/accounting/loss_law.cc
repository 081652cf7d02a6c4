#include "noisefloor/accounting/loss_law.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "noisefloor/numerics/bisect.h"

namespace noisefloor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Roundings of one mass, relatively to the terms it is a sum or difference of: 8 units in the last place. exp and log1p
// are within one unit or two, erfc within 5 (3.3 measured with glibc 2.36); arguments are rounded before.
constexpr double kRounding = 0x1p-49;

// e to minus this is nothing beside any error.
constexpr double kLargestExponent = 700;

// What a mass may have lost by underflow.
double underflow(double mass) { return mass < 1e-290 ? 1e-320 : 0; }

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
    // The argument is rounded by 2^-52 of itself, which moves the tail by a (a + 1) times that.
    return {std::max(0.0, lower - upper), lower * kRounding * (1 + a * a) + underflow(lower)};
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
    // The quotients are the ends as P and Q both see them; each is wrong by a bit, which is a loss_error().
    const double a = from / mu_;
    const double b = to / mu_;
    const NormalMass p = normal_mass(a - mu_ / 2, b - mu_ / 2);
    const NormalMass q = normal_mass(a + mu_ / 2, b + mu_ / 2);
    return {p.mass, q.mass, p.error, q.error};
  }
  [[nodiscard]] double loss_error(double largest) const override { return 0x1p-52 * largest; }

  [[nodiscard]] Interval range(double below, double above) const override {
    return {mu_ * mu_ / 2 - mu_ * normal_reach(below), mu_ * mu_ / 2 + mu_ * normal_reach(above)};
  }

 private:
  double mu_;
};

// `weight` e^{(−ε ± ℓ)/2}/2 is the density of the loss ℓ in [−ε, ε], under P and Q: the masses of { from < ℓ ≤ to }.
Masses exponential_masses(double epsilon, double weight, double from, double to) {
  const double a = std::clamp(from, -epsilon, epsilon);
  const double b = std::clamp(to, -epsilon, epsilon);
  const double step = std::expm1((b - a) / 2);
  return {weight * std::exp((a - epsilon) / 2) * step, weight * std::exp((-b - epsilon) / 2) * step, 0, 0};
}

// Exponents are rounded by up to 2^-52 ε. For these masses, and for atoms at ±ε that were added to them.
void add_exponential_errors(double epsilon, double from, double to, Masses& sum) {
  const bool empty = to < -epsilon || from >= epsilon;
  sum.p_error = sum.p * kRounding * (1 + epsilon) + (empty ? 0 : underflow(sum.p));
  sum.q_error = sum.q * kRounding * (1 + epsilon) + (empty ? 0 : underflow(sum.q));
}

class LaplaceLaw final : public LossLaw {
 public:
  explicit LaplaceLaw(double epsilon) : epsilon_(epsilon) {}

  [[nodiscard]] Masses masses(double from, double to) const override {
    // Between the atoms at ±ε the densities are ¼ e^{(∓ε ± ℓ)/2}.
    Masses sum = exponential_masses(epsilon_, 0.5, from, to);
    const auto add = [&](double at, double p, double q) {
      if (!(from < at && at <= to)) return;
      sum.p += p;
      sum.q += q;
    };
    add(epsilon_, 0.5, 0.5 * std::exp(-epsilon_));
    add(-epsilon_, 0.5 * std::exp(-epsilon_), 0.5);
    add_exponential_errors(epsilon_, from, to, sum);
    return sum;
  }

  [[nodiscard]] double atom_loss() const override { return epsilon_; }
  [[nodiscard]] Interval range(double /*below*/, double /*above*/) const override { return {-epsilon_, epsilon_}; }

 private:
  double epsilon_;
};

// What every mechanism of ε-bounded range is dominated by. For neighbours its likelihood ratios lie in [e^{t−ε}, e^t]
// for some t in [0, ε]; by convexity δ(x) is largest with all mass on the ends, where it is
//   (1 − e^{t−ε}) (1 − e^{x−t}) / (1 − e^{−ε}),   at most (1 − e^{(x−ε)/2})² / (1 − e^{−ε})   [t = (x + ε)/2].
// The latter is the δ(x) of the pair with densities e^{±ℓ/2} / (4 sinh(ε/2)) of the loss ℓ in [−ε, ε]. So that pair
// dominates the mechanism for all t at once, and compositions of it dominate adaptive ones (Zhu, Dong, Wang 2022).
class BoundedRangeLaw final : public LossLaw {
 public:
  explicit BoundedRangeLaw(double epsilon) : epsilon_(epsilon) {}

  [[nodiscard]] Masses masses(double from, double to) const override {
    Masses sum = exponential_masses(epsilon_, -1 / std::expm1(-epsilon_), from, to);
    add_exponential_errors(epsilon_, from, to, sum);
    return sum;
  }

  [[nodiscard]] Interval range(double /*below*/, double /*above*/) const override { return {-epsilon_, epsilon_}; }

 private:
  double epsilon_;
};

class FiniteLaw final : public LossLaw {
 public:
  // An outcome, its loss and the relative errors of its probabilities.
  struct Atom {
    double loss;
    Outcome outcome;
    double p_error;
    double q_error;
  };

  // `loss_error` bounds the errors of all the losses, and `missing` the probability of outcomes that are left out, at
  // both ends.
  FiniteLaw(std::vector<Atom> atoms, double infinite, double loss_error, double missing)
      : atoms_(std::move(atoms)), infinite_(infinite), loss_error_(loss_error), missing_(missing) {
    std::sort(atoms_.begin(), atoms_.end(), [](const Atom& a, const Atom& b) { return a.loss < b.loss; });
  }

  static std::unique_ptr<FiniteLaw> of(const std::vector<Outcome>& outcomes) {
    std::vector<Atom> atoms;
    double infinite = 0;
    double error = 0;
    for (const Outcome& one : outcomes) {
      if (one.q == 0) {
        infinite += one.p;
      } else if (one.p == 0) {
        // A loss of −∞ has no mass under P; only the other direction sees it. It is kept as the lowest number.
        atoms.push_back({std::numeric_limits<double>::lowest(), one, kRounding, kRounding});
      } else {
        atoms.push_back({std::log(one.p) - std::log(one.q), one, kRounding, kRounding});
        error = std::max(error, 2 * kRounding + 0x1p-51 * (std::fabs(std::log(one.p)) + std::fabs(std::log(one.q))));
      }
    }
    return std::make_unique<FiniteLaw>(std::move(atoms), infinite, error, 0);
  }

  [[nodiscard]] Masses masses(double from, double to) const override {
    Masses sum{0, 0, 0, 0};
    double additions = 0;
    auto at = std::upper_bound(atoms_.begin(), atoms_.end(), from,
                               [](double value, const Atom& atom) { return value < atom.loss; });
    for (; at != atoms_.end() && at->loss <= to; ++at) {
      sum.p += at->outcome.p;
      sum.q += at->outcome.q;
      sum.p_error += at->outcome.p * at->p_error;
      sum.q_error += at->outcome.q * at->q_error;
      ++additions;
    }
    sum.p_error += sum.p * additions * 0x1p-52 + additions * underflow(sum.p);
    sum.q_error += sum.q * additions * 0x1p-52 + additions * underflow(sum.q);
    if (std::isinf(from) || std::isinf(to)) {
      sum.p_error += missing_;
      sum.q_error += missing_;
    }
    return sum;
  }

  [[nodiscard]] double loss_error(double /*largest*/) const override { return loss_error_; }
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
  std::vector<Atom> atoms_;  // by growing loss
  double infinite_;
  double loss_error_;
  double missing_;
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
    // Exponents are rounded by up to 2^-52 of shift/scale.
    sum.p_error = sum.p * kRounding * (1 + shift_ / scale_) + underflow(sum.p);
    sum.q_error = sum.q * kRounding * (1 + shift_ / scale_) + underflow(sum.q);
    return sum;
  }
  [[nodiscard]] double loss_error(double /*largest*/) const override { return 0x1p-50 * shift_ / scale_; }

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

  [[nodiscard]] Excess excess(double from, double to, double at) const override {
    // With e^ℓ = 1 − q + q e^L: ((1 − q)Q + qP) − Q e^ℓ = q (P − Q e^L), and Q − ((1 − q)Q + qP) e^−ℓ that times −e^−ℓ.
    const double rounding = loss_error(std::fabs(at));
    if (remove_) {
      const Excess inner = inner_excess(from, to, at);
      const Masses m = masses(from, to);
      return {q_ * inner.value,
              q_ * inner.error + 0x1p-51 * q_ * std::fabs(inner.value) + std::exp(at) * (m.q + m.q_error) * rounding};
    }
    const Excess inner = inner_excess(-to, -from, -at);
    const double scale = q_ * std::exp(at);
    const Masses m = masses(from, to);
    return {-scale * inner.value, scale * (inner.error + 0x1p-50 * (1 + std::fabs(at)) * std::fabs(inner.value)) +
                                      (m.p + m.p_error) * rounding};
  }

  [[nodiscard]] double loss_error(double largest) const override {
    // An inner loss that is wrong by η makes one by η times the share of the sampled part. certified_accounting.md,
    // step 18.
    const double inner = std::max(0.0, inner_loss(largest));
    const double share = q_ / ((1 - q_) * std::exp(-inner) + q_);
    return 0x1p-47 * largest + share * (inner_->loss_error(inner) + 0x1p-51 * inner);
  }

  [[nodiscard]] double infinite_mass() const override { return remove_ ? q_ * inner_->infinite_mass() : 0; }

  [[nodiscard]] Interval range(double below, double above) const override {
    // The inner ranges are those under P; both of the inner laws take part, so that both sides are asked for.
    const double least = std::min(below, above);
    const double highest = remove_ ? above : below;
    const Interval inner = inner_->range(least, highest);
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
    if (excess < -0.5 && q_ > 0.5) {
      const double rest = std::exp(loss) - (1 - q_);
      return rest > 0 ? std::log(rest / q_) : -kInfinity;
    }
    return excess <= -1 ? -kInfinity : std::log1p(excess);
  }

  // P − Q e^L of the inner law.
  [[nodiscard]] Excess inner_excess(double from, double to, double at) const {
    const double inner = inner_loss(at);
    if (inner > -kLargestExponent) return inner_->excess(inner_loss(from), inner_loss(to), inner);
    const Masses m = inner_->masses(inner_loss(from), inner_loss(to));
    return {m.p, m.p_error + 1e-300};
  }

  [[nodiscard]] Masses mixed(const Masses& m) const {
    const double p = (1 - q_) * m.q + q_ * m.p;
    const bool empty = m.p == 0 && m.q == 0 && m.p_error == 0 && m.q_error == 0;
    return {p, m.q, (1 - q_) * m.q_error + q_ * m.p_error + kRounding * p + (empty ? 0 : underflow(p)), m.q_error};
  }

  std::shared_ptr<const LossLaw> inner_;
  double q_;
  bool remove_;
};

class FixedSizeLaw final : public LossLaw {
 public:
  FixedSizeLaw(const std::shared_ptr<const LossLaw>& inner, double q) : remove_(inner, q, true), add_(inner, q, false) {
    const Masses positive = remove_.masses(0, kInfinity);
    const Masses negative = add_.masses(-kInfinity, -kTiny);
    // What is left has the loss 0, under both.
    centre_.p = std::max(0.0, 1 - positive.p - remove_.infinite_mass() - negative.p);
    centre_.q = centre_.p;
    centre_.p_error = positive.p_error + negative.p_error + kRounding;
    centre_.q_error = centre_.p_error;
  }
  [[nodiscard]] double loss_error(double largest) const override {
    return std::max(remove_.loss_error(largest), add_.loss_error(largest));
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

  [[nodiscard]] Excess excess(double from, double to, double at) const override {
    Excess sum{0, 0};
    const auto add = [&](const Excess& e) { sum = {sum.value + e.value, sum.error + e.error}; };
    if (to > 0) add(remove_.excess(std::max(from, 0.0), to, at));
    if (from < -kTiny) add(add_.excess(from, std::min(to, -kTiny), at));
    if (from < 0 && to >= 0) {
      const double shift = -std::expm1(at);
      add({centre_.p * shift, (centre_.p + centre_.q) * std::fabs(shift) * kRounding +
                                  (centre_.p_error + centre_.q_error * std::exp(at)) * std::fabs(shift)});
    }
    sum.error += 0x1p-51 * std::fabs(sum.value);
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
    const double p = mix(rest.mass, up.mass);
    const double q = mix(rest.mass, down.mass);
    return {p, q, mix(rest.error, up.error) + kRounding * p + underflow(p),
            mix(rest.error, down.error) + kRounding * q + underflow(q)};
  }
  [[nodiscard]] Excess excess(double from, double to, double at) const override {
    // The part that both have in common is only what e^at makes of it.
    const double a = place(from);
    const double b = place(to);
    const NormalMass rest = normal_mass(a / z_, b / z_);
    const NormalMass up = normal_mass((a - 1) / z_, (b - 1) / z_);
    const NormalMass down = normal_mass((a + 1) / z_, (b + 1) / z_);
    const double scale = std::exp(at);
    const double shift = std::expm1(at);
    const double size = q_ * (up.mass + scale * down.mass) + (1 - q_) * rest.mass * std::fabs(shift);
    return {q_ * (up.mass - scale * down.mass) - (1 - q_) * rest.mass * shift,
            q_ * (up.error + scale * down.error) + (1 - q_) * rest.error * std::fabs(shift) +
                0x1p-50 * (2 + std::fabs(at)) * size + 1e-320};
  }
  [[nodiscard]] double loss_error(double largest) const override {
    // The error of place() below: its hyperbolic sine is rounded by a few units and by those of the exponent ½z^-2.
    return 0x1p-49 * (largest + 8 + 1 / (z_ * z_) + std::fabs(std::log((1 - q_) / q_)));
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
  // Where the loss is ℓ: b E² + a (1 − e^ℓ) E − e^ℓ b = 0 for E = e^{x/z²}, a = 1 − q, b = q e^{−1/2z²}. Its solution
  // is E = e^{ℓ/2} (k + √(k² + 1)) with k = (a/b) sinh(ℓ/2).
  [[nodiscard]] double place(double l) const {
    if (std::isinf(l)) return l;
    if (l < 0) return -place(-l);
    const double log_odds = std::log((1 - q_) / q_) + 0.5 / (z_ * z_);
    // For a large k, asinh k = ln 2k, and 2 sinh(ℓ/2) = e^{ℓ/2} (1 − e^−ℓ).
    const double log_2k = log_odds + l / 2 + std::log(-std::expm1(-l));
    const double turn = log_2k > 80 ? log_2k : std::asinh(std::exp(log_odds) * std::sinh(std::min(l, 1000.0) / 2));
    return z_ * z_ * (l / 2 + turn);
  }

  double q_;
  double z_;
};

}  // namespace

std::unique_ptr<LossLaw> gaussian_law(double mu) { return std::make_unique<GaussianLaw>(mu); }

std::unique_ptr<LossLaw> laplace_law(double epsilon) { return std::make_unique<LaplaceLaw>(epsilon); }

std::unique_ptr<LossLaw> bounded_range_law(double epsilon) { return std::make_unique<BoundedRangeLaw>(epsilon); }

std::unique_ptr<LossLaw> finite_law(const std::vector<Outcome>& outcomes) { return FiniteLaw::of(outcomes); }

std::unique_ptr<LossLaw> epsilon_delta_law(double epsilon, double delta) {
  const double rest = 1 - delta;
  const double high = rest / (1 + std::exp(-epsilon));
  const double low = high * std::exp(-epsilon);
  // Losses are ±ε exactly.
  std::vector<FiniteLaw::Atom> atoms = {{epsilon, {high, low}, kRounding, kRounding},
                                        {-epsilon, {low, high}, kRounding, kRounding}};
  if (delta > 0) atoms.push_back({std::numeric_limits<double>::lowest(), {0, delta}, kRounding, kRounding});
  return std::make_unique<FiniteLaw>(std::move(atoms), delta, 0, 0);
}

std::unique_ptr<LossLaw> discrete_laplace_law(double scale, double shift) {
  return std::make_unique<DiscreteLaplaceLaw>(scale, shift);
}

double gap_of_summed_gaussians(double sigma, double summands) {
  if (summands <= 1) return 0;
  return std::expm1(summands * std::log1p(2.001 * std::exp(-std::numbers::pi * std::numbers::pi * sigma * sigma))) *
         (1 + 1e-9);
}

std::unique_ptr<LossLaw> discrete_gaussian_law(double sigma, double shift, double summands) {
  // 36 standard deviations on both sides of both centres hold all but 2 e^-648 < 1e-281: the law is subgaussian.
  const auto reach = static_cast<std::int64_t>(std::ceil(36 * sigma * std::sqrt(summands))) + 1;
  const double s2 = sigma * sigma * summands;
  // Of the masses of a sum after division by their own total, and of its losses.
  const double gap = 3 * gap_of_summed_gaussians(sigma, summands);
  const auto weight = [&](double x) { return std::exp(-x * x / (2 * s2)); };
  // From small weights to large ones, and with what additions round off.
  double total = 0;
  double carry = 0;
  for (std::int64_t x = reach; x >= 0; --x) {
    const double term = (x == 0 ? 1 : 2) * weight(static_cast<double>(x));
    const double next = total + term;
    carry += total >= term ? (total - next) + term : (term - next) + total;
    total = next;
  }
  total += carry;
  std::vector<FiniteLaw::Atom> atoms;
  double largest = 0;
  for (std::int64_t k = -reach; k <= reach + static_cast<std::int64_t>(shift); ++k) {
    const auto x = static_cast<double>(k);
    const double y = x - shift;
    const double loss = shift * (shift - 2 * x) / (2 * s2);
    const auto rounding = [&](double at) { return 0x1p-51 * (8 + at * at / s2) + gap; };
    atoms.push_back({loss, {weight(x) / total, weight(y) / total}, rounding(x), rounding(y)});
    largest = std::max(largest, std::fabs(loss));
  }
  return std::make_unique<FiniteLaw>(std::move(atoms), 0, 0x1p-50 * largest + gap, 1e-281);
}

std::unique_ptr<LossLaw> skellam_law(double variance, double shift) {
  // P(|X| > t) ≤ 2 e^{−t²/(2(v + t/3))} (Bernstein): the exponent is 660 at `reach`.
  constexpr double exponent = 660;
  const double reach = std::ceil(exponent / 3 + std::sqrt(exponent * exponent / 9 + 2 * exponent * variance));
  const auto size = static_cast<std::size_t>(reach + shift) + 1;
  // ln P(k)/P(k + 1), from I_{k−1} − I_{k+1} = (2k/v) I_k downwards: no term is negative, and what the start is wrong
  // by shrinks by the ratio in each step, which is below ½ in the first ones.
  constexpr std::size_t more = 100;
  std::vector<long double> log_fall(size);
  long double ratio = 0;
  for (std::size_t k = size + more; k >= 1; --k) {
    ratio = 1 / (ratio + 2 * static_cast<long double>(k) / static_cast<long double>(variance));
    if (k <= size) log_fall[k - 1] = -std::log(ratio);
  }
  std::vector<long double> log_p(size, 0);
  for (std::size_t k = 1; k < size; ++k) log_p[k] = log_p[k - 1] - log_fall[k - 1];
  long double total = 1;
  for (std::size_t k = size; k-- > 1;) total += 2 * std::exp(log_p[k]);
  const long double log_total = std::log(total);
  const auto steps = static_cast<double>(size);
  // Each ratio is wrong by less than 2 units for every step before it, and each logarithm by those of all ratios.
  const double rounding = 0x1p-50 + steps * steps * 0x1p-62;
  std::vector<FiniteLaw::Atom> atoms;
  const auto last = static_cast<std::int64_t>(reach);
  const auto moved = static_cast<std::int64_t>(shift);
  double largest = 0;
  for (std::int64_t k = -last; k <= last + moved; ++k) {
    const auto at = [&](std::int64_t x) {
      return log_p[static_cast<std::size_t>(std::min(std::abs(x), last + moved))];
    };
    const long double p = at(k);
    const long double q = at(k - moved);
    const auto loss = static_cast<double>(p - q);
    largest = std::max(largest, std::fabs(loss));
    atoms.push_back({loss,
                     {static_cast<double>(std::exp(p - log_total)), static_cast<double>(std::exp(q - log_total))},
                     2 * rounding + 0x1p-50,
                     2 * rounding + 0x1p-50});
  }
  return std::make_unique<FiniteLaw>(std::move(atoms), 0, 2 * rounding + 0x1p-51 * largest, 1e-281);
}

std::unique_ptr<LossLaw> sampled_law(std::shared_ptr<const LossLaw> inner, double q, bool remove) {
  return std::make_unique<SampledLaw>(std::move(inner), q, remove);
}

std::unique_ptr<LossLaw> fixed_size_law(const std::shared_ptr<const LossLaw>& inner, double q) {
  return std::make_unique<FixedSizeLaw>(inner, q);
}

std::unique_ptr<LossLaw> opposite_samples_law(double q, double multiplier) {
  return std::make_unique<OppositeSamplesLaw>(q, multiplier);
}

Excess LossLaw::excess(double from, double to, double at) const {
  const Masses m = masses(from, to);
  const double scale = std::exp(at);
  const double q = m.q * scale;
  return {m.p - q, m.p_error + m.q_error * scale * (1 + 1e-9) + 0x1p-51 * (m.p + q * (2 + std::fabs(at)))};
}

Interval single_delta(const LossLaw& law, double epsilon) {
  // Every event A has P(A) − e^ε Q(A) ≤ δ(ε). This one holds { L > ε }, and nothing below ε by more than 3η: then it
  // falls short of δ(ε) by 4ηP(A) at most.
  const double eta = law.loss_error(epsilon * (1 + 1e-9) + 1e-9) + 0x1p-52 * epsilon;
  const Masses m = law.masses(epsilon - 2 * eta, kInfinity);
  const double p = m.p + law.infinite_mass();
  const auto scaled = [&](double mass) { return mass > 0 ? std::exp(epsilon + std::log(mass)) : 0; };
  const double q = scaled(m.q);
  const double q_error =
      scaled(m.q_error) * (1 + 1e-9) + (m.q > 0 ? q * kRounding * (4 + epsilon + std::fabs(std::log(m.q))) : 0);
  const double p_error = m.p_error + p * kRounding;
  const double lower = p - p_error - (q + q_error);
  const double upper = p + p_error + 4 * eta * p - (q_error < q ? q - q_error : 0);
  return {lower > 0 ? std::min(1.0, lower) : 0, upper <= 1 ? std::max(0.0, upper) : 1};
}

Interval single_epsilon(const LossLaw& law, double log_delta) {
  // ln δ comes from callers that round it, or that round δ by up to 2^-50 of itself before.
  const double slack = 0x1p-48 * (1 + std::fabs(log_delta));
  const double delta = std::exp(log_delta);
  // An ε where `is_above` holds and a larger one where it does not, as close as numbers go.
  const auto solve = [&](auto&& is_above) {
    Interval at{0, 0};
    if (!is_above(0.0)) return at;
    at.upper = 1e-12;
    while (is_above(at.upper)) {
      at.lower = at.upper;
      at.upper *= 2;
      if (at.upper > 1e15) return Interval{at.lower, kInfinity};
    }
    const Bracket found =
        bisect({.holds = at.lower, .fails = at.upper}, {.halvings = 200, .relative = 1e-15}, is_above);
    return Interval{found.holds, found.fails};
  };
  return {solve([&](double e) { return single_delta(law, e).lower > delta * (1 + slack); }).lower,
          solve([&](double e) { return !(single_delta(law, e).upper <= delta * (1 - slack)); }).upper};
}

}  // namespace noisefloor
