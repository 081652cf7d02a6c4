// LSTM and GRU with a gradient for each example, in the place of torch::nn::LSTM and GRU: same options (except
// proj_size), parameters, names and outputs.
//
// Where a tape is active, the steps are taken one by one with constant weights, and every matrix has one record with
// time as its sequence: its input at each step against the gradient of its product at each step. Otherwise torch's own
// kernels run. Inputs are (batch, time, features) with batch_first, else (time, batch, features).
#pragma once

#include <torch/nn/modules/rnn.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "noisefloor/torch/private_layer.h"

namespace noisefloor::nn {

// What both have in common: parameters weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_ih_l0_reverse, …
template <class Derived, class Plain, class Options>
class RecurrentImpl : public PrivateModule<Derived> {
 public:
  RecurrentImpl(std::int64_t input_size, std::int64_t hidden_size) : RecurrentImpl(Options(input_size, hidden_size)) {}
  explicit RecurrentImpl(const Options& options_);

  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  Options options;
  std::vector<torch::Tensor> weights;  // in the order of their names; no biases where there are none

 protected:
  void bind() override;
};

class LSTMImpl : public RecurrentImpl<LSTMImpl, torch::nn::LSTMImpl, torch::nn::LSTMOptions> {
 public:
  using State = std::tuple<torch::Tensor, torch::Tensor>;
  using RecurrentImpl::RecurrentImpl;

  // Outputs of the last layer, and the state (h, c) of every layer after the last step.
  std::tuple<torch::Tensor, State> forward(const torch::Tensor& input, c10::optional<State> state = {});
  [[nodiscard]] std::optional<std::string> objection() const override;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, torch::nn::AnyValue(c10::optional<State>())})
};
TORCH_MODULE(LSTM);

class GRUImpl : public RecurrentImpl<GRUImpl, torch::nn::GRUImpl, torch::nn::GRUOptions> {
 public:
  using RecurrentImpl::RecurrentImpl;

  // Outputs of the last layer, and the state of every layer after the last step.
  std::tuple<torch::Tensor, torch::Tensor> forward(const torch::Tensor& input, torch::Tensor state = {});

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, torch::nn::AnyValue(torch::Tensor())})
};
TORCH_MODULE(GRU);

}  // namespace noisefloor::nn
