// Small networks in double precision, with the gradients that attacks on gradients need: by the weights, and by the
// input.
//
// Guarantee:     gradients are exact up to rounding. match_gradient() is the gradient, by the input, of the product of
//                a vector with the gradient by the weights, to about ten digits where activations are smooth.
// Speed:         for networks of 10^4 weights, some milliseconds; for training, use lanes/.
// Thread safety: const after creation; each call has its own memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor::audit {

struct Dense {
  std::size_t outputs;
};
// Square kernels; the picture keeps its size, divided by the stride and rounded up.
struct Convolution {
  std::size_t channels;
  std::size_t kernel;  // odd
  std::size_t stride = 1;
};
enum class Bend : std::uint8_t { kSigmoid, kRelu };
using SmallLayer = std::variant<Dense, Convolution, Bend>;

struct Picture {
  std::size_t channels = 1;
  std::size_t height = 28;
  std::size_t width = 28;
  [[nodiscard]] std::size_t size() const { return channels * height * width; }
};

class SmallNetwork {
 public:
  // The last layer gives a logit for each class.
  [[nodiscard]] static Result<SmallNetwork> create(const Picture& input, std::vector<SmallLayer> layers);

  [[nodiscard]] std::size_t inputs() const { return stages_.front().inputs; }
  [[nodiscard]] std::size_t outputs() const { return stages_.back().outputs; }
  [[nodiscard]] std::size_t parameters() const { return parameters_; }

  [[nodiscard]] bool reads_densely() const { return std::holds_alternative<Dense>(stages_.front().layer); }
  // Where the weights of the first layer, and the biases of the first and of the last one, are among the parameters:
  // [output][input]. Requires first and last layers that are dense.
  struct Place {
    std::size_t at;
    std::size_t size;
  };
  [[nodiscard]] Place first_weights() const;
  [[nodiscard]] Place first_biases() const;
  [[nodiscard]] Place last_biases() const;

  [[nodiscard]] std::vector<double> initial_weights(BitStream& stream) const;

  // The cross-entropy of one example; adds its gradients to those that are not empty.
  double gradients(std::span<const double> weights, std::span<const double> input, std::size_t label,
                   std::span<double> by_weights, std::span<double> by_input) const;

  // The gradient by the input of ⟨by_weights(input), direction⟩, for a direction of any length.
  [[nodiscard]] std::vector<double> match_gradient(std::span<const double> weights, std::span<const double> input,
                                                   std::size_t label, std::span<const double> direction) const;

 private:
  struct Stage {
    SmallLayer layer;
    Picture in;
    Picture out;
    std::size_t inputs;
    std::size_t outputs;
    std::size_t weights;  // where its weights begin, biases behind them
    std::size_t biases;
  };
  SmallNetwork(std::vector<Stage> stages, std::size_t parameters)
      : stages_(std::move(stages)), parameters_(parameters) {}
  static void forward(const Stage& stage, std::span<const double> weights, const double* in, double* out);
  static void backward(const Stage& stage, std::span<const double> weights, const double* in, const double* out,
                       const double* by_out, double* by_in, std::span<double> by_weights);

  std::vector<Stage> stages_;
  std::size_t parameters_;
};

}  // namespace noisefloor::audit
