// Other programs as processes: started with files for what they print, waited for, ended.
//
// Requires:      processes of one caller are waited for by that caller alone.
// Thread safety: as POSIX: any thread may start a process and wait for its own.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor {

// A program to start. Empty fields leave things as they are in this process.
struct ProgramCall {
  std::string program;                 // its file
  std::vector<std::string> arguments;  // its name first
  std::string folder = {};             // where it runs
  std::string output = {};             // a file that its standard output goes to, from the beginning
  std::string errors = {};             // a file that its standard error goes to, readable by its owner alone
};

// Returns the id of the process. kIo if it cannot be started.
[[nodiscard]] Result<int> start_process(ProgramCall call);

// Waits until it ends. Returns its exit code, or -1 if a signal has ended it.
[[nodiscard]] Result<int> wait_for_process(int id);

// Waits for so long, and then kills it.
void end_process(int id, std::chrono::milliseconds patience);

// A text as one word of a shell's command line, in quotes where it needs them.
[[nodiscard]] std::string shell_word(const std::string& text);

}  // namespace noisefloor
