#include "noisefloor/cli/completion.h"

#include <CLI/CLI.hpp>
#include <vector>

#include "noisefloor/shell/completion_script.h"

namespace noisefloor::cli {
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

}  // namespace

Result<std::string> completion_script(const CLI::App& app, std::string_view shell) {
  std::vector<CompletionPlace> places;
  collect(app, "", places);
  return noisefloor::completion_script(places, shell);
}

}  // namespace noisefloor::cli
