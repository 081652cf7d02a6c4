// The loops of lanes/: arithmetic on vectors whose lanes are examples.
//
// Layout:        a number of W examples is W floats side by side, aligned to their size. `lanes` counts W everywhere;
//                offsets and strides count floats.
// Guarantee:     no lane ever reads another: what an example yields does not depend on its neighbours in the vector.
//                An exception is stated where there is one (sum_of_products).
// Thread safety: pure functions of their arguments.
#pragma once

#include <cstddef>
#include <cstdint>

namespace noisefloor::lanes {

// No instruction set has more lanes.
inline constexpr std::size_t kMostLanes = 16;

// The instruction sets that the loops are compiled for.
enum class InstructionSet : std::uint8_t { kPortable, kAvx2, kAvx512 };

[[nodiscard]] bool is_supported(InstructionSet set);
[[nodiscard]] InstructionSet best_instruction_set();

// A grid of positions: `rows` of `columns`, in each of `copies`.
struct Grid {
  std::size_t copies = 1;
  std::size_t rows = 1;
  std::size_t columns = 1;
};

// How to get from one position of a grid to the next.
struct Strides {
  std::size_t copy = 0;
  std::size_t row = 0;
  std::size_t column = 0;
};

// out[o, p] = bias[o] + Σ_t weights[o, t] · in[p + taps[t]]
struct Correlation {
  Grid grid;
  const float* in = nullptr;
  Strides in_strides;
  float* out = nullptr;
  Strides out_strides;
  std::size_t out_channel = 0;  // stride
  std::size_t outputs = 0;
  const std::int32_t* taps = nullptr;
  std::size_t tap_count = 0;
  const float* weights = nullptr;  // packed: for each tile of outputs, for each tap, the tile's weights
  const float* bias = nullptr;     // or none
};

// For each lane: out[o, t] (+)= Σ_p gradient[o, p] · in[p + taps[t]]
struct WeightGradient {
  Grid grid;
  const float* in = nullptr;
  Strides in_strides;
  const float* gradient = nullptr;
  Strides gradient_strides;
  std::size_t gradient_channel = 0;  // stride
  std::size_t outputs = 0;
  const std::int32_t* taps = nullptr;
  std::size_t tap_count = 0;
  float* out = nullptr;  // [outputs][tap_count] vectors; added to
};

// How many outputs the tile that begins at output `first` has. Packed weights follow it.
[[nodiscard]] std::size_t tile_of_outputs(std::size_t outputs, std::size_t first, std::size_t columns);

// One plane of features: `grid` with the distance between its positions.
struct Plane {
  Grid grid;
  Strides strides;
};

struct Kernels {
  std::size_t lanes;

  void (*correlate)(const Correlation&);
  void (*weight_gradient)(const WeightGradient&);

  // sums[lane] += Σ_i values[i, lane]², or Σ_i first[i, lane] · second[i, lane]
  void (*add_squares)(const float* values, std::size_t count, float* sums);
  void (*add_products)(const float* first, const float* second, std::size_t count, float* sums);
  // into[i, lane] += factors[lane] · values[i, lane]; a factor of 0 adds nothing, whatever the value.
  void (*add_scaled)(const float* values, const float* factors, std::size_t count, float* into);
  // The same in whole steps: steps = factors[lane] · values[i, lane] · per_unit, rounded to nearest; below 2^51 of
  // them. squares[lane] += Σ_i steps², and sums[i] += Σ_lane steps, which is exact.
  void (*add_squared_steps)(const float* values, const float* factors, std::size_t count, double per_unit,
                            double* squares);
  void (*add_steps)(const float* values, const float* factors, std::size_t count, double per_unit, std::int64_t* sums);
  void (*multiply)(float* values, const float* by, std::size_t count);
  // sums[lane] += Σ_i values[i, lane]
  void (*add_sums)(const float* values, std::size_t count, float* sums);
  // out = scale · in + shift, with the same scale and shift for all
  void (*affine)(const float* in, std::size_t count, float scale, float shift, float* out);

  void (*relu)(float* values, std::size_t count);
  void (*tanh)(float* values, std::size_t count);
  void (*sigmoid)(float* values, std::size_t count);
  // gradient of the input from that of the output, in place, given the output
  void (*relu_backward)(float* gradient, const float* output, std::size_t count);
  void (*tanh_backward)(float* gradient, const float* output, std::size_t count);
  void (*sigmoid_backward)(float* gradient, const float* output, std::size_t count);

  // One channel of pooling. `in` and `out` are planes; backward adds to `in_gradient`. A maximum goes to the first of
  // equal ones.
  void (*max_pool)(const float* in, Strides in_strides, float* out, Plane out_plane, std::size_t kernel,
                   std::size_t stride);
  void (*max_pool_backward)(const float* in, Strides in_strides, float* in_gradient, Strides in_gradient_strides,
                            const float* out, Plane out_plane, const float* out_gradient, Strides out_gradient_strides,
                            std::size_t kernel, std::size_t stride);
  void (*average_pool)(const float* in, Strides in_strides, float* out, Plane out_plane, std::size_t kernel,
                       std::size_t stride);
  void (*average_pool_backward)(float* in_gradient, Strides in_gradient_strides, const float* out_gradient,
                                Plane out_gradient_plane, std::size_t kernel, std::size_t stride);

  // values[i, lane] = (values[i, lane] - mean[lane]) · scale[lane], with the mean and variance of each lane.
  void (*standardize)(float* values, std::size_t count, float epsilon, float* scale);
  // In place: the gradient of what standardize was given, from that of what it made, `standardized`.
  void (*standardize_backward)(float* gradient, const float* standardized, std::size_t count, const float* scale);

  // Softmax and cross-entropy: outputs, `stride` apart, become the gradient of the loss, times `weight`. Losses are
  // added. A lane with a negative label gets gradient 0 and loss 0.
  void (*cross_entropy)(float* outputs, std::size_t classes, std::size_t stride, const std::int32_t* labels,
                        float weight, float* losses);

  // sum[o, i] += Σ_k left[k, o] · right[k, i]: plain row-major matrices, no lanes.
  void (*sum_of_products)(const float* left, std::size_t outputs, const float* right, std::size_t inputs,
                          std::size_t count, float* sum);
};

// Requires: is_supported(set) (checked).
[[nodiscard]] const Kernels& kernels_for(InstructionSet set);

}  // namespace noisefloor::lanes
