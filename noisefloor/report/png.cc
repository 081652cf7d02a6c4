#include "noisefloor/report/png.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "noisefloor/base/check.h"

namespace noisefloor {
namespace {

constexpr std::size_t kMostStored = 65535;  // bytes in a block that is not compressed

std::uint32_t crc_of(const std::string& bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? crc >> 1U ^ 0xedb88320U : crc >> 1U;
  }
  return ~crc;
}

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(value >> shift & 0xffU);
  return bytes;
}

std::string chunk(const std::string& kind, const std::string& content) {
  return big_endian(static_cast<std::uint32_t>(content.size())) + kind + content + big_endian(crc_of(kind + content));
}

// A zlib stream of stored blocks.
std::string stored(const std::string& bytes) {
  std::string stream = "\x78\x01";
  for (std::size_t at = 0; at < bytes.size(); at += kMostStored) {
    const std::size_t size = std::min(kMostStored, bytes.size() - at);
    stream += at + size == bytes.size() ? '\x01' : '\x00';
    for (const std::size_t number : {size, ~size}) {
      stream += static_cast<char>(number & 0xffU);
      stream += static_cast<char>(number >> 8U & 0xffU);
    }
    stream += bytes.substr(at, size);
  }
  std::uint32_t a = 1;
  std::uint32_t b = 0;
  for (const char byte : bytes) {
    a = (a + static_cast<unsigned char>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  return stream + big_endian(b << 16U | a);
}

}  // namespace

std::string to_png(std::span<const std::uint8_t> pixels, std::size_t width, std::size_t height, std::size_t channels) {
  NF_CHECK(width > 0 && height > 0 && pixels.size() == width * height * channels && (channels == 1 || channels == 3),
           "a picture has a byte for each channel of each pixel");
  std::string lines;
  for (std::size_t y = 0; y < height; ++y) {
    lines += '\0';  // no filter
    for (std::size_t x = 0; x < width * channels; ++x) lines += static_cast<char>(pixels[y * width * channels + x]);
  }
  std::string head = big_endian(static_cast<std::uint32_t>(width)) + big_endian(static_cast<std::uint32_t>(height));
  head += '\x08';                         // bits
  head += channels == 3 ? '\x02' : '\0';  // colour, or grey
  head += std::string(3, '\0');
  return std::string("\x89PNG\r\n\x1a\n", 8) + chunk("IHDR", head) + chunk("IDAT", stored(lines)) + chunk("IEND", "");
}

std::string picture_of(std::span<const double> planes, std::size_t width, std::size_t height, std::size_t channels) {
  const std::size_t shown = channels == 3 ? 3 : 1;
  const std::size_t plane = width * height;
  std::vector<std::uint8_t> pixels;
  for (std::size_t i = 0; i < plane; ++i) {
    for (std::size_t c = 0; c < shown; ++c) {
      pixels.push_back(static_cast<std::uint8_t>(std::lround(255 * std::clamp(planes[c * plane + i], 0.0, 1.0))));
    }
  }
  return to_png(pixels, width, height, shown);
}

}  // namespace noisefloor
