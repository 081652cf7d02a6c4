#include "examine.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>

#include "noisefloor/event/json.h"
#include "page.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor::docs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDots = "…";

bool begins_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    words.push_back(trimmed(list.substr(at, end - at)));
    at = end + 1;
  }
  return words;
}

// The regular expression of one shown line.
std::regex pattern_of(const std::string& line, bool random) {
  static const std::regex number(R"([-+]?[0-9][0-9,]*(\.[0-9]+)?(e[-+]?[0-9]+)?)", std::regex::icase);
  static const std::string dots = kDots;
  std::string pattern;
  for (std::size_t at = 0; at < line.size();) {
    std::smatch found;
    if (line.compare(at, dots.size(), dots) == 0) {
      pattern += ".*";
      at += dots.size();
    } else if (random && line[at] == ' ') {
      pattern += " +";
      at = std::min(line.find_first_not_of(' ', at), line.size());
    } else if (random && std::regex_search(line.begin() + static_cast<std::ptrdiff_t>(at), line.end(), found, number,
                                           std::regex_constants::match_continuous)) {
      pattern += R"([-+]?[0-9][0-9,]*(\.[0-9]+)?([eE][-+]?[0-9]+)?)";
      at += static_cast<std::size_t>(found.length());
    } else {
      if (std::string(R"(\^$.|?*+()[]{}/)").find(line[at]) != std::string::npos) pattern += '\\';
      pattern += line[at++];
    }
  }
  return std::regex(pattern);
}

bool same_line(const std::string& shown, const std::string& output, const std::vector<std::string>& random) {
  const bool varies = std::any_of(random.begin(), random.end(),
                                  [&](const std::string& word) { return shown.find(word) != std::string::npos; });
  if (!varies && shown.find(kDots) == std::string::npos) return shown == output;
  return std::regex_match(output, pattern_of(shown, varies));
}

// One command of a console, and what is shown below it.
struct Command {
  int line;
  std::string text;
  std::vector<std::string> shown;
};

std::vector<Command> commands_of(const Snippet& snippet) {
  std::vector<Command> commands;
  int number = snippet.line;
  for (const std::string& line : snippet.lines) {
    ++number;
    if (begins_with(line, "$ ")) {
      commands.push_back({.line = number, .text = line.substr(2), .shown = {}});
    } else if (commands.empty()) {
      return {};
    } else if (commands.back().shown.empty() && begins_with(line, "> ")) {  // the shell asks for the rest of a command
      commands.back().text += "\n" + line.substr(2);
    } else {
      commands.back().shown.push_back(line);
    }
  }
  return commands;
}

