#include "noisefloor/base/file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

TEST(File, IsReadBackWholeAndLeavesNoOtherFile) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path("a");
  const std::string large(300'000, 'x');
  for (const std::string& content : {std::string("one"), std::string(), large}) {
    ASSERT_TRUE(write_file(path, content).has_value());
    EXPECT_EQ(read_file(path, large.size()).value(), content);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path("")), {}), 1);
}

TEST(File, ErrorsNameTheFile) {
  const testing::TemporaryFolder folder;
  const Result<void> written = write_file(folder.path("no/such/folder"), "x");
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ErrorCode::kIo);
  EXPECT_NE(written.error().message.find("folder"), std::string::npos);
  EXPECT_EQ(read_file(folder.path("none"), 10).error().code, ErrorCode::kIo);
  ASSERT_TRUE(write_file(folder.path("long"), "12345").has_value());
  EXPECT_EQ(read_file(folder.path("long"), 4).error().code, ErrorCode::kIo);
}

TEST(File, MakesAFolderThatIsEmpty) {
  const testing::TemporaryFolder folder;
  const std::string usual = folder.path("demo");
  EXPECT_EQ(make_empty_folder("", usual).value(), usual);
  EXPECT_EQ(make_empty_folder("", usual).value(), usual + "-2") << "nobody asked for the one that is there";
  const std::string wanted = folder.path("a/b");
  EXPECT_EQ(make_empty_folder(wanted, usual).value(), wanted);
  EXPECT_EQ(make_empty_folder(wanted, usual).value(), wanted) << "it is empty";
  ASSERT_TRUE(write_file(wanted + "/x", "x").has_value());
  const Result<std::string> refused = make_empty_folder(wanted, usual);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("is not empty"), std::string::npos);
  EXPECT_EQ(make_empty_folder(wanted + "/x/y", usual).error().code, ErrorCode::kIo) << "a file is in the way";
}

}  // namespace
}  // namespace noisefloor
