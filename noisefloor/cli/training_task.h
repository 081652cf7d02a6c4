// A training file made ready: its data read, its network built, its noise found.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/config/training.h"
#include "noisefloor/sgd/lanes_source.h"
#include "noisefloor/table/dataset.h"

namespace noisefloor::cli {

struct TrainingFile {
  Training training;
  std::string folder;                 // that its paths are relative to
  std::vector<std::string> warnings;  // one line each
};

// Errors of the file are one line: the first of them, with its place.
[[nodiscard]] Result<TrainingFile> read_training_file(const std::string& path);

struct TrainingExamples {
  Dataset train;
  std::optional<Dataset> test;  // declared public, as is what follows
  std::optional<Dataset> validation;
};

[[nodiscard]] Result<TrainingExamples> read_examples(const TrainingFile& file);

[[nodiscard]] Result<lanes::Program> build_network(const Training& training, const Dataset& data);

// How good predictions are.
struct Quality {
  std::size_t examples = 0;
  double loss = 0;      // mean
  double accuracy = 0;  // of classes; 0 for a regression
  double f1 = 0;        // mean over the classes that occur
};

[[nodiscard]] Quality quality_of(LanesSource& source, std::span<const float> weights, const Dataset& data);

}  // namespace noisefloor::cli
