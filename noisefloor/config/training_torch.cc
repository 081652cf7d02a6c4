#include <fmt/format.h>

#include <utility>

#include "noisefloor/config/training_sections.h"

namespace noisefloor::internal {
namespace {

constexpr std::size_t kMaxWidth = std::size_t{1} << 16;
constexpr std::size_t kMaxDepth = 512;

constexpr Names<FineTuning, 3> kTunings{
    {{"full", FineTuning::kFull}, {"bias", FineTuning::kBias}, {"lora", FineTuning::kLora}}};

TorchLayer plain(const lanes::Layer& layer) { return {layer}; }
TorchLayer torch_linear(std::size_t outputs) { return plain(lanes::Linear{.outputs = outputs}); }
TorchLayer layer_norm() { return plain(lanes::Normalize{.groups = 1, .per_feature = true}); }

// Five convolutions and three linear layers, as for ImageNet, in the sizes that images of 28 to 32 pixels need.
std::vector<TorchLayer> alexnet(std::size_t outputs) {
  std::vector<TorchLayer> layers;
  const auto conv = [&](std::size_t channels, std::size_t stride) {
    layers.push_back(plain(
        lanes::Conv2d{.outputs = channels, .kernel_height = 3, .kernel_width = 3, .stride = stride, .padding = 1}));
    layers.push_back(plain(lanes::Activate{lanes::Activation::kRelu}));
  };
  const auto pool = [&] { layers.push_back(plain(lanes::Pool{lanes::Pooling::kMax, 2, 2})); };
  const auto dense = [&](std::size_t width) {
    layers.push_back(torch_linear(width));
    layers.push_back(plain(lanes::Activate{lanes::Activation::kRelu}));
  };
  conv(64, 2);
  pool();
  conv(192, 1);
  pool();
  conv(384, 1);
  conv(256, 1);
  conv(256, 1);
  pool();
  layers.push_back(plain(lanes::Flatten{}));
  dense(1024);
  dense(512);
  layers.push_back(torch_linear(outputs));
  return layers;
}

void add_dropout(std::vector<TorchLayer>& layers, double rate) {
  if (rate > 0) layers.push_back(plain(lanes::Dropout{static_cast<float>(rate)}));
}

std::vector<TorchLayer> lstm(std::size_t width, std::size_t depth, double dropout, bool tied) {
  std::vector<TorchLayer> layers{{EmbeddingLayer{width}}};
  for (std::size_t i = 0; i < depth; ++i) {
    layers.push_back({RecurrentLayer{RecurrentKind::kLstm, width, 1, false}});
    add_dropout(layers, dropout);
  }
  layers.push_back({LogitsLayer{tied}});
  return layers;
}

// Norms come first in each block (pre-norm), and once more before the logits.
std::vector<TorchLayer> transformer(std::size_t width, std::size_t depth, std::size_t heads, double dropout,
                                    bool tied) {
  std::vector<TorchLayer> layers{{EmbeddingLayer{width}}, {PositionsLayer{}}};
  for (std::size_t i = 0; i < depth; ++i) {
    std::vector<TorchLayer> attention{layer_norm(), {AttentionLayer{heads, true}}};
    std::vector<TorchLayer> dense{layer_norm(), torch_linear(4 * width), {GeluLayer{}}, torch_linear(width)};
    add_dropout(attention, dropout);
    add_dropout(dense, dropout);
    layers.push_back({ResidualLayer{std::move(attention)}});
    layers.push_back({ResidualLayer{std::move(dense)}});
  }
  layers.push_back(layer_norm());
  layers.push_back({LogitsLayer{tied}});
  return layers;
}

}  // namespace

void read_torch_keys(SectionReader& reader, const std::optional<ModelKind>& kind, bool starts_from, TorchKeys& keys) {
  const bool tokens = kind == ModelKind::kLstm || kind == ModelKind::kTransformer;
  const char* of_tokens = R"(kind = "lstm" or "transformer")";
  if (tokens || !kind) {
    reader.size("width", 1, kMaxWidth, keys.width);
    reader.size("layers", 1, kMaxDepth, keys.depth);
    reader.number("dropout", keys.dropout, kBelowOne);
    reader.flag("tied", keys.tied);
  } else {
    for (const char* key : {"width", "layers", "dropout", "tied"}) reader.unused(key, of_tokens);
  }
  if (kind == ModelKind::kTransformer || !kind) {
    reader.size("heads", 1, kMaxDepth, keys.heads);
  } else {
    reader.unused("heads", R"(kind = "transformer")");
  }
  if (tokens) reader.require("width", keys.width, "add width = 64, the number of features of each position");
  if (kind == ModelKind::kTransformer && keys.width.has() && *keys.width % keys.heads.value.value_or(1) != 0) {
    reader.error("out_of_range", keys.heads.place,
                 fmt::format("{} heads do not share {} features evenly", *keys.heads, *keys.width),
                 "give heads that divide the width");
  }
  reader.choice("tuning", kTunings, keys.tuning);
  reader.texts("frozen", keys.frozen);
  if (reader.takes("lora_rank", selector("tuning", kTunings, keys.tuning, std::optional(FineTuning::kFull)),
                   {FineTuning::kLora})) {
    reader.size("lora_rank", 1, kMaxDepth, keys.lora_rank);
  }
  const bool some_are_frozen = keys.frozen.stated() || (keys.tuning.has() && *keys.tuning != FineTuning::kFull);
  if (some_are_frozen && !starts_from) {
    reader.missing(
        "key_missing", "start_from",
        "add start_from = \"…\", a file with weights: weights that are not trained must come from somewhere");
  }
}

std::vector<TorchLayer> torch_preset(ModelKind kind, const TorchKeys& keys, std::size_t outputs) {
  const std::size_t width = keys.width.value.value_or(1);
  const std::size_t depth = keys.depth.value.value_or(kind == ModelKind::kLstm ? 1 : 2);
  const double dropout = keys.dropout.value.value_or(0);
  const bool tied = keys.tied.value.value_or(false);
  if (kind == ModelKind::kLstm) return lstm(width, depth, dropout, tied);
  if (kind == ModelKind::kTransformer) {
    return transformer(width, depth, keys.heads.value.value_or(1), dropout, tied);
  }
  return alexnet(outputs);
}

}  // namespace noisefloor::internal
