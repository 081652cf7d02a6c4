#include "noisefloor/shell/history_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "noisefloor/shell/line_editor.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

TEST(HistoryFile, KeepsLinesForItsOwnerAlone) {
  const testing::TemporaryFolder folder;
  const HistoryFile file(folder.path("state/sql_history"));
  EXPECT_TRUE(file.read().empty());
  file.add("SELECT 1;");
  file.add("");
  file.add("two\nlines");
  file.add("SELECT 2;");
  EXPECT_EQ(file.read(), (std::vector<std::string>{"SELECT 1;", "SELECT 2;"}));
  struct stat found {};
  ASSERT_EQ(::stat(file.path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
}

TEST(HistoryFile, GivesTheLastLines) {
  const testing::TemporaryFolder folder;
  const HistoryFile file(folder.path("h"));
  for (int i = 0; i < 1'200; ++i) file.add(std::to_string(i));
  const std::vector<std::string> lines = file.read();
  ASSERT_EQ(lines.size(), LineEditor::kLongestHistory);
  EXPECT_EQ(lines.front(), "200");
  EXPECT_EQ(lines.back(), "1199");
}

TEST(HistoryFile, MayBeNowhere) {
  const HistoryFile file("");
  file.add("SELECT 1;");
  EXPECT_TRUE(file.read().empty());
  ::setenv("NOISEFLOOR_HISTORY", "none", 1);
  EXPECT_EQ(HistoryFile::usual().path(), "");
  ::setenv("NOISEFLOOR_HISTORY", "/x/y", 1);
  EXPECT_EQ(HistoryFile::usual().path(), "/x/y");
  ::unsetenv("NOISEFLOOR_HISTORY");
}

}  // namespace
}  // namespace noisefloor
