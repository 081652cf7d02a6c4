// What a run leaves in its folder, read back: the release, which must verify, and the notes beside it, which are not signed.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/release/verify_release.h"
#include "noisefloor/training/plan_file.h"

namespace noisefloor::cli {

// Beside the model.
inline constexpr const char* kRunName = "run.json";                    // what train printed, and its command
inline constexpr const char* kUtilityGraphName = "utility-graph.csv";  // of the plan that it followed
inline constexpr const char* kSweepName = "sweep.csv";
inline constexpr const char* kReportName = "report.html";

// One line of metrics.jsonl; what it lacks is missing.
struct MetricsLine {
  double step = 0;
  std::optional<double> epsilon;
  std::optional<double> clip_norm;
  std::optional<double> loss;
  std::optional<double> accuracy;
};

struct UtilityLine {
  std::string clip_norm;
  double noise_multiplier;
  double lowest;
  double highest;
};

struct RunFolder {
  std::string path;  // of the model or certificate
  VerifiedRelease release;
  nlohmann::ordered_json certificate;
  std::vector<MetricsLine> metrics;
  std::string watched;  // what loss and accuracy are of: "validation", "test" or nothing
  std::optional<PlanFile> plan;
  std::vector<UtilityLine> utility;
  nlohmann::ordered_json run;  // null if it is not there
};

// `path` is the run's folder, its model or its certificate. kVerificationFailed if any of what is signed does not hold.
[[nodiscard]] Result<RunFolder> read_run_folder(const std::string& path);

// A line of a sweep's table, by the names of its columns.
struct SweepLine {
  std::string epsilon;  // that was asked for, "inf" for none: it names the run's folder
  nlohmann::ordered_json cells;
};
[[nodiscard]] bool is_sweep_folder(const std::string& path);
[[nodiscard]] Result<std::vector<SweepLine>> read_sweep(const std::string& folder);
[[nodiscard]] std::string sweep_run_name(const std::string& epsilon);

}  // namespace noisefloor::cli
