#include "noisefloor/ledger/roles.h"

#include <fmt/format.h>

#include "noisefloor/base/check.h"
#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

constexpr TimeMs kHour = TimeMs{60} * 60 * 1000;

template <class Kind, std::size_t N>
Result<Kind> find_name(std::string_view text, const std::array<Kind, N>& all, std::string_view what,
                       std::string_view names) {
  for (const Kind one : all) {
    if (name_of(one) == text) return one;
  }
  return invalid_argument(fmt::format("{} is {}; got {}", what, names, shown(text)));
}

}  // namespace

std::string_view name_of(Role role) {
  switch (role) {
    case Role::kOwner:
      return "owner";
    case Role::kAnalyst:
      return "analyst";
    case Role::kAuditor:
      return "auditor";
  }
  NF_UNREACHABLE("a role outside the closed list");
}

Result<Role> parse_role(std::string_view text) {
  constexpr std::array all{Role::kOwner, Role::kAnalyst, Role::kAuditor};
  return find_name(text, all, "a role", "owner, analyst or auditor");
}

std::string_view name_of(UseKind kind) {
  switch (kind) {
    case UseKind::kTraining:
      return "training";
    case UseKind::kStatistic:
      return "statistic";
    case UseKind::kUtilityGraph:
      return "utility graph";
    case UseKind::kOther:
      return "other";
  }
  NF_UNREACHABLE("a kind of use outside the closed list");
}

Result<UseKind> parse_use_kind(std::string_view text) {
  constexpr std::array all{UseKind::kTraining, UseKind::kStatistic, UseKind::kUtilityGraph, UseKind::kOther};
  return find_name(text, all, "a kind of use", "training, statistic, 'utility graph' or other");
}

Result<TimeMs> parse_period(std::string_view text) {
  const Error wrong = invalid_argument(
      fmt::format("a period is a number of hours, days or weeks, as in 12h, 30d or 4w, of at least 1h and at most 100 "
                  "years; got {}",
                  shown(text)));
  if (text.size() < 2) return wrong;
  const char unit = text.back();
  const TimeMs one = unit == 'h' ? kHour : unit == 'd' ? 24 * kHour : unit == 'w' ? 168 * kHour : 0;
  const Result<std::uint64_t> count = parse_count("a period", text.substr(0, text.size() - 1));
  if (one == 0 || !count.has_value() || count.value() == 0) return wrong;
  if (count.value() > static_cast<std::uint64_t>(kLongestPeriod / one)) return wrong;
  return static_cast<TimeMs>(count.value()) * one;
}

std::string show_period(TimeMs period) {
  if (period % (24 * kHour) == 0) return fmt::format("{}d", period / (24 * kHour));
  if (period % kHour == 0) return fmt::format("{}h", period / kHour);
  return fmt::format("{} ms", period);
}

}  // namespace noisefloor
