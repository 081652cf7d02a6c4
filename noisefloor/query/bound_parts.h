// What operators and functions share when they are bound. Internal to query/.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/query/bound.h"

namespace noisefloor::query {

inline constexpr std::size_t kLargestExpression = 4000;
inline constexpr std::size_t kLongestText = 1000;
// The days that dates are of (engine/days.h).
[[nodiscard]] IntegerRange any_day();

// The call in normal form, with what follows from its arguments for every function. Refuses types that do not fit.
[[nodiscard]] Result<Bound> made(engine::Function function, engine::Type type,
                                 std::vector<engine::Expression> arguments, const std::vector<Bound>& from);
[[nodiscard]] Result<Bound> sized(Bound bound);

[[nodiscard]] std::string types_of(const std::vector<Bound>& arguments);
[[nodiscard]] Result<void> check_not_unit(const std::vector<Bound>& arguments);
// The type that all become; NULLs take it.
[[nodiscard]] Result<engine::Type> common_type(std::vector<Bound>& arguments, std::string_view what);
// Texts beside a date are dates.
[[nodiscard]] Result<void> adapt_texts(std::vector<Bound>& arguments);

}  // namespace noisefloor::query
