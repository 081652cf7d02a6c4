#include "noisefloor/cli/train_command.h"

#include "noisefloor/cli/report_json.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/console.h"
#include "noisefloor/cli/model_report.h"
#include "noisefloor/cli/run_report.h"
#include "noisefloor/cli/torch_backend.h"
#include "noisefloor/cli/workers.h"
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

template <class Q>
Result<void> take(std::optional<Q>& wish, const char* name, const std::string& text) {
  if (text.empty()) return success();
  NF_TRY(const double value, parse_number(name, text));
  NF_TRY(wish, Q::make(value));
  return success();
}

Result<NoiseWish> noise_wish(const TrainOptions& o) {
  if (!o.epsilon.empty() && !o.noise_multiplier.empty()) {
    return invalid_argument("give --epsilon, to which noise is calibrated, or --noise-multiplier, but not both");
  }
  NoiseWish wish;
  NF_TRY_VOID(take(wish.multiplier, "--noise-multiplier", o.noise_multiplier));
  NF_TRY_VOID(take(wish.epsilon, "--epsilon", o.epsilon));
  NF_TRY_VOID(take(wish.delta, "--delta", o.delta));
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

std::string noise_line(const Noise& noise, const Training& training) {
  return fmt::format("{}, multiplier {:.6g}{}", training.descent.discrete_noise ? "discrete Gaussian" : "Gaussian",
                     noise.multiplier->value(), noise.calibrated ? " (calibrated)" : "");
}

std::string epsilon_line(const Interval& epsilon, Delta delta, const TrainingPrivacy& privacy) {
  return fmt::format("{} at delta {}, {}, unit {}", shown_interval(epsilon.lower, epsilon.upper), shown(delta.value()),
                     name_of(privacy.adjacency), name_of(privacy.unit));
}

void report_run(Report& report, const Training& training, const RunNotes& notes) {
  const Certificate& certificate = *notes.certificate;
  report.line("model", notes.files.model());
  report.line("certificate", notes.files.certificate());
  report.line("epsilon", std::isfinite(certificate.epsilon.upper)
                             ? epsilon_line(certificate.epsilon, certificate.delta, training.privacy)
                             : "infinite: this model is NOT PRIVATE, and is for comparison only");
  if (notes.noise.multiplier) report.line("noise", noise_line(notes.noise, training));
  const std::string rate =
      notes.again ? "" : fmt::format(", {:.1f} s, {:.0f} examples/s", notes.seconds, notes.examples_per_second);
  const std::string population = notes.people ? fmt::format("{} people with {} rows", *notes.people, notes.examples)
                                              : fmt::format("{} examples", notes.examples);
  report.line("training", fmt::format("{} steps of {} out of {}, {} parameters{}", certificate.steps,
                                      training.descent.batch_size.value(), population, notes.parameters, rate));
  if (notes.validation) report_quality(report, "validation", *notes.validation);
  if (notes.test) report_quality(report, "test", *notes.test);
}

void report_verdict(Report& report, const TrainOptions& o, const PlanVerdict& verdict, const RunNotes& notes) {
  const bool done = verdict.decision == PlanDecision::kDone;
  std::string text =
      fmt::format("accuracy {:.4f} is {} {:g}", verdict.accuracy, done ? "at least" : "below", verdict.target_accuracy);
  if (done) {
    text += ": done";
  } else if (verdict.decision == PlanDecision::kStop) {
    text += ", and this was the last phase: stop";
  } else {
    text += ": a next phase, with less noise";
    report.remark(fmt::format("Next: noisefloor plan {} --after {}", o.file, notes.files.folder.string()));
  }
  report.line("target", text);
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
                                    {"--ledger", is_address ? "" : o.ledger}}) {
    if (!value.empty()) command += fmt::format(" {} {}", name, shell_word(value));
  }
  return command;
}

Report followed(const TrainingJob& job, std::uint64_t steps) {
  const WorkerTeam& team = job.team();
  Report report(fmt::format("Worker {} of {} trained {}", team.rank(), team.size(), job.file().training.name));
  report.set("worker", team.rank());
  report.set("workers", team.size());
  report.set("steps", steps);
  report.line("steps", fmt::format("{}; the first worker has the model and the certificate", steps));
  return report;
}

