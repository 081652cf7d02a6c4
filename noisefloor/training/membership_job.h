// Attacks on membership against models as a training file describes them: many models of the same kind, each on a
// random half of the rows, attack each other, and who was in which half is known. Optionally against a finished model,
// too.
//
//   NF_TRY(MembershipJob job, MembershipJob::prepare(std::move(file), {.epsilons = {kNoPrivacy, 8, 1}}, machine));
//   NF_TRY(const MembershipOutcome found, job.run(ledger.get(), control));
//
// Guarantee:     the same file, wish and seed give the same figures, whatever the number of threads. Rows that are not
//                declared public are touched only after the ledger has recorded it as an exposure (exposing.h), so that
//                later certificates name it.
// Privacy:       what comes out is as private as the rows, and is for their custodian. Models are trained with noise
//                that can be repeated, and are thrown away.
// Not covered:   attacks that find nothing prove nothing: each is a lower bound of what can be found.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/audit/shadow_models.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/training/examples.h"
#include "noisefloor/training/network.h"
#include "noisefloor/training/observer.h"
#include "noisefloor/training/payer.h"
#include "noisefloor/training/training_file.h"

namespace noisefloor {

struct MembershipWish {
  // At each of these ε the noise is calibrated for half of the pool; infinite is without noise. Empty: as the file
  // says.
  std::vector<double> epsilons = {};
  std::size_t models = 64;               // in all, targets among them
  std::size_t targets = 8;               // that are attacked, each by all others
  std::optional<std::size_t> pool = {};  // so many rows, drawn at random; all if it is larger, or nothing
  std::uint64_t seed = 1;
  std::vector<audit::Attack> attacks = {audit::Attack::kThreshold, audit::Attack::kLiraOnline,
                                        audit::Attack::kLiraOffline, audit::Attack::kRmia, audit::Attack::kQuantile};
  // The bytes of a finished model that was trained on all training rows of the file: it is attacked too, and then the
  // pool also holds the test rows, which it has not seen.
  std::optional<std::string> model = {};
  NewDatasets unknown = NewDatasets::kRefuse;
};

struct MembershipFinding {
  audit::Attack attack;
  audit::AttackResult result;
  // The share of members that is found at 1 % and at 0.1 % of false alarms, of the scores of all targets; nothing where
  // fewer than 10 of the others would decide it.
  std::optional<audit::FoundAt> at_hundredth;
  std::optional<audit::FoundAt> at_thousandth;
};

struct AttackedModels {
  double epsilon = std::numeric_limits<double>::infinity();  // certified upper bound for one of them
  std::optional<DpEvent> event;                              // of one training, if it is with noise
  bool finished = false;           // the finished model, and not those that were trained for the attack
  double accuracy_of_members = 0;  // means over models
  double accuracy_of_others = 0;
  double most_auc = 1;  // that ε and δ allow
  std::vector<MembershipFinding> findings;
  double seconds = 0;
};

struct MembershipOutcome {
  std::string name;
  std::size_t pool = 0;
  std::size_t models = 0;
  std::size_t targets = 0;
  double delta = 0;
  bool public_rows = false;
  std::optional<std::uint64_t> exposure;  // the entry of the ledger that records it
  std::vector<AttackedModels> attacked;
};

class MembershipJob {
 public:
  // kInvalidArgument for data without classes, for people as the unit, and for too few models.
  [[nodiscard]] static Result<MembershipJob> prepare(TrainingFile file, MembershipWish wish, const Machine& machine);

  [[nodiscard]] const TrainingFile& file() const { return *file_; }
  // Whether run() needs a ledger, which records the look at private rows.
  [[nodiscard]] bool needs_ledger() const;

  // `progress` is told about each model, by one thread at a time.
  using Progress = std::function<void(const std::string& what, std::size_t done, std::size_t all)>;
  [[nodiscard]] Result<MembershipOutcome> run(Ledger* ledger, const JobControl& control, const Progress& progress = {});

 private:
  MembershipJob(std::unique_ptr<TrainingFile> file, MembershipWish wish, Machine machine)
      : file_(std::move(file)), wish_(std::move(wish)), machine_(std::move(machine)) {}

  std::unique_ptr<TrainingFile> file_;
  MembershipWish wish_;
  Machine machine_;
};

}  // namespace noisefloor
