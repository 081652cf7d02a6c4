// Shell completion, generated from the commands and options that the program really has.
#pragma once

#include <string>
#include <string_view>

#include "noisefloor/base/result.h"

namespace CLI {
class App;
}

namespace noisefloor::cli {

// The script for "bash", "zsh" or "fish".
[[nodiscard]] Result<std::string> completion_script(const CLI::App& app, std::string_view shell);

}  // namespace noisefloor::cli
