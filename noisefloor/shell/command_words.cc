#include "noisefloor/shell/command_words.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "noisefloor/base/spelling.h"
#include "noisefloor/base/text.h"
#include "noisefloor/shell/completion_script.h"

namespace noisefloor {
namespace {

void collect(const CLI::App& app, const std::string& path, std::vector<CompletionPlace>& places) {
  CompletionPlace place{path, {}, {}};
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    place.words.push_back(sub->get_name());
    place.help.push_back(sub->get_description());
    collect(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), places);
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      place.words.push_back("--" + name);
      place.help.push_back(option->get_description());
    }
  }
  places.push_back(std::move(place));
}

// The command that the first words name, as deep as they do; `word` is where that ends.
const CLI::App* named_command(const CLI::App& app, int argc, char** argv, int& word) {
  const CLI::App* place = &app;
  for (word = 1; word < argc && argv[word][0] != '-'; ++word) {
    const auto named = [&](const CLI::App* command) { return command->get_name() == argv[word]; };
    const std::vector<const CLI::App*> next = place->get_subcommands(named);
    if (next.empty()) break;
    place = next.front();
  }
  return place;
}

}  // namespace

std::optional<Error> unknown_command(const CLI::App& app, int argc, char** argv) {
  int word = 0;
  const CLI::App* place = named_command(app, argc, argv, word);
  if (word >= argc || argv[word][0] == '-') return std::nullopt;
  const auto commands = place->get_subcommands([](const CLI::App*) { return true; });
  if (commands.empty()) return std::nullopt;
  std::vector<std::string> names(commands.size());
  std::transform(commands.begin(), commands.end(), names.begin(), [](const CLI::App* one) { return one->get_name(); });
  return invalid_argument(fmt::format("there is no command {}; {}", shown(argv[word]),
                                      suggestion(argv[word], {names.begin(), names.end()})));
}

std::optional<Error> unknown_option(const CLI::App& app, int argc, char** argv) {
  int word = 0;
  const CLI::App* place = named_command(app, argc, argv, word);
  std::vector<std::string> names;
  for (const CLI::Option* option : place->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  for (; word < argc; ++word) {
    std::string_view given(argv[word]);
    if (!given.starts_with("--") || given.size() == 2) continue;
    given = given.substr(2, given.find('=') - 2);
    if (std::find(names.begin(), names.end(), given) != names.end()) continue;
    const std::string_view nearest = nearest_name(given, {names.begin(), names.end()});
    return invalid_argument(fmt::format(
        "there is no option {}; {}", shown(fmt::format("--{}", given)),
        nearest.empty() ? fmt::format("--{} shows what is possible", app.get_help_ptr()->get_lnames().front())
                        : fmt::format("did you mean '--{}'?", nearest)));
  }
  return std::nullopt;
}

Result<std::string> completion_script(const CLI::App& app, std::string_view shell) {
  std::vector<CompletionPlace> places;
  collect(app, "", places);
  return completion_script(std::move(places), shell);
}

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> arguments;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t end = bytes.find('\0', begin);
    arguments.push_back(bytes.substr(begin, end - begin));
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  return arguments;
}

}  // namespace noisefloor
