// Bytes written and read in order; whole numbers are little-endian, floats as their bits.
//
// Internal to federated/.
//
// Guarantee:     a reader allocates nothing that is larger than the bytes it was given. Reads past the end give zeros
//                and are remembered: ask done() last.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace noisefloor::federated::internal {

class BodyWriter {
 public:
  template <std::unsigned_integral Number>
  BodyWriter& number(Number value) {
    for (std::size_t i = 0; i < sizeof value; ++i) out_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    return *this;
  }
  BodyWriter& bytes(std::span<const std::uint8_t> bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  BodyWriter& floats(std::span<const float> values) {
    out_.reserve(out_.size() + 4 * values.size());
    for (const float value : values) number(std::bit_cast<std::uint32_t>(value));
    return *this;
  }
  BodyWriter& doubles(std::span<const double> values) {
    out_.reserve(out_.size() + 8 * values.size());
    for (const double value : values) number(std::bit_cast<std::uint64_t>(value));
    return *this;
  }
  // Lists of any length: their length first.
  BodyWriter& sized(std::span<const std::uint8_t> bytes_of_it) {
    return number(static_cast<std::uint64_t>(bytes_of_it.size())).bytes(bytes_of_it);
  }
  [[nodiscard]] std::vector<std::uint8_t> take() { return std::move(out_); }

 private:
  std::vector<std::uint8_t> out_;
};

class BodyReader {
 public:
  explicit BodyReader(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

  template <std::unsigned_integral Number>
  Number number() {
    Number value = 0;
    const auto from = bytes(sizeof value);
    for (std::size_t i = 0; i < from.size(); ++i) value = static_cast<Number>(value | Number{from[i]} << (8 * i));
    return value;
  }
  template <std::size_t N>
  std::array<std::uint8_t, N> array() {
    std::array<std::uint8_t, N> result{};
    const auto from = bytes(N);
    std::copy(from.begin(), from.end(), result.begin());
    return result;
  }
  std::span<const std::uint8_t> bytes(std::size_t count) {
    if (count > rest_.size()) {
      failed_ = true;
      rest_ = {};
      return {};
    }
    const auto result = rest_.first(count);
    rest_ = rest_.subspan(count);
    return result;
  }
  std::vector<float> floats(std::uint64_t count) {
    std::vector<float> values;
    if (!holds(count, 4)) return values;
    values.resize(count);
    for (float& value : values) value = std::bit_cast<float>(number<std::uint32_t>());
    return values;
  }
  std::vector<double> doubles(std::uint64_t count) {
    std::vector<double> values;
    if (!holds(count, 8)) return values;
    values.resize(count);
    for (double& value : values) value = std::bit_cast<double>(number<std::uint64_t>());
    return values;
  }
  std::vector<std::uint8_t> sized() {
    const auto count = number<std::uint64_t>();
    if (!holds(count, 1)) return {};
    const auto from = bytes(count);
    return {from.begin(), from.end()};
  }
  [[nodiscard]] std::size_t left() const { return rest_.size(); }
  [[nodiscard]] bool done() const { return !failed_ && rest_.empty(); }

 private:
  bool holds(std::uint64_t count, std::size_t size) {
    if (count <= rest_.size() / size) return true;
    failed_ = true;
    rest_ = {};
    return false;
  }

  std::span<const std::uint8_t> rest_;
  bool failed_ = false;
};

}  // namespace noisefloor::federated::internal
