#include "noisefloor/table/fit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "noisefloor/base/file.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using Warnings = std::vector<std::string>;

Schema people() {
  return {.features = {NumericColumn{.name = "age", .lower = 0, .upper = 1, .missing = 0},
                       CategoricalColumn{.name = "work", .values = {"privte", "state"}}},
          .outcome = LabelColumn{.name = "income", .classes = {"low", "high"}}};
}

class FitTest : public ::testing::Test {
 protected:
  Result<Fit> fit(const std::string& text, const Schema& schema,
                  std::optional<std::vector<std::uint64_t>> rows = std::nullopt) {
    const std::string path = folder_.path("t.csv");
    EXPECT_TRUE(write_file(path, text).has_value());
    return fit_of({.path = path, .rows = std::move(rows)}, schema);
  }
  Warnings warnings(const std::string& text, const Schema& schema) { return warnings_of(fit(text, schema).value()); }

  testing::TemporaryFolder folder_;
};

// 20 rows: 19 ages above the bound of 1, one missing; half of the texts are not listed.
std::string misfit() {
  std::string text = "age,work,income\n,state,low\n";
  for (int i = 1; i < 20; ++i) text += fmt::format("{},{},high\n", 20 + i, i % 2 == 0 ? "private" : "state");
  return text;
}

TEST_F(FitTest, WarnsOfBoundsInOtherUnitsAndOfMisspeltValues) {
  EXPECT_EQ(
      warnings(misfit(), people()),
      (Warnings{"column 'age': 95 % of the public test rows lie above upper = 1, and are clamped; is the bound in "
                "other units?",
                "column 'work': no public test row holds 'privte', which values lists, and 45 % hold 'private', "
                "which it does not; is it misspelt?"}));
}

TEST_F(FitTest, IsSilentWhereTheSchemaFits) {
  Schema schema = people();
  std::get<NumericColumn>(schema.features[0]).upper = 25;  // clamps three quarters, which may be meant
  std::get<CategoricalColumn>(schema.features[1]).values = {"private", "state", "never-worked"};
  EXPECT_EQ(warnings(misfit(), schema), Warnings{});
  EXPECT_EQ(warnings("age,work,income\n", people()), Warnings{}) << "no rows";
}

TEST_F(FitTest, WarnsOfTargetsAndOfBothBounds) {
  const Schema schema{.features = {NumericColumn{.name = "size", .lower = 0, .upper = 1}},
                      .outcome = TargetColumn{.name = "price", .lower = 0, .upper = 1}};
  EXPECT_EQ(
      warnings("size,price\n0.5,-3\n0.5,-4\n", schema),
      (Warnings{"column 'price': 100 % of the public test rows lie below lower = 0, and are clamped; is the bound in "
                "other units?"}));
  EXPECT_EQ(
      warnings("size,price\n7,1\n-7,0\n", schema),
      (Warnings{"column 'size': 100 % of the public test rows lie beyond its bounds, lower = 0 and upper = 1, and are "
                "clamped; is the bound in other units?"}));
}

TEST_F(FitTest, WarnsWhereHardlyAnyTextIsListed) {
  EXPECT_EQ(
      warnings("age,work,income\n0,cook,low\n1,cook,low\n1,smith,low\n", people()),
      (Warnings{"column 'work': 100 % of the public test rows hold texts that values does not list, such as 'cook'; "
                "are the values those of another column, or do the cells need trim = true under [data]?"}));
}

// Rows that are not named as public leave no trace, whatever they hold.
TEST_F(FitTest, LooksAtPublicRowsAlone) {
  const std::string a = "age,work,income\n0.5,state,low\n987,secret,low\n0.7,privte,high\n";
  const std::string b = "age,work,income\n0.5,state,low\n-1,privat,high\n0.7,privte,high\n";
  for (const std::string& text : {a, b}) {
    const Fit found = fit(text, people(), std::vector<std::uint64_t>{0, 2}).value();
    EXPECT_EQ(found.rows, 2U);
    EXPECT_EQ(found.numeric.at(0).above + found.numeric.at(0).below, 0U);
    EXPECT_TRUE(found.categorical.at(0).unlisted_in.empty());
    EXPECT_TRUE(found.categorical.at(0).absent.empty());
  }
}

// Where a part of a file is public, the others may be odd, and no error says where.
TEST_F(FitTest, PassesOverOddRowsOfAPartlyPrivateFile) {
  for (const char* odd : {"987\n", "\"987\n", "0,\"x\"y,low\n", "\n", "0,state,low,low\n"}) {
    const std::string text = std::string("age,work,income\n0.5,state,low\n") + odd + "0.7,state,high\n";
    for (const std::uint64_t other : {1U, 2U}) {
      const Result<Fit> found = fit(text, people(), std::vector<std::uint64_t>{0, other});
      ASSERT_TRUE(found.has_value()) << odd;
      EXPECT_EQ(found.value().rows, other) << odd;
    }
    const Result<Fit> all = fit(text, people());
    ASSERT_FALSE(all.has_value()) << "a public file has errors with lines";
    EXPECT_NE(all.error().message.find(":3: "), std::string::npos) << all.error().message;
  }
}

TEST_F(FitTest, CountsButDoesNotKeepEveryText) {
  std::string text = "age,work,income\n";
  for (int i = 0; i < 1500; ++i) text += fmt::format("0,text-{},low\n", i);
  const Fit found = fit(text, people()).value();
  EXPECT_EQ(found.categorical.at(0).unlisted, 1500U);
  EXPECT_EQ(found.categorical.at(0).unlisted_in.size(), CategoricalFit::kMostTexts);
}

TEST_F(FitTest, RefusesOtherTables) {
  EXPECT_EQ(fit("age,income\n", people()).error().code, ErrorCode::kInputData);
  EXPECT_EQ(fit_of({.path = "/no/such/file"}, people()).error().code, ErrorCode::kIo);
  EXPECT_TRUE(fit("age,work\n1,state\n", people()).has_value()) << "the label may lack";
}

}  // namespace
}  // namespace noisefloor
