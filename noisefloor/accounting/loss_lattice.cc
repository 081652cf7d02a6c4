#include "noisefloor/accounting/loss_lattice.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "noisefloor/numerics/fft.h"

namespace noisefloor {
namespace {

using Complex = std::complex<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// More cells than this for one law would take longer than all the rest.
constexpr double kMaxCells = 1 << 18;

// e^exponent · mass without overflow on the way, rounded down (side −1) or up (+1).
double times_exp(double mass, double exponent, double side) {
  if (!(mass > 0)) return 0;
  const double log_mass = std::log(mass);
  return std::exp(exponent + log_mass) * (1 + side * 0x1p-51 * (4 + std::fabs(exponent) + std::fabs(log_mass)));
}

// What may be cut off each law: large losses count as infinite, small ones are raised.
struct Cut {
  double below;
  double above;
  double lowest = -kInfinity;  // losses below this are small in any case

  [[nodiscard]] Interval range_of(const LossLaw& law) const {
    const Interval range = law.range(below, above);
    return {std::min(std::max(range.lower, lowest), range.upper), range.upper};
  }
};

// A law on h·ℤ: masses at first·h, (first + 1)·h, …
struct OnLattice {
  double count;
  std::int64_t first;
  std::vector<double> above;  // dominates the law
  std::vector<double> below;  // is dominated by it
  double infinite;            // P of losses that count as infinite from above
  double surely_infinite;     // and of those that are
  double lifted;              // by how much losses from below may be too large: rounding of atoms
  double loss_error;          // by how much all losses may be wrong
};

OnLattice discretise(const RepeatedLaw& repeated, double h, Cut cut) {
  const LossLaw& law = *repeated.law;
  const Interval range = cut.range_of(law);
  const auto first = static_cast<std::int64_t>(std::floor(range.lower / h)) - 1;
  const auto last = static_cast<std::int64_t>(std::ceil(range.upper / h)) + 1;
  const auto size = static_cast<std::size_t>(last - first + 1);
  OnLattice lattice{repeated.count, first, std::vector<double>(size, 0.0), std::vector<double>(size, 0.0), 0, 0, 0, 0};
  // An atom on the lattice must not slip below it by rounding, nor by what aligned() shortens steps.
  if (law.atom_loss() > 0) lattice.lifted = 0x1p-45 + 0x1p-42 * law.atom_loss();
  const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(i - first); };
  const double one_minus = -std::expm1(-h);
  const double enough = std::exp(-lattice.lifted) * (1 + 0x1p-50);
  // The losses are those of an outcome's interval; where they are wrong, so is Q by as much relatively.
  lattice.loss_error = law.loss_error(h * static_cast<double>(std::max(std::abs(first), std::abs(last))));
  const auto masses = [&](double from, double to) {
    Masses m = law.masses(from, to);
    m.q_error += 2 * lattice.loss_error * m.q;
    return m;
  };

