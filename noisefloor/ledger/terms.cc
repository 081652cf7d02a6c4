#include "noisefloor/ledger/terms.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <optional>

#include "noisefloor/base/check.h"
#include "noisefloor/base/printable.h"
#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

Result<void> check_size(std::string_view what, std::string_view text) {
  if (text.empty()) return invalid_argument(fmt::format("{} must not be empty", what));
  if (text.size() <= kMaxName) return success();
  return invalid_argument(fmt::format("{} must be at most {} bytes long; got {}", what, kMaxName, text.size()));
}

}  // namespace

Result<void> check_name(std::string_view what, std::string_view text) {
  NF_TRY_VOID(check_size(what, text));
  if (const std::optional<std::string> offender = first_unprintable(text)) {
    return invalid_argument(fmt::format("{} must be printable UTF-8 text; {} holds {}: leave that character out", what,
                                        shown(text), *offender));
  }
  if (text.front() != ' ' && text.back() != ' ') return success();
  return invalid_argument(
      fmt::format("{} must not begin or end with a space (U+0020); got {}: leave the space out", what, shown(text)));
}

Result<void> check_kept_name(std::string_view what, std::string_view text) {
  NF_TRY_VOID(check_size(what, text));
  for (std::string_view rest = text; !rest.empty();) {
    const TextCharacter next = next_character(rest);
    if (!next.code || *next.code < 0x20 || *next.code == 0x7f) {
      return invalid_argument(
          fmt::format("{} must be UTF-8 text without control characters; got {}", what, shown(text)));
    }
    rest.remove_prefix(next.bytes);
  }
  return success();
}

std::string show_time(TimeMs time) {
  // A ledger may hold any number, and the calendar functions fail on years that need more than four digits.
  constexpr TimeMs kYear0 = -62'167'219'200'000;
  constexpr TimeMs kYear10000 = 253'402'300'800'000;
  if (time < kYear0 || time >= kYear10000) return fmt::format("{} ms since 1970", time);
  const TimeMs seconds = time >= 0 ? time / 1000 : (time - 999) / 1000;
  const auto whole = static_cast<std::time_t>(seconds);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(whole), time - seconds * 1000);
}

Result<TimeMs> parse_time(const std::string& text) {
  const auto bad = [&] {
    return invalid_argument(
        fmt::format("a time is a date such as 2026-03-01, or 2026-03-01T12:00:00Z; got {}", shown(text)));
  };
  std::tm parts{};
  int used = 0;
  const bool date =
      std::sscanf(text.c_str(), "%4d-%2d-%2d%n", &parts.tm_year, &parts.tm_mon, &parts.tm_mday, &used) == 3;  // NOLINT
  if (!date) return bad();
  if (static_cast<std::size_t>(used) != text.size()) {
    int more = 0;
    const bool clock =
        std::sscanf(text.c_str() + used, "T%2d:%2d:%2dZ%n", &parts.tm_hour, &parts.tm_min, &parts.tm_sec,  // NOLINT
                    &more) == 3;
    if (!clock || static_cast<std::size_t>(used) + static_cast<std::size_t>(more) != text.size()) return bad();
  }
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  std::tm again = parts;
  const std::time_t seconds = ::timegm(&again);
  const bool same = again.tm_year == parts.tm_year && again.tm_mon == parts.tm_mon && again.tm_mday == parts.tm_mday &&
                    again.tm_hour == parts.tm_hour && again.tm_min == parts.tm_min && again.tm_sec == parts.tm_sec;
  if (!same) return bad();  // such as the 30th of February
  return static_cast<TimeMs>(seconds) * 1000;
}

double default_failures(Rule rule) {
  switch (rule) {
    case Rule::kApproxDp:
      return 0.5;
    case Rule::kZcdp:
    case Rule::kRdp:
      return 0.1;
    case Rule::kPlanned:
    case Rule::kBasic:
      return 0;
  }
  NF_UNREACHABLE("a rule outside the closed list");
}

std::vector<double> default_budget_orders() { return {2, 3, 4, 6, 8, 12, 16, 32, 64}; }

}  // namespace noisefloor
