// A vector of integers modulo 2^bits, in lanes of 16, 32 or 64 bits; packed, it takes `bits` bits for each.
//
// Guarantee:     sums are right modulo 2^bits: higher bits of a lane may hold anything and are never read. One packed
//                form for each vector: bits follow each other from the lowest of the first byte on, and the bits left
//                over are zero.
// Thread safety: that of an array.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "noisefloor/crypto/mask.h"
#include "noisefloor/crypto/secret.h"

namespace noisefloor::secagg {

inline constexpr std::uint64_t kMaxDimension = std::uint64_t{1} << 30;
inline constexpr unsigned kMaxBits = 64;

[[nodiscard]] constexpr std::size_t packed_bytes(std::uint64_t dimension, unsigned bits) {
  return static_cast<std::size_t>((dimension * bits + 7) / 8);
}

class LaneVector {
 public:
  // A vector of zeros. Requires 1 ≤ bits ≤ kMaxBits and dimension ≤ kMaxDimension (checked).
  LaneVector(std::uint64_t dimension, unsigned bits);

  [[nodiscard]] std::uint64_t dimension() const { return dimension_; }
  [[nodiscard]] unsigned bits() const { return bits_; }
  [[nodiscard]] LaneBits lanes() const { return lanes_; }

  [[nodiscard]] std::uint64_t get(std::uint64_t i) const;
  // The representative in [−2^(bits−1), 2^(bits−1)).
  [[nodiscard]] std::int64_t get_signed(std::uint64_t i) const;
  // Sets a coordinate modulo 2^bits.
  void set(std::uint64_t i, std::uint64_t value);

  // The lanes themselves, little-endian, for masks to be added.
  [[nodiscard]] std::span<std::uint8_t> lane_bytes() { return bytes_; }
  [[nodiscard]] Bytes lane_bytes() const { return bytes_; }

  // Writes packed_bytes(dimension, bits) bytes (checked).
  void pack(std::span<std::uint8_t> out) const;
  // Adds a packed vector. Requires is_packed (checked).
  void add_packed(Bytes packed);

  friend bool operator==(const LaneVector& a, const LaneVector& b);

 private:
  std::uint64_t dimension_;
  unsigned bits_;
  LaneBits lanes_;
  std::vector<std::uint8_t> bytes_;
};

// Whether these bytes are the packed form of a vector.
[[nodiscard]] bool is_packed(Bytes bytes, std::uint64_t dimension, unsigned bits);

}  // namespace noisefloor::secagg
