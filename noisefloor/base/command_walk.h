// The commands of one program, run one after the other in a folder, as a demonstration shows them.
//
// Guarantee:     a command that ends with another exit code than the one that is due is an error, and nothing after it
//                needs to run. A command's output is shown after the command itself.
// Thread safety: none.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor {

// A command that was run, and the JSON object that it printed, if it did.
struct RanCommand {
  std::string command;
  int exit_code = 0;
  std::optional<std::string> result = {};
};

class CommandWalk {
 public:
  struct Scene {
    std::string program;           // its file
    std::string name;              // what a person types for it
    std::filesystem::path folder;  // where it runs
    std::string for_json = {};     // an argument that asks for JSON, which is then kept instead of shown; or empty
  };
  // `show` gets each text as it is to be shown, with its line breaks.
  using Show = std::function<void(const std::string& text)>;
  CommandWalk(Scene scene, Show show) : scene_(std::move(scene)), show_(std::move(show)) {}

  // Shows what is to come, with its number.
  void say(const std::string& text);
  // Runs the command to the exit code that is due. kInternal if it ends with another one.
  [[nodiscard]] Result<void> run(const std::vector<std::string>& arguments, int due = 0);
  // Runs it, and shows the first line of what it prints.
  [[nodiscard]] Result<void> glance_at(const std::vector<std::string>& arguments);

  [[nodiscard]] const std::vector<RanCommand>& ran() const { return ran_; }

 private:
  [[nodiscard]] Result<void> run(std::vector<std::string> arguments, int due, bool first_line);

  Scene scene_;
  Show show_;
  int steps_ = 0;
  std::vector<RanCommand> ran_;
};

}  // namespace noisefloor
