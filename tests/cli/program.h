// Runs the program as its users do, and looks at what it printed where.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace noisefloor::testing {

struct Outcome {
  int exit_code;
  std::string out;
  std::string err;
};

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

// Runs `noisefloor ARGUMENTS` by a shell, so that redirections and pipes can be tried as well.
inline Outcome shell(const std::string& command) {
  static const TemporaryFolder folder;
  const std::string script = folder.path("script");
  const std::string out = folder.path("out");
  const std::string err = folder.path("err");
  std::ofstream(script) << "noisefloor() { '" NOISEFLOOR_PROGRAM "' \"$@\"; }\n" + command;
  const int status = std::system(("bash '" + script + "' >'" + out + "' 2>'" + err + "' </dev/null").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), read_file(err)};
}

inline Outcome noisefloor_run(const std::string& arguments) { return shell("noisefloor " + arguments); }

// Starts `noisefloor ARGUMENTS`. Once `file` holds something, `then` happens, by a shell that knows the process as
// $first. What is waited for is seen, not timed, so that a slow machine changes nothing.
inline Outcome run_until(const std::string& arguments, const std::string& file, const std::string& then) {
  return shell("'" NOISEFLOOR_PROGRAM "' " + arguments +
               " &\nfirst=$!\nwhile kill -0 $first 2>/dev/null && ! test -s '" + file + "'; do sleep 0.01; done\n" +
               then + "\nwait $first");
}

// The error line, for more looks at it.
inline std::string expect_clean_failure(const std::string& arguments, int code) {
  const Outcome outcome = noisefloor_run(arguments);
  EXPECT_EQ(outcome.exit_code, code) << arguments << "\n" << outcome.err;
  EXPECT_EQ(outcome.out, "") << arguments;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << arguments << "\n" << outcome.err;
  EXPECT_EQ(outcome.err.rfind("noisefloor: ", 0), 0U) << outcome.err;
  EXPECT_LT(outcome.err.size(), 300U) << outcome.err;
  return outcome.err;
}

// The same, with what the error names. It shows no private value: tests use 987 as the first digits of those.
inline void expect_refused(const std::string& arguments, int code, const std::string& named) {
  const std::string error = expect_clean_failure(arguments, code);
  EXPECT_NE(error.find(named), std::string::npos) << error << "lacks: " << named;
  // Digests and names of temporary folders are random.
  const std::string words = std::regex_replace(error, std::regex("[0-9a-f]{16,}|noisefloor_[A-Za-z0-9]{6}"), "");
  EXPECT_EQ(words.find("987"), std::string::npos) << "a private value leaked: " << error;
}

}  // namespace noisefloor::testing
