// What a small network is made of: the layers that can run with examples as vector lanes (program.h).
//
// Parameters of a network stand in one vector of floats, layer by layer: weights, then biases, each in the order of
// torch (Linear: [out][in]; Conv2d: [out][in][row][column]; Normalize: scale, then shift).
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

namespace noisefloor::lanes {

// The shape of one example, or of what a layer makes of it. A plain vector has its features as channels.
struct Shape {
  std::size_t channels = 1;
  std::size_t height = 1;
  std::size_t width = 1;

  [[nodiscard]] std::size_t size() const { return channels * height * width; }
  friend bool operator==(const Shape&, const Shape&) = default;
};

struct Linear {
  std::size_t outputs = 1;
  bool bias = true;
};

struct Conv2d {
  std::size_t outputs = 1;
  std::size_t kernel_height = 1;
  std::size_t kernel_width = 1;
  std::size_t stride = 1;
  std::size_t padding = 0;  // zeros on each side
  bool bias = true;
};

enum class Pooling : std::uint8_t { kMax, kAverage };

struct Pool {
  Pooling kind = Pooling::kMax;
  std::size_t kernel = 2;
  std::size_t stride = 2;
};

// Functions whose derivative follows from their value.
enum class Activation : std::uint8_t { kRelu, kTanh, kSigmoid };

struct Activate {
  Activation function = Activation::kRelu;
};

// Brings each of `groups` groups of channels of one example to mean 0 and variance 1, then applies one scale and shift
// for each channel (group norm) or for each feature (layer norm).
struct Normalize {
  std::size_t groups = 1;
  bool per_feature = false;
  bool affine = true;
  float epsilon = 1e-5F;
};

// While training, each feature is kept with probability 1 - rate and divided by that; otherwise it stays as it is.
struct Dropout {
  float rate = 0.5F;
};

// Turns all features into channels, as a Linear layer takes them.
struct Flatten {};

using Layer = std::variant<Linear, Conv2d, Pool, Activate, Normalize, Dropout, Flatten>;

enum class Loss : std::uint8_t {
  kCrossEntropy,  // one output for each class
  kBinary,        // one output, the logit of class 1
  kSquared,       // half the squared distance to a target of as many numbers as there are outputs
};

}  // namespace noisefloor::lanes
