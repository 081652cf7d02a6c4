#include "noisefloor/lanes/program.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "noisefloor/base/check.h"

namespace noisefloor::lanes {
namespace {

// Largest number of features, parameters or copies.
constexpr std::size_t kMaxSize = std::size_t{1} << 24;
// Largest number of floats in a worker's memory: offsets stay within 31 bits.
constexpr std::size_t kMaxMemory = std::size_t{1} << 30;

// The product, or kMaxSize + 1 if that is smaller.
template <class... Sizes>
std::size_t product(Sizes... sizes) {
  std::size_t result = 1;
  const auto multiply = [&](std::size_t size) {
    if (size == 0 || result == 0) {
      result = 0;
    } else {
      result = result > kMaxSize / size ? kMaxSize + 1 : result * size;
    }
  };
  (multiply(sizes), ...);
  return result;
}

std::size_t size_of(const Shape& shape) { return product(shape.channels, shape.height, shape.width); }

template <class Wanted>
const Wanted* as(const Layer& layer) {
  return std::get_if<Wanted>(&layer);
}

std::size_t windows(std::size_t size, std::size_t padding, std::size_t kernel, std::size_t stride) {
  const std::size_t padded = size + 2 * padding;
  return kernel == 0 || stride == 0 || padded < kernel ? 0 : (padded - kernel) / stride + 1;
}

std::string shown(const Shape& shape) { return fmt::format("{} x {} x {}", shape.channels, shape.height, shape.width); }

// The place in a packed tile order of the weights of `outputs` outputs, where weight(output, tap) is a parameter.
template <class Weight>
std::vector<std::uint32_t> packed_order(std::size_t outputs, std::size_t taps, std::size_t columns, Weight weight) {
  std::vector<std::uint32_t> order;
  order.reserve(outputs * taps);
  for (std::size_t first = 0; first < outputs;) {
    const std::size_t tile = tile_of_outputs(outputs, first, columns);
    for (std::size_t tap = 0; tap < taps; ++tap) {
      for (std::size_t o = first; o < first + tile; ++o) order.push_back(static_cast<std::uint32_t>(weight(o, tap)));
    }
    first += tile;
  }
  return order;
}

std::int32_t offset(std::ptrdiff_t value) { return static_cast<std::int32_t>(value); }
std::ptrdiff_t signed_of(std::size_t value) { return static_cast<std::ptrdiff_t>(value); }

}  // namespace

Strides Program::strides(const Tensor& tensor, std::size_t margin) const {
  const std::size_t row = (tensor.shape.width + 2 * margin) * lanes();
  return {(tensor.shape.height + 2 * margin) * row, row, lanes()};
}

Result<Program> Program::create(Shape input, const std::vector<Layer>& layers, Loss loss, std::size_t copies,
                                InstructionSet set) {
  if (size_of(input) == 0 || size_of(input) > kMaxSize) {
    return invalid_argument(
        fmt::format("a network's input has 1 to {} features; {} was given", kMaxSize, shown(input)));
  }
  if (copies == 0 || copies > kMaxSize / input.size()) {
    return invalid_argument(
        fmt::format("copies of an example: {} was given; allowed are 1 to {}", copies, kMaxSize / input.size()));
  }
  Program program;
  program.kernels_ = &kernels_for(set);
  program.set_ = set;
  program.copies_ = copies;
  program.loss_ = loss;
  program.tensors_.push_back({.shape = input});
  for (std::size_t number = 1; number <= layers.size(); ++number) NF_TRY_VOID(program.add(layers[number - 1], number));
  if (loss == Loss::kBinary && program.outputs() != 1) {
    return invalid_argument(fmt::format("a binary loss needs one output; the network has {}", program.outputs()));
  }
  program.lay_out();
  if (program.memory_ > kMaxMemory) {
    return invalid_argument(fmt::format("the network needs {} MB for a block of examples; the limit is {} MB",
                                        program.memory_ / (std::size_t{1} << 18), kMaxMemory / (std::size_t{1} << 18)));
  }
  for (Operation& operation : program.operations_) program.connect(operation);
  return program;
}

Result<Program> Program::with_copies(std::size_t copies) const {
  std::vector<Layer> layers;
  for (const Operation& operation : operations_) layers.push_back(operation.layer);
  return create(input(), layers, loss_, copies, set_);
}

Result<void> Program::add(const Layer& layer, std::size_t number) {
  const std::size_t last = operations_.empty() ? 0 : operations_.back().out;
  const Shape from = tensors_[last].shape;
  Shape to = from;
  Operation operation;
  operation.layer = layer;
  operation.in = last;
  operation.out = tensors_.size();
  if (const auto* linear = as<Linear>(layer)) {
    if (from.height != 1 || from.width != 1) {
      return invalid_argument(fmt::format(
          "layer {} (linear) needs a plain vector; it gets {}: put a flatten layer before it", number, shown(from)));
    }
    to = {linear->outputs, 1, 1};
    operation.weight_count = product(from.channels, linear->outputs);
    operation.bias_count = linear->bias ? linear->outputs : 0;
  } else if (const auto* conv = as<Conv2d>(layer)) {
    if (conv->padding >= std::max<std::size_t>(1, std::min(conv->kernel_height, conv->kernel_width))) {
      return invalid_argument(fmt::format("layer {} (conv2d): a padding of {} is not below the kernel, {} x {}", number,
                                          conv->padding, conv->kernel_height, conv->kernel_width));
    }
    to = {conv->outputs, windows(from.height, conv->padding, conv->kernel_height, conv->stride),
          windows(from.width, conv->padding, conv->kernel_width, conv->stride)};
    operation.weight_count = product(conv->outputs, from.channels, conv->kernel_height, conv->kernel_width);
    operation.bias_count = conv->bias ? conv->outputs : 0;
    tensors_[last].value_margin = std::max(tensors_[last].value_margin, conv->padding);
  } else if (const auto* pool = as<Pool>(layer)) {
    to = {from.channels, windows(from.height, 0, pool->kernel, pool->stride),
          windows(from.width, 0, pool->kernel, pool->stride)};
  } else if (const auto* normalize = as<Normalize>(layer)) {
    if (normalize->groups == 0 || from.channels % normalize->groups != 0) {
      return invalid_argument(fmt::format("layer {} (normalize): {} groups do not divide {} channels", number,
                                          normalize->groups, from.channels));
    }
    const std::size_t count = normalize->per_feature ? from.size() : from.channels;
    operation.weight_count = operation.bias_count = normalize->affine ? count : 0;
  } else if (const auto* dropout = as<Dropout>(layer)) {
    if (!(dropout->rate >= 0 && dropout->rate < 1)) {
      return invalid_argument(
          fmt::format("layer {} (dropout): a rate of {} was given; allowed are 0 to below 1", number, dropout->rate));
    }
    words_ += from.size() * copies_;
  } else if (as<Flatten>(layer) != nullptr) {
    to = {from.size(), 1, 1};
  } else if (last != 0) {
    operation.out = last;  // Activate, in place; but not on the input
  }
  if (size_of(to) == 0 || size_of(to) > kMaxSize / copies_) {
    return invalid_argument(fmt::format("layer {} makes {} of {}: allowed are 1 to {} features", number, shown(to),
                                        shown(from), kMaxSize / copies_));
  }
  if (operation.weight_count > kMaxSize || parameters_ + operation.weight_count > kMaxSize) {
    return invalid_argument(fmt::format(
        "layer {} makes the network too large for vector lanes: the limit is {} parameters", number, kMaxSize));
  }
  if (operation.weight_count + operation.bias_count > 0) {
    operation.group = groups_++;
    operation.weights = parameters_;
    operation.bias = parameters_ + operation.weight_count;
    parameters_ += operation.weight_count + operation.bias_count;
  }
  if (operation.out == tensors_.size()) {
    const bool trained = tensors_[last].needs_gradient || operation.group.has_value();
    tensors_.push_back({.shape = to, .needs_gradient = trained});
  }
  if (const auto* conv = as<Conv2d>(layer); conv != nullptr && tensors_[last].needs_gradient) {
    const std::size_t reach = std::max(conv->kernel_height, conv->kernel_width) - 1;
    tensors_[operation.out].gradient_margin = reach / conv->stride + 1;
  }
  operations_.push_back(std::move(operation));
  return success();
}

// Gives every tensor and buffer its place.
void Program::lay_out() {
  const auto take = [this](std::size_t vectors) {
    const std::size_t place = memory_;
    memory_ += vectors * lanes();
    return place;
  };
  // Gradients of examples come first, so that they are cleared at once.
  for (Operation& operation : operations_) operation.own = take(operation.own_weights() + operation.bias_count);
  own_size_ = memory_;
  for (Tensor& tensor : tensors_) {
    const auto plane = [&](std::size_t margin) {
      const std::size_t area = (tensor.shape.height + 2 * margin) * (tensor.shape.width + 2 * margin);
      const std::size_t row = tensor.shape.width + 2 * margin;
      return take(area * tensor.shape.channels * copies_) + margin * (row + 1) * lanes();
    };
    tensor.value = plane(tensor.value_margin);
    if (tensor.needs_gradient) tensor.gradient = plane(tensor.gradient_margin);
  }
  for (Operation& operation : operations_) {
    const std::size_t size = tensors_[operation.out].shape.size();
    if (const auto* normalize = as<Normalize>(operation.layer)) {
      operation.kept = take(size * copies_);
      operation.scratch = take(normalize->groups * copies_ + size);
    } else if (as<Dropout>(operation.layer) != nullptr) {
      operation.kept = take(size * copies_);
    }
  }
}

// The taps and packed weights of Conv2d and Linear.
void Program::connect(Operation& operation) {
  const auto* conv = as<Conv2d>(operation.layer);
  if (conv == nullptr && as<Linear>(operation.layer) == nullptr) return;
  const Tensor& in = tensors_[operation.in];
  const Tensor& out = tensors_[operation.out];
  const std::size_t inputs = in.shape.channels;
  const std::size_t outputs = out.shape.channels;
  const std::size_t height = conv != nullptr ? conv->kernel_height : 1;
  const std::size_t width = conv != nullptr ? conv->kernel_width : 1;
  const std::size_t stride = conv != nullptr ? conv->stride : 1;
  const std::size_t padding = conv != nullptr ? conv->padding : 0;
  const Strides value = value_strides(in);
  const Strides result = value_strides(out);
  const Strides slope = gradient_strides(out);
  const Strides in_slope = gradient_strides(in);
  const auto weight = [&](std::size_t output, std::size_t input, std::size_t y, std::size_t x) {
    return operation.weights + ((output * inputs + input) * height + y) * width + x;
  };
  const auto reserve = [this](Operation::Part& part) {
    part.packed = packed_size_;
    packed_size_ += part.order.size();
  };
  // Copies of a plain vector are its columns.
  const auto plain = [&](Operation::Part& part) {
    if (conv != nullptr) return;
    part.grid = {1, 1, copies_};
    part.in_strides = part.out_strides = {0, 0, lanes()};
  };

  Operation::Part& forward = operation.forward;
  forward.grid = {copies_, out.shape.height, out.shape.width};
  forward.in_start = -signed_of(padding * (value.row + value.column));
  forward.in_strides = {value.copy, stride * value.row, stride * value.column};
  forward.out_strides = result;
  for (std::size_t input = 0; input < inputs; ++input) {
    for (std::size_t y = 0; y < height; ++y) {
      for (std::size_t x = 0; x < width; ++x) {
        forward.taps.push_back(offset(signed_of(input * value_channel(in) + y * value.row + x * value.column)));
      }
    }
  }
  plain(forward);
  const std::size_t area = height * width;
  forward.order = packed_order(outputs, forward.taps.size(), forward.grid.columns, [&](std::size_t o, std::size_t tap) {
    return weight(o, tap / area, tap % area / width, tap % width);
  });
  reserve(forward);
  if (!in.needs_gradient) return;

  // Input row r meets output row (r + padding - y) / stride for the kernel rows y where that is whole: those with the
  // same remainder, the phase.
  for (std::size_t phase_y = 0; phase_y < stride; ++phase_y) {
    for (std::size_t phase_x = 0; phase_x < stride; ++phase_x) {
      const std::size_t row = (phase_y + stride - padding % stride) % stride;  // the first of the phase
      const std::size_t column = (phase_x + stride - padding % stride) % stride;
      if (row >= in.shape.height || column >= in.shape.width) continue;
      Operation::Part part;
      part.grid = {copies_, (in.shape.height - row + stride - 1) / stride,
                   (in.shape.width - column + stride - 1) / stride};
      part.out_start = signed_of(row * in_slope.row + column * in_slope.column);
      part.out_strides = {in_slope.copy, stride * in_slope.row, stride * in_slope.column};
      part.in_start = signed_of((row + padding - phase_y) / stride * slope.row +
                                (column + padding - phase_x) / stride * slope.column);
      part.in_strides = slope;
      std::vector<std::pair<std::size_t, std::size_t>> kernel;
      for (std::size_t y = phase_y; y < height; y += stride) {
        for (std::size_t x = phase_x; x < width; x += stride) kernel.emplace_back(y, x);
      }
      for (std::size_t output = 0; output < outputs; ++output) {
        for (const auto& [y, x] : kernel) {
          part.taps.push_back(offset(signed_of(output * gradient_channel(out)) - signed_of(y / stride * slope.row) -
                                     signed_of(x / stride * slope.column)));
        }
      }
      plain(part);
      part.order = packed_order(inputs, part.taps.size(), part.grid.columns, [&](std::size_t input, std::size_t tap) {
        const auto& [y, x] = kernel[tap % kernel.size()];
        return weight(tap / kernel.size(), input, y, x);
      });
      reserve(part);
      operation.backward.push_back(std::move(part));
    }
  }
}

void PackedWeights::pack(const Program& program, std::span<const float> parameters) {
  NF_CHECK(parameters.size() == program.parameters(), "one number for each parameter");
  const auto copy = [&](const Operation::Part& part) {
    for (std::size_t i = 0; i < part.order.size(); ++i) packed_[part.packed + i] = parameters[part.order[i]];
  };
  for (const Operation& operation : program.operations()) {
    copy(operation.forward);
    for (const Operation::Part& part : operation.backward) copy(part);
  }
}

}  // namespace noisefloor::lanes
