#include "noisefloor/accounting/bins_law.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "noisefloor/numerics/bisect.h"
#include "noisefloor/numerics/fft.h"

namespace noisefloor::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kPoints = std::size_t{1} << 16;
constexpr double kMostBins = 0x1p24;
// Of the lattice's points, how many a coarse one takes in where a large number stands beside them.
constexpr std::size_t kCoarse = 512;
// What may be lost at an end of the lattice.
constexpr double kLogLost = -34;
// What the tilt may take from the digits of sums around the number of bins: a factor of e to this.
constexpr double kLogLoss = 8;
// With what probability two or more numbers are too large for the lattice, at most.
constexpr double kTwoLarge = 1e-14;

double normal_tail(double x) { return 0.5 * std::erfc(x / std::numbers::sqrt2); }

// X = e^{μg − μ²/2} for a normal g, and what both ends of a convex function see of it: tail(y) = P(g > y), and the mean
// of X there, for removing; the other end for adding. E(X − x)⁺, or E(x − X)⁺, is sign (mean − x tail) at g's place of
// x.
struct LogNormal {
  double mu;
  bool remove;

  struct Ends {
    double tail;
    double mean;
    double rounding;  // relative, of both
  };
  [[nodiscard]] double place(double x) const { return std::log(x) / mu + mu / 2; }
  [[nodiscard]] double at(double y) const { return std::exp(mu * y - mu * mu / 2); }
  [[nodiscard]] Ends ends(double y) const {
    const double far = std::fabs(y) + mu;
    return {normal_tail(remove ? y : -y), normal_tail(remove ? y - mu : mu - y), 0x1p-48 * (4 + far * far)};
  }
  [[nodiscard]] double line(const Ends& ends, double x) const {
    return remove ? ends.mean - x * ends.tail : x * ends.tail - ends.mean;
  }
  // The potential at x, with a bound of its error. The place of x is rounded, too, but the line there touches: only the
  // square of that counts.
  struct Potential {
    double value;
    double error;
  };
  [[nodiscard]] Potential potential(double x) const {
    const Ends e = ends(place(x));
    const double size = e.mean + x * e.tail;
    return {std::max(0.0, line(e, x)), size * e.rounding + 1e-300};
  }
};

// Masses at growing places.
struct Masses1d {
  std::vector<double> place;
  std::vector<double> mass;
  double infinite_mean = 0;  // of what lies at infinity
};

// Larger in convex order: the potential is raised at the places, and is a chord between them.
Masses1d larger(const LogNormal& x, const std::vector<double>& places) {
  const std::size_t size = places.size();
  std::vector<long double> potential(size);
  for (std::size_t k = 0; k < size; ++k) {
    if (places[k] == 0) {
      potential[k] = x.remove ? 1 : 0;
      continue;
    }
    const LogNormal::Potential at = x.potential(places[k]);
    potential[k] = static_cast<long double>(at.value) + static_cast<long double>(at.error);
  }
  Masses1d found{places, std::vector<double>(size, 0.0), 0};
  const auto up = [](long double mass) { return mass > 0 ? static_cast<double>(mass * (1 + 0x1p-51L)) : 0.0; };
  if (x.remove) {
    long double slope = 0;  // to the right of the place, downwards
    for (std::size_t k = size; k-- > 1;) {
      const auto width = static_cast<long double>(places[k] - places[k - 1]);
      const long double next = std::max(slope, (potential[k - 1] - potential[k]) / width);
      // Where it had to be steeper, the potential is larger, too.
      potential[k - 1] = std::max(potential[k - 1], potential[k] + next * width);
      found.mass[k] = up(next - slope);
      slope = next;
    }
    found.infinite_mean = static_cast<double>(potential[size - 1]) * (1 + 0x1p-50);
    found.mass[0] = up(std::max(0.0L, 1 - slope)) + 0x1p-60;
  } else {
    long double slope = 0;  // to the left
    for (std::size_t k = 0; k + 1 < size; ++k) {
      const auto width = static_cast<long double>(places[k + 1] - places[k]);
      const long double next = std::max(slope, (potential[k + 1] - potential[k]) / width);
      potential[k + 1] = std::max(potential[k + 1], potential[k] + next * width);
      found.mass[k] = up(next - slope);
      slope = next;
    }
    found.mass[size - 1] = up(std::max(0.0L, 1 - slope));
  }
  return found;
}

