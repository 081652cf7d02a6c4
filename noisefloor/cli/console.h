// What jobs have in common at the terminal: Ctrl-C, lines of progress, threads, and the ledger that pays.
//
// Thread safety: none.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/summary/summary.h"
#include "noisefloor/training/job.h"

namespace CLI {
class App;
}

namespace noisefloor::cli {

// Shows a job's progress on standard error: one line that is written over on a terminal, elsewhere a line now and then.
// The first Ctrl-C stops the job after its present step; the second one ends the process.
class Console final : public TrainingObserver {
 public:
  explicit Console(bool quiet);

  // Takes Ctrl-C from now on.
  [[nodiscard]] JobControl control();

  void begin(const std::string& title) override;
  void progress(const TrainingProgress& progress, const std::optional<PublicQuality>& quality) override;
  // A line of progress of another kind; `last` ends it.
  void show(const std::string& line, double seconds, bool last);
  void note(const std::string& text) override;
  void warning(const std::string& text) override;
  void earlier_checkpoint(const std::string& path) override { checkpoint_ = path; }
  void conflict(const DatasetConflict& conflict) override { conflict_ = conflict; }

  // The error of a job on this file, with the command that would allow it deliberately, and with the option that goes
  // on from a checkpoint that was left.
  [[nodiscard]] Error explained(Error error, const std::string& file) const;

 private:
  std::string title_;
  bool quiet_;
  bool terminal_;
  double next_ = 0;
  std::string checkpoint_;
  std::optional<DatasetConflict> conflict_;
};

// The training file; "-" is standard input.
[[nodiscard]] Result<TrainingFile> training_file_at(const std::string& path);

[[nodiscard]] Result<std::uint64_t> parse_seed(const std::string& text);
// This machine with so many threads, all cores if there is no text, and the back end of this program.
[[nodiscard]] Result<Machine> machine_with(const std::string& threads);

// What a command may add to the ledger, and for which training.
struct CreateOption {
  bool create = false;

  void add_to(CLI::App& command);
  [[nodiscard]] NewDatasets unknown() const { return create ? NewDatasets::kAdd : NewDatasets::kRefuse; }
};

// The ledger of a job. Without --create neither a ledger nor a budget is made: the refusal says what would be. A job
// that the budget would not allow for leaves no ledger behind. A job that is not charged takes the ledger that is
// there, if any; one is made for it only if it needs one.
[[nodiscard]] Result<OpenedLedger> open_ledger_of(const LedgerAccess& access, const CreateOption& option,
                                                  const TrainingFile& file, bool charged, bool needed,
                                                  const AskOutlook& outlook);

// --dry-run: whether the ledger, which is looked at if there is one, would pay from this budget. Exit code 3 if not.
[[nodiscard]] Result<void> report_outlook(Summary& summary, const LedgerAccess& access, const std::string& budget,
                                          const AskOutlook& outlook);

inline constexpr const char* kDryRunHelp = "Say what would be charged and whether it fits; spend and write nothing";

}  // namespace noisefloor::cli
