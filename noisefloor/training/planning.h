// Makes a signed plan for a training: utility graph, choice of clip norm and noise, calculator, plan file; also for the
// phases that may follow each other. This is the flow of Figure 15 of van Dijk et al. 2024 up to the training.
//
// Guarantee:     all phases, and the utility graph if it is private, together cost no more than the target: delta is
//                divided among them before anything is spent, and is below 1/rows; each phase takes its share of the
//                epsilon that is left. prepare(), cost(), choose() and make() spend and write nothing. A graph without
//                noise of rows that are not declared public is recorded in the ledger first (exposing.h), and proxy
//                rows are refused if they belong to a private dataset of the ledger.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/ledger/outlook.h"
#include "noisefloor/plan/closed_form.h"
#include "noisefloor/plan/utility_graph.h"
#include "noisefloor/training/payer.h"
#include "noisefloor/training/plan_file.h"
#include "noisefloor/training/session.h"
#include "noisefloor/training/utility.h"

namespace noisefloor {

// The phase before, after its training.
struct EarlierPhase {
  PlanFile plan;
  std::string model;
};
// Reads the folder that the phase was trained into. kInvalidArgument if it was the last phase, or was not trained.
[[nodiscard]] Result<EarlierPhase> read_earlier_phase(const std::filesystem::path& folder, const TrainingFile& file);

struct PlanWish {
  std::filesystem::path folder = {};          // folder of the plan and the graph; NAME-plan if it is empty
  std::optional<EarlierPhase> after = {};     // plans the phase after this one
  std::optional<NoiseMultiplier> noise = {};  // noise of a next phase; none: half of the noise of the phase before
  bool reserve = false;                       // whether to set the plan's cost aside in the ledger
  NewDatasets unknown = NewDatasets::kRefuse;
};

struct MadePlan {
  PlanFile plan;
  std::optional<ClosedFormPlan> closed;  // the plan of the theorems, where they apply
};

class PlanJob {
 public:
  [[nodiscard]] static Result<PlanJob> prepare(TrainingFile file, PlanWish wish, Machine machine);

  [[nodiscard]] const TrainingFile& file() const { return parts_->file; }
  [[nodiscard]] const TrainingGoal& goal() const { return *parts_->file.training.goal; }
  [[nodiscard]] const std::filesystem::path& folder() const { return parts_->folder; }
  [[nodiscard]] Epsilon target() const { return parts_->target; }
  [[nodiscard]] Delta delta() const { return parts_->delta; }               // for each private use
  [[nodiscard]] double whole_delta() const { return parts_->whole_delta; }  // for all of them together
  [[nodiscard]] bool follows_a_phase() const { return parts_->wish.after.has_value(); }
  // Whether drawing the utility graph is charged.
  [[nodiscard]] bool charges_for_graph() const;

  // The charge for the graph; nothing if it is not charged.
  [[nodiscard]] Result<std::optional<UtilitySpend>> cost() const;
  // Whether the budget allows for the graph, and for setting aside `plan` if it is not null. `ledger` may be null.
  [[nodiscard]] Result<Outlook> outlook(Ledger* ledger, const PlanFile* plan) const;

  // Whether draw_graph() needs a ledger: one that is charged, or that records a look at private rows without noise.
  [[nodiscard]] bool needs_ledger() const;

  // Draws the graph, and writes its table. `ledger` may be null unless needs_ledger(). Not for a next phase.
  [[nodiscard]] Result<std::vector<UtilityCurve>> draw_graph(Ledger* ledger, const JobControl& control);
  // Chooses from the graph, or, if it is empty, from the phase before.
  [[nodiscard]] Result<UtilityChoice> choose(const std::vector<UtilityCurve>& curves) const;
  [[nodiscard]] Result<MadePlan> make(const UtilityChoice& choice) const;
  // Sets the cost aside if the wish says so, signs the plan with the ledger's key and writes it. Returns its path.
  [[nodiscard]] Result<std::string> sign(PlanFile& plan, Ledger& ledger, const JobControl& control);

 private:
  struct Parts {
    TrainingFile file;
    PlanWish wish;
    Machine machine;
    TrainingExamples examples;
    std::filesystem::path folder;
    BatchSampler sampler;
    Steps steps;
    Epsilon target;
    double whole_delta;
    Delta delta;
  };
  explicit PlanJob(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
  [[nodiscard]] UtilityQuestion question() const;
  // Claims the rows, and records a graph without noise if the rows are private. Returns the record.
  [[nodiscard]] Result<std::optional<std::uint64_t>> claim(Ledger* ledger, const JobControl& control);
  [[nodiscard]] double spent_before() const;  // epsilon that earlier phases spent
  // The most that this phase may cost.
  [[nodiscard]] Result<Epsilon> epsilon_of_phase(const UtilityChoice& choice, std::uint64_t phase) const;
  [[nodiscard]] Result<BudgetTerms> set_aside_terms(const PlanFile& plan) const;

  std::unique_ptr<Parts> parts_;
};

}  // namespace noisefloor