// Smaller in convex order: cells whose means are the places. The potential is made of lines that touch the true one.
// Nothing where roundings are too large.
std::optional<Masses1d> smaller(const LogNormal& x, const std::vector<double>& places) {
  Masses1d found{places, std::vector<double>(places.size(), 0.0), 0};
  double excess = 0;  // by which the potential may be above the true one, relatively
  double potential = 0;
  double slope = 0;
  double here = x.remove ? kInfinity : -kInfinity;  // where the last line touches
  const std::size_t size = places.size();
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t k = x.remove ? size - 1 - i : i;
    const double at = places[k];
    if (at == 0) continue;
    // The line that has this potential here, and touches beyond: Newton's steps within a bracket.
    const double own = x.place(at);
    double inner = own;
    double outer = x.remove ? -40 : 40;
    const bool last = k == (x.remove ? 0 : size - 1);
    const double next_place = last ? (x.remove ? at / 2 : 2 * at) : places[x.remove ? k - 1 : k + 1];
    double y = next_place > 0 ? x.place((at + next_place) / 2) : x.place(at / 2);
    LogNormal::Ends ends = x.ends(y);
    for (int round = 0; round < 60; ++round) {
      const double gap = x.line(ends, at) - potential;
      if (std::fabs(gap) <= 0x1p-46 * (ends.mean + at * ends.tail)) break;
      (gap > 0 ? inner : outer) = y;
      const double density = std::exp(-y * y / 2) / std::sqrt(2 * std::numbers::pi);
      const double derivative = density * (at - x.at(y));  // of the line here
      double step = derivative != 0 ? y - gap / derivative : y;
      const auto [low, high] = std::minmax(inner, outer);
      if (!(step > low && step < high)) step = low + (high - low) / 2;
      if (step == y || step == low || step == high) break;
      y = step;
      ends = x.ends(y);
    }
    // Lines follow each other; a place that the line before passes by has no mass.
    if ((x.remove ? y < here : y > here) && ends.tail >= slope) {
      const LogNormal::Potential truth = x.potential(at);
      const double above = potential - x.line(ends, at) + 2 * ends.rounding * (ends.mean + at * ends.tail);
      excess = std::max(excess, above / std::max(truth.value - truth.error, 1e-300));
      found.mass[k] = ends.tail - slope;
      slope = ends.tail;
      here = y;
    }
    if (!last) potential += slope * std::fabs(next_place - at);
  }
  if (!(excess < 1e-7)) return std::nullopt;
  double sum = 0;
  for (double& mass : found.mass) {
    mass *= (1 - excess) * (1 - 0x1p-50);
    sum += mass;
  }
  if (x.remove && places[0] == 0) found.mass[0] = std::max(0.0, 1 - sum - 0x1p-40);
  return found;
}

// ln Σ mass e^{θ(place − 1)}, and the same with each mass times its place.
struct Moments {
  double log_moment;
  double log_mean;
};
Moments moments_of(const Masses1d& law, double theta) {
  double sum = 0;
  double mean = 0;
  for (std::size_t k = 0; k < law.place.size(); ++k) {
    const double tilted = law.mass[k] * std::exp(theta * (law.place[k] - 1));
    sum += tilted;
    mean += tilted * law.place[k];
  }
  return {std::log(sum), std::log(mean)};
}

// Chernoff's bounds for sums of `count` of these numbers.
class Sums {
 public:
  Sums(const Masses1d& law, double count) : law_(&law), count_(count) {
    double variance = 0;
    for (std::size_t k = 0; k < law.place.size(); ++k) {
      variance += law.mass[k] * (law.place[k] - 1) * (law.place[k] - 1);
    }
    const double scale = 1 / std::sqrt(count * std::max(variance, 1e-30));
    for (double size = 0.02 * scale; size < 2000 * scale; size *= 1.6) {
      for (const double theta : {-size, size}) {
        const Moments m = moments_of(law, theta);
        if (std::isfinite(m.log_moment) && std::isfinite(m.log_mean)) ladder_.push_back({theta, m});
      }
    }
  }

  // A tilt towards sums that are rare, and large for removing, or small for adding.
  [[nodiscard]] double tilt(bool remove) const {
    double best = 0;
    for (const Step& step : ladder_) {
      if ((step.theta > 0) != remove) continue;
      if (count_ * step.at.log_moment > kLogLoss) continue;
      if (std::fabs(step.theta) > std::fabs(best)) best = step.theta;
    }
    return best;
  }

