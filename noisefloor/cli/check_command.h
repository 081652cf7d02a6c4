// `noisefloor check FILE.toml`: does a pipeline keep its budget, and what looks wrong with it.
#pragma once

#include "noisefloor/cli/options.h"

namespace noisefloor::cli {

void add_check_command(CLI::App& app, Action& action);

}  // namespace noisefloor::cli
