// Answers that are paid for: by the road of all releases, from a budget of a ledger.
#pragma once

#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/cli/report.h"
#include "noisefloor/release/question.h"

namespace CLI {
class App;
}

namespace noisefloor::cli {

struct ChargeOptions : LedgerAccess {
  std::string budget;
  std::string key;
  std::string output;
  bool dry_run = false;

  void add_to(CLI::App& command);
  // Whether the answer is to be charged. kInvalidArgument if what was said about it is incomplete.
  [[nodiscard]] Result<bool> stated() const;
};

// Asks the question over the road, and writes the answer to a file if there is an --output. `guarantee` is for report_of.
[[nodiscard]] Result<Report> charge(const ChargeOptions& options, const Question& question,
                                    const std::string& guarantee);

// What the question would cost, and whether the budget allows for it. Nothing is spent.
[[nodiscard]] Result<Report> dry_run(const ChargeOptions& options, const Question& question);

}  // namespace noisefloor::cli
