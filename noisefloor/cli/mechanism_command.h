// `noisefloor mechanism NAME`: one private answer, with the scale of its noise, an interval and the event to account
// for.
#pragma once

#include "noisefloor/cli/options.h"

namespace noisefloor::cli {

void add_mechanism_command(CLI::App& app, Action& action);

}  // namespace noisefloor::cli
