// PATE, for people and as JSON: how many answers fit, what a vote would cost, and what came of it.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "noisefloor/pate/pate_job.h"
#include "noisefloor/summary/summary.h"

namespace noisefloor {

// A line about teachers that learn: how many have voted, and the time that is left.
[[nodiscard]] std::string progress_line(const TeachingProgress& progress);

// How many answers the target pays for, with the file's noise and with more or less of it. Reads no rows.
[[nodiscard]] Result<Summary> votes_plan_summary(const PateFile& file);

// What the votes of this job would cost.
[[nodiscard]] Summary cost_summary(const PateJob& job, const PateCost& cost);

// What the job came to.
[[nodiscard]] Summary summary_of(const PateJob& job, const PateOutcome& outcome);

// Adds the custodian's figures, marked as such.
void add_own_figures(Summary& summary, const OwnFigures& figures, const std::string& file);

}  // namespace noisefloor
