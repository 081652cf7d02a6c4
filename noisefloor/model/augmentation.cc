#include "noisefloor/model/augmentation.h"

#include <algorithm>

#include "noisefloor/base/check.h"

namespace noisefloor {

void augment(std::span<const float> image, const lanes::Shape& shape, const Augmentation& how, std::uint32_t word,
             std::span<float> copy) {
  NF_CHECK(image.size() == shape.size() && copy.size() == shape.size(), "images of one shape");
  const bool mirrored = how.mirror && (word & 1U) != 0;
  // 15 bits for each direction make a few places equally likely, to 10^-4.
  const auto places = static_cast<std::uint32_t>(2 * how.shift + 1);
  const auto offset = [&](std::uint32_t bits) {
    return static_cast<std::ptrdiff_t>((bits & 0x7FFFU) * places >> 15) - static_cast<std::ptrdiff_t>(how.shift);
  };
  const std::ptrdiff_t down = offset(word >> 1);
  const std::ptrdiff_t right = offset(word >> 16);
  const auto height = static_cast<std::ptrdiff_t>(shape.height);
  const auto width = static_cast<std::ptrdiff_t>(shape.width);
  std::fill(copy.begin(), copy.end(), 0.0F);
  for (std::size_t channel = 0; channel < shape.channels; ++channel) {
    const float* from = image.data() + channel * shape.height * shape.width;
    float* to = copy.data() + channel * shape.height * shape.width;
    for (std::ptrdiff_t y = std::max<std::ptrdiff_t>(0, down); y < std::min(height, height + down); ++y) {
      for (std::ptrdiff_t x = std::max<std::ptrdiff_t>(0, right); x < std::min(width, width + right); ++x) {
        const std::ptrdiff_t column = mirrored ? width - 1 - (x - right) : x - right;
        to[y * width + x] = from[(y - down) * width + column];
      }
    }
  }
}

}  // namespace noisefloor
