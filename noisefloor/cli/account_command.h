// `noisefloor account …` and `noisefloor calibrate …`: what a plan costs, and which plan fits a budget.
#pragma once

#include "noisefloor/cli/options.h"

namespace noisefloor::cli {

void add_account_command(CLI::App& app, Action& action);
void add_calibrate_command(CLI::App& app, Action& action);

}  // namespace noisefloor::cli
