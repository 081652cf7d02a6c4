#include "noisefloor/cli/training_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "noisefloor/base/overloaded.h"
#include "noisefloor/cli/input.h"
#include "noisefloor/table/idx.h"
#include "noisefloor/table/split.h"

namespace noisefloor::cli {
namespace {

std::string one_line(const std::string& path, const Finding& finding) {
  return fmt::format("{}:{}:{}: {}; {}", path, finding.place.line, finding.place.column, finding.message,
                     finding.remedy);
}

Result<Dataset> read_file_of(const TrainingFile& file, const ExampleFiles& files) {
  const auto resolved = [&](const std::string& path) { return (std::filesystem::path(file.folder) / path).string(); };
  const auto single = [&] { return resolved(std::get<TextFile>(files).path); };
  return std::visit(
      Overloaded{
          [&](const IdxFormat& format) -> Result<Dataset> {
            const auto& idx = std::get<IdxFiles>(files);
            return read_idx(resolved(idx.images), resolved(idx.labels), format.classes);
          },
          [&](const CsvTable& table) -> Result<Dataset> { return read_csv(single(), table.schema, table.format); },
          [&](const LibsvmOptions& options) -> Result<Dataset> { return read_libsvm(single(), options); }},
      file.training.data.format);
}

lanes::Shape shape_of(const Dataset& data) {
  if (data.shape.size() == 3) return {data.shape[0], data.shape[1], data.shape[2]};
  return {data.width(), 1, 1};
}

double loss_of(std::span<const float> outputs, const Dataset& data, std::size_t row) {
  if (data.classes == 0) {
    const double off = static_cast<double>(outputs[0]) - static_cast<double>(data.targets[row]);
    return 0.5 * off * off;
  }
  if (outputs.size() == 1) return std::log1p(std::exp(data.labels[row] == 1 ? -outputs[0] : outputs[0]));
  const double most = *std::max_element(outputs.begin(), outputs.end());
  double sum = 0;
  for (const float output : outputs) sum += std::exp(static_cast<double>(output) - most);
  return std::log(sum) + most - static_cast<double>(outputs[static_cast<std::size_t>(data.labels[row])]);
}

}  // namespace

Result<TrainingFile> read_training_file(const std::string& path) {
  const Result<std::string> text = read_text(path);
  if (!text.has_value()) return io_error(text.error().message);
  TrainingText read = read_training(text.value());
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
  for (const Finding& finding : read.findings) {
    (finding.severity == Severity::kError ? errors : warnings).push_back(one_line(path, finding));
  }
  if (!read.training) {
    const std::string more = errors.size() > 1 ? fmt::format(" (and {} more)", errors.size() - 1) : "";
    return invalid_argument((errors.empty() ? path + ": cannot be read" : errors.front()) + more);
  }
  return TrainingFile{*std::move(read.training), std::filesystem::path(path).parent_path().string(),
                      std::move(warnings)};
}

Result<TrainingExamples> read_examples(const TrainingFile& file) {
  const TrainingData& data = file.training.data;
  TrainingExamples examples;
  NF_TRY(examples.train, read_file_of(file, data.train));
  if (data.test) {
    NF_TRY(Dataset test, read_file_of(file, *data.test));
    examples.test = std::move(test);
  }
  if (data.test_fraction > 0 || data.validation_fraction > 0) {
    NF_TRY(const Split split,
           split_by_fraction(examples.train.rows, data.validation_fraction, data.test_fraction, data.split_seed));
    if (!split.validation.empty()) {
      NF_TRY(Dataset part, examples.train.take(split.validation));
      examples.validation = std::move(part);
    }
    if (!split.test.empty()) {
      NF_TRY(Dataset part, examples.train.take(split.test));
      examples.test = std::move(part);
    }
    NF_TRY(examples.train, examples.train.take(split.train));
  }
  return examples;
}

Result<lanes::Program> build_network(const Training& training, const Dataset& data) {
  NF_TRY(const lanes::Program plain,
         lanes::Program::create(shape_of(data), training.model.layers, lanes::Loss::kCrossEntropy));
  if (data.classes == 0) return lanes::Program::create(shape_of(data), training.model.layers, lanes::Loss::kSquared);
  if (plain.outputs() == 1 && data.classes == 2) {
    return lanes::Program::create(shape_of(data), training.model.layers, lanes::Loss::kBinary);
  }
  return plain;
}

Quality quality_of(LanesSource& source, std::span<const float> weights, const Dataset& data) {
  const std::vector<float> outputs = source.predict(weights, data);
  const std::size_t each = data.rows == 0 ? 1 : outputs.size() / data.rows;
  Quality quality{.examples = data.rows};
  struct Counts {
    double right = 0;
    double guessed = 0;
    double there = 0;
  };
  std::vector<Counts> counts(static_cast<std::size_t>(std::max(data.classes, 0)));
  for (std::size_t row = 0; row < data.rows; ++row) {
    const std::span<const float> own = std::span(outputs).subspan(row * each, each);
    quality.loss += loss_of(own, data, row);
    if (data.classes == 0) continue;
    const std::size_t guess = each == 1
                                  ? static_cast<std::size_t>(own[0] > 0)
                                  : static_cast<std::size_t>(std::max_element(own.begin(), own.end()) - own.begin());
    const auto label = static_cast<std::size_t>(data.labels[row]);
    ++counts[guess].guessed;
    ++counts[label].there;
    if (guess == label) ++counts[label].right;
  }
  const auto rows = static_cast<double>(std::max<std::size_t>(data.rows, 1));
  quality.loss /= rows;
  double occurring = 0;
  for (const Counts& count : counts) {
    quality.accuracy += count.right / rows;
    if (count.there == 0) continue;
    ++occurring;
    quality.f1 += 2 * count.right / (count.guessed + count.there);
  }
  if (occurring > 0) quality.f1 /= occurring;
  return quality;
}

}  // namespace noisefloor::cli
