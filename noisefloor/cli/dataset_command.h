// `noisefloor dataset …`: whose rows a budget pays for.
#pragma once

#include <CLI/CLI.hpp>

#include "noisefloor/cli/options.h"

namespace noisefloor::cli {

void add_dataset_command(CLI::App& app, Action& action);

}  // namespace noisefloor::cli
