// Plans of trainings: made by `noisefloor plan FILE.toml`, followed by `noisefloor train FILE.toml --plan PLAN`.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/cli/report.h"
#include "noisefloor/cli/training_session.h"
#include "noisefloor/training/plan_file.h"

namespace noisefloor::cli {

struct PlanTrainingOptions : LedgerAccess {
  std::string file;
  std::string output;
  std::string after;             // the folder of the phase before
  std::string noise_multiplier;  // of a next phase
  std::string threads;
  bool reserve = false;
  bool quiet = false;
};

// Utility graph, calculator, plan file: the flow of Figure 15 up to the training.
[[nodiscard]] Result<Report> plan_training(const PlanTrainingOptions& options);

// --- Following one ----------------------------------------------------------------------------------------------------------

// Fails if it is not of this training file, as it is now.
[[nodiscard]] Result<SignedPlan> read_plan(const std::string& path, const std::string& training_file);
// The training with what the plan fixes.
void follow_plan(const PlanFile& plan, Training& training);
// Its key of idempotency: a plan is carried out once.
[[nodiscard]] std::string key_of(const PlanFile& plan);
[[nodiscard]] Result<void> expect_rows(const PlanFile& plan, std::size_t rows);
[[nodiscard]] Result<void> expect_signer(const SignedPlan& plan, Ledger& ledger);
// Puts the plan beside the model, and says whether its target is reached, and what to do if not.
[[nodiscard]] Result<void> finish_plan(Report& report, const SignedPlan& plan, const std::string& path,
                                       const OutputFiles& files, const std::string& training_file,
                                       TrainableModel& model, std::span<const float> weights,
                                       const TrainingExamples& examples);

}  // namespace noisefloor::cli