Result<Report> dry_run(const TrainOptions& o, TrainingJob& job) {
  const Training& training = job.file().training;
  NF_TRY(const TrainingCost cost, job.cost());
  Report report(fmt::format("What training {} would charge; nothing was spent or written", training.name));
  report.set("dry_run", true);
  report.set("charged", cost.charged);
  report.set("steps", cost.steps.value());
  report.line("steps", fmt::format("{} of {} out of {} examples", cost.steps.value(),
                                   training.descent.batch_size.value(), job.examples().train.rows));
  if (cost.noise.multiplier) {
    report.set("noise_multiplier", cost.noise.multiplier->value());
    report.line("noise", noise_line(cost.noise, training));
  }
  if (!cost.charged) {
    report.line("epsilon", "infinite: this model would be NOT PRIVATE, and nothing would be charged");
    return report;
  }
  report.set("epsilon", interval_json(cost.epsilon.lower, cost.epsilon.upper));
  report.set("delta", cost.delta.value());
  report.set("key", cost.spend.key);
  report.line("epsilon", epsilon_line(cost.epsilon, cost.delta, training.privacy));
  report.line("key", cost.spend.key);
  NF_TRY_VOID(report_outlook(report, o, cost.spend.budget, [&](Ledger* ledger) { return job.outlook(ledger); }));
  return report;
}

Result<Report> train(const TrainOptions& o, std::unique_ptr<Workers>& workers) {
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
    return followed(job, steps);
  }
  OpenedLedger opened{};
  if (job.request().charged()) {
    NF_TRY(opened, open_to_pay(o, o.creating, job.file(), [&](Ledger* ledger) { return job.outlook(ledger); }));
  }
  Result<TrainingOutcome> made = job.run(opened.ledger.get(), control, command_of(o));
  if (!made.has_value()) return console.explained(std::move(made).error(), o.file);
  const TrainingOutcome& outcome = made.value();
  Report report(fmt::format("Trained {}{}{}", job.file().training.name, outcome.stopped ? " (stopped early)" : "",
                            outcome.run.again ? " before: here it is again, and nothing was spent" : ""));
  replace_json(report, nlohmann::ordered_json::parse(to_json(outcome.notes)));
  report_run(report, job.file().training, outcome.notes);
  if (outcome.verdict) report_verdict(report, o, *outcome.verdict, outcome.notes);
  if (!o.no_report) {
    add_report_page(report, outcome.notes.files.folder.string(), {opened.ledger.get(), location_of(o), true});
  }
  if (outcome.stopped && job.request().checkpoint_seconds > 0) {
    report.remark(fmt::format("To go on, which is charged again: --resume {} --output ANOTHER",
                              noisefloor::shown(outcome.notes.files.checkpoint())));
  }
  return report;
}

Result<Report> run_train(const TrainOptions& o) {
  std::unique_ptr<Workers> workers;
  Result<Report> report = train(o, workers);
  if (!report.has_value() && workers) return workers->explained(std::move(report).error());
  return report;
}

}  // namespace

void add_train_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, TrainOptions& o) {
    command.add_option("FILE", o.file, "The training as TOML (docs/formats/training.md)")->required();
    command.add_option("--output", o.output, "Folder for model, certificate and metrics (its name)")
        ->type_name("DIR")
        ->group("Output");
    command.add_flag("--quiet", o.quiet, "No progress")->group("Output");
    command.add_flag("--dry-run", o.dry_run, kDryRunHelp);
    o.creating.add_to(command);
    command.add_flag("--no-report", o.no_report, "Write no report.html")->group("Output");
    command.add_option("--epsilon", o.epsilon, "Calibrate the noise to this, whatever the file says")
        ->type_name("E")
        ->group("Privacy");
    command.add_option("--delta", o.delta, "At this delta, at most the budget's (the file's)")
        ->type_name("D")
        ->group("Privacy");
    command.add_option("--noise-multiplier", o.noise_multiplier, "This noise, whatever the file says")
        ->type_name("Z")
        ->group("Privacy");
    command.add_option("--replay-seed", o.replay_seed, "Repeatable noise: NOT PRIVATE, not charged")
        ->type_name("N")
        ->group("Privacy");
    command.add_option("--plan", o.plan, "Do what this plan says, and nothing else (noisefloor plan FILE)")
        ->type_name("PLAN")
        ->group("Privacy");
    command.add_option("--key", o.key, "Of this spend in the ledger; one key trains once (its name)")
        ->type_name("KEY")
        ->group("Ledger");
    command.add_option("--resume", o.resume, "Go on from this checkpoint; the steps that are left are charged again")
        ->type_name("FILE")
        ->group("Checkpoints");
    command.add_option("--checkpoint-every", o.checkpoint_every, "Seconds between checkpoints; 0 for none")
        ->type_name("S")
        ->capture_default_str()
        ->group("Checkpoints");
    command.add_option("--threads", o.threads, "Threads (all cores)")->type_name("N");
    o.workers.add_to(command);
    o.add_to(command, true, true);
  };
  add_command<TrainOptions>(app, action, "train", "Train a model privately: reserve, train, certify",
                            "examples/training/fashion.toml", declare, run_train);
}

}  // namespace noisefloor::cli
