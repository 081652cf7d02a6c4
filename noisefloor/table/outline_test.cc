#include "noisefloor/table/outline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

class Outline : public ::testing::Test {
 protected:
  std::string write(const std::string& text) {
    const std::string path = folder_.path("table.csv");
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

 private:
  testing::TemporaryFolder folder_;
};

TEST_F(Outline, TakesNamesAndTypesFromTheFile) {
  const auto outline = outline_csv(write("age,weight,ward,note\n41,70.5,heart,\n52,81,lung,\n"));
  ASSERT_TRUE(outline.has_value()) << outline.error().message;
  ASSERT_EQ(outline.value().columns.size(), 4U);
  EXPECT_EQ(outline.value().columns[0].name, "age");
  EXPECT_EQ(outline.value().columns[0].type, ColumnType::kWhole);
  EXPECT_EQ(outline.value().columns[1].type, ColumnType::kNumber);
  EXPECT_EQ(outline.value().columns[2].type, ColumnType::kText);
  EXPECT_EQ(outline.value().columns[3].type, ColumnType::kEmpty);
}

TEST_F(Outline, HasAColumnOfTextsIfOneCellIsNotANumber) {
  const auto outline = outline_csv(write("a,b\n1,1\n2,x\n3,3\n"));
  ASSERT_TRUE(outline.has_value());
  EXPECT_EQ(outline.value().columns[0].type, ColumnType::kWhole);
  EXPECT_EQ(outline.value().columns[1].type, ColumnType::kText);
}

TEST_F(Outline, IgnoresMarksOfMissingValuesForTypes) {
  const auto outline = outline_csv(write("a,b\n?,NA\n2,\n"));
  ASSERT_TRUE(outline.has_value());
  EXPECT_EQ(outline.value().columns[0].type, ColumnType::kWhole);
  EXPECT_EQ(outline.value().columns[1].type, ColumnType::kEmpty);
}

TEST_F(Outline, FindsTheSeparatorInTheFirstLine) {
  for (const char separator : {',', ';', '\t', '|'}) {
    const auto outline = outline_csv(write(fmt::format("a{0}\"b,;c\"{0}d\n1{0}2{0}3\n", separator)));
    ASSERT_TRUE(outline.has_value()) << outline.error().message;
    EXPECT_EQ(outline.value().format.separator, separator);
    EXPECT_EQ(outline.value().columns.size(), 3U);
  }
}

TEST_F(Outline, RefusesAFirstLineThatIsARecordWithoutShowingIt) {
  const auto outline = outline_csv(write("41,70.5\n52,81\n"));
  ASSERT_FALSE(outline.has_value());
  EXPECT_EQ(outline.error().code, ErrorCode::kInputData);
  EXPECT_NE(outline.error().message.find("names no columns"), std::string::npos);
  EXPECT_EQ(outline.error().message.find("70.5"), std::string::npos);
}

// Two files that differ in every value but not in their types have the same outline.
TEST_F(Outline, HoldsNothingOfTheValuesAndNotTheNumberOfRows) {
  const auto first = outline_csv(write("a,b\n1,x\n"));
  const auto second = outline_csv(write("a,b\n1000000,secret\n-7,other\n8,third\n"));
  ASSERT_TRUE(first.has_value() && second.has_value());
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(first.value().columns[i].name, second.value().columns[i].name);
    EXPECT_EQ(first.value().columns[i].type, second.value().columns[i].type);
  }
}

TEST_F(Outline, TakesBoundsAndValuesFromPublicFiles) {
  const std::string path = write("age;ward\n41;lung\n52;heart\n?;heart\n");
  const auto outline = outline_csv(path);
  ASSERT_TRUE(outline.has_value());
  const auto columns = survey_public_csv(path, outline.value());
  ASSERT_TRUE(columns.has_value()) << columns.error().message;
  EXPECT_EQ(columns.value()[0].lower, 41);
  EXPECT_EQ(columns.value()[0].upper, 52);
  EXPECT_EQ(columns.value()[1].values, (std::vector<std::string>{"heart", "lung"}));
}

TEST_F(Outline, LeavesOutTooManyPublicValues) {
  std::string text = "id\n";
  for (std::size_t i = 0; i <= kMaxPublicValues; ++i) text += fmt::format("p{}\n", i);
  const std::string path = write(text);
  const auto outline = outline_csv(path);
  ASSERT_TRUE(outline.has_value());
  const auto columns = survey_public_csv(path, outline.value());
  ASSERT_TRUE(columns.has_value());
  EXPECT_TRUE(columns.value()[0].values.empty());
}

}  // namespace
}  // namespace noisefloor
