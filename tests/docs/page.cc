#include "page.h"

#include <cctype>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

namespace noisefloor::docs {
namespace {

// What code hosts make of a heading: lower case, no punctuation, a hyphen for each space.
std::string anchor_of(const std::string& heading) {
  const std::string text = std::regex_replace(heading, std::regex(R"(\[([^\]]*)\]\([^)]*\))"), "$1");
  std::string anchor;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || std::isalnum(byte) != 0 || c == '-' || c == '_') {
      anchor += static_cast<char>(byte < 0x80 ? std::tolower(byte) : byte);
    } else if (c == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

std::string note_of(const std::string& line) {
  static const std::regex comment(R"(\s*<!--\s*test:\s*(.*?)\s*-->\s*)");
  std::smatch found;
  return std::regex_match(line, found, comment) ? found[1].str() : "";
}

}  // namespace

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Page read_page(const std::string& path) {
  static const std::regex fence(R"(( *)```(.*))");
  static const std::regex heading(R"(#{1,6} +(.*?) *)");
  static const std::regex code("`[^`]*`");
  static const std::regex link(R"(\]\(([^()\s]+)\))");
  Page page{.path = path, .snippets = {}, .links = {}, .anchors = {}};
  std::map<std::string, int> repeated;
  bool inside = false;
  std::size_t indent = 0;
  std::string note;
  int number = 0;
  for (const std::string& line : lines_of(read_text(path))) {
    ++number;
    std::smatch found;
    if (std::regex_match(line, found, fence)) {
      inside = !inside;
      indent = found[1].str().size();
      if (inside) page.snippets.push_back({.line = number, .language = found[2], .note = note, .lines = {}});
    } else if (inside) {
      page.snippets.back().lines.push_back(line.size() >= indent ? line.substr(indent) : "");
    } else if (std::regex_match(line, found, heading)) {
      const std::string anchor = anchor_of(found[1]);
      const int times = repeated[anchor]++;
      page.anchors.insert(times == 0 ? anchor : anchor + "-" + std::to_string(times));
    } else {
      const std::string prose = std::regex_replace(line, code, "");
      for (auto it = std::sregex_iterator(prose.begin(), prose.end(), link); it != std::sregex_iterator(); ++it) {
        page.links.push_back({.line = number, .target = (*it)[1]});
      }
    }
    note = note_of(line);
  }
  return page;
}

}  // namespace noisefloor::docs
