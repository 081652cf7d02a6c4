#include "noisefloor/accounting/lattice.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "noisefloor/numerics/fft.h"

namespace noisefloor {
namespace {

using Complex = std::complex<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// More cells than this for one law would take longer than all the rest.
constexpr double kMaxCells = 1 << 18;

// e^exponent · mass without overflow on the way.
double times_exp(double mass, double exponent) { return mass > 0 ? std::exp(exponent + std::log(mass)) : 0; }

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
  double lifted;              // by how much losses from below may be too large: rounding of atoms
};

OnLattice discretise(const RepeatedLaw& repeated, double h, Cut cut) {
  const LossLaw& law = *repeated.law;
  const Interval range = cut.range_of(law);
  const auto first = static_cast<std::int64_t>(std::floor(range.lower / h)) - 1;
  const auto last = static_cast<std::int64_t>(std::ceil(range.upper / h)) + 1;
  const auto size = static_cast<std::size_t>(last - first + 1);
  OnLattice lattice{repeated.count, first, std::vector<double>(size, 0.0), std::vector<double>(size, 0.0), 0, 0};
  // An atom on the lattice must not slip below it by rounding, nor by what aligned() shortens steps.
  if (law.atom_loss() > 0) lattice.lifted = 0x1p-45 + 0x1p-42 * law.atom_loss();
  const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(i - first); };
  const double one_minus = -std::expm1(-h);
  const double slack = 0x1p-50 / one_minus;

  // Halves of cells, from the lowest to the highest.
  Masses lower_half = {0, 0, 0, 0};  // the half cell below the lattice point i
  for (std::int64_t i = first; i <= last; ++i) {
    const double point = h * static_cast<double>(i);
    const Masses upper_half = i == last ? Masses{0, 0, 0, 0} : law.masses(point, point + h / 2);
    const Masses next_lower =
        i == last ? Masses{0, 0, 0, 0} : law.masses(point + h / 2, h * static_cast<double>(i + 1));

    // From above: the cell (i, i + 1] to its ends, keeping P and Q.
    for (const Masses& half : {upper_half, next_lower}) {
      const double p = half.p + half.p_error;
      if (p == 0) continue;
      const double q = std::max(0.0, half.q - half.q_error);
      const double up = std::clamp((p - times_exp(q, point)) / one_minus + p * slack, 0.0, p);
      lattice.above[at(i)] += p - up;
      lattice.above[at(i) + 1] += up;
    }

    // From below: what lies around i is merged to i, but for a part of its lower half if the whole would be below i.
    const double pu = std::max(0.0, upper_half.p - upper_half.p_error);
    const double pl = std::max(0.0, lower_half.p - lower_half.p_error);
    const double qu = times_exp(upper_half.q + upper_half.q_error, point) * (1 + 0x1p-48);
    const double ql = times_exp(lower_half.q + lower_half.q_error, point) * (1 + 0x1p-48);
    double left_out = 0;
    if (pu + pl < (qu + ql) * std::exp(-lattice.lifted)) {
      left_out = ql > pl ? std::clamp((qu + ql - pu - pl) / (ql - pl) * (1 + 0x1p-40) + 0x1p-40, 0.0, 1.0) : 1.0;
    }
    lattice.below[at(i)] += pu + (1 - left_out) * pl;
    if (i > first) lattice.below[at(i) - 1] += left_out * pl;
    lower_half = next_lower;
  }
  const Masses bottom = law.masses(-kInfinity, h * static_cast<double>(first));
  const Masses top = law.masses(h * static_cast<double>(last), kInfinity);
  lattice.above.front() += bottom.p + bottom.p_error;
  lattice.below.back() += std::max(0.0, top.p - top.p_error);
  lattice.infinite = (law.infinite_mass() + top.p + top.p_error) * (1 + 0x1p-50);
  return lattice;
}

