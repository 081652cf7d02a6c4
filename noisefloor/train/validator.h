// Whether a module can be trained privately, and if not, which of its parts stand in the way.
//
// Finds:         submodules that mix examples (batch normalization, running statistics), private layers with options that
//                do, and owners of trainable parameters that have no rule for a gradient of each example.
// Not covered:   what the code of a custom module does between its layers: a sum over the batch, say, is not seen. The tape
//                notices parameters that are used without a rule, but not examples that are mixed without parameters.
// Thread safety: pure functions.
#pragma once

#include <torch/nn/module.h>

#include <string>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor {

struct Obstacle {
  std::string path;  // "" is the module itself
  std::string type;
  std::string reason;
  std::string remedy;
};

[[nodiscard]] std::vector<Obstacle> find_obstacles(const torch::nn::Module& module);

// An error that names every obstacle, with its remedy.
[[nodiscard]] Result<void> validate(const torch::nn::Module& module);

// One line for a person: "2 (torch::nn::Linear) reason: remedy".
[[nodiscard]] std::string describe(const Obstacle& obstacle);

}  // namespace noisefloor
