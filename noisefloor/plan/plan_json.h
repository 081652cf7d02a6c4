// Plans as JSON and as tables, for programs.
#pragma once

#include <span>
#include <string>

#include "noisefloor/plan/plan_question.h"

namespace noisefloor {

// One object: the question's numbers, "closed_form" with the theorems' conditions, "exact", and the comparisons of the
// two.
[[nodiscard]] std::string to_json(const PlanQuestion& question, const PlanAnswer& answer);

// A line for each plan: epochs, batch, rounds, noise_multiplier, epsilon.
[[nodiscard]] std::string to_csv(std::span<const TradeOff> curves);

}  // namespace noisefloor
