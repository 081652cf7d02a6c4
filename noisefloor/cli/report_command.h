// noisefloor report: a run as one HTML file.
#pragma once

#include "noisefloor/cli/options.h"

namespace noisefloor::cli {

void add_report_command(CLI::App& app, Action& action);

}  // namespace noisefloor::cli
