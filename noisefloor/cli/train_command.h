// `noisefloor train FILE.toml` and `noisefloor evaluate FILE.toml`: from private data to a model with a certificate, and how
// good it is.
#pragma once

#include <CLI/CLI.hpp>

#include "noisefloor/cli/options.h"

namespace noisefloor::cli {

void add_train_command(CLI::App& app, Action& action);
void add_evaluate_command(CLI::App& app, Action& action);

}  // namespace noisefloor::cli
