// A network for libtorch, as a training file describes it: layers of lanes/, and layers that only torch has.
//
// A vector, an image (channels, height, width), channels over a line (channels, positions), or a sequence (time,
// features) goes through it. Tokens are a sequence without features until an embedding gives them some.
// Thread safety: plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "noisefloor/lanes/layers.h"

namespace noisefloor {

// Convolves channels on a line; a vector is one channel.
struct Conv1dLayer {
  std::size_t outputs = 1;
  std::size_t kernel = 1;
  std::size_t stride = 1;
  std::size_t padding = 0;
  bool bias = true;
};
// Turns tokens into vectors of this width.
struct EmbeddingLayer {
  std::size_t width = 1;
};
// Adds a learned vector to each step that tells the position of the step.
struct PositionsLayer {};
// Runs over a sequence. It reads an image row by row, channels on a line position by position, a vector number by
// number.
enum class RecurrentKind : std::uint8_t { kLstm, kGru };
struct RecurrentLayer {
  RecurrentKind kind = RecurrentKind::kLstm;
  std::size_t width = 1;
  std::size_t layers = 1;
  bool last = false;  // true: only the output after the last step, as a vector
};
struct AttentionLayer {
  std::size_t heads = 1;
  bool causal = false;
};
struct RmsNormLayer {};
struct InstanceNormLayer {};
struct GeluLayer {};
// Makes a logit for each token, by its own weights or by those of the embedding.
struct LogitsLayer {
  bool tied = false;
};

struct TorchLayer;
// Adds the input to the output of its layers.
struct ResidualLayer {
  std::vector<TorchLayer> layers;
};

struct TorchLayer {
  std::variant<lanes::Layer, Conv1dLayer, EmbeddingLayer, PositionsLayer, RecurrentLayer, AttentionLayer, RmsNormLayer,
               InstanceNormLayer, GeluLayer, LogitsLayer, ResidualLayer>
      kind;
};

enum class FineTuning : std::uint8_t {
  kFull,
  kBias,  // biases alone
  kLora,  // low-rank adapters of linear layers alone
};

struct TorchNetwork {
  std::vector<TorchLayer> layers;
  FineTuning tuning = FineTuning::kFull;
  std::size_t lora_rank = 4;
  std::vector<std::string> frozen;  // layers or parameters, by their path: "0", "3.bias"
};

}  // namespace noisefloor
