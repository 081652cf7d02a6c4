#include "noisefloor/report/folder_notes.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kMetricsName = "metrics.jsonl";
constexpr std::size_t kMaxNoteBytes = std::size_t{256} << 20;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

Error bad_line(const fs::path& path, std::size_t line, const char* what) {
  return input_data_error(fmt::format("{}, line {}: {}", path.string(), line, what));
}

std::optional<double> number_in(const Json& json, const std::string& key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

// --- Metrics ---------------------------------------------------------------------------------------------------------

void take_metrics(const Json& json, double step, FolderNotes& notes) {
  MetricsLine line;
  line.step = step;
  line.epsilon = number_in(json, "epsilon");
  line.clip_norm = number_in(json, "clip_norm");
  for (const char* name : {"validation", "test"}) {
    const std::optional<double> loss = number_in(json, std::string(name) + "_loss");
    if (!loss) continue;
    notes.watched = name;
    line.loss = loss;
    line.accuracy = number_in(json, std::string(name) + "_accuracy");
    break;
  }
  // A run that started again in the same folder keeps writing to this file: the lines before belong to no model.
  if (!notes.metrics.empty() && line.step <= notes.metrics.back().step) notes.metrics.clear();
  notes.metrics.push_back(line);
}

Result<void> read_metrics(const fs::path& path, FolderNotes& notes) {
  if (!is_there(path)) return success();
  NF_TRY(const std::string text, read_file(path.string(), kMaxNoteBytes));
  const std::vector<std::string_view> lines = lines_of(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Json json = Json::parse(lines[i], nullptr, false);
    if (!json.is_object()) {
      if (i + 1 == lines.size() && text.back() != '\n') break;  // The run was stopped while it wrote this line.
      return bad_line(path, i + 1, "this is not a JSON object of metrics");
    }
    const std::optional<double> step = number_in(json, "step");
    if (!step) return bad_line(path, i + 1, "there is no step");
    take_metrics(json, *step, notes);
  }
  return success();
}

// --- What the training reported --------------------------------------------------------------------------------------

NotedQuality quality_in(const Json& json, const char* data) {
  NotedQuality quality{};
  quality.data = data;
  const auto examples = json.find("examples");
  if (examples != json.end() && examples->is_number_unsigned()) quality.examples = examples->get<std::uint64_t>();
  quality.private_rows = json.value("private_rows", Json(false)) == true;
  quality.loss = number_in(json, "loss");
  quality.accuracy = number_in(json, "accuracy");
  quality.majority_accuracy = number_in(json, "majority_accuracy");
  quality.auc = number_in(json, "auc");
  quality.rmse = number_in(json, "rmse");
  quality.mean_rmse = number_in(json, "mean_rmse");
  quality.perplexity = number_in(json, "perplexity");
  return quality;
}

std::uint64_t count_in(const Json& json, const std::string& key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

std::string text_in(const Json& json, const std::string& key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

NotedVotes votes_in(const Json& json) {
  NotedVotes votes{.aggregator = text_in(json, "aggregator"),
                   .teachers = count_in(json, "teachers"),
                   .noise = number_in(json, "noise").value_or(0),
                   .threshold = number_in(json, "threshold"),
                   .threshold_noise = number_in(json, "threshold_noise"),
                   .queries_charged = count_in(json, "queries_charged"),
                   .answers_charged = count_in(json, "answers_charged"),
                   .asked = count_in(json, "asked"),
                   .answered = count_in(json, "answered"),
                   .student_labelled = count_in(json, "student_labelled"),
                   .answer_epsilon = number_in(json, "answer_epsilon"),
                   .comparison_epsilon = number_in(json, "comparison_epsilon"),
                   .student_agrees = number_in(json, "student_agrees_with_labels"),
                   .data_dependent_divergence = number_in(json, "data_dependent_divergence"),
                   .compared_name = {},
                   .compared_epsilon = {},
                   .compared_accuracy = {}};
  const auto compared = json.find("compared");
  if (compared == json.end() || !compared->is_object()) return votes;
  votes.compared_name = text_in(*compared, "name");
  votes.compared_epsilon = number_in(*compared, "epsilon");
  votes.compared_accuracy = number_in(*compared, "accuracy");
  return votes;
}

Result<void> read_run(const fs::path& path, FolderNotes& notes) {
  if (!is_there(path)) return success();
  NF_TRY(const std::string text, read_file(path.string(), kMaxNoteBytes));
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return input_data_error(fmt::format("{} is not a JSON object", path.string()));
  for (const char* data : {"test", "validation"}) {
    const auto found = json.find(data);
    if (found != json.end() && found->is_object()) notes.quality.push_back(quality_in(*found, data));
  }
  if (json.contains("aggregator")) notes.votes = votes_in(json);
  const auto command = json.find("command");
  if (command != json.end() && command->is_string()) notes.command = command->get<std::string>();
  return success();
}

// --- Tables ----------------------------------------------------------------------------------------------------------

struct Csv {
  std::vector<std::string_view> names;
  std::vector<std::vector<std::string_view>> rows;
};

// The cells point into `text`.
Result<Csv> split_csv(const fs::path& path, const std::string& text) {
  const std::vector<std::string_view> lines = lines_of(text);
  Csv csv;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string_view> cells = split_list(lines[i]);
    if (i == 0) {
      csv.names = std::move(cells);
    } else if (cells.size() != csv.names.size()) {
      return bad_line(path, i + 1, "this line has another number of cells than the first");
    } else {
      csv.rows.push_back(std::move(cells));
    }
  }
  return csv;
}

Result<void> read_utility(const fs::path& path, FolderNotes& notes) {
  if (!is_there(path)) return success();
  NF_TRY(const std::string text, read_file(path.string(), kMaxNoteBytes));
  NF_TRY(const Csv csv, split_csv(path, text));
  const std::vector<std::string_view> known = split_list("clip_norm,accuracy,noise_multiplier,lowest,mean,highest");
  if (csv.names != known) return bad_line(path, 1, "this is not a utility graph");
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    const auto& row = csv.rows[i];
    const auto noise = parse_finite(row[2]);
    const auto lowest = parse_finite(row[3]);
    const auto highest = parse_finite(row[5]);
    if (!noise || !lowest || !highest || !(*noise > 0))
      return bad_line(path, i + 2, "a cell is not a number, or its noise is not above 0");
    notes.utility.push_back({std::string(row[0]), *noise, *lowest, *highest});
  }
  return success();
}

}  // namespace

