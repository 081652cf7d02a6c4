// How the costs of a budget's uses add up:
//   planned     every use is fixed beforehand; all of them together are composed by their privacy losses. The tightest.
//   zcdp, rdp   uses may be chosen after looking at earlier answers: a privacy filter over ρ, or over Rényi divergences
//               at fixed orders.
//   approx-dp   the same for uses that state (ε, δ), at the rate of advanced composition.
//   basic       ε and δ add up. Nothing is assumed, and for few uses it is the best of the adaptive rules.
#pragma once

#include <cstdint>
#include <string_view>

#include "noisefloor/base/result.h"

namespace noisefloor {

enum class Rule : std::uint8_t { kPlanned, kZcdp, kRdp, kApproxDp, kBasic };

[[nodiscard]] std::string_view name_of(Rule rule);  // "planned", "zcdp", "rdp", "approx-dp", "basic"
[[nodiscard]] Result<Rule> parse_rule(std::string_view text);

}  // namespace noisefloor