  // Halves of cells, from the lowest to the highest.
  Masses lower_half = {0, 0, 0, 0};  // the half cell below the lattice point i
  for (std::int64_t i = first; i <= last; ++i) {
    const double point = h * static_cast<double>(i);
    const Masses upper_half = i == last ? Masses{0, 0, 0, 0} : masses(point, point + h / 2);
    const Masses next_lower = i == last ? Masses{0, 0, 0, 0} : masses(point + h / 2, h * static_cast<double>(i + 1));

    // From above: the cell (i, i + 1] to its ends, keeping P and Q; if in doubt, more of it to the upper one.
    for (const Masses& half : {upper_half, next_lower}) {
      const double p = half.p + half.p_error;
      if (p == 0) continue;
      const double q = times_exp(half.q - half.q_error, point, -1);
      const double up = std::clamp((p - q) / one_minus * (1 + 0x1p-50), 0.0, p);
      lattice.above[at(i)] += p - up;
      lattice.above[at(i) + 1] += up;
    }

    // From below: what lies around i is merged to i, but for a part of its lower half if the whole would be below i.
    const double pu = std::max(0.0, upper_half.p - upper_half.p_error);
    const double pl = std::max(0.0, lower_half.p - lower_half.p_error);
    const double qu = times_exp(upper_half.q + upper_half.q_error, point, 1);
    const double ql = times_exp(lower_half.q + lower_half.q_error, point, 1);
    double left_out = 0;
    if (pu + pl < (qu + ql) * enough) {
      const double missing = (qu + ql - pu - pl) + 0x1p-50 * (qu + ql + pu + pl);
      left_out = ql > pl ? std::clamp(missing / (ql - pl) * (1 + 0x1p-50), 0.0, 1.0) : 1.0;
    }
    // The upper half by itself is above i, unless that cannot be told.
    const bool sinks = left_out == 1 && pu < qu * enough;
    lattice.below[at(i)] += (sinks ? 0 : pu) + (1 - left_out) * pl;
    if (i > first) lattice.below[at(i) - 1] += (sinks ? pu : 0) + left_out * pl;
    lower_half = next_lower;
  }
  const Masses bottom = law.masses(-kInfinity, h * static_cast<double>(first));
  const Masses top = law.masses(h * static_cast<double>(last), kInfinity);
  lattice.above.front() += bottom.p + bottom.p_error;
  lattice.below.back() += std::max(0.0, top.p - top.p_error);
  lattice.surely_infinite = law.infinite_mass() * (1 - 0x1p-48);
  lattice.infinite = std::min(1.0, (law.infinite_mass() + top.p + top.p_error) * (1 + 0x1p-48));
  return lattice;
}

// Σ count · ln Σ mass e^{cL}, of the laws from above and of those from below; not below the true values.
struct LogMoments {
  double above;
  double below;
};
LogMoments log_moments(const std::vector<OnLattice>& laws, double h, double c) {
  LogMoments sum{0, 0};
  for (const OnLattice& law : laws) {
    const auto loss = [&](std::size_t i) { return h * static_cast<double>(law.first + static_cast<std::int64_t>(i)); };
    const std::size_t size = law.above.size();
    const double shift = loss(size);
    double above = 0;
    double below = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const double tilt = std::exp(c * (loss(i) - shift));
      above += law.above[i] * tilt;
      below += law.below[i] * tilt;
    }
    const double reach = c * (std::fabs(loss(0)) + std::fabs(shift));
    const auto logarithm = [&](double moment) {
      const double log_moment = std::log(moment + 1e-300);
      return log_moment + c * shift + 0x1p-51 * (4 + std::fabs(log_moment) + reach + static_cast<double>(size));
    };
    sum.above += law.count * logarithm(above);
    sum.below += law.count * logarithm(below);
  }
  return {sum.above + 0x1p-50 * std::fabs(sum.above), sum.below + 0x1p-50 * std::fabs(sum.below)};
}

// Where to compose: the tilt c, the order c′ for aliases, the ε that is expected and the length of the window.
struct Plan {
  double c;
  double order;
  double epsilon;
  double window;
};

struct MomentAt {
  double c;
  double log_moment;
};

// Moments at c from 2^-12 to 2^14 over the longest range of losses, as far as they are finite.
std::vector<MomentAt> sample_moments(const std::vector<OnLattice>& laws, double h) {
  std::vector<MomentAt> samples;
  double longest = 0;
  for (const OnLattice& law : laws) longest = std::max(longest, h * static_cast<double>(law.above.size()));
  for (int k = -24; k <= 28; ++k) {
    const double c = std::exp2(0.5 * k) / longest;
    const double moment = log_moments(laws, h, c).above;
    if (!std::isfinite(moment)) break;
    samples.push_back({c, moment});
  }
  return samples;
}

double chernoff_epsilon(const std::vector<MomentAt>& samples, double log_delta) {
  double epsilon = kInfinity;
  for (const MomentAt& s : samples) epsilon = std::min(epsilon, (s.log_moment - log_delta) / s.c);
  return std::max(0.0, epsilon);
}

