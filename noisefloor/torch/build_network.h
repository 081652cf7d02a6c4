// The torch module of a network that a training file describes (config/torch_network.h).
//
// Layers stand in a Sequential under their numbers, so that parameters are named as the file counts: "0.weight",
// "3.inner.1.out_proj.bias". All are private layers. Parameters that are not trained are frozen.
// Thread safety: none. Weights are drawn from torch's generator.
#pragma once

#include <torch/nn/modules/container/sequential.h>

#include <cstdint>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/config/torch_network.h"

namespace noisefloor {

// What goes through a network.
struct Form {
  enum class Kind : std::uint8_t {
    kVector,    // {features}
    kImage,     // {channels, height, width}
    kLine,      // {channels, positions}
    kSequence,  // {time, features}
    kTokens,    // {time}
  };
  Kind kind = Kind::kVector;
  std::vector<std::int64_t> sizes;
  std::int64_t tokens = 0;  // how many there are to predict
};

struct BuiltNetwork {
  torch::nn::Sequential module;
  Form output;
};

// Fails, naming the layer, where a layer does not fit what comes before it.
[[nodiscard]] Result<BuiltNetwork> build_network(const TorchNetwork& network, const Form& input);

}  // namespace noisefloor
