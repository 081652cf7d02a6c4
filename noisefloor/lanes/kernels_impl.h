// The loops of kernels.h, written once for vectors of any width. Each instruction set has one file that includes this
// with its flags and instantiates Loops with a type of its own, which keeps the instances apart.
//
// Internal to lanes/.
#pragma once

#include <cstddef>
#include <cstdint>

#include "noisefloor/lanes/kernels.h"

namespace noisefloor::lanes {

// NOLINTBEGIN(modernize-avoid-c-arrays): arrays of vectors that compilers keep in registers.

// Set: Floats and Integers, vectors of equally many of them; Unaligned, a vector of floats anywhere; HalfFloats and
// Doubles, vectors of half as many.
template <class Set>
class Loops {
  using V = typename Set::Floats;
  using I = typename Set::Integers;
  static constexpr std::size_t W = sizeof(V) / sizeof(float);
  static_assert(W <= kMostLanes);

  [[gnu::always_inline]] static V load(const float* from) { return *reinterpret_cast<const V*>(from); }
  [[gnu::always_inline]] static void store(float* to, V value) { *reinterpret_cast<V*>(to) = value; }
  [[gnu::always_inline]] static V all(float value) { return value - V{}; }
  [[gnu::always_inline]] static V select(I mask, V yes, V no) { return mask ? yes : no; }

  // e^x - 1 in two parts, (power - 1) + power · part: r = x - n ln 2 is at most ln 2 / 2, where the series ends below
  // 1e-8.
  struct Exponential {
    V power;
    V part;
  };
  [[gnu::always_inline]] static Exponential exponential(V x) {
    const I n = __builtin_convertvector(x * 1.44269504F + select(x < 0.0F, all(-0.5F), all(0.5F)), I);
    const V whole = __builtin_convertvector(n, V);
    const V r = (x - whole * 0.693359375F) + whole * 2.12194440e-4F;
    V series = all(1.0F / 5040) * r + 1.0F / 720;
    series = series * r + 1.0F / 120;
    series = series * r + 1.0F / 24;
    series = series * r + 1.0F / 6;
    series = series * r + 0.5F;
    series = series * r + 1.0F;
    return {reinterpret_cast<V>((n + 127) << 23), series * r};
  }
  [[gnu::always_inline]] static V clamp(V x, float low, float high) {
    x = select(x < low, all(low), x);
    return select(x > high, all(high), x);
  }
  [[gnu::always_inline]] static V exp(V x) {
    const Exponential e = exponential(clamp(x, -87.0F, 88.0F));
    return e.power + e.power * e.part;
  }
  [[gnu::always_inline]] static V tanh(V x) {
    const Exponential e = exponential(clamp(x + x, -40.0F, 40.0F));
    const V less_one = e.power * e.part + (e.power - 1.0F);
    return less_one / (less_one + 2.0F);
  }

  template <std::size_t Outputs, std::size_t Positions>
  [[gnu::always_inline]] static void correlate_tile(const Correlation& c, const float* in, const float* weights,
                                                    std::size_t first, float* out) {
    V sums[Outputs][Positions];
#pragma GCC unroll 16
    for (std::size_t o = 0; o < Outputs; ++o) {
#pragma GCC unroll 16
      for (std::size_t p = 0; p < Positions; ++p) sums[o][p] = all(c.bias == nullptr ? 0.0F : c.bias[first + o]);
    }
    for (std::size_t t = 0; t < c.tap_count; ++t) {
      const float* from = in + c.taps[t];
      V values[Positions];
#pragma GCC unroll 16
      for (std::size_t p = 0; p < Positions; ++p) values[p] = load(from + p * c.in_strides.column);
#pragma GCC unroll 16
      for (std::size_t o = 0; o < Outputs; ++o) {
        const V weight = all(weights[t * Outputs + o]);
#pragma GCC unroll 16
        for (std::size_t p = 0; p < Positions; ++p) sums[o][p] += weight * values[p];
      }
    }
#pragma GCC unroll 16
    for (std::size_t o = 0; o < Outputs; ++o) {
#pragma GCC unroll 16
      for (std::size_t p = 0; p < Positions; ++p) store(out + o * c.out_channel + p * c.out_strides.column, sums[o][p]);
    }
  }

