#include "noisefloor/cli/commands.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/base/process.h"
#include "noisefloor/base/quantity_text.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/console.h"
#include "noisefloor/cli/report_page.h"
#include "noisefloor/cli/torch_backend.h"
#include "noisefloor/cli/workers.h"
#include "noisefloor/summary/page_summary.h"
#include "noisefloor/summary/training_summary.h"
#include "noisefloor/training/job.h"

namespace noisefloor::cli {
namespace {

constexpr std::size_t kMaxCheckpointBytes = std::size_t{4} << 30;

struct TrainOptions : LedgerAccess {
  std::string file;
  std::string output;
  std::string key;
  std::string epsilon;
  std::string delta;
  std::string noise_multiplier;
  std::string threads;
  std::string replay_seed;
  std::string resume;
  std::string checkpoint_every = "60";
  std::string plan;
  bool quiet = false;
  bool no_report = false;
  bool dry_run = false;
  CreateOption creating;
  WorkerOptions workers;
};

Result<NoiseWish> noise_wish(const TrainOptions& o) {
  if (!o.epsilon.empty() && !o.noise_multiplier.empty()) {
    return invalid_argument("give --epsilon, to which noise is calibrated, or --noise-multiplier, but not both");
  }
  NoiseWish wish;
  NF_TRY(wish.multiplier, optional_quantity<NoiseMultiplier>("--noise-multiplier", o.noise_multiplier));
  NF_TRY(wish.epsilon, optional_quantity<Epsilon>("--epsilon", o.epsilon));
  NF_TRY(wish.delta, optional_quantity<Delta>("--delta", o.delta));
  return wish;
}

// By name, so that an error says which one to leave out.
Result<void> expect_nothing_beside_the_plan(const TrainOptions& o) {
  for (const auto& [name, value] : {std::pair<const char*, std::string>{"--epsilon", o.epsilon},
                                    {"--delta", o.delta},
                                    {"--noise-multiplier", o.noise_multiplier},
                                    {"--replay-seed", o.replay_seed},
                                    {"--key", o.key}}) {
    if (!value.empty()) {
      return invalid_argument(fmt::format("{} would deviate from the plan: leave it out, or make another plan", name));
    }
  }
  return success();
}

Result<TrainingWish> wish_of(const TrainOptions& o, const TrainingFile& file) {
  TrainingWish wish;
  wish.folder = o.output;
  wish.key = o.key;
  wish.unknown = o.creating.unknown();
  NF_TRY(wish.noise, noise_wish(o));
  NF_TRY(wish.checkpoint_seconds, parse_number("--checkpoint-every", o.checkpoint_every));
  if (!(wish.checkpoint_seconds >= 0 && wish.checkpoint_seconds <= 1e9)) {
    return invalid_argument(
        fmt::format("--checkpoint-every takes seconds, 0 for none; {} was given", o.checkpoint_every));
  }
  if (!o.plan.empty()) {
    NF_TRY_VOID(expect_nothing_beside_the_plan(o));
    NF_TRY(wish.plan, read_plan(o.plan, file));
    if (!ledger_is_there(o)) {
      return invalid_argument(
          fmt::format("a plan is carried out by the ledger that signed it, and there is no ledger {}: name it with "
                      "--ledger",
                      noisefloor::shown(location_of(o))));
    }
  }
  if (!o.replay_seed.empty()) {
    NF_TRY(wish.replay_seed, parse_seed(o.replay_seed));
  }
  if (!o.resume.empty()) {
    NF_TRY(const std::string bytes, read_file(o.resume, kMaxCheckpointBytes));
    NF_TRY(wish.from, parse_checkpoint(bytes));
  }
  return wish;
}

// How it was called. The place of a ledger is left out where it is an address, which may hold a password.
std::string command_of(const TrainOptions& o) {
  std::string command = "noisefloor train " + shell_word(o.file);
  const bool is_address = o.ledger.find("://") != std::string::npos;
  for (const auto& [name, value] : {std::pair<const char*, std::string>{"--plan", o.plan},
                                    {"--epsilon", o.epsilon},
                                    {"--delta", o.delta},
                                    {"--noise-multiplier", o.noise_multiplier},
                                    {"--replay-seed", o.replay_seed},
                                    {"--resume", o.resume},
                                    {"--key", o.key},
                                    {"--output", o.output},
                                    {"--ledger", is_address ? "" : without_password(o.ledger)}}) {
    if (!value.empty()) command += fmt::format(" {} {}", name, shell_word(value));
  }
  return command;
}

Result<Summary> dry_run(const TrainOptions& o, TrainingJob& job) {
  NF_TRY(const TrainingCost cost, job.cost());
  Summary summary = cost_summary(job, cost);
  if (!cost.charged) return summary;
  NF_TRY_VOID(report_outlook(summary, o, cost.spend.budget, [&](Ledger* ledger) { return job.outlook(ledger); }));
  return summary;
}

Result<Summary> train(const TrainOptions& o, std::unique_ptr<Workers>& workers) {
  if (o.workers.stated()) NF_TRY_VOID(require_torch("a training with several workers"));
  NF_TRY(TrainingFile file, training_file_at(o.file));
  TrainingJob::Means means{{}, {}, o.threads.empty()};
  NF_TRY(means.machine, machine_with(o.threads));
  NF_TRY(TrainingWish wish, wish_of(o, file));
  if (!o.dry_run) {
    means.meet = [&]() -> Result<WorkerTeam> {
      NF_TRY(workers, Workers::meet(o.workers));
      return workers->team();
    };
  }
  NF_TRY(TrainingJob job, TrainingJob::prepare(std::move(file), std::move(wish), means));
  if (o.dry_run) return dry_run(o, job);
  Console console(o.quiet);
  const JobControl control = console.control();
  if (!job.team().leads()) {
    NF_TRY(const std::uint64_t steps, job.follow(control));
    return worker_summary(job, steps);
  }
  NF_TRY(const OpenedLedger opened,
         open_ledger_of(o, o.creating, job.file(), job.request().charged(), job.needs_ledger(),
                        [&](Ledger* ledger) { return job.outlook(ledger); }));
  Result<TrainingOutcome> made = job.run(opened.ledger.get(), control, command_of(o));
  if (!made.has_value()) return console.explained(std::move(made).error(), o.file);
  const TrainingOutcome& outcome = made.value();
  Summary summary = summary_of(job, outcome);
  const std::string folder = outcome.notes.files.folder.string();
  if (!o.no_report) add_report_page(summary, try_to_write_report(folder, opened.ledger.get(), location_of(o)));
  if (outcome.verdict && outcome.verdict->decision == PlanDecision::kNextPhase) {
    summary.remark(fmt::format("Next: noisefloor plan {} --after {}", o.file, folder));
  }
  if (outcome.stopped && job.request().checkpoint_seconds > 0) {
    summary.remark(fmt::format("To go on, which is charged again: --resume {} --output ANOTHER",
                               noisefloor::shown(outcome.notes.files.checkpoint())));
  }
  return summary;
}

Result<Summary> run_train(const TrainOptions& o) {
  std::unique_ptr<Workers> workers;
  Result<Summary> summary = train(o, workers);
  if (!summary.has_value() && workers) return workers->explained(std::move(summary).error());
  return summary;
}

}  // namespace

void add_train_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, TrainOptions& o) {
    const OptionGroup options(command);
    const OptionGroup output(command, "Output");
    const OptionGroup privacy(command, "Privacy");
    const OptionGroup checkpoints(command, "Checkpoints");
    options.required("FILE", o.file, "The training as TOML (docs/formats/training.md)");
    output.optional("--output", o.output, "Folder for model, certificate and metrics (its name)", "DIR");
    output.flag("--quiet", o.quiet, "No progress");
    options.flag("--dry-run", o.dry_run, kDryRunHelp);
    o.creating.add_to(command);
    output.flag("--no-report", o.no_report, "Write no report.html");
    privacy.optional("--epsilon", o.epsilon, "Calibrate the noise to this, whatever the file says", "E");
    privacy.optional("--delta", o.delta, "At this delta, at most the budget's (the file's)", "D");
    privacy.optional("--noise-multiplier", o.noise_multiplier, "This noise, whatever the file says", "Z");
    privacy.optional("--replay-seed", o.replay_seed, "Repeatable noise: NOT PRIVATE, recorded, not charged", "N");
    privacy.optional("--plan", o.plan, "Do what this plan says, and nothing else (noisefloor plan FILE)", "PLAN");
    OptionGroup(command, "Ledger")
        .optional("--key", o.key, "Of this spend in the ledger; one key trains once (its name)", "KEY");
    checkpoints.optional("--resume", o.resume, "Go on from this checkpoint; the steps that are left are charged again",
                         "FILE");
    checkpoints.with_default("--checkpoint-every", o.checkpoint_every, "Seconds between checkpoints; 0 for none", "S");
    options.optional("--threads", o.threads, "Threads (all cores)", "N");
    o.workers.add_to(command);
    o.add_to(command, true, true);
  };
  add_command<TrainOptions>(app, action, "train", "Train a model privately: reserve, train, certify",
                            "examples/training/fashion.toml --create", declare, run_train);
}

}  // namespace noisefloor::cli