// Σ count · ln Σ mass e^{cL}, of the laws from above.
double log_moment(const std::vector<OnLattice>& laws, double h, double c) {
  double sum = 0;
  for (const OnLattice& law : laws) {
    const double shift = c > 0 ? h * static_cast<double>(law.first + static_cast<std::int64_t>(law.above.size())) : 0;
    double moment = 0;
    for (std::size_t i = 0; i < law.above.size(); ++i) {
      moment +=
          law.above[i] * std::exp(c * (h * static_cast<double>(law.first + static_cast<std::int64_t>(i)) - shift));
    }
    sum += law.count * (std::log(moment) + c * shift);
  }
  return sum;
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
    const double moment = log_moment(laws, h, c);
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
  // δ(ε) = Σ mass (1 − e^{ε − z}) over lattice points z > ε, by suffix sums of the mass and of mass · e^{reference − z}.
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
    return spread_ * std::exp(-c_ * loss) + 0x1p-47 * curve.p[i] + curve.offset +
           std::exp(std::min(700.0, curve.log_falling - order_ * loss));
  }
  // The bound of δ at ε, if the first lattice point above it is number i; `side` is +1 from above, −1 from below.
  [[nodiscard]] double bound(const Curve& curve, std::size_t i, double offset, double side) const {
    return curve.p[i] - std::exp(offset) * curve.q[i] + side * suffix_error(curve, i);
  }
  [[nodiscard]] double value(const Curve& curve, double epsilon, double side) const;
  // Where the bound falls below `target` for good; −∞ if it is below in the whole window, ∞ if at its end it is not.
  [[nodiscard]] double solve(const Curve& curve, double target, double side) const;
  void add_up(const std::vector<double>& mass, Curve& curve) const;

  double c_;
  double order_;
  double h_;
  std::int64_t start_;  // lattice index where the window begins
  double reference_;    // its loss
  double lifted_ = 0;   // all the losses from below together may be too large by this
  double spread_ = 0;
  Curve above_;
  Curve below_;
};

// Tilted masses that add up to 1, at their places modulo n, and ln of what they were divided by.
struct Tilted {
  std::vector<Complex> both;  // above as the real part, below as the imaginary part
  double log_above;
  double log_below;
};

Tilted tilt(const OnLattice& law, double h, double c, std::size_t n) {
  const auto loss = [&](std::size_t i) { return h * static_cast<double>(law.first + static_cast<std::int64_t>(i)); };
  const double shift = loss(law.above.size() - 1);
  std::vector<double> above(law.above.size());
  std::vector<double> below(law.above.size());
  long double sum_above = 0;
  long double sum_below = 0;
  for (std::size_t i = 0; i < above.size(); ++i) {
    // Rounding of the exponential is moved into the masses, to the safe side of each.
    const double exponent = c * (loss(i) - shift);
    const double rounding = 0x1p-51 * (8 + std::fabs(exponent) + c * std::fabs(shift) + c * std::fabs(loss(i)));
    above[i] = law.above[i] * std::exp(exponent) * (1 + rounding);
    below[i] = law.below[i] * std::exp(exponent) * (1 - rounding);
    sum_above += above[i];
    sum_below += below[i];
  }
  Tilted tilted{std::vector<Complex>(n), 0, 0};
  const double divide_above = static_cast<double>(sum_above) * (1 - 0x1p-45);
  const double divide_below = std::max(static_cast<double>(sum_below) * (1 + 0x1p-45), 1e-300);
  tilted.log_above = std::log(divide_above) + c * shift;
  tilted.log_below = std::log(divide_below) + c * shift;
  for (std::size_t i = 0; i < above.size(); ++i) {
    const auto size = static_cast<std::int64_t>(n);
    const std::int64_t place = ((law.first + static_cast<std::int64_t>(i)) % size + size) % size;
    tilted.both[static_cast<std::size_t>(place)] += Complex(above[i] / divide_above, below[i] / divide_below);
  }
  return tilted;
}

