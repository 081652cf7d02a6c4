#include "noisefloor/config/any_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "noisefloor/base/input.h"
#include "noisefloor/config/dataset_file.h"

namespace noisefloor {
namespace {

Result<void> expect_no_errors(const std::vector<Finding>& findings, const std::string& location) {
  for (const Finding& finding : findings) {
    if (finding.severity != Severity::kError) continue;
    return invalid_argument(
        fmt::format("{}:{}: {}: {}", location, finding.place.line, finding.message, finding.remedy));
  }
  return success();
}

CheckedFile read_any(std::string_view text, const ReadNamedFile& named) {
  if (is_simulation(text)) {
    SimulationText read = read_simulation(text, named);
    return {std::move(read.simulation), std::move(read.findings)};
  }
  if (is_pate(text)) {
    PateText read = read_pate(text, named);
    return {std::move(read.pate), std::move(read.findings)};
  }
  if (is_training(text)) {
    TrainingText read = read_training(text, named);
    return {std::move(read.training), std::move(read.findings)};
  }
  if (is_dataset(text)) {
    DatasetText read = read_dataset(text);
    return {std::move(read.description), std::move(read.findings)};
  }
  PipelineText read = read_pipeline(text);
  Assessment assessment = assess(read.pipeline);
  read.findings.insert(read.findings.end(), assessment.findings.begin(), assessment.findings.end());
  return {CheckedPipeline{std::move(read.pipeline), std::move(assessment)}, std::move(read.findings)};
}

}  // namespace

CheckedFile check_file(std::string_view text, const ReadNamedFile& named) {
  CheckedFile checked = read_any(text, named);
  std::stable_sort(checked.findings.begin(), checked.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.place < b.place; });
  return checked;
}

Result<DatasetDescription> description_in(std::string_view text, const std::string& location) {
  if (is_pate(text)) {
    const PateText read = read_pate(text, files_beside(location));
    NF_TRY_VOID(expect_no_errors(read.findings, location));
    return description_of(read.pate->teachers);
  }
  if (is_training(text)) {
    const TrainingText read = read_training(text, files_beside(location));
    NF_TRY_VOID(expect_no_errors(read.findings, location));
    return description_of(*read.training);
  }
  DatasetText read = read_dataset(text);
  NF_TRY_VOID(expect_no_errors(read.findings, location));
  return *std::move(read.description);
}

Result<DescribedRows> described_rows(const std::string& file) {
  const Result<std::string> text = read_text(file);
  if (!text.has_value()) return io_error(text.error().message);
  NF_TRY(DatasetDescription description, description_in(text.value(), file));
  return DescribedRows{std::move(description), std::filesystem::path(file).parent_path().string()};
}

}  // namespace noisefloor
