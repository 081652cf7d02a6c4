// The words of a program's commands and options: completion in shells, and the nearest word for one that there is not.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"

namespace CLI {
class App;
}

namespace noisefloor {

// The script for "bash", "zsh" or "fish", from the commands and options that the program really has.
[[nodiscard]] Result<std::string> completion_script(const CLI::App& app, std::string_view shell);

// The first word that stands where a command is due and is none. CLI11 would only say that a command is missing.
[[nodiscard]] std::optional<Error> unknown_command(const CLI::App& app, int argc, char** argv);
// The first option that the command does not have. CLI11 may speak of another that is missing because of it.
[[nodiscard]] std::optional<Error> unknown_option(const CLI::App& app, int argc, char** argv);

// The arguments that this process was started with, its name first.
[[nodiscard]] std::vector<std::string> own_arguments();

}  // namespace noisefloor
