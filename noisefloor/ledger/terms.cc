#include "noisefloor/ledger/terms.h"

#include <fmt/format.h>

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
