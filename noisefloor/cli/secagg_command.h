// `noisefloor secagg`: how secure sums work, shown on five clients, and what they cost for any number of them.
#pragma once

#include "noisefloor/cli/options.h"

namespace noisefloor::cli {

void add_secagg_command(CLI::App& app, Action& action);

}  // namespace noisefloor::cli
