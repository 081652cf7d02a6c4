// `noisefloor evaluate` and `noisefloor predict`: how good a trained model is, and what it says.
#pragma once

#include "noisefloor/cli/options.h"

namespace noisefloor::cli {

void add_evaluate_command(CLI::App& app, Action& action);
void add_predict_command(CLI::App& app, Action& action);

}  // namespace noisefloor::cli
