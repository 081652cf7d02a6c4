#include "noisefloor/torch/build_network.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "noisefloor/base/overloaded.h"
#include "noisefloor/torch/attention.h"
#include "noisefloor/torch/convolution.h"
#include "noisefloor/torch/embedding.h"
#include "noisefloor/torch/linear.h"
#include "noisefloor/torch/lora.h"
#include "noisefloor/torch/normalization.h"
#include "noisefloor/torch/recurrent.h"
#include "noisefloor/torch/residual.h"
#include "noisefloor/torch/tuning.h"

namespace noisefloor {
namespace {

using Kind = Form::Kind;

// The outputs of a recurrent layer, without its state.
template <class Recurrent>
class UnrolledImpl : public torch::nn::Module {
 public:
  UnrolledImpl(Recurrent inner_, bool last) : inner(register_module("inner", std::move(inner_))), last_(last) {}
  torch::Tensor forward(const torch::Tensor& input) {
    const torch::Tensor outputs = std::get<0>(inner->forward(input));
    return last_ ? outputs.select(1, -1) : outputs;
  }
  Recurrent inner;

 private:
  bool last_;
};

class PositionsImpl : public torch::nn::Module {
 public:
  PositionsImpl(std::int64_t time, std::int64_t width) : inner(register_module("inner", nn::Embedding(time, width))) {
    const torch::NoGradGuard guard;
    inner->weight.mul_(0.1);  // beside embeddings, not above them
  }
  torch::Tensor forward(const torch::Tensor& input) {
    return input + inner->forward(torch::arange(input.size(1)).expand({input.size(0), input.size(1)}));
  }
  nn::Embedding inner;
};

// Logits by the rows of an embedding, which owns them.
class TiedImpl : public torch::nn::Module {
 public:
  explicit TiedImpl(nn::Embedding embedding) : embedding_(std::move(embedding)) {}
  torch::Tensor forward(const torch::Tensor& input) { return private_linear(input, embedding_->weight, {}); }

 private:
  nn::Embedding embedding_;
};

std::int64_t number(std::size_t value) { return static_cast<std::int64_t>(value); }

// How many windows fit.
std::int64_t windows(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  return size + 2 * padding < kernel ? 0 : (size + 2 * padding - kernel) / stride + 1;
}

class Builder {
 public:
  Builder(const TorchNetwork& network, Form input) : network_(network), form_(std::move(input)) {}

  Result<torch::nn::Sequential> build(const std::vector<TorchLayer>& layers, const std::string& path) {
    torch::nn::Sequential sequence;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      sequence_ = sequence;
      name_ = fmt::format("{}", i);
      path_ = path + name_;
      NF_TRY_VOID(std::visit([&](const auto& layer) { return add(layer); }, layers[i].kind));
    }
    return sequence;
  }
  [[nodiscard]] const Form& form() const { return form_; }

 private:
  template <class Module>
  Result<void> push(Module module) {
    sequence_->push_back(std::string(name_), torch::nn::AnyModule(std::move(module)));
    return success();
  }
  // A step without parameters before the layer.
  void prepare(std::function<torch::Tensor(const torch::Tensor&)> step) {
    sequence_->push_back(name_ + "_form", torch::nn::AnyModule(torch::nn::Functional(std::move(step))));
  }
  [[nodiscard]] Error misfit(const std::string& why) const {
    return invalid_argument(fmt::format("layer {} of the model does not fit: {}", path_, why));
  }

  // (batch, features), (batch, time, features): what is last.
  [[nodiscard]] Result<std::int64_t> features() const {
    if (form_.kind == Kind::kVector || form_.kind == Kind::kSequence) return form_.sizes.back();
    return misfit("it takes vectors or sequences; put \"flatten\" or \"embedding\" before it");
  }
  Result<void> expect_sequence() {
    switch (form_.kind) {
      case Kind::kSequence:
        return success();
      case Kind::kVector:
        prepare([](const torch::Tensor& x) { return x.unsqueeze(2); });
        form_ = {Kind::kSequence, {form_.sizes[0], 1}, form_.tokens};
        return success();
      case Kind::kLine:
        prepare([](const torch::Tensor& x) { return x.transpose(1, 2); });
        form_ = {Kind::kSequence, {form_.sizes[1], form_.sizes[0]}, form_.tokens};
        return success();
      case Kind::kImage:
        prepare([](const torch::Tensor& x) { return x.transpose(1, 2).flatten(2); });
        form_ = {Kind::kSequence, {form_.sizes[1], form_.sizes[0] * form_.sizes[2]}, form_.tokens};
        return success();
      case Kind::kTokens:
        break;
    }
    return misfit("tokens have no features yet; put \"embedding\" before it");
  }

