// One event tree by every accountant: what the textbooks' composition theorems make of it, beside the certified answer.
//
// Guarantee:     every `epsilon` is an upper bound unless `is_estimate` says otherwise; `lower` is set where it is
//                known.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"

namespace noisefloor {

enum class Accountant : std::uint8_t { kBasic, kAdvanced, kZcdp, kRdp, kGdp, kPld };

[[nodiscard]] std::string_view name_of(Accountant accountant);  // "basic", "advanced", "zcdp", "rdp", "gdp", "pld"
[[nodiscard]] Result<Accountant> parse_accountant(std::string_view text);

struct AccountantAnswer {
  Accountant accountant;
  double epsilon;
  std::optional<double> lower;
  bool is_estimate;  // the central-limit form of GDP: no bound
  std::string how;   // one line on what was done
};

// The ε at δ by one accountant. Refused, with the reason, where it has no answer for these events.
[[nodiscard]] Result<AccountantAnswer> epsilon_by(Accountant accountant, const DpEvent& event, Adjacency adjacency,
                                                  Delta delta);

// All that have an answer, in the order of the enumeration.
[[nodiscard]] std::vector<Accountant> all_accountants();

}  // namespace noisefloor
