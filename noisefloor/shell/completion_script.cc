#include "noisefloor/shell/completion_script.h"

#include <fmt/format.h>

namespace noisefloor {
namespace {

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\'' || c == '"') c = ' ';
  }
  return text;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string bash_script(const std::vector<CompletionPlace>& places) {
  std::string cases;
  for (const CompletionPlace& place : places)
    cases += fmt::format("    '{}') words='{}' ;;\n", place.path, joined(place.words));
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
  # Files where no word fits, as after an option that takes one.
  [[ ${{#COMPREPLY[@]}} -eq 0 ]] && compopt -o default
  return 0
}}
complete -F _noisefloor noisefloor
)",
                     cases);
}

std::string zsh_script(const std::vector<CompletionPlace>& places) {
  return "#compdef noisefloor\n# zsh completion for noisefloor: source <(noisefloor completion zsh)\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_script(places);
}

std::string fish_script(const std::vector<CompletionPlace>& places) {
  std::string script = "# fish completion for noisefloor: noisefloor completion fish | source\n";
  for (const CompletionPlace& place : places) {
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

Result<std::string> completion_script(std::vector<CompletionPlace> places, std::string_view shell) {
  for (CompletionPlace& place : places) {
    for (std::string& help : place.help) help = one_line(std::move(help));
  }
  if (shell == "bash") return bash_script(places);
  if (shell == "zsh") return zsh_script(places);
  if (shell == "fish") return fish_script(places);
  return invalid_argument(fmt::format("completion is for bash, zsh or fish; got '{:.40}'", shell));
}

}  // namespace noisefloor
