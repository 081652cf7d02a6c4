#include "noisefloor/cli/training_task.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/base/overloaded.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/input.h"
#include "noisefloor/cli/torch_backend.h"
#include "noisefloor/model/safetensors.h"
#include "noisefloor/model/scattering.h"
#include "noisefloor/sgd/lanes_source.h"
#include "noisefloor/table/idx.h"
#include "noisefloor/table/split.h"
#include "noisefloor/table/text_tokens.h"

namespace noisefloor::cli {
namespace {

constexpr std::size_t kMaxAlphabetBytes = std::size_t{1} << 20;

std::string one_line(const std::string& path, const Finding& finding) {
  return fmt::format("{}:{}:{}: {}; {}", path, finding.place.line, finding.place.column, finding.message,
                     finding.remedy);
}

// The characters of a file are those of its first line.
Result<void> read_alphabet(TrainingFile& file) {
  auto* format = std::get_if<TextFormat>(&file.training.data.format);
  if (format == nullptr || !format->alphabet) return success();
  NF_TRY(const std::string text, read_file(file.resolve(*format->alphabet), kMaxAlphabetBytes));
  format->characters = text.substr(0, text.find('\n'));
  NF_TRY_VOID(alphabet_of(*format));
  return success();
}

Result<Dataset> read_sequences(const std::string& path, const TextFormat& format) {
  NF_TRY(const Alphabet alphabet, alphabet_of(format));
  NF_TRY(const Sequences sequences, noisefloor::read_text(path, alphabet, format.length));
  return as_dataset(sequences);
}

Result<Dataset> read_file_of(const TrainingFile& file, const ExampleFiles& files) {
  const auto single = [&] { return file.resolve(std::get<TextFile>(files).path); };
  return std::visit(
      Overloaded{
          [&](const IdxFormat& format) -> Result<Dataset> {
            const auto& idx = std::get<IdxFiles>(files);
            return read_idx(file.resolve(idx.images), file.resolve(idx.labels), format.classes);
          },
          [&](const CsvTable& table) -> Result<Dataset> { return read_csv(single(), table.schema, table.format); },
          [&](const LibsvmOptions& options) -> Result<Dataset> { return read_libsvm(single(), options); },
          [&](const TextFormat& format) -> Result<Dataset> { return read_sequences(single(), format); }},
      file.training.data.format);
}

// What the model takes of examples as they are.
Result<Dataset> features_of(const Training& training, Result<Dataset> data, std::size_t threads) {
  if (!training.model.scattering || !data.has_value()) return data;
  return scattered(data.value(), threads);
}

Result<Split> split_of(const TrainingData& data, const Dataset& all) {
  return split_by_fraction(all.rows, data.validation_fraction, data.test_fraction, data.split_seed);
}

lanes::Shape shape_of(const Dataset& data) {
  if (data.shape.size() == 3) return {data.shape[0], data.shape[1], data.shape[2]};
  return {data.width(), 1, 1};
}

Result<lanes::Program> build_network(const Training& training, const Dataset& data) {
  const auto with = [&](lanes::Loss loss) {
    return lanes::Program::create(shape_of(data), training.model.layers, loss, training.descent.augmentation.copies);
  };
  if (data.classes == 0) return with(lanes::Loss::kSquared);
  NF_TRY(lanes::Program program, with(lanes::Loss::kCrossEntropy));
  if (program.outputs() == 1 && data.classes == 2) return with(lanes::Loss::kBinary);
  return program;
}

}  // namespace

Result<Alphabet> alphabet_of(const TextFormat& format) {
  if (!format.alphabet) return Alphabet::bytes();
  return Alphabet::of(format.characters, format.replacement);
}

std::string TrainingFile::resolve(const std::string& path) const {
  return (std::filesystem::path(folder) / path).string();
}

Result<TrainingFile> read_training_file(const std::string& path) {
  const Result<std::string> text = cli::read_text(path);
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
  if (read.training->model.torch) NF_TRY_VOID(require_torch(fmt::format("the model of {}", noisefloor::shown(path))));
  TrainingFile file{*std::move(read.training), std::filesystem::path(path).parent_path().string(), std::move(warnings),
                    path};
  NF_TRY_VOID(read_alphabet(file));
  return file;
}

Result<TrainingExamples> read_examples(const TrainingFile& file, std::size_t threads) {
  const TrainingData& data = file.training.data;
  NF_TRY(const Dataset all, read_examples_of(file, data.train, threads));
  NF_TRY(const Split split, split_of(data, all));
  TrainingExamples examples;
  NF_TRY(examples.train, all.take(split.train));
  if (!split.validation.empty()) {
    NF_TRY(examples.validation, all.take(split.validation));
  }
  if (data.test) {
    NF_TRY(examples.test, read_examples_of(file, *data.test, threads));
  } else if (!split.test.empty()) {
    NF_TRY(examples.test, all.take(split.test));
  }
  return examples;
}

Result<Dataset> read_examples_of(const TrainingFile& file, const ExampleFiles& files, std::size_t threads) {
  return features_of(file.training, read_file_of(file, files), threads);
}

Result<Dataset> read_test_examples(const TrainingFile& file, std::size_t threads) {
  const TrainingData& data = file.training.data;
  if (data.test) return read_examples_of(file, *data.test, threads);
  NF_TRY(const Dataset all, read_file_of(file, data.train));
  NF_TRY(const Split split, split_of(data, all));
  if (split.test.empty()) {
    return invalid_argument("there are no test data: give test or test_fraction under [data]");
  }
  return features_of(file.training, all.take(split.test), threads);
}

Result<Dataset> read_inputs(const Training& training, const std::string& path, std::size_t threads) {
  return features_of(
      training,
      std::visit(Overloaded{[&](const IdxFormat& format) { return read_idx_images(path, format.classes); },
                            [&](const CsvTable& table) {
                              Schema schema = table.schema;
                              schema.outcome_may_lack = true;
                              return read_csv(path, schema, table.format);
                            },
                            [&](const LibsvmOptions& options) { return read_libsvm(path, options); },
                            [&](const TextFormat& format) { return read_sequences(path, format); }},
                 training.data.format),
      threads);
}

Result<std::unique_ptr<TrainableModel>> bind_model(const Training& training, const Dataset& data, std::size_t threads) {
  if (training.model.torch) {
    NF_TRY(const TorchBackend* backend, require_torch("this model"));
    TorchWish wish{.threads = threads,
                   .memory_limit = static_cast<std::int64_t>(training.descent.memory_limit_mb) << 20,
                   .augmentation = training.descent.augmentation,
                   .cuda = training.descent.cuda};
    if (const auto* text = std::get_if<TextFormat>(&training.data.format)) {
      NF_TRY(const Alphabet alphabet, alphabet_of(*text));
      wish.tokens = alphabet.size();
    }
    return backend->make_model(*training.model.torch, data, wish);
  }
  NF_TRY(lanes::Program program, build_network(training, data));
  NF_TRY(std::unique_ptr<LanesSource> source,
         LanesSource::create(std::move(program), data, threads, training.descent.augmentation));
  return std::unique_ptr<TrainableModel>(std::move(source));
}

Result<std::vector<float>> load_weights(const std::string& path, const TrainableModel& model) {
  NF_TRY(const std::string bytes, read_file(path, kMaxModelBytes));
  NF_TRY(const TensorFile tensors, parse_safetensors(bytes));
  return model.take_weights(tensors);
}

}  // namespace noisefloor::cli
