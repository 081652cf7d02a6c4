// One training, from the budget to the model, by the procedure that all releases follow (road.h).
//
// Guarantee:     (1) All steps are reserved, durably, before the first noise is drawn; if the budget does not allow for
//                it, nothing is drawn and nothing is spent. (2) A run that is stopped, fails or is killed counts as
//                spent in full. (3) The file holds the model after the last whole step. Its certificate says which step
//                that was and certifies all that was reserved, whenever the run was stopped (paid_statement.h). (4) A
//                key that was used before trains nothing: the caller gets the model that was made, if it is still in
//                its place, or else an error that names it. (5) Continuing from a checkpoint is a spend of its own, for
//                the steps that are left: any steps that were taken after the checkpoint before stay paid for too.
//                Nothing is ever given back.
// Thread safety: none.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/model/safetensors.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/release/certificate.h"
#include "noisefloor/release/road.h"
#include "noisefloor/sgd/dp_sgd.h"
#include "noisefloor/training/checkpoint.h"

namespace noisefloor {

// The task of a run, and what pays for it.
struct RunTerms {
  std::string name;
  Steps steps;  // in all, including those before a checkpoint
  Delta delta;
  std::string budget;
  std::string key;
  std::string configuration;  // a JSON object for the ledger's record and the certificate, or empty
  std::string program_version;
  std::optional<Checkpoint> from = {};   // continues from here
  std::string item = {};                 // item of a planned budget
  std::string data = {};                 // facts about the data that are taken as public, in words, for the certificate
  std::optional<StartPoint> start = {};  // weights that it starts from; their cost counts
  bool public_data = false;              // all rows are declared public
  std::vector<std::string> blocks = {};  // whose rows it learns from, and whose budget it spends
};

struct TrainingProgress {
  std::uint64_t steps = 0;
  std::uint64_t planned = 0;
  double epsilon = 0;  // certified upper bound, so far
  double clip_norm = 0;
  double examples_per_second = 0;
  double seconds = 0;
  double seconds_left = 0;
};

struct TrainingHooks {
  std::function<Result<void>()> begin = {};  // called once, when the budget is reserved and nothing is drawn yet
  std::function<void(const TrainingProgress&)> progress = {};  // about once a second, and at the end
  // Called after each step, and after the last one before anything is sealed. An error ends the run: nothing is
  // released, and what was reserved stays spent.
  std::function<Result<void>(const DpSgd&)> stepped = {};
  std::function<Result<void>(const DpSgd&)> finished = {};
  std::function<bool()> stop = {};  // called after each step
  std::chrono::milliseconds interval{1000};
  std::function<void(const Checkpoint&)> checkpoint =
      {};  // called now and then between steps, and when the run is stopped
  std::chrono::milliseconds checkpoint_interval{60'000};
  // Called with the digest of a model without privacy before it is published. An error ends the run.
  std::function<Result<void>(const Digest&)> made = {};
};

using NameWeights = std::function<std::vector<NamedTensor>(std::span<const float>)>;

// Requires: a descent that has made no step and is private (refused otherwise). kInvalidArgument for a checkpoint that
// belongs to another training or another ledger, or that the ledger's key did not sign.
[[nodiscard]] Result<Released> train_privately(const RunTerms& terms, DpSgd& sgd, SecureRandom& random, Ledger& ledger,
                                               const NameWeights& name_weights, const TrainingHooks& hooks,
                                               Outlet& outlet);

// Makes only the steps, as part of another release, which has paid for them; or without privacy.
// Requires: a descent that has made no step.
[[nodiscard]] Result<void> descend_as_part(const RunTerms& terms, DpSgd& sgd, SecureRandom& random,
                                           const TrainingHooks& hooks);
[[nodiscard]] Result<void> descend_as_part(const RunTerms& terms, DpSgd& sgd, ReplayRandom& random,
                                           const TrainingHooks& hooks);

// For comparisons: trains with repeatable noise or none, and charges nothing. The certificate says that it is not
// private.
// Requires: `random` at the checkpoint's position, if there is one.
[[nodiscard]] Result<Released> train_without_privacy(const RunTerms& terms, DpSgd& sgd, ReplayRandom& random,
                                                     const NameWeights& name_weights, const TrainingHooks& hooks,
                                                     Outlet& outlet);

}  // namespace noisefloor
