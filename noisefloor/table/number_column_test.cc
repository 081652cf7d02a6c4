#include "noisefloor/table/number_column.h"

#include <gtest/gtest.h>

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

struct Read {
  std::vector<double> numbers;
  std::vector<std::string> people;
};

Result<Read> read(const std::string& text, const Schema& schema, const std::string& name) {
  NF_TRY(const NumericColumn column, find_numeric_column(schema, name));
  NF_TRY(ByteSource source, ByteSource::of("t.csv", text));
  Read made;
  NF_TRY_VOID(for_each_number(std::move(source), schema, {}, column,
                              [&](double value, std::string_view person) -> Result<void> {
                                made.numbers.push_back(value);
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
  const auto nobody = read("price,id,sex,age\n1,?,f,40\n", schema, "age");
  ASSERT_FALSE(nobody.has_value());
  EXPECT_NE(nobody.error().message.find("t.csv:2: column 'id' must say in every record whose it is"), std::string::npos)
      << nobody.error().message;
}

TEST(NumberColumn, RefusesWhatHasNoNumberWithoutShowingIt) {
  for (const auto& [text, column, wanted] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"price,sex,age\n?,f,987\n", "price", "t.csv:2: column 'price' must hold a decimal number"},
           {"price,sex,age\n1,f,x987\n", "age", "t.csv:2: column 'age' must hold a decimal number"},
           {"price,sex\n1,f\n", "age", "t.csv:1: the first line names no column 'age'"},
           {"price,sex,age\n", "age", "the table holds no records"}}) {
    const auto made = read(text, people(), column);
    ASSERT_FALSE(made.has_value()) << text;
    EXPECT_EQ(made.error().code, ErrorCode::kInputData);
    EXPECT_NE(made.error().message.find(wanted), std::string::npos) << made.error().message;
    EXPECT_EQ(made.error().message.find("987"), std::string::npos) << made.error().message;
  }
}

TEST(NumberColumn, SuggestsTheColumnThatWasMeant) {
  expect_invalid(find_numeric_column(people(), "Age").error(), "did you mean 'age'");
  expect_invalid(find_numeric_column(people(), "sex").error(), "age, price");
}

}  // namespace
}  // namespace noisefloor
