// Learning rates over the steps of a run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "noisefloor/base/result.h"

namespace noisefloor {

enum class RateDecay : std::uint8_t {
  kConstant,
  kCosine,       // to 0 at the last step, along half a cosine
  kInverse,      // η₀/(1 + βt)
  kInverseRoot,  // η₀/(1 + β√t)
};

// The name that users write.
[[nodiscard]] constexpr std::string_view name_of(RateDecay decay) {
  constexpr std::array<std::string_view, 4> kNames{"constant", "cosine", "inverse", "inverse-root"};
  return kNames[static_cast<std::size_t>(decay)];
}

class LearningRate {
 public:
  struct Options {
    double initial = 0.1;
    RateDecay decay = RateDecay::kConstant;
    double beta = 0;            // β of kInverse and kInverseRoot
    std::uint64_t warm_up = 0;  // steps over which the rate grows linearly to its full value
    std::uint64_t steps = 1;    // of the whole run
  };

  // Fails if a number is not finite or negative, or the initial rate is 0.
  [[nodiscard]] static Result<LearningRate> create(Options options);

  // The rate of the step that follows `done` steps.
  [[nodiscard]] double at(std::uint64_t done) const;

 private:
  explicit LearningRate(Options options) : options_(options) {}

  Options options_;
};

}  // namespace noisefloor
