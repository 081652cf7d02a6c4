// Privacy quantities from text.
//
// Errors name the argument, its value and the range. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "noisefloor/base/result.h"
#include "noisefloor/base/text.h"

namespace noisefloor {

// `what` names the argument in errors.
template <class Q>
[[nodiscard]] Result<Q> quantity(const char* what, const std::string& text) {
  if constexpr (std::is_same_v<typename Q::Value, double>) {
    NF_TRY(const double value, parse_number(what, text));
    return Q::make(value);
  } else {
    NF_TRY(const std::uint64_t value, parse_count(what, text));
    return Q::make(value);
  }
}

// Nothing if nothing is given.
template <class Q>
[[nodiscard]] Result<std::optional<Q>> optional_quantity(const char* what, const std::string& text) {
  if (text.empty()) return std::optional<Q>{};
  NF_TRY(const Q value, quantity<Q>(what, text));
  return std::optional<Q>(value);
}

}  // namespace noisefloor
