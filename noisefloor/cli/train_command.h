// `noisefloor train FILE.toml`: from private data to a model with a certificate.
#pragma once

#include "noisefloor/cli/options.h"

namespace noisefloor::cli {

void add_train_command(CLI::App& app, Action& action);

}  // namespace noisefloor::cli
