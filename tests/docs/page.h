// A Markdown page, as far as it can be put to a test: snippets, links, and the anchors that others can link to.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace noisefloor::docs {

struct Snippet {
  int line = 0;  // of its fence
  std::string language;
  std::string note;  // of the comment <!-- test: NOTE --> right above it
  std::vector<std::string> lines;
};

struct Link {
  int line = 0;
  std::string target;
};

struct Page {
  std::string path;
  std::vector<Snippet> snippets;
  std::vector<Link> links;
  std::set<std::string> anchors;
};

[[nodiscard]] std::vector<std::string> lines_of(const std::string& text);
[[nodiscard]] std::string trimmed(const std::string& text);
[[nodiscard]] std::string read_text(const std::string& path);

[[nodiscard]] Page read_page(const std::string& path);

}  // namespace noisefloor::docs
