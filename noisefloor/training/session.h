// A training file made ready to run, and one run of it: the code that trainings, sweeps and utility graphs share.
//
// Guarantee:     a private run is charged before it draws noise (training_run.h), at a delta that is below 1/rows. A
//                run that is not charged learns only from rows that are declared public, or names the ledger's record
//                of it, and the ledger has the digest of its model before the model is published. A run that is refused
//                leaves no folder, no metrics and no model behind.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/audit/audit_document.h"
#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/sgd/trainable_model.h"
#include "noisefloor/training/descent.h"
#include "noisefloor/training/examples.h"
#include "noisefloor/training/network.h"
#include "noisefloor/training/observer.h"
#include "noisefloor/training/output_files.h"
#include "noisefloor/training/training_run.h"
#include "noisefloor/training/worker_team.h"

namespace noisefloor {

struct TrainingSession {
  const TrainingFile* file;
  const TrainingExamples* examples;
  std::unique_ptr<TrainableModel> model;
  PublicCount count;  // the number of rows or people that everything follows from
  BatchSampler sampler;
  Steps steps;
  std::string version;                    // version of the program, for certificates
  std::optional<std::string> start = {};  // the bytes of the file that its weights start from

  [[nodiscard]] const Training& training() const { return file->training; }
};

// What distinguishes a run with this noise from others, as certificates and the ledger's record have it.
[[nodiscard]] std::string configuration_of(const TrainingSession& session, const Noise& noise,
                                           std::optional<std::uint64_t> replay_seed);
// What a certificate says of how the rows were chosen, and what was taken as public about them.
[[nodiscard]] std::string data_declaration(const TrainingSession& session);

// File and examples must outlive the session. A batch that does not fit is refused with the line of the file. Reads
// the weights that the training starts from, once.
[[nodiscard]] Result<TrainingSession> begin_session(const TrainingFile& file, const TrainingExamples& examples,
                                                    const Machine& machine);

struct RunRequest {
  OutputFiles files;
  std::string key;  // key of the spend
  Noise noise;
  Delta delta;
  std::optional<std::uint64_t> replay_seed;  // repeatable noise: not private, and not charged
  std::optional<Checkpoint> from;
  std::string item = {};           // item of a planned budget
  double checkpoint_seconds = 60;  // 0: no checkpoints
  std::string title = {};          // for the observer
  WorkerTeam team = {};
  // The entry of the ledger that records a run without noise, or with noise that can be repeated (exposing.h).
  std::optional<std::uint64_t> exposure = {};
  std::optional<ExposureEntry> evaluation = {};  // to be recorded before quality is measured, if by private rows
  bool public_rows = false;  // it learns from other rows than those of the file, which are taken as public

  // Whether the run has to be paid for.
  [[nodiscard]] bool charged() const { return noise.multiplier && !replay_seed; }
};

struct RunResult {
  Sealed model;
  std::optional<audit::SignedAudit> audit;  // what its canaries found, if the file asks for them
  bool again = false;                       // made before, under the same key
  std::vector<float> weights;
  double seconds = 0;
  double examples_per_second = 0;
};

// Checks everything that can be checked before anything is spent, then runs. kInvalidArgument for a run that is charged
// but has no ledger. A run that is stopped returns the model so far. If the file asks for an audit, canaries take part
// in a run that is charged, and nothing is published if they refute the certificate: kVerificationFailed.
[[nodiscard]] Result<RunResult> run_training(TrainingSession& session, const RunRequest& request, Ledger* ledger,
                                             const JobControl& control);

// What the training starts from, if it starts from weights of a file (start_point.h). The budget of the training file
// is the one that pays. `ledger` is null where there is none yet.
[[nodiscard]] Result<std::optional<StartPoint>> start_of(const TrainingSession& session, Ledger* ledger);
// The same before there is a session: kInvalidArgument if a training may not start from the weights that its file
// names.
[[nodiscard]] Result<void> expect_start(const TrainingFile& file, Ledger* ledger);

// The cost of all steps of a run, without those before its checkpoint.
[[nodiscard]] Result<DpStatement> statement_of(TrainingSession& session, const RunRequest& request);
// The weights after the steps of a run that is part of another release, or that is not private. Writes nothing. A run
// that is stopped is an error.
[[nodiscard]] Result<std::vector<float>> run_as_part(TrainingSession& session, const RunRequest& request,
                                                     const JobControl& control);

// The part of any worker except the first: takes part in the steps, and writes and spends nothing. Returns how many
// steps there were.
[[nodiscard]] Result<std::uint64_t> follow_training(TrainingSession& session, const RunRequest& request,
                                                    const JobControl& control);

}  // namespace noisefloor
