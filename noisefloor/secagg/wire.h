// Bytes written and read in order; whole numbers are little-endian.
//
// Internal to secagg/.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "noisefloor/crypto/secret.h"

namespace noisefloor::secagg {

class Writer {
 public:
  explicit Writer(std::size_t expected = 0) { out_.reserve(expected); }

  template <std::unsigned_integral Number>
  Writer& number(Number value) {
    for (std::size_t i = 0; i < sizeof value; ++i) out_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    return *this;
  }
  Writer& bytes(Bytes bytes) {
    const std::span<std::uint8_t> to = room(bytes.size());
    if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
    return *this;
  }
  // Appends zeros, to be overwritten.
  std::span<std::uint8_t> room(std::size_t count) {
    const std::size_t before = out_.size();
    out_.resize(before + count);
    return {out_.data() + before, count};
  }
  [[nodiscard]] Bytes written() const { return out_; }
  [[nodiscard]] std::vector<std::uint8_t> take() { return std::move(out_); }

 private:
  std::vector<std::uint8_t> out_;
};

// A read past the end gives zeros, and so does every read after it: ask done() last.
class Reader {
 public:
  explicit Reader(Bytes bytes) : rest_(bytes) {}

  template <std::unsigned_integral Number>
  Number number() {
    Number value = 0;
    const Bytes from = bytes(sizeof value);
    for (std::size_t i = 0; i < from.size(); ++i) value = static_cast<Number>(value | Number{from[i]} << (8 * i));
    return value;
  }
  template <std::size_t N>
  std::array<std::uint8_t, N> array() {
    std::array<std::uint8_t, N> result{};
    const Bytes from = bytes(N);
    std::copy(from.begin(), from.end(), result.begin());
    return result;
  }
  // Returns nothing if there are fewer bytes.
  Bytes bytes(std::size_t count) {
    if (count > rest_.size()) {
      failed_ = true;
      rest_ = {};
      return {};
    }
    const Bytes result = rest_.first(count);
    rest_ = rest_.subspan(count);
    return result;
  }
  [[nodiscard]] std::size_t left() const { return rest_.size(); }
  // Whether everything was there, and nothing was left over.
  [[nodiscard]] bool done() const { return !failed_ && rest_.empty(); }

 private:
  Bytes rest_;
  bool failed_ = false;
};

}  // namespace noisefloor::secagg
