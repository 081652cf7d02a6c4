// `noisefloor budget …`: a durable privacy budget, spent from by everyone and checked by anyone.
#pragma once

#include "noisefloor/cli/options.h"

namespace noisefloor::cli {

void add_budget_command(CLI::App& app, Action& action);

// Those of its subcommands that spend nothing: budget_look.cc.
void add_budget_look_commands(CLI::App& budget, Action& action);

}  // namespace noisefloor::cli