  Result<void> add(const lanes::Layer& layer) {
    return std::visit([&](const auto& one) { return add(one); }, layer);
  }
  Result<void> add(const lanes::Linear& layer) {
    NF_TRY(const std::int64_t inputs, features());
    form_.sizes.back() = number(layer.outputs);
    return push_linear(inputs, form_.sizes.back(), layer.bias);
  }
  Result<void> push_linear(std::int64_t inputs, std::int64_t outputs, bool bias) {
    nn::Linear linear(torch::nn::LinearOptions(inputs, outputs).bias(bias));
    if (network_.tuning != FineTuning::kLora) return push(linear);
    return push(nn::adapted(linear, number(network_.lora_rank), static_cast<double>(network_.lora_rank)));
  }
  Result<void> add(const lanes::Conv2d& layer) {
    if (form_.kind != Kind::kImage) return misfit("it takes images");
    const std::int64_t channels = form_.sizes[0];
    NF_TRY_VOID(slide({number(layer.kernel_height), number(layer.kernel_width)}, layer.stride, layer.padding));
    form_.sizes[0] = number(layer.outputs);
    return push(nn::Conv2d(
        torch::nn::Conv2dOptions(channels, form_.sizes[0], {number(layer.kernel_height), number(layer.kernel_width)})
            .stride(number(layer.stride))
            .padding(number(layer.padding))
            .bias(layer.bias)));
  }
  Result<void> add(const Conv1dLayer& layer) {
    if (form_.kind == Kind::kVector) {
      prepare([](const torch::Tensor& x) { return x.unsqueeze(1); });
      form_ = {Kind::kLine, {1, form_.sizes[0]}, form_.tokens};
    } else if (form_.kind == Kind::kSequence) {
      prepare([](const torch::Tensor& x) { return x.transpose(1, 2); });
      form_ = {Kind::kLine, {form_.sizes[1], form_.sizes[0]}, form_.tokens};
    }
    if (form_.kind != Kind::kLine) return misfit("it takes channels over a line, vectors or sequences");
    const std::int64_t channels = form_.sizes[0];
    NF_TRY_VOID(slide({number(layer.kernel)}, layer.stride, layer.padding));
    form_.sizes[0] = number(layer.outputs);
    return push(nn::Conv1d(torch::nn::Conv1dOptions(channels, form_.sizes[0], number(layer.kernel))
                               .stride(number(layer.stride))
                               .padding(number(layer.padding))
                               .bias(layer.bias)));
  }
  // Sizes after windows went over all but the channels.
  Result<void> slide(const std::vector<std::int64_t>& kernel, std::size_t stride, std::size_t padding) {
    for (std::size_t i = 0; i < kernel.size(); ++i) {
      std::int64_t& size = form_.sizes[i + 1];
      size = windows(size, kernel[i], number(stride), number(padding));
      if (size == 0) return misfit("its window is larger than what it goes over");
    }
    return success();
  }
  Result<void> add(const lanes::Pool& layer) {
    if (form_.kind != Kind::kImage && form_.kind != Kind::kLine)
      return misfit("it takes images, or channels on a line");
    const bool image = form_.kind == Kind::kImage;
    const std::int64_t kernel = number(layer.kernel);
    const std::int64_t stride = number(layer.stride);
    NF_TRY_VOID(slide(std::vector<std::int64_t>(image ? 2 : 1, kernel), layer.stride, 0));
    const bool most = layer.kind == lanes::Pooling::kMax;
    return push(torch::nn::Functional([=](const torch::Tensor& x) {
      if (image) return most ? torch::max_pool2d(x, kernel, stride) : torch::avg_pool2d(x, kernel, stride);
      return most ? torch::max_pool1d(x, kernel, stride) : torch::avg_pool1d(x, kernel, stride);
    }));
  }
  Result<void> add(const lanes::Activate& layer) {
    switch (layer.function) {
      case lanes::Activation::kRelu:
        return push(torch::nn::ReLU());
      case lanes::Activation::kTanh:
        return push(torch::nn::Tanh());
      case lanes::Activation::kSigmoid:
        break;
    }
    return push(torch::nn::Sigmoid());
  }
  Result<void> add(const GeluLayer& /*layer*/) { return push(torch::nn::GELU()); }
  Result<void> add(const lanes::Dropout& layer) { return push(torch::nn::Dropout(static_cast<double>(layer.rate))); }
  Result<void> add(const lanes::Flatten& /*layer*/) {
    if (form_.kind == Kind::kTokens) return misfit("tokens have no features yet; put \"embedding\" before it");
    form_ = {Kind::kVector,
             {std::accumulate(form_.sizes.begin(), form_.sizes.end(), std::int64_t{1}, std::multiplies<>())},
             form_.tokens};
    return push(torch::nn::Flatten());
  }
  Result<void> add(const lanes::Normalize& layer) {
    if (form_.kind == Kind::kTokens) return misfit("tokens have no features yet; put \"embedding\" before it");
    if (layer.per_feature) {
      const std::vector<std::int64_t> over =
          form_.kind == Kind::kSequence ? std::vector<std::int64_t>{form_.sizes.back()} : form_.sizes;
      return push(nn::LayerNorm(
          torch::nn::LayerNormOptions(over).eps(static_cast<double>(layer.epsilon)).elementwise_affine(layer.affine)));
    }
    const std::int64_t channels = form_.sizes[0];
    if (form_.kind == Kind::kSequence || channels % number(layer.groups) != 0) {
      return misfit("its groups do not share the channels evenly, or there are none; sequences take \"layer_norm\"");
    }
    return push(nn::GroupNorm(torch::nn::GroupNormOptions(number(layer.groups), channels)
                                  .eps(static_cast<double>(layer.epsilon))
                                  .affine(layer.affine)));
  }
  Result<void> add(const RmsNormLayer& /*layer*/) {
    NF_TRY(const std::int64_t width, features());
    return push(nn::RMSNorm(std::vector<std::int64_t>{width}));
  }
  Result<void> add(const InstanceNormLayer& /*layer*/) {
    const auto options = torch::nn::InstanceNormOptions(form_.sizes[0]).affine(true);
    if (form_.kind == Kind::kImage) return push(nn::InstanceNorm2d(options));
    if (form_.kind == Kind::kLine) return push(nn::InstanceNorm1d(options));
    return misfit("it takes images, or channels on a line");
  }
  Result<void> add(const EmbeddingLayer& layer) {
    if (form_.kind != Kind::kTokens) return misfit("only tokens of a text are embedded");
    prepare([](const torch::Tensor& x) { return x.to(torch::kInt64); });
    embedding_ = nn::Embedding(form_.tokens, number(layer.width));
    {
      // Logits by the same rows would begin far from even.
      const torch::NoGradGuard guard;
      embedding_->weight.mul_(1 / std::sqrt(static_cast<double>(layer.width)));
    }
    form_ = {Kind::kSequence, {form_.sizes[0], number(layer.width)}, form_.tokens};
    return push(embedding_);
  }
  Result<void> add(const PositionsLayer& /*layer*/) {
    NF_TRY_VOID(expect_sequence());
    return push(std::make_shared<PositionsImpl>(form_.sizes[0], form_.sizes[1]));
  }
  Result<void> add(const RecurrentLayer& layer) {
    NF_TRY_VOID(expect_sequence());
    const std::int64_t inputs = form_.sizes[1];
    const std::int64_t width = number(layer.width);
    form_.sizes[1] = width;
    if (layer.last) form_ = {Kind::kVector, {width}, form_.tokens};
    if (layer.kind == RecurrentKind::kLstm) {
      return push(std::make_shared<UnrolledImpl<nn::LSTM>>(
          nn::LSTM(torch::nn::LSTMOptions(inputs, width).num_layers(number(layer.layers)).batch_first(true)),
          layer.last));
    }
    return push(std::make_shared<UnrolledImpl<nn::GRU>>(
        nn::GRU(torch::nn::GRUOptions(inputs, width).num_layers(number(layer.layers)).batch_first(true)), layer.last));
  }
  Result<void> add(const AttentionLayer& layer) {
    NF_TRY_VOID(expect_sequence());
    const std::int64_t width = form_.sizes[1];
    if (width % number(layer.heads) != 0) {
      return misfit(fmt::format("{} heads do not share {} features evenly", layer.heads, width));
    }
    return push(nn::MultiheadAttention(nn::MultiheadAttentionOptions(width, number(layer.heads)).causal(layer.causal)));
  }
  Result<void> add(const LogitsLayer& layer) {
    if (form_.kind != Kind::kSequence || form_.tokens == 0) return misfit("it takes sequences that began as tokens");
    const std::int64_t width = form_.sizes[1];
    form_.sizes[1] = form_.tokens;
    if (!layer.tied) return push_linear(width, form_.tokens, true);
    if (embedding_.is_empty() || embedding_->options.embedding_dim() != width) {
      return misfit(fmt::format("its {} features are not those of an embedding before it", width));
    }
    return push(std::make_shared<TiedImpl>(embedding_));
  }
  Result<void> add(const ResidualLayer& layer) {
    const torch::nn::Sequential outer = sequence_;
    const std::string name = name_;
    const std::string path = path_;
    const Form before = form_;
    NF_TRY(torch::nn::Sequential inner, build(layer.layers, path + ".inner."));
    sequence_ = outer;
    name_ = name;
    path_ = path;
    if (form_.kind != before.kind || form_.sizes != before.sizes) {
      return misfit("what its layers make is not of the shape of its input");
    }
    return push(std::make_shared<nn::ResidualImpl>(std::move(inner)));
  }

