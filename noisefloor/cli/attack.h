// What `attack membership` and `audit --shadow` have in common.
#pragma once

#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/cli/console.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/summary/summary.h"
#include "noisefloor/training/membership_job.h"

namespace noisefloor::cli {

// Where the attack finds its ledger, and leaves its files.
struct AttackPlace {
  const LedgerAccess& access;
  const CreateOption& creating;
  std::string threads;
  std::string output;
  bool quiet = false;
  std::string file;  // as it was called
};
[[nodiscard]] Result<Summary> attack_membership(TrainingFile file, MembershipWish wish, const AttackPlace& place);

}  // namespace noisefloor::cli
