// Verdicts on what was released, for people and as JSON.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/report/verdict.h"
#include "noisefloor/summary/summary.h"

namespace noisefloor {

struct VerifiedPath {
  std::string path;
  std::string ledger;  // where the ledger is that was asked, or would be
  // What to do where no ledger was asked, in the words of the front end; it may be empty.
  std::string remedy = {};
  // What to do where the signer is unknown, likewise.
  std::string signer_remedy = {};
};

// What was verified at a path. Requires at least one verdict; several are those of a sweep.
[[nodiscard]] Summary summary_of(const std::vector<Verdict>& verdicts, const VerifiedPath& where);

}  // namespace noisefloor
