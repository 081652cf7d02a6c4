// Internal to engine/: small numbers for values, in the order in which these are first seen.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace noisefloor::engine {

inline constexpr std::uint32_t kNoCode = UINT32_MAX;

[[nodiscard]] inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 32U)) * 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 29U)) * 0xBF58476D1CE4E5B9U;
  return x ^ (x >> 32U);
}

// 64-bit values → codes. Exact: different values have different codes. Values near the first one are looked up in a
// table, without hashing: most keys are small integers or days of a few years.
class Codes {
 public:
  [[nodiscard]] std::uint32_t code(std::uint64_t value) {
    if (values_.empty()) near_ = value - kNear / 2;
    const std::uint64_t distance = value - near_;
    if (distance >= kNear) return hashed(value);
    if (codes_near_.empty()) codes_near_.assign(kNear, kNoCode);
    std::uint32_t& known = codes_near_[distance];
    if (known == kNoCode) known = hashed(value);
    return known;
  }
  [[nodiscard]] const std::vector<std::uint64_t>& values() const { return values_; }

 private:
  static constexpr std::uint64_t kNear = 4096;

  std::uint32_t hashed(std::uint64_t value) {
    if (2 * values_.size() >= slots_.size()) grow();
    for (std::size_t at = mixed(value) & mask_;; at = (at + 1) & mask_) {
      if (slots_[at] == kNoCode) {
        slots_[at] = static_cast<std::uint32_t>(values_.size());
        values_.push_back(value);
        return slots_[at];
      }
      if (values_[slots_[at]] == value) return slots_[at];
    }
  }
  void grow() {
    slots_.assign(slots_.empty() ? 64 : 2 * slots_.size(), kNoCode);
    mask_ = slots_.size() - 1;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      std::size_t at = mixed(values_[i]) & mask_;
      while (slots_[at] != kNoCode) at = (at + 1) & mask_;
      slots_[at] = static_cast<std::uint32_t>(i);
    }
  }

  std::vector<std::uint32_t> slots_;
  std::size_t mask_ = 0;
  std::vector<std::uint64_t> values_;
  std::uint64_t near_ = 0;
  std::vector<std::uint32_t> codes_near_;
};

// Texts → codes, likewise.
class TextCodes {
 public:
  [[nodiscard]] std::uint32_t code(std::string_view text) {
    if (2 * texts_.size() >= slots_.size()) grow();
    const std::size_t hash = std::hash<std::string_view>()(text);
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      if (slots_[at] == kNoCode) {
        slots_[at] = static_cast<std::uint32_t>(texts_.size());
        texts_.emplace_back(text);
        hashes_.push_back(hash);
        return slots_[at];
      }
      if (hashes_[slots_[at]] == hash && texts_[slots_[at]] == text) return slots_[at];
    }
  }
  [[nodiscard]] const std::deque<std::string>& texts() const { return texts_; }

 private:
  void grow() {
    slots_.assign(slots_.empty() ? 64 : 2 * slots_.size(), kNoCode);
    mask_ = slots_.size() - 1;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      std::size_t at = hashes_[i] & mask_;
      while (slots_[at] != kNoCode) at = (at + 1) & mask_;
      slots_[at] = static_cast<std::uint32_t>(i);
    }
  }

  std::vector<std::uint32_t> slots_;
  std::size_t mask_ = 0;
  std::deque<std::string> texts_;
  std::vector<std::size_t> hashes_;
};

}  // namespace noisefloor::engine
