#include "noisefloor/engine/days.h"

#include <fmt/format.h>

namespace noisefloor::engine {
namespace {

constexpr std::int64_t kDaysOfEra = 146097;  // 400 years

bool is_leap(std::int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

std::int64_t days_of_month(std::int64_t year, std::int64_t month) {
  if (month == 2) return is_leap(year) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

// Years are counted from March, so that a leap day is the last of its year. The year 0 begins an era of 400 years.
std::int64_t count_days(const Civil& date) {
  const std::int64_t year = date.month <= 2 ? date.year - 1 : date.year;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year = (153 * (date.month > 2 ? date.month - 3 : date.month + 9) + 2) / 5 + date.day - 1;
  const std::int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * kDaysOfEra + day_of_era - 719468;
}

std::int64_t weekday_from_monday(std::int64_t days) { return ((days + 3) % 7 + 7) % 7; }  // 1970-01-01 is a Thursday

std::optional<std::int64_t> digits(std::string_view text) {
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace

Civil civil_of(std::int64_t days) {
  const std::int64_t shifted = days + 719468;
  const std::int64_t era = (shifted >= 0 ? shifted : shifted - (kDaysOfEra - 1)) / kDaysOfEra;
  const std::int64_t day_of_era = shifted - era * kDaysOfEra;
  const std::int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month = (5 * day_of_year + 2) / 153;
  const std::int64_t civil_month = month < 10 ? month + 3 : month - 9;
  return {.year = year_of_era + era * 400 + (civil_month <= 2 ? 1 : 0),
          .month = civil_month,
          .day = day_of_year - (153 * month + 2) / 5 + 1};
}

std::optional<std::int64_t> days_of(const Civil& date) {
  if (date.year < 1 || date.year > 9999 || date.month < 1 || date.month > 12) return std::nullopt;
  if (date.day < 1 || date.day > days_of_month(date.year, date.month)) return std::nullopt;
  return count_days(date);
}

std::optional<std::int64_t> parse_date(std::string_view text) {
  if (text.size() < 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  if (text.size() > 10 && text[10] != ' ' && text[10] != 'T') return std::nullopt;
  const auto year = digits(text.substr(0, 4));
  const auto month = digits(text.substr(5, 2));
  const auto day = digits(text.substr(8, 2));
  if (!year || !month || !day) return std::nullopt;
  return days_of({.year = *year, .month = *month, .day = *day});
}

std::string date_text(std::int64_t days) {
  const Civil date = civil_of(days);
  return fmt::format("{:04}-{:02}-{:02}", date.year, date.month, date.day);
}

std::optional<std::int64_t> truncated_date(std::string_view word, std::int64_t days) {
  if (!is_date(days)) return std::nullopt;
  if (word == "day") return days;
  if (word == "week") return days - weekday_from_monday(days);
  Civil date = civil_of(days);
  date.day = 1;
  if (word == "month") return days_of(date);
  if (word == "quarter") {
    date.month -= (date.month - 1) % 3;
    return days_of(date);
  }
  date.month = 1;
  return word == "year" ? days_of(date) : std::nullopt;
}

std::optional<std::int64_t> date_part(std::string_view word, std::int64_t days) {
  if (!is_date(days)) return std::nullopt;
  if (word == "isodow") return weekday_from_monday(days) + 1;
  if (word == "dow") return (weekday_from_monday(days) + 1) % 7;
  const Civil date = civil_of(days);
  if (word == "year") return date.year;
  if (word == "quarter") return (date.month + 2) / 3;
  if (word == "month") return date.month;
  if (word == "day") return date.day;
  if (word == "doy") return days - count_days({.year = date.year, .month = 1, .day = 1}) + 1;
  if (word != "week") return std::nullopt;
  // A week belongs to the year of its Thursday.
  const std::int64_t thursday = days - weekday_from_monday(days) + 3;
  const Civil in = civil_of(thursday);
  return (thursday - count_days({.year = in.year, .month = 1, .day = 1})) / 7 + 1;
}

}  // namespace noisefloor::engine