Result<FolderNotes> read_folder_notes(const std::string& folder) {
  const fs::path path = folder;
  FolderNotes notes;
  NF_TRY_VOID(read_metrics(path / kMetricsName, notes));
  NF_TRY_VOID(read_utility(path / kUtilityGraphName, notes));
  NF_TRY_VOID(read_run(path / kRunName, notes));
  return notes;
}

bool is_sweep_folder(const std::string& path) { return is_there(fs::path(path) / kSweepName); }

Result<std::vector<SweepLine>> read_sweep(const std::string& folder) {
  const fs::path path = fs::path(folder) / kSweepName;
  NF_TRY(const std::string text, read_file(path.string(), kMaxNoteBytes));
  NF_TRY(const Csv csv, split_csv(path, text));
  if (csv.names.empty() || csv.names.front() != "epsilon") return bad_line(path, 1, "this is not the table of a sweep");
  std::vector<SweepLine> lines;
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    SweepLine line{std::string(csv.rows[i].front()), {}};
    // The cell becomes the name of a folder.
    if (line.epsilon != "inf" && !parse_finite(line.epsilon)) return bad_line(path, i + 2, "epsilon is not a number");
    for (std::size_t k = 0; k < csv.names.size(); ++k) {
      const std::optional<double> number = parse_finite(csv.rows[i][k]);
      if (number) line.cells[std::string(csv.names[k])] = *number;
    }
    lines.push_back(std::move(line));
  }
  if (lines.empty()) return bad_line(path, 1, "there are no runs");
  return lines;
}

std::string sweep_run_name(const std::string& epsilon) {
  return epsilon == "inf" ? "without-privacy" : "epsilon-" + epsilon;
}

}  // namespace noisefloor
