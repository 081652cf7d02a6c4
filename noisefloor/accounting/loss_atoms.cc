#include "noisefloor/accounting/loss_atoms.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace noisefloor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSmallest = 1e-290;  // below this, relative errors are not what they seem

// A stretch of losses that is divided into equal cells.
struct Stretch {
  std::size_t law;
  double from;
  double to;
  double weight;  // how likely it takes part, times length²
};

// Halves towards 0 on both sides, down to a cell around 0 that does not matter.
std::vector<Stretch> stretches_of(std::size_t index, const RepeatedLaw& repeated, AtomRange range) {
  const LossLaw& law = *repeated.law;
  const Interval whole = law.range(1e-300, 1e-300);
  const double highest = std::min(range.highest, whole.upper);
  const double lowest = std::min(std::max(range.lowest, whole.lower), highest);
  const double centre = std::max(0.15 * std::sqrt(range.spread / repeated.count), 1e-300);
  std::vector<double> places;
  const auto halve = [&](double end, double sign) {
    for (double size = end; size > centre && places.size() < 4000; size /= 2) places.push_back(sign * size);
  };
  places.push_back(lowest);
  places.push_back(highest);
  if (lowest < 0) halve(-lowest, -1);
  if (highest > 0) halve(highest, 1);
  std::sort(places.begin(), places.end());
  places.erase(std::remove_if(places.begin(), places.end(), [&](double x) { return x < lowest || x > highest; }),
               places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  std::vector<Stretch> found;
  for (std::size_t i = 1; i < places.size(); ++i) {
    const double length = places[i] - places[i - 1];
    const Masses m = law.masses(places[i - 1], places[i]);
    const double tilted = (m.p + m.p_error) * std::exp(std::min(range.tilt * places[i], range.most));
    found.push_back({index, places[i - 1], places[i], std::min(1.0, repeated.count * tilted) * length * length});
  }
  return found;
}

// What a cell (from, to] is, with the losses of its outcomes between `least` and `most`.
struct Cell {
  Masses masses;
  Excess excess;  // p − q e^at
  double at;
};

// The masses at both ends that keep P and Q, from above.
struct Split {
  double lower;
  double upper;
};
Split split(const Cell& cell, double most) {
  const double p = cell.masses.p + cell.masses.p_error;
  const double share = -std::expm1(-(most - cell.at));
  const double gain = cell.excess.value + cell.excess.error;
  double upper = share > 0 ? gain / share * (1 + 0x1p-50) : p;
  if (!(upper <= p)) upper = p;  // also where it is not a number
  upper = std::max(0.0, upper);
  return {(p - upper) * (1 + 0x1p-52), upper};
}

// ln(p/q), not above the true one; −∞ where that cannot be told.
double merged_loss(const Cell& cell) {
  const double scale = std::exp(cell.at);
  const double gain = cell.excess.value - cell.excess.error;
  const double q = gain >= 0 ? cell.masses.q + cell.masses.q_error : cell.masses.q - cell.masses.q_error;
  if (!(q > kSmallest && q * scale > kSmallest)) return -kInfinity;
  const double ratio = gain / (q * scale);
  if (!(ratio > -1)) return -kInfinity;
  const double more = std::log1p(ratio);
  return cell.at + more - 0x1p-50 * (std::fabs(more) + (1 + std::fabs(cell.at)) * std::fabs(more)) -
         0x1p-52 * std::fabs(cell.at);
}

class Builder {
 public:
  explicit Builder(const LossLaw& law) : law_(law) {}

  void begin(double lowest) {
    // What lies below is raised to the first edge, and merged to an atom of its own from below.
    const double eta = law_.loss_error(std::fabs(lowest));
    const Masses m = law_.masses(-kInfinity, lowest);
    put_above(lowest + eta, m.p + m.p_error, 0);
    const double p = m.p - m.p_error;
    const double q = m.q + m.q_error;
    if (p > kSmallest && q > kSmallest) {
      const double log_p = std::log(p);
      const double log_q = std::log(q);
      const double loss = log_p - log_q - 0x1p-51 * (std::fabs(log_p) + std::fabs(log_q));
      if (loss > 3 * lowest - 1) put_below(std::min(loss, lowest), p);
    }
    edge_ = lowest;
  }

  void add_cell(double to) {
    const double from = edge_;
    edge_ = to;
    const double eta = law_.loss_error(std::max(std::fabs(from), std::fabs(to)));
    Cell cell{law_.masses(from, to), {0, 0}, from - eta};
    if (cell.masses.p + cell.masses.p_error <= 0) return;
    cell.excess = law_.excess(from, to, cell.at);
    const Split parts = split(cell, to + eta);
    put_above(from + eta, parts.lower, eta);
    put_above(to + eta, parts.upper, 0);
    const double p = cell.masses.p - cell.masses.p_error;
    if (p > 0) put_below(std::max(merged_loss(cell), from - eta), p);
  }

  AtomicLaw end() {
    const double from = edge_;
    const double eta = law_.loss_error(std::fabs(from));
    const double at = from - eta;
    const Masses m = law_.masses(from, kInfinity);
    const Excess excess = law_.excess(from, kInfinity, at);
    const double infinite = law_.infinite_mass();
    // From above: as much at `at` as its Q allows, the rest at infinity.
    const double scale = std::exp(at);
    const double q_low = std::max(0.0, m.q - m.q_error);
    const double q_high = m.q + m.q_error;
    const double finite = q_low * scale * (1 - 0x1p-50);
    put_above(at, finite, 2 * eta);
    const double gain = std::max(0.0, excess.value + excess.error);
    const double rest = std::min(gain + (q_high * scale * (1 + 0x1p-50) - finite), m.p + m.p_error);
    found_.infinite = (std::max(0.0, rest) + infinite) * (1 + 0x1p-48) + (m.p + m.p_error > 0 ? 1e-320 : 0);
    found_.tail_from = from;
    found_.tail_p_low = std::max(0.0, m.p - m.p_error + infinite * (1 - 0x1p-48));
    found_.tail_q_high = q_high;
    // p − q = (p − q e^at) + q (e^at − 1).
    const double shift = std::expm1(at);
    const double low = excess.value - excess.error + (shift > 0 ? q_low : q_high) * shift;
    found_.tail_gain_low = low - 0x1p-50 * (std::fabs(low) + m.q * std::fabs(shift)) + infinite * (1 - 0x1p-48);
    return std::move(found_);
  }

 private:
  // Roundings of sums go up from above. Atoms that differ by roundings of losses only become the larger one.
  void put_above(double loss, double mass, double eta) {
    if (!(mass > 0)) return;
    LossAtoms& atoms = found_.above;
    if (!atoms.loss.empty() && loss <= atoms.loss.back() + 4 * eta) {
      atoms.loss.back() = std::max(atoms.loss.back(), loss);
      atoms.mass.back() = (atoms.mass.back() + mass) * (1 + 0x1p-52);
      return;
    }
    atoms.loss.push_back(loss);
    atoms.mass.push_back(mass);
  }
  void put_below(double loss, double mass) {
    found_.below.loss.push_back(loss);
    found_.below.mass.push_back(mass);
  }

  const LossLaw& law_;
  AtomicLaw found_;
  double edge_ = 0;
};

}  // namespace

