#include "noisefloor/shell/line_editor.h"

#include <gtest/gtest.h>

#include "tests/support/replay_engine.h"

namespace noisefloor {
namespace {

// The line that keys make.
std::string line_of(LineEditor& editor, std::string_view keys) {
  (void)editor.begin("> ");
  const LineEditor::Step step = editor.take(std::string(keys) + "\r");
  EXPECT_TRUE(step.line.has_value());
  return step.line.value_or("");
}
std::string line_of(std::string_view keys) {
  LineEditor editor;
  return line_of(editor, keys);
}

TEST(LineEditor, EditsALine) {
  EXPECT_EQ(line_of("SELECT 1"), "SELECT 1");
  EXPECT_EQ(line_of("SELCT\x1b[D\x1b[D\x1b[D!\x7f"
                    "E"),
            "SEELCT");
  EXPECT_EQ(line_of("abc\x01X\x05Y"), "XabcY");
  EXPECT_EQ(line_of("abc\x1b[HX\x1b[FY"), "XabcY");
  EXPECT_EQ(line_of("one two\x17three"), "one three");
  EXPECT_EQ(line_of("abc\x02\x02\x0b"), "a");
  EXPECT_EQ(line_of("abc\x02\x15"), "c");
  EXPECT_EQ(line_of("abc\x01\x1b[3~\x04"), "c");
  EXPECT_EQ(line_of("äöü\x7f\x1b[D\x7f"), "ö");
}

TEST(LineEditor, LeavesOutKeysThatMeanNothing) {
  EXPECT_EQ(line_of("a\x1b[5~b\x1b[1;5Cc\x1bOQd\x06"), "abcd");
  EXPECT_EQ(line_of(std::string("a\x00\x1e\x1f", 4) + "b"), "ab");
}

TEST(LineEditor, EndsAndGivesUp) {
  LineEditor editor;
  (void)editor.begin("> ");
  EXPECT_TRUE(editor.take("\x04").ended);
  (void)editor.begin("> ");
  EXPECT_TRUE(editor.take("abc\x03").given_up);
  EXPECT_EQ(line_of(editor, ""), "");
}

TEST(LineEditor, KeepsKeysThatCameEarly) {
  LineEditor editor;
  (void)editor.begin("> ");
  EXPECT_EQ(editor.take("one\rtwo\r").line, "one");
  (void)editor.begin("> ");
  EXPECT_EQ(editor.take("").line, "two");
}

TEST(LineEditor, RecallsEarlierLines) {
  LineEditor editor(80, {}, {"first", "second"});
  EXPECT_EQ(line_of(editor, "\x1b[A"), "second");
  EXPECT_EQ(line_of(editor, "\x1b[A\x1b[A"), "first");
  EXPECT_EQ(line_of(editor, "\x10\x10\x10\x10"), "first");
  EXPECT_EQ(line_of(editor, "mine\x1b[A\x1b[B"), "mine");
  editor.remember("third");
  editor.remember("third");
  editor.remember("");
  EXPECT_EQ(editor.history().size(), 3U);
}

TEST(LineEditor, CompletesWords) {
  const auto complete = [](std::string_view before) {
    LineEditor::Completion found{before.rfind(' ') + 1, {}};
    for (const char* word : {"visits", "visitors", "wards"}) {
      if (std::string_view(word).starts_with(before.substr(found.begin))) found.words.emplace_back(word);
    }
    return found;
  };
  LineEditor editor(80, complete);
  EXPECT_EQ(line_of(editor, "FROM w\t"), "FROM wards ");
  EXPECT_EQ(line_of(editor, "FROM v\t"), "FROM visit");
  (void)editor.begin("> ");
  EXPECT_NE(editor.take("v\t\t").screen.find("visits  visitors"), std::string::npos);
}

TEST(LineEditor, ShowsThePartOfALongLineThatHasTheCursor) {
  LineEditor editor(20);
  (void)editor.begin("> ");
  const std::string screen = editor.take("0123456789abcdefghijklmnop").screen;
  EXPECT_EQ(screen, "\r> 9abcdefghijklmnop\x1b[K");
  EXPECT_EQ(editor.take("\x01").screen, "\r> 0123456789abcdefg\x1b[K\x1b[17D");
}

// Whatever the keys are, it does not crash, and the screen gets no control byte of theirs.
TEST(LineEditor, SurvivesAnyKeys) {
  testing::ReplayEngine random(7);
  LineEditor editor(40, [](std::string_view before) {
    return LineEditor::Completion{before.size() / 2, {"count", "cost"}};
  });
  (void)editor.begin("> ");
  for (int i = 0; i < 20'000; ++i) {
    std::string keys;
    for (std::uint64_t n = random() % 8; n > 0; --n) keys += static_cast<char>(random() % 256);
    const LineEditor::Step step = editor.take(keys);
    for (std::size_t at = 0; at < step.screen.size(); ++at) {
      const char c = step.screen[at];
      if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) continue;
      ASSERT_TRUE(c == '\r' || c == '\n' || (c == '\x1b' && step.screen[at + 1] == '[')) << int(c);
    }
    if (!step.done()) continue;
    if (step.line) editor.remember(*step.line);
    (void)editor.begin("> ");
  }
}

}  // namespace
}  // namespace noisefloor
