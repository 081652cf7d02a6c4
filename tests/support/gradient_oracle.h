// The gradient of one example's loss in double precision, and how far single precision may stray from it.
//
// A network in single precision differs from the same network in double precision for two reasons. Every operation
// rounds, which moves the gradient a little: that part is bounded here, parameter by parameter. And a maximum or a ReLU
// whose inputs are equal up to rounding may fall to the other side, which sends a whole slope elsewhere: no bound on
// rounding covers that, so the oracle counts such near-ties, and only gradients without any can be compared.
//
// Model:         roundings are independent, of mean 0 and at most 2^-24 of what is rounded (Higham and Mary 2019, "A
//                new approach to probabilistic rounding error analysis"). A sum of n products then strays from the
//                exact one with a standard deviation of at most √n · 2^-24 · Σ|product|, whatever the order of its
//                terms and whether they are fused; errors of its inputs are carried along to first order. Bounds are
//                kDeviations of these.
// Covers:        Linear, Conv2d, max Pool, ReLU, tanh, layer norm and Flatten, under cross-entropy.
// Thread safety: const functions may run at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "noisefloor/base/check.h"
#include "noisefloor/lanes/layers.h"

namespace noisefloor::testing {

// 10^7 comparisons of one run exceed six deviations with a probability below 2 %, if errors were normal; they stay far
// below, because partial sums are smaller than Σ|product|.
inline constexpr double kDeviations = 6;
inline constexpr double kUnit = 0x1p-24;
// Relative errors of tanh and exp in single precision, in units. kernels_test.cc holds the lanes' own to these.
inline constexpr double kTanhUnits = 4;
inline constexpr double kExpUnits = 4;

class GradientOracle {
 public:
  struct Gradient {
    std::vector<double> value;      // by parameter
    std::vector<double> deviation;  // of single precision, by parameter
    std::size_t near_ties = 0;      // maxima and ReLUs whose side single precision may see otherwise

    [[nodiscard]] double squared_norm() const {
      double sum = 0;
      for (const double v : value) sum += v * v;
      return sum;
    }
    // The largest |found - value| as a share of what the model allows for; at most 1 if all is well. `factor`
    // multiplies the gradient (its clipping factor), and is itself found in single precision if `clipped`.
    [[nodiscard]] double largest_share(std::span<const float> found, double factor, bool clipped) const {
      double norm_variance = 0;
      for (std::size_t i = 0; i < value.size(); ++i) norm_variance += std::pow(2 * value[i] * deviation[i], 2);
      const double squared = squared_norm();
      norm_variance += static_cast<double>(value.size()) * std::pow(kUnit * squared, 2);
      const double of_factor = clipped ? std::sqrt(norm_variance) / (2 * squared) : 0;
      double share = 0;
      for (std::size_t i = 0; i < value.size(); ++i) {
        const double off = std::abs(static_cast<double>(found[i]) - factor * value[i]);
        const double allowed =
            kDeviations * factor * std::hypot(deviation[i], value[i] * of_factor, 3 * kUnit * value[i]) + 1e-30;
        share = std::max(share, std::isfinite(off) ? off / allowed : HUGE_VAL);
      }
      return share;
    }
  };

  GradientOracle(lanes::Shape input, std::vector<lanes::Layer> layers) : input_(input), layers_(std::move(layers)) {}

  [[nodiscard]] Gradient at(std::span<const float> parameters, const float* example, std::int32_t label) const {
    Pass pass(parameters);
    pass.now = Signal(input_);
    std::copy_n(example, input_.size(), pass.now.value.begin());
    for (const lanes::Layer& layer : layers_) {
      pass.inputs.push_back(pass.now);
      std::visit([&](const auto& l) { pass.forward(l); }, layer);
    }
    pass.seed(label);
    for (std::size_t i = layers_.size(); i-- > 0;) {
      pass.in = std::move(pass.inputs[i]);
      std::visit([&](const auto& l) { pass.backward(l); }, layers_[i]);
    }
    NF_CHECK(pass.next == 0, "all parameters were seen");
    return std::move(pass.gradient);
  }

 private:
  struct Signal {
    Signal() = default;
    explicit Signal(lanes::Shape of) : shape(of), value(of.size()), variance(of.size()) {}
    lanes::Shape shape;
    std::vector<double> value;
    std::vector<double> variance;
  };

  // A sum of products in single precision.
  struct Sum {
    double value = 0;
    double carried = 0;
    double size = 0;
    double terms = 0;
    void add(double a, double variance_a, double b, double variance_b) {
      value += a * b;
      carried += a * a * variance_b + b * b * variance_a;
      size += std::abs(a * b);
      ++terms;
    }
    [[nodiscard]] double variance() const { return carried + terms * kUnit * kUnit * size * size; }
  };

