#include "noisefloor/secagg/rotation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "noisefloor/base/check.h"
#include "noisefloor/crypto/mask.h"

namespace noisefloor::secagg {
namespace {

// Halves first, so that small parts are done within the cache.
void hadamard(double* values, std::size_t count) {
  if (count == 1) return;
  const std::size_t half = count / 2;
  double* const upper = values + half;
  for (std::size_t i = 0; i < half; ++i) {
    const double a = values[i];
    const double b = upper[i];
    values[i] = a + b;
    upper[i] = a - b;
  }
  hadamard(values, half);
  hadamard(upper, half);
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
    const auto sign = static_cast<std::uint64_t>(signs_[i / 8] >> i % 8 & 1U) << 63;
    values[i] = std::bit_cast<double>(std::bit_cast<std::uint64_t>(values[i]) ^ sign);
  }
}

std::vector<double> Rotation::rotate(std::span<const double> values) const {
  NF_CHECK(values.size() == dimension_, "a vector of the dimension");
  std::vector<double> rotated(padded_);
  std::copy(values.begin(), values.end(), rotated.begin());
  flip_signs(rotated);
  transform(rotated);
  return rotated;
}

std::vector<double> Rotation::rotate_back(std::vector<double> rotated) const {
  NF_CHECK(rotated.size() == padded_, "a rotated vector");
  transform(rotated);
  flip_signs(rotated);
  rotated.resize(dimension_);
  return rotated;
}

}  // namespace noisefloor::secagg
