// What a trained model says of examples, and how good it is on its test data.
//
// Guarantee:     a model that was released is public, so its predictions are post-processing and cost nothing. How good it is
//                is measured on examples that are declared public alone.
// Not covered:   the examples that are predicted for: whoever has them answers for them.
// Thread safety: pure functions but for reading files.
#pragma once

#include <optional>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/model/quality.h"
#include "noisefloor/training/network.h"
#include "noisefloor/training/training_file.h"

namespace noisefloor {

// Where a training puts its model, unless it is told another place.
[[nodiscard]] std::string usual_model_path(const Training& training);

// On the test data of the file.
[[nodiscard]] Result<Quality> evaluate_model(const TrainingFile& file, const std::string& model,
                                             const Machine& machine);

struct PredictionWish {
  std::string input;                   // a file in the format of [data]; what is to be predicted may be left out
  std::optional<std::string> id = {};  // a column of a CSV file whose cells are carried through, as the first column
};

struct Predictions {
  std::string csv;
  std::size_t examples = 0;
};
// One line for each example: its number or its id, what is predicted, and the probability of each class; for a text one line for
// each character.
[[nodiscard]] Result<Predictions> predict(const TrainingFile& file, const std::string& model,
                                          const PredictionWish& wish, const Machine& machine);

}  // namespace noisefloor
