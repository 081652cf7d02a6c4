// What people ask of a budget, in the numbers that they have: the terms of a new one, and the event of a use.
//
// Guarantee:     a training's event is that of event/dp_sgd_event.h: its noise multiplier is σ divided by the clip
//                norm, for every draw. Without a draw, noise is Gaussian, and its multiplier is σ divided by the
//                sensitivity under the budget's neighbours.
// Refused:       numbers that contradict each other or do not say enough, and statements about other neighbours.
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/accounting/accounting_question.h"
#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/ledger/terms.h"

namespace noisefloor {

struct StatedTerms {
  std::string name;
  Epsilon epsilon;
  Delta delta;
  Adjacency adjacency = Adjacency::kAddRemove;
  PrivacyUnit unit = PrivacyUnit::kRow;
  std::optional<Rule> rule = {};                   // planned with a plan; else rdp, or basic without a delta
  std::optional<std::vector<PlanItem>> plan = {};  // makes the budget a planned one
  std::optional<double> failures = {};             // the rule's default
  std::vector<double> orders = {};
  std::string parent = {};
  std::optional<TimeMs> from = {};
  std::optional<TimeMs> until = {};
};

[[nodiscard]] Result<BudgetTerms> terms_of(StatedTerms stated);

// {"items": [{"name": "…", "times": 1, "event": {…}}]}; kInputData with the reason and this form.
[[nodiscard]] Result<std::vector<PlanItem>> parse_plan_items(std::string_view json_text);

// One of: an item of a plan, an event, ρ, noise (with a training's draw or without), ε with or without δ.
struct StatedUse {
  std::string item = {};
  std::optional<std::string> event = {};  // JSON of an event or of a statement
  std::optional<Rho> rho = {};
  std::optional<NoiseMultiplier> noise = {};
  StatedTraining training = {};  // how the noise is used: once, so many steps, on sampled batches
  std::optional<Epsilon> epsilon = {};
  std::optional<Delta> delta = {};  // of epsilon, or what a use may spend under the rules basic and approx-dp
};

// The event of a use of a budget with these terms. For a planned budget it is the item's; the ledger refuses unknown
// items.
[[nodiscard]] Result<DpEvent> event_of_use(const StatedUse& use, const BudgetTerms& terms);

}  // namespace noisefloor