// What the moments alone say for certain: δ(ε) is at most e^{log moment − cε} and what is infinite.
struct Chernoff {
  std::vector<MomentAt> samples;
  double infinite = 0;
  double loss_error = 0;

  Chernoff(const std::vector<OnLattice>& laws, double h) : samples(sample_moments(laws, h)) {
    for (const OnLattice& law : laws) {
      infinite += law.count * law.infinite * (1 + 1e-9);
      loss_error += law.count * law.loss_error * (1 + 1e-9);
    }
  }
  [[nodiscard]] double epsilon(double log_delta) const {
    const double rest = std::exp(log_delta) * (1 - 1e-9) - infinite;
    if (!(rest > 0)) return kInfinity;
    const double log_rest = std::log(rest);
    double best = kInfinity;
    for (const MomentAt& s : samples) {
      best = std::min(best, (s.log_moment - log_rest + 0x1p-50 * (std::fabs(s.log_moment) - log_rest)) / s.c);
    }
    return std::max(0.0, best) * (1 + 1e-12) + loss_error;
  }
  [[nodiscard]] double delta(double epsilon) const {
    const double less = epsilon - loss_error;
    double log_best = 0;
    for (const MomentAt& s : samples) {
      log_best = std::min(log_best, s.log_moment - s.c * less + 0x1p-50 * (std::fabs(s.log_moment) + s.c * epsilon));
    }
    return std::min(1.0, (std::exp(log_best) + infinite) * (1 + 1e-9) + 1e-320);
  }
};

// The shortest window for this ε whose wrap-around is below e^log_small, if it is not below `shortest`.
Plan make_plan(const std::vector<MomentAt>& samples, double epsilon, double log_delta, double log_small,
               double shortest) {
  Plan plan{1, 2, epsilon, kInfinity};
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double c = samples[i].c;
    const double cancelled = samples[i].log_moment - c * epsilon - log_delta;
    if (cancelled > 16) continue;
    for (std::size_t j = i + 1; j < samples.size(); ++j) {
      const double above = (samples[j].log_moment - samples[j].c * epsilon - log_small) / (samples[j].c - c);
      const double window = std::max({-log_small / c, above, 1e-9}) * (1 + 0.02 * std::max(0.0, cancelled));
      if (window < plan.window) plan = {c, samples[j].c, epsilon, window};
    }
  }
  plan.window = std::max(1.6 * plan.window, shortest);  // a third of it lies below ε
  return plan;
}

// The composed laws, tilted and wrapped into n points; both bounds of δ from them.
class Composed {
 public:
  Composed(const std::vector<OnLattice>& laws, double h, int bits, const Plan& plan);

  // Bounds of ln δ at a lattice point, and of ε for a given δ.
  [[nodiscard]] Interval delta(double epsilon) const;
  [[nodiscard]] Interval epsilon(double log_delta) const;

 private:
  // δ(ε) = Σ mass (1 − e^{ε − z}) over lattice points z > ε, by suffix sums of the mass and of mass · e^{first z − z}.
  // Everything is divided by e^log_scale.
  struct Curve {
    std::vector<double> p;
    std::vector<double> q;
    double log_scale;
    double offset;       // what is to be added to δ (from above) or taken off (from below)
    double log_falling;  // and, at the point number i, e^{log_falling − order h i}
  };
  // All errors of a suffix. Those of single points are weighted by the tilt.
  [[nodiscard]] double suffix_error(const Curve& curve, std::size_t i) const {
    const double loss = h_ * static_cast<double>(i);
    const double spread = spread_ * std::exp(-c_ * loss) * (1 + 1e-9);
    return spread + rounding_ * (std::fabs(curve.p[i]) + 2 * spread) + curve.offset +
           std::exp(curve.log_falling - order_ * loss);
  }
  // The bound of δ at ε, if the first lattice point above it is number i and lies `gap` above it; `side` is +1 from
  // above, −1 from below.
  [[nodiscard]] double bound(const Curve& curve, std::size_t i, double gap, double side) const {
    return curve.p[i] - std::exp(-gap) * curve.q[i] + side * suffix_error(curve, i);
  }
  [[nodiscard]] double value(const Curve& curve, double epsilon, double side) const;
  // Where the bound falls below `target` for good; −∞ if it is below in the whole window, ∞ if at its end it is not.
  [[nodiscard]] double solve(const Curve& curve, double target, double side) const;
  void add_up(const std::vector<double>& mass, Curve& curve) const;

