#include "noisefloor/base/command_walk.h"

#include <fmt/format.h>

#include <system_error>

#include "noisefloor/base/file.h"
#include "noisefloor/base/process.h"

namespace noisefloor {
namespace {

constexpr std::size_t kMaxOutput = std::size_t{16} << 20;

}  // namespace

void CommandWalk::say(const std::string& text) { show_(fmt::format("\n{}. {}\n", ++steps_, text)); }

Result<void> CommandWalk::run(const std::vector<std::string>& arguments, int due) { return run(arguments, due, false); }

Result<void> CommandWalk::glance_at(const std::vector<std::string>& arguments) { return run(arguments, 0, true); }

Result<void> CommandWalk::run(std::vector<std::string> arguments, int due, bool first_line) {
  std::string line = scene_.name;
  for (const std::string& argument : arguments) line += " " + argument;
  show_(fmt::format("$ {}{}\n", line, first_line ? " | head -1" : ""));
  arguments.insert(arguments.begin(), scene_.program);
  if (!scene_.for_json.empty()) arguments.push_back(scene_.for_json);
  const std::string out = (scene_.folder / "output.txt").string();
  NF_TRY(const int process,
         start_process({scene_.program, std::move(arguments), scene_.folder.string(), out, /*errors=*/{}}));
  NF_TRY(const int exit_code, wait_for_process(process));
  NF_TRY(const std::string text, read_file(out, kMaxOutput));
  std::error_code ignored;
  std::filesystem::remove(out, ignored);
  if (scene_.for_json.empty()) {
    const std::size_t end = first_line ? text.find('\n') : std::string::npos;
    show_(text.substr(0, end) + (end == std::string::npos ? "" : "\n"));
  }
  if (exit_code != due) {
    return internal_error(
        fmt::format("`{}` ended with exit code {}, not with {}: the demonstration ends here", line, exit_code, due));
  }
  ran_.push_back({line, exit_code, {}});
  if (!scene_.for_json.empty() && due == 0) ran_.back().result = text;
  return success();
}

}  // namespace noisefloor
