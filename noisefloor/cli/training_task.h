// A training file made ready: its data read, its network built, its noise found.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/config/training.h"
#include "noisefloor/sgd/trainable_model.h"
#include "noisefloor/table/dataset.h"
#include "noisefloor/table/text_tokens.h"

namespace noisefloor::cli {

inline constexpr std::size_t kMaxModelBytes = std::size_t{1} << 30;

struct TrainingFile {
  Training training;
  std::string folder;                 // that its paths are relative to
  std::vector<std::string> warnings;  // one line each
  std::string location;               // its own path

  [[nodiscard]] std::string resolve(const std::string& path) const;
};

// Errors of the file are one line: the first of them, with its place.
[[nodiscard]] Result<TrainingFile> read_training_file(const std::string& path);

// What its texts are made of, after the file was read.
[[nodiscard]] Result<Alphabet> alphabet_of(const TextFormat& format);

struct TrainingExamples {
  Dataset train;
  std::optional<Dataset> test;  // declared public, as is what follows
  std::optional<Dataset> validation;
};

// With scattering in their place if the model takes that: `threads` are for it.
[[nodiscard]] Result<TrainingExamples> read_examples(const TrainingFile& file, std::size_t threads);
// Those of other files of the same form.
[[nodiscard]] Result<Dataset> read_examples_of(const TrainingFile& file, const ExampleFiles& files,
                                               std::size_t threads);
// The test examples alone. kInvalidArgument if there are none.
[[nodiscard]] Result<Dataset> read_test_examples(const TrainingFile& file, std::size_t threads);
// Examples to predict for, in the format of the file's [data]: what is to be predicted may be left out.
[[nodiscard]] Result<Dataset> read_inputs(const Training& training, const std::string& path, std::size_t threads);

// The file's model for these examples, which must outlive it.
[[nodiscard]] Result<std::unique_ptr<TrainableModel>> bind_model(const Training& training, const Dataset& data,
                                                                 std::size_t threads);

// The weights in a safetensors file.
[[nodiscard]] Result<std::vector<float>> load_weights(const std::string& path, const TrainableModel& model);

}  // namespace noisefloor::cli
