#include "noisefloor/cli/train_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/input.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/cli/model_report.h"
#include "noisefloor/cli/run_folder.h"
#include "noisefloor/cli/run_report.h"
#include "noisefloor/cli/torch_backend.h"
#include "noisefloor/cli/training_plan.h"
#include "noisefloor/cli/training_session.h"
#include "noisefloor/cli/workers.h"
#include "noisefloor/crypto/hash.h"
#include "version.h"

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
  WorkerOptions workers;
};

Result<NoiseWish> noise_wish(const TrainOptions& o, const TrainingPrivacy& privacy) {
  NoiseWish wish;
  if (!o.epsilon.empty() && !o.noise_multiplier.empty()) {
    return invalid_argument("give --epsilon, to which noise is calibrated, or --noise-multiplier, but not both");
  }
  if (!o.noise_multiplier.empty()) {
    NF_TRY(const double value, parse_number("--noise-multiplier", o.noise_multiplier));
    NF_TRY(wish.multiplier, NoiseMultiplier::make(value));
  }
  if (!o.epsilon.empty()) {
    NF_TRY(const double value, parse_number("--epsilon", o.epsilon));
    NF_TRY(wish.epsilon, Epsilon::make(value));
  }
  if (!o.delta.empty()) {
    NF_TRY(const double value, parse_number("--delta", o.delta));
    NF_TRY(const Delta delta, Delta::make(value));
    if (delta.value() == 0 || delta > privacy.delta) {
      return invalid_argument(fmt::format(
          "--delta must be above 0, as the noise is Gaussian, and at most the budget's delta of {}; {} was given",
          shown(privacy.delta.value()), shown(value)));
    }
    wish.delta = delta;
  }
  return wish;
}

