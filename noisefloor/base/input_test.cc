#include "noisefloor/base/input.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

class InputTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string file(const std::string& text) const {
    std::ofstream(folder_.path("numbers.txt")) << text;
    return folder_.path("numbers.txt");
  }
  void expect_refusal(const std::string& text, const std::string& named) const {
    const auto read = read_numbers(file(text));
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kInputData);
    EXPECT_NE(read.error().message.find(named), std::string::npos) << read.error().message;
    EXPECT_EQ(read.error().message.find("987"), std::string::npos) << read.error().message;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(InputTest, ReadsOneNumberALine) {
  EXPECT_EQ(read_numbers(file("1\n 2.5 \r\n-3e2\n\n\n")).value(), (std::vector<double>{1, 2.5, -300}));
  EXPECT_EQ(read_numbers(file("")).value(), std::vector<double>{});
  EXPECT_EQ(read_text(file("a\nb")).value(), "a\nb");
}

TEST_F(InputTest, NamesTheLineAndNotWhatStandsThere) {
  expect_refusal("1\n987x\n", "line 2 of");
  expect_refusal("1\n\n987\n", "line 2 of");
  expect_refusal("nan\n", "line 1 of");
  expect_refusal(std::string(5000, '9') + "\n", "line 1 of");
}

TEST_F(InputTest, RefusesWhatIsNoFile) {
  EXPECT_EQ(read_text(folder_.path("nothing")).error().code, ErrorCode::kInputData);
  EXPECT_NE(read_numbers(folder_.path("")).error().message.find("directory"), std::string::npos);
}

}  // namespace
}  // namespace noisefloor
