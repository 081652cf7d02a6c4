#include "noisefloor/audit/small_network.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "noisefloor/base/check.h"

namespace noisefloor::audit {
namespace {

constexpr std::size_t kMostParameters = 10'000'000;
// The step of the central difference, as the length of the change of the weights.
constexpr double kStep = 1e-4;

double uniform(BitStream& stream) { return static_cast<double>(stream.next_u64() >> 11) * 0x1p-53; }

// The kernel's rows (or columns) that meet the picture where it stands.
struct Overlap {
  std::size_t first;
  std::size_t last;
};
Overlap overlap(std::size_t at, std::size_t kernel, std::size_t size) {
  const std::size_t pad = kernel / 2;
  return {at < pad ? pad - at : 0, std::min(kernel, size + pad - at)};
}

}  // namespace

Result<SmallNetwork> SmallNetwork::create(const Picture& input, std::vector<SmallLayer> layers) {
  if (input.size() == 0 || layers.empty() || !std::holds_alternative<Dense>(layers.back())) {
    return invalid_argument("a small network reads a picture, and its last layer is dense");
  }
  std::vector<Stage> stages;
  Picture now = input;
  std::size_t parameters = 0;
  for (const SmallLayer& layer : layers) {
    Stage stage{layer, now, now, now.size(), 0, parameters, 0};
    std::size_t weights = 0;
    if (const auto* dense = std::get_if<Dense>(&layer)) {
      stage.out = {dense->outputs, 1, 1};
      weights = dense->outputs * now.size();
    } else if (const auto* conv = std::get_if<Convolution>(&layer)) {
      if (conv->kernel % 2 == 0 || conv->stride == 0) {
        return invalid_argument("a convolution has an odd kernel, and a stride of 1 or more");
      }
      stage.out = {conv->channels, (now.height + conv->stride - 1) / conv->stride,
                   (now.width + conv->stride - 1) / conv->stride};
      weights = conv->channels * now.channels * conv->kernel * conv->kernel;
    }
    stage.outputs = stage.out.size();
    stage.biases = parameters + weights;
    parameters += weights + (weights > 0 ? stage.out.channels : 0);
    if (stage.outputs == 0 || parameters > kMostParameters) {
      return invalid_argument("a small network has outputs in every layer, and at most ten million parameters");
    }
    now = stage.out;
    stages.push_back(stage);
  }
  return SmallNetwork(std::move(stages), parameters);
}

SmallNetwork::Place SmallNetwork::first_weights() const {
  const Stage& stage = stages_.front();
  NF_CHECK(std::holds_alternative<Dense>(stage.layer), "the first layer must be dense");
  return {stage.weights, stage.inputs * stage.outputs};
}

SmallNetwork::Place SmallNetwork::first_biases() const { return {stages_.front().biases, stages_.front().outputs}; }

SmallNetwork::Place SmallNetwork::last_biases() const { return {stages_.back().biases, stages_.back().outputs}; }

std::vector<double> SmallNetwork::initial_weights(BitStream& stream) const {
  std::vector<double> weights(parameters_);
  for (const Stage& stage : stages_) {
    if (std::holds_alternative<Bend>(stage.layer)) continue;
    const auto* conv = std::get_if<Convolution>(&stage.layer);
    const std::size_t reads = conv != nullptr ? stage.in.channels * conv->kernel * conv->kernel : stage.inputs;
    const double bound = 1 / std::sqrt(static_cast<double>(reads));
    for (std::size_t i = stage.weights; i < stage.biases + stage.out.channels; ++i) {
      weights[i] = bound * (2 * uniform(stream) - 1);
    }
  }
  return weights;
}

void SmallNetwork::forward(const Stage& stage, std::span<const double> weights, const double* in, double* out) {
  if (std::holds_alternative<Dense>(stage.layer)) {
    for (std::size_t o = 0; o < stage.outputs; ++o) {
      const double* row = weights.data() + stage.weights + o * stage.inputs;
      double sum = weights[stage.biases + o];
      for (std::size_t i = 0; i < stage.inputs; ++i) sum += row[i] * in[i];
      out[o] = sum;
    }
    return;
  }
  if (const auto* bend = std::get_if<Bend>(&stage.layer)) {
    for (std::size_t i = 0; i < stage.inputs; ++i) {
      out[i] = *bend == Bend::kRelu ? std::max(0.0, in[i]) : 1 / (1 + std::exp(-in[i]));
    }
    return;
  }
  const auto& conv = std::get<Convolution>(stage.layer);
  const std::size_t k = conv.kernel;
  for (std::size_t c = 0; c < stage.out.channels; ++c) {
    for (std::size_t y = 0; y < stage.out.height; ++y) {
      const Overlap rows = overlap(y * conv.stride, k, stage.in.height);
      for (std::size_t x = 0; x < stage.out.width; ++x) {
        const Overlap columns = overlap(x * conv.stride, k, stage.in.width);
        double sum = weights[stage.biases + c];
        for (std::size_t d = 0; d < stage.in.channels; ++d) {
          const double* kernel = weights.data() + stage.weights + (c * stage.in.channels + d) * k * k;
          for (std::size_t i = rows.first; i < rows.last; ++i) {
            const std::size_t line =
                (d * stage.in.height + y * conv.stride + i - k / 2) * stage.in.width + x * conv.stride - k / 2;
            for (std::size_t j = columns.first; j < columns.last; ++j) sum += kernel[i * k + j] * in[line + j];
          }
        }
        out[(c * stage.out.height + y) * stage.out.width + x] = sum;
      }
    }
  }
}

void SmallNetwork::backward(const Stage& stage, std::span<const double> weights, const double* in, const double* out,
                            const double* by_out, double* by_in, std::span<double> by_weights) {
  std::fill(by_in, by_in + stage.inputs, 0.0);
  if (std::holds_alternative<Dense>(stage.layer)) {
    for (std::size_t o = 0; o < stage.outputs; ++o) {
      const double* row = weights.data() + stage.weights + o * stage.inputs;
      for (std::size_t i = 0; i < stage.inputs; ++i) by_in[i] += by_out[o] * row[i];
      if (by_weights.empty()) continue;
      double* to = by_weights.data() + stage.weights + o * stage.inputs;
      for (std::size_t i = 0; i < stage.inputs; ++i) to[i] += by_out[o] * in[i];
      by_weights[stage.biases + o] += by_out[o];
    }
    return;
  }
  if (const auto* bend = std::get_if<Bend>(&stage.layer)) {
    for (std::size_t i = 0; i < stage.inputs; ++i) {
      by_in[i] = *bend == Bend::kRelu ? (in[i] > 0 ? by_out[i] : 0) : by_out[i] * out[i] * (1 - out[i]);
    }
    return;
  }
  const auto& conv = std::get<Convolution>(stage.layer);
  const std::size_t k = conv.kernel;
  for (std::size_t c = 0; c < stage.out.channels; ++c) {
    for (std::size_t y = 0; y < stage.out.height; ++y) {
      const Overlap rows = overlap(y * conv.stride, k, stage.in.height);
      for (std::size_t x = 0; x < stage.out.width; ++x) {
        const double slope = by_out[(c * stage.out.height + y) * stage.out.width + x];
        if (slope == 0) continue;
        const Overlap columns = overlap(x * conv.stride, k, stage.in.width);
        if (!by_weights.empty()) by_weights[stage.biases + c] += slope;
        for (std::size_t d = 0; d < stage.in.channels; ++d) {
          const std::size_t at = stage.weights + (c * stage.in.channels + d) * k * k;
          for (std::size_t i = rows.first; i < rows.last; ++i) {
            const std::size_t line =
                (d * stage.in.height + y * conv.stride + i - k / 2) * stage.in.width + x * conv.stride - k / 2;
            for (std::size_t j = columns.first; j < columns.last; ++j) {
              by_in[line + j] += slope * weights[at + i * k + j];
            }
            if (by_weights.empty()) continue;
            for (std::size_t j = columns.first; j < columns.last; ++j) {
              by_weights[at + i * k + j] += slope * in[line + j];
            }
          }
        }
      }
    }
  }
}

double SmallNetwork::gradients(std::span<const double> weights, std::span<const double> input, std::size_t label,
                               std::span<double> by_weights, std::span<double> by_input) const {
  std::vector<std::vector<double>> values{std::vector<double>(input.begin(), input.end())};
  for (const Stage& stage : stages_) {
    std::vector<double> out(stage.outputs);
    forward(stage, weights, values.back().data(), out.data());
    values.push_back(std::move(out));
  }
  const std::vector<double>& logits = values.back();
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - most);
  std::vector<double> slope(logits.size());
  for (std::size_t i = 0; i < slope.size(); ++i) slope[i] = std::exp(logits[i] - most) / sum - (i == label ? 1 : 0);
  for (std::size_t s = stages_.size(); s-- > 0;) {
    std::vector<double> before(stages_[s].inputs);
    backward(stages_[s], weights, values[s].data(), values[s + 1].data(), slope.data(), before.data(), by_weights);
    slope = std::move(before);
  }
  for (std::size_t i = 0; i < by_input.size(); ++i) by_input[i] += slope[i];
  return std::log(sum) + most - logits[label];
}

// d/dx ⟨∇θ L, v⟩ is the derivative of ∇x L along v.
std::vector<double> SmallNetwork::match_gradient(std::span<const double> weights, std::span<const double> input,
                                                 std::size_t label, std::span<const double> direction) const {
  double squared = 0;
  for (const double x : direction) squared += x * x;
  std::vector<double> result(input.size());
  if (!(squared > 0)) return result;
  const double step = kStep / std::sqrt(squared);
  std::vector<double> moved(weights.begin(), weights.end());
  std::vector<double> ahead(input.size());
  std::vector<double> behind(input.size());
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = weights[i] + step * direction[i];
  (void)gradients(moved, input, label, {}, ahead);
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = weights[i] - step * direction[i];
  (void)gradients(moved, input, label, {}, behind);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = (ahead[i] - behind[i]) / (2 * step);
  return result;
}

}  // namespace noisefloor::audit
