// Simulated federated runs, for people and as JSON.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/summary/summary.h"
#include "noisefloor/training/simulation_job.h"

namespace noisefloor {

[[nodiscard]] Summary summary_of(const SimulationJob& job, const std::vector<SimulatedRun>& runs);

// Who has how many rows, and what each method would do and cost; nothing is simulated.
[[nodiscard]] Summary outline_of(const SimulationJob& job);

// What stands above a live table, the heads of its columns, and one round as a line of it.
[[nodiscard]] std::string run_heading(const SimulationJob& job, std::size_t method, std::uint64_t seed);
[[nodiscard]] std::string round_heading();
[[nodiscard]] std::string round_line(const federated::SimulatedRound& round);

}  // namespace noisefloor
