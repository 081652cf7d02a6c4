#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "noisefloor/config/training_sections.h"

namespace noisefloor::internal {
namespace {

using lanes::Activate;
using lanes::Activation;
using lanes::Conv2d;
using lanes::Dropout;
using lanes::Flatten;
using lanes::Layer;
using lanes::Linear;
using lanes::Normalize;
using lanes::Pool;
using lanes::Pooling;

// These limits are beyond what any network of this size can use, and so small that sizes multiply without overflow.
constexpr std::size_t kMaxOutputs = std::size_t{1} << 20;
constexpr std::size_t kMaxWindow = 512;

constexpr Names<ModelKind, 12> kModels{{{"logistic", ModelKind::kLogistic},
                                        {"ridge", ModelKind::kRidge},
                                        {"mlp", ModelKind::kMlp},
                                        {"streamrec", ModelKind::kStreamrec},
                                        {"lenet5", ModelKind::kLenet5},
                                        {"dp-cnn", ModelKind::kDpCnn},
                                        {"scattering-linear", ModelKind::kScatteringLinear},
                                        {"scattering-cnn", ModelKind::kScatteringCnn},
                                        {"alexnet", ModelKind::kAlexnet},
                                        {"lstm", ModelKind::kLstm},
                                        {"transformer", ModelKind::kTransformer},
                                        {"layers", ModelKind::kLayers}}};

enum class LayerType : std::uint8_t {
  kConv2d,
  kLinear,
  kMaxPool,
  kAveragePool,
  kRelu,
  kTanh,
  kSigmoid,
  kGroupNorm,
  kLayerNorm,
  kDropout,
  kFlatten,
  kBatchNorm,  // known, and refused
  // Only torch has these:
  kConv1d,
  kEmbedding,
  kPositions,
  kLstm,
  kGru,
  kAttention,
  kRmsNorm,
  kInstanceNorm,
  kGelu,
  kLogits,
  kResidual
};
constexpr Names<LayerType, 23> kLayerTypes{{{"conv2d", LayerType::kConv2d},
                                            {"linear", LayerType::kLinear},
                                            {"max_pool", LayerType::kMaxPool},
                                            {"average_pool", LayerType::kAveragePool},
                                            {"relu", LayerType::kRelu},
                                            {"tanh", LayerType::kTanh},
                                            {"sigmoid", LayerType::kSigmoid},
                                            {"group_norm", LayerType::kGroupNorm},
                                            {"layer_norm", LayerType::kLayerNorm},
                                            {"dropout", LayerType::kDropout},
                                            {"flatten", LayerType::kFlatten},
                                            {"batch_norm", LayerType::kBatchNorm},
                                            {"conv1d", LayerType::kConv1d},
                                            {"embedding", LayerType::kEmbedding},
                                            {"positions", LayerType::kPositions},
                                            {"lstm", LayerType::kLstm},
                                            {"gru", LayerType::kGru},
                                            {"attention", LayerType::kAttention},
                                            {"rms_norm", LayerType::kRmsNorm},
                                            {"instance_norm", LayerType::kInstanceNorm},
                                            {"gelu", LayerType::kGelu},
                                            {"logits", LayerType::kLogits},
                                            {"residual", LayerType::kResidual}}};

// Normalizes the 81 channels of scattering in groups of three neighbours, without learned scales.
constexpr Normalize kScatteringNormalize{.groups = 27, .affine = false};
constexpr Normalize kLayerNormalize{.groups = 1, .per_feature = true};

// --- Presets ---------------------------------------------------------------------------------------------------------

Layer linear(std::size_t outputs) { return Linear{.outputs = outputs}; }
Layer conv(std::size_t outputs, std::size_t kernel, std::size_t stride, std::size_t padding) {
  return Conv2d{
      .outputs = outputs, .kernel_height = kernel, .kernel_width = kernel, .stride = stride, .padding = padding};
}
Layer max_pool(std::size_t kernel, std::size_t stride) { return Pool{Pooling::kMax, kernel, stride}; }

constexpr Layer kRelu = Activate{Activation::kRelu};
constexpr Layer kTanh = Activate{Activation::kTanh};

// `hidden` is for mlp. Images are flattened before a model that takes plain vectors.
std::vector<Layer> preset(ModelKind kind, std::size_t outputs, bool images, const std::vector<std::size_t>& hidden) {
  std::vector<Layer> layers;
  const auto add = [&](std::initializer_list<Layer> more) { layers.insert(layers.end(), more); };
  switch (kind) {
    case ModelKind::kLenet5:
      return {conv(6, 5, 1, 2), kRelu,       max_pool(2, 2), conv(16, 5, 1, 0), kRelu, max_pool(2, 2),
              Flatten{},        linear(120), kRelu,          linear(84),        kRelu, linear(outputs)};
    case ModelKind::kDpCnn:
      return {conv(16, 8, 2, 2), kTanh,      max_pool(2, 1), conv(32, 4, 2, 0), kTanh, max_pool(2, 1),
              Flatten{},         linear(32), kTanh,          linear(outputs)};
    case ModelKind::kScatteringLinear:
      return {kScatteringNormalize, Flatten{}, linear(outputs)};
    case ModelKind::kScatteringCnn:
      return {kScatteringNormalize,
              conv(32, 3, 1, 1),
              kTanh,
              Pool{Pooling::kAverage, 2, 2},
              conv(32, 3, 1, 0),
              kTanh,
              Flatten{},
              linear(outputs)};
    case ModelKind::kStreamrec:
      if (images) add({Flatten{}});
      for (const std::size_t width : {128U, 64U, 32U}) add({linear(width), kLayerNormalize, kRelu, Dropout{0.1F}});
      add({linear(outputs == 2 ? 1 : outputs)});  // one number says whether something is clicked
      return layers;
    case ModelKind::kLogistic:
    case ModelKind::kRidge:
    case ModelKind::kMlp:
      if (images) add({Flatten{}});
      for (const std::size_t width : hidden) add({linear(width), kRelu});
      add({linear(outputs)});
      return layers;
    case ModelKind::kAlexnet:
    case ModelKind::kLstm:
    case ModelKind::kTransformer:
    case ModelKind::kLayers:
      break;
  }
  return layers;
}

// --- [[model.layer]] -------------------------------------------------------------------------------------------------

struct LayerKeys {
  Located<LayerType> type;
  Located<std::size_t> outputs;
  Located<std::vector<std::size_t>> kernel;  // one, or height and width
  Located<std::size_t> stride;
  Located<std::size_t> padding;
  Located<bool> bias;
  Located<std::size_t> groups;
  Located<double> rate;
  Located<std::size_t> width;
  Located<std::size_t> depth;
  Located<bool> last;
  Located<std::size_t> heads;
  Located<bool> causal;
  Located<bool> tied;
  std::vector<TorchLayer> inner;
};

void read_kernel(SectionReader& reader, bool pair, Located<std::vector<std::size_t>>& kernel) {
  if (pair && reader.holds_list("kernel")) {
    reader.sizes("kernel", 1, kMaxWindow, kernel);
    if (kernel.has() && kernel.value->size() != 2) {
      reader.error("out_of_range", kernel.place,
                   fmt::format("kernel lists {} numbers, and 2 are needed", kernel.value->size()),
                   "write kernel = [5, 3] for height and width, or one number for both");
    }
    return;
  }
  Located<std::size_t> side;
  reader.size("kernel", 1, kMaxWindow, side);
  kernel.place = side.place;
  if (side.has()) kernel.value = {*side, *side};
}

// Reads the keys that the layer needs, and refuses keys of other layers.
void read_keys(SectionReader& reader, LayerKeys& keys) {
  using T = LayerType;
  reader.choice("type", kLayerTypes, keys.type);
  reader.require("type", keys.type, R"(add type = "linear", or another)");
  if (keys.type.has() && *keys.type == T::kBatchNorm) {
    reader.error(
        "mixes_examples", keys.type.place,
        "batch normalization mixes the examples of a batch: nothing bounds the effect of one",
        R"(type = "group_norm" with groups = 4, or another number that divides the channels; or "layer_norm")");
  }
  const auto type = selector("type", kLayerTypes, keys.type);
  const auto is = [&](std::initializer_list<T> types) {
    return keys.type.has() && std::find(types.begin(), types.end(), *keys.type) != types.end();
  };
  if (reader.takes("outputs", type, {T::kConv2d, T::kConv1d, T::kLinear}))
    reader.size("outputs", 1, kMaxOutputs, keys.outputs);
  if (reader.takes("kernel", type, {T::kConv2d, T::kConv1d, T::kMaxPool, T::kAveragePool})) {
    read_kernel(reader, !is({T::kConv1d, T::kMaxPool, T::kAveragePool}), keys.kernel);
  }
  if (reader.takes("stride", type, {T::kConv2d, T::kConv1d, T::kMaxPool, T::kAveragePool})) {
    reader.size("stride", 1, kMaxWindow, keys.stride);
  }
  if (reader.takes("padding", type, {T::kConv2d, T::kConv1d})) reader.size("padding", 0, kMaxWindow, keys.padding);
  if (reader.takes("bias", type, {T::kConv2d, T::kConv1d, T::kLinear})) reader.flag("bias", keys.bias);
  if (reader.takes("groups", type, {T::kGroupNorm})) reader.size("groups", 1, kMaxOutputs, keys.groups);
  if (reader.takes("rate", type, {T::kDropout})) reader.number("rate", keys.rate, kBelowOne);
  if (reader.takes("width", type, {T::kEmbedding, T::kLstm, T::kGru})) reader.size("width", 1, kMaxOutputs, keys.width);
  if (reader.takes("layers", type, {T::kLstm, T::kGru})) reader.size("layers", 1, kMaxWindow, keys.depth);
  if (reader.takes("last", type, {T::kLstm, T::kGru})) reader.flag("last", keys.last);
  if (reader.takes("heads", type, {T::kAttention})) reader.size("heads", 1, kMaxWindow, keys.heads);
  if (reader.takes("causal", type, {T::kAttention})) reader.flag("causal", keys.causal);
  if (reader.takes("tied", type, {T::kLogits})) reader.flag("tied", keys.tied);
  if (is({T::kEmbedding, T::kLstm, T::kGru})) {
    reader.require("width", keys.width, "add width = …, the number of features that it makes");
  }
  if (is({T::kAttention})) reader.require("heads", keys.heads, "add heads = …, which divides the number of features");
  if (is({T::kConv2d, T::kConv1d, T::kLinear})) {
    reader.require("outputs", keys.outputs, "add outputs = …, the number of channels that it makes");
  }
  if (is({T::kConv2d, T::kConv1d, T::kMaxPool, T::kAveragePool})) {
    reader.require("kernel", keys.kernel, "add kernel = …, the side of its window");
  }
  if (is({T::kGroupNorm}))
    reader.require("groups", keys.groups, "add groups = …, which divides the number of channels");
  if (is({T::kDropout})) reader.require("rate", keys.rate, "add rate = 0.1, the share of features that is dropped");
}

TorchLayer layer_of(const LayerKeys& keys) {
  const std::size_t outputs = keys.outputs.value.value_or(1);
  const std::size_t width = keys.width.value.value_or(1);
  const bool bias = keys.bias.value.value_or(true);
  const std::vector<std::size_t> kernel = keys.kernel.value.value_or(std::vector<std::size_t>{1, 1});
  const std::size_t stride = keys.stride.value.value_or(1);
  const std::size_t padding = keys.padding.value.value_or(0);
  const auto plain = [](const Layer& layer) { return TorchLayer{layer}; };
  // The windows of a pool are side by side unless stated otherwise.
  const auto pool = [&](Pooling kind) {
    return TorchLayer{Layer{Pool{kind, kernel.front(), keys.stride.value.value_or(kernel.front())}}};
  };
  const auto recurrent = [&](RecurrentKind kind) {
    return TorchLayer{RecurrentLayer{kind, width, keys.depth.value.value_or(1), keys.last.value.value_or(false)}};
  };
  switch (keys.type.value.value_or(LayerType::kFlatten)) {
    case LayerType::kConv2d:
      return plain(Conv2d{outputs, kernel.front(), kernel.back(), stride, padding, bias});
    case LayerType::kLinear:
      return plain(Linear{outputs, bias});
    case LayerType::kMaxPool:
      return pool(Pooling::kMax);
    case LayerType::kAveragePool:
      return pool(Pooling::kAverage);
    case LayerType::kRelu:
      return plain(kRelu);
    case LayerType::kTanh:
      return plain(kTanh);
    case LayerType::kSigmoid:
      return plain(Activate{Activation::kSigmoid});
    case LayerType::kGroupNorm:
      return plain(Normalize{.groups = keys.groups.value.value_or(1)});
    case LayerType::kLayerNorm:
      return plain(kLayerNormalize);
    case LayerType::kDropout:
      return plain(Dropout{static_cast<float>(keys.rate.value.value_or(0))});
    case LayerType::kFlatten:
    case LayerType::kBatchNorm:
      return plain(Flatten{});
    case LayerType::kConv1d:
      return {Conv1dLayer{outputs, kernel.front(), stride, padding, bias}};
    case LayerType::kEmbedding:
      return {EmbeddingLayer{width}};
    case LayerType::kPositions:
      return {PositionsLayer{}};
    case LayerType::kLstm:
      return recurrent(RecurrentKind::kLstm);
    case LayerType::kGru:
      return recurrent(RecurrentKind::kGru);
    case LayerType::kAttention:
      return {AttentionLayer{keys.heads.value.value_or(1), keys.causal.value.value_or(false)}};
    case LayerType::kRmsNorm:
      return {RmsNormLayer{}};
    case LayerType::kInstanceNorm:
      return {InstanceNormLayer{}};
    case LayerType::kGelu:
      return {GeluLayer{}};
    case LayerType::kLogits:
      return {LogitsLayer{keys.tied.value.value_or(false)}};
    case LayerType::kResidual:
      return {ResidualLayer{keys.inner}};
  }
  return plain(Flatten{});
}

struct LayerList {
  std::vector<TorchLayer> layers;
  Located<std::size_t> last;  // outputs of the last layer with weights, if that is linear
  bool good = true;
};

// Reads the layers below one header, such as [[model.layer]]. A residual has its own layers below it.
LayerList read_layer_list(SectionReader& outer, const std::string& header, Findings& findings) {
  LayerList list;
  for (const toml::table* table : outer.sections("layer", header)) {
    SectionReader reader(*table, fmt::format("[[{}]] number {}", header, list.layers.size() + 1), findings);
    LayerKeys keys;
    read_keys(reader, keys);
    if (reader.takes("layer", selector("type", kLayerTypes, keys.type), {LayerType::kResidual})) {
      LayerList inner = read_layer_list(reader, header + ".layer", findings);
      list.good = list.good && inner.good;
      keys.inner = std::move(inner.layers);
      if (keys.type.has() && *keys.type == LayerType::kResidual && !reader.holds("layer")) {
        reader.missing("key_missing", fmt::format("[[{}.layer]]", header),
                       "add the layers that the residual goes around");
      }
    }
    reader.finish();
    if (keys.rate.has() && !(static_cast<float>(*keys.rate) < 1)) {
      reader.error("out_of_range", keys.rate.place, fmt::format("rate is {}, and must be below 1", *keys.rate),
                   "give the share of features that is dropped");
    }
    list.layers.push_back(layer_of(keys));
    list.good = list.good && reader.good();
    if (!keys.type.has()) continue;
    // The number of outputs of other layers depends on the size of examples.
    if (*keys.type == LayerType::kLinear) {
      list.last = keys.outputs;
    } else if (*keys.type == LayerType::kConv2d || *keys.type >= LayerType::kConv1d) {
      list.last = {};
    }
  }
  return list;
}

LayerList read_layers(SectionReader& model, const DataSection& data, Findings& findings) {
  LayerList list = read_layer_list(model, "model.layer", findings);
  const Located<std::size_t>& last = list.last;
  // One number can also tell two classes apart.
  const bool fits = !last.has() || !data.outputs || *last == *data.outputs || (*last == 1 && *data.outputs == 2);
  if (list.good && !fits) {
    model.error("outputs_do_not_fit", last.place,
                fmt::format("the last layer has {} outputs, and {} are needed: {}", *last, *data.outputs,
                            data.has_target ? "there is one target" : "one for each class"),
                fmt::format("set outputs = {}", *data.outputs));
  }
  return list;
}

// Returns the layers of lanes/, if there are no others.
std::optional<std::vector<Layer>> without_torch(const std::vector<TorchLayer>& layers) {
  std::vector<Layer> plain;
  for (const TorchLayer& layer : layers) {
    const auto* one = std::get_if<Layer>(&layer.kind);
    if (one == nullptr) return std::nullopt;
    plain.push_back(*one);
  }
  return plain;
}

bool is_scattering(ModelKind kind) { return kind == ModelKind::kScatteringLinear || kind == ModelKind::kScatteringCnn; }

bool takes_images(ModelKind kind) {
  return is_scattering(kind) || kind == ModelKind::kLenet5 || kind == ModelKind::kDpCnn || kind == ModelKind::kAlexnet;
}

// Checks that a preset fits the data.
void expect_fit(SectionReader& reader, const Located<ModelKind>& kind, const DataSection& data) {
  if (!kind.has()) return;
  if (*kind == ModelKind::kLogistic && data.has_target) {
    reader.error("model_does_not_fit", kind.place, "a logistic model tells classes apart, and [data] has a target",
                 R"(kind = "ridge" for a linear model of a number, or "mlp")");
  }
  const bool tokens = *kind == ModelKind::kLstm || *kind == ModelKind::kTransformer;
  if (data.kind && *kind != ModelKind::kLayers && tokens != (*data.kind == DataKind::kText)) {
    reader.error("model_does_not_fit", kind.place,
                 tokens ? "it predicts the next character of a text, and [data] has none"
                        : "[data] has a text, and this model does not predict its next character",
                 tokens ? R"(format = "text" in [data], or another kind)" : R"(kind = "lstm" or "transformer")");
    return;
  }
  if (takes_images(*kind) && data.kind && *data.kind != DataKind::kIdx) {
    reader.error("model_does_not_fit", kind.place, "it is for images, and [data] has plain vectors",
                 R"(kind = "mlp" or "logistic", or format = "idx" in [data])");
  }
}

bool is_torch_preset(const std::optional<ModelKind>& kind) {
  return kind == ModelKind::kAlexnet || kind == ModelKind::kLstm || kind == ModelKind::kTransformer;
}

}  // namespace

ModelSection read_model_section(const toml::table& table, const DataSection& data, Findings& findings) {
  SectionReader reader(table, "[model]", findings);
  ModelSection section;
  Located<std::vector<std::size_t>> hidden;
  Located<std::string> start_from;
  Located<std::string> start_is_public;
  reader.choice("kind", kModels, section.kind);
  reader.require("kind", section.kind, R"(add kind = "mlp", or another)");
  const auto kind = selector("kind", kModels, section.kind);
  reader.text("start_from", start_from);
  reader.text("start_is_public", start_is_public);
  if (start_is_public.stated() && !start_from.stated()) reader.unused("start_is_public", "start_from");
  if (reader.takes("hidden", kind, {ModelKind::kMlp})) reader.sizes("hidden", 1, kMaxOutputs, hidden);
  if (kind.value == ModelKind::kMlp) {
    reader.require("hidden", hidden, "add hidden = [128, 64], the sizes of its hidden layers");
  }
  TorchKeys torch;
  read_torch_keys(reader, kind.value, start_from.stated(), torch);
  LayerList list;
  if (reader.takes("layer", kind, {ModelKind::kLayers})) {
    list = read_layers(reader, data, findings);
    if (kind.value == ModelKind::kLayers && !reader.holds("layer")) {
      reader.missing("key_missing", "[[model.layer]]", "add one for each layer, in order");
    }
  }
  reader.finish();
  expect_fit(reader, section.kind, data);
  const std::size_t outputs = data.outputs.value_or(1);
  if (is_torch_preset(kind.value)) {
    list.layers = torch_preset(*kind.value, torch, outputs);
  } else if (kind.value && *kind.value != ModelKind::kLayers) {
    section.model.scattering = is_scattering(*kind.value);
    for (const Layer& layer :
         preset(*kind.value, outputs, data.kind == DataKind::kIdx, hidden.value.value_or(std::vector<std::size_t>{}))) {
      list.layers.push_back(TorchLayer{layer});
    }
  }
  std::optional<std::vector<Layer>> plain = without_torch(list.layers);
  if (section.model.scattering && torch.choose_parameters()) {
    reader.error("model_does_not_fit", section.kind.place, "tuning and frozen are for networks that libtorch trains",
                 "leave them out, or take a model without scattering");
  }
  if (plain && !is_torch_preset(kind.value) && !torch.choose_parameters()) {
    section.model.layers = *std::move(plain);
  } else {
    section.model.torch = TorchNetwork{std::move(list.layers), torch.tuning.value.value_or(FineTuning::kFull),
                                       torch.lora_rank.value.value_or(TorchNetwork{}.lora_rank),
                                       torch.frozen.value.value_or(std::vector<std::string>{})};
  }
  for (const auto& [name, value] : kModels) {
    if (kind.value == value) section.model.name = name;
  }
  section.model.start_from = start_from.value;
  section.model.start_is_public = start_is_public.value;
  section.images = data.kind == DataKind::kIdx && !section.model.scattering;
  section.good = list.good && reader.good();
  return section;
}

}  // namespace noisefloor::internal
