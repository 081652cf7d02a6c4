// A conversation in SQL: lines in, texts out. Lines make up a statement until a semicolon ends it; a line that begins
// with a backslash is a command of the session itself.
//
// Guarantee:     the session runs nothing by itself: statements and commands go to the functions that it was given, and
//                a line that is no complete statement asks nothing.
// Thread safety: none.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/shell/line_editor.h"

namespace noisefloor {

struct SqlSessionActs {
  // Each returns what is to be shown.
  std::function<Result<std::string>(const std::string& statement)> ask;
  std::function<Result<std::string>(const std::string& statement)> explain;
  std::function<Result<std::string>()> budget;
  std::function<Result<std::string>()> tables;
};

class SqlSession {
 public:
  // `names`: of tables and columns, for completion.
  SqlSession(std::string dataset, SqlSessionActs acts, std::vector<std::string> names);

  struct Reply {
    std::string text = {};            // to be shown
    std::optional<Error> error = {};  // or this
    bool ended = false;
  };
  [[nodiscard]] Reply take(const std::string& line);
  // Forgets the lines of a statement that was not ended.
  void give_up() { statement_.clear(); }
  // "visits> ", or "     -> " inside a statement.
  [[nodiscard]] std::string prompt() const;
  // Keywords, names and commands that begin like the word before the cursor, in the case that it is written in.
  [[nodiscard]] LineEditor::Completion complete(std::string_view before_cursor) const;

  [[nodiscard]] static std::string help();

 private:
  [[nodiscard]] Reply command(std::string_view line);
  [[nodiscard]] static Reply reply_of(const Result<std::string>& made);

  std::string dataset_;
  SqlSessionActs acts_;
  std::vector<std::string> names_;
  std::string statement_;
};

// Whether a statement is complete: its last word is a semicolon outside of quotes and comments.
[[nodiscard]] bool ends_statement(std::string_view text);

}  // namespace noisefloor
