// Weights as a safetensors file: named tensors of 32-bit floats, and texts about them.
//
// Guarantee:     reading returns what was written, bit for bit. A file that is damaged, of another type, or whose
//                header lies about its sizes is refused; nothing is allocated beyond the file's own size.
// Format:        8 bytes length of the header (little-endian), the header as JSON, the numbers.
// Thread safety: pure functions; plain data.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor {

struct NamedTensor {
  std::string name;
  std::vector<std::size_t> shape;
  std::vector<float> values;

  friend bool operator==(const NamedTensor&, const NamedTensor&) = default;
};

struct TensorFile {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;

  [[nodiscard]] const NamedTensor* find(std::string_view name) const;
};

struct WantedTensor {
  std::string name;
  std::vector<std::size_t> shape;
  bool may_lack = false;
};

// kInputData if a tensor is missing, left over, or of another shape.
[[nodiscard]] Result<void> expect_tensors(const TensorFile& file, std::span<const WantedTensor> wanted);

// Requires: different names, and as many values as the shape says (checked).
[[nodiscard]] std::string to_safetensors(const TensorFile& file);

// kInputData if the bytes are not such a file.
[[nodiscard]] Result<TensorFile> parse_safetensors(std::string_view bytes);

}  // namespace noisefloor
