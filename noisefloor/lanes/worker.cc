#include "noisefloor/lanes/worker.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "noisefloor/base/check.h"

namespace noisefloor::lanes {
namespace {

constexpr std::size_t kAlignment = 64;
// Rows of a Linear layer that are gathered before they are multiplied.
constexpr std::size_t kRows = 64;

float* zeros(std::size_t floats) {
  const std::size_t bytes = (floats * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, std::max(bytes, kAlignment));
  NF_CHECK(memory != nullptr, "memory for a block of examples");
  std::memset(memory, 0, std::max(bytes, kAlignment));
  return static_cast<float*>(memory);
}

// Calls visit(place in a, place in b, vectors) for all features of a tensor that stands in two layouts, in runs that
// are contiguous in both.
template <class Visit>
void each_run(const Shape& shape, std::size_t copies, Strides a, Strides b, Visit visit) {
  if (a.copy == shape.height * shape.width * a.column && a.copy == b.copy) {
    visit(std::size_t{0}, std::size_t{0}, shape.size() * copies);
    return;
  }
  for (std::size_t plane = 0; plane < shape.channels * copies; ++plane) {
    for (std::size_t row = 0; row < shape.height; ++row) {
      visit(plane * a.copy + row * a.row, plane * b.copy + row * b.row, shape.width);
    }
  }
}

}  // namespace

void Worker::Free::operator()(float* memory) const { std::free(memory); }  // NOLINT: aligned_alloc

Worker::Worker(const Program& program)
    : program_(&program),
      kernels_(&program.kernels()),
      lanes_(program.lanes()),
      memory_(zeros(program.memory())),
      sums_(zeros(program.own_size())),
      lane_(zeros((2 * program.groups() + 1) * program.lanes())),
      rows_(program.operations().size()) {
  std::size_t most_inputs = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Operation& operation = program.operations()[i];
    if (!std::holds_alternative<Linear>(operation.layer)) continue;
    most_inputs = std::max(most_inputs, program.tensors()[operation.in].shape.size());
    rows_[i].inputs.resize(kRows * program.tensors()[operation.in].shape.size());
    rows_[i].gradients.resize(kRows * program.tensors()[operation.out].shape.size());
    rows_[i].sum.resize(operation.weight_count);
  }
  if (program.copies() > 1) over_copies_.reset(zeros(most_inputs * lanes_));
}

void Worker::load(std::span<const float* const> examples) {
  const Tensor& tensor = program_->tensors().front();
  const Strides strides = program_->value_strides(tensor);
  const Shape& shape = tensor.shape;
  float* to = value(0);
  for (std::size_t channel = 0; channel < shape.channels; ++channel) {
    for (std::size_t copy = 0; copy < program_->copies(); ++copy) {
      for (std::size_t row = 0; row < shape.height; ++row) {
        float* place = to + (channel * program_->copies() + copy) * strides.copy + row * strides.row;
        const std::size_t from = copy * shape.size() + (channel * shape.height + row) * shape.width;
        for (std::size_t lane = 0; lane < lanes_; ++lane) {
          const float* example = lane < examples.size() ? examples[lane] + from : nullptr;
          for (std::size_t x = 0; x < shape.width; ++x)
            place[x * lanes_ + lane] = example != nullptr ? example[x] : 0.0F;
        }
      }
    }
  }
}

void Worker::correlate(const Operation::Part& part, const float* in, float* out, std::size_t outputs,
                       std::size_t out_channel, const PackedWeights& weights, const float* bias) const {
  kernels_->correlate({.grid = part.grid,
                       .in = in + part.in_start,
                       .in_strides = part.in_strides,
                       .out = out + part.out_start,
                       .out_strides = part.out_strides,
                       .out_channel = out_channel,
                       .outputs = outputs,
                       .taps = part.taps.data(),
                       .tap_count = part.taps.size(),
                       .weights = weights.at(part.packed),
                       .bias = bias});
}

