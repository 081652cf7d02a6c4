// A small network, laid out to run with examples as vector lanes.
//
// A block of examples, one to a lane, goes through the whole network and back while it stays in the processor's cache.
// All arithmetic is the same for every lane, so each vector instruction serves a whole block, and the gradient of
// every example by itself falls out of the same loops that would sum it up.
//
// Copies:        one example may come as several copies (augmentations of it). Its gradient is their mean.
// Memory:        one thread needs about (activations + 2 · parameters of convolutions and normalizations) · lanes.
// Thread safety: immutable after creation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/lanes/kernels.h"
#include "noisefloor/lanes/layers.h"

namespace noisefloor::lanes {

// Features of a block: [channel][copy][row][column][lane], with zeros around each plane of values and of gradients,
// as far as convolutions reach.
struct Tensor {
  Shape shape;
  bool needs_gradient = false;
  std::size_t value_margin = 0;
  std::size_t gradient_margin = 0;
  std::size_t value = 0;     // where the first feature stands in the worker's memory, past the margin
  std::size_t gradient = 0;  // likewise
};

// One step of a network. Which fields are used depends on the layer.
struct Operation {
  Layer layer;
  std::size_t in = 0;  // tensors; equal if the layer works in place
  std::size_t out = 0;

  std::optional<std::size_t> group;  // which of the groups of parameters, if it has any
  std::size_t weights = 0;           // where they stand among the parameters, and how many they are
  std::size_t weight_count = 0;
  std::size_t bias = 0;
  std::size_t bias_count = 0;

  // Conv2d and Linear: outputs from inputs, and the gradient of inputs from that of outputs; the latter in one part for
  // each phase of the stride.
  struct Part {
    Grid grid;
    std::ptrdiff_t in_start = 0;   // relative to the first feature
    std::ptrdiff_t out_start = 0;  // likewise
    Strides in_strides;
    Strides out_strides;
    std::vector<std::int32_t> taps;
    std::vector<std::uint32_t> order;  // packed weight i is weight order[i]
    std::size_t packed = 0;            // where they stand among the packed weights
  };
  Part forward;
  std::vector<Part> backward;

  std::size_t own = 0;      // gradients of each example: where they stand in the worker's memory; and their sums
  std::size_t kept = 0;     // Normalize: standardized values; Dropout: the mask
  std::size_t scratch = 0;  // Normalize: scales, then room for one copy

  // Weights whose gradients are formed for each example; those of Linear layers never are.
  [[nodiscard]] std::size_t own_weights() const { return std::holds_alternative<Linear>(layer) ? 0 : weight_count; }
};

class Program {
 public:
  // Fails with kInvalidArgument if the layers do not fit each other, naming the layer by its number from 1.
  [[nodiscard]] static Result<Program> create(Shape input, const std::vector<Layer>& layers, Loss loss,
                                              std::size_t copies = 1, InstructionSet set = best_instruction_set());

  [[nodiscard]] const Kernels& kernels() const { return *kernels_; }
  [[nodiscard]] std::size_t lanes() const { return kernels_->lanes; }
  [[nodiscard]] std::size_t copies() const { return copies_; }
  // The same network for another number of copies.
  [[nodiscard]] Result<Program> with_copies(std::size_t copies) const;
  [[nodiscard]] Loss loss() const { return loss_; }
  [[nodiscard]] Shape input() const { return tensors_.front().shape; }
  [[nodiscard]] std::size_t outputs() const {
    return tensors_[operations_.empty() ? 0 : operations_.back().out].shape.size();
  }
  [[nodiscard]] std::size_t parameters() const { return parameters_; }
  // Layers with parameters, each one group for clipping.
  [[nodiscard]] std::size_t groups() const { return groups_; }
  // 32-bit words that one block draws, for dropout.
  [[nodiscard]] std::size_t words() const { return words_ * lanes(); }

  [[nodiscard]] const std::vector<Tensor>& tensors() const { return tensors_; }
  [[nodiscard]] const std::vector<Operation>& operations() const { return operations_; }
  [[nodiscard]] Strides value_strides(const Tensor& tensor) const { return strides(tensor, tensor.value_margin); }
  [[nodiscard]] Strides gradient_strides(const Tensor& tensor) const { return strides(tensor, tensor.gradient_margin); }
  [[nodiscard]] std::size_t value_channel(const Tensor& tensor) const { return value_strides(tensor).copy * copies_; }
  [[nodiscard]] std::size_t gradient_channel(const Tensor& tensor) const {
    return gradient_strides(tensor).copy * copies_;
  }
  [[nodiscard]] std::size_t memory() const { return memory_; }      // floats that a worker needs for one block
  [[nodiscard]] std::size_t own_size() const { return own_size_; }  // of them, gradients of each example
  [[nodiscard]] std::size_t packed_size() const { return packed_size_; }

 private:
  Program() = default;
  [[nodiscard]] Strides strides(const Tensor& tensor, std::size_t margin) const;
  Result<void> add(const Layer& layer, std::size_t number);
  void lay_out();
  void connect(Operation& operation);

  const Kernels* kernels_ = nullptr;
  std::size_t copies_ = 1;
  InstructionSet set_ = InstructionSet::kPortable;
  Loss loss_ = Loss::kCrossEntropy;
  std::vector<Tensor> tensors_;
  std::vector<Operation> operations_;
  std::size_t parameters_ = 0;
  std::size_t groups_ = 0;
  std::size_t words_ = 0;  // for each lane
  std::size_t memory_ = 0;
  std::size_t own_size_ = 0;
  std::size_t packed_size_ = 0;
};

// The weights of a network in the order in which the loops read them.
class PackedWeights {
 public:
  explicit PackedWeights(const Program& program) : packed_(program.packed_size()) {}

  // Requires: parameters of the program's number (checked).
  void pack(const Program& program, std::span<const float> parameters);

  [[nodiscard]] const float* at(std::size_t place) const { return packed_.data() + place; }

 private:
  std::vector<float> packed_;
};

}  // namespace noisefloor::lanes
