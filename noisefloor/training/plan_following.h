// Trains by a signed plan: exactly as it says, once, by the ledger whose key signed it.
//
// Guarantee:     a plan is followed only for the training file that it was made for, unchanged, and on as many rows;
//                any setting that would change noise, delta, key or randomness is refused. The idempotency key is the
//                plan's digest, so it is carried out once.
// Thread safety: pure functions except for reading and writing files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/model/quality.h"
#include "noisefloor/training/output_files.h"
#include "noisefloor/training/plan_file.h"
#include "noisefloor/training/training_file.h"

namespace noisefloor {

// A plan that was read from a file, with the folder of that file.
struct FollowedPlan {
  PlanFile plan;
  PublicKey key;     // the key that signed it
  std::string text;  // the text that was signed
  std::filesystem::path folder;
};

// kInvalidArgument if the plan is not for this training file in its present form.
[[nodiscard]] Result<FollowedPlan> read_plan(const std::string& path, const TrainingFile& file);

// Sets in the training everything that the plan fixes.
void follow_plan(const PlanFile& plan, Training& training);
[[nodiscard]] std::string key_of(const PlanFile& plan);
// kInvalidArgument if the plan is for another public number of rows (public_count.h).
[[nodiscard]] Result<void> expect_rows(const PlanFile& plan, Rows rows);
[[nodiscard]] Result<void> expect_signer(const FollowedPlan& plan, Ledger& ledger);
// Puts the plan beside the model, and its utility graph if there is one.
[[nodiscard]] Result<void> keep_plan(const FollowedPlan& plan, const OutputFiles& files);

enum class PlanDecision : std::uint8_t { kDone, kNextPhase, kStop };
[[nodiscard]] const char* name_of(PlanDecision decision);  // "done", "next phase", "stop"

// Whether the plan's target is reached, and what to do if not.
struct PlanVerdict {
  double target_accuracy;
  double accuracy;  // on the test data
  PlanDecision decision;
};
// Nothing if the plan has no target, or nothing was measured.
[[nodiscard]] std::optional<PlanVerdict> verdict_on(const PlanFile& plan, const std::optional<Quality>& test);

}  // namespace noisefloor