  template <std::size_t Outputs, std::size_t Positions>
  static void correlate_tiles(const Correlation& c, const float* weights, std::size_t first) {
    for (std::size_t copy = 0; copy < c.grid.copies; ++copy) {
      for (std::size_t row = 0; row < c.grid.rows; ++row) {
        const float* in = c.in + copy * c.in_strides.copy + row * c.in_strides.row;
        float* out = c.out + first * c.out_channel + copy * c.out_strides.copy + row * c.out_strides.row;
        std::size_t column = 0;
        for (; column + Positions <= c.grid.columns; column += Positions) {
          correlate_tile<Outputs, Positions>(c, in + column * c.in_strides.column, weights, first,
                                             out + column * c.out_strides.column);
        }
        if constexpr (Positions > 2) {
          for (; column + 2 <= c.grid.columns; column += 2) {
            correlate_tile<Outputs, 2>(c, in + column * c.in_strides.column, weights, first,
                                       out + column * c.out_strides.column);
          }
        }
        for (; column < c.grid.columns; ++column) {
          correlate_tile<Outputs, 1>(c, in + column * c.in_strides.column, weights, first,
                                     out + column * c.out_strides.column);
        }
      }
    }
  }

  static void correlate(const Correlation& c) {
    const float* weights = c.weights;
    for (std::size_t first = 0; first < c.outputs;) {
      const std::size_t tile = tile_of_outputs(c.outputs, first, c.grid.columns);
      switch (tile) {
        case 12:
          correlate_tiles<12, 1>(c, weights, first);
          break;
        case 8:
          correlate_tiles<8, 1>(c, weights, first);
          break;
        case 6:
          correlate_tiles<6, 2>(c, weights, first);
          break;
        case 4:
          correlate_tiles<4, 3>(c, weights, first);
          break;
        case 3:
          correlate_tiles<3, 4>(c, weights, first);
          break;
        case 2:
          correlate_tiles<2, 6>(c, weights, first);
          break;
        default:
          correlate_tiles<1, 8>(c, weights, first);
          break;
      }
      weights += tile * c.tap_count;
      first += tile;
    }
  }

  // `rows` rows of one copy, from where `in` and `gradient` point.
  template <std::size_t Outputs, std::size_t Taps>
  [[gnu::always_inline]] static void gradient_tile(const WeightGradient& g, const float* in, const float* gradient,
                                                   std::size_t rows, std::size_t first_output, std::size_t first_tap) {
    V sums[Outputs][Taps];
    float* out = g.out + (first_output * g.tap_count + first_tap) * W;
#pragma GCC unroll 16
    for (std::size_t o = 0; o < Outputs; ++o) {
#pragma GCC unroll 16
      for (std::size_t t = 0; t < Taps; ++t) sums[o][t] = load(out + (o * g.tap_count + t) * W);
    }
    const float* at[Taps];
#pragma GCC unroll 16
    for (std::size_t t = 0; t < Taps; ++t) at[t] = in + g.taps[first_tap + t];
    const float* from = gradient + first_output * g.gradient_channel;
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t in_row = row * g.in_strides.row;
      const float* gradient_row = from + row * g.gradient_strides.row;
      for (std::size_t column = 0; column < g.grid.columns; ++column) {
        V values[Taps];
#pragma GCC unroll 16
        for (std::size_t t = 0; t < Taps; ++t) values[t] = load(at[t] + in_row + column * g.in_strides.column);
#pragma GCC unroll 16
        for (std::size_t o = 0; o < Outputs; ++o) {
          const V slope = load(gradient_row + o * g.gradient_channel + column * g.gradient_strides.column);
#pragma GCC unroll 16
          for (std::size_t t = 0; t < Taps; ++t) sums[o][t] += slope * values[t];
        }
      }
    }
#pragma GCC unroll 16
    for (std::size_t o = 0; o < Outputs; ++o) {
#pragma GCC unroll 16
      for (std::size_t t = 0; t < Taps; ++t) store(out + (o * g.tap_count + t) * W, sums[o][t]);
    }
  }