void Worker::forward(const PackedWeights& weights, std::span<const float> parameters, const RandomWords* random) {
  for (const Operation& operation : program_->operations()) {
    std::visit(
        [&]<class Kind>(const Kind& layer) {
          if constexpr (std::is_same_v<Kind, Linear> || std::is_same_v<Kind, Conv2d>) {
            const Tensor& out = program_->tensors()[operation.out];
            correlate(operation.forward, value(operation.in), value(operation.out), out.shape.channels,
                      program_->value_channel(out), weights,
                      operation.bias_count > 0 ? parameters.data() + operation.bias : nullptr);
          } else if constexpr (std::is_same_v<Kind, Pool>) {
            pool(operation, layer);
          } else if constexpr (std::is_same_v<Kind, Activate>) {
            activate(operation, layer);
          } else if constexpr (std::is_same_v<Kind, Normalize>) {
            normalize(operation, layer, parameters);
          } else if constexpr (std::is_same_v<Kind, Dropout>) {
            mask(operation, layer, random);
          } else {
            flatten(operation, false);
          }
        },
        operation.layer);
  }
}

void Worker::backward(const PackedWeights& weights, std::span<const float> parameters, float* own) {
  const auto& operations = program_->operations();
  for (std::size_t i = operations.size(); i-- > 0;) {
    const Operation& operation = operations[i];
    if (!program_->tensors()[operation.out].needs_gradient) break;
    const Tensor& in = program_->tensors()[operation.in];
    std::visit(
        [&]<class Kind>(const Kind& layer) {
          if constexpr (std::is_same_v<Kind, Linear> || std::is_same_v<Kind, Conv2d>) {
            bias_gradient(operation, own);
            if constexpr (std::is_same_v<Kind, Conv2d>) convolution_gradient(operation, own);
            for (const Operation::Part& part : operation.backward) {
              correlate(part, gradient(operation.out), gradient(operation.in), in.shape.channels,
                        program_->gradient_channel(in), weights, nullptr);
            }
          } else if constexpr (std::is_same_v<Kind, Normalize>) {
            normalize_backward(operation, layer, parameters, own);
          } else if (in.needs_gradient) {
            if constexpr (std::is_same_v<Kind, Pool>) {
              pool_backward(operation, layer);
            } else if constexpr (std::is_same_v<Kind, Activate>) {
              activate_backward(operation, layer);
            } else if constexpr (std::is_same_v<Kind, Dropout>) {
              mask_backward(operation);
            } else {
              flatten(operation, true);
            }
          }
        },
        operation.layer);
  }
}

void Worker::seed_gradient(const Block& block, std::span<float> losses) {
  const std::size_t outputs = program_->outputs();
  const std::size_t copies = program_->copies();
  const std::size_t last = program_->operations().back().out;
  const float share = 1.0F / static_cast<float>(copies);
  float* loss = lane_.get() + 2 * program_->groups() * lanes_;
  std::fill_n(loss, lanes_, 0.0F);
  std::array<std::int32_t, kMostLanes> labels{};
  labels.fill(-1);
  if (program_->loss() != Loss::kSquared) std::copy(block.labels.begin(), block.labels.end(), labels.begin());
  const Tensor& tensor = program_->tensors()[last];
  const float* from = value(last);
  float* to = gradient(last);
  each_run(tensor.shape, copies, program_->value_strides(tensor), program_->gradient_strides(tensor),
           [&](std::size_t a, std::size_t b, std::size_t count) { std::copy_n(from + a, count * lanes_, to + b); });
  for (std::size_t copy = 0; copy < copies; ++copy) {
    float* at = to + copy * lanes_;
    const std::size_t stride = copies * lanes_;
    if (program_->loss() == Loss::kCrossEntropy) {
      kernels_->cross_entropy(at, outputs, stride, labels.data(), share, loss);
      continue;
    }
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t lane = 0; lane < lanes_; ++lane) {
        float& x = at[o * stride + lane];
        if (lane >= block.examples.size()) {
          x = 0.0F;
        } else if (program_->loss() == Loss::kBinary) {
          const bool positive = labels[lane] == 1;
          loss[lane] += std::max(x, 0.0F) - (positive ? x : 0.0F) + std::log1p(std::exp(-std::abs(x)));
          x = share * (1.0F / (1.0F + std::exp(-x)) - (positive ? 1.0F : 0.0F));
        } else {
          const float off = x - block.targets[lane][o];
          loss[lane] += 0.5F * off * off;
          x = share * off;
        }
      }
    }
  }
  for (std::size_t e = 0; e < losses.size(); ++e) losses[e] += share * loss[e];
}

