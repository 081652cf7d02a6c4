#include "noisefloor/model/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMaxHeader = std::size_t{16} << 20;
static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");

Error bad(std::string_view what) {
  return input_data_error(fmt::format("not a safetensors file of 32-bit floats: {}", what));
}

// The product of a shape's sizes, at most `limit`; nothing if it is above.
std::optional<std::size_t> volume_up_to(const std::vector<std::size_t>& shape, std::size_t limit) {
  std::size_t volume = 1;
  for (const std::size_t size : shape) {
    if (size != 0 && volume > limit / size) return std::nullopt;
    volume *= size;
  }
  return volume;
}

Result<NamedTensor> read_tensor(const std::string& name, const Json& entry, std::string_view numbers) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets")) {
    return bad("a tensor needs dtype, shape and data_offsets");
  }
  if (entry["dtype"] != "F32") return bad(fmt::format("tensor {} is not of type F32", shown(name)));
  NamedTensor tensor{name, {}, {}};
  const Json& shape = entry["shape"];
  const Json& offsets = entry["data_offsets"];
  const auto is_size = [](const Json& value) { return value.is_number_unsigned(); };
  if (!shape.is_array() || !std::all_of(shape.begin(), shape.end(), is_size) || !offsets.is_array() ||
      offsets.size() != 2 || !std::all_of(offsets.begin(), offsets.end(), is_size)) {
    return bad(fmt::format("shape and data_offsets of tensor {} must be whole numbers", shown(name)));
  }
  for (const Json& size : shape) tensor.shape.push_back(size.get<std::size_t>());
  const auto begin = offsets[0].get<std::size_t>();
  const auto end = offsets[1].get<std::size_t>();
  const auto volume = volume_up_to(tensor.shape, numbers.size() / sizeof(float));
  if (begin > end || end > numbers.size() || !volume || end - begin != *volume * sizeof(float)) {
    return bad(fmt::format("tensor {} does not lie within the file", shown(name)));
  }
  tensor.values.resize(*volume);
  if (*volume > 0) std::memcpy(tensor.values.data(), numbers.data() + begin, end - begin);
  return tensor;
}

}  // namespace

const NamedTensor* TensorFile::find(std::string_view name) const {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const NamedTensor& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

Result<void> expect_tensors(const TensorFile& file, std::span<const WantedTensor> wanted) {
  for (const WantedTensor& one : wanted) {
    const NamedTensor* tensor = file.find(one.name);
    if (tensor == nullptr) {
      if (one.may_lack) continue;
      return input_data_error(fmt::format("the file of weights has no tensor {}, which the model needs", one.name));
    }
    if (tensor->shape != one.shape) {
      return input_data_error(fmt::format("tensor {} of the file of weights is {}; the model's is {}", one.name,
                                          fmt::join(tensor->shape, " x "), fmt::join(one.shape, " x ")));
    }
  }
  for (const NamedTensor& tensor : file.tensors) {
    const bool known =
        std::any_of(wanted.begin(), wanted.end(), [&](const WantedTensor& one) { return one.name == tensor.name; });
    if (!known) {
      return input_data_error(
          fmt::format("the file of weights has a tensor {}, which the model does not have", shown(tensor.name)));
    }
  }
  return success();
}

std::string to_safetensors(const TensorFile& file) {
  Json header = Json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  std::size_t offset = 0;
  for (const NamedTensor& tensor : file.tensors) {
    const auto volume = volume_up_to(tensor.shape, tensor.values.size());
    NF_CHECK(volume == tensor.values.size(), "as many values as the shape says");
    NF_CHECK(!header.contains(tensor.name), "different names");
    const std::size_t end = offset + tensor.values.size() * sizeof(float);
    header[tensor.name] = Json{{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');  // numbers are aligned
  const std::uint64_t length = text.size();
  std::string bytes(kLengthBytes, '\0');
  std::memcpy(bytes.data(), &length, kLengthBytes);
  bytes += text;
  for (const NamedTensor& tensor : file.tensors) {
    bytes.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size() * sizeof(float));
  }
  return bytes;
}

Result<TensorFile> parse_safetensors(std::string_view bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < kLengthBytes) return bad("it is too short");
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > bytes.size() - kLengthBytes || length > kMaxHeader) return bad("its header is longer than the file");
  const std::string_view numbers = bytes.substr(kLengthBytes + length);
  const Json header = Json::parse(bytes.substr(kLengthBytes, length), nullptr, false);
  if (!header.is_object()) return bad("its header is not a JSON object");
  TensorFile file;
  std::size_t covered = 0;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) return bad("its metadata are not named texts");
      for (const auto& [key, text] : entry.items()) {
        if (!text.is_string()) return bad("its metadata are not named texts");
        file.metadata[key] = text.get<std::string>();
      }
      continue;
    }
    NF_TRY(NamedTensor tensor, read_tensor(name, entry, numbers));
    covered += tensor.values.size() * sizeof(float);
    if (covered > numbers.size()) return bad("its tensors overlap");
    file.tensors.push_back(std::move(tensor));
  }
  if (covered != numbers.size()) return bad("it has bytes that belong to no tensor");
  return file;
}

}  // namespace noisefloor
