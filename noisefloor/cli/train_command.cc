#include "noisefloor/cli/train_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/descent.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/cli/training_task.h"
#include "noisefloor/release/training_run.h"
#include "noisefloor/sgd/quality.h"
#include "version.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TrainOptions : LedgerAccess {
  std::string file;
  std::string output;
  std::string key;
  std::string epsilon;
  std::string noise_multiplier;
  std::string threads;
  std::string replay_seed;
  bool quiet = false;
};

struct EvaluateOptions {
  std::string file;
  std::string model;
  std::string threads;
};

// --- Stopping ----------------------------------------------------------------------------------------------------------

// The first Ctrl-C asks for the model so far; the second one ends the process.
std::atomic<bool> stop_asked = false;

void ask_to_stop(int signal) {
  stop_asked = true;
  (void)std::signal(signal, SIG_DFL);
}

// --- Progress ------------------------------------------------------------------------------------------------------------

std::string shown_time(double seconds) {
  const auto whole = static_cast<long>(std::ceil(seconds));
  return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                       : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string as_text(const TrainingProgress& p) {
  const std::string epsilon = std::isfinite(p.epsilon) ? fmt::format("epsilon {:.4f}", p.epsilon) : "not private";
  return fmt::format("step {}/{} ({} %), {}, {:.0f} examples/s, {} left", p.steps, p.planned, 100 * p.steps / p.planned,
                     epsilon, p.examples_per_second, shown_time(p.seconds_left));
}

Json as_json(const TrainingProgress& p) {
  return Json{{"step", p.steps},
              {"epsilon", std::isfinite(p.epsilon) ? Json(p.epsilon) : Json(nullptr)},
              {"clip_norm", p.clip_norm},
              {"examples_per_second", std::round(p.examples_per_second)},
              {"seconds", p.seconds}};
}

// One line that is written over on a terminal; elsewhere a line now and then.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet) : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) == 1) {}
  void show(const TrainingProgress& p) {
    if (quiet_) return;
    const bool last = p.steps == p.planned;
    if (terminal_) {
      fmt::print(stderr, "\r\x1b[K{}{}", as_text(p), last ? "\n" : "");
    } else if (last || p.seconds >= next_) {
      fmt::print(stderr, "{}\n", as_text(p));
      next_ = p.seconds + 10;
    }
  }

 private:
  bool quiet_;
  bool terminal_;
  double next_ = 0;
};

// --- What the command line says ------------------------------------------------------------------------------------------

Result<std::size_t> threads_of(const std::string& text) {
  if (text.empty()) return std::max<std::size_t>(1, std::thread::hardware_concurrency());
  NF_TRY(const std::uint64_t count, parse_count("--threads", text));
  if (count < 1 || count > 1024) return invalid_argument(fmt::format("--threads must be 1 to 1024; got {}", count));
  return static_cast<std::size_t>(count);
}

Result<NoiseWish> noise_wish(const TrainOptions& o) {
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
  return wish;
}

Result<std::vector<float>> first_weights(const TrainingFile& file, const TrainableModel& model, BitStream& stream) {
  if (!file.training.model.start_from) return model.initial_weights(stream);
  return load_weights(file.resolve(*file.training.model.start_from), model);
}

// --- The command -----------------------------------------------------------------------------------------------------------

struct OutputFiles {
  std::filesystem::path folder;
  [[nodiscard]] std::string model() const { return (folder / "model.safetensors").string(); }
  [[nodiscard]] std::string certificate() const { return (folder / "certificate.json").string(); }
  [[nodiscard]] std::string metrics() const { return (folder / "metrics.jsonl").string(); }
};

// Everything that can be found out before anything is spent.
Result<OutputFiles> prepare_output(const TrainOptions& o, const Training& training) {
  OutputFiles files{o.output.empty() ? training.name : o.output};
  std::error_code error;
  if (std::filesystem::exists(files.model(), error)) {
    return invalid_argument(fmt::format("{} is there already: give another --output, and another --key to train again",
                                        noisefloor::shown(files.model())));
  }
  std::filesystem::create_directories(files.folder, error);
  if (error)
    return io_error(
        fmt::format("the folder {} could not be made: {}", noisefloor::shown(files.folder.string()), error.message()));
  return files;
}