  // What layer norm computes on its way.
  struct Standardized {
    Signal z;
    double scale = 0;
    double scale_variance = 0;
  };

  struct Pass {
    explicit Pass(std::span<const float> of) : parameters(of) {
      gradient.value.resize(of.size());
      gradient.deviation.resize(of.size());
    }

    std::span<const float> parameters;
    std::size_t next = 0;        // parameter: forward the first of the layer, backward the one after its last
    Signal now;                  // forward: what the layer reads, then makes; backward: the gradient of either
    Signal in;                   // backward: what the layer read
    std::vector<Signal> inputs;  // of each layer
    Gradient gradient;

    double weight(std::size_t i) const { return static_cast<double>(parameters[i]); }
    void put(std::size_t parameter, const Sum& sum) {
      gradient.value[parameter] = sum.value;
      gradient.deviation[parameter] = std::sqrt(sum.variance());
    }
    static void put(Signal& signal, std::size_t i, const Sum& sum) {
      signal.value[i] = sum.value;
      signal.variance[i] = sum.variance();
    }
    // True if single precision may not know which of the two is larger.
    static bool close(double a, double variance_a, double b, double variance_b) {
      return std::abs(a - b) <= kDeviations * (std::sqrt(variance_a) + std::sqrt(variance_b));
    }

    // Calls visit(output, weight, input) for each product of the layer, as places.
    template <class Visit>
    static void each_product(const lanes::Conv2d& l, const lanes::Shape& in, const lanes::Shape& out, Visit visit) {
      for (std::size_t o = 0; o < out.channels; ++o)
        for (std::size_t y = 0; y < out.height; ++y)
          for (std::size_t x = 0; x < out.width; ++x)
            for (std::size_t c = 0; c < in.channels; ++c)
              for (std::size_t ky = 0; ky < l.kernel_height; ++ky)
                for (std::size_t kx = 0; kx < l.kernel_width; ++kx) {
                  const std::size_t iy = y * l.stride + ky - l.padding;  // wraps around above the first row
                  const std::size_t ix = x * l.stride + kx - l.padding;
                  if (iy >= in.height || ix >= in.width) continue;
                  visit((o * out.height + y) * out.width + x,
                        ((o * in.channels + c) * l.kernel_height + ky) * l.kernel_width + kx,
                        (c * in.height + iy) * in.width + ix);
                }
    }
    template <class Visit>
    static void each_product(const lanes::Linear&, const lanes::Shape& in, const lanes::Shape& out, Visit visit) {
      for (std::size_t o = 0; o < out.size(); ++o)
        for (std::size_t i = 0; i < in.size(); ++i) visit(o, o * in.size() + i, i);
    }
    static lanes::Shape output(const lanes::Conv2d& l, const lanes::Shape& in) {
      return {l.outputs, (in.height + 2 * l.padding - l.kernel_height) / l.stride + 1,
              (in.width + 2 * l.padding - l.kernel_width) / l.stride + 1};
    }
    static lanes::Shape output(const lanes::Linear& l, const lanes::Shape&) { return {l.outputs, 1, 1}; }
    static lanes::Shape output(const lanes::Pool& l, const lanes::Shape& in) {
      return {in.channels, (in.height - l.kernel) / l.stride + 1, (in.width - l.kernel) / l.stride + 1};
    }
    static std::size_t weights(const lanes::Conv2d& l, const lanes::Shape& in) {
      return l.outputs * in.channels * l.kernel_height * l.kernel_width;
    }
    static std::size_t weights(const lanes::Linear& l, const lanes::Shape& in) { return l.outputs * in.size(); }

    template <class Products>
    void forward_products(const Products& l) {
      const Signal from = std::move(now);
      now = Signal(output(l, from.shape));
      std::vector<Sum> sums(now.value.size());
      each_product(l, from.shape, now.shape, [&](std::size_t o, std::size_t w, std::size_t i) {
        sums[o].add(weight(next + w), 0, from.value[i], from.variance[i]);
      });
      next += weights(l, from.shape);
      const std::size_t area = now.shape.height * now.shape.width;
      for (std::size_t o = 0; o < sums.size(); ++o) {
        if (l.bias) sums[o].add(weight(next + o / area), 0, 1, 0);
        put(now, o, sums[o]);
      }
      if (l.bias) next += l.outputs;
    }
    template <class Products>
    void backward_products(const Products& l) {
      const Signal slope = std::move(now);
      now = Signal(in.shape);
      const std::size_t area = slope.shape.height * slope.shape.width;
      if (l.bias) {
        next -= l.outputs;
        for (std::size_t o = 0; o < l.outputs; ++o) {
          Sum sum;
          for (std::size_t p = o * area; p < (o + 1) * area; ++p) sum.add(slope.value[p], slope.variance[p], 1, 0);
          put(next + o, sum);
        }
      }
      next -= weights(l, in.shape);
      std::vector<Sum> sums(weights(l, in.shape));
      std::vector<Sum> back(in.value.size());
      each_product(l, in.shape, slope.shape, [&](std::size_t o, std::size_t w, std::size_t i) {
        sums[w].add(slope.value[o], slope.variance[o], in.value[i], in.variance[i]);
        back[i].add(weight(next + w), 0, slope.value[o], slope.variance[o]);
      });
      for (std::size_t w = 0; w < sums.size(); ++w) put(next + w, sums[w]);
      for (std::size_t i = 0; i < back.size(); ++i) put(now, i, back[i]);
    }

