// A signed plan for a training: utility graph, choice of clip norm and noise, calculator, plan file; and the phases that may
// follow each other. The flow of Figure 15 of van Dijk et al. 2024 up to the training.
//
// Guarantee:     all phases, and the utility graph if it is private, cost no more than the target together: delta is divided
//                among them before anything is spent, and is below 1/rows; each phase takes its share of what is left of
//                epsilon. prepare(), cost(), choose() and make() spend and write nothing.
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
#include "noisefloor/plan/closed_form.h"
#include "noisefloor/plan/utility_graph.h"
#include "noisefloor/training/outlook.h"
#include "noisefloor/training/payer.h"
#include "noisefloor/training/plan_file.h"
#include "noisefloor/training/session.h"
#include "noisefloor/training/utility.h"

namespace noisefloor {

// The phase before, as it was trained.
struct EarlierPhase {
  PlanFile plan;
  std::string model;
};
// From the folder that it was trained into. kInvalidArgument if it was the last one, or was not trained.
[[nodiscard]] Result<EarlierPhase> read_earlier_phase(const std::filesystem::path& folder, const TrainingFile& file);

struct PlanWish {
  std::filesystem::path folder = {};          // for the plan and the graph; NAME-plan if it is empty
  std::optional<EarlierPhase> after = {};     // plans the phase that follows
  std::optional<NoiseMultiplier> noise = {};  // of a next phase; half of the one before if there is none
  bool reserve = false;                       // sets the plan's cost aside in the ledger
  NewDatasets unknown = NewDatasets::kRefuse;
};

struct MadePlan {
  PlanFile plan;
  std::optional<ClosedFormPlan> closed;  // what the theorems would take, where they apply
};

class PlanJob {
 public:
  [[nodiscard]] static Result<PlanJob> prepare(TrainingFile file, PlanWish wish, Machine machine);

  [[nodiscard]] const TrainingFile& file() const { return parts_->file; }
  [[nodiscard]] const TrainingGoal& goal() const { return *parts_->file.training.goal; }
  [[nodiscard]] const std::filesystem::path& folder() const { return parts_->folder; }
  [[nodiscard]] Epsilon target() const { return parts_->target; }
  [[nodiscard]] Delta delta() const { return parts_->delta; }               // of each private use
  [[nodiscard]] double whole_delta() const { return parts_->whole_delta; }  // of all of them
  [[nodiscard]] bool follows_a_phase() const { return parts_->wish.after.has_value(); }
  // Whether drawing the utility graph is charged.
  [[nodiscard]] bool charges_for_graph() const;

  // What the graph would charge; nothing if it is not charged.
  [[nodiscard]] Result<std::optional<UtilitySpend>> cost() const;
  // Whether the budget allows for the graph and for `plan`, if there is one that is to be set aside. `ledger` may be null.
  [[nodiscard]] Result<Outlook> outlook(Ledger* ledger, const PlanFile* plan) const;

  // Draws the graph, and writes its table. `ledger` may be null unless it is charged. Not for a next phase.
  [[nodiscard]] Result<std::vector<UtilityCurve>> draw_graph(Ledger* ledger, const JobControl& control);
  // From the graph, or, with an empty one, from the phase before.
  [[nodiscard]] Result<UtilityChoice> choose(const std::vector<UtilityCurve>& curves) const;
  [[nodiscard]] Result<MadePlan> make(const UtilityChoice& choice) const;
  // Sets the cost aside if that was asked for, signs the plan with the ledger's key and writes it. Returns where.
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
  [[nodiscard]] double spent_before() const;  // of epsilon, by earlier phases
  // What this phase may cost.
  [[nodiscard]] Result<Epsilon> epsilon_of_phase(const UtilityChoice& choice, std::uint64_t phase) const;
  [[nodiscard]] Result<BudgetTerms> set_aside_terms(const PlanFile& plan) const;

  std::unique_ptr<Parts> parts_;
};

}  // namespace noisefloor
