// `noisefloor init data.csv`: a dataset description and a training file to fill in.
#pragma once

#include <CLI/CLI.hpp>

#include "noisefloor/cli/options.h"

namespace noisefloor::cli {

void add_init_command(CLI::App& app, Action& action);

}  // namespace noisefloor::cli