void Worker::expect_block(const Block& block, std::span<float> losses) const {
  const std::size_t examples = block.examples.size();
  NF_CHECK(examples <= lanes_ && (losses.empty() || losses.size() == examples), "at most one block");
  NF_CHECK((program_->loss() == Loss::kSquared ? block.targets.size() : block.labels.size()) == examples,
           "one label or target for each example");
  NF_CHECK(program_->groups() > 0, "a network with parameters");
}

float* Worker::weighed(const PackedWeights& weights, std::span<const float> parameters, const Block& block,
                       const Weigh& weigh, const RandomWords& random, std::span<float> losses) {
  load(block.examples);
  forward(weights, parameters, &random);
  seed_gradient(block, losses);
  float* norms = lane_.get();
  float* factors = norms + program_->groups() * lanes_;
  float* own = memory_.get();
  std::fill_n(own, program_->own_size(), 0.0F);
  backward(weights, parameters, own);
  std::fill_n(norms, program_->groups() * lanes_, 0.0F);
  for (const Operation& operation : program_->operations()) {
    if (!operation.group) continue;
    float* group = norms + *operation.group * lanes_;
    kernels_->add_squares(own + operation.own, operation.own_weights() + operation.bias_count, group);
    if (std::holds_alternative<Linear>(operation.layer)) linear_norms(operation, group);
  }
  const std::size_t size = program_->groups() * lanes_;
  weigh({norms, size}, {factors, size});
  for (std::size_t e = 0; e < size; ++e) {
    if (e % lanes_ >= block.examples.size()) factors[e] = 0.0F;
  }
  return factors;
}

void Worker::add(const PackedWeights& weights, std::span<const float> parameters, const Block& block,
                 const Weigh& weigh, const RandomWords& random, std::span<float> losses) {
  expect_block(block, losses);
  if (!weigh) {
    load(block.examples);
    forward(weights, parameters, &random);
    seed_gradient(block, losses);
    backward(weights, parameters, sums_.get());
    float* factors = lane_.get();
    for (std::size_t e = 0; e < program_->groups() * lanes_; ++e) {
      factors[e] = e % lanes_ < block.examples.size() ? 1.0F : 0.0F;
    }
    for (const Operation& operation : program_->operations()) add_rows(operation, factors);
    return;
  }
  const float* factors = weighed(weights, parameters, block, weigh, random, losses);
  for (const Operation& operation : program_->operations()) {
    if (!operation.group) continue;
    kernels_->add_scaled(memory_.get() + operation.own, factors + *operation.group * lanes_,
                         operation.own_weights() + operation.bias_count, sums_.get() + operation.own);
    add_rows(operation, factors);
  }
}

template <class Visit>
void Worker::each_gradient(float* factors, Visit visit) {
  alignas(kAlignment) std::array<float, kMostLanes> gradients{};
  for (const Operation& operation : program_->operations()) {
    if (!operation.group) continue;
    float* factor = factors + *operation.group * lanes_;
    visit(memory_.get() + operation.own, factor, operation.own_weights() + operation.bias_count,
          operation.bias - operation.own_weights());
    if (!std::holds_alternative<Linear>(operation.layer)) continue;
    const std::size_t inputs = program_->tensors()[operation.in].shape.size();
    const std::size_t outputs = program_->tensors()[operation.out].shape.size();
    for (std::size_t o = 0; o < outputs; ++o) {
      if (program_->copies() > 1) {
        for (std::size_t lane = 0; lane < lanes_; ++lane) gradients[lane] = factor[lane] == 0.0F ? 0.0F : 1.0F;
        visit(sum_over_copies(operation, o, factor), gradients.data(), inputs, operation.weights + o * inputs);
        continue;
      }
      const float* out = gradient(operation.out) + o * lanes_;
      for (std::size_t lane = 0; lane < lanes_; ++lane) {
        gradients[lane] = factor[lane] == 0.0F ? 0.0F : factor[lane] * out[lane];
      }
      visit(value(operation.in), gradients.data(), inputs, operation.weights + o * inputs);
    }
  }
}

