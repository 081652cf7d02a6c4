// Options that are privacy quantities, from text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "noisefloor/base/result.h"
#include "noisefloor/base/text.h"

namespace noisefloor::cli {

// `option` names it in errors.
template <class Q>
[[nodiscard]] Result<Q> quantity(const char* option, const std::string& text) {
  if constexpr (std::is_same_v<typename Q::Value, double>) {
    NF_TRY(const double value, parse_number(option, text));
    return Q::make(value);
  } else {
    NF_TRY(const std::uint64_t value, parse_count(option, text));
    return Q::make(value);
  }
}

// Nothing if nothing is given.
template <class Q>
[[nodiscard]] Result<std::optional<Q>> optional_quantity(const char* option, const std::string& text) {
  if (text.empty()) return std::optional<Q>{};
  NF_TRY(const Q value, quantity<Q>(option, text));
  return std::optional<Q>(value);
}

}  // namespace noisefloor::cli
