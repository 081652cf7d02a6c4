// Bytes as lower-case hexadecimal text, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace noisefloor {

[[nodiscard]] std::string to_hex(std::span<const std::uint8_t> bytes);

// Nothing unless `text` is an even number of digits 0-9 and a-f: one text for one sequence of bytes.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> from_hex(std::string_view text);

}  // namespace noisefloor
