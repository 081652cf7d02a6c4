#include "noisefloor/accounting/atom_transform.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "noisefloor/numerics/fft.h"

namespace noisefloor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The Gaussian that spreads an atom to lattice points, e^{−d²/8}, and how many points it has on each side.
constexpr int kReach = 20;
constexpr double kWidthSquared = 4;
// Its transform at the angle θ is this times e^{−2θ²}.
const double kSpreadMass = 2 * std::sqrt(2 * std::numbers::pi);
// Moments of losses that are small beside the nodes.
constexpr int kOrders = 20;

// A sum of many numbers that is wrong by 2^-62 of itself and 2^-80 of their sizes, for up to 2^20 of them (Neumaier).
class LongSum {
 public:
  void add(long double term) {
    const long double next = sum_ + term;
    carry_ += std::fabs(sum_) >= std::fabs(term) ? (sum_ - next) + term : (term - next) + sum_;
    sum_ = next;
  }
  [[nodiscard]] long double value() const { return sum_ + carry_; }

 private:
  long double sum_ = 0;
  long double carry_ = 0;
};

class OnLine final : public TransformOnLine {
 public:
  OnLine(const LossAtoms& atoms, double mass_minus_one, double c) : loss_(atoms.loss) {
    LongSum sum;
    double error = 0;
    tilted_.reserve(loss_.size());
    for (std::size_t j = 0; j < loss_.size(); ++j) {
      const double exponent = c * loss_[j];
      const double gain = atoms.mass[j] * std::expm1(exponent);
      sum.add(gain);
      error += std::fabs(gain) * (3 + std::fabs(exponent)) + atoms.mass[j] * std::fabs(exponent);
      tilted_.push_back(atoms.mass[j] * std::exp(exponent));
      largest_exponent_ = std::max(largest_exponent_, std::fabs(exponent));
    }
    sum.add(mass_minus_one);
    excess_ = static_cast<double>(sum.value());
    excess_error_ = 0x1p-52 * error * (1 + 1e-9) + 0x1p-52 * (std::fabs(excess_) + std::fabs(mass_minus_one)) + 1e-20;
  }

  [[nodiscard]] double decay(double /*y*/) const override { return 0; }
  [[nodiscard]] double cost(double /*y*/) const override { return 40; }

  Values evaluate(double h, double tolerance, std::span<std::complex<double>> ratios,
                  std::span<double> errors) const override;

 private:
  void add_small(double y_max, std::span<std::complex<double>> sums, std::span<double> errors) const;
  void add_large(double h, double y_max, std::span<std::complex<double>> sums, std::span<double> errors) const;
  [[nodiscard]] bool is_small(std::size_t j, double y_max) const { return std::fabs(loss_[j]) * y_max <= 1; }

  const std::vector<double>& loss_;
  std::vector<double> tilted_;  // mass · e^{c loss}
  double excess_;               // φ(c) − 1
  double excess_error_;
  double largest_exponent_ = 0;
};

TransformOnLine::Values OnLine::evaluate(double h, double /*tolerance*/, std::span<std::complex<double>> ratios,
                                         std::span<double> errors) const {
  const double moment = 1 + excess_;
  const double low = moment - excess_error_;
  if (!(low > 0.5 * moment) || !std::isfinite(moment)) {
    std::fill(ratios.begin(), ratios.end(), 0.0);
    std::fill(errors.begin(), errors.end(), kInfinity);
    return {0, kInfinity};
  }
  if (!ratios.empty()) {
    const double y_max = h * static_cast<double>(ratios.size()) * (1 + 0x1p-50);
    std::fill(ratios.begin(), ratios.end(), 0.0);
    std::fill(errors.begin(), errors.end(), 0.0);
    add_small(y_max, ratios, errors);
    add_large(h, y_max, ratios, errors);
    for (std::size_t n = 0; n < ratios.size(); ++n) {
      ratios[n] /= moment;
      const double size = std::fabs(ratios[n].real()) + std::fabs(ratios[n].imag());
      errors[n] = (errors[n] + size * excess_error_) / low * (1 + 1e-9) + 0x1p-51 * size;
    }
  }
  return {std::log1p(excess_), excess_error_ / low * (1 + 1e-9)};
}

