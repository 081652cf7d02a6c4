// The lines of earlier conversations, in a file that its owner alone can read.
//
// Errors:        a history that cannot be read is empty, and a line that cannot be written is lost: neither stops a
//                conversation.
// Thread safety: several processes may add lines to one file.
#pragma once

#include <string>
#include <vector>

namespace noisefloor {

class HistoryFile {
 public:
  explicit HistoryFile(std::string path) : path_(std::move(path)) {}
  // NOISEFLOOR_HISTORY, where "none" stands for no file; else sql_history in $XDG_STATE_HOME/noisefloor or
  // ~/.local/state/noisefloor.
  [[nodiscard]] static HistoryFile usual();

  // The last lines, the oldest first.
  [[nodiscard]] std::vector<std::string> read() const;
  void add(const std::string& line) const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;  // empty: no file
};

}  // namespace noisefloor
