// A model of torch's layers with private ones in their places.
//
//   torch's Linear, Conv1d, Conv2d, Embedding, LayerNorm, GroupNorm, InstanceNorm1d/2d, LSTM and GRU become the private
//   layers of the same name and share their parameters: what is loaded or trained in one is in the other too.
//   InstanceNorm loses its running statistics. BatchNorm becomes GroupNorm with BatchNorm's weight and bias: it has the
//   largest number of groups up to 32 that leaves each two channels or more (one group if there is none). A model that
//   was trained with BatchNorm needs some training after that.
//
// What stands in a Sequential, or in a Residual inside of one, is replaced, under its old name. Members of
// custom modules have types that cannot be changed from outside; they stay, and find_obstacles' list of them is given.
// Thread safety: not thread-safe for one model.
#pragma once

#include <torch/nn/modules/container/sequential.h>

#include <cstdint>
#include <string>
#include <vector>

#include "noisefloor/torch/validator.h"

namespace noisefloor {

struct Replacement {
  std::string path;
  std::string from;
  std::string to;
};

struct PrivateModel {
  torch::nn::Sequential model;
  std::vector<Replacement> replaced;
  std::vector<Obstacle> left;  // nothing, if the model can be trained privately now
};

[[nodiscard]] PrivateModel make_private(const torch::nn::Sequential& model);

// The number of groups that replace batch normalization of `channels` channels.
[[nodiscard]] std::int64_t groups_for(std::int64_t channels);

}  // namespace noisefloor
