// Draws for simulations: who has which rows, who is away, in which order rows are taken. Nothing here is noise.
//
// Internal to federated/.
//
// Thread safety: that of the stream.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "noisefloor/random/bit_stream.h"
#include "noisefloor/random/gaussian_vector.h"
#include "noisefloor/random/uniform.h"

namespace noisefloor::federated::internal {

// Uniform on [0, 1), in steps of 2^-53.
[[nodiscard]] inline double uniform_share(BitStream& stream) {
  return static_cast<double>(stream.next_u64() >> 11) * 0x1p-53;
}

template <class T>
void shuffle(BitStream& stream, std::span<T> items) {
  for (std::size_t left = items.size(); left > 1; --left)
    std::swap(items[left - 1], items[uniform_below(stream, left)]);
}

// The logarithm of a gamma variate of this shape (Marsaglia and Tsang 2000). In logarithms, because shapes far below 1
// give numbers that no double holds.
[[nodiscard]] inline double log_gamma_variate(BitStream& stream, double shape) {
  double extra = 0;
  if (shape < 1) {  // G(a) = G(a + 1) · U^(1/a)
    extra = std::log1p(-uniform_share(stream)) / shape;
    shape += 1;
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    float normal = 0;
    fill_gaussian(stream, {&normal, 1}, 1);
    const double x = static_cast<double>(normal);
    const double v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log1p(-uniform_share(stream)) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      return std::log(d * v) + extra;
    }
  }
}

// Shares that add up to 1: Dirichlet(α, …, α).
[[nodiscard]] inline std::vector<double> dirichlet(BitStream& stream, double alpha, std::size_t size) {
  std::vector<double> shares(size);
  double largest = -HUGE_VAL;
  for (double& share : shares) {
    share = log_gamma_variate(stream, alpha);
    largest = std::fmax(largest, share);
  }
  double sum = 0;
  for (double& share : shares) sum += share = std::exp(share - largest);
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace noisefloor::federated::internal
