// The randomized Hadamard rotation: random signs, then the Walsh-Hadamard transform, orthogonal.
//
// Guarantee:     lengths stay as they are, up to rounding; each coordinate of a rotated vector of length c is
//                subgaussian with parameter c/√d over the signs, whatever the vector. The signs follow from a public
//                seed: everyone rotates alike.
// Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "noisefloor/crypto/hash.h"

namespace noisefloor::secagg {

class Rotation {
 public:
  // Vectors are padded by zeros to the next power of two.
  Rotation(std::uint64_t dimension, const Digest& seed);

  [[nodiscard]] std::uint64_t padded() const { return padded_; }
  // Requires values.size() == dimension (checked); the result has padded() coordinates.
  [[nodiscard]] std::vector<double> rotate(std::vector<double> values) const;
  // The inverse of rotate. Requires rotated.size() == padded() (checked).
  [[nodiscard]] std::vector<double> rotate_back(std::vector<double> rotated) const;

 private:
  void flip_signs(std::span<double> values) const;

  std::uint64_t dimension_;
  std::uint64_t padded_;
  std::vector<std::uint8_t> signs_;  // a bit for each coordinate
};

}  // namespace noisefloor::secagg
