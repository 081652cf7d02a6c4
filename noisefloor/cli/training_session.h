// A training file made ready to run, and one run of it: what train and sweep share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/cli/descent.h"
#include "noisefloor/cli/report.h"
#include "noisefloor/cli/training_task.h"
#include "noisefloor/cli/workers.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/sgd/trainable_model.h"
#include "noisefloor/training/training_run.h"

namespace noisefloor::cli {

// For certificates: what a training takes as public of its data.
inline constexpr const char* kDataDeclaration =
    "bounds, categories, classes and splits are those of the training file, stated without looking at the data; "
    "nothing "
    "was fitted to the data before training; test and validation examples are taken as public";

struct TrainingSession {
  const TrainingFile* file;
  const TrainingExamples* examples;
  std::unique_ptr<TrainableModel> model;
  BatchSampler sampler;
  Steps steps;

  [[nodiscard]] const Training& training() const { return file->training; }
};

// Both must outlive it.
[[nodiscard]] Result<TrainingSession> begin_session(const TrainingFile& file, const TrainingExamples& examples,
                                                    std::size_t threads);

// Files of one run, in a folder of its own.
struct OutputFiles {
  std::filesystem::path folder;
  [[nodiscard]] std::string model() const { return (folder / "model.safetensors").string(); }
  [[nodiscard]] std::string certificate() const { return (folder / "certificate.json").string(); }
  [[nodiscard]] std::string metrics() const { return (folder / "metrics.jsonl").string(); }
  [[nodiscard]] std::string checkpoint() const { return (folder / "checkpoint.safetensors").string(); }
};

struct RunRequest {
  OutputFiles files;
  std::string key;
  Noise noise;
  Delta delta;
  std::optional<std::uint64_t> replay_seed;  // repeatable: not private, and not charged
  std::optional<Checkpoint> from;
  std::string item = {};           // of a planned budget
  double checkpoint_seconds = 60;  // 0: none
  std::string title;               // before each line of progress
  Workers* workers = nullptr;      // that take part; null for this process alone
  bool quiet = false;
};

struct RunResult {
  Sealed model;
  bool again = false;  // made before, under the same key
  std::vector<float> weights;
  double seconds = 0;
  double examples_per_second = 0;
};

// Everything that can be found out before anything is spent, then the run. `ledger` is needed unless it is repeatable or
// without noise. The first Ctrl-C ends it after the present step, with the model so far.
[[nodiscard]] Result<RunResult> run_training(TrainingSession& session, const RunRequest& request, Ledger* ledger);

// What the steps of a run cost.
[[nodiscard]] Result<DpEvent> event_of(TrainingSession& session, const RunRequest& request);
// The weights after the steps of a run that is part of another release, or that is not private. Nothing is written.
[[nodiscard]] Result<std::vector<float>> run_as_part(TrainingSession& session, const RunRequest& request);

// What another worker than the first does: takes part in the steps, and writes and spends nothing. Returns how many there were.
[[nodiscard]] Result<std::uint64_t> follow_training(TrainingSession& session, const RunRequest& request);

// Whether Ctrl-C was pressed.
[[nodiscard]] bool stop_was_asked();

// The budget as the file states it, if the ledger has none of its name.
[[nodiscard]] Result<void> ensure_budget(Ledger& ledger, const TrainingPrivacy& privacy);

[[nodiscard]] Result<std::uint64_t> parse_seed(const std::string& text);
// All cores if there is no text.
[[nodiscard]] Result<std::size_t> parse_threads(const std::string& text);

}  // namespace noisefloor::cli
