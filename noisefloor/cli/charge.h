// Answers that are paid for: by the road of all releases, from a budget of a ledger.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/cli/report.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor::cli {

struct ChargeOptions : LedgerAccess {
  std::string budget;
  std::string key;
  std::string output;

  void add_to(CLI::App& command);
  // Whether anything was said of it; what was said is incomplete otherwise.
  [[nodiscard]] Result<bool> stated() const;
};

// Reserves the statement, then draws by `answer`, whose report must state the same; certified, committed and, with --output,
// written to a file. The same key gets the same answer.
[[nodiscard]] Result<Report> charge(const ChargeOptions& options, const std::string& mechanism,
                                    const DpStatement& statement, Delta delta,
                                    const std::function<Result<Report>(SecureRandom&)>& answer);

}  // namespace noisefloor::cli
