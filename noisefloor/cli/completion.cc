#include "noisefloor/cli/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <vector>

namespace noisefloor::cli {
namespace {

struct Place {
  std::string path;                // "mechanism laplace"; empty at the top
  std::vector<std::string> words;  // what may follow
  std::vector<std::string> help;   // one for each word
};

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\'' || c == '"') c = ' ';
  }
  return text;
}

void collect(const CLI::App& app, const std::string& path, std::vector<Place>& places) {
  Place place{path, {}, {}};
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    place.words.push_back(sub->get_name());
    place.help.push_back(one_line(sub->get_description()));
    collect(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), places);
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      place.words.push_back("--" + name);
      place.help.push_back(one_line(option->get_description()));
    }
  }
  places.push_back(std::move(place));
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string bash_script(const std::vector<Place>& places) {
  std::string cases;
  for (const Place& place : places) cases += fmt::format("    '{}') words='{}' ;;\n", place.path, joined(place.words));
  return fmt::format(R"(# bash completion for noisefloor: source <(noisefloor completion bash)
_noisefloor() {{
  local path='' word words=''
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [[ $word == -* ]] && break
    path="${{path:+$path }}$word"
  done
  case $path in
{}  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}")
  # Files where no word fits, as after --input.
  [[ ${{#COMPREPLY[@]}} -eq 0 ]] && compopt -o default
  return 0
}}
complete -F _noisefloor noisefloor
)",
                     cases);
}

std::string zsh_script(const std::vector<Place>& places) {
  return "#compdef noisefloor\n# zsh completion for noisefloor: source <(noisefloor completion zsh)\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_script(places);
}

std::string fish_script(const std::vector<Place>& places) {
  std::string script = "# fish completion for noisefloor: noisefloor completion fish | source\n";
  for (const Place& place : places) {
    std::string condition =
        "test (string join ' ' (commandline -opc)[2..-1] | string replace -r ' ?-.*' '') = '" + place.path + "'";
    for (std::size_t i = 0; i < place.words.size(); ++i) {
      const std::string& word = place.words[i];
      const bool is_option = word.starts_with("--");
      script += fmt::format("complete -c noisefloor {} -n \"{}\" {} {} -d '{}'\n", is_option ? "" : "-f", condition,
                            is_option ? "-l" : "-a", is_option ? word.substr(2) : word, place.help[i]);
    }
  }
  return script;
}

}  // namespace

Result<std::string> completion_script(const CLI::App& app, std::string_view shell) {
  std::vector<Place> places;
  collect(app, "", places);
  if (shell == "bash") return bash_script(places);
  if (shell == "zsh") return zsh_script(places);
  if (shell == "fish") return fish_script(places);
  return invalid_argument(fmt::format("completion is for bash, zsh or fish; got '{:.40}'", shell));
}

}  // namespace noisefloor::cli