Result<void> ensure_budget(Ledger& ledger, const TrainingPrivacy& privacy) {
  bool known = false;
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    known = state.find(privacy.budget) != nullptr;
    return success();
  }));
  if (known) return success();
  return ledger.create_budget({privacy.budget, privacy.epsilon, privacy.delta, privacy.adjacency, PrivacyUnit::kRow,
                               Rule::kBasic, default_failures(Rule::kBasic)});
}

void report_quality(Report& report, const char* which, TrainableModel& network, std::span<const float> weights,
                    const Dataset& data) {
  const Quality quality = quality_of(network.predict(weights, data), data);
  Json json{{"examples", quality.examples}, {"loss", quality.loss}};
  std::string text = fmt::format("loss {:.4f}", quality.loss);
  if (data.classes > 0) {
    json["accuracy"] = quality.accuracy;
    json["f1"] = quality.f1;
    text = fmt::format("accuracy {:.2f} %, F1 {:.4f}, {}", 100 * quality.accuracy, quality.f1, text);
  }
  report.set(which, json);
  report.line(which, fmt::format("{} ({} examples, taken as public)", text, quality.examples));
}

Result<Report> run_train(const TrainOptions& o) {
  NF_TRY(const TrainingFile file, read_training_file(o.file));
  const Training& training = file.training;
  NF_TRY(const std::size_t threads, threads_of(o.threads));
  NF_TRY(const NoiseWish wish, noise_wish(o));
  NF_TRY(const TrainingExamples examples, read_examples(file));
  NF_TRY(const std::unique_ptr<TrainableModel> network, bind_model(training, examples.train, threads));
  NF_TRY(const BatchSampler sampler, sampler_of(training, examples.train.rows));
  NF_TRY(const Steps steps, steps_of(training.descent, sampler));
  NF_TRY(const Noise noise, noise_of(wish, training.privacy, sampler, steps));
  NF_TRY(SecureRandom secure, SecureRandom::create());
  std::optional<ReplayRandom> replay;
  if (!o.replay_seed.empty() || !noise.multiplier) {
    std::uint64_t seed = 0;
    if (!o.replay_seed.empty()) {
      NF_TRY(seed, parse_count("--replay-seed", o.replay_seed));
    }
    NF_TRY(ReplayRandom made, ReplayRandom::create(seed));
    replay.emplace(std::move(made));
  }
  NF_TRY(std::vector<float> initial,
         first_weights(file, *network, replay ? static_cast<BitStream&>(*replay) : static_cast<BitStream&>(secure)));
  NF_TRY(DpSgd sgd, descent_of(training.descent, noise, sampler, steps, *network, std::move(initial)));
  NF_TRY(const OutputFiles files, prepare_output(o, training));
  std::ofstream metrics(files.metrics(), std::ios::app);
  if (!metrics) return io_error(fmt::format("{} could not be written", noisefloor::shown(files.metrics())));

  for (const std::string& warning : file.warnings) fmt::print(stderr, "warning: {}\n", warning);
  TrainingPlan plan{training.name,
                    steps,
                    training.privacy.delta,
                    PrivacyUnit::kRow,
                    training.privacy.budget,
                    o.key.empty() ? training.name : o.key,
                    {},
                    NOISEFLOOR_VERSION};
  ProgressLine line(o.quiet);
  TrainingProgress last;
  TrainingHooks hooks;
  hooks.progress = [&](const TrainingProgress& progress) {
    last = progress;
    line.show(progress);
    metrics << as_json(progress).dump() << std::endl;  // NOLINT: flushed, so that it can be followed
  };
  hooks.stop = [] { return stop_asked.load(); };
  const Publish publish = [&](const TrainedModel& model) -> Result<void> {
    NF_TRY_VOID(write_file(files.model(), model.bytes));
    return write_file(files.certificate(), to_json(model.certificate));
  };
  const NameWeights names = [&](std::span<const float> weights) { return network->name_weights(weights); };
  (void)std::signal(SIGINT, ask_to_stop);
  (void)std::signal(SIGTERM, ask_to_stop);
  std::optional<TrainedModel> model;
  if (replay) {
    NF_TRY(TrainedModel trained, train_without_privacy(plan, sgd, *replay, names, hooks, publish));
    model = std::move(trained);
  } else {
    NF_TRY(const OpenedLedger opened, open_or_create(o));
    NF_TRY_VOID(ensure_budget(*opened.ledger, training.privacy));
    NF_TRY(TrainedModel trained, train_privately(plan, sgd, secure, *opened.ledger, names, hooks, publish));
    model = std::move(trained);
  }

  const Certificate& certificate = model->certificate;
  Report report(
      fmt::format("Trained {}{}", training.name, certificate.steps < steps.value() ? " (stopped early)" : ""));
  report.set("model", files.model());
  report.set("certificate", files.certificate());
  report.set("metrics", files.metrics());
  report.line("model", files.model());
  report.line("certificate", files.certificate());
  report.set("private", std::isfinite(certificate.epsilon.upper));
  report.set("epsilon", interval_json(certificate.epsilon.lower, certificate.epsilon.upper));
  report.set("delta", plan.delta.value());
  if (std::isfinite(certificate.epsilon.upper)) {
    report.line("epsilon", fmt::format("{} at delta {}, {}, unit row",
                                       shown_interval(certificate.epsilon.lower, certificate.epsilon.upper),
                                       shown(plan.delta.value()), name_of(training.privacy.adjacency)));
  } else {
    report.line("epsilon", "infinite: this model is NOT PRIVATE, and is for comparison only");
  }
  if (noise.multiplier) {
    report.set("noise_multiplier", noise.multiplier->value());
    report.line("noise",
                fmt::format("multiplier {:.6g}{}", noise.multiplier->value(), noise.calibrated ? " (calibrated)" : ""));
  }
  report.set("steps", certificate.steps);
  report.set("examples", examples.train.rows);
  report.set("parameters", network->parameters());
  report.set("seconds", last.seconds);
  report.set("examples_per_second", last.examples_per_second);
  report.line("training", fmt::format("{} steps of {} out of {} examples, {} parameters, {:.1f} s, {:.0f} examples/s",
                                      certificate.steps, training.descent.batch_size.value(), examples.train.rows,
                                      network->parameters(), last.seconds, last.examples_per_second));
  if (examples.validation) report_quality(report, "validation", *network, sgd.result(), *examples.validation);
  if (examples.test) report_quality(report, "test", *network, sgd.result(), *examples.test);
  return report;
}