const float* Worker::sum_over_copies(const Operation& operation, std::size_t output, const float* factor) {
  const std::size_t inputs = program_->tensors()[operation.in].shape.size();
  const std::size_t copies = program_->copies();
  float* sum = over_copies_.get();
  std::fill_n(sum, inputs * lanes_, 0.0F);
  for (std::size_t copy = 0; copy < copies; ++copy) {
    const float* out = gradient(operation.out) + (output * copies + copy) * lanes_;
    for (std::size_t i = 0; i < inputs; ++i) {
      const float* in = value(operation.in) + (i * copies + copy) * lanes_;
      for (std::size_t lane = 0; lane < lanes_; ++lane) {
        sum[i * lanes_ + lane] += factor[lane] * out[lane] * in[lane];
      }
    }
  }
  return sum;
}

void Worker::add_on_grid(const PackedWeights& weights, std::span<const float> parameters, const Block& block,
                         const Weigh& weigh, const RandomWords& random, const StepGrid& grid,
                         std::span<std::int64_t> sums) {
  expect_block(block, {});
  NF_CHECK(sums.size() == program_->parameters(), "one number for each parameter");
  float* factors = weighed(weights, parameters, block, weigh, random, {});
  const double per_unit = 1 / grid.step;
  std::array<double, kMostLanes> squares{};
  each_gradient(factors, [&](const float* values, const float* factor, std::size_t count, std::size_t) {
    kernels_->add_squared_steps(values, factor, count, per_unit, squares.data());
  });
  for (std::size_t e = 0; e < program_->groups() * lanes_; ++e) {
    if (!(squares[e % lanes_] <= grid.bound * grid.bound)) factors[e] = 0.0F;
  }
  each_gradient(factors, [&](const float* values, const float* factor, std::size_t count, std::size_t first) {
    kernels_->add_steps(values, factor, count, per_unit, sums.data() + first);
  });
}

void Worker::convolution_gradient(const Operation& operation, float* own) {
  const Tensor& out = program_->tensors()[operation.out];
  kernels_->weight_gradient({.grid = operation.forward.grid,
                             .in = value(operation.in) + operation.forward.in_start,
                             .in_strides = operation.forward.in_strides,
                             .gradient = gradient(operation.out),
                             .gradient_strides = program_->gradient_strides(out),
                             .gradient_channel = program_->gradient_channel(out),
                             .outputs = out.shape.channels,
                             .taps = operation.forward.taps.data(),
                             .tap_count = operation.forward.taps.size(),
                             .out = own + operation.own});
}

void Worker::bias_gradient(const Operation& operation, float* own) const {
  if (operation.bias_count == 0) return;
  const Tensor& out = program_->tensors()[operation.out];
  const Strides strides = program_->gradient_strides(out);
  for (std::size_t channel = 0; channel < out.shape.channels; ++channel) {
    float* sum = own + operation.own + (operation.own_weights() + channel) * lanes_;
    const float* from = gradient(operation.out) + channel * program_->gradient_channel(out);
    each_run({1, out.shape.height, out.shape.width}, program_->copies(), strides, strides,
             [&](std::size_t a, std::size_t, std::size_t count) { kernels_->add_sums(from + a, count, sum); });
  }
}

// ‖Σ_c g_c a_cᵀ‖² = Σ_{c,d} (g_c · g_d)(a_c · a_d)
void Worker::linear_norms(const Operation& operation, float* squared_norms) const {
  const std::size_t inputs = program_->tensors()[operation.in].shape.size();
  const std::size_t outputs = program_->tensors()[operation.out].shape.size();
  const std::size_t copies = program_->copies();
  const float* in = value(operation.in);
  const float* out = gradient(operation.out);
  alignas(kAlignment) std::array<float, kMostLanes> of_inputs{};
  alignas(kAlignment) std::array<float, kMostLanes> of_gradients{};
  for (std::size_t c = 0; c < copies; ++c) {
    for (std::size_t d = c; d < copies; ++d) {
      of_inputs.fill(0);
      of_gradients.fill(0);
      if (copies == 1) {
        kernels_->add_squares(in, inputs, of_inputs.data());
        kernels_->add_squares(out, outputs, of_gradients.data());
      } else {
        for (std::size_t i = 0; i < inputs; ++i) {
          kernels_->add_products(in + (i * copies + c) * lanes_, in + (i * copies + d) * lanes_, 1, of_inputs.data());
        }
        for (std::size_t o = 0; o < outputs; ++o) {
          kernels_->add_products(out + (o * copies + c) * lanes_, out + (o * copies + d) * lanes_, 1,
                                 of_gradients.data());
        }
      }
      const float times = c == d ? 1.0F : 2.0F;
      for (std::size_t e = 0; e < lanes_; ++e) squared_norms[e] += times * of_inputs[e] * of_gradients[e];
    }
  }
}