// Σ a (e^{iyℓ} − 1) = Σ_k (it)^k/k! Σ a (ℓY)^k with t = y/Y ≤ 1 and |ℓY| ≤ 1. The rest is below t Σ a|ℓY| / 21!.
void OnLine::add_small(double y_max, std::span<std::complex<double>> sums, std::span<double> errors) const {
  std::array<long double, kOrders + 1> moments{};
  long double size = 0;
  bool any = false;
  for (std::size_t j = 0; j < loss_.size(); ++j) {
    if (!is_small(j, y_max)) continue;
    any = true;
    const long double x = static_cast<long double>(loss_[j]) * y_max;
    long double power = tilted_[j];
    size += std::fabs(power * x);
    for (int k = 1; k <= kOrders; ++k) {
      power *= x;
      moments[static_cast<std::size_t>(k)] += power;
    }
  }
  if (!any) return;
  std::array<double, kOrders + 1> terms{};
  long double factorial = 1;
  for (int k = 1; k <= kOrders; ++k) {
    factorial *= k;
    const double sign = (k / 2) % 2 == 0 ? 1 : -1;
    terms[static_cast<std::size_t>(k)] = sign * static_cast<double>(moments[static_cast<std::size_t>(k)] / factorial);
  }
  const double relative = 0x1p-52 * (16 + largest_exponent_);
  for (std::size_t n = 0; n < sums.size(); ++n) {
    const double t = static_cast<double>(n + 1) / static_cast<double>(sums.size());
    const double t2 = t * t;
    double re = 0;
    double im = 0;
    for (int k = kOrders; k >= 2; k -= 2) {
      re = re * t2 + terms[static_cast<std::size_t>(k)];
      im = im * t2 + terms[static_cast<std::size_t>(k - 1)];
    }
    sums[n] += std::complex<double>(re * t2, im * t);
    errors[n] += relative * static_cast<double>(size) * t * (1 + 1e-9);
  }
}

// Σ a (e^{iyℓ} − 1) over the other atoms. Each is spread to the points of a lattice of n ≥ 4N points by a Gaussian; the
// transform of that is e^{iyℓ} times the Gaussian's own, up to aliases and what is left out: 2^-60 of it together.
void OnLine::add_large(double h, double y_max, std::span<std::complex<double>> sums, std::span<double> errors) const {
  const std::size_t n = std::bit_ceil(4 * sums.size());
  const auto points = static_cast<double>(n);
  const double scale = h * points / (2 * std::numbers::pi);  // lattice points per unit of loss
  std::vector<long double> lattice;
  std::array<double, kReach + 1> falls{};
  for (int r = 0; r <= kReach; ++r) falls[static_cast<std::size_t>(r)] = std::exp(-r * r / (2 * kWidthSquared));
  LongSum total;
  double reach = 0;  // Σ a |ℓ|
  for (std::size_t j = 0; j < loss_.size(); ++j) {
    if (is_small(j, y_max)) continue;
    if (lattice.empty()) lattice.assign(n + 2 * kReach, 0.0L);
    total.add(tilted_[j]);
    reach += tilted_[j] * std::fabs(loss_[j]);
    double place = std::fmod(loss_[j] * scale, points);
    if (place < 0) place += points;
    const double whole = std::floor(place);
    const double d = place - whole;
    // e^{−(d − r)²/8} = e^{−d²/8} (e^{d/4})^r e^{−r²/8}.
    const double centre = tilted_[j] * std::exp(-d * d / (2 * kWidthSquared));
    const double growth = std::exp(d / kWidthSquared);
    const double decline = 1 / growth;
    // The lattice begins kReach points early.
    const auto at = static_cast<std::size_t>(whole >= points ? 0 : whole) + kReach;
    lattice[at] += centre;
    double up = centre;
    double down = centre;
    for (std::size_t r = 1; r < kReach; ++r) {
      up *= growth;
      down *= decline;
      lattice[at + r] += up * falls[r];
      lattice[at - r] += down * falls[r];
    }
  }
  if (lattice.empty()) return;
  std::vector<double> weights(n);
  for (std::size_t m = 0; m < n; ++m) weights[m] = static_cast<double>(lattice[m + kReach]);
  for (std::size_t m = 0; m < kReach; ++m) {
    weights[n - kReach + m] += static_cast<double>(lattice[m]);
    weights[m] += static_cast<double>(lattice[n + kReach + m]);
  }
  double size = 0;
  for (const double weight : weights) size += weight;
  const std::vector<std::complex<double>> values = fft_of_real(weights);
  const auto all = static_cast<double>(total.value());
  // Errors of the Fourier transform and of the points' weights: kernel, growth to the power of r (16 units on average),
  // additions of up to 2^17 atoms with 64 bits. Then those of the tilted masses, and of places.
  const double lattice_error = (2 * fft_error(n) + 0x1p-46) * size * (1 + 1e-9) / kSpreadMass;
  const double tilt_error = 0x1p-51 * (2 + largest_exponent_) * all;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k + 1) / points;
    const double gain = std::exp(angle * angle * kWidthSquared / 2);
    // The transform has e^{−i…}.
    sums[k] += std::conj(values[k + 1]) * (gain / kSpreadMass) - all;
    const double y = h * static_cast<double>(k + 1);
    errors[k] += lattice_error * gain + 2 * tilt_error + 0x1p-50 * (all + y * reach);
  }
}

}  // namespace

