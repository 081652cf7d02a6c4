// A whole training, from its specification to its certificate. Start here.
//
//   auto file = read_training_file("study.toml").value();
//   auto job = TrainingJob::prepare(std::move(file), {}, {.threads = 8}).value();   // reads, checks, finds the noise
//   job.cost();                                                                     // what it would charge
//   auto made = job.run(ledger.get(), {.observer = &observer, .stop = asked});      // reserves, trains, certifies
//
// Guarantee:     prepare() and cost() spend and write nothing. run() charges the whole training before it draws noise.
//                The rules of privacy hold for every caller: delta is below 1/rows and at most the budget's, a plan is
//                followed exactly and on its own ledger, a checkpoint continues only in its own training and on the
//                ledger that was charged for it, and rows that are not declared public are looked at without noise
//                only if the ledger records it (exposing.h).
// Requires:      the worker group that `meet` returns outlives the job.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/ledger/outlook.h"
#include "noisefloor/training/payer.h"
#include "noisefloor/training/plan_following.h"
#include "noisefloor/training/run_notes.h"
#include "noisefloor/training/session.h"

namespace noisefloor {

// Settings besides the training file.
struct TrainingWish {
  std::filesystem::path folder = {};  // for all files of the run; the training's name if it is empty
  std::string key = {};               // key of the spend; the training's name if it is empty
  NoiseWish noise = {};
  std::optional<std::uint64_t> replay_seed = {};  // repeatable noise: not private, and not charged
  std::optional<Checkpoint> from = {};
  std::optional<FollowedPlan> plan = {};  // excludes key, noise and replay_seed
  double checkpoint_seconds = 60;         // 0: no checkpoints
  NewDatasets unknown = NewDatasets::kRefuse;
};

// Meets the other workers, once the data are read. If the group is null, this process trains alone.
using MeetWorkers = std::function<Result<WorkerTeam>()>;

struct TrainingCost {
  bool charged = false;  // false: the run is not private
  ReserveRequest spend;  // for a run that is charged
  Interval epsilon;      // certified, for what would be charged
  Delta delta;
  Steps steps;  // steps to make
  Noise noise;
  BudgetTerms budget;  // the terms of the budget, if it has to be created
};

struct TrainingOutcome {
  RunResult run;
  RunNotes notes;
  std::optional<PlanVerdict> verdict;
  bool stopped = false;  // stopped before the last step
};

class TrainingJob {
 public:
  // `meet` may be empty. If threads are not stated for each worker (`share_threads`), workers of one machine share
  // them.
  struct Means {
    Machine machine = {};
    MeetWorkers meet = {};
    bool share_threads = true;
  };
  [[nodiscard]] static Result<TrainingJob> prepare(TrainingFile file, TrainingWish wish, const Means& means);

  [[nodiscard]] const TrainingFile& file() const { return parts_->file; }
  [[nodiscard]] const TrainingExamples& examples() const { return parts_->examples; }
  [[nodiscard]] const RunRequest& request() const { return parts_->request; }
  [[nodiscard]] const TrainingSession& session() const { return *parts_->session; }
  [[nodiscard]] const WorkerTeam& team() const { return parts_->request.team; }

  // Whether run() needs a ledger: one that is charged, or that records a look at private rows without noise. Any other
  // run compares its rows with a ledger if it is given one.
  [[nodiscard]] bool needs_ledger() const;

  [[nodiscard]] Result<TrainingCost> cost();
  // Whether the budget allows for the run. If `ledger` is null, the budget would be created. A run that is not charged
  // always fits.
  [[nodiscard]] Result<Outlook> outlook(Ledger* ledger);

  // For the first worker. The budget of the dataset pays (payer.h). `ledger` may be null unless
  // needs_ledger().
  // `command` is for the notes: the command line of the run, or empty.
  [[nodiscard]] Result<TrainingOutcome> run(Ledger* ledger, const JobControl& control, const std::string& command = {});
  // For the other workers: takes part, and returns how many steps there were.
  [[nodiscard]] Result<std::uint64_t> follow(const JobControl& control);

 private:
  struct Parts {
    TrainingFile file;
    TrainingExamples examples;
    std::optional<FollowedPlan> plan;
    std::optional<TrainingSession> session;
    RunRequest request;
    NewDatasets unknown;
    DatasetDescription dataset;
  };
  explicit TrainingJob(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
  [[nodiscard]] std::string settings() const;
  [[nodiscard]] Result<void> write_notes(const RunNotes& notes) const;

  std::unique_ptr<Parts> parts_;  // at a fixed address: the session points to file and examples
};

}  // namespace noisefloor
