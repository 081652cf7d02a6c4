// A small network of torch's layers, and the source of gradients that runs it over 8 x 8 images in three classes.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <memory>

#include "noisefloor/torch/convolution.h"
#include "noisefloor/torch/linear.h"
#include "noisefloor/torch/tape_source.h"

namespace noisefloor::testing {

// It starts from the same weights each time.
inline torch::nn::Sequential small_network(bool dropout = false) {
  torch::manual_seed(1);
  torch::nn::Sequential net(nn::Conv2d(torch::nn::Conv2dOptions(1, 4, 3).stride(2).padding(1)), torch::nn::Tanh(),
                            torch::nn::Flatten());
  if (dropout) net->push_back(torch::nn::Dropout(0.3));
  net->push_back(nn::Linear(64, 3));
  return net;
}

inline std::unique_ptr<TapeSource> source_of(torch::nn::Sequential& net, const Dataset& data, std::size_t micro_batch) {
  TapeSource::Options options;
  options.micro_batch = micro_batch;
  return TapeSource::create(
             *net, [net](const torch::Tensor& x) mutable { return net->forward(x); }, data, options)
      .value();
}

}  // namespace noisefloor::testing
