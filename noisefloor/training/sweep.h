// Measures what privacy costs: one training at each of several epsilons, compared on public test data.
//
// Guarantee:     all private runs together keep the budget: their epsilons add up to no more than its epsilon, and each
//                takes its share of delta. That is checked before anything is spent. Runs without noise on rows that
//                are not declared public are recorded in the ledger before the first run, so that the certificates of
//                all runs name them (exposing.h).
// Thread safety: none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/ledger/outlook.h"
#include "noisefloor/training/exposing.h"
#include "noisefloor/training/payer.h"
#include "noisefloor/training/session.h"

namespace noisefloor {

// The epsilon of a run without privacy.
inline constexpr double kNoPrivacy = std::numeric_limits<double>::infinity();

inline constexpr const char* kSweepTableName = "sweep.csv";

struct SweepWish {
  std::vector<double> epsilons;                   // in any order; kNoPrivacy trains without privacy
  std::filesystem::path folder = {};              // NAME-sweep if it is empty
  std::string key = {};                           // key of the spends; NAME-sweep if it is empty
  std::optional<std::uint64_t> replay_seed = {};  // repeatable noise: not private, and not charged
  NewDatasets unknown = NewDatasets::kRefuse;
};

struct SweepRun {
  double epsilon;  // the epsilon that was asked for
  std::optional<NoiseMultiplier> noise;
  double certified = kNoPrivacy;
  Quality quality;  // on the test data
  double seconds = 0;
};

// The measure for comparisons: higher is better, or lower for a loss.
struct Measure {
  const char* name;
  double value;
  bool is_loss;
};
[[nodiscard]] Measure measure_of(const Quality& quality);

// A measure of quality that a table may show.
struct SweepMeasure {
  const char* name;   // in files
  const char* label;  // for people
  std::optional<double> (*of)(const Quality& quality);
};
// The measures that at least one of the runs has.
[[nodiscard]] std::vector<SweepMeasure> measures_of(const std::vector<SweepRun>& runs);

// How much worse a run is than the last one, as a share of the last; 0 for the last run itself.
[[nodiscard]] double loss_of_utility(const SweepRun& run, const SweepRun& last);

// "3", or "inf".
[[nodiscard]] std::string epsilon_text(double epsilon);
// The folder of a run, within the sweep's folder.
[[nodiscard]] std::string sweep_folder_of(double epsilon);
// The table as CSV. Measures that no run has are left out.
[[nodiscard]] std::string sweep_table(const std::vector<SweepRun>& runs, Delta delta);

class SweepJob {
 public:
  // kBudgetExhausted if the epsilons together exceed the budget.
  [[nodiscard]] static Result<SweepJob> prepare(TrainingFile file, SweepWish wish, const Machine& machine);

  [[nodiscard]] const TrainingFile& file() const { return parts_->file; }
  [[nodiscard]] const TrainingExamples& examples() const { return parts_->examples; }
  [[nodiscard]] const std::filesystem::path& folder() const { return parts_->folder; }
  [[nodiscard]] const std::vector<double>& epsilons() const { return parts_->wish.epsilons; }  // ascending
  [[nodiscard]] Delta delta() const { return parts_->delta; }                                  // for each run
  [[nodiscard]] Steps steps() const { return parts_->session->steps; }
  [[nodiscard]] std::size_t private_runs() const;
  // Whether the noise is repeated from a seed: then nothing is private.
  [[nodiscard]] bool repeated() const { return parts_->wish.replay_seed.has_value(); }
  [[nodiscard]] bool charged() const { return !repeated() && private_runs() > 0; }
  // Whether run() needs a ledger: one that is charged, or that records a look at private rows without noise.
  [[nodiscard]] bool needs_ledger() const;

  // The noise of each run, in the order of the epsilons.
  [[nodiscard]] const std::vector<Noise>& noise() const { return parts_->noise; }
  // Whether the budget allows for all runs. If `ledger` is null, the budget would be created.
  [[nodiscard]] Result<Outlook> outlook(Ledger* ledger);

  // Makes all runs and the table. `ledger` may be null unless needs_ledger(). kInvalidArgument if the sweep is
  // stopped: finished runs stay.
  [[nodiscard]] Result<std::vector<SweepRun>> run(Ledger* ledger, const JobControl& control);

 private:
  struct Parts {
    TrainingFile file;
    SweepWish wish;
    TrainingExamples examples;
    std::filesystem::path folder;
    Delta delta;
    std::optional<TrainingSession> session;
    std::vector<Noise> noise;
  };
  explicit SweepJob(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
  [[nodiscard]] RunRequest request_of(std::size_t run) const;
  // What the runs without noise do, or nothing if there are none.
  [[nodiscard]] std::optional<Unnoised> unnoised() const;
  // The charges of all private runs.
  [[nodiscard]] Result<std::vector<ReserveRequest>> spends();

  std::unique_ptr<Parts> parts_;  // at a fixed address: the session points to file and examples
};

}  // namespace noisefloor
