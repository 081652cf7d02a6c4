// The utility graph of a training file (plan/utility_graph.h). Its models are trained on public data, or are charged to
// the budget.
//
// Guarantee:     a graph of private data is a release of its own: all of its models are reserved before the first is
//                trained, it is certified and kept in the ledger, and asking again costs nothing more.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/plan/utility_graph.h"
#include "noisefloor/training/session.h"

namespace noisefloor {

struct UtilityQuestion {
  const TrainingFile& file;  // must have a goal
  const TrainingExamples& examples;
  const Machine& machine;
  Delta delta;                                 // for each private use
  std::filesystem::path folder;                // for a graph that is released
  std::optional<std::uint64_t> exposure = {};  // the ledger's record of a graph without noise (exposing.h)

  [[nodiscard]] const TrainingGoal& goal() const { return *file.training.goal; }
};

// The reason for the choice of clip norm and noise, in words.
[[nodiscard]] const char* in_words(UtilityData data);

// The charge for a graph of private data, and the noise with which its models are trained. Requires a goal that is
// budgeted.
struct UtilitySpend {
  ReserveRequest request;
  Noise noise;
};
[[nodiscard]] Result<UtilitySpend> utility_spend(const UtilityQuestion& question);

// Draws the graph as the goal says. `ledger` may be null unless the goal is budgeted. A graph without noise of rows
// that are not declared public needs its exposure.
[[nodiscard]] Result<std::vector<UtilityCurve>> utility_graph(const UtilityQuestion& question, Ledger* ledger,
                                                              const JobControl& control);

// The graph as CSV, one line for each point.
[[nodiscard]] std::string utility_table(const std::vector<UtilityCurve>& curves);

// The most noise that leaves the goal within reach. kInvalidArgument with the remedy if none does.
[[nodiscard]] Result<UtilityChoice> choose_noise(const TrainingGoal& goal, const std::vector<UtilityCurve>& curves);

}  // namespace noisefloor
