// Answers that are paid for: by the road of all releases, from a budget of a ledger.
#pragma once

#include <optional>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/release/outlet.h"
#include "noisefloor/release/question.h"
#include "noisefloor/summary/summary.h"

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

// Where an answer goes besides the ledger: a file if there is an --output.
class ChosenOutlet {
 public:
  explicit ChosenOutlet(const ChargeOptions& options);
  [[nodiscard]] Outlet& outlet() { return file_ ? static_cast<Outlet&>(*file_) : ledger_alone_; }
  // Says what was written.
  void name_files(Summary& summary) const;

 private:
  std::string path_;
  LedgerOutlet ledger_alone_;
  std::optional<FileOutlet> file_;
};

// Asks the question over the road, and writes the answer to a file if there is an --output. `guarantee` is for
// summary_of.
[[nodiscard]] Result<Summary> charge(const ChargeOptions& options, const Question& question,
                                     const std::string& guarantee);

// What the question would cost, and whether the budget allows for it. Nothing is spent.
[[nodiscard]] Result<Summary> dry_run(const ChargeOptions& options, const Question& question);

}  // namespace noisefloor::cli
