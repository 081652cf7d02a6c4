// How good a model is, in a report.
#pragma once

#include <string>

#include "noisefloor/cli/report_json.h"
#include "noisefloor/model/quality.h"

namespace noisefloor::cli {

[[nodiscard]] nlohmann::ordered_json as_json(const Quality& quality);

// "accuracy 86.50 % (majority 10.00 %), F1 0.8643, loss 0.4012 (10000 examples, taken as public)".
[[nodiscard]] std::string in_words(const Quality& quality);

// Reports it under the key and label `which`.
void report_quality(Report& report, const char* which, const Quality& quality);

}  // namespace noisefloor::cli
