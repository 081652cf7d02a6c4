// Optimizers on one vector of floats. They see only noisy gradients: nothing here touches private data.
//
// Implements:    the update rules of torch.optim, with its defaults (the tests compare with recurrences written out).
// Thread safety: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor {

enum class OptimizerKind : std::uint8_t { kSgd, kAdam, kAdamW, kAdagrad, kRmsProp };

// The name that users write.
[[nodiscard]] constexpr std::string_view name_of(OptimizerKind kind) {
  constexpr std::array<std::string_view, 5> kNames{"sgd", "adam", "adamw", "adagrad", "rmsprop"};
  return kNames[static_cast<std::size_t>(kind)];
}

class Optimizer {
 public:
  struct Options {
    OptimizerKind kind = OptimizerKind::kSgd;
    double momentum = 0;      // kSgd
    double beta1 = 0.9;       // kAdam, kAdamW
    double beta2 = 0.999;     // kAdam, kAdamW
    double alpha = 0.99;      // kRmsProp
    double epsilon = 1e-8;    // all except kSgd
    double weight_decay = 0;  // kAdamW: decays the weights separately; others: added to the gradient (ridge)
  };
  // The optimizer's memory, for checkpoints.
  struct State {
    std::uint64_t steps = 0;
    std::vector<float> first;   // momentum, or mean of gradients
    std::vector<float> second;  // mean or sum of squares
  };

  // Fails if an option is negative or not finite, or if momentum, a beta or alpha is 1 or above.
  [[nodiscard]] static Result<Optimizer> create(Options options, std::size_t parameters);

  // One step against the gradient. Requires: spans of the number of parameters (checked).
  void step(std::span<float> parameters, std::span<const float> gradient, double rate);

  [[nodiscard]] const State& state() const { return state_; }
  // Fails if the state belongs to another method or size.
  [[nodiscard]] Result<void> restore(State state);

 private:
  Optimizer(Options options, std::size_t parameters);

  Options options_;
  std::size_t size_;
  State state_;
};

}  // namespace noisefloor
