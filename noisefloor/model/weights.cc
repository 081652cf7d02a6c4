#include "noisefloor/model/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/base/check.h"

namespace noisefloor {
namespace {

struct Place {
  std::string name;
  std::vector<std::size_t> shape;
  std::size_t first;
  std::size_t count;
};

std::vector<std::size_t> weight_shape(const lanes::Program& program, const lanes::Operation& operation) {
  const lanes::Shape& in = program.tensors()[operation.in].shape;
  if (const auto* conv = std::get_if<lanes::Conv2d>(&operation.layer)) {
    return {conv->outputs, in.channels, conv->kernel_height, conv->kernel_width};
  }
  if (std::holds_alternative<lanes::Linear>(operation.layer)) {
    return {operation.weight_count / in.size(), in.size()};
  }
  return {operation.weight_count};
}

std::vector<Place> places(const lanes::Program& program) {
  std::vector<Place> result;
  for (std::size_t i = 0; i < program.operations().size(); ++i) {
    const lanes::Operation& operation = program.operations()[i];
    if (operation.weight_count > 0) {
      result.push_back(
          {fmt::format("{}.weight", i), weight_shape(program, operation), operation.weights, operation.weight_count});
    }
    if (operation.bias_count > 0) {
      result.push_back({fmt::format("{}.bias", i), {operation.bias_count}, operation.bias, operation.bias_count});
    }
  }
  return result;
}

}  // namespace

std::vector<float> initial_weights(const lanes::Program& program, BitStream& stream) {
  std::vector<float> weights(program.parameters());
  for (const lanes::Operation& operation : program.operations()) {
    float* const first = weights.data() + operation.weights;
    if (std::holds_alternative<lanes::Normalize>(operation.layer)) {
      std::fill_n(first, operation.weight_count, 1.0F);
      continue;
    }
    if (!operation.group) continue;
    const std::size_t units = program.tensors()[operation.out].shape.channels;
    const std::size_t inputs = operation.weight_count / units;
    const double bound = 1 / std::sqrt(static_cast<double>(inputs));
    for (std::size_t i = 0; i < operation.weight_count + operation.bias_count; ++i) {
      first[i] = static_cast<float>(bound * (std::ldexp(static_cast<double>(stream.next_u32()), -31) - 1));
    }
  }
  return weights;
}

std::vector<NamedTensor> name_weights(const lanes::Program& program, std::span<const float> weights) {
  NF_CHECK(weights.size() == program.parameters(), "one number for each parameter");
  std::vector<NamedTensor> tensors;
  for (const Place& place : places(program)) {
    const std::span<const float> values = weights.subspan(place.first, place.count);
    tensors.push_back({place.name, place.shape, {values.begin(), values.end()}});
  }
  return tensors;
}

Result<std::vector<float>> take_weights(const lanes::Program& program, const TensorFile& file) {
  const std::vector<Place> all = places(program);
  std::vector<WantedTensor> wanted;
  wanted.reserve(all.size());
  for (const Place& place : all) wanted.push_back({place.name, place.shape});
  NF_TRY_VOID(expect_tensors(file, wanted));
  std::vector<float> weights(program.parameters());
  for (const Place& place : all) {
    const NamedTensor* tensor = file.find(place.name);
    std::copy(tensor->values.begin(), tensor->values.end(), weights.begin() + static_cast<std::ptrdiff_t>(place.first));
  }
  return weights;
}

}  // namespace noisefloor
