// `noisefloor plan`: the parameters of a private training before anything is spent, from numbers alone or from a training
// file.
#pragma once

#include "noisefloor/cli/options.h"

namespace noisefloor::cli {

void add_plan_command(CLI::App& app, Action& action);

}  // namespace noisefloor::cli
