// The utility graph of a training file (plan/utility_graph.h): models trained for it, on data that may be looked at or against
// the budget.
//
// Guarantee:     a graph of private data is a release of its own: all of its models are reserved before the first is trained,
//                it is certified and kept in the ledger, and asking again costs nothing more.
// Thread safety: none.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/plan/utility_graph.h"
#include "noisefloor/training/session.h"

namespace noisefloor {

struct UtilityQuestion {
  const TrainingFile& file;  // which has a goal
  const TrainingExamples& examples;
  const Machine& machine;
  Delta delta;                   // of each private use
  std::filesystem::path folder;  // for a graph that is released

  [[nodiscard]] const TrainingGoal& goal() const { return *file.training.goal; }
};

// In words, what the choice of clip norm and noise rests on.
[[nodiscard]] const char* in_words(UtilityData data);

// What a graph of private data charges, and with how much noise its models are trained. Requires a goal that is budgeted.
struct UtilitySpend {
  ReserveRequest request;
  Noise noise;
};
[[nodiscard]] Result<UtilitySpend> utility_spend(const UtilityQuestion& question);

// The graph, drawn as the goal says. `ledger` may be null unless it is budgeted.
[[nodiscard]] Result<std::vector<UtilityCurve>> utility_graph(const UtilityQuestion& question, Ledger* ledger,
                                                              const JobControl& control);

// As CSV, one line for each point.
[[nodiscard]] std::string utility_table(const std::vector<UtilityCurve>& curves);

// The most noise that leaves the goal within reach. kInvalidArgument with the remedy if none does.
[[nodiscard]] Result<UtilityChoice> choose_noise(const TrainingGoal& goal, const std::vector<UtilityCurve>& curves);

}  // namespace noisefloor
