#include "noisefloor/table/header_check.h"

#include <gtest/gtest.h>

#include <string>

namespace noisefloor::internal {
namespace {

Schema people() {
  return {.features = {NumericColumn{.name = "age", .lower = 0, .upper = 100},
                       NumericColumn{.name = "hours_per_week", .lower = 0, .upper = 99},
                       CategoricalColumn{.name = "work", .values = {"none", "full"}}},
          .outcome = LabelColumn{.name = "income", .classes = {"low", "high"}}};
}

std::string refusal(const std::string& text, const Schema& schema = people(), const CsvFormat& format = {}) {
  const CsvReader reader = CsvReader::open(ByteSource::of("t.csv", text).value(), format).value();
  const Result<void> checked = check_header(reader, schema);
  if (checked.has_value()) return "";
  EXPECT_EQ(checked.error().code, ErrorCode::kInputData);
  EXPECT_EQ(checked.error().message.find("987"), std::string::npos) << checked.error().message;
  return checked.error().message;
}

TEST(HeaderCheck, TakesTheColumnsInAnyOrder) {
  EXPECT_EQ(refusal("income,note,age,work,hours_per_week\n"), "");
  Schema schema = people();
  schema.outcome_may_lack = true;
  EXPECT_EQ(refusal("age,work,hours_per_week\n", schema), "");
  schema.group = "who";
  EXPECT_EQ(refusal("age,work,hours_per_week\n", schema), "");
  EXPECT_NE(refusal("age,work,hours_per_week,income\n", schema), "");
}

TEST(HeaderCheck, NamesTheSeparatorThatTheFileHas) {
  EXPECT_EQ(
      refusal("age;hours_per_week;work;income\n"),
      "t.csv:1: the first line names no column 'age'; the file has another separator: set separator = \";\" under "
      "[data]");
  EXPECT_EQ(
      refusal("age\thours_per_week\twork\tincome\n"),
      "t.csv:1: the first line names no column 'age'; the file has another separator: set separator = \"\\t\" under "
      "[data]");
  EXPECT_EQ(
      refusal("age, hours_per_week, work, income\n", people(), {.separator = ';'}),
      "t.csv:1: the first line names no column 'age'; the file has another separator: set separator = \",\" under "
      "[data]");
  // The separator that yields the schema's columns wins.
  EXPECT_NE(refusal("age;a,b;income\n", people(), {.separator = '|'}).find("set separator = \";\""), std::string::npos);
}

TEST(HeaderCheck, SuspectsThatTheHeaderIsMissing) {
  EXPECT_EQ(refusal("987,40,full,low\n"),
            "t.csv:1: the first line names no column 'age'; and none of the other columns of the schema either; if "
            "the file has no header, add one as its first line, such as age,hours_per_week,work,income");
  EXPECT_EQ(
      refusal("987;40;full;low\n"),
      "t.csv:1: the first line names no column 'age'; it is a single cell; if the file has another separator, set "
      "separator = \";\" under [data]");
}

TEST(HeaderCheck, OffersTheNameThatWasMeant) {
  EXPECT_EQ(
      refusal("Age,hours_per_week,work,income\n"),
      "t.csv:1: the first line names no column 'age'; did you mean 'Age'? Column names must be the file's, letter by "
      "letter");
  // Every name may differ in case.
  EXPECT_NE(refusal("AGE,Hours-Per-Week,Work,Income\n").find("did you mean 'AGE'?"), std::string::npos);
  EXPECT_NE(refusal("age,hours_pre_week,work,income\n").find("did you mean 'hours_pre_week'?"), std::string::npos);
  EXPECT_EQ(refusal("age,hours_per_week,work,987\n"),
            "t.csv:1: the first line names no column 'income'; add it, or take it out of the schema");
}

// A record that stands where the header should be is not shown, even if a cell of it resembles a column.
TEST(HeaderCheck, ShowsNoCellOfAFileWithoutAHeader) {
  EXPECT_EQ(refusal("987,9870,works,987x\n").find("works"), std::string::npos);
  EXPECT_EQ(refusal("age,987,works,incomes\n").find("incomes"), std::string::npos)
      << "one column of four is not a header";
}

}  // namespace
}  // namespace noisefloor::internal
