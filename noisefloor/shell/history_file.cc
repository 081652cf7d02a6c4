#include "noisefloor/shell/history_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "noisefloor/shell/line_editor.h"

namespace noisefloor {
namespace {

std::string environment_value(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

HistoryFile HistoryFile::usual() {
  const std::string stated = environment_value("NOISEFLOOR_HISTORY");
  if (stated == "none") return HistoryFile("");
  if (!stated.empty()) return HistoryFile(stated);
  const std::string state = environment_value("XDG_STATE_HOME");
  if (state.starts_with('/')) return HistoryFile(state + "/noisefloor/sql_history");
  const std::string home = environment_value("HOME");
  return HistoryFile(home.empty() ? "" : home + "/.local/state/noisefloor/sql_history");
}

std::vector<std::string> HistoryFile::read() const {
  std::vector<std::string> lines;
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.size() <= LineEditor::kLongestLine) lines.push_back(line);
  }
  const std::size_t most = LineEditor::kLongestHistory;
  if (lines.size() > most) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most));
  return lines;
}

void HistoryFile::add(const std::string& line) const {
  if (path_.empty() || line.empty() || line.find('\n') != std::string::npos) return;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  const int file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  const std::string whole = line + "\n";  // in one write, so that lines of several processes do not mix
  const ssize_t written = ::write(file, whole.data(), whole.size());
  static_cast<void>(written);
  ::close(file);
}

}  // namespace noisefloor
