// Plans, for people and as JSON: answers from numbers alone, and signed plans of trainings.
//
// Thread safety: pure functions, except that add_trade_off writes files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/plan/plan_question.h"
#include "noisefloor/summary/summary.h"
#include "noisefloor/training/planning.h"

namespace noisefloor {

// How an answer from numbers is shown.
struct PlanForm {
  bool theorems = false;  // the paper's theorems, condition by condition
  std::string hint = {};  // a sentence of the front end that stands before the caveats: what else it can show
};

[[nodiscard]] Summary summary_of(const PlanQuestion& question, const PlanAnswer& answer, const PlanForm& form = {});

inline constexpr std::size_t kTradeOffPoints = 24;
// Writes noise by batch size to PREFIX.csv and PREFIX.svg, about so many points a curve, and says so.
[[nodiscard]] Result<void> add_trade_off(Summary& summary, const PlanQuestion& question, Epsilon target,
                                         const std::string& prefix, std::size_t points = kTradeOffPoints);

// What planning a training came to.
struct PlanOutcome {
  std::vector<UtilityCurve> curves;  // none of a next phase
  UtilityChoice choice;
  MadePlan made;
  std::string path;  // of the signed plan
};

// `next` is a sentence of the front end that stands among the remarks: how to train by this plan.
[[nodiscard]] Summary summary_of(const PlanJob& job, const PlanOutcome& outcome, const std::string& next = {});

// What planning would cost, before anything is drawn or spent. The plan of a next phase is known by then.
[[nodiscard]] Result<Summary> cost_summary(const PlanJob& job, const std::optional<MadePlan>& next_phase);

}  // namespace noisefloor
