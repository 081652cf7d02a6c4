#include "noisefloor/cli/commands.h"

#include <string>
#include <utility>
#include <vector>

#include "noisefloor/base/text.h"
#include "noisefloor/cli/console.h"
#include "noisefloor/cli/report_page.h"
#include "noisefloor/report/job_charts.h"
#include "noisefloor/summary/page_summary.h"
#include "noisefloor/summary/sweep_summary.h"

namespace noisefloor::cli {
namespace {

constexpr const char* kRepeatedHere = "With --replay-seed nothing here is private: it is for data that are public.";

struct SweepOptions : LedgerAccess {
  std::string file;
  std::string epsilons;
  std::string output;
  std::string key;
  std::string threads;
  std::string replay_seed;
  bool quiet = false;
  bool no_report = false;
  bool dry_run = false;
  CreateOption creating;
};

// "inf" is without privacy.
Result<std::vector<double>> parse_epsilons(const std::string& text) {
  std::vector<double> epsilons;
  for (const std::string_view item : split_list(text)) {
    if (item == "inf") {
      epsilons.push_back(kNoPrivacy);
      continue;
    }
    NF_TRY(const double value, parse_number("--epsilons", item));
    epsilons.push_back(value);
  }
  return epsilons;
}

Result<SweepWish> wish_of(const SweepOptions& o) {
  SweepWish wish{.epsilons = {}, .folder = o.output, .key = o.key, .replay_seed = {}, .unknown = o.creating.unknown()};
  NF_TRY(wish.epsilons, parse_epsilons(o.epsilons));
  if (!o.replay_seed.empty()) {
    NF_TRY(wish.replay_seed, parse_seed(o.replay_seed));
  }
  return wish;
}

Result<Summary> dry_run(const SweepOptions& o, SweepJob& job) {
  Summary summary = cost_summary(job);
  if (!job.charged()) return summary;
  NF_TRY_VOID(report_outlook(summary, o, job.file().training.privacy.budget,
                             [&](Ledger* ledger) { return job.outlook(ledger); }));
  return summary;
}

// The library knows nothing of options.
Error with_option(Error error) {
  if (error.code == ErrorCode::kBudgetExhausted) error.message += " (--replay-seed N repeats the noise)";
  return error;
}

Result<Summary> run_sweep(const SweepOptions& o) {
  NF_TRY(TrainingFile file, training_file_at(o.file));
  NF_TRY(const Machine machine, machine_with(o.threads));
  NF_TRY(SweepWish wish, wish_of(o));
  Result<SweepJob> prepared = SweepJob::prepare(std::move(file), std::move(wish), machine);
  if (!prepared.has_value()) return with_option(std::move(prepared).error());
  SweepJob job = std::move(prepared).value();
  if (o.dry_run) return dry_run(o, job);
  NF_TRY(const OpenedLedger opened, open_ledger_of(o, o.creating, job.file(), job.charged(), job.needs_ledger(),
                                                   [&](Ledger* ledger) { return job.outlook(ledger); }));
  Console console(o.quiet);
  Result<std::vector<SweepRun>> made = job.run(opened.ledger.get(), console.control());
  if (!made.has_value()) return console.explained(std::move(made).error(), o.file);
  NF_TRY_VOID(draw_sweep(job, made.value()));
  Summary summary = summary_of(job, made.value(), kRepeatedHere);
  if (!o.no_report) {
    add_report_page(summary, try_to_write_report(job.folder().string(), opened.ledger.get(), location_of(o)));
  }
  return summary;
}

}  // namespace

void add_sweep_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, SweepOptions& o) {
    const OptionGroup options(command);
    const OptionGroup privacy(command, "Privacy");
    const OptionGroup output(command, "Output");
    options.required("FILE", o.file, "The training as TOML (docs/formats/training.md)");
    privacy.required("--epsilons", o.epsilons, "Trained at each of these; inf is without privacy", "E,E,...");
    privacy.optional("--replay-seed", o.replay_seed, "Repeatable noise: NOT PRIVATE, recorded, not charged", "N");
    output.optional("--output", o.output, "Folder for models, table and picture (NAME-sweep)", "DIR");
    output.flag("--quiet", o.quiet, "No progress");
    options.flag("--dry-run", o.dry_run, kDryRunHelp);
    o.creating.add_to(command);
    output.flag("--no-report", o.no_report, "Write no report.html");
    OptionGroup(command, "Ledger").optional("--key", o.key, "Of these spends in the ledger (NAME-sweep)", "KEY");
    options.optional("--threads", o.threads, "Threads (all cores)", "N");
    o.add_to(command, true, true);
  };
  add_command<SweepOptions>(app, action, "sweep", "What privacy costs: train at several epsilons and compare",
                            "examples/training/streamrec.toml --epsilons 1,3,8,inf --create", declare, run_sweep);
}

}  // namespace noisefloor::cli
