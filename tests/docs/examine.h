// Whether what a page says is so: its commands are run, their output compared, its snippets read by what reads such
// files, its links followed. HACKING.md says how to write pages.
#pragma once

#include <string>
#include <vector>

namespace noisefloor::docs {

struct Surroundings {
  std::string repository;  // its root
  std::string programs;    // the folder where `noisefloor` is
  int seconds = 60;        // that one snippet may take
};

struct Findings {
  std::vector<std::string> faults;     // "README.md:12: what is wrong"
  std::vector<std::string> elsewhere;  // snippets that another test covers, with their reasons
};

[[nodiscard]] Findings examine(const std::string& path, const Surroundings& surroundings);

// Whether the shown lines are those of the output: "…" alone stands for any lines, and inside a line for any text. In
// lines that hold one of the words of `random` (in all, if one is empty) a number stands for any number, and spaces for
// spaces.
[[nodiscard]] bool shows(const std::vector<std::string>& shown, const std::vector<std::string>& output,
                         const std::vector<std::string>& random);

}  // namespace noisefloor::docs