  double c_;
  double order_;
  double h_;
  std::int64_t start_;     // lattice index where the window begins
  double reference_;       // its loss
  double lifted_ = 0;      // all the losses from below together may be too large by this
  double loss_error_ = 0;  // and those from both sides wrong by this
  double spread_ = 0;
  double rounding_ = 0;  // of suffix sums, relatively
  Curve above_;
  Curve below_;
};

// Tilted masses that add up to 1, at their places modulo n, and ln of what they were divided by.
struct Tilted {
  std::vector<Complex> both;  // above as the real part, below as the imaginary part
  double log_above;
  double log_below;
  double log_rounding;  // of both
};

Tilted tilt(const OnLattice& law, double h, double c, std::size_t n) {
  const auto loss = [&](std::size_t i) { return h * static_cast<double>(law.first + static_cast<std::int64_t>(i)); };
  const double shift = loss(law.above.size() - 1);
  std::vector<double> above(law.above.size());
  std::vector<double> below(law.above.size());
  double sum_above = 0;
  double sum_below = 0;
  const std::size_t whole_turns = above.size() / n;
  const auto turns = static_cast<double>(whole_turns);
  for (std::size_t i = 0; i < above.size(); ++i) {
    // Roundings of the exponential, and of the additions and divisions to come, are moved into the masses, to the safe
    // side of each.
    const double exponent = c * (loss(i) - shift);
    const double rounding = 0x1p-51 * (8 + turns + std::fabs(exponent) + c * std::fabs(shift) + c * std::fabs(loss(i)));
    above[i] = law.above[i] * std::exp(exponent) * (1 + rounding);
    below[i] = law.below[i] * std::exp(exponent) * std::max(0.0, 1 - rounding);
    sum_above += above[i];
    sum_below += below[i];
  }
  Tilted tilted{std::vector<Complex>(n), 0, 0, 0};
  // Divided by a little more than the sum, so that no Fourier coefficient exceeds 1.
  const double little = 1 + 0x1p-50 + 0x1p-52 * static_cast<double>(above.size());
  const double divide_above = std::max(sum_above * little, 1e-300);
  const double divide_below = std::max(sum_below * little, 1e-300);
  tilted.log_above = std::log(divide_above) + c * shift;
  tilted.log_below = std::log(divide_below) + c * shift;
  tilted.log_rounding =
      0x1p-51 * (2 + std::fabs(std::log(divide_above)) + std::fabs(std::log(divide_below)) + c * std::fabs(shift));
  for (std::size_t i = 0; i < above.size(); ++i) {
    const auto size = static_cast<std::int64_t>(n);
    const std::int64_t place = ((law.first + static_cast<std::int64_t>(i)) % size + size) % size;
    tilted.both[static_cast<std::size_t>(place)] += Complex(above[i] / divide_above, below[i] / divide_below);
  }
  return tilted;
}

// z^count and a bound of its error, where z is within `error` of the true one, and that is in the unit disc.
struct Power {
  Complex value;
  double error;
};
Power power(Complex z, double error, double count) {
  // Pulled back to the disc, z does not get farther from the true one.
  const double size = std::min(1.0, std::abs(z));
  const double reach = std::min(1.0, size + error);
  if (size < 1e-200) return {0, std::exp(count * std::log(std::max(reach, 1e-300)))};
  const double log_size = std::log(size);
  const double angle = std::arg(z);
  const double result = std::exp(count * log_size);
  const double largest = std::min(1.0, std::exp((count - 1) * (std::log(reach) + 0x1p-52)));
  const double rounding = 0x1p-50 * (4 + count * (std::fabs(log_size) + std::fabs(angle)));
  return {std::polar(result, std::remainder(count * angle, 2 * std::numbers::pi)),
          count * error * largest * (1 + 1e-9) + result * std::min(2.0, rounding)};
}

