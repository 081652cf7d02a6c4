// The notes that a run leaves beside its model, and a sweep beside its runs. They are for people, and they are not
// signed.
//
// Guarantee:     the notes say what the files say. A note that is missing leaves its field empty; one that is damaged
//                is an error that names the file and the line, except for a last line that was cut off.
// Thread safety: plain data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor {

// The notes of a run's folder, and of a sweep's.
inline constexpr const char* kRunName = "run.json";  // the results of the training, and its command
inline constexpr const char* kUtilityGraphName =
    "utility-graph.csv";  // utility graph of the plan that the run followed
inline constexpr const char* kSweepName = "sweep.csv";
inline constexpr const char* kReportName = "report.html";

// The state of the training after some steps; a field that the line of metrics.jsonl lacks is missing here.
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

// The quality of the finished model, from run.json.
struct NotedQuality {
  std::string data;           // "test" or "validation"
  bool private_rows = false;  // measured without noise on rows that were kept from private ones, not on public rows
  std::optional<std::uint64_t> examples;
  std::optional<double> loss;
  std::optional<double> accuracy;
  std::optional<double> majority_accuracy;
  std::optional<double> auc;
  std::optional<double> rmse;
  std::optional<double> mean_rmse;
  std::optional<double> perplexity;
};

// How teachers voted, as far as that was released, from the run.json of PATE.
struct NotedVotes {
  std::string aggregator;
  std::uint64_t teachers = 0;
  double noise = 0;
  std::optional<double> threshold;
  std::optional<double> threshold_noise;
  std::uint64_t queries_charged = 0;
  std::uint64_t answers_charged = 0;
  std::uint64_t asked = 0;
  std::uint64_t answered = 0;
  std::uint64_t student_labelled = 0;
  std::optional<double> answer_epsilon;             // of one answer alone
  std::optional<double> comparison_epsilon;         // of one comparison alone
  std::optional<double> student_agrees;             // with the released labels
  std::optional<double> data_dependent_divergence;  // sanitised
  // Another model of the same budget, to compare with.
  std::string compared_name;
  std::optional<double> compared_epsilon;
  std::optional<double> compared_accuracy;
};

struct FolderNotes {
  std::vector<MetricsLine> metrics;
  std::string watched;  // the data that loss and accuracy of the metrics were measured on: "validation", "test" or ""
  std::vector<UtilityLine> utility;
  std::vector<NotedQuality> quality;
  std::optional<NotedVotes> votes;
  std::string command;  // the command that trained it
};

[[nodiscard]] Result<FolderNotes> read_folder_notes(const std::string& folder);

// A line of a sweep's table.
struct SweepLine {
  std::string epsilon;                  // the epsilon that was asked for, "inf" for none: it names the run's folder
  std::map<std::string, double> cells;  // the numbers of the line, by the names of their columns
};
[[nodiscard]] bool is_sweep_folder(const std::string& path);
// At least one line; kInputData if the file is not the table of a sweep.
[[nodiscard]] Result<std::vector<SweepLine>> read_sweep(const std::string& folder);
// The folder inside the sweep's for this epsilon: "epsilon-3", "without-privacy".
[[nodiscard]] std::string sweep_run_name(const std::string& epsilon);

}  // namespace noisefloor