void Worker::put_row(const Operation& operation, Rows& rows, std::size_t copy, std::size_t lane, float factor) const {
  const std::size_t inputs = program_->tensors()[operation.in].shape.size();
  const std::size_t outputs = program_->tensors()[operation.out].shape.size();
  const std::size_t copies = program_->copies();
  const float* in = value(operation.in);
  const float* out = gradient(operation.out);
  float* row = rows.inputs.data() + rows.count * inputs;
  for (std::size_t i = 0; i < inputs; ++i) row[i] = in[(i * copies + copy) * lanes_ + lane];
  row = rows.gradients.data() + rows.count * outputs;
  for (std::size_t o = 0; o < outputs; ++o) row[o] = factor * out[(o * copies + copy) * lanes_ + lane];
  ++rows.count;
}

void Worker::add_rows(const Operation& operation, const float* factors) {
  if (!std::holds_alternative<Linear>(operation.layer)) return;
  Rows& rows = rows_[static_cast<std::size_t>(&operation - program_->operations().data())];
  const float* factor = factors + *operation.group * lanes_;
  for (std::size_t copy = 0; copy < program_->copies(); ++copy) {
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      if (factor[lane] == 0.0F) continue;
      if (rows.count == kRows) flush(operation, rows, rows.sum.data());
      put_row(operation, rows, copy, lane, factor[lane]);
    }
  }
}

void Worker::flush(const Operation& operation, Rows& rows, float* sum) const {
  const std::size_t inputs = program_->tensors()[operation.in].shape.size();
  const std::size_t outputs = program_->tensors()[operation.out].shape.size();
  kernels_->sum_of_products(rows.gradients.data(), outputs, rows.inputs.data(), inputs, rows.count, sum);
  rows.count = 0;
}

void Worker::add_to(const PackedWeights& weights, std::span<const float> parameters, const Block& block,
                    const RandomWords& random, std::span<const Stretch> stretches) {
  expect_block(block, {});
  for (const Stretch& stretch : stretches) {
    NF_CHECK(stretch.first <= stretch.last && stretch.last <= block.examples.size(), "examples of the block");
    NF_CHECK(stretch.sum.size() == program_->parameters(), "one number for each parameter");
  }
  load(block.examples);
  forward(weights, parameters, &random);
  seed_gradient(block, {});
  float* own = memory_.get();
  std::fill_n(own, program_->own_size(), 0.0F);
  backward(weights, parameters, own);
  for (const Operation& operation : program_->operations()) {
    if (!operation.group) continue;
    const std::size_t count = operation.own_weights() + operation.bias_count;
    const std::size_t first = operation.bias - operation.own_weights();
    const float* values = own + operation.own;
    for (std::size_t i = 0; i < count; ++i, values += lanes_) {
      for (const Stretch& stretch : stretches) {
        float sum = 0.0F;
        for (std::size_t lane = stretch.first; lane < stretch.last; ++lane) sum += values[lane];
        stretch.sum[first + i] += sum;
      }
    }
    if (!std::holds_alternative<Linear>(operation.layer)) continue;
    Rows& rows = rows_[static_cast<std::size_t>(&operation - program_->operations().data())];
    if (rows.count > 0) flush(operation, rows, rows.sum.data());  // what add() put there
    for (const Stretch& stretch : stretches) {
      float* sum = stretch.sum.data() + operation.weights;
      for (std::size_t copy = 0; copy < program_->copies(); ++copy) {
        for (std::size_t lane = stretch.first; lane < stretch.last; ++lane) {
          if (rows.count == kRows) flush(operation, rows, sum);
          put_row(operation, rows, copy, lane, 1.0F);
        }
      }
      flush(operation, rows, sum);
    }
  }
}

