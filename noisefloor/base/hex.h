// Bytes as lower-case hexadecimal text, and back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace noisefloor {

[[nodiscard]] std::string to_hex(std::span<const std::uint8_t> bytes);

// False unless `text` is two digits 0-9 and a-f for each byte of `into`: one text for one sequence of bytes.
[[nodiscard]] bool from_hex(std::string_view text, std::span<std::uint8_t> into);

}  // namespace noisefloor
