#include "noisefloor/cli/run_folder.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/training_task.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

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

Result<void> read_metrics(const fs::path& path, RunFolder& folder) {
  if (!is_there(path)) return success();
  NF_TRY(const std::string text, read_file(path.string(), kMaxNoteBytes));
  const std::vector<std::string_view> lines = lines_of(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Json json = Json::parse(lines[i], nullptr, false);
    if (!json.is_object()) {
      if (i + 1 == lines.size() && text.back() != '\n') break;  // it was stopped while it wrote
      return bad_line(path, i + 1, "this is no JSON object of metrics");
    }
    MetricsLine line;
    const std::optional<double> step = number_in(json, "step");
    if (!step) return bad_line(path, i + 1, "there is no step");
    line.step = *step;
    line.epsilon = number_in(json, "epsilon");
    line.clip_norm = number_in(json, "clip_norm");
    for (const char* name : {"validation", "test"}) {
      const std::optional<double> loss = number_in(json, std::string(name) + "_loss");
      if (!loss) continue;
      folder.watched = name;
      line.loss = loss;
      line.accuracy = number_in(json, std::string(name) + "_accuracy");
      break;
    }
    // A run that began anew in the same folder: what was before belongs to no model.
    if (!folder.metrics.empty() && line.step <= folder.metrics.back().step) folder.metrics.clear();
    folder.metrics.push_back(line);
  }
  return success();
}

struct Csv {
  std::vector<std::string_view> names;
  std::vector<std::vector<std::string_view>> rows;
};

Result<Csv> read_csv(const fs::path& path, const std::string& text) {
  const std::vector<std::string_view> lines = lines_of(text);
  Csv csv;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string_view> cells = split_list(lines[i]);
    if (i == 0) {
      csv.names = std::move(cells);
    } else if (cells.size() != csv.names.size()) {
      return bad_line(path, i + 1, "it has another number of cells than the first line");
    } else {
      csv.rows.push_back(std::move(cells));
    }
  }
  return csv;
}

Result<void> read_utility(const fs::path& path, RunFolder& folder) {
  if (!is_there(path)) return success();
  NF_TRY(const std::string text, read_file(path.string(), kMaxNoteBytes));
  NF_TRY(const Csv csv, read_csv(path, text));
  const std::vector<std::string_view> known = split_list("clip_norm,accuracy,noise_multiplier,lowest,mean,highest");
  if (csv.names != known) return bad_line(path, 1, "this is no utility graph");
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    const auto& row = csv.rows[i];
    const auto noise = parse_finite(row[2]);
    const auto lowest = parse_finite(row[3]);
    const auto highest = parse_finite(row[5]);
    if (!noise || !lowest || !highest || !(*noise > 0)) return bad_line(path, i + 2, "a cell is no number");
    folder.utility.push_back({std::string(row[0]), *noise, *lowest, *highest});
  }
  return success();
}

Result<void> read_plan_beside(const fs::path& path, RunFolder& folder) {
  if (!is_there(path)) return success();
  NF_TRY(const std::string text, read_file(path.string(), kMaxNoteBytes));
  NF_TRY(SignedPlan read, parse_plan_file(text));
  const std::optional<PublicKey>& key = folder.release.certificate.key;
  if (key && read.key != *key) {
    return verification_failed(fmt::format("{} was signed with another key than the certificate", path.string()));
  }
  folder.plan = std::move(read.plan);
  return success();
}

// The one that stands beside a model says the same as the one inside.
Result<void> expect_same_certificate(const fs::path& path, const std::string& inside) {
  if (!is_there(path)) return success();
  NF_TRY(const std::string text, read_file(path.string(), kMaxNoteBytes));
  if (text == inside) return success();
  return verification_failed(fmt::format("{} is not the certificate that the model holds", path.string()));
}

}  // namespace

Result<RunFolder> read_run_folder(const std::string& path) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  fs::path release = path;
  if (is_folder) {
    release = fs::path(path) / "model.safetensors";
    if (!is_there(release)) release = fs::path(path) / "certificate.json";
    if (!is_there(release)) {
      return input_data_error(
          fmt::format("{} holds neither model.safetensors nor certificate.json: it is no run's folder", shown(path)));
    }
  }
  NF_TRY(const std::string bytes, read_file(release.string(), kMaxModelBytes));
  NF_TRY(VerifiedRelease verified, verify_release(bytes));
  RunFolder folder{release.string(), std::move(verified), {}, {}, {}, {}, {}, {}};
  const std::string& text = folder.release.certificate_text;
  folder.certificate = Json::parse(text, nullptr, false);
  // Of a file with another name, what stands beside it may be about something else.
  const bool as_written = release.filename() == "model.safetensors" || release.filename() == "certificate.json";
  if (!as_written) return folder;
  const fs::path beside = release.parent_path();
  NF_TRY_VOID(expect_same_certificate(beside / "certificate.json", text));
  NF_TRY_VOID(read_metrics(beside / "metrics.jsonl", folder));
  NF_TRY_VOID(read_plan_beside(beside / "plan.json", folder));
  NF_TRY_VOID(read_utility(beside / kUtilityGraphName, folder));
  if (is_there(beside / kRunName)) {
    NF_TRY(const std::string run, read_file((beside / kRunName).string(), kMaxNoteBytes));
    folder.run = Json::parse(run, nullptr, false);
    if (!folder.run.is_object())
      return input_data_error(fmt::format("{} is no JSON object", (beside / kRunName).string()));
  }
  return folder;
}

bool is_sweep_folder(const std::string& path) { return is_there(fs::path(path) / kSweepName); }

Result<std::vector<SweepLine>> read_sweep(const std::string& folder) {
  const fs::path path = fs::path(folder) / kSweepName;
  NF_TRY(const std::string text, read_file(path.string(), kMaxNoteBytes));
  NF_TRY(const Csv csv, read_csv(path, text));
  if (csv.names.empty() || csv.names.front() != "epsilon") return bad_line(path, 1, "this is no table of a sweep");
  std::vector<SweepLine> lines;
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    SweepLine line{std::string(csv.rows[i].front()), Json::object()};
    // It becomes the name of a folder.
    if (line.epsilon != "inf" && !parse_finite(line.epsilon)) return bad_line(path, i + 2, "epsilon is no number");
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

}  // namespace noisefloor::cli