void Worker::drain(std::span<float> gradient) {
  NF_CHECK(gradient.size() == program_->parameters(), "one number for each parameter");
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Operation& operation = program_->operations()[i];
    if (!operation.group) continue;
    if (std::holds_alternative<Linear>(operation.layer)) {
      flush(operation, rows_[i], rows_[i].sum.data());
      for (std::size_t w = 0; w < operation.weight_count; ++w) gradient[operation.weights + w] += rows_[i].sum[w];
      std::fill(rows_[i].sum.begin(), rows_[i].sum.end(), 0.0F);
    }
    const std::size_t count = operation.own_weights() + operation.bias_count;
    const std::size_t first = operation.bias - operation.own_weights();
    const float* sums = sums_.get() + operation.own;
    for (std::size_t w = 0; w < count; ++w) {
      float sum = 0.0F;
      for (std::size_t lane = 0; lane < lanes_; ++lane) sum += sums[w * lanes_ + lane];
      gradient[first + w] += sum;
    }
  }
  std::fill_n(sums_.get(), program_->own_size(), 0.0F);
}

void Worker::predict(const PackedWeights& weights, std::span<const float> parameters,
                     std::span<const float* const> examples, std::span<float> outputs) {
  const std::size_t each = program_->outputs();
  NF_CHECK(examples.size() <= lanes_ && outputs.size() == examples.size() * each, "at most one block");
  load(examples);
  forward(weights, parameters, nullptr);
  const std::size_t last = program_->operations().empty() ? 0 : program_->operations().back().out;
  const Tensor& tensor = program_->tensors()[last];
  const std::size_t copies = program_->copies();
  const std::size_t channel = program_->value_channel(tensor);
  for (std::size_t e = 0; e < examples.size(); ++e) {
    for (std::size_t o = 0; o < each; ++o) {
      float sum = 0.0F;
      for (std::size_t copy = 0; copy < copies; ++copy) sum += value(last)[o * channel + copy * lanes_ + e];
      outputs[e * each + o] = sum / static_cast<float>(copies);
    }
  }
}

void Worker::activate(const Operation& operation, const Activate& layer) {
  const Tensor& in = program_->tensors()[operation.in];
  const Tensor& out = program_->tensors()[operation.out];
  const auto function = layer.function == Activation::kRelu   ? kernels_->relu
                        : layer.function == Activation::kTanh ? kernels_->tanh
                                                              : kernels_->sigmoid;
  each_run(out.shape, program_->copies(), program_->value_strides(in), program_->value_strides(out),
           [&](std::size_t a, std::size_t b, std::size_t count) {
             float* to = value(operation.out) + b;
             if (operation.in != operation.out) std::copy_n(value(operation.in) + a, count * lanes_, to);
             function(to, count);
           });
}

void Worker::activate_backward(const Operation& operation, const Activate& layer) {
  const Tensor& out = program_->tensors()[operation.out];
  const auto function = layer.function == Activation::kRelu   ? kernels_->relu_backward
                        : layer.function == Activation::kTanh ? kernels_->tanh_backward
                                                              : kernels_->sigmoid_backward;
  each_run(out.shape, program_->copies(), program_->gradient_strides(out), program_->value_strides(out),
           [&](std::size_t a, std::size_t b, std::size_t count) {
             function(gradient(operation.out) + a, value(operation.out) + b, count);
           });
}

void Worker::pool(const Operation& operation, const Pool& layer) {
  const Tensor& in = program_->tensors()[operation.in];
  const Tensor& out = program_->tensors()[operation.out];
  const Plane plane{{program_->copies(), out.shape.height, out.shape.width}, program_->value_strides(out)};
  const auto function = layer.kind == Pooling::kMax ? kernels_->max_pool : kernels_->average_pool;
  for (std::size_t channel = 0; channel < out.shape.channels; ++channel) {
    function(value(operation.in) + channel * program_->value_channel(in), program_->value_strides(in),
             value(operation.out) + channel * program_->value_channel(out), plane, layer.kernel, layer.stride);
  }
}