Composed::Composed(const std::vector<OnLattice>& laws, double h, int bits, const Plan& plan)
    : c_(plan.c), order_(plan.order), h_(h) {
  const std::size_t n = std::size_t{1} << bits;
  const double window = h * static_cast<double>(n);
  start_ = static_cast<std::int64_t>(std::floor((plan.epsilon - window / 3) / h));
  reference_ = h * static_cast<double>(start_);

  std::vector<Complex> above(n, 1.0);
  std::vector<Complex> below(n, 1.0);
  std::vector<double> error(n, 0.0);
  double log_above = 0;
  double log_below = 0;
  double log_rounding = 0;
  double log_finite = 0;
  double log_surely_finite = 0;
  // The error of one of two transforms that are computed as one: masses add up to 1 in each.
  const double one_transform = fft_error(n);
  const double transform_error = 2 * one_transform + 0x1p-50;
  for (const OnLattice& law : laws) {
    Tilted tilted = tilt(law, h, plan.c, n);
    log_above += law.count * tilted.log_above;
    log_below += law.count * tilted.log_below;
    log_rounding +=
        law.count * (tilted.log_rounding + 0x1p-51 * (std::fabs(tilted.log_above) + std::fabs(tilted.log_below)));
    log_finite += law.count * std::log1p(-law.infinite);
    log_surely_finite += law.count * std::log1p(-law.surely_infinite);
    lifted_ += law.count * law.lifted * (1 + 1e-9);
    loss_error_ += law.count * law.loss_error * (1 + 1e-9);
    fft(tilted.both);
    for (std::size_t k = 0; k < n; ++k) {
      const Complex forward = tilted.both[k];
      const Complex mirrored = std::conj(tilted.both[(n - k) % n]);
      const Power a = power((forward + mirrored) * 0.5, transform_error, law.count);
      const Power b = power((forward - mirrored) * Complex(0, -0.5), transform_error, law.count);
      above[k] *= a.value;
      below[k] *= b.value;
      error[k] += a.error + b.error + 0x1p-51 * (std::abs(above[k]) + std::abs(below[k]));  // other factors are ≤ 1
    }
  }
  double error_sum = 0;
  double size_sum = 0;
  std::vector<Complex> both(n);
  for (std::size_t k = 0; k < n; ++k) {
    both[k] = above[k] + Complex(0, 1) * below[k];
    error_sum += error[k];
    size_sum += std::abs(above[k]) + std::abs(below[k]);
  }
  inverse_fft(both);
  const double points = static_cast<double>(n);
  const double point_error = (error_sum + (one_transform + 0x1p-50) * size_sum) / points * (1 + 1e-9);

  // Suffix sums, from the end of the window down to its start. In units of e^{log moment − c · reference}.
  std::vector<double> mass_above(n);
  std::vector<double> mass_below(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto size = static_cast<std::int64_t>(n);
    const std::int64_t place = ((start_ + static_cast<std::int64_t>(i)) % size + size) % size;
    mass_above[i] = std::max(0.0, both[static_cast<std::size_t>(place)].real());
    mass_below[i] = both[static_cast<std::size_t>(place)].imag();
  }
  add_up(mass_above, above_);
  add_up(mass_below, below_);
  const double rounding = log_rounding + 0x1p-50 * std::fabs(c_ * reference_);
  above_.log_scale = log_above - c_ * reference_ + rounding;
  below_.log_scale = log_below - c_ * reference_ - rounding;
  spread_ = point_error / -std::expm1(-c_ * h) * (1 + 1e-9);
  rounding_ = 0x1p-51 * (16 + (c_ + 1) * window + std::fabs(reference_)) +
              4 * points * static_cast<double>(std::numeric_limits<long double>::epsilon());

  const LogMoments moments = log_moments(laws, h, plan.order);
  const auto exponent = [&](double log_moment, double loss, const Curve& curve) {
    return log_moment - order_ * loss - curve.log_scale +
           0x1p-50 * (std::fabs(log_moment) + std::fabs(order_ * loss) + std::fabs(curve.log_scale) + 1);
  };
  // What lies beyond the window, and what is infinite.
  const double infinite = -std::expm1(log_finite) * (1 + 1e-9);
  above_.offset = std::exp(exponent(moments.above, reference_ + window, above_)) * (1 + 1e-9) +
                  times_exp(infinite, -above_.log_scale, 1);
  above_.log_falling = -kInfinity;
  // Masses that wrap around from below, and from above.
  const double surely_infinite = -std::expm1(log_surely_finite) * (1 - 1e-9);
  below_.offset = std::exp(-below_.log_scale) / std::expm1(c_ * window) * (1 + 1e-9) -
                  times_exp(surely_infinite, -below_.log_scale, -1);
  below_.log_falling =
      exponent(moments.below, reference_, below_) - std::log(std::expm1((order_ - c_) * window)) + 1e-9;
}