    void forward(const lanes::Conv2d& l) { forward_products(l); }
    void backward(const lanes::Conv2d& l) { backward_products(l); }
    void forward(const lanes::Linear& l) { forward_products(l); }
    void backward(const lanes::Linear& l) { backward_products(l); }

    void forward(const lanes::Flatten&) { now.shape = {now.shape.size(), 1, 1}; }
    void backward(const lanes::Flatten&) { now.shape = in.shape; }
    void forward(const lanes::Dropout&) { NF_CHECK(false, "networks without dropout"); }
    void backward(const lanes::Dropout&) {}

    void forward(const lanes::Activate& l) {
      NF_CHECK(l.function != lanes::Activation::kSigmoid, "ReLU and tanh");
      for (std::size_t i = 0; i < now.value.size(); ++i) {
        double& v = now.value[i];
        double& variance = now.variance[i];
        if (l.function == lanes::Activation::kRelu) {
          if (close(v, variance, 0, 0)) ++gradient.near_ties;
          if (v <= 0) variance = v = 0;
        } else {
          v = std::tanh(v);
          variance = std::pow(1 - v * v, 2) * variance + std::pow(kTanhUnits * kUnit * v, 2);
        }
      }
    }
    void backward(const lanes::Activate& l) {
      for (std::size_t i = 0; i < now.value.size(); ++i) {
        if (l.function == lanes::Activation::kRelu) {
          if (in.value[i] <= 0) now.value[i] = now.variance[i] = 0;
          continue;
        }
        const double y = std::tanh(in.value[i]);
        const double fall = 1 - y * y;
        const double y_variance = fall * fall * in.variance[i] + std::pow(kTanhUnits * kUnit * y, 2);
        const double g = now.value[i];
        now.value[i] = g * fall;
        now.variance[i] = now.variance[i] * fall * fall + g * g * (4 * y * y * y_variance + 4 * kUnit * kUnit);
      }
    }

    // The place of the first largest value of a window, and whether another place comes close to it.
    static std::pair<std::size_t, bool> largest(const lanes::Pool& l, const Signal& from, std::size_t c, std::size_t y,
                                                std::size_t x) {
      const auto place = [&](std::size_t k) {
        return (c * from.shape.height + y * l.stride + k / l.kernel) * from.shape.width + x * l.stride + k % l.kernel;
      };
      std::size_t best = place(0);
      for (std::size_t k = 1; k < l.kernel * l.kernel; ++k)
        if (from.value[place(k)] > from.value[best]) best = place(k);
      bool tied = false;
      for (std::size_t k = 0; k < l.kernel * l.kernel; ++k) {
        const std::size_t other = place(k);
        // Zeros that a ReLU made are zeros in single precision too, and pass no slope on.
        if (other == best || (from.variance[best] == 0 && from.variance[other] == 0)) continue;
        tied = tied || close(from.value[best], from.variance[best], from.value[other], from.variance[other]);
      }
      return {best, tied};
    }
    template <class Visit>
    static void each_window(const lanes::Shape& out, Visit visit) {
      for (std::size_t c = 0; c < out.channels; ++c)
        for (std::size_t y = 0; y < out.height; ++y)
          for (std::size_t x = 0; x < out.width; ++x) visit((c * out.height + y) * out.width + x, c, y, x);
    }
    void forward(const lanes::Pool& l) {
      NF_CHECK(l.kind == lanes::Pooling::kMax, "max pooling");
      const Signal from = std::move(now);
      now = Signal(output(l, from.shape));
      each_window(now.shape, [&](std::size_t at, std::size_t c, std::size_t y, std::size_t x) {
        const auto [best, tied] = largest(l, from, c, y, x);
        if (tied) ++gradient.near_ties;
        now.value[at] = from.value[best];
        now.variance[at] = from.variance[best];
      });
    }
    void backward(const lanes::Pool& l) {
      const Signal slope = std::move(now);
      now = Signal(in.shape);
      std::vector<Sum> back(in.value.size());
      each_window(slope.shape, [&](std::size_t at, std::size_t c, std::size_t y, std::size_t x) {
        back[largest(l, in, c, y, x).first].add(slope.value[at], slope.variance[at], 1, 0);
      });
      for (std::size_t i = 0; i < back.size(); ++i) put(now, i, back[i]);
    }

