// Predictions of a trained model, and its quality on test data.
//
// Guarantee:     a model that was released is public, so its predictions are post-processing and cost nothing. Its
//                quality is measured on public test rows, or on rows that were kept from the training file: the
//                ledger records that if it is given (exposing.h).
// Not covered:   the privacy of the examples that are predicted for: their owner is responsible for them.
// Thread safety: pure functions except for reading files.
#pragma once

#include <optional>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/model/quality.h"
#include "noisefloor/training/network.h"
#include "noisefloor/training/training_file.h"

namespace noisefloor {

// The path to which a training writes its model by default.
[[nodiscard]] std::string usual_model_path(const Training& training);

// Measures the model on the test data of the file. `ledger` may be null: then nothing is compared or recorded.
[[nodiscard]] Result<Quality> evaluate_model(const TrainingFile& file, const std::string& model, const Machine& machine,
                                             Ledger* ledger = nullptr);

struct PredictionWish {
  std::string input;                   // a file in the format of [data]; the column to be predicted may be left out
  std::optional<std::string> id = {};  // a column of a CSV file whose cells are copied to the first column
};

struct Predictions {
  std::string csv;
  std::size_t examples = 0;
};
// One line for each example: its number or its id, the prediction, and the probability of each class. For a text, one
// line for each character.
[[nodiscard]] Result<Predictions> predict(const TrainingFile& file, const std::string& model,
                                          const PredictionWish& wish, const Machine& machine);

}  // namespace noisefloor
