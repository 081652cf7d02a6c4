// `noisefloor sweep FILE.toml --epsilons 1,3,8,inf`: what privacy costs in quality, measured by training at each epsilon.
#pragma once

#include "noisefloor/cli/options.h"

namespace noisefloor::cli {

void add_sweep_command(CLI::App& app, Action& action);

}  // namespace noisefloor::cli
