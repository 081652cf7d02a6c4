#include "noisefloor/sgd/optimizer.h"

#include <fmt/core.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "noisefloor/base/check.h"

namespace noisefloor {
namespace {

struct Memory {
  bool first;
  bool second;
};

Memory memory_of(const Optimizer::Options& options) {
  switch (options.kind) {
    case OptimizerKind::kSgd:
      return {options.momentum > 0, false};
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW:
      return {true, true};
    case OptimizerKind::kAdagrad:
    case OptimizerKind::kRmsProp:
      break;
  }
  return {false, true};
}

Result<void> check(std::string_view what, double value, double below) {
  if (value >= 0 && value < below && std::isfinite(value)) return success();
  return invalid_argument(
      std::isfinite(below)
          ? fmt::format("{} of an optimizer must be 0 or above and below {}; {} was given", what, below, value)
          : fmt::format("{} of an optimizer must be a finite number, 0 or above; {} was given", what, value));
}

}  // namespace

Optimizer::Optimizer(Options options, std::size_t parameters) : options_(options), size_(parameters) {
  const Memory memory = memory_of(options);
  if (memory.first) state_.first.resize(parameters);
  if (memory.second) state_.second.resize(parameters);
}

Result<Optimizer> Optimizer::create(Options options, std::size_t parameters) {
  NF_TRY_VOID(check("momentum", options.momentum, 1));
  NF_TRY_VOID(check("beta1", options.beta1, 1));
  NF_TRY_VOID(check("beta2", options.beta2, 1));
  NF_TRY_VOID(check("alpha", options.alpha, 1));
  NF_TRY_VOID(check("epsilon", options.epsilon, HUGE_VAL));
  NF_TRY_VOID(check("weight decay", options.weight_decay, HUGE_VAL));
  return Optimizer(options, parameters);
}

Result<void> Optimizer::restore(State state) {
  if (state.first.size() != state_.first.size() || state.second.size() != state_.second.size()) {
    return invalid_argument("the optimizer's state belongs to another method or another number of parameters");
  }
  state_ = std::move(state);
  return success();
}

void Optimizer::step(std::span<float> parameters, std::span<const float> gradient, double rate) {
  NF_CHECK(parameters.size() == size_ && gradient.size() == size_, "one number for each parameter");
  ++state_.steps;
  const auto eta = static_cast<float>(rate);
  const auto decay = static_cast<float>(options_.weight_decay);
  const auto epsilon = static_cast<float>(options_.epsilon);
  float* first = state_.first.data();
  float* second = state_.second.data();
  switch (options_.kind) {
    case OptimizerKind::kSgd: {
      const auto momentum = static_cast<float>(options_.momentum);
      for (std::size_t i = 0; i < size_; ++i) {
        float g = gradient[i] + decay * parameters[i];
        if (momentum > 0) g = first[i] = momentum * first[i] + g;
        parameters[i] -= eta * g;
      }
      break;
    }
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW: {
      const bool apart = options_.kind == OptimizerKind::kAdamW;
      const auto beta1 = static_cast<float>(options_.beta1);
      const auto beta2 = static_cast<float>(options_.beta2);
      const auto steps = static_cast<double>(state_.steps);
      const auto scale = static_cast<float>(rate / (1 - std::pow(options_.beta1, steps)));
      const auto spread = static_cast<float>(1 / std::sqrt(1 - std::pow(options_.beta2, steps)));
      for (std::size_t i = 0; i < size_; ++i) {
        if (apart) parameters[i] -= eta * decay * parameters[i];
        const float g = apart ? gradient[i] : gradient[i] + decay * parameters[i];
        first[i] = beta1 * first[i] + (1 - beta1) * g;
        second[i] = beta2 * second[i] + (1 - beta2) * g * g;
        parameters[i] -= scale * first[i] / (std::sqrt(second[i]) * spread + epsilon);
      }
      break;
    }
    case OptimizerKind::kAdagrad:
      for (std::size_t i = 0; i < size_; ++i) {
        const float g = gradient[i] + decay * parameters[i];
        second[i] += g * g;
        parameters[i] -= eta * g / (std::sqrt(second[i]) + epsilon);
      }
      break;
    case OptimizerKind::kRmsProp: {
      const auto alpha = static_cast<float>(options_.alpha);
      for (std::size_t i = 0; i < size_; ++i) {
        const float g = gradient[i] + decay * parameters[i];
        second[i] = alpha * second[i] + (1 - alpha) * g * g;
        parameters[i] -= eta * g / (std::sqrt(second[i]) + epsilon);
      }
      break;
    }
  }
}

}  // namespace noisefloor
