#include "noisefloor/accounting/rule.h"

#include <fmt/format.h>

#include "noisefloor/base/check.h"
#include "noisefloor/base/text.h"

namespace noisefloor {

std::string_view name_of(Rule rule) {
  switch (rule) {
    case Rule::kPlanned:
      return "planned";
    case Rule::kZcdp:
      return "zcdp";
    case Rule::kRdp:
      return "rdp";
    case Rule::kApproxDp:
      return "approx-dp";
    case Rule::kBasic:
      return "basic";
  }
  NF_UNREACHABLE("a rule outside the closed list");
}

Result<Rule> parse_rule(std::string_view text) {
  for (Rule rule : {Rule::kPlanned, Rule::kZcdp, Rule::kRdp, Rule::kApproxDp, Rule::kBasic}) {
    if (name_of(rule) == text) return rule;
  }
  return invalid_argument(fmt::format("rule must be planned, zcdp, rdp, approx-dp or basic; got {}", shown(text)));
}

}  // namespace noisefloor
