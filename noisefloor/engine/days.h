// Dates as days since 1970-01-01, by the Gregorian calendar also before it began.
//
// Guarantee:     dates are those of the years 1 to 9999; every function says what it returns for other days.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace noisefloor::engine {

inline constexpr std::int64_t kFirstDay = -719162;  // 0001-01-01, a Monday
inline constexpr std::int64_t kLastDay = 2932896;   // 9999-12-31

struct Civil {
  std::int64_t year = 1970;
  std::int64_t month = 1;  // 1 to 12
  std::int64_t day = 1;    // 1 to 31
  friend bool operator==(const Civil&, const Civil&) = default;
};

[[nodiscard]] constexpr bool is_date(std::int64_t days) { return days >= kFirstDay && days <= kLastDay; }

// Requires is_date(days).
[[nodiscard]] Civil civil_of(std::int64_t days);
// Nothing if there is no such date.
[[nodiscard]] std::optional<std::int64_t> days_of(const Civil& date);

// "2026-03-05", or this with a space or a T and anything after it; else nothing.
[[nodiscard]] std::optional<std::int64_t> parse_date(std::string_view text);
// "2026-03-05". Requires is_date(days).
[[nodiscard]] std::string date_text(std::int64_t days);

// The first day of the 'day', 'week' (it begins on Monday), 'month', 'quarter' or 'year'; nothing for other words and
// days that are no dates.
[[nodiscard]] std::optional<std::int64_t> truncated_date(std::string_view word, std::int64_t days);
// 'year', 'quarter', 'month', 'week' (of ISO 8601), 'day', 'dow' (Sunday is 0), 'isodow' (Monday is 1), 'doy' (from 1).
[[nodiscard]] std::optional<std::int64_t> date_part(std::string_view word, std::int64_t days);

}  // namespace noisefloor::engine
