// How good a model is, in a report.
#pragma once

#include <span>

#include "noisefloor/cli/report.h"
#include "noisefloor/model/quality.h"
#include "noisefloor/sgd/trainable_model.h"

namespace noisefloor::cli {

[[nodiscard]] nlohmann::ordered_json as_json(const Quality& quality);

// Under the key and label `which`.
void report_quality(Report& report, const char* which, TrainableModel& model, std::span<const float> weights,
                    const Dataset& data);

}  // namespace noisefloor::cli
