// `noisefloor budget …`: a durable privacy budget, spent from by everyone and checked by anyone.
#pragma once

#include <CLI/CLI.hpp>

#include "noisefloor/cli/options.h"

namespace noisefloor::cli {

void add_budget_command(CLI::App& app, Action& action);

}  // namespace noisefloor::cli