void Composed::add_up(const std::vector<double>& mass, Curve& curve) const {
  const std::size_t n = mass.size();
  curve.p.assign(n + 1, 0.0);
  curve.q.assign(n + 1, 0.0);
  const long double step = std::exp(-static_cast<long double>(h_));
  long double p = 0;
  long double q = 0;
  for (std::size_t i = n; i-- > 0;) {
    const double weight = mass[i] * std::exp(-c_ * (h_ * static_cast<double>(i)));
    p += weight;
    q = q * step + weight;
    curve.p[i] = static_cast<double>(p);
    curve.q[i] = static_cast<double>(q);
  }
}

double Composed::value(const Curve& curve, double epsilon, double side) const {
  const double offset = epsilon - reference_;
  const double place = std::floor(offset / h_) + 1;  // the first point above ε
  if (!(place >= 0)) return side > 0 ? kInfinity : 0;
  const double last = static_cast<double>(curve.p.size() - 1);
  if (place > last) return bound(curve, curve.p.size() - 1, 0, side);
  return bound(curve, static_cast<std::size_t>(place), std::max(0.0, h_ * place - offset), side);
}

double Composed::solve(const Curve& curve, double target, double side) const {
  // δ falls along the points, and its bounds do but for their errors: the last point where the bound is above, or is
  // not a number.
  const auto is_above = [&](std::size_t i) {
    const double b = bound(curve, i, 0, side);
    return side > 0 ? !(std::isfinite(b) && b <= target) : b > target;
  };
  const std::size_t last = curve.p.size() - 1;
  if (is_above(last)) return kInfinity;
  std::size_t high = last;
  while (high > 0 && !is_above(high - 1)) --high;
  if (high == 0) return -kInfinity;
  // Between two points it is p − e^ε q with the sums from the upper one on.
  const double rest = curve.p[high] + side * suffix_error(curve, high - 1) - target;
  double gap = side > 0 ? 0 : h_;
  if (rest > 0 && curve.q[high] > 0) gap = std::clamp(-std::log(rest / curve.q[high]), 0.0, h_);
  return reference_ + h_ * static_cast<double>(high) - gap;
}

Interval Composed::delta(double epsilon) const {
  const auto unscaled = [](double value, const Curve& curve) { return std::exp(std::log(value) + curve.log_scale); };
  const double low = value(below_, epsilon + lifted_ + loss_error_, -1);
  const double high = value(above_, epsilon - loss_error_, 1);
  // A bound that is not a positive number says nothing.
  return {low > 0 ? std::min(1.0, unscaled(low, below_) * (1 - 1e-12)) : 0,
          high > 0 ? std::min(1.0, unscaled(high, above_) * (1 + 1e-12) + 1e-320) : 1};
}