  // ln of a bound of the mass of sums that exceed count + x (or fall below it), tilted by θ and divided by e^{count K}.
  [[nodiscard]] double log_beyond(double x, bool upper, double theta, double log_moment) const {
    double best = kInfinity;
    for (const Step& step : ladder_) {
      if (upper ? step.theta <= theta : step.theta >= theta) continue;
      best = std::min(best, count_ * (step.at.log_moment - log_moment) - (step.theta - theta) * x);
    }
    return best + 1e-6 + 1e-12 * count_;
  }
  // Of Σ/count on the same event, without a tilt.
  [[nodiscard]] double log_mean_beyond(double x, bool upper) const {
    double best = kInfinity;
    for (const Step& step : ladder_) {
      if (upper ? step.theta <= 0 : step.theta >= 0) continue;
      best = std::min(best, (count_ - 1) * step.at.log_moment + step.at.log_mean - step.theta * x);
    }
    return best + 1e-6 + 1e-12 * count_;
  }
  // The x where either is e^kLogLost.
  [[nodiscard]] double end(bool upper, double theta, double log_moment) const {
    double best = upper ? kInfinity : -kInfinity;
    for (const Step& step : ladder_) {
      if (upper ? step.theta <= theta : step.theta >= theta) continue;
      const double x = (count_ * (step.at.log_moment - log_moment) - kLogLost) / (step.theta - theta);
      best = upper ? std::min(best, x) : std::max(best, x);
    }
    return best;
  }

 private:
  struct Step {
    double theta;
    Moments at;
  };
  const Masses1d* law_;
  double count_;
  std::vector<Step> ladder_;
};

// A law of losses at many places.
class AtomsLaw final : public LossLaw {
 public:
  struct Atom {
    double loss;
    double p;
    double q;
  };
  // The first `sorted` of them are by growing loss, or by falling loss.
  AtomsLaw(std::vector<Atom> atoms, std::size_t sorted, double infinite)
      : atoms_(std::move(atoms)), infinite_(infinite) {
    const auto by_loss = [](const Atom& a, const Atom& b) { return a.loss < b.loss; };
    const auto middle = atoms_.begin() + static_cast<std::ptrdiff_t>(sorted);
    if (sorted > 0 && by_loss(middle[-1], atoms_.front())) std::reverse(atoms_.begin(), middle);
    std::sort(middle, atoms_.end(), by_loss);
    std::inplace_merge(atoms_.begin(), middle, atoms_.end(), by_loss);
    p_above_.assign(atoms_.size() + 1, 0.0L);
    q_above_.assign(atoms_.size() + 1, 0.0L);
    for (std::size_t i = atoms_.size(); i-- > 0;) {
      p_above_[i] = p_above_[i + 1] + atoms_[i].p;
      q_above_[i] = q_above_[i + 1] + atoms_[i].q;
    }
  }

  [[nodiscard]] Masses masses(double from, double to) const override {
    const std::size_t first = index(from);
    const std::size_t last = index(to);
    if (first >= last) return {0, 0, 0, 0};
    const auto p = static_cast<double>(p_above_[first] - p_above_[last]);
    const auto q = static_cast<double>(q_above_[first] - q_above_[last]);
    // Additions with 64 bits, a difference, and the masses themselves, which are exact but for q's quotient.
    const double additions = 0x1p-63 * static_cast<double>(atoms_.size() - first);
    return {p, q, static_cast<double>(p_above_[first]) * additions + 0x1p-52 * p,
            static_cast<double>(q_above_[first]) * additions + 0x1p-49 * q};
  }
  [[nodiscard]] double loss_error(double largest) const override { return 0x1p-50 * (1 + largest); }
  [[nodiscard]] double infinite_mass() const override { return infinite_; }
  [[nodiscard]] Interval range(double below, double above) const override {
    if (atoms_.empty()) return {0, 0};
    std::size_t low = 0;
    while (low + 1 < atoms_.size() && static_cast<double>(p_above_[0] - p_above_[low + 1]) <= below) ++low;
    std::size_t high = atoms_.size() - 1;
    while (high > low && static_cast<double>(p_above_[high]) <= above) --high;
    return {atoms_[low].loss, atoms_[high].loss};
  }

 private:
  // The first atom whose loss is above this.
  [[nodiscard]] std::size_t index(double loss) const {
    return static_cast<std::size_t>(std::upper_bound(atoms_.begin(), atoms_.end(), loss,
                                                     [](double value, const Atom& atom) { return value < atom.loss; }) -
                                    atoms_.begin());
  }

