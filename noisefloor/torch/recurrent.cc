#include "noisefloor/torch/recurrent.h"

#include <torch/torch.h>

#include <memory>
#include <utility>

#include "noisefloor/torch/outer_product.h"
#include "noisefloor/torch/tape.h"

namespace noisefloor::nn {
namespace {

// The parameters of one layer in one direction; biases may be undefined.
struct Cell {
  torch::Tensor weight_ih;
  torch::Tensor weight_hh;
  torch::Tensor bias_ih;
  torch::Tensor bias_hh;
};

// What one pass over time gives: outputs [batch, time, hidden] and the last states.
struct Pass {
  torch::Tensor outputs;
  torch::Tensor h;
  torch::Tensor c;
};

// What the rules need to know of the steps, once they are taken: [batch, time, hidden] each.
struct Steps {
  torch::Tensor before;  // h before each step
  torch::Tensor reset;   // GRU: the reset gate
};

std::unique_ptr<Use> over_time(const Batch& batch, const torch::Tensor& gradient) {
  return summed_use(batch, gradient.sum(1));
}

// The gradient of W_hh·h + b_hh from that of W_ih·x + b_ih: they add up, except for GRU's last third, which is gated.
torch::Tensor hidden_gradient(const torch::Tensor& gradient, const Steps& steps) {
  if (!steps.reset.defined()) return gradient;
  const std::int64_t hidden = gradient.size(2) / 3;
  return torch::cat({gradient.narrow(2, 0, 2 * hidden), gradient.narrow(2, 2 * hidden, hidden) * steps.reset}, 2);
}

// W_ih·x + b_ih at all times, observed for all four parameters.
torch::Tensor observed_gates(Tape& tape, const torch::Tensor& input, const Cell& cell,
                             const std::shared_ptr<Steps>& steps) {
  using Saved = std::vector<torch::Tensor>;
  const torch::Tensor gates = torch::nn::functional::linear(input, constant(cell.weight_ih), constant(cell.bias_ih));
  return tape.observe(gates, {input},
                      {{cell.weight_ih, [](const Batch& batch, const Saved& saved,
                                           const torch::Tensor& g) { return outer_use(batch, saved[0], g); }},
                       {cell.weight_hh,
                        [steps](const Batch& batch, const Saved& /*saved*/, const torch::Tensor& g) {
                          return outer_use(batch, steps->before, hidden_gradient(g, *steps));
                        }},
                       {cell.bias_ih, [](const Batch& batch, const Saved& /*saved*/,
                                         const torch::Tensor& g) { return over_time(batch, g); }},
                       {cell.bias_hh, [steps](const Batch& batch, const Saved& /*saved*/, const torch::Tensor& g) {
                          return over_time(batch, hidden_gradient(g, *steps));
                        }}});
}

Pass lstm_pass(Tape& tape, const torch::Tensor& input, torch::Tensor h, torch::Tensor c, const Cell& cell) {
  const auto steps = std::make_shared<Steps>();
  const torch::Tensor weight = constant(cell.weight_hh).t();
  torch::Tensor gates_of_inputs = observed_gates(tape, input, cell, steps);
  if (cell.bias_hh.defined()) gates_of_inputs = gates_of_inputs + cell.bias_hh.detach();
  std::vector<torch::Tensor> before;
  std::vector<torch::Tensor> outputs;
  for (const torch::Tensor& of_input : gates_of_inputs.unbind(1)) {
    before.push_back(h.detach());
    const auto gates = torch::addmm(of_input, h, weight).chunk(4, 1);
    c = gates[1].sigmoid() * c + gates[0].sigmoid() * gates[2].tanh();
    h = gates[3].sigmoid() * c.tanh();
    outputs.push_back(h);
  }
  steps->before = torch::stack(before, 1);
  return {torch::stack(outputs, 1), h, c};
}

Pass gru_pass(Tape& tape, const torch::Tensor& input, torch::Tensor h, const Cell& cell) {
  const auto steps = std::make_shared<Steps>();
  std::vector<torch::Tensor> before;
  std::vector<torch::Tensor> resets;
  std::vector<torch::Tensor> outputs;
  for (const torch::Tensor& of_input : observed_gates(tape, input, cell, steps).unbind(1)) {
    before.push_back(h.detach());
    const auto x = of_input.chunk(3, 1);
    const auto of_state =
        torch::nn::functional::linear(h, constant(cell.weight_hh), constant(cell.bias_hh)).chunk(3, 1);
    const torch::Tensor reset = (x[0] + of_state[0]).sigmoid();
    const torch::Tensor update = (x[1] + of_state[1]).sigmoid();
    const torch::Tensor next = (x[2] + reset * of_state[2]).tanh();
    h = next + update * (h - next);
    resets.push_back(reset.detach());
    outputs.push_back(h);
  }
  steps->before = torch::stack(before, 1);
  steps->reset = torch::stack(resets, 1);
  return {torch::stack(outputs, 1), h, {}};
}

// All layers and directions: `pass(number, input, cell)` takes one of them over its input.
template <class Options, class OnePass>
Pass stacked(const Options& options, bool training, const std::vector<torch::Tensor>& weights, torch::Tensor input,
             const OnePass& pass) {
  const std::size_t each = options.bias() ? 4 : 2;
  const std::size_t directions = options.bidirectional() ? 2 : 1;
  std::vector<torch::Tensor> h;
  std::vector<torch::Tensor> c;
  for (std::int64_t layer = 0; layer < options.num_layers(); ++layer) {
    std::vector<torch::Tensor> outputs;
    for (std::size_t direction = 0; direction < directions; ++direction) {
      const std::size_t number = static_cast<std::size_t>(layer) * directions + direction;
      const torch::Tensor* first = &weights[number * each];
      const Cell cell =
          options.bias() ? Cell{first[0], first[1], first[2], first[3]} : Cell{first[0], first[1], {}, {}};
      Pass result = pass(static_cast<std::int64_t>(number), direction == 0 ? input : input.flip(1), cell);
      outputs.push_back(direction == 0 ? result.outputs : result.outputs.flip(1));
      h.push_back(result.h);
      if (result.c.defined()) c.push_back(result.c);
    }
    input = torch::cat(outputs, 2);
    if (layer + 1 < options.num_layers()) input = torch::dropout(input, options.dropout(), training);
  }
  return {input, torch::stack(h), c.empty() ? torch::Tensor() : torch::stack(c)};
}

template <class Options>
torch::Tensor initial_state(const Options& options, const torch::Tensor& input) {
  const std::int64_t passes = options.num_layers() * (options.bidirectional() ? 2 : 1);
  const std::int64_t batch = input.size(options.batch_first() ? 0 : 1);
  return torch::zeros({passes, batch, options.hidden_size()}, input.options().requires_grad(false));
}

// The tape, if it records and one of the weights is trainable.
Tape* recording(const std::vector<torch::Tensor>& weights) {
  for (const torch::Tensor& weight : weights)
    if (Tape* tape = Tape::recording({weight})) return tape;
  return nullptr;
}

}  // namespace

template <class Derived, class Plain, class Options>
RecurrentImpl<Derived, Plain, Options>::RecurrentImpl(const Options& options_) : options(options_) {
  RecurrentImpl::reset();
}

template <class Derived, class Plain, class Options>
void RecurrentImpl<Derived, Plain, Options>::reset() {
  const Plain initial(options);
  for (const auto& item : initial.named_parameters(false)) this->register_parameter(item.key(), item.value());
  RecurrentImpl::bind();
}

template <class Derived, class Plain, class Options>
void RecurrentImpl<Derived, Plain, Options>::bind() {
  weights = this->parameters_.values();
}

template <class Derived, class Plain, class Options>
void RecurrentImpl<Derived, Plain, Options>::pretty_print(std::ostream& stream) const {
  stream << this->name() << "(" << options.input_size() << ", " << options.hidden_size()
         << ", num_layers=" << options.num_layers() << std::boolalpha << ", bidirectional=" << options.bidirectional()
         << ")";
}

template class RecurrentImpl<LSTMImpl, torch::nn::LSTMImpl, torch::nn::LSTMOptions>;
template class RecurrentImpl<GRUImpl, torch::nn::GRUImpl, torch::nn::GRUOptions>;

std::optional<std::string> LSTMImpl::objection() const {
  if (options.proj_size() == 0) return std::nullopt;
  return "proj_size has no private rule: leave it 0 and add a Linear layer";
}

std::tuple<torch::Tensor, LSTMImpl::State> LSTMImpl::forward(const torch::Tensor& input, c10::optional<State> state) {
  TORCH_CHECK(options.proj_size() == 0, *objection());
  const torch::Tensor h0 = state ? std::get<0>(*state) : initial_state(options, input);
  const torch::Tensor c0 = state ? std::get<1>(*state) : initial_state(options, input);
  Tape* tape = recording(weights);
  if (tape == nullptr) {
    auto [outputs, h, c] =
        torch::lstm(input, {h0, c0}, weights, options.bias(), options.num_layers(), options.dropout(), is_training(),
                    options.bidirectional(), options.batch_first());
    return {outputs, {h, c}};
  }
  const torch::Tensor batched = options.batch_first() ? input : input.transpose(0, 1);
  Pass all = stacked(options, is_training(), weights, batched,
                     [&](std::int64_t number, const torch::Tensor& x, const Cell& cell) {
                       return lstm_pass(*tape, x, h0[number], c0[number], cell);
                     });
  return {options.batch_first() ? all.outputs : all.outputs.transpose(0, 1), {all.h, all.c}};
}

std::tuple<torch::Tensor, torch::Tensor> GRUImpl::forward(const torch::Tensor& input, torch::Tensor state) {
  if (!state.defined()) state = initial_state(options, input);
  Tape* tape = recording(weights);
  if (tape == nullptr)
    return torch::gru(input, state, weights, options.bias(), options.num_layers(), options.dropout(), is_training(),
                      options.bidirectional(), options.batch_first());
  const torch::Tensor batched = options.batch_first() ? input : input.transpose(0, 1);
  Pass all = stacked(options, is_training(), weights, batched,
                     [&](std::int64_t number, const torch::Tensor& x, const Cell& cell) {
                       return gru_pass(*tape, x, state[number], cell);
                     });
  return {options.batch_first() ? all.outputs : all.outputs.transpose(0, 1), all.h};
}

}  // namespace noisefloor::nn