Result<void> expect_nothing_beside_the_plan(const TrainOptions& o) {
  for (const auto& [name, value] : {std::pair<const char*, const std::string&>{"--epsilon", o.epsilon},
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

Result<RunRequest> request_of(const TrainOptions& o, const Training& training) {
  RunRequest request{.files = {o.output.empty() ? training.name : o.output},
                     .key = o.key.empty() ? training.name : o.key,
                     .noise = {},
                     .delta = training.privacy.target_delta,
                     .replay_seed = {},
                     .from = {},
                     .title = {},
                     .workers = {},
                     .quiet = o.quiet};
  NF_TRY(request.checkpoint_seconds, parse_number("--checkpoint-every", o.checkpoint_every));
  if (!(request.checkpoint_seconds >= 0 && request.checkpoint_seconds <= 1e9)) {
    return invalid_argument(
        fmt::format("--checkpoint-every takes seconds, 0 for none; {} was given", o.checkpoint_every));
  }
  if (!o.replay_seed.empty()) {
    NF_TRY(request.replay_seed, parse_seed(o.replay_seed));
  }
  if (!o.resume.empty()) {
    NF_TRY(const std::string bytes, read_file(o.resume, kMaxCheckpointBytes));
    NF_TRY(request.from, parse_checkpoint(bytes));
    if (o.key.empty()) request.key += fmt::format("-from-step-{}", request.from->state.steps);
  }
  return request;
}

void report_run(Report& report, const TrainingSession& session, const RunRequest& request, const RunResult& run) {
  const Certificate& certificate = run.model.certificate;
  report.set("model", request.files.model());
  report.set("certificate", request.files.certificate());
  report.set("metrics", request.files.metrics());
  report.line("model", request.files.model());
  report.line("certificate", request.files.certificate());
  report.set("private", std::isfinite(certificate.epsilon.upper));
  report.set("epsilon", interval_json(certificate.epsilon.lower, certificate.epsilon.upper));
  report.set("delta", request.delta.value());
  if (std::isfinite(certificate.epsilon.upper)) {
    report.line("epsilon", fmt::format("{} at delta {}, {}, unit row",
                                       shown_interval(certificate.epsilon.lower, certificate.epsilon.upper),
                                       shown(request.delta.value()), name_of(session.training().privacy.adjacency)));
  } else {
    report.line("epsilon", "infinite: this model is NOT PRIVATE, and is for comparison only");
  }
  if (request.noise.multiplier) {
    report.set("noise_multiplier", request.noise.multiplier->value());
    report.line("noise",
                fmt::format("{}, multiplier {:.6g}{}",
                            session.training().descent.discrete_noise ? "discrete Gaussian" : "Gaussian",
                            request.noise.multiplier->value(), request.noise.calibrated ? " (calibrated)" : ""));
  }
  report.set("steps", certificate.steps);
  report.set("examples", session.examples->train.rows);
  report.set("parameters", session.model->parameters());
  report.set("again", run.again);
  std::string rate;
  if (!run.again) {
    report.set("seconds", run.seconds);
    report.set("examples_per_second", run.examples_per_second);
    rate = fmt::format(", {:.1f} s, {:.0f} examples/s", run.seconds, run.examples_per_second);
  }
  report.line("training", fmt::format("{} steps of {} out of {} examples, {} parameters{}", certificate.steps,
                                      session.training().descent.batch_size.value(), session.examples->train.rows,
                                      session.model->parameters(), rate));
}

// How it was called. The place of a ledger is left out where it is an address, which may hold a password.
std::string command_of(const TrainOptions& o) {
  std::string command = "noisefloor train " + shell_word(o.file);
  for (const auto& [name, value] : {std::pair<const char*, const std::string&>{"--plan", o.plan},
                                    {"--epsilon", o.epsilon},
                                    {"--delta", o.delta},
                                    {"--noise-multiplier", o.noise_multiplier},
                                    {"--replay-seed", o.replay_seed},
                                    {"--resume", o.resume},
                                    {"--key", o.key},
                                    {"--output", o.output},
                                    {"--ledger", o.ledger.find("://") == std::string::npos ? o.ledger : ""}}) {
    if (!value.empty()) command += fmt::format(" {} {}", name, shell_word(value));
  }
  return command;
}

// Beside the model: what this command printed, and the utility graph of the plan; then the report on all of it.
void write_notes(Report& report, const TrainOptions& o, const OutputFiles& files, Ledger* ledger) {
  report.set("command", command_of(o));
  Result<void> written = write_file((files.folder / kRunName).string(), report.as_json());
  const std::filesystem::path graph = std::filesystem::path(o.plan).parent_path() / kUtilityGraphName;
  std::error_code error;
  if (written.has_value() && !o.plan.empty() && std::filesystem::exists(graph, error)) {
    std::filesystem::copy_file(graph, files.folder / kUtilityGraphName,
                               std::filesystem::copy_options::overwrite_existing, error);
    if (error) written = io_error(fmt::format("the utility graph could not be copied: {}", error.message()));
  }
  if (!written.has_value()) {  // The model is there and is paid for.
    fmt::print(stderr, "warning: {}\n", written.error().message);
    return;
  }
  if (o.no_report) return;
  const std::string page = try_to_write_report(files.folder.string(), {ledger, location_of(o), true});
  if (page.empty()) return;
  report.set("report", page);
  report.line("report", page);
}

// What workers must have in common. All of it stays among them.
Result<std::string> joint_statement(const TrainOptions& o, const TrainingFile& file, const Dataset& data) {
  const auto digest = [](const auto& numbers) {
    return to_hex(blake2b({reinterpret_cast<const char*>(numbers.data()),  // NOLINT: as bytes
                           numbers.size() * sizeof(numbers[0])}));
  };
  NF_TRY(const std::string text, read_text(o.file));
  std::string start;
  if (file.training.model.start_from) {
    NF_TRY(start, read_file(file.resolve(*file.training.model.start_from), kMaxModelBytes));
  }
  return fmt::format("{} {} {} {} {} {} {} {} {} {}", NOISEFLOOR_VERSION, digest(text), digest(start),
                     digest(data.features), digest(data.labels), digest(data.targets), data.rows, o.epsilon,
                     o.noise_multiplier, o.replay_seed);
}

Report followed(const Training& training, const Workers& workers, std::uint64_t steps) {
  Report report(fmt::format("Worker {} of {} trained {}", workers.rank(), workers.size(), training.name));
  report.set("worker", workers.rank());
  report.set("workers", workers.size());
  report.set("steps", steps);
  report.line("steps", fmt::format("{}; the first worker has the model and the certificate", steps));
  return report;
}

Result<Report> train(const TrainOptions& o, std::unique_ptr<Workers>& workers) {
  if (o.workers.stated()) NF_TRY_VOID(require_torch("a training with several workers"));
  NF_TRY(TrainingFile file, read_training_file(o.file));
  NF_TRY(const std::size_t cores, parse_threads(o.threads));
  NF_TRY(NoiseWish wish, noise_wish(o, file.training.privacy));
  std::optional<SignedPlan> plan;
  if (!o.plan.empty()) {
    NF_TRY_VOID(expect_nothing_beside_the_plan(o));
    NF_TRY(plan, read_plan(o.plan, o.file));
    follow_plan(plan->plan, file.training);
    wish = {{}, plan->plan.delta, plan->plan.noise};
  }
  NF_TRY(RunRequest request, request_of(o, file.training));
  if (plan) {
    request.key = key_of(plan->plan);
    request.item = plan->plan.item;
  }
  NF_TRY(const TrainingExamples examples, read_examples(file, cores));
  if (plan) NF_TRY_VOID(expect_rows(plan->plan, examples.train.rows));
  NF_TRY(workers, Workers::meet(o.workers));
  if (workers->group() != nullptr) {
    NF_TRY(const std::string statement, joint_statement(o, file, examples.train));
    NF_TRY_VOID(workers->expect_same(statement));
  }
  request.workers = workers.get();
  const std::size_t threads = o.threads.empty() ? std::max<std::size_t>(1, cores / workers->on_this_machine()) : cores;
  NF_TRY(TrainingSession session, begin_session(file, examples, threads));
  NF_TRY(request.noise, noise_of(wish, file.training, session.sampler, session.steps, *session.model));
  request.delta = wish.delta.value_or(file.training.privacy.target_delta);
  if (!workers->leads()) {
    NF_TRY(const std::uint64_t steps, follow_training(session, request));
    return followed(file.training, *workers, steps);
  }
  for (const std::string& warning : file.warnings) fmt::print(stderr, "warning: {}\n", warning);
  OpenedLedger opened{};
  if (request.noise.multiplier && !request.replay_seed) {
    NF_TRY(opened, open_or_create(o));
    if (plan) NF_TRY_VOID(expect_signer(*plan, *opened.ledger));
    NF_TRY_VOID(ensure_budget(*opened.ledger, file.training.privacy));
  }
  NF_TRY(const RunResult run, run_training(session, request, opened.ledger.get()));
  const bool stopped = run.model.certificate.steps < session.steps.value();
  Report report(fmt::format("Trained {}{}{}", file.training.name, stopped ? " (stopped early)" : "",
                            run.again ? " before: here it is again, and nothing was spent" : ""));
  report_run(report, session, request, run);
  report.set("workers", workers->size());
  if (examples.validation) report_quality(report, "validation", *session.model, run.weights, *examples.validation);
  if (examples.test) report_quality(report, "test", *session.model, run.weights, *examples.test);
  if (plan)
    NF_TRY_VOID(finish_plan(report, *plan, o.plan, request.files, o.file, *session.model, run.weights, examples));
  write_notes(report, o, request.files, opened.ledger.get());
  if (stopped && request.checkpoint_seconds > 0) {
    report.remark(fmt::format("To go on, which is charged again: --resume {} --output ANOTHER",
                              noisefloor::shown(request.files.checkpoint())));
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