void Worker::pool_backward(const Operation& operation, const Pool& layer) {
  const Tensor& in = program_->tensors()[operation.in];
  const Tensor& out = program_->tensors()[operation.out];
  const Strides in_strides = program_->gradient_strides(in);
  const Grid grid{program_->copies(), out.shape.height, out.shape.width};
  float* to = gradient(operation.in);
  each_run(in.shape, program_->copies(), in_strides, in_strides,
           [&](std::size_t a, std::size_t, std::size_t count) { std::fill_n(to + a, count * lanes_, 0.0F); });
  for (std::size_t channel = 0; channel < out.shape.channels; ++channel) {
    float* in_gradient = to + channel * program_->gradient_channel(in);
    const float* out_gradient = gradient(operation.out) + channel * program_->gradient_channel(out);
    if (layer.kind == Pooling::kMax) {
      kernels_->max_pool_backward(value(operation.in) + channel * program_->value_channel(in),
                                  program_->value_strides(in), in_gradient, in_strides,
                                  value(operation.out) + channel * program_->value_channel(out),
                                  {grid, program_->value_strides(out)}, out_gradient, program_->gradient_strides(out),
                                  layer.kernel, layer.stride);
    } else {
      kernels_->average_pool_backward(in_gradient, in_strides, out_gradient, {grid, program_->gradient_strides(out)},
                                      layer.kernel, layer.stride);
    }
  }
}

void Worker::mask(const Operation& operation, const Dropout& layer, const RandomWords* random) {
  const Tensor& in = program_->tensors()[operation.in];
  const Tensor& out = program_->tensors()[operation.out];
  float* kept = memory_.get() + operation.kept;
  const std::size_t count = out.shape.size() * program_->copies() * lanes_;
  if (random != nullptr) {
    NF_CHECK(*random, "a source of bits for dropout");
    words_.resize(count);
    (*random)(words_);
    const auto dropped = static_cast<std::uint32_t>(static_cast<double>(layer.rate) * 4294967296.0);
    const float scale = 1.0F / (1.0F - layer.rate);
    for (std::size_t i = 0; i < count; ++i) kept[i] = words_[i] < dropped ? 0.0F : scale;
  }
  std::size_t done = 0;
  each_run(out.shape, program_->copies(), program_->value_strides(in), program_->value_strides(out),
           [&](std::size_t a, std::size_t b, std::size_t vectors) {
             float* to = value(operation.out) + b;
             std::copy_n(value(operation.in) + a, vectors * lanes_, to);
             if (random != nullptr) kernels_->multiply(to, kept + done * lanes_, vectors);
             done += vectors;
           });
}

void Worker::mask_backward(const Operation& operation) {
  const Tensor& in = program_->tensors()[operation.in];
  const Tensor& out = program_->tensors()[operation.out];
  const float* kept = memory_.get() + operation.kept;
  std::size_t done = 0;
  each_run(out.shape, program_->copies(), program_->gradient_strides(out), program_->gradient_strides(in),
           [&](std::size_t a, std::size_t b, std::size_t vectors) {
             float* to = gradient(operation.in) + b;
             std::copy_n(gradient(operation.out) + a, vectors * lanes_, to);
             kernels_->multiply(to, kept + done * lanes_, vectors);
             done += vectors;
           });
}

// [channel][copy][row][column] to [channel, row, column][copy] and back.
void Worker::flatten(const Operation& operation, bool back) {
  const Tensor& in = program_->tensors()[operation.in];
  const Tensor& out = program_->tensors()[operation.out];
  const std::size_t copies = program_->copies();
  const Strides strides = back ? program_->gradient_strides(in) : program_->value_strides(in);
  const Strides flat = back ? program_->gradient_strides(out) : program_->value_strides(out);
  float* structured = back ? gradient(operation.in) : value(operation.in);
  float* plain = back ? gradient(operation.out) : value(operation.out);
  std::size_t feature = 0;
  for (std::size_t channel = 0; channel < in.shape.channels; ++channel) {
    for (std::size_t row = 0; row < in.shape.height; ++row) {
      for (std::size_t column = 0; column < in.shape.width; ++column, ++feature) {
        for (std::size_t copy = 0; copy < copies; ++copy) {
          float* a =
              structured + (channel * copies + copy) * strides.copy + row * strides.row + column * strides.column;
          float* b = plain + (feature * copies + copy) * flat.copy;
          std::copy_n(back ? b : a, lanes_, back ? a : b);
        }
      }
    }
  }
}

