// Editing one line on a terminal: bytes of keys in, bytes for the screen out. Whoever uses it reads the keyboard and
// writes the screen.
//
//   LineEditor editor(width, complete);
//   write(editor.begin("visits> "));
//   while (!step.done()) { step = editor.take(read_some()); write(step.screen); }
//
// Keys: arrows, Home, End, Delete, Backspace; Ctrl-A, E, B, F (move), K, U, W (erase), P, N (history), L (clear), C
// (give up the line), D (end, on an empty line); Tab completes a word, or lists what it could be.
//
// Guarantee:     the screen never gets a control byte that the user's text holds: keys that mean nothing are left out.
//                A line has at most kLongestLine bytes. It is valid UTF-8 if the keys are.
// Thread safety: none.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace noisefloor {

class LineEditor {
 public:
  static constexpr std::size_t kLongestLine = 65'536;
  static constexpr std::size_t kLongestHistory = 1'000;

  // The words that could stand in place of the one that ends at the cursor, and where that begins.
  struct Completion {
    std::size_t begin = 0;
    std::vector<std::string> words = {};
  };
  using Complete = std::function<Completion(std::string_view before_cursor)>;

  struct Step {
    std::string screen;                    // to be written
    std::optional<std::string> line = {};  // the line, once it is entered
    bool given_up = false;                 // Ctrl-C
    bool ended = false;                    // Ctrl-D on an empty line

    [[nodiscard]] bool done() const { return line || given_up || ended; }
  };

  explicit LineEditor(std::size_t width = 80, Complete complete = {}, std::vector<std::string> history = {});

  // Begins a line. Keys that came after the end of the line before are taken first.
  [[nodiscard]] std::string begin(std::string_view prompt);
  [[nodiscard]] Step take(std::string_view keys);

  // Adds a line to the history, unless it is empty or the last one.
  void remember(const std::string& line);
  [[nodiscard]] const std::vector<std::string>& history() const { return history_; }

 private:
  void key(char byte, Step& step);
  void control(char byte, Step& step);
  void escape(std::string_view sequence);
  void insert(char byte);
  void complete(Step& step);
  void recall(int direction);
  void erase(std::size_t from, std::size_t to);
  [[nodiscard]] std::size_t left(std::size_t from) const;
  [[nodiscard]] std::size_t right(std::size_t from) const;
  [[nodiscard]] std::string shown() const;

  std::size_t width_;
  Complete complete_;
  std::vector<std::string> history_;
  std::string prompt_;
  std::string text_;
  std::size_t cursor_ = 0;
  std::size_t recalled_ = 0;  // place in the history; its size: the line that is being written
  std::string written_;       // that line, while another one is recalled
  std::string sequence_;      // of an escape that is not complete
  std::string waiting_;       // keys after the end of a line
};

}  // namespace noisefloor
