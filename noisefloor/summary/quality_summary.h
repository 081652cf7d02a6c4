// How good a model is and what it says, for people and as JSON.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "noisefloor/model/quality.h"
#include "noisefloor/summary/summary.h"
#include "noisefloor/training/prediction.h"

namespace noisefloor {

// "accuracy 86.50 % (majority 10.00 %), F1 0.8643, loss 0.4012 (10000 examples, taken as public)".
// `private_rows`: the examples were kept from private rows.
[[nodiscard]] std::string in_words(const Quality& quality, bool private_rows = false);

// Adds it under the key and label `which`.
void add_quality(Summary& summary, const char* which, const Quality& quality, bool private_rows = false);

// How good the model of this file is on its test data.
[[nodiscard]] Summary evaluation_summary(const std::string& model, const Quality& quality, bool private_rows = false);

// Where the predictions of the model were written to.
[[nodiscard]] Summary summary_of(const Predictions& predictions, const std::string& model, const std::string& output);

}  // namespace noisefloor
