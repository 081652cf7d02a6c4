// Simulated federated runs as pictures and as one HTML page: quality by round for every method, and for each site; ε of
// sites; who took part; bytes.
//
// Thread safety: pure functions, except that those that draw write files.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/report/chart.h"
#include "noisefloor/report/html_report.h"
#include "noisefloor/training/simulation_job.h"

namespace noisefloor {

inline constexpr const char* kSimulationPicture = "simulation.svg";
inline constexpr const char* kSimulationPage = "report.html";

// All methods in one picture: accuracy by round on test rows, or the loss where there are no classes. The line is the
// mean over seeds, and the band reaches from the lowest to the highest.
[[nodiscard]] Chart comparison_chart(const SimulationJob& job, const std::vector<SimulatedRun>& runs);
// The loss of all methods.
[[nodiscard]] Chart loss_chart(const SimulationJob& job, const std::vector<SimulatedRun>& runs);
// One method at each site; at the lowest, the median and the highest site where there are many. Nothing unless sites
// have test rows of their own.
[[nodiscard]] std::optional<Chart> sites_chart(const SimulationJob& job, const std::vector<SimulatedRun>& runs,
                                               std::size_t method);
// ε of a private method by round, at each site or of the coordinator. Nothing without noise.
[[nodiscard]] std::optional<Chart> epsilon_chart(const SimulationJob& job, const std::vector<SimulatedRun>& runs,
                                                 std::size_t method);

[[nodiscard]] HtmlReport simulation_page(const SimulationJob& job, const std::vector<SimulatedRun>& runs,
                                         const std::string& program);

// Writes the picture and the page into the job's folder.
[[nodiscard]] Result<void> draw_simulation(const SimulationJob& job, const std::vector<SimulatedRun>& runs,
                                           const std::string& program);

}  // namespace noisefloor
