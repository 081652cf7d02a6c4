#include "noisefloor/base/privacy_types.h"

#include <fmt/format.h>

#include <array>

#include "noisefloor/base/check.h"
#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

template <class Enum, std::size_t N>
Result<Enum> parse_name(std::string_view what, const std::array<Enum, N>& all, std::string_view text) {
  std::string known;
  for (Enum one : all) {
    if (name_of(one) == text) return one;
    known += fmt::format("{}{}", known.empty() ? "" : " or ", name_of(one));
  }
  return invalid_argument(fmt::format("{} must be {}; got {}", what, known, shown(text)));
}

}  // namespace

std::string_view name_of(Adjacency adjacency) {
  switch (adjacency) {
    case Adjacency::kAddRemove:
      return "add-remove";
    case Adjacency::kReplaceOne:
      return "replace-one";
  }
  NF_UNREACHABLE("an adjacency outside the closed list");
}

std::string_view name_of(PrivacyUnit unit) {
  switch (unit) {
    case PrivacyUnit::kRow:
      return "row";
    case PrivacyUnit::kPerson:
      return "person";
  }
  NF_UNREACHABLE("a privacy unit outside the closed list");
}

Result<Adjacency> parse_adjacency(std::string_view text) {
  return parse_name("adjacency", std::array{Adjacency::kAddRemove, Adjacency::kReplaceOne}, text);
}

Result<PrivacyUnit> parse_privacy_unit(std::string_view text) {
  return parse_name("privacy unit", std::array{PrivacyUnit::kRow, PrivacyUnit::kPerson}, text);
}

}  // namespace noisefloor
