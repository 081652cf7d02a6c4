// Whether a module can be trained privately, and if not, which of its parts stand in the way.
//
// Finds:         submodules that mix examples (batch normalization, running statistics), private layers with options
//                that do, and owners of trainable parameters that have no rule for a gradient of each example.
//                expect_rows_apart also runs the module: what its code does between its layers, such as a mean over the
//                batch, is seen by derivatives.
// Not covered:   a custom module that mixes examples where no derivative shows it: through whole numbers, say, or only
//                sometimes. The tape notices parameters that are used without a rule, whatever happens.
// Thread safety: pure functions.
#pragma once

#include <torch/nn/module.h>

#include <functional>
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

// Runs `forward` on these rows: an error if the output of one row depends on another, if there is not one output a row,
// or if it changes a buffer of the module, which would keep what examples leave there. Says nothing where it cannot be
// run.
[[nodiscard]] Result<void> expect_rows_apart(const torch::nn::Module& module,
                                             const std::function<torch::Tensor(const torch::Tensor&)>& forward,
                                             const torch::Tensor& rows);

// One line for a person: "2 (torch::nn::Linear) reason: remedy".
[[nodiscard]] std::string describe(const Obstacle& obstacle);

}  // namespace noisefloor
