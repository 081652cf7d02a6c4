// Bytes that no one else may see. They are wiped when they are no longer needed.
//
// Guarantee:     a Secret's memory is overwritten when it is destroyed, assigned to, or moved from; it is copied by
//                clone() only.
// Thread safety: that of an array.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace noisefloor {

using Bytes = std::span<const std::uint8_t>;

[[nodiscard]] inline Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Overwrites the bytes with zeros, in a way that no optimisation removes.
void wipe(std::span<std::uint8_t> bytes);

// Compares in a time that depends on the sizes only.
[[nodiscard]] bool equal_in_constant_time(Bytes a, Bytes b);

template <std::size_t N>
class Secret {
 public:
  Secret() = default;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  Secret(Secret&& other) noexcept : bytes_(other.bytes_) { wipe(other.bytes_); }
  Secret& operator=(Secret&& other) noexcept {
    if (this != &other) {
      bytes_ = other.bytes_;
      wipe(other.bytes_);
    }
    return *this;
  }
  ~Secret() { wipe(bytes_); }

  [[nodiscard]] Secret clone() const {
    Secret copy;
    copy.bytes_ = bytes_;
    return copy;
  }

  [[nodiscard]] std::span<std::uint8_t, N> bytes() { return bytes_; }
  [[nodiscard]] std::span<const std::uint8_t, N> bytes() const { return bytes_; }

 private:
  std::array<std::uint8_t, N> bytes_{};
};

using Secret32 = Secret<32>;

}  // namespace noisefloor
