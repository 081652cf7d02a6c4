#include "noisefloor/mechanisms/answer_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace noisefloor {
namespace {

// Steps to a sensitivity, for one dimension and at most: 2^-32 of rounding is lost in nobody's noise.
constexpr int kSensitivityBits = 32;
constexpr int kMaxSensitivityBits = 52;
constexpr int kMinSensitivityBits = 20;
// Noise of up to 2^50 steps leaves room for its tail in 64 bits.
constexpr double kMaxScale = 0x1p50;
// Whole numbers up to here are exact as doubles.
constexpr std::int64_t kMaxExact = std::int64_t{1} << 53;

// The smallest whole number t with sensitivity / t ≤ ε. A fused multiply-add rounds once, so that its sign is exact.
double whole_scale(double sensitivity, double epsilon) {
  double t = std::max(1.0, std::ceil(sensitivity / epsilon));
  while (std::fma(t, epsilon, -sensitivity) < 0) t += 1;
  return t;
}

}  // namespace

int floor_log2(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return exponent - 1;
}

double Lattice::step() const { return std::ldexp(1.0, exponent_); }

Int128 Lattice::nearest(double value) const {
  constexpr double limit = 0x1p100;
  if (std::isnan(value)) return 0;
  const double steps = std::clamp(std::ldexp(value, -exponent_), -limit, limit);
  const double below = std::floor(steps);
  return static_cast<Int128>(below) + (steps - below >= 0.5 ? 1 : 0);
}

Int128 Lattice::nearest_to_whole(std::int64_t value) const {
  if (exponent_ > 62 || exponent_ < -62) return nearest(static_cast<double>(std::clamp(value, -kMaxExact, kMaxExact)));
  if (exponent_ <= 0) return Int128{value} << -exponent_;
  return (Int128{value} + (Int128{1} << (exponent_ - 1))) >> exponent_;
}

std::int64_t Lattice::to_whole(Int128 point) const {
  if (exponent_ == 0) return saturate_to_int64(point);
  if (exponent_ >= 0 || exponent_ < -120) {
    return static_cast<std::int64_t>(std::clamp(std::rint(to_real(point)), -0x1p62, 0x1p62));
  }
  const Int128 half = Int128{1} << (-exponent_ - 1);
  return saturate_to_int64((point + half) >> -exponent_);
}

double Lattice::to_real(Int128 point) const { return std::ldexp(static_cast<double>(point), exponent_); }

Result<LaplaceOnLattice> laplace_on_lattice(L1Sensitivity sensitivity, Epsilon epsilon, std::uint64_t roundings) {
  const double slack = roundings == 1 ? 0 : static_cast<double>(roundings);
  const int slack_bits = roundings == 1 ? 0 : floor_log2(slack) + 1;
  int bits = std::min(kSensitivityBits + slack_bits, kMaxSensitivityBits);
  // A finer grid needs more steps of noise: give way where ε is small.
  while (std::ldexp(1.0, bits + 1) / epsilon.value() > kMaxScale) --bits;
  if (bits < kMinSensitivityBits + slack_bits) {
    return invalid_argument(fmt::format("epsilon {} is too small for exact noise on {} number{}: use a larger one",
                                        epsilon.value(), roundings, roundings == 1 ? "" : "s"));
  }
  const int exponent = floor_log2(sensitivity.value()) - bits;
  if (exponent < -1022) {
    return invalid_argument(
        fmt::format("sensitivity {} is too small for a grid: state the answer in smaller units", sensitivity.value()));
  }
  // Rounding one number moves a difference to at most the next whole number of steps.
  const double steps = std::ceil(std::ldexp(sensitivity.value(), -exponent)) + slack;
  NF_TRY(const L1Sensitivity lattice_sensitivity, L1Sensitivity::make(steps));
  NF_TRY(const NoiseScale scale, NoiseScale::make(whole_scale(steps, epsilon.value())));
  return LaplaceOnLattice{Lattice(exponent), lattice_sensitivity, scale};
}

}  // namespace noisefloor