std::vector<AtomicLaw> atomic_laws(std::span<const RepeatedLaw> laws, AtomRange range, double most) {
  std::vector<Stretch> stretches;
  double roots = 0;
  for (std::size_t i = 0; i < laws.size(); ++i) {
    for (const Stretch& one : stretches_of(i, laws[i], range)) {
      stretches.push_back(one);
      roots += std::cbrt(one.weight);
    }
  }
  // The fewest cells whose Σ weight/cells² is `spread`.
  const double density = std::sqrt(roots / range.spread);
  const auto cells_of = [&](const Stretch& one) { return std::max(1.0, std::ceil(std::cbrt(one.weight) * density)); };
  double cells = 0;
  for (const Stretch& one : stretches) cells += cells_of(one);
  if (!(cells <= most)) return {};
  std::vector<AtomicLaw> found;
  found.reserve(laws.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < laws.size(); ++i) {
    Builder builder(*laws[i].law);
    bool begun = false;
    for (; next < stretches.size() && stretches[next].law == i; ++next) {
      const Stretch& one = stretches[next];
      if (!begun) builder.begin(one.from);
      begun = true;
      const double count = cells_of(one);
      for (double k = 1; k <= count; ++k) {
        builder.add_cell(k == count ? one.to : one.from + (one.to - one.from) * (k / count));
      }
    }
    if (!begun) {
      // A law with one loss: from just below it.
      const Interval whole = laws[i].law->range(1e-300, 1e-300);
      builder.begin(std::nextafter(std::min(whole.upper, range.highest), -kInfinity));
      builder.add_cell(std::min(whole.upper, range.highest));
    }
    found.push_back(builder.end());
  }
  return found;
}

}  // namespace noisefloor