  template <std::size_t Outputs, std::size_t Taps>
  static void gradient_tiles(const WeightGradient& g, const float* in, const float* gradient, std::size_t rows,
                             std::size_t first_output) {
    std::size_t tap = 0;
    for (; tap + Taps <= g.tap_count; tap += Taps) {
      gradient_tile<Outputs, Taps>(g, in, gradient, rows, first_output, tap);
    }
    for (; tap < g.tap_count; ++tap) gradient_tile<Outputs, 1>(g, in, gradient, rows, first_output, tap);
  }

  static void weight_gradient(const WeightGradient& g) {
    // As many rows at a time as stay in the first-level cache for all taps of a tile of outputs.
    constexpr std::size_t kCacheVectors = std::size_t{24} * 1024 / (W * sizeof(float));
    std::size_t rows_at_once = kCacheVectors / (6 * g.grid.columns);
    rows_at_once = rows_at_once == 0 ? 1 : rows_at_once;
    for (std::size_t copy = 0; copy < g.grid.copies; ++copy) {
      for (std::size_t row = 0; row < g.grid.rows; row += rows_at_once) {
        const std::size_t rows = row + rows_at_once < g.grid.rows ? rows_at_once : g.grid.rows - row;
        const float* in = g.in + copy * g.in_strides.copy + row * g.in_strides.row;
        const float* gradient = g.gradient + copy * g.gradient_strides.copy + row * g.gradient_strides.row;
        for (std::size_t first = 0; first < g.outputs;) {
          const std::size_t tile = tile_of_outputs(g.outputs, first, 2);
          switch (tile) {
            case 6:
              gradient_tiles<6, 2>(g, in, gradient, rows, first);
              break;
            case 4:
              gradient_tiles<4, 3>(g, in, gradient, rows, first);
              break;
            case 3:
              gradient_tiles<3, 4>(g, in, gradient, rows, first);
              break;
            case 2:
              gradient_tiles<2, 5>(g, in, gradient, rows, first);
              break;
            default:
              gradient_tiles<1, 5>(g, in, gradient, rows, first);
              break;
          }
          first += tile;
        }
      }
    }
  }

  static void add_products(const float* first, const float* second, std::size_t count, float* sums) {
    V even = load(sums);
    V odd{};
    std::size_t i = 0;
    for (; i + 2 <= count; i += 2) {
      even += load(first + i * W) * load(second + i * W);
      odd += load(first + (i + 1) * W) * load(second + (i + 1) * W);
    }
    if (i < count) even += load(first + i * W) * load(second + i * W);
    store(sums, even + odd);
  }
  static void add_squares(const float* values, std::size_t count, float* sums) {
    add_products(values, values, count, sums);
  }
  static void add_scaled(const float* values, const float* factors, std::size_t count, float* into) {
    const V factor = load(factors);
    const I counts = factor != 0.0F;
    for (std::size_t i = 0; i < count; ++i) {
      store(into + i * W, load(into + i * W) + select(counts, factor * load(values + i * W), V{}));
    }
  }
  // Doubles are twice as wide: half of the lanes at a time.
  static constexpr std::size_t kHalf = W / 2;
  using HalfFloats = typename Set::HalfFloats;
  using Doubles = typename Set::Doubles;

