#include "noisefloor/training/checkup.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "noisefloor/base/text.h"
#include "noisefloor/dataset/described_tables.h"
#include "noisefloor/dataset/records.h"

namespace noisefloor {
namespace {

std::vector<std::string> paths_of(const DatasetDescription& description) {
  const ExampleFiles& files = description.files;
  if (const auto* tables = std::get_if<TablesFormat>(&description.format)) return files_of(*tables);
  if (const auto* idx = std::get_if<IdxFiles>(&files)) return {idx->images, idx->labels};
  return {std::get<TextFile>(files).path};
}

// The line that names a file, for findings about what is in it.
Place place_of(const std::string& text, const std::string& path) {
  const std::size_t found = text.find("\"" + path + "\"");
  if (found == std::string::npos) return {1, 1};
  const std::size_t begin = text.rfind('\n', found) + 1;
  return {
      static_cast<std::uint32_t>(1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(found), '\n')),
      static_cast<std::uint32_t>(1 + found - begin)};
}

// A message ends with its remedy after a semicolon; where it has none, the message says it all.
Finding finding_of(const Error& error, Place place) {
  const std::size_t end = error.message.find("; ");
  if (end == std::string::npos)
    return {Severity::kError, "data", place, error.message, "correct the file, or the data"};
  return {Severity::kError, "data", place, error.message.substr(0, end), error.message.substr(end + 2)};
}

Result<void> check_header(const DatasetDescription& description, const std::string& folder) {
  if (const auto* tables = std::get_if<TablesFormat>(&description.format)) return check_catalogue(*tables, folder);
  const auto* table = std::get_if<CsvTable>(&description.format);
  if (table == nullptr) return success();
  return check_csv_header(resolved(folder, std::get<TextFile>(description.files).path), table->schema, table->format);
}

Result<TrainingCost> cost_of(const std::string& text, const std::string& location, const Machine& machine,
                             std::vector<std::string>& doubts) {
  NF_TRY(TrainingFile file, parse_training_file(text, location));
  NF_TRY(TrainingJob job, TrainingJob::prepare(std::move(file), {}, {machine}));
  doubts = job.examples().doubts;
  return job.cost();
}

}  // namespace

Checkup check_up(const std::string& text, const std::string& location, const Machine& machine) {
  Checkup made{check_file(text, files_beside(location)), {}};
  const auto* training = std::get_if<std::optional<Training>>(&made.file.content);
  const auto* dataset = std::get_if<std::optional<DatasetDescription>>(&made.file.content);
  const auto* pate = std::get_if<std::optional<Pate>>(&made.file.content);
  const bool readable =
      (pate != nullptr && *pate) || (training != nullptr && *training) || (dataset != nullptr && *dataset);
  if (!readable || has_errors(made.file.findings)) return made;
  const DatasetDescription description = pate != nullptr       ? description_of((*pate)->teachers)
                                         : training != nullptr ? description_of(**training)
                                                               : **dataset;
  const std::string folder = std::filesystem::path(location).parent_path().string();
  const std::vector<std::string> paths = paths_of(description);
  for (const std::string& path : paths) {
    if (std::filesystem::exists(resolved(folder, path))) continue;
    made.not_looked_at = fmt::format("the data {} are not here", shown(resolved(folder, path)));
    return made;
  }
  const Place place = place_of(text, paths.empty() ? description.name : paths.front());
  if (const Result<void> header = check_header(description, folder); !header.has_value()) {
    made.file.findings.push_back(finding_of(header.error(), place));
    return made;
  }
  if (training == nullptr) return made;
  std::vector<std::string> doubts;
  Result<TrainingCost> cost = cost_of(text, location, machine, doubts);
  for (const std::string& doubt : doubts) {
    made.file.findings.push_back({Severity::kWarning, "data", place, doubt, "compare the public test rows"});
  }
  if (cost.has_value()) {
    made.cost = std::move(cost).value();
  } else {
    made.file.findings.push_back(finding_of(cost.error(), place));
  }
  return made;
}

}  // namespace noisefloor
