// `noisefloor plan FILE.toml`: a signed plan for a training.
#pragma once

#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/cli/console.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/cli/report.h"

namespace noisefloor::cli {

struct PlanTrainingOptions : LedgerAccess {
  std::string file;
  std::string output;
  std::string after;             // the folder of the phase before
  std::string noise_multiplier;  // of a next phase
  std::string threads;
  bool reserve = false;
  bool quiet = false;
  bool dry_run = false;
  CreateOption creating;
};

[[nodiscard]] Result<Report> plan_training(const PlanTrainingOptions& options);

}  // namespace noisefloor::cli
