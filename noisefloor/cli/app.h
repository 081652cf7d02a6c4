// The program: commands, exit codes, and what goes to which stream.
#pragma once

namespace noisefloor::cli {

// Runs the command line and returns the exit code. Results go to standard output, errors as one line to standard error.
[[nodiscard]] int run(int argc, char** argv);

}  // namespace noisefloor::cli