Interval Composed::epsilon(double log_delta) const {
  // ln δ comes from callers that round it, or that round δ by up to 2^-50 of itself before.
  const auto target = [&](const Curve& curve, double side) {
    return std::exp(log_delta - curve.log_scale) *
           (1 - side * 0x1p-48 * (1 + std::fabs(log_delta) + std::fabs(curve.log_scale)));
  };
  const double upper = solve(above_, target(above_, 1), 1);
  const double lower = solve(below_, target(below_, -1), -1);
  // Rounding of the logarithm and of the reference. Where the answer lies below the window, its start is a bound.
  const double window = h_ * static_cast<double>(above_.p.size());
  const double slack = 0x1p-49 * (std::fabs(reference_) + window + 1);
  return {lower == kInfinity ? 0 : std::max(0.0, lower - slack - lifted_ - loss_error_),
          std::max(0.0, (upper == -kInfinity ? reference_ : upper) + slack + loss_error_)};
}

double smallest_range(std::span<const RepeatedLaw> laws, Cut cut) {
  double smallest = kInfinity;
  for (const RepeatedLaw& one : laws) {
    const Interval range = cut.range_of(*one.law);
    smallest = std::min(smallest, range.upper - range.lower);
  }
  return std::isfinite(smallest) && smallest > 0 ? smallest : 1;
}

double widest_range(std::span<const RepeatedLaw> laws, Cut cut) {
  double widest = 0;
  for (const RepeatedLaw& one : laws) {
    const Interval range = cut.range_of(*one.law);
    widest = std::max(widest, range.upper - range.lower);
  }
  return widest;
}

// A loss of which all atoms of the laws are multiples, or those of the most frequent law that has any; 0 without atoms.
double atom_unit(std::span<const RepeatedLaw> laws) {
  double smallest = kInfinity;
  double frequent = 0;
  double count = 0;
  for (const RepeatedLaw& one : laws) {
    const double atom = one.law->atom_loss();
    if (atom <= 0) continue;
    smallest = std::min(smallest, atom);
    if (one.count > count) {
      frequent = atom;
      count = one.count;
    }
  }
  if (count == 0) return 0;
  for (int parts = 1; parts <= 100; ++parts) {
    const double unit = smallest / parts;
    const bool fits = std::all_of(laws.begin(), laws.end(), [&](const RepeatedLaw& one) {
      const double multiple = one.law->atom_loss() / unit;
      return std::fabs(multiple - std::round(multiple)) < 1e-12 * multiple;
    });
    if (fits) return unit;
  }
  return frequent;
}

// The step h, or a little more or less, such that atoms are on the lattice; the upper one a little above its point, so
// that what lies below it is not merged with it.
double aligned(std::span<const RepeatedLaw> laws, double h) {
  const double unit = atom_unit(laws);
  if (unit <= 0) return h;
  return (unit >= h ? unit / std::floor(unit / h) : unit * std::ceil(h / unit)) * (1 - 0x1p-44);
}

std::vector<OnLattice> discretise_all(std::span<const RepeatedLaw> laws, double h, Cut cut) {
  std::vector<OnLattice> lattices;
  lattices.reserve(laws.size());
  for (const RepeatedLaw& one : laws) lattices.push_back(discretise(one, h, cut));
  return lattices;
}

// Small parts of δ from above, and of 1 from below.
Cut cut_for(std::span<const RepeatedLaw> laws, double log_delta, double relative_width) {
  double steps = 0;
  for (const RepeatedLaw& one : laws) steps += one.count;
  const double each = 1e-3 * relative_width / steps;
  return {std::max(1e-300, each), std::max(1e-300, each * std::exp(log_delta)), -kInfinity};
}

}  // namespace

