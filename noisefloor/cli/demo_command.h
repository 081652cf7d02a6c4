// `noisefloor demo`: the main job, from a plan to a report, on images that anyone may have.
#pragma once

#include "noisefloor/cli/options.h"

namespace noisefloor::cli {

void add_demo_command(CLI::App& app, Action& action);

}  // namespace noisefloor::cli
