// `noisefloor verify FILE`: whether a model or a certificate is what it says.
#pragma once

#include <CLI/CLI.hpp>

#include "noisefloor/cli/options.h"

namespace noisefloor::cli {

void add_verify_command(CLI::App& app, Action& action);

}  // namespace noisefloor::cli