Interval lattice_epsilon(std::span<const RepeatedLaw> laws, double log_delta, double relative_width, int max_bits) {
  const Cut cut = cut_for(laws, log_delta, relative_width);
  const double coarse = std::max(smallest_range(laws, cut) / 256, widest_range(laws, cut) / kMaxCells);
  if (!std::isfinite(coarse)) return {0, kInfinity};
  const Chernoff chernoff(discretise_all(laws, coarse, cut), coarse);
  const std::vector<MomentAt>& samples = chernoff.samples;
  if (samples.size() < 2) return {0, kInfinity};
  const double at_most = chernoff.epsilon(log_delta);
  const auto bounded = [&](Interval found) { return Interval{found.lower, std::min(found.upper, at_most)}; };
  double epsilon = 0.95 * chernoff_epsilon(samples, log_delta);
  const double log_small = log_delta + std::log(std::clamp(relative_width, 1e-12, 1e-3)) - 2;
  Interval best{0, kInfinity};
  for (int bits = std::min(12, max_bits); bits <= max_bits; bits += 2) {
    for (int attempt = 0; attempt < 6; ++attempt) {
      const Plan plan = make_plan(samples, epsilon, log_delta, log_small, widest_range(laws, cut) / 32);
      if (!std::isfinite(plan.window)) return bounded(best);
      const double h = aligned(laws, plan.window / std::exp2(bits));
      // A loss below minus the window would need others beyond it.
      const Cut fine{cut.below, cut.above, -plan.window};
      if (widest_range(laws, fine) / h > kMaxCells) return bounded(best);
      const std::vector<OnLattice> lattices = discretise_all(laws, h, fine);
      const Interval found = Composed(lattices, h, bits, plan).epsilon(log_delta);
      best = {std::max(best.lower, found.lower), std::min(best.upper, found.upper)};
      // An answer that lies below the window calls for another window.
      if (found.lower > 0 || found.upper > plan.epsilon - plan.window / 4 || best.upper <= 0) break;
      epsilon = found.upper;
    }
    if (!std::isfinite(best.upper)) continue;
    epsilon = best.upper;
    if (best.upper - best.lower <= std::max(relative_width * best.upper, 1e-9)) break;
  }
  return bounded(best);
}

Interval lattice_delta(std::span<const RepeatedLaw> laws, double epsilon, double relative_width, int max_bits) {
  Interval best{0, 1};
  double log_delta = -23;
  for (int round = 0; round < 3; ++round) {
    const Cut cut = cut_for(laws, log_delta, relative_width);
    const double coarse = std::max(smallest_range(laws, cut) / 256, widest_range(laws, cut) / kMaxCells);
    if (!std::isfinite(coarse)) return best;
    const Chernoff chernoff(discretise_all(laws, coarse, cut), coarse);
    const std::vector<MomentAt>& samples = chernoff.samples;
    if (samples.size() < 2) return best;
    best.upper = std::min(best.upper, chernoff.delta(epsilon));
    double expected = 0;
    for (const MomentAt& s : samples) expected = std::min(expected, s.log_moment - s.c * epsilon);
    if (std::fabs(expected - log_delta) > 1 && round < 2) {
      log_delta = std::clamp(expected, -600.0, -0.1);
      continue;
    }
    const double log_small = log_delta + std::log(std::clamp(relative_width, 1e-12, 1e-3)) - 2;
    for (int bits = std::min(12, max_bits); bits <= max_bits; bits += 2) {
      const Plan plan = make_plan(samples, epsilon, log_delta, log_small, widest_range(laws, cut) / 32);
      if (!std::isfinite(plan.window)) return best;
      const double h = aligned(laws, plan.window / std::exp2(bits));
      const Cut fine{cut.below, cut.above, -plan.window};
      if (widest_range(laws, fine) / h > kMaxCells) return best;
      const Interval found = Composed(discretise_all(laws, h, fine), h, bits, plan).delta(epsilon);
      best = {std::max(best.lower, found.lower), std::min(best.upper, found.upper)};
      if (best.upper - best.lower <= relative_width * best.upper) break;
    }
    break;
  }
  return best;
}

}  // namespace noisefloor