// z^count and a bound of its error, where z is within `error` of the true one and |z| ≤ 1 but for rounding.
struct Power {
  Complex value;
  double error;
};
Power power(Complex z, double error, double count) {
  const double size = std::abs(z);
  if (size < 1e-200) return {0, std::exp(count * std::log(std::max(size + error, 1e-300)))};
  const double log_size = std::log(size);
  const double angle = std::arg(z);
  const double result = std::exp(count * log_size);
  const double largest = std::exp((count - 1) * std::log(size + error));
  const double rounding = 0x1p-51 * (4 + count * (std::fabs(log_size) + std::fabs(angle)));
  return {std::polar(result, std::remainder(count * angle, 2 * 3.14159265358979323846)),
          count * error * largest + result * std::min(2.0, rounding)};
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
  double infinite = 0;
  const double transform_error = 2 * fft_error(n);
  for (const OnLattice& law : laws) {
    Tilted tilted = tilt(law, h, plan.c, n);
    log_above += law.count * tilted.log_above;
    log_below += law.count * tilted.log_below;
    log_rounding += law.count * 0x1p-51 * (2 + std::fabs(tilted.log_above) + std::fabs(tilted.log_below));
    infinite += law.count * law.infinite;
    lifted_ += law.count * law.lifted * (1 + 1e-9);
    fft(tilted.both);
    for (std::size_t k = 0; k < n; ++k) {
      const Complex forward = tilted.both[k];
      const Complex mirrored = std::conj(tilted.both[(n - k) % n]);
      const Power a = power((forward + mirrored) * 0.5, transform_error, law.count);
      const Power b = power((forward - mirrored) * Complex(0, -0.5), transform_error, law.count);
      above[k] *= a.value;
      below[k] *= b.value;
      error[k] += a.error + b.error;  // the other factors are at most 1
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
  const double point_error = (error_sum + (fft_error(n) + 0x1p-50) * size_sum) / points * (1 + 1e-9);

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
  spread_ = point_error / -std::expm1(-c_ * h);

  const double moment = log_moment(laws, h, plan.order) * (1 + 1e-12) + 1e-9;
  const double beyond = std::exp(std::min(700.0, moment - plan.order * (reference_ + window)));
  above_.offset = (beyond + infinite) * std::exp(-above_.log_scale) * (1 + 1e-9);
  above_.log_falling = -kInfinity;
  // Masses that wrap around from below, and from above.
  below_.offset = std::exp(-below_.log_scale) / std::expm1(c_ * window) * (1 + 1e-9);
  below_.log_falling =
      moment - order_ * reference_ - below_.log_scale - std::log(std::expm1((order_ - c_) * window)) + 1e-9;
}

void Composed::add_up(const std::vector<double>& mass, Curve& curve) const {
  const std::size_t n = mass.size();
  curve.p.assign(n + 1, 0.0);
  curve.q.assign(n + 1, 0.0);
  long double p = 0;
  long double q = 0;
  for (std::size_t i = n; i-- > 0;) {
    const double offset = h_ * static_cast<double>(i);
    const double weight = mass[i] * std::exp(-c_ * offset);
    p += weight;
    q += weight * std::exp(-offset);
    curve.p[i] = static_cast<double>(p);
    curve.q[i] = static_cast<double>(q);
  }
}

double Composed::value(const Curve& curve, double epsilon, double side) const {
  const double offset = epsilon - reference_;
  const double place = std::floor(offset / h_) + 1;  // the first point above ε
  if (place < 0) return side > 0 ? kInfinity : 0;
  return bound(curve, static_cast<std::size_t>(std::min(place, static_cast<double>(curve.p.size() - 1))), offset, side);
}

double Composed::solve(const Curve& curve, double target, double side) const {
  // δ falls along the points, and its bounds do but for their errors: the last point where the bound is above.
  const auto is_above = [&](std::size_t i) { return bound(curve, i, h_ * static_cast<double>(i), side) > target; };
  const std::size_t last = curve.p.size() - 1;
  if (is_above(last)) return kInfinity;
  std::size_t high = last;
  while (high > 0 && !is_above(high - 1)) --high;
  if (high == 0) return -kInfinity;
  const std::size_t low = high - 1;
  // Between two points it is p − e^ε q with the sums from the upper one on.
  const double rest = curve.p[high] + side * suffix_error(curve, low) - target;
  const double offset = rest > 0 && curve.q[high] > 0 ? std::log(rest / curve.q[high]) : -kInfinity;
  return reference_ + std::clamp(offset, h_ * static_cast<double>(low), h_ * static_cast<double>(high));
}

Interval Composed::delta(double epsilon) const {
  const double low = value(below_, epsilon + lifted_, -1) * std::exp(below_.log_scale);
  const double high = value(above_, epsilon, 1) * std::exp(above_.log_scale);
  return {std::clamp(low, 0.0, 1.0), std::clamp(high, 0.0, 1.0)};
}

Interval Composed::epsilon(double log_delta) const {
  const double upper = solve(above_, std::exp(log_delta - above_.log_scale), 1);
  const double lower = solve(below_, std::exp(log_delta - below_.log_scale), -1);
  // Rounding of the logarithm and of the reference. Where the answer lies below the window, its start is a bound.
  const double slack = 1e-14 * (std::fabs(reference_) + 1);
  return {lower == kInfinity ? 0 : std::max(0.0, lower - slack - lifted_),
          std::max(0.0, upper == -kInfinity ? reference_ : upper + slack)};
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

// The step h, or a little more or less, such that atoms are on the lattice; the upper one a little above its point, so that
// what lies below it is not merged with it.
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
  const std::vector<MomentAt> samples = sample_moments(discretise_all(laws, coarse, cut), coarse);
  if (samples.size() < 2) return {0, kInfinity};
  double epsilon = 0.95 * chernoff_epsilon(samples, log_delta);
  const double log_small = log_delta + std::log(std::clamp(relative_width, 1e-12, 1e-3)) - 2;
  Interval best{0, kInfinity};
  for (int bits = std::min(12, max_bits); bits <= max_bits; bits += 2) {
    for (int attempt = 0; attempt < 6; ++attempt) {
      const Plan plan = make_plan(samples, epsilon, log_delta, log_small, widest_range(laws, cut) / 32);
      if (!std::isfinite(plan.window)) return best;
      const double h = aligned(laws, plan.window / std::exp2(bits));
      // A loss below minus the window would need others beyond it.
      const Cut fine{cut.below, cut.above, -plan.window};
      if (widest_range(laws, fine) / h > kMaxCells) return best;
      const std::vector<OnLattice> lattices = discretise_all(laws, h, fine);
      const Interval found = Composed(lattices, h, bits, plan).epsilon(log_delta);
      best = {std::max(best.lower, found.lower), std::min(best.upper, found.upper)};
      // An answer that lies below the window calls for another window.
      if (found.lower > 0 || found.upper > plan.epsilon - plan.window / 4 || best.upper <= 0) break;
      epsilon = found.upper;
    }
    if (std::isfinite(best.upper)) epsilon = best.upper;
    if (best.upper - best.lower <= std::max(relative_width * best.upper, 1e-9)) break;
  }
  return best;
}

Interval lattice_delta(std::span<const RepeatedLaw> laws, double epsilon, double relative_width, int max_bits) {
  Interval best{0, 1};
  double log_delta = -23;
  for (int round = 0; round < 3; ++round) {
    const Cut cut = cut_for(laws, log_delta, relative_width);
    const double coarse = std::max(smallest_range(laws, cut) / 256, widest_range(laws, cut) / kMaxCells);
    const std::vector<MomentAt> samples = sample_moments(discretise_all(laws, coarse, cut), coarse);
    if (samples.size() < 2) return best;
    double chernoff = 0;
    for (const MomentAt& s : samples) chernoff = std::min(chernoff, s.log_moment - s.c * epsilon);
    if (std::fabs(chernoff - log_delta) > 1 && round < 2) {
      log_delta = std::clamp(chernoff, -600.0, -0.1);
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
