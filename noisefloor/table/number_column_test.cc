#include "noisefloor/table/number_column.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

Schema people() {
  return {.features = {NumericColumn{.name = "age", .lower = 0, .upper = 100, .missing = 50},
                       CategoricalColumn{.name = "sex", .values = {"f", "m"}}},
          .outcome = TargetColumn{.name = "price", .lower = -5, .upper = 5},
          .missing = {"", "?"}};
}

constexpr double kNone = -987;  // stands for a record without a number

struct Read {
  std::vector<double> numbers;
  std::vector<std::string> people;
};

Result<Read> read(const std::string& text, const Schema& schema, const std::string& name) {
  NF_TRY(const NumericColumn column, find_numeric_column(schema, name));
  NF_TRY(ByteSource source, ByteSource::of("t.csv", text));
  Read made;
  NF_TRY_VOID(for_each_number(std::move(source), schema, {}, column,
                              [&](std::optional<double> value, std::string_view person) -> Result<void> {
                                made.numbers.push_back(value.value_or(kNone));
                                made.people.emplace_back(person);
                                return success();
                              }));
  return made;
}

TEST(NumberColumn, GivesNumbersAsTheyStandAndTheConstantForMissingOnes) {
  const Read made = read("price,id,sex,age\n1.5,a,f,40\n9,b,m,?\n-7,a,f,1e3\n", people(), "age").value();
  EXPECT_EQ(made.numbers, (std::vector<double>{40, 50, 1000})) << "clamping is for the mechanism";
  EXPECT_EQ(made.people, (std::vector<std::string>{"", "", ""}));
  EXPECT_EQ(read("price,sex,age\n1.5,f,40\n9,m,1\n", people(), "price").value().numbers, (std::vector<double>{1.5, 9}));
}

TEST(NumberColumn, NamesThePersonOfEachRecord) {
  Schema schema = people();
  schema.person = PersonColumn{"id", 2};
  EXPECT_EQ(read("price,id,sex,age\n1,a,f,40\n2,b,m,41\n3,a,f,42\n", schema, "age").value().people,
            (std::vector<std::string>{"a", "b", "a"}));
  // Records that are nobody's are passed over: an id that is missing, and a record without cells.
  const Read some = read("price,id,sex,age\n1,?,f,40\n1,,f,40\n7\n\n1,b,m,x\n", schema, "age").value();
  EXPECT_EQ(some.people, (std::vector<std::string>{"b"}));
}

// An error about a record would tell which one it is, exactly and for free.
TEST(NumberColumn, HasNoErrorsAboutRecords) {
  const auto numbers = [](const std::string& text, const std::string& column) {
    return read("price,sex,age\n1,f,7\n" + text + "2,m,8\n", people(), column).value().numbers;
  };
  for (const char* cell : {"x987", "nan", "inf", " 7", "0x7", "", "?"}) {
    EXPECT_EQ(numbers(std::string("1,f,") + cell + "\n", "age"), (std::vector<double>{7, 50, 8})) << cell;
    EXPECT_EQ(numbers(std::string(cell) + ",f,3\n", "price"), (std::vector<double>{1, kNone, 2})) << cell;
  }
  for (const char* line : {"\n", "1,f\n", "1,f,3,4\n", "1,\"f\"x,3\n", "1,f\"\",3\n", "1,\"f,3\n", "1,\r,3\n"}) {
    EXPECT_EQ(numbers(line, "age"), (std::vector<double>{7, 50, 8})) << line;
    EXPECT_EQ(numbers(line, "price"), (std::vector<double>{1, kNone, 2})) << line;
  }
  EXPECT_TRUE(read("price,sex,age\n", people(), "age").value().numbers.empty());
}

TEST(NumberColumn, RefusesATableWithoutTheColumn) {
  const auto made = read("price,sex\n1,f\n", people(), "age");
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().message.find("t.csv:1: the first line names no column 'age'"), std::string::npos)
      << made.error().message;
}

TEST(NumberColumn, SuggestsTheColumnThatWasMeant) {
  expect_invalid(find_numeric_column(people(), "Age").error(), "did you mean 'age'");
  expect_invalid(find_numeric_column(people(), "sex").error(), "age, price");
}

}  // namespace
}  // namespace noisefloor
