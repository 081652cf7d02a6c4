// Which parameters are trained: everything else is frozen. Fewer trained parameters need less noise in all.
#pragma once

#include <torch/nn/module.h>

#include <string>
#include <variant>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor {

struct TuneBiases {};  // parameters named bias, bias_… or …_bias
struct TuneLora {};    // parameters named lora_…
struct TuneNames {     // parameters of these paths, and all below a module of these paths
  std::vector<std::string> names;
};
using Tune = std::variant<TuneBiases, TuneLora, TuneNames>;

// Freezes every parameter of the module but these, and gives the names of these. Refuses, and changes nothing, if there
// are none, or if a name is no parameter or module with parameters. Tapes that were made before this call keep
// recording what was trainable then.
[[nodiscard]] Result<std::vector<std::string>> tune_only(torch::nn::Module& module, const Tune& what);

}  // namespace noisefloor
