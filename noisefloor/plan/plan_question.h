// The question of Proactive DP: given the rows, the epochs and an (ε, δ) or a noise, which noise, batch and rounds? The
// closed form of the paper is shown beside the exact plan.
//
// Guarantee:     the exact plan's certified ε is at most the target. A closed form is shown only if the accountant
//                confirms it. GammaMode::kPaper is the exception: it is for comparison with printed tables, and its
//                certified ε shows what it costs.
// Policy:        given values are kept; free ones are chosen as follows.
//                  sizes and noise    they are checked as they are
//                  sizes              the least noise
//                  batch and noise    the most rounds
//                  batch, or rounds   the least noise
//                  noise              the fewest rounds
//                  nothing            the noise of the closed form and the fewest rounds; where that is too little
//                                     noise, a batch of a hundredth of the rows and the least noise
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/numerics/interval.h"
#include "noisefloor/plan/closed_form.h"
#include "noisefloor/plan/exact.h"
#include "noisefloor/plan/sample_sizes.h"

namespace noisefloor {

struct PlanQuestion {
  Rows rows;
  double epochs;  // the epochs of `sizes`, if these are given
  Delta delta;
  std::optional<Epsilon> epsilon = {};  // one of these two, or both
  std::optional<NoiseMultiplier> noise = {};
  std::optional<Rows> batch = {};  // at most one of these three
  std::optional<Steps> rounds = {};
  std::optional<SampleSizes> sizes = {};
  double growth = 0;  // batches grow with this power of the round, from 0 to 16
  Draw draw = Draw::kPoisson;
  GammaMode mode = GammaMode::kRoot;

  // add-remove, except for batches of fixed size.
  [[nodiscard]] Adjacency adjacency() const;
  // Whether the question states the batches, rather than leaving them to be found.
  [[nodiscard]] bool batches_given() const { return batch || rounds || sizes; }
};

// The delta of a plan where none is stated: 1/rows, and at most a half.
[[nodiscard]] Result<Delta> usual_delta(Rows rows);
// How many epochs of so many rows these sizes come to.
[[nodiscard]] double epochs_of(const SampleSizes& sizes, Rows rows);

// "100x50,200x20": 50 rounds of 100, then 20 of 200.
[[nodiscard]] Result<SampleSizes> parse_sample_sizes(std::string_view text);

// The theorems of the paper, applied to a setting.
struct TheoremVerdicts {
  ProactiveSetting setting;
  std::vector<Condition> theorem_3_1;
  std::vector<Condition> theorem_b4;
  std::vector<Condition> theorem_b2;

  // Whether Theorems 3.1 and B.4 apply.
  [[nodiscard]] bool apply() const { return all_hold(theorem_3_1) && all_hold(theorem_b4); }
};

struct ClosedFormAnswer {
  ClosedFormPlan plan;
  Interval epsilon;  // certified by the accountant
  TheoremVerdicts verdicts;
};

// How long the data last at the target, with samples of one row.
struct PlanCapacity {
  std::optional<double> closed_form_epochs;
  double exact_epochs;
  std::uint64_t trainings;  // how many trainings of the question's epochs fit into exact_epochs
};

struct PlanAnswer {
  Epsilon target;                               // the question's, or the one that follows from the noise
  std::optional<ClosedFormAnswer> closed_form;  // none: no_closed_form says why
  std::string no_closed_form;
  ExactPlan exact;
  std::string how;                       // which quantity was free in the exact plan, in words
  std::optional<ExactPlan> same_batch;   // the exact plan with the batches of the closed form
  std::optional<TheoremVerdicts> given;  // the theorems, applied to batches that the question states
  std::optional<PlanCapacity> capacity;

  // How many times as many rounds, or as much noise, the closed form takes. Requires closed_form and same_batch.
  [[nodiscard]] double rounds_ratio() const;
  [[nodiscard]] double noise_ratio() const;
  // What the theorems say of the batches that were given, or else of the closed form; null if there is neither.
  [[nodiscard]] const TheoremVerdicts* verdicts() const;
};

// kInvalidArgument if the numbers contradict each other, or if nothing keeps the target; the message names values that
// would. Where one number is out of its range, the message begins with its name: "epochs", "delta" or "growth".
[[nodiscard]] Result<PlanAnswer> answer_plan(const PlanQuestion& question);

// The least noise for batches from one row to all rows: for a quarter of the epochs, for all of them, and for four
// times as many.
struct TradeOff {
  double epochs;
  std::vector<ExactPlan> plans;
};
[[nodiscard]] Result<std::vector<TradeOff>> plan_trade_offs(const PlanQuestion& question, Epsilon target,
                                                            std::size_t points);

}  // namespace noisefloor
