#include "noisefloor/sgd/schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace noisefloor {

Result<LearningRate> LearningRate::create(Options options) {
  if (!(options.initial > 0) || !std::isfinite(options.initial)) {
    return invalid_argument(
        fmt::format("a learning rate must be a finite number above 0; {} was given", options.initial));
  }
  if (!(options.beta >= 0) || !std::isfinite(options.beta)) {
    return invalid_argument(
        fmt::format("the decay of a learning rate must be a finite number, 0 or above; {} was given", options.beta));
  }
  return LearningRate(options);
}

double LearningRate::at(std::uint64_t done) const {
  const auto t = static_cast<double>(done);
  double rate = options_.initial;
  switch (options_.decay) {
    case RateDecay::kConstant:
      break;
    case RateDecay::kCosine: {
      const double share = std::min(1.0, t / static_cast<double>(std::max<std::uint64_t>(options_.steps, 1)));
      rate *= 0.5 * (1 + std::cos(std::numbers::pi * share));
      break;
    }
    case RateDecay::kInverse:
      rate /= 1 + options_.beta * t;
      break;
    case RateDecay::kInverseRoot:
      rate /= 1 + options_.beta * std::sqrt(t);
      break;
  }
  if (done < options_.warm_up) rate *= (t + 1) / static_cast<double>(options_.warm_up);
  return rate;
}

}  // namespace noisefloor