  const TorchNetwork& network_;
  Form form_;
  torch::nn::Sequential sequence_ = nullptr;
  nn::Embedding embedding_ = nullptr;
  std::string name_;
  std::string path_;
};

// What is left to train.
Result<void> freeze(torch::nn::Module& module, const TorchNetwork& network) {
  if (network.tuning == FineTuning::kBias) NF_TRY_VOID(tune_only(module, TuneBiases{}));
  if (network.tuning == FineTuning::kLora) NF_TRY_VOID(tune_only(module, TuneLora{}));
  if (network.frozen.empty()) return success();
  const auto parameters = module.named_parameters();
  std::vector<std::string> kept;
  std::vector<bool> used(network.frozen.size());
  for (const auto& item : parameters) {
    bool frozen = !item.value().requires_grad();
    for (std::size_t i = 0; i < network.frozen.size(); ++i) {
      const std::string& name = network.frozen[i];
      if (item.key() != name && !item.key().starts_with(name + ".")) continue;
      frozen = true;
      used[i] = true;
    }
    if (!frozen) kept.push_back(item.key());
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) {
      return invalid_argument(
          fmt::format("frozen names {}, which is neither a layer with parameters nor a parameter", network.frozen[i]));
    }
  }
  if (kept.empty()) return invalid_argument("every parameter is frozen: nothing is left to train");
  NF_TRY_VOID(tune_only(module, TuneNames{std::move(kept)}));
  return success();
}

}  // namespace

Result<BuiltNetwork> build_network(const TorchNetwork& network, const Form& input) {
  Builder builder(network, input);
  NF_TRY(torch::nn::Sequential module, builder.build(network.layers, ""));
  if (module->is_empty()) return invalid_argument("the model has no layers");
  NF_TRY_VOID(freeze(*module, network));
  return BuiltNetwork{std::move(module), builder.form()};
}

}  // namespace noisefloor
