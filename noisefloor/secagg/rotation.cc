#include "noisefloor/secagg/rotation.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "noisefloor/base/check.h"
#include "noisefloor/crypto/mask.h"

namespace noisefloor::secagg {
namespace {

// Sums and differences of values that are `half` apart.
void combine(double* values, std::size_t half) {
  double* const upper = values + half;
  for (std::size_t i = 0; i < half; ++i) {
    const double a = values[i];
    const double b = upper[i];
    values[i] = a + b;
    upper[i] = a - b;
  }
}

// Halves first, so that small parts are done within the cache.
void hadamard(double* values, std::size_t count) {
  constexpr std::size_t small = 1024;
  if (count > small) {
    combine(values, count / 2);
    hadamard(values, count / 2);
    hadamard(values + count / 2, count / 2);
    return;
  }
  for (std::size_t half = count / 2; half > 0; half /= 2) {
    for (std::size_t at = 0; at < count; at += 2 * half) combine(values + at, half);
  }
}

void transform(std::span<double> values) {
  hadamard(values.data(), values.size());
  const double scale = 1 / std::sqrt(static_cast<double>(values.size()));
  for (double& value : values) value *= scale;
}

}  // namespace

Rotation::Rotation(std::uint64_t dimension, const Digest& seed)
    : dimension_(dimension), padded_(std::bit_ceil(dimension)), signs_(2 * ((padded_ + 15) / 16)) {
  std::vector<Mask> mask(1);
  std::memcpy(mask[0].seed.bytes().data(), seed.data(), kMaskSeedBytes);
  apply_masks(mask, LaneBits::k16, signs_);
}

void Rotation::flip_signs(std::span<double> values) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t sign = (std::uint64_t{signs_[i / 8]} >> i % 8 & 1U) << 63;
    values[i] = std::bit_cast<double>(std::bit_cast<std::uint64_t>(values[i]) ^ sign);
  }
}

std::vector<double> Rotation::rotate(std::vector<double> values) const {
  NF_CHECK(values.size() == dimension_, "a vector of the dimension");
  values.resize(padded_);
  flip_signs(values);
  transform(values);
  return values;
}

std::vector<double> Rotation::rotate_back(std::vector<double> rotated) const {
  NF_CHECK(rotated.size() == padded_, "a rotated vector");
  transform(rotated);
  flip_signs(rotated);
  rotated.resize(dimension_);
  return rotated;
}

}  // namespace noisefloor::secagg