    static Standardized standardized(const Signal& from, double epsilon) {
      const auto n = static_cast<double>(from.value.size());
      Sum mean;
      for (std::size_t i = 0; i < from.value.size(); ++i) mean.add(from.value[i], from.variance[i], 1 / n, 0);
      Standardized out{Signal(from.shape)};
      Sum variance;
      for (std::size_t i = 0; i < from.value.size(); ++i) {
        double& off = out.z.value[i];
        off = from.value[i] - mean.value;
        out.z.variance[i] = from.variance[i] + mean.variance() + kUnit * kUnit * off * off;
        variance.add(off * off, 4 * off * off * out.z.variance[i], 1 / n, 0);
      }
      out.scale = 1 / std::sqrt(variance.value + epsilon);
      const double relative = variance.variance() / std::pow(2 * (variance.value + epsilon), 2) + 4 * kUnit * kUnit;
      out.scale_variance = out.scale * out.scale * relative;
      for (std::size_t i = 0; i < from.value.size(); ++i) {
        const double off = out.z.value[i];
        const double z = off * out.scale;
        out.z.variance[i] =
            out.scale * out.scale * out.z.variance[i] + off * off * out.scale_variance + kUnit * kUnit * z * z;
        out.z.value[i] = z;
      }
      return out;
    }
    void forward(const lanes::Normalize& l) {
      NF_CHECK(l.groups == 1 && l.per_feature && l.affine, "layer norm");
      const Signal z = standardized(now, static_cast<double>(l.epsilon)).z;
      const std::size_t n = z.value.size();
      for (std::size_t i = 0; i < n; ++i) {
        Sum sum;
        sum.add(weight(next + i), 0, z.value[i], z.variance[i]);
        sum.add(weight(next + n + i), 0, 1, 0);
        put(now, i, sum);
      }
      next += 2 * n;
    }
    void backward(const lanes::Normalize& l) {
      const Standardized s = standardized(in, static_cast<double>(l.epsilon));
      const std::size_t n = in.value.size();
      next -= 2 * n;
      Sum mean;
      Sum along;
      const double share = 1 / static_cast<double>(n);
      for (std::size_t i = 0; i < n; ++i) {
        Sum of_weight;
        of_weight.add(now.value[i], now.variance[i], s.z.value[i], s.z.variance[i]);
        put(next + i, of_weight);
        Sum of_bias;
        of_bias.add(now.value[i], now.variance[i], 1, 0);
        put(next + n + i, of_bias);
        Sum slope;
        slope.add(now.value[i], now.variance[i], weight(next + i), 0);
        put(now, i, slope);
        mean.add(now.value[i], now.variance[i], share, 0);
        along.add(now.value[i] * share, now.variance[i] * share * share, s.z.value[i], s.z.variance[i]);
      }
      for (std::size_t i = 0; i < n; ++i) {
        Sum off;
        off.add(now.value[i], now.variance[i], 1, 0);
        off.add(mean.value, mean.variance(), -1, 0);
        off.add(along.value, along.variance(), -s.z.value[i], s.z.variance[i]);
        Sum back;
        back.add(off.value, off.variance(), s.scale, s.scale_variance);
        put(now, i, back);
      }
    }

    // The gradient of cross-entropy: softmax minus the label.
    void seed(std::int32_t label) {
      const std::size_t classes = now.value.size();
      const double most = *std::max_element(now.value.begin(), now.value.end());
      double sum = 0;
      for (const double v : now.value) sum += std::exp(v - most);
      std::vector<double> p;
      for (const double v : now.value) p.push_back(std::exp(v - most) / sum);
      const std::vector<double> carried = now.variance;
      for (std::size_t c = 0; c < classes; ++c) {
        double variance = std::pow((kExpUnits + std::sqrt(static_cast<double>(classes))) * kUnit, 2);
        for (std::size_t k = 0; k < classes; ++k) variance += std::pow((c == k ? 1 : 0) - p[k], 2) * carried[k];
        now.value[c] = p[c] - (c == static_cast<std::size_t>(label) ? 1 : 0);
        now.variance[c] = p[c] * p[c] * variance + std::pow(kUnit * now.value[c], 2);
      }
    }
  };

  lanes::Shape input_;
  std::vector<lanes::Layer> layers_;
};

}  // namespace noisefloor::testing
