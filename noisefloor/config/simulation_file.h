// A simulated federated run as a TOML file describes it: data, sites, model, rounds, faults, and methods to compare.
// docs/formats/simulation.md has every key.
//
// Guarantee:     as in training.h: reading never fails, all findings come back with their places, every value that is
//                read has the right type and is in its range, and nothing is ignored. Data that are not declared public
//                are refused: a simulation repeats its noise from a seed, and measures without noise.
// Thread safety: pure functions; plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/config/training.h"
#include "noisefloor/federated/learning_simulation.h"
#include "noisefloor/federated/partition.h"

namespace noisefloor {

// Stands for a site's name in the path of its file.
inline constexpr std::string_view kSiteInPath = "{site}";

enum class SitesBy : std::uint8_t {
  kColumn,     // a column of the table says whose row it is
  kFile,       // each site has a file of its own
  kPartition,  // rows are divided at random
};

// Brings features to mean 0 and variance 1.
enum class Standardise : std::uint8_t { kNone, kBySite, kByAll };

struct SimulatedSites {
  SitesBy by = SitesBy::kPartition;
  std::string column = {};              // kColumn
  std::vector<std::string> names = {};  // kFile
  std::uint64_t least = 1;              // kColumn: sites with fewer rows are left out
  federated::PartitionOptions partition = {};
  Standardise standardise = Standardise::kNone;
};

// One line of the comparison.
struct SimulatedMethod {
  std::string name;
  federated::LearningOptions options;
};

struct SimulationFile {
  std::string name;
  TrainingData data;
  TrainingModel model;
  SimulatedSites sites;
  std::vector<std::uint64_t> seeds;
  std::vector<SimulatedMethod> methods;
};

struct SimulationText {
  std::optional<SimulationFile> simulation;  // empty if there is an error among the findings
  std::vector<Finding> findings;
};

[[nodiscard]] SimulationText read_simulation(std::string_view text, const ReadNamedFile& named = {});

// Whether a text is meant as a simulation: it has [sites].
[[nodiscard]] bool is_simulation(std::string_view text);

}  // namespace noisefloor