  [[gnu::always_inline]] static Doubles steps_of(const float* values, const float* factors, double per_unit) {
    const HalfFloats factor = *reinterpret_cast<const HalfFloats*>(factors);
    const HalfFloats product = factor * *reinterpret_cast<const HalfFloats*>(values);
    const Doubles exact = __builtin_convertvector(factor != 0.0F ? product : HalfFloats{}, Doubles) * per_unit;
    constexpr double kWhole = 0x1.8p52;  // numbers of this size have no fractions
    return (exact + kWhole) - kWhole;
  }
  static void add_squared_steps(const float* values, const float* factors, std::size_t count, double per_unit,
                                double* squares) {
    for (std::size_t first = 0; first < W; first += kHalf) {
      Doubles sum{};
      for (std::size_t i = 0; i < count; ++i) {
        const Doubles steps = steps_of(values + i * W + first, factors + first, per_unit);
        sum += steps * steps;
      }
      for (std::size_t lane = 0; lane < kHalf; ++lane) squares[first + lane] += sum[lane];
    }
  }
  static void add_steps(const float* values, const float* factors, std::size_t count, double per_unit,
                        std::int64_t* sums) {
    for (std::size_t i = 0; i < count; ++i) {
      const Doubles steps =
          steps_of(values + i * W, factors, per_unit) + steps_of(values + i * W + kHalf, factors + kHalf, per_unit);
      double sum = 0;
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < kHalf; ++lane) sum += steps[lane];
      sums[i] += static_cast<std::int64_t>(sum);
    }
  }
  static void multiply(float* values, const float* by, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) store(values + i * W, load(values + i * W) * load(by + i * W));
  }
  static void add_sums(const float* values, std::size_t count, float* sums) {
    V sum = load(sums);
    for (std::size_t i = 0; i < count; ++i) sum += load(values + i * W);
    store(sums, sum);
  }
  static void affine(const float* in, std::size_t count, float scale, float shift, float* out) {
    for (std::size_t i = 0; i < count; ++i) store(out + i * W, load(in + i * W) * scale + shift);
  }

  static void relu(float* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const V x = load(values + i * W);
      store(values + i * W, select(x > 0.0F, x, V{}));
    }
  }
  static void relu_backward(float* gradient, const float* output, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      store(gradient + i * W, select(load(output + i * W) > 0.0F, load(gradient + i * W), V{}));
    }
  }
  static void tanh(float* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) store(values + i * W, tanh(load(values + i * W)));
  }
  static void tanh_backward(float* gradient, const float* output, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const V y = load(output + i * W);
      store(gradient + i * W, load(gradient + i * W) * (1.0F - y * y));
    }
  }
  static void sigmoid(float* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) store(values + i * W, 1.0F / (1.0F + exp(-load(values + i * W))));
  }
  static void sigmoid_backward(float* gradient, const float* output, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const V y = load(output + i * W);
      store(gradient + i * W, load(gradient + i * W) * (y * (1.0F - y)));
    }
  }

  // Calls visit(offset in the input, offset in the output) for each position of the output.
  template <class Visit>
  [[gnu::always_inline]] static void each_window(Strides in, Plane out, std::size_t stride, Visit visit) {
    for (std::size_t copy = 0; copy < out.grid.copies; ++copy) {
      for (std::size_t row = 0; row < out.grid.rows; ++row) {
        for (std::size_t column = 0; column < out.grid.columns; ++column) {
          visit(copy * in.copy + row * stride * in.row + column * stride * in.column, copy, row, column);
        }
      }
    }
  }
  [[gnu::always_inline]] static std::size_t at(Strides s, std::size_t copy, std::size_t row, std::size_t column) {
    return copy * s.copy + row * s.row + column * s.column;
  }

  static void max_pool(const float* in, Strides in_strides, float* out, Plane plane, std::size_t kernel,
                       std::size_t stride) {
    each_window(in_strides, plane, stride,
                [&](std::size_t from, std::size_t copy, std::size_t row, std::size_t column) {
                  V most = load(in + from);
                  for (std::size_t y = 0; y < kernel; ++y) {
                    for (std::size_t x = 0; x < kernel; ++x) {
                      const V value = load(in + from + y * in_strides.row + x * in_strides.column);
                      most = select(value > most, value, most);
                    }
                  }
                  store(out + at(plane.strides, copy, row, column), most);
                });
  }
  static void max_pool_backward(const float* in, Strides in_strides, float* in_gradient, Strides in_gradient_strides,
                                const float* out, Plane plane, const float* out_gradient, Strides out_gradient_strides,
                                std::size_t kernel, std::size_t stride) {
    each_window(in_strides, plane, stride,
                [&](std::size_t from, std::size_t copy, std::size_t row, std::size_t column) {
                  const V most = load(out + at(plane.strides, copy, row, column));
                  const V slope = load(out_gradient + at(out_gradient_strides, copy, row, column));
                  float* to = in_gradient + at(in_gradient_strides, copy, row * stride, column * stride);
                  I open = ~I{};
                  for (std::size_t y = 0; y < kernel; ++y) {
                    for (std::size_t x = 0; x < kernel; ++x) {
                      const I hit = open & (load(in + from + y * in_strides.row + x * in_strides.column) == most);
                      float* place = to + y * in_gradient_strides.row + x * in_gradient_strides.column;
                      store(place, load(place) + select(hit, slope, V{}));
                      open &= ~hit;
                    }
                  }
                });
  }
  static void average_pool(const float* in, Strides in_strides, float* out, Plane plane, std::size_t kernel,
                           std::size_t stride) {
    const float share = 1.0F / static_cast<float>(kernel * kernel);
    each_window(in_strides, plane, stride,
                [&](std::size_t from, std::size_t copy, std::size_t row, std::size_t column) {
                  V sum{};
                  for (std::size_t y = 0; y < kernel; ++y) {
                    for (std::size_t x = 0; x < kernel; ++x)
                      sum += load(in + from + y * in_strides.row + x * in_strides.column);
                  }
                  store(out + at(plane.strides, copy, row, column), sum * share);
                });
  }
  static void average_pool_backward(float* in_gradient, Strides strides, const float* out_gradient, Plane plane,
                                    std::size_t kernel, std::size_t stride) {
    const float share = 1.0F / static_cast<float>(kernel * kernel);
    each_window(strides, plane, stride, [&](std::size_t from, std::size_t copy, std::size_t row, std::size_t column) {
      const V slope = load(out_gradient + at(plane.strides, copy, row, column)) * share;
      for (std::size_t y = 0; y < kernel; ++y) {
        for (std::size_t x = 0; x < kernel; ++x) {
          float* place = in_gradient + from + y * strides.row + x * strides.column;
          store(place, load(place) + slope);
        }
      }
    });
  }

  static V square_root(V x) {
    for (std::size_t lane = 0; lane < W; ++lane) x[lane] = __builtin_sqrtf(x[lane]);
    return x;
  }
  static void standardize(float* values, std::size_t count, float epsilon, float* scale) {
    const float share = 1.0F / static_cast<float>(count);
    V mean{};
    for (std::size_t i = 0; i < count; ++i) mean += load(values + i * W);
    mean *= share;
    V variance{};
    for (std::size_t i = 0; i < count; ++i) {
      const V off = load(values + i * W) - mean;
      variance += off * off;
    }
    const V by = 1.0F / square_root(variance * share + epsilon);
    for (std::size_t i = 0; i < count; ++i) store(values + i * W, (load(values + i * W) - mean) * by);
    store(scale, by);
  }
  static void standardize_backward(float* gradient, const float* standardized, std::size_t count, const float* scale) {
    const float share = 1.0F / static_cast<float>(count);
    V mean{};
    V along{};
    for (std::size_t i = 0; i < count; ++i) {
      const V slope = load(gradient + i * W);
      mean += slope;
      along += slope * load(standardized + i * W);
    }
    mean *= share;
    along *= share;
    const V by = load(scale);
    for (std::size_t i = 0; i < count; ++i) {
      store(gradient + i * W, by * (load(gradient + i * W) - mean - load(standardized + i * W) * along));
    }
  }

  static void cross_entropy(float* outputs, std::size_t classes, std::size_t stride, const std::int32_t* labels,
                            float weight, float* losses) {
    V most = load(outputs);
    for (std::size_t c = 1; c < classes; ++c) {
      const V value = load(outputs + c * stride);
      most = select(value > most, value, most);
    }
    V own{};
    for (std::size_t lane = 0; lane < W; ++lane) {
      if (labels[lane] >= 0) own[lane] = outputs[static_cast<std::size_t>(labels[lane]) * stride + lane] - most[lane];
    }
    V sum{};
    for (std::size_t c = 0; c < classes; ++c) {
      const V e = exp(load(outputs + c * stride) - most);
      store(outputs + c * stride, e);
      sum += e;
    }
    V share{};
    for (std::size_t lane = 0; lane < W; ++lane) {
      if (labels[lane] < 0) continue;
      share[lane] = weight / sum[lane];
      losses[lane] += __builtin_logf(sum[lane]) - own[lane];
    }
    for (std::size_t c = 0; c < classes; ++c) {
      store(outputs + c * stride, select(share != 0.0F, load(outputs + c * stride) * share, V{}));
    }
    for (std::size_t lane = 0; lane < W; ++lane) {
      if (labels[lane] >= 0) outputs[static_cast<std::size_t>(labels[lane]) * stride + lane] -= weight;
    }
  }

  template <std::size_t Rows, std::size_t Columns>
  [[gnu::always_inline]] static void product_tile(const float* left, std::size_t outputs, const float* right,
                                                  std::size_t inputs, std::size_t count, float* sum) {
    using Unaligned = typename Set::Unaligned;
    V sums[Rows][Columns];
#pragma GCC unroll 16
    for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
      for (std::size_t c = 0; c < Columns; ++c) {
        sums[r][c] = *reinterpret_cast<const Unaligned*>(sum + r * inputs + c * W);
      }
    }
    for (std::size_t k = 0; k < count; ++k) {
      V values[Columns];
#pragma GCC unroll 16
      for (std::size_t c = 0; c < Columns; ++c) {
        values[c] = *reinterpret_cast<const Unaligned*>(right + k * inputs + c * W);
      }
#pragma GCC unroll 16
      for (std::size_t r = 0; r < Rows; ++r) {
        const V by = all(left[k * outputs + r]);
#pragma GCC unroll 16
        for (std::size_t c = 0; c < Columns; ++c) sums[r][c] += by * values[c];
      }
    }
