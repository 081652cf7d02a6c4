// The examples of a training file: private ones to learn from, and public ones to measure by.
//
// Guarantee:     which examples are for validation and tests depends only on their number and the file's seed. Nothing
//                is fitted to the data: bounds, categories and classes are those of the file. Records of private rows
//                that do not fit the file are null records to learn from and are left out of the parts that are kept
//                for tests and validation; none is an error (table/odd_records.h). Rows that are declared public (a
//                test file, proxy data, a public dataset, rows to predict for) have errors with their lines.
// Thread safety: plain data; pure functions except for reading.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/config/training.h"
#include "noisefloor/table/dataset.h"
#include "noisefloor/training/training_file.h"

namespace noisefloor {

struct TrainingExamples {
  Dataset train;
  std::optional<Dataset> test;  // declared public, like the fields below
  std::optional<Dataset> validation;
  std::vector<std::string> doubts = {};  // possible mistakes in the columns, judged by public rows alone
};

// Replaces the features by their scattering transform if the model uses it; `threads` are for that.
[[nodiscard]] Result<TrainingExamples> read_examples(const TrainingFile& file, std::size_t threads);
// The examples of other files of the same form, which are public.
[[nodiscard]] Result<Dataset> read_examples_of(const TrainingFile& file, const ExampleFiles& files,
                                               std::size_t threads);
// The test examples alone. kInvalidArgument if there are none.
[[nodiscard]] Result<Dataset> read_test_examples(const TrainingFile& file, std::size_t threads);
// Examples to predict for, in the format of the file's [data]. The column to be predicted may be left out.
[[nodiscard]] Result<Dataset> read_inputs(const Training& training, const std::string& path, std::size_t threads);

// kInvalidArgument if there are no test examples, with the keys that give some.
[[nodiscard]] Result<void> expect_test_examples(const TrainingExamples& examples);

}  // namespace noisefloor
