// Quantity<Spec>: a number that is known to be in range, under a type of its own.
//
// Guarantee:   a Quantity holds a value that Spec::holds(): it is never NaN, and out of range only if the Spec says so.
// Type safety: quantities of different Specs do not convert into each other or into plain numbers, so an epsilon cannot
//              be passed where a delta is due (tests/compile_fail holds the proof).
//
// A Spec states: `Value` (double or std::uint64_t), `name`, `requirement` (as it reads after "must be") and `holds(v)`.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "noisefloor/base/result.h"

namespace noisefloor {

// The error for a number outside its range: "epsilon must be a finite number above 0; got -1".
[[nodiscard]] Error out_of_range(std::string_view name, std::string_view requirement, double got);
[[nodiscard]] Error out_of_range(std::string_view name, std::string_view requirement, std::uint64_t got);

template <class Spec>
class Quantity {
 public:
  using Value = typename Spec::Value;
  static constexpr std::string_view name = Spec::name;

  [[nodiscard]] static Result<Quantity> make(Value value) {
    if (!Spec::holds(value)) return out_of_range(Spec::name, Spec::requirement, value);
    return Quantity(value);
  }

  // For constants: a value out of range does not compile.
  [[nodiscard]] static consteval Quantity of(Value value) {
    if (!Spec::holds(value)) throw "out of range";
    return Quantity(value);
  }

  [[nodiscard]] constexpr Value value() const { return value_; }

  friend constexpr auto operator<=>(const Quantity&, const Quantity&) = default;  // NOLINT(modernize-use-nullptr)

 private:
  explicit constexpr Quantity(Value value) : value_(value) {}

  Value value_;
};

}  // namespace noisefloor