#pragma GCC unroll 16
    for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
      for (std::size_t c = 0; c < Columns; ++c) *reinterpret_cast<Unaligned*>(sum + r * inputs + c * W) = sums[r][c];
    }
  }
  template <std::size_t Rows>
  static void product_rows(const float* left, std::size_t outputs, const float* right, std::size_t inputs,
                           std::size_t count, float* sum) {
    std::size_t i = 0;
    for (; i + 3 * W <= inputs; i += 3 * W) product_tile<Rows, 3>(left, outputs, right + i, inputs, count, sum + i);
    for (; i + W <= inputs; i += W) product_tile<Rows, 1>(left, outputs, right + i, inputs, count, sum + i);
    for (; i < inputs; ++i) {
      for (std::size_t r = 0; r < Rows; ++r) {
        float total = sum[r * inputs + i];
        for (std::size_t k = 0; k < count; ++k) total += left[k * outputs + r] * right[k * inputs + i];
        sum[r * inputs + i] = total;
      }
    }
  }
  static void sum_of_products(const float* left, std::size_t outputs, const float* right, std::size_t inputs,
                              std::size_t count, float* sum) {
    std::size_t o = 0;
    for (; o + 4 <= outputs; o += 4) product_rows<4>(left + o, outputs, right, inputs, count, sum + o * inputs);
    for (; o < outputs; ++o) product_rows<1>(left + o, outputs, right, inputs, count, sum + o * inputs);
  }

 public:
  static constexpr Kernels kTable{W,
                                  correlate,
                                  weight_gradient,
                                  add_squares,
                                  add_products,
                                  add_scaled,
                                  add_squared_steps,
                                  add_steps,
                                  multiply,
                                  add_sums,
                                  affine,
                                  relu,
                                  tanh,
                                  sigmoid,
                                  relu_backward,
                                  tanh_backward,
                                  sigmoid_backward,
                                  max_pool,
                                  max_pool_backward,
                                  average_pool,
                                  average_pool_backward,
                                  standardize,
                                  standardize_backward,
                                  cross_entropy,
                                  sum_of_products};
};

// NOLINTEND(modernize-avoid-c-arrays)

}  // namespace noisefloor::lanes
