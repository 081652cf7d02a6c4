#include "noisefloor/federated/exact_sum.h"

#include <algorithm>
#include <cmath>

#include "noisefloor/base/check.h"

namespace noisefloor::federated {

bool ExactSum::holds(std::span<const float> vector) {
  return std::all_of(vector.begin(), vector.end(), [](float value) { return value >= -kBound && value <= kBound; });
}

void ExactSum::add(std::span<const float> vector) {
  NF_CHECK(vector.size() == sums_.size() && vectors_ < kMaxVectors && holds(vector), "a vector that the sum can hold");
  for (std::size_t k = 0; k < sums_.size(); ++k) sums_[k] += std::llrint(static_cast<double>(vector[k]) / kStep);
  ++vectors_;
}

std::vector<double> ExactSum::value() const {
  std::vector<double> result(sums_.size());
  for (std::size_t k = 0; k < sums_.size(); ++k) result[k] = static_cast<double>(sums_[k]) * kStep;
  return result;
}

}  // namespace noisefloor::federated