  std::vector<Atom> atoms_;
  double infinite_;
  std::vector<long double> p_above_;
  std::vector<long double> q_above_;
};

// The sum of `count` numbers at whole multiples of `step`: its masses at n step for begin ≤ n < begin + kPoints,
// rounded to the safe side.
struct Lattice {
  double begin;
  std::vector<double> mass;
};

struct Window {
  double step;
  double begin;  // of the lattice
  double theta;
  double log_moment;
};

class Adder {
 public:
  // Requires places at whole multiples of the window's step.
  Adder(const Masses1d& law, const Window& window) : window_(window), tilted_(kPoints, 0.0) {
    double total = 0;
    for (std::size_t k = 0; k < law.place.size(); ++k) {
      const double exponent = window.theta * (law.place[k] - 1);
      const double mass = law.mass[k] * std::exp(exponent - window.log_moment);
      largest_exponent_ = std::max(largest_exponent_, std::fabs(exponent));
      const double place = std::fmod(law.place[k] / window.step, static_cast<double>(kPoints));
      tilted_[static_cast<std::size_t>(place)] += mass;
      total += mass;
    }
    transform_ = fft_of_real(tilted_);
    error_ = 2 * fft_error(kPoints) * total * (1 + 1e-9) + 0x1p-50 * total;
  }

  // `aliases` bounds what lies outside of the window, tilted.
  [[nodiscard]] Lattice sum(double count, bool above, double aliases) const {
    std::vector<std::complex<double>> values(kPoints);
    double error = 0;
    double size = 0;
    for (std::size_t k = 0; k <= kPoints / 2; ++k) {
      const std::complex<double> a = transform_[k];
      const double log_larger = (count - 1) * std::log(std::sqrt(std::norm(a)) * (1 + 0x1p-50) + error_);
      if (log_larger < -90) {
        error += 2e-39;
        continue;
      }
      const std::complex<double> power = to_power(a, static_cast<std::uint64_t>(count));
      const double larger = std::exp(log_larger) * (1 + 1e-9);
      const double here = count * error_ * larger + 0x1p-48 * count * std::abs(power) + 1e-300;
      const double times = k == 0 || k == kPoints / 2 ? 1 : 2;
      error += times * here;
      size += times * std::abs(power);
      values[k] = power;
      if (k > 0 && k < kPoints / 2) values[kPoints - k] = std::conj(power);
    }
    inverse_fft(values);
    const double each = (error + fft_error(kPoints) * size) / static_cast<double>(kPoints) * (1 + 1e-9);
    const auto points = static_cast<double>(kPoints);
    Lattice found{window_.begin, std::vector<double>(kPoints, 0.0)};
    for (std::size_t i = 0; i < kPoints; ++i) {
      const double n = window_.begin + static_cast<double>(i);
      const double value = values[static_cast<std::size_t>(std::fmod(n, points))].real();
      const double exponent = count * window_.log_moment - window_.theta * (n * window_.step - count);
      const double rounding = 0x1p-48 * (8 + count * (largest_exponent_ + 4 + std::fabs(window_.log_moment)) / 4 +
                                         std::fabs(window_.theta * (n * window_.step - count)));
      const double scale = std::exp(exponent);
      const double mass = above ? (std::max(value, 0.0) + each) * scale * (1 + rounding)
                                : (value - each - aliases) * scale * (1 - rounding);
      found.mass[i] = std::max(0.0, mass);
    }
    return found;
  }

 private:
  static std::complex<double> to_power(std::complex<double> base, std::uint64_t count) {
    double re = 1;
    double im = 0;
    double x = base.real();
    double y = base.imag();
    for (;;) {
      if ((count & 1U) != 0) {
        const double next = re * x - im * y;
        im = re * y + im * x;
        re = next;
      }
      count >>= 1U;
      if (count == 0) return {re, im};
      const double next = x * x - y * y;
      y = 2 * x * y;
      x = next;
    }
  }

  Window window_;
  std::vector<double> tilted_;
  std::vector<std::complex<double>> transform_;
  double error_ = 0;
  double largest_exponent_ = 0;
};

// --- Places ----------------------------------------------------------------------------------------------------------

