#include "noisefloor/training/examples.h"

#include <algorithm>
#include <utility>

#include "noisefloor/base/overloaded.h"
#include "noisefloor/model/scattering.h"
#include "noisefloor/table/fit.h"
#include "noisefloor/table/idx.h"
#include "noisefloor/table/split.h"
#include "noisefloor/table/text_tokens.h"

namespace noisefloor {
namespace {

Error no_test_data() { return invalid_argument("there are no test data: give test or test_fraction under [data]"); }

Result<Dataset> read_sequences(const std::string& path, const TextFormat& format, const OddRecords& odd) {
  NF_TRY(const Alphabet alphabet, alphabet_of(format));
  NF_TRY(const Sequences sequences, read_text(path, alphabet, format.length, odd));
  return as_dataset(sequences);
}

Result<Dataset> no_examples_in_tables() {
  return invalid_argument(
      "a training learns from one file of examples, and these data are tables; describe the file with format = "
      "\"csv\"");
}

Result<Dataset> read_file_of(const TrainingFile& file, const ExampleFiles& files, const OddRecords& odd) {
  const auto single = [&] { return file.resolve(std::get<TextFile>(files).path); };
  return std::visit(
      Overloaded{
          [&](const IdxFormat& format) -> Result<Dataset> {
            const auto& idx = std::get<IdxFiles>(files);
            return read_idx(file.resolve(idx.images), file.resolve(idx.labels), format.classes, odd);
          },
          [&](const CsvTable& table) -> Result<Dataset> { return read_csv(single(), table.schema, table.format, odd); },
          [&](const LibsvmOptions& options) -> Result<Dataset> { return read_libsvm(single(), options, odd); },
          [&](const TextFormat& format) -> Result<Dataset> { return read_sequences(single(), format, odd); },
          [&](const TablesFormat&) { return no_examples_in_tables(); }},
      file.training.data.format);
}

// How the rows of the training file are read: they are private unless their dataset is public.
OddRecords odd_records_of(const Training& training) {
  return description_of(training).is_public() ? OddRecords::are_errors() : OddRecords::become_null();
}

// Adds the examples of another file of the same form.
Result<void> append(Dataset& all, const Dataset& more) {
  if (all.shape != more.shape || all.classes != more.classes) {
    return input_data_error("the files of a dataset's batches have examples of different forms: give all the same");
  }
  const auto join = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  all.rows += more.rows;
  join(all.features, more.features);
  join(all.labels, more.labels);
  join(all.targets, more.targets);
  // The same number in two files is not the same group.
  const std::uint32_t next = all.groups.empty() ? 0 : *std::max_element(all.groups.begin(), all.groups.end()) + 1;
  for (const std::uint32_t group : more.groups) all.groups.push_back(next + group);
  if (all.nulls.empty() && more.nulls.empty()) return success();
  all.nulls.resize(all.rows - more.rows);
  join(all.nulls, more.nulls);
  all.nulls.resize(all.rows);
  return success();
}

// The examples to learn from: all of the file, or of the blocks that the training touches.
Result<Dataset> read_rows(const TrainingFile& file) {
  const std::optional<DatasetDescription>& dataset = file.training.data.dataset;
  if (!dataset || !dataset->blocks) return read_file_of(file, file.training.data.train, odd_records_of(file.training));
  TrainingFile chosen = file;
  if (auto* table = std::get_if<CsvTable>(&chosen.training.data.format)) {
    table->format = std::get<CsvTable>(chosen_format(*dataset)).format;
  }
  std::optional<Dataset> all;
  for (std::string& path : chosen_files(*dataset)) {
    NF_TRY(Dataset one, read_file_of(chosen, TextFile{std::move(path)}, odd_records_of(file.training)));
    if (all) {
      NF_TRY_VOID(append(*all, one));
    } else {
      all = std::move(one);
    }
  }
  if (!all) return invalid_argument("the training names no blocks of its dataset: add blocks = […] under [data]");
  return *std::move(all);
}

// The features that the model takes from examples.
Result<Dataset> features_of(const Training& training, Result<Dataset> data, std::size_t threads) {
  if (!training.model.scattering || !data.has_value()) return data;
  return scattered(data.value(), threads);
}

Result<Split> split_of(const TrainingData& data, const Dataset& all) {
  return split_by_fraction(all, data.validation_fraction, data.test_fraction, data.split_seed);
}

// Possible mistakes in the columns of a table, judged by public rows alone: those of a file of their own, or those of a
// public training file that are kept for tests.
Result<std::vector<std::string>> doubts_about(const TrainingFile& file, const Split& split) {
  const TrainingData& data = file.training.data;
  const auto* table = std::get_if<CsvTable>(&data.format);
  const bool kept = !data.test && !split.test.empty() && description_of(file.training).is_public();
  if (table == nullptr || (!data.test && !kept)) return std::vector<std::string>{};
  PublicRows rows{file.resolve(std::get<TextFile>(data.test.value_or(data.train)).path), table->format};
  if (!data.test) {
    // The rows of several files have no common numbers.
    if (data.dataset && data.dataset->blocks && data.dataset->blocks->by == BlockKind::kBatch) {
      return std::vector<std::string>{};
    }
    rows.rows = split.test;
    if (data.dataset) rows.format = std::get<CsvTable>(chosen_format(*data.dataset)).format;
  }
  NF_TRY(const Fit fit, fit_of(rows, table->schema));
  return warnings_of(fit);
}

}  // namespace

Result<TrainingExamples> read_examples(const TrainingFile& file, std::size_t threads) {
  const TrainingData& data = file.training.data;
  NF_TRY(const Dataset all, features_of(file.training, read_rows(file), threads));
  NF_TRY(const Split split, split_of(data, all));
  TrainingExamples examples;
  NF_TRY(examples.doubts, doubts_about(file, split));
  NF_TRY(examples.train, all.take(split.train));
  if (!split.validation.empty()) {
    NF_TRY(examples.validation, all.take(all.without_nulls(split.validation)));
  }
  if (data.test) {
    NF_TRY(examples.test, read_examples_of(file, *data.test, threads));
  } else if (!split.test.empty()) {
    NF_TRY(examples.test, all.take(all.without_nulls(split.test)));
  }
  return examples;
}

Result<Dataset> read_examples_of(const TrainingFile& file, const ExampleFiles& files, std::size_t threads) {
  return features_of(file.training, read_file_of(file, files, OddRecords::are_errors()), threads);
}

Result<Dataset> read_test_examples(const TrainingFile& file, std::size_t threads) {
  const TrainingData& data = file.training.data;
  if (data.test) return read_examples_of(file, *data.test, threads);
  NF_TRY(const Dataset all, read_rows(file));
  NF_TRY(const Split split, split_of(data, all));
  if (split.test.empty()) return no_test_data();
  return features_of(file.training, all.take(all.without_nulls(split.test)), threads);
}

Result<Dataset> read_inputs(const Training& training, const std::string& path, std::size_t threads) {
  // Predictions name every row and what is predicted for it: whoever asks may see the rows.
  const OddRecords odd = OddRecords::are_errors();
  return features_of(
      training,
      std::visit(Overloaded{[&](const IdxFormat& format) { return read_idx_images(path, format.classes); },
                            [&](const CsvTable& table) {
                              Schema schema = table.schema;
                              schema.outcome_may_lack = true;
                              schema.person.reset();
                              return read_csv(path, schema, table.format, odd);
                            },
                            [&](const LibsvmOptions& options) { return read_libsvm(path, options, odd); },
                            [&](const TextFormat& format) { return read_sequences(path, format, odd); },
                            [&](const TablesFormat&) { return no_examples_in_tables(); }},
                 training.data.format),
      threads);
}

Result<void> expect_test_examples(const TrainingExamples& examples) {
  if (examples.test) return success();
  return no_test_data();
}

}  // namespace noisefloor
