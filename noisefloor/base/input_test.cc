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
  [[nodiscard]] std::vector<double> numbers(const std::string& text, std::optional<double> for_none) const {
    return read_numbers(file(text), for_none).value();
  }

  testing::TemporaryFolder folder_;
};

TEST_F(InputTest, ReadsOneNumberALine) {
  EXPECT_EQ(numbers("1\n 2.5 \r\n-3e2\n\n\n", {}), (std::vector<double>{1, 2.5, -300}));
  EXPECT_EQ(numbers("", {}), std::vector<double>{});
  EXPECT_EQ(read_text(file("a\nb")).value(), "a\nb");
}

// An error would tell which line it is, exactly and for free.
TEST_F(InputTest, MapsLinesThatAreNoNumbersAndHasNoErrorsAboutThem) {
  for (const std::string& line :
       {std::string("987x"), std::string(), std::string("nan"), std::string("inf"), std::string("1 2"),
        std::string("1e999"), std::string(5000, '9'), std::string("\xff"), std::string("a\0b", 3)}) {
    EXPECT_EQ(numbers("1\n" + line + "\n2\n", {}), (std::vector<double>{1, 2})) << line;
    EXPECT_EQ(numbers("1\n" + line + "\n2\n", 7), (std::vector<double>{1, 7, 2})) << line;
    EXPECT_EQ(numbers("1\n" + line + "\n", 7), (std::vector<double>{1, 7})) << "also at the end: " << line;
  }
}

TEST_F(InputTest, RefusesWhatIsNoFile) {
  EXPECT_EQ(read_text(folder_.path("nothing")).error().code, ErrorCode::kInputData);
  EXPECT_NE(read_numbers(folder_.path(""), {}).error().message.find("directory"), std::string::npos);
}

}  // namespace
}  // namespace noisefloor