// Up to `end`, at multiples of `step`: wider where the density is low.
std::vector<double> lattice_places(const LogNormal& x, double step, double end) {
  const double peak = std::exp(-x.mu * x.mu);  // the density is largest near e^{−3μ²/2}; its scale is all that counts
  std::vector<double> places = {0};
  double n = 0;
  while (n * step < end) {
    const double at = (n + 1) * step;
    const double y = x.place(at);
    const double density = std::exp(-y * y / 2) / at * peak;
    const double wide = std::cbrt(1 / std::max(density * (1 + at * at), 1e-30));
    n += std::floor(std::clamp(wide, 1.0, std::max(1.0, at / step / 32)));
    places.push_back(n * step);
  }
  return places;
}

// Two or more numbers above `cut` among all, in the mean of the sum.
double two_large(const LogNormal& x, double cut, double bins) {
  const double y = x.place(cut);
  const double rare = bins * normal_tail(y);
  return normal_tail(y - x.mu) * rare + rare * rare / 2;
}

// For adding, sums above the number of bins lose nothing, and need not be known.
double cut_for(const LogNormal& x, double bins) {
  const auto is_rare = [&](double cut) {
    if (x.remove) return two_large(x, cut, bins) <= kTwoLarge;
    return cut >= std::max(4 * bins, 16.0) || bins * normal_tail(x.place(cut)) <= 1e-10;
  };
  const double high = x.at(38 + x.mu);
  return std::max(bisect_ratio({.holds = high, .fails = 1}, 1.05, 200, is_rare).holds, 2.0);
}

struct Plan {
  double cut;
  Window window;
  std::vector<double> places;  // on the lattice
  std::vector<double> large;   // beyond
};

