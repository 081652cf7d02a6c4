// Simulated federated runs as a job: reads the rows, divides them among sites, and compares methods on the same parts
// and the same first weights, for each seed.
//
// Guarantee:     the same file and rows give the same results, whatever the number of threads. Means and variances that
//                features are brought to come from the sites' training rows alone.
// Not private:   see federated/learning_simulation.h. The rows are public (config/simulation_file.h refuses others).
// Thread safety: none; it uses threads inside.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/config/simulation_file.h"
#include "noisefloor/training/network.h"
#include "noisefloor/training/observer.h"

namespace noisefloor {

inline constexpr const char* kSimulationTableName = "simulation.csv";

struct SimulationWish {
  std::filesystem::path folder = {};  // NAME-simulation if it is empty
  bool write_files = true;
};

// A method with one seed.
struct SimulatedRun {
  std::size_t method = 0;
  std::uint64_t seed = 0;
  federated::LearningResult result;
  std::optional<double> auc;  // of common models on common tests with two classes
  double wall_seconds = 0;
};

// A figure over all seeds.
struct OverSeeds {
  double mean = 0;
  double lowest = 0;
  double highest = 0;
};
// Nothing if a run lacks it.
[[nodiscard]] std::optional<OverSeeds> over_seeds(
    const std::vector<SimulatedRun>& runs, std::size_t method,
    const std::function<std::optional<double>(const SimulatedRun& run)>& figure);

// Of the last round in which it was measured: the largest ε of any site. Infinite without noise.
[[nodiscard]] double largest_epsilon(const federated::LearningResult& result);

// The sites and their rows, as one seed divides them.
struct SimulationData {
  std::vector<std::string> names;
  std::vector<Dataset> train;
  std::vector<Dataset> tests;  // one of each site, or one for all
  bool tests_by_site = false;
  std::uint64_t left_out = 0;  // sites with too few rows
};

class SimulationJob {
 public:
  // Reads the file at `path`, and its rows.
  [[nodiscard]] static Result<SimulationJob> prepare(const std::string& path, SimulationWish wish,
                                                     const Machine& machine);

  [[nodiscard]] const SimulationFile& file() const { return parts_->file; }
  [[nodiscard]] const std::filesystem::path& folder() const { return parts_->wish.folder; }
  [[nodiscard]] const SimulationWish& wish() const { return parts_->wish; }
  // As the first seed divides the rows.
  [[nodiscard]] const SimulationData& data() const { return parts_->first; }
  [[nodiscard]] std::size_t parameters() const { return parts_->parameters; }

  using Observe = std::function<void(std::size_t method, std::uint64_t seed, const federated::SimulatedRound& round)>;
  // Runs all methods with all seeds, and writes the table. Stopped: an error.
  [[nodiscard]] Result<std::vector<SimulatedRun>> run(const JobControl& control, const Observe& observe = {});

 private:
  struct Parts {
    SimulationFile file;
    std::string location;
    SimulationWish wish;
    Machine machine;
    SimulationData first;
    std::size_t parameters = 0;
  };
  explicit SimulationJob(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

  std::unique_ptr<Parts> parts_;
};

// The rounds of all runs as CSV: method, seed, round and its figures.
[[nodiscard]] std::string simulation_table(const SimulationJob& job, const std::vector<SimulatedRun>& runs);

// Reads a simulation file. kInvalidArgument with the first finding, its place and its remedy.
[[nodiscard]] Result<SimulationFile> read_simulation_file(const std::string& path);

}  // namespace noisefloor
