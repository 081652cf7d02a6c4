// Trainings, for people and as JSON: what one would cost, what it came to, and whether the budget allows for it.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "noisefloor/ledger/outlook.h"
#include "noisefloor/summary/summary.h"
#include "noisefloor/training/job.h"

namespace noisefloor {

// A line about a training that runs: step, loss if it is known, epsilon so far, speed, time that is left.
[[nodiscard]] std::string progress_line(const TrainingProgress& p, const std::optional<PublicQuality>& quality);

// What the training of this job came to.
[[nodiscard]] Summary summary_of(const TrainingJob& job, const TrainingOutcome& outcome);

// What it would cost.
[[nodiscard]] Summary cost_summary(const TrainingJob& job, const TrainingCost& cost);

// What a worker other than the first has to say after so many steps.
[[nodiscard]] Summary worker_summary(const TrainingJob& job, std::uint64_t steps);

// Adds whether this budget of the ledger at `place` would pay. The summary fails with kBudgetExhausted if not.
void add_outlook(Summary& summary, const Outlook& outlook, const std::string& budget, const std::string& place);

}  // namespace noisefloor
