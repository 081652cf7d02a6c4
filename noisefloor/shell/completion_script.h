// Scripts that complete the words of a program in bash, zsh and fish.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor {

struct CompletionPlace {
  std::string path;                // of the command: "mechanism laplace"; empty at the top
  std::vector<std::string> words;  // what may follow
  std::vector<std::string> help;   // one for each word
};

// The script for "bash", "zsh" or "fish".
[[nodiscard]] Result<std::string> completion_script(std::vector<CompletionPlace> places, std::string_view shell);

}  // namespace noisefloor
