// `noisefloor verify PATH`: whether what was released is what it says.
#pragma once

#include "noisefloor/cli/options.h"

namespace noisefloor::cli {

void add_verify_command(CLI::App& app, Action& action);

}  // namespace noisefloor::cli