AtomTransform::AtomTransform(const LossAtoms& atoms, double infinite)
    : atoms_(&atoms), infinite_(infinite), max_loss_(-kInfinity) {
  LongSum sum;
  for (const double mass : atoms.mass) sum.add(mass);
  sum.add(-1);
  mass_minus_one_ = static_cast<double>(sum.value());
  for (const double loss : atoms.loss) max_loss_ = std::max(max_loss_, loss);
  if (!(max_loss_ > 0)) max_loss_ = 0;
  // For estimates, atoms that are close to each other are one.
  const auto [least, most] = std::minmax_element(atoms.loss.begin(), atoms.loss.end());
  if (atoms.loss.empty()) return;
  const double span = (*most - *least) / 2000;
  double begin = -kInfinity;
  for (std::size_t j = 0; j < atoms.loss.size(); ++j) {
    if (!(atoms.mass[j] > 0)) continue;
    if (!(std::fabs(atoms.loss[j] - begin) <= span)) {
      begin = atoms.loss[j];
      coarse_.loss.push_back(begin);
      coarse_.mass.push_back(atoms.mass[j]);
      variance_.push_back(0);
      continue;
    }
    double& mass = coarse_.mass.back();
    double& loss = coarse_.loss.back();
    mass += atoms.mass[j];
    const double share = atoms.mass[j] / mass;
    const double gap = atoms.loss[j] - loss;
    loss += gap * share;
    variance_.back() = (1 - share) * (variance_.back() + share * gap * gap);
  }
}

MomentEstimate AtomTransform::estimate(double c) const {
  double excess = mass_minus_one_;
  double first = 0;
  double second = 0;
  for (std::size_t j = 0; j < coarse_.loss.size(); ++j) {
    const double loss = coarse_.loss[j];
    const double gain = std::expm1(c * loss);
    const double tilted = coarse_.mass[j] * (1 + gain);
    const double variance = variance_[j];
    excess += coarse_.mass[j] * gain + tilted * c * c * variance / 2;
    first += tilted * (loss + c * variance);
    second += tilted * (loss * loss + variance);
  }
  const double moment = 1 + excess;
  const double slope = first / moment;
  return {std::log1p(excess), slope, second / moment - slope * slope};
}

std::unique_ptr<LossTransform> AtomTransform::truncated(double /*mass*/) const {
  return std::make_unique<AtomTransform>(*this);
}

std::unique_ptr<TransformOnLine> AtomTransform::on_line(double c) const {
  return std::make_unique<OnLine>(*atoms_, mass_minus_one_, c);
}

}  // namespace noisefloor