// `more`: how many times as wide as it looks necessary.
std::optional<Plan> plan_for(const LogNormal& x, double bins, double more) {
  Plan plan;
  plan.cut = cut_for(x, bins);
  if (!std::isfinite(plan.cut)) return std::nullopt;
  // Where the sums are, from a rough look.
  std::vector<double> rough = {0};
  const double lowest = x.at(-9);
  for (int i = 0; i <= 400; ++i) rough.push_back(lowest * std::pow(plan.cut / lowest, i / 400.0));
  Masses1d law = larger(x, rough);
  const Sums sums(law, bins);
  const double theta = sums.tilt(x.remove);
  const double log_moment = moments_of(law, theta).log_moment;
  const double low = std::min(sums.end(false, theta, log_moment), sums.end(false, 0, 0));
  const double high = std::max(sums.end(true, theta, log_moment), sums.end(true, 0, 0));
  const double begin = std::max(0.0, bins + 1.02 * more * low);
  const double width = bins + 1.02 * more * high - begin;
  if (!(width > 0 && std::isfinite(width))) return std::nullopt;
  const double step = std::exp2(std::ceil(std::log2(width / static_cast<double>(kPoints))));
  plan.window = {step, std::floor(begin / step), theta, 0};
  plan.places = lattice_places(x, step, plan.cut);
  if (plan.places.size() > 40'000 || !(plan.window.begin < 0x1p50)) return std::nullopt;
  if (x.remove) {
    for (double at = plan.places.back() * 1.02; x.place(at) - x.mu < 9.5; at *= 1.02) plan.large.push_back(at);
    plan.large.push_back((plan.large.empty() ? plan.places.back() : plan.large.back()) * 1.02);
  }
  return plan;
}

// The sum's coarse points, at the safe side.
std::vector<std::pair<double, double>> coarse(const Lattice& lattice, double step, bool above) {
  std::vector<std::pair<double, double>> found;
  const auto place = [&](std::size_t i) { return (lattice.begin + static_cast<double>(i)) * step; };
  if (!above) {
    for (std::size_t i = 0; i < kPoints; i += kCoarse) {
      double mass = 0;
      double mean = 0;
      for (std::size_t j = i; j < i + kCoarse; ++j) {
        mass += lattice.mass[j];
        mean += lattice.mass[j] * static_cast<double>(j - i);
      }
      if (mass > 0) found.emplace_back(place(i) + step * (mean / mass) * (1 - 0x1p-40), mass * (1 - 0x1p-40));
    }
    return found;
  }
  std::vector<double> ends(kPoints / kCoarse + 1, 0.0);
  for (std::size_t i = 0; i < kPoints; ++i) {
    const double share = static_cast<double>(i % kCoarse) / static_cast<double>(kCoarse);
    ends[i / kCoarse] += lattice.mass[i] * (1 - share);
    ends[i / kCoarse + 1] += lattice.mass[i] * share;
  }
  for (std::size_t k = 0; k < ends.size(); ++k) {
    if (ends[k] > 0) found.emplace_back(place(k * kCoarse), ends[k] * (1 + 0x1p-40));
  }
  return found;
}

std::unique_ptr<LossLaw> law_of(const LogNormal& x, double bins, const Plan& plan, bool above) {
  std::vector<double> places = plan.places;
  places.insert(places.end(), plan.large.begin(), plan.large.end());
  Masses1d all;
  if (above) {
    all = larger(x, places);
  } else {
    std::optional<Masses1d> found = smaller(x, places);
    if (!found) return nullptr;
    all = std::move(*found);
  }
  const std::size_t on_lattice = plan.places.size();
  Masses1d light{plan.places, {all.mass.begin(), all.mass.begin() + static_cast<std::ptrdiff_t>(on_lattice)}, 0};
  Window window = plan.window;
  window.log_moment = moments_of(light, window.theta).log_moment;
  const Adder adder(light, window);
  const double end = (window.begin + static_cast<double>(kPoints)) * window.step;
  const double start = window.begin * window.step;
  // What is outside of the window: tilted, and of the two laws.
  struct Outside {
    double tilted;
    double q;
    double p;
  };
  const auto outside = [&](double count) {
    const Sums sums(light, count);
    Outside lost{0, 0, 0};
    for (const bool upper : {true, false}) {
      // Where the window begins at 0, nothing is below it.
      if (!upper && start <= 0) continue;
      const double at = upper ? end - count : start - count;
      lost.tilted += std::exp(sums.log_beyond(at, upper, window.theta, window.log_moment));
      lost.q += std::exp(sums.log_beyond(at, upper, 0, 0));
      lost.p += std::exp(sums.log_mean_beyond(at, upper));
    }
    return lost;
  };
  const Outside lost = outside(bins);
  if (!(lost.tilted < 1e-12)) return nullptr;
  const Lattice sum = adder.sum(bins, above, lost.tilted);
  std::vector<AtomsLaw::Atom> atoms;
  double infinite = above ? (x.remove ? lost.p : lost.q) : 0;
  const auto add = [&](double s, double mass) {
    if (!(mass > 0)) return;
    const double ratio = s / bins;
    if (x.remove) {
      if (ratio > 0) atoms.push_back({std::log(ratio), mass * ratio, mass});
    } else if (ratio > 0) {
      atoms.push_back({-std::log(ratio), mass, mass * ratio});
    } else if (above) {
      infinite += mass;
    }
  };
  for (std::size_t i = 0; i < kPoints; ++i) add((sum.begin + static_cast<double>(i)) * window.step, sum.mass[i]);
  const std::size_t sorted = atoms.size();
  if (x.remove) {
    // One number that is too large for the lattice, and all others on it.
    const Outside lost_rest = outside(bins - 1);
    if (!(lost_rest.tilted < 1e-12)) return nullptr;
    const auto rest = coarse(adder.sum(bins - 1, above, lost_rest.tilted), window.step, above);
    double large_mass = 0;
    double large_mean = 0;
    for (std::size_t k = on_lattice; k < places.size(); ++k) {
      large_mass += all.mass[k];
      large_mean += all.mass[k] * places[k];
      for (const auto& [r, mass] : rest) add(places[k] + r, bins * all.mass[k] * mass);
    }
    if (above) {
      const double others = bins * large_mass;
      infinite += all.infinite_mean + large_mean * others + others * others / 2;
      infinite += large_mean * lost_rest.q + others * lost_rest.p;
    }
  }
  infinite *= 1 + 1e-6;
  if (!(infinite < 0.5) || atoms.empty()) return nullptr;
  return std::make_unique<AtomsLaw>(std::move(atoms), sorted, infinite);
}

}  // namespace

BinsLaws bins_laws(double mu, std::uint64_t bins, bool remove) {
  const auto count = static_cast<double>(bins);
  if (!(mu > 1e-4 && mu < 20) || !(count <= kMostBins)) return {nullptr, nullptr};
  const LogNormal x{mu, remove};
  BinsLaws laws;
  for (double more = 1; more <= 4 && laws.above == nullptr; more *= 2) {
    const std::optional<Plan> plan = plan_for(x, count, more);
    if (!plan) break;
    laws = {law_of(x, count, *plan, true), law_of(x, count, *plan, false)};
  }
  return laws;
}

}  // namespace noisefloor::internal