void Worker::normalize(const Operation& operation, const Normalize& layer, std::span<const float> parameters) {
  const Tensor& in = program_->tensors()[operation.in];
  const Tensor& out = program_->tensors()[operation.out];
  const Strides from = program_->value_strides(in);
  const Strides to = program_->value_strides(out);
  const std::size_t size = out.shape.size();
  const std::size_t copies = program_->copies();
  const std::size_t area = out.shape.height * out.shape.width;
  const std::size_t group = size / layer.groups;
  float* scales = memory_.get() + operation.scratch;
  for (std::size_t copy = 0; copy < copies; ++copy) {
    float* kept = memory_.get() + operation.kept + copy * size * lanes_;
    for (std::size_t channel = 0; channel < out.shape.channels; ++channel) {
      for (std::size_t row = 0; row < out.shape.height; ++row) {
        std::copy_n(value(operation.in) + (channel * copies + copy) * from.copy + row * from.row,
                    out.shape.width * lanes_, kept + (channel * area + row * out.shape.width) * lanes_);
      }
    }
    for (std::size_t g = 0; g < layer.groups; ++g) {
      kernels_->standardize(kept + g * group * lanes_, group, layer.epsilon,
                            scales + (copy * layer.groups + g) * lanes_);
    }
    for (std::size_t channel = 0; channel < out.shape.channels; ++channel) {
      for (std::size_t row = 0; row < out.shape.height; ++row) {
        const std::size_t first = channel * area + row * out.shape.width;
        float* place = value(operation.out) + (channel * copies + copy) * to.copy + row * to.row;
        const float* scale = parameters.data() + operation.weights;
        const float* shift = parameters.data() + operation.bias;
        if (!layer.affine) {
          std::copy_n(kept + first * lanes_, out.shape.width * lanes_, place);
        } else if (!layer.per_feature) {
          kernels_->affine(kept + first * lanes_, out.shape.width, scale[channel], shift[channel], place);
        } else {
          for (std::size_t x = 0; x < out.shape.width; ++x) {
            kernels_->affine(kept + (first + x) * lanes_, 1, scale[first + x], shift[first + x], place + x * lanes_);
          }
        }
      }
    }
  }
}

void Worker::normalize_backward(const Operation& operation, const Normalize& layer, std::span<const float> parameters,
                                float* own) {
  const Tensor& in = program_->tensors()[operation.in];
  const Tensor& out = program_->tensors()[operation.out];
  const Strides from = program_->gradient_strides(out);
  const Strides to = program_->gradient_strides(in);
  const std::size_t size = out.shape.size();
  const std::size_t copies = program_->copies();
  const std::size_t width = out.shape.width;
  const std::size_t area = out.shape.height * width;
  const std::size_t group = size / layer.groups;
  const float* scales = memory_.get() + operation.scratch;
  float* room = memory_.get() + operation.scratch + layer.groups * copies * lanes_;
  for (std::size_t copy = 0; copy < copies; ++copy) {
    const float* kept = memory_.get() + operation.kept + copy * size * lanes_;
    for (std::size_t channel = 0; channel < out.shape.channels; ++channel) {
      for (std::size_t row = 0; row < out.shape.height; ++row) {
        const std::size_t first = channel * area + row * width;
        const float* slope = gradient(operation.out) + (channel * copies + copy) * from.copy + row * from.row;
        if (!layer.affine) {
          std::copy_n(slope, width * lanes_, room + first * lanes_);
          continue;
        }
        // One parameter for each feature, or for each channel.
        const std::size_t run = layer.per_feature ? 1 : width;
        for (std::size_t x = 0; x < width; x += run) {
          const std::size_t parameter = layer.per_feature ? first + x : channel;
          const float* x_slope = slope + x * lanes_;
          kernels_->add_products(x_slope, kept + (first + x) * lanes_, run, own + operation.own + parameter * lanes_);
          kernels_->add_sums(x_slope, run, own + operation.own + (operation.weight_count + parameter) * lanes_);
          kernels_->affine(x_slope, run, parameters[operation.weights + parameter], 0.0F, room + (first + x) * lanes_);
        }
      }
    }
    if (!in.needs_gradient) continue;
    for (std::size_t g = 0; g < layer.groups; ++g) {
      kernels_->standardize_backward(room + g * group * lanes_, kept + g * group * lanes_, group,
                                     scales + (copy * layer.groups + g) * lanes_);
    }
    for (std::size_t channel = 0; channel < out.shape.channels; ++channel) {
      for (std::size_t row = 0; row < out.shape.height; ++row) {
        std::copy_n(room + (channel * area + row * width) * lanes_, width * lanes_,
                    gradient(operation.in) + (channel * copies + copy) * to.copy + row * to.row);
      }
    }
  }
}

}  // namespace noisefloor::lanes
