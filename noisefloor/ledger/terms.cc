#include "noisefloor/ledger/terms.h"

#include <fmt/format.h>

#include "noisefloor/base/check.h"
#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

// The number of bytes of the UTF-8 character that `text` begins with; 0 if it begins with none.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t size = first < 0x80                    ? 1
                           : first >= 0xc2 && first < 0xe0 ? 2
                           : first >= 0xe0 && first < 0xf0 ? 3
                           : first >= 0xf0 && first < 0xf5 ? 4
                                                           : 0;
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) >= 0xa0;
  const bool too_large = first == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : size;
}

}  // namespace

Result<void> check_name(std::string_view what, std::string_view text) {
  if (text.empty()) return invalid_argument(fmt::format("{} must not be empty", what));
  if (text.size() > kMaxName) {
    return invalid_argument(fmt::format("{} must be at most {} bytes long; got {}", what, kMaxName, text.size()));
  }
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bytes = character_bytes(text.substr(i));
    const auto first = static_cast<unsigned char>(text[i]);
    if (bytes == 0 || first < 0x20 || first == 0x7f) {
      return invalid_argument(
          fmt::format("{} must be UTF-8 text without control characters; got {}", what, shown(text)));
    }
    i += bytes;
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
