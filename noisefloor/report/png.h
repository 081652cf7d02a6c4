// Small pictures as PNG.
//
// Guarantee:     every reader of PNG shows these pixels. The bytes are not compressed, and follow from the pixels
//                alone.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace noisefloor {

// Row after row, `channels` bytes for each pixel: 1 for grey, 3 for red, green and blue. Requires width · height ·
// channels bytes (checked).
[[nodiscard]] std::string to_png(std::span<const std::uint8_t> pixels, std::size_t width, std::size_t height,
                                 std::size_t channels);

// The same of numbers from 0 to 1, plane after plane; of other numbers of channels than 1 and 3 the first one is shown.
[[nodiscard]] std::string picture_of(std::span<const double> planes, std::size_t width, std::size_t height,
                                     std::size_t channels);

}  // namespace noisefloor
