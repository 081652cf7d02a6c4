#include "noisefloor/base/command_walk.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

class CommandWalkTest : public ::testing::Test {
 protected:
  CommandWalk walk(const std::string& for_json) {
    return {{"/bin/sh", "sh", folder_.path(""), for_json}, [this](const std::string& text) { shown_ += text; }};
  }

  testing::TemporaryFolder folder_;
  std::string shown_;
};

TEST_F(CommandWalkTest, ShowsEachCommandBeforeWhatItPrints) {
  CommandWalk walk = this->walk("");
  walk.say("Two lines.");
  ASSERT_TRUE(walk.run({"-c", "echo one; echo two; exit 3"}, 3).has_value());
  ASSERT_TRUE(walk.glance_at({"-c", "echo one; echo two"}).has_value());
  EXPECT_EQ(shown_,
            "\n1. Two lines.\n$ sh -c echo one; echo two; exit 3\none\ntwo\n$ sh -c echo one; echo two | head "
            "-1\none\n");
  ASSERT_EQ(walk.ran().size(), 2U);
  EXPECT_EQ(walk.ran()[0].exit_code, 3);
  EXPECT_FALSE(walk.ran()[0].result.has_value());
  EXPECT_FALSE(std::filesystem::exists(folder_.path("output.txt"))) << "nothing is left in the folder";
}

TEST_F(CommandWalkTest, EndsWhenACommandEndsOtherwiseThanIsDue) {
  CommandWalk walk = this->walk("");
  const Result<void> failed = walk.run({"-c", "exit 4"});
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, ErrorCode::kInternal);
  EXPECT_NE(failed.error().message.find("`sh -c exit 4` ended with exit code 4, not with 0"), std::string::npos);
  EXPECT_TRUE(walk.ran().empty());
}

TEST_F(CommandWalkTest, KeepsJsonInsteadOfShowingIt) {
  CommandWalk walk = this->walk("--json");
  ASSERT_TRUE(walk.run({"-c", "echo {} $0"}).has_value());
  EXPECT_EQ(walk.ran().at(0).result, "{} --json\n");
  EXPECT_EQ(shown_, "$ sh -c echo {} $0\n");
}

}  // namespace
}  // namespace noisefloor