std::vector<std::string> without_empty_end(std::vector<std::string> lines) {
  while (!lines.empty() && trimmed(lines.back()).empty()) lines.pop_back();
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

class Examination {
 public:
  Examination(const std::string& path, const Surroundings& surroundings)
      : around_(surroundings), page_(read_page(path)), name_(fs::relative(path, surroundings.repository).string()) {
    fs::create_directories(folder_.path("work"));
    fs::create_directories(folder_.path("runs"));
    const fs::path examples = fs::path(around_.repository) / "examples";
    if (fs::exists(examples)) fs::copy(examples, folder_.path("work/examples"), fs::copy_options::recursive);
  }

  Findings result() {
    for (const Snippet& snippet : page_.snippets) examine_snippet(snippet);
    for (const auto& [line, name] : saved_) {
      if (used_.find(name) == std::string::npos) fault(line, "no command after it uses " + name);
    }
    for (const Link& link : page_.links) follow(link);
    return findings_;
  }

 private:
  void fault(int line, const std::string& what) {
    findings_.faults.push_back(name_ + ":" + std::to_string(line) + ": " + what);
  }

  void examine_snippet(const Snippet& snippet) {
    std::smatch found;
    static const std::regex covered(R"(covered by ([\w.\-]+|make [\w-]+): (.+))");
    static const std::regex random(R"(random(?: (.+))?)");
    static const std::regex taken(R"(from (\S+))");
    static const std::regex saved(R"(save as ([\w.\-]+))");
    const std::string& language = snippet.language;
    const bool is_shell = language == "sh" || language == "console";
    const bool is_file = language == "toml" || language == "json" || language == "cpp";
    if (!is_shell && !is_file) {
      examine_drawing(snippet);
    } else if (std::regex_match(snippet.note, found, covered)) {
      look_for_test(snippet.line, found[1]);
      findings_.elsewhere.push_back(name_ + ":" + std::to_string(snippet.line) + ": " + found[1].str() + ": " +
                                    found[2].str());
    } else if (is_file && std::regex_match(snippet.note, found, taken)) {
      compare_with_file(snippet, found[1]);
    } else if (is_file && std::regex_match(snippet.note, found, saved)) {
      std::ofstream(folder_.path("work/" + found[1].str())) << joined(snippet.lines);
      saved_.emplace_back(snippet.line, found[1]);
    } else if (language == "console" && std::regex_match(snippet.note, found, random)) {
      run_console(snippet, words_of(found[1]));
    } else if (!snippet.note.empty()) {
      fault(snippet.line, "this test note is not known here: " + snippet.note);
    } else if (language == "console") {
      run_console(snippet, {});
    } else if (language == "sh") {
      run_script(snippet);
    } else if (language == "toml") {
      std::ofstream(folder_.path("runs/snippet.toml")) << joined(snippet.lines);
      const auto [code, output] = run("noisefloor check ../runs/snippet.toml\n");
      if (code != 0) fault(snippet.line, "noisefloor check refuses it:\n" + output);
    } else if (language == "json") {
      read_events(snippet);
    } else {
      fault(snippet.line, "C++ has to come from a file that is compiled: <!-- test: from FILE -->");
    }
  }

  // Drawings, formats and the like: nothing that could be run.
  void examine_drawing(const Snippet& snippet) {
    if (!snippet.language.empty() && snippet.language != "text") {
      fault(snippet.line, "nothing tests snippets of " + snippet.language);
    }
    for (const std::string& line : snippet.lines) {
      if (begins_with(line, "$ ")) fault(snippet.line, "a command in a snippet that is not tested: " + line);
    }
  }

  void look_for_test(int line, const std::string& test) {
    if (begins_with(test, "make ")) {
      for (const std::string& rule : lines_of(read_text(around_.repository + "/Makefile"))) {
        if (begins_with(rule, test.substr(5) + ":")) return;
      }
      return fault(line, "the Makefile has no " + test.substr(5));
    }
    const std::size_t dot = test.find('.');
    const std::string suite = test.substr(0, dot);
    const std::string name = dot == std::string::npos ? "" : test.substr(dot + 1);
    const std::regex place("(TEST(_[FP])?\\(" + suite + ", " + name + "\\))|(add_test\\(NAME " + suite + "\\." + name +
                           "\\s)");
    for (const char* folder : {"tests", "noisefloor", "examples"}) {
      const fs::path root = fs::path(around_.repository) / folder;
      if (!fs::exists(root)) continue;
      for (const auto& entry : fs::recursive_directory_iterator(root)) {
        const std::string file = entry.path().filename().string();
        if (!file.ends_with("_test.cc") && file != "CMakeLists.txt") continue;
        const std::string text = read_text(entry.path().string());
        if (text.find(suite) != std::string::npos && std::regex_search(text, place)) return;
      }
    }
    fault(line, "there is no test " + test);
  }

  // Every line of the snippet is in the file, in the same order.
  void compare_with_file(const Snippet& snippet, const std::string& file) {
    const fs::path path = fs::path(around_.repository) / file;
    const std::vector<std::string> lines = lines_of(read_text(path.string()));
    if (lines.empty()) return fault(snippet.line, "there is no " + file);
    if (snippet.language == "cpp") {
      const std::string built = read_text((path.parent_path() / "CMakeLists.txt").string());
      if (built.find(path.stem().string()) == std::string::npos) fault(snippet.line, "nothing builds " + file);
    }
    auto at = lines.begin();
    for (const std::string& line : snippet.lines) {
      const std::string wanted = trimmed(line);
      if (wanted.empty() || wanted == kDots) continue;
      at = std::find_if(at, lines.end(), [&](const std::string& other) { return trimmed(other) == wanted; });
      if (at == lines.end()) return fault(snippet.line, file + " does not have this line, here: " + line);
      ++at;
    }
  }

  // A line of JSON is an event or a statement, just as the library writes it.
  void read_events(const Snippet& snippet) {
    for (const std::string& line : snippet.lines) {
      std::optional<std::string> written;
      if (const auto event = parse_event(line)) written = to_json(event.value());
      if (const auto statement = parse_statement(line)) written = to_json(statement.value());
      if (!written) {
        fault(snippet.line, "neither an event nor a statement: " + line);
      } else if (*written != line) {
        fault(snippet.line, "would be written as " + *written);
      }
    }
  }

  void run_script(const Snippet& snippet) {
    used_ += joined(snippet.lines);
    const auto [code, output] = run("set -eo pipefail\n" + joined(snippet.lines));
    if (code != 0) fault(snippet.line, "ends with exit code " + std::to_string(code) + ":\n" + output);
  }

  // The commands of one console are one shell's. One that fails is shown with its exit code, by `echo $?` after it.
  void run_console(const Snippet& snippet, const std::vector<std::string>& random) {
    const std::vector<Command> commands = commands_of(snippet);
    if (commands.empty()) return fault(snippet.line, "a console does not begin with a command");
    std::string script;
    for (std::size_t i = 0; i < commands.size(); ++i) {
      used_ += commands[i].text + "\n";
      const std::string place = "'" + folder_.path("runs/" + std::to_string(i));
      script += "{\n" + commands[i].text + "\n} >" + place + ".out' 2>&1\n";
      script += "status=$?; echo $status >" + place + ".status'; (exit $status)\n";
    }
    for (const auto& entry : fs::directory_iterator(folder_.path("runs"))) fs::remove(entry.path());
    const auto [code, output] = run(script);
    for (std::size_t i = 0; i < commands.size(); ++i) {
      const Command& command = commands[i];
      const std::string place = folder_.path("runs/" + std::to_string(i));
      const std::string text = read_text(place + ".out");
      const std::string status = trimmed(read_text(place + ".status"));
      if (status.empty()) {
        return fault(command.line, "did not end within " + std::to_string(around_.seconds) + " s:\n" + text + output);
      }
      const bool code_is_shown = i + 1 < commands.size() && commands[i + 1].text == "echo $?";
      if (status != "0" && !code_is_shown) fault(command.line, "ends with exit code " + status + ":\n" + text);
      if (!shows(without_empty_end(command.shown), without_empty_end(lines_of(text)), random)) {
        fault(command.line, "prints something else:\n" + text);
      }
    }
  }

  std::pair<int, std::string> run(const std::string& script) {
    std::ofstream(folder_.path("script")) << script;
    const std::string command = "cd '" + folder_.path("work") + "' && PATH='" + around_.programs +
                                "':\"$PATH\" HOME=$PWD LC_ALL=C.UTF-8 timeout " + std::to_string(around_.seconds) +
                                " env -u NOISEFLOOR_LEDGER bash ../script >../output 2>&1 </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(folder_.path("output"))};
  }

  void follow(const Link& link) {
    if (link.target.find("://") != std::string::npos || begins_with(link.target, "mailto:")) return;
    const std::size_t hash = link.target.find('#');
    const std::string file = link.target.substr(0, hash);
    const fs::path target = file.empty() ? fs::path(page_.path) : fs::path(page_.path).parent_path() / file;
    if (!fs::exists(target)) return fault(link.line, "there is no " + link.target);
    if (hash == std::string::npos || target.extension() != ".md") return;
    if (!read_page(target.string()).anchors.contains(link.target.substr(hash + 1))) {
      fault(link.line, "there is no such heading: " + link.target);
    }
  }

  Surroundings around_;
  Page page_;
  std::string name_;
  testing::TemporaryFolder folder_;
  Findings findings_;
  std::vector<std::pair<int, std::string>> saved_;
  std::string used_;  // the text of all commands
};

}  // namespace

bool shows(const std::vector<std::string>& shown, const std::vector<std::string>& output,
           const std::vector<std::string>& random) {
  // fits[j]: the shown lines so far fit the first j lines of the output.
  std::vector<bool> fits(output.size() + 1, false);
  fits[0] = true;
  for (const std::string& line : shown) {
    std::vector<bool> next(output.size() + 1, false);
    if (trimmed(line) == kDots) {
      bool reached = false;
      for (std::size_t j = 0; j <= output.size(); ++j) next[j] = reached = reached || fits[j];
    } else {
      for (std::size_t j = 0; j < output.size(); ++j) next[j + 1] = fits[j] && same_line(line, output[j], random);
    }
    fits = next;
  }
  return fits[output.size()];
}

Findings examine(const std::string& path, const Surroundings& surroundings) {
  return Examination(path, surroundings).result();
}

}  // namespace noisefloor::docs
