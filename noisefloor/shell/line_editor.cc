#include "noisefloor/shell/line_editor.h"

#include <algorithm>
#include <utility>

namespace noisefloor {
namespace {

constexpr char kEscape = '\x1b';
constexpr std::string_view kEraseToEnd = "\x1b[K";

constexpr char ctrl(char letter) { return static_cast<char>(letter & 0x1f); }

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

bool is_space(char c) { return c == ' ' || c == '\t'; }

// How many characters a text shows, each as wide as any other.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

// The text without its first `count` characters, and its first `count` characters.
std::string_view without(std::string_view text, std::size_t count) {
  while (count > 0 && !text.empty()) {
    text.remove_prefix(1);
    while (!text.empty() && continues(text.front())) text.remove_prefix(1);
    --count;
  }
  return text;
}
std::string_view first(std::string_view text, std::size_t count) {
  return text.substr(0, text.size() - without(text, count).size());
}

}  // namespace

LineEditor::LineEditor(std::size_t width, Complete complete, std::vector<std::string> history)
    : width_(std::max<std::size_t>(width, 20)), complete_(std::move(complete)), history_(std::move(history)) {}

std::string LineEditor::begin(std::string_view prompt) {
  prompt_ = prompt;
  text_.clear();
  cursor_ = 0;
  written_.clear();
  recalled_ = history_.size();
  return shown();
}

LineEditor::Step LineEditor::take(std::string_view keys) {
  Step step;
  const std::string all = std::exchange(waiting_, {}) + std::string(keys);
  for (std::size_t i = 0; i < all.size(); ++i) {
    key(all[i], step);
    if (!step.done()) continue;
    waiting_ = all.substr(i + 1);
    return step;
  }
  step.screen += shown();
  return step;
}

void LineEditor::key(char byte, Step& step) {
  if (!sequence_.empty()) {
    sequence_ += byte;
    const bool begun = sequence_.size() == 2 && (byte == '[' || byte == 'O');
    const bool goes_on = sequence_.size() > 2 && sequence_.size() < 16 && !(byte >= '@' && byte <= '~');
    if (begun || goes_on) return;
    escape(std::exchange(sequence_, {}));
    return;
  }
  if (byte == kEscape) {
    sequence_ = byte;
  } else if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f) {
    control(byte, step);
  } else {
    insert(byte);
  }
}

void LineEditor::control(char byte, Step& step) {
  switch (byte) {
    case '\r':
    case '\n':
      cursor_ = text_.size();
      step.screen += shown() + "\r\n";
      step.line = text_;
      return;
    case ctrl('C'):
      step.screen += shown() + "^C\r\n";
      step.given_up = true;
      return;
    case ctrl('D'):
      if (text_.empty()) {
        step.screen += shown() + "\r\n";
        step.ended = true;
      } else {
        erase(cursor_, right(cursor_));
      }
      return;
    case 0x7f:
    case ctrl('H'):
      return erase(left(cursor_), cursor_);
    case ctrl('A'):
      cursor_ = 0;
      return;
    case ctrl('E'):
      cursor_ = text_.size();
      return;
    case ctrl('B'):
      cursor_ = left(cursor_);
      return;
    case ctrl('F'):
      cursor_ = right(cursor_);
      return;
    case ctrl('K'):
      return erase(cursor_, text_.size());
    case ctrl('U'):
      return erase(0, cursor_);
    case ctrl('W'): {
      std::size_t from = cursor_;
      while (from > 0 && is_space(text_[from - 1])) --from;
      while (from > 0 && !is_space(text_[from - 1])) --from;
      return erase(from, cursor_);
    }
    case ctrl('P'):
      return recall(-1);
    case ctrl('N'):
      return recall(1);
    case ctrl('L'):
      step.screen += "\x1b[H\x1b[2J";
      return;
    case '\t':
      return complete(step);
    default:
      return;
  }
}

void LineEditor::escape(std::string_view sequence) {
  if (sequence.size() < 3) return;
  const std::string_view keys = sequence.substr(2);
  if (keys == "A") return recall(-1);
  if (keys == "B") return recall(1);
  if (keys == "C") cursor_ = right(cursor_);
  if (keys == "D") cursor_ = left(cursor_);
  if (keys == "H" || keys == "1~" || keys == "7~") cursor_ = 0;
  if (keys == "F" || keys == "4~" || keys == "8~") cursor_ = text_.size();
  if (keys == "3~") erase(cursor_, right(cursor_));
}

void LineEditor::insert(char byte) {
  if (text_.size() >= kLongestLine) return;
  text_.insert(cursor_, 1, byte);
  ++cursor_;
}

void LineEditor::complete(Step& step) {
  if (!complete_) return;
  const Completion found = complete_(std::string_view(text_).substr(0, cursor_));
  if (found.words.empty() || found.begin > cursor_) return;
  std::string common = found.words.front();
  for (const std::string& word : found.words) {
    const auto differ = std::mismatch(common.begin(), common.end(), word.begin(), word.end()).first;
    common.erase(differ, common.end());
  }
  const std::size_t there = cursor_ - found.begin;
  if (common.size() >= there && (found.words.size() == 1 || common.size() > there)) {
    if (found.words.size() == 1) common += ' ';
    erase(found.begin, cursor_);
    for (const char c : common) insert(c);
    return;
  }
  step.screen += shown() + "\r\n";
  std::size_t used = 0;
  for (const std::string& word : found.words) {
    if (used > 0 && used + word.size() + 2 > width_) {
      step.screen += "\r\n";
      used = 0;
    }
    step.screen += (used > 0 ? "  " : "") + word;
    used += word.size() + 2;
  }
  step.screen += "\r\n";
}

void LineEditor::recall(int direction) {
  if (direction < 0 ? recalled_ == 0 : recalled_ >= history_.size()) return;
  if (recalled_ == history_.size()) written_ = text_;
  recalled_ = direction < 0 ? recalled_ - 1 : recalled_ + 1;
  text_ = recalled_ == history_.size() ? written_ : history_[recalled_];
  cursor_ = text_.size();
}

void LineEditor::erase(std::size_t from, std::size_t to) {
  text_.erase(from, to - from);
  cursor_ = from;
}

std::size_t LineEditor::left(std::size_t from) const {
  if (from == 0) return 0;
  do {
    --from;
  } while (from > 0 && continues(text_[from]));
  return from;
}

std::size_t LineEditor::right(std::size_t from) const {
  if (from == text_.size()) return from;
  do {
    ++from;
  } while (from < text_.size() && continues(text_[from]));
  return from;
}

std::string LineEditor::shown() const {
  const std::size_t room = width_ - 1 - std::min(characters(prompt_), width_ / 2);
  const std::size_t before = characters(std::string_view(text_).substr(0, cursor_));
  const std::size_t hidden = before > room ? before - room : 0;
  const std::string_view visible = first(without(text_, hidden), room);
  std::string out = "\r" + prompt_;
  out += visible;
  out += kEraseToEnd;
  if (const std::size_t back = characters(visible) - (before - hidden); back > 0) {
    out += "\x1b[" + std::to_string(back) + "D";
  }
  return out;
}

void LineEditor::remember(const std::string& line) {
  if (line.empty() || (!history_.empty() && history_.back() == line)) return;
  history_.push_back(line);
  if (history_.size() > kLongestHistory) history_.erase(history_.begin());
}

}  // namespace noisefloor
