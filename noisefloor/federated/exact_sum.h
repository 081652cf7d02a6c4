// Sums of clients' vectors that do not depend on the order in which they arrive.
//
// Guarantee:     every number is rounded once, to the nearest multiple of 2^-30, and then sums are exact. So the sum is
//                the same bits for the same set of vectors, on every machine, whoever came first or crashed in between.
//                Up to 2^17 vectors with numbers within ± 2^15 do not overflow.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace noisefloor::federated {

class ExactSum {
 public:
  static constexpr double kStep = 0x1p-30;
  static constexpr float kBound = 0x1p15F;
  static constexpr std::uint32_t kMaxVectors = 1U << 17;

  explicit ExactSum(std::size_t dimension) : sums_(dimension) {}

  // Whether all numbers are within ± kBound; NaN is not.
  [[nodiscard]] static bool holds(std::span<const float> vector);
  // Adds a vector. Requires the sum's dimension, holds(vector), and fewer than kMaxVectors before (checked).
  void add(std::span<const float> vector);

  [[nodiscard]] std::uint32_t vectors() const { return vectors_; }
  [[nodiscard]] std::vector<double> value() const;
  // The sum in steps.
  [[nodiscard]] const std::vector<std::int64_t>& steps() const { return sums_; }

 private:
  std::vector<std::int64_t> sums_;
  std::uint32_t vectors_ = 0;
};

}  // namespace noisefloor::federated
