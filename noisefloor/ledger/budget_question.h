// Answers to what people ask of a budget, in the numbers that they have: the terms of a new budget, and the event of a
// use.
//
// Guarantee:     a training has the event of event/dp_sgd_event.h: its noise multiplier is σ divided by the clip norm,
//                for every way to draw a batch. If no batches are drawn, the noise is Gaussian, and its multiplier is σ
//                divided by the sensitivity under the budget's neighbours.
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
  std::optional<Rule> rule = {};                   // default: planned with a plan; else rdp, or basic if delta is 0
  std::optional<std::vector<PlanItem>> plan = {};  // makes the budget a planned one
  std::optional<double> failures = {};             // default: the rule's own
  std::vector<double> orders = {};
  std::string parent = {};
  std::optional<TimeMs> from = {};
  std::optional<TimeMs> until = {};
};

[[nodiscard]] Result<BudgetTerms> terms_of(StatedTerms stated);

// Reads {"items": [{"name": "…", "times": 1, "event": {…}}]}. Any other text is kInputData, with the reason and this
// form.
[[nodiscard]] Result<std::vector<PlanItem>> parse_plan_items(std::string_view json_text);
// The same of a file, whose name stands in the error.
[[nodiscard]] Result<std::vector<PlanItem>> plan_items_in(std::string_view json_text, const std::string& file);

// "2,4,8": Rényi orders; none of an empty text. And a time, if there is a text.
[[nodiscard]] Result<std::vector<double>> parse_orders(const std::string& text);
[[nodiscard]] Result<std::optional<TimeMs>> parse_optional_time(const std::string& text);

// States one of: an item of a plan, an event, ρ, noise (on a training's batches or not), ε with or without δ.
struct StatedUse {
  std::string item = {};
  std::optional<std::string> event = {};  // JSON of an event or of a statement
  std::optional<Rho> rho = {};
  std::optional<NoiseMultiplier> noise = {};
  StatedTraining training = {};  // how the noise is used: once, so many steps, on sampled batches
  std::optional<Epsilon> epsilon = {};
  std::optional<Delta> delta = {};  // goes with epsilon, or is what a use may spend under basic and approx-dp
};

// The event of a use of a budget with these terms. For a planned budget it is the event of the item; the ledger refuses
// unknown items.
[[nodiscard]] Result<DpEvent> event_of_use(const StatedUse& use, const BudgetTerms& terms);

// The blocks that a use of a budget by blocks names; of any other budget, none. kInvalidArgument if they are missing or
// if there are none to name.
[[nodiscard]] Result<std::vector<std::string>> stated_blocks(const BudgetTerms& terms, const std::string& list);

}  // namespace noisefloor
