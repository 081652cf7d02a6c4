// Pictures of what jobs found: noise by batch size, utility graphs, sweeps.
//
// Thread safety: pure functions, except that those that draw write files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/plan/plan_question.h"
#include "noisefloor/report/chart.h"
#include "noisefloor/training/planning.h"
#include "noisefloor/training/sweep.h"

namespace noisefloor {

// The least noise by batch size. Requires at least one curve.
[[nodiscard]] Chart trade_off_chart(const PlanQuestion& question, Epsilon target, const std::vector<TradeOff>& curves);

// The share of accuracy that noise leaves, a curve for each clip norm. Requires at least two noise multipliers.
[[nodiscard]] Chart utility_chart(const PlanJob& job, const std::vector<UtilityCurve>& curves);
// Where its picture goes.
[[nodiscard]] std::string utility_picture_of(const PlanJob& job);
// Writes the picture. There is none of a next phase, nor of one noise multiplier alone.
[[nodiscard]] Result<void> draw_utility_graph(const PlanJob& job, const std::vector<UtilityCurve>& curves);

// Quality by epsilon. Requires at least two private runs.
[[nodiscard]] Chart sweep_chart(const SweepJob& job, const std::vector<SweepRun>& runs);
// Where its picture goes; nothing with fewer than two private runs, which make no line.
[[nodiscard]] std::optional<std::string> sweep_picture_of(const SweepJob& job);
// Writes the picture, if there is one.
[[nodiscard]] Result<void> draw_sweep(const SweepJob& job, const std::vector<SweepRun>& runs);

}  // namespace noisefloor