Result<Report> run_evaluate(const EvaluateOptions& o) {
  NF_TRY(const TrainingFile file, read_training_file(o.file));
  NF_TRY(const std::size_t threads, threads_of(o.threads));
  NF_TRY(const TrainingExamples examples, read_examples(file));
  if (!examples.test) return invalid_argument("there are no test data: give test or test_fraction under [data]");
  NF_TRY(const std::unique_ptr<TrainableModel> network, bind_model(file.training, *examples.test, threads));
  const std::string path = o.model.empty() ? OutputFiles{file.training.name}.model() : o.model;
  NF_TRY(const std::vector<float> weights, load_weights(path, *network));
  Report report(fmt::format("{} on its test data", path));
  report.set("model", path);
  report_quality(report, "test", *network, weights, *examples.test);
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
    command.add_option("--epsilon", o.epsilon, "Calibrate the noise to this, whatever the file says")
        ->type_name("E")
        ->group("Privacy");
    command.add_option("--noise-multiplier", o.noise_multiplier, "This noise, whatever the file says")
        ->type_name("Z")
        ->group("Privacy");
    command.add_option("--replay-seed", o.replay_seed, "Repeatable noise: NOT PRIVATE, not charged")
        ->type_name("N")
        ->group("Privacy");
    command.add_option("--key", o.key, "Of this spend in the ledger; one key trains once (its name)")
        ->type_name("KEY")
        ->group("Ledger");
    command.add_option("--threads", o.threads, "Threads (all cores)")->type_name("N");
    o.add_to(command, true, true);
  };
  add_command<TrainOptions>(app, action, "train", "Train a model privately: reserve, train, certify",
                            "examples/training/fashion.toml", declare, run_train);
}

void add_evaluate_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, EvaluateOptions& o) {
    command.add_option("FILE", o.file, "The training as TOML")->required();
    command.add_option("--model", o.model, "Its model (NAME/model.safetensors)")->type_name("FILE");
    command.add_option("--threads", o.threads, "Threads (all cores)")->type_name("N");
  };
  add_command<EvaluateOptions>(app, action, "evaluate", "How good a trained model is on its test data",
                               "examples/training/fashion.toml", declare, run_evaluate);
}

}  // namespace noisefloor::cli
