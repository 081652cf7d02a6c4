#include "noisefloor/dataset/column.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>
#include <map>

#include "tests/support/ledger_pieces.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::value_of;

class ColumnTest : public ::testing::Test {
 protected:
  void SetUp() override {
    CsvTable table;
    table.schema.features = {NumericColumn{.name = "age", .lower = 0, .upper = 100}};
    table.schema.outcome = LabelColumn{"sick", {"0", "1"}};
    rows_ = DescribedRows{{.name = "patients",
                           .format = table,
                           .files = TextFile{"patients.csv"},
                           .budget = DatasetBudget{"patients", Epsilon::of(1), Delta::of(0)}},
                          folder_.path("")};
  }
  void write(const std::string& text) { std::ofstream(folder_.path("patients.csv")) << text; }
  [[nodiscard]] Result<std::vector<double>> read() {
    NF_TRY(const NumericColumn column, find_column(rows_->description, "age"));
    return read_column(*rows_, column, random_);
  }

  testing::TemporaryFolder folder_;
  std::optional<DescribedRows> rows_;
  SecureRandom random_ = value_of(SecureRandom::create());
};

TEST_F(ColumnTest, GivesEveryRowWhereRowsAreProtected) {
  write("id,age,sick\na,1,0\na,2,0\na,3,1\n");
  EXPECT_EQ(value_of(read()), (std::vector<double>{1, 2, 3}));
}

// One person with 1,000 rows gives as many numbers as the description allows, and the others keep theirs.
TEST_F(ColumnTest, APersonGivesNoMoreNumbersThanAllowed) {
  rows_->description.unit = {PrivacyUnit::kPerson, "id", 3};
  std::string text = "id,age,sick\nb,7,0\n";
  for (int i = 0; i < 1000; ++i) text += fmt::format("a,{},0\n", 50 + i % 50);
  write(text + "c,8,0\nc,9,0\n");
  const std::vector<double> numbers = value_of(read());
  ASSERT_EQ(numbers.size(), 6U);
  EXPECT_EQ(std::count_if(numbers.begin(), numbers.end(), [](double x) { return x >= 50; }), 3);
  for (const double own : {7.0, 8.0, 9.0}) EXPECT_EQ(std::count(numbers.begin(), numbers.end(), own), 1) << own;
}

// Each of a person's rows is chosen equally often: a rule that keeps the first ones, or the last, fails by far. With
// 20,000 draws of 2 out of 5 the count of a row has the standard deviation 69; the limit is six of them.
TEST_F(ColumnTest, ChoosesAmongAPersonsRowsUniformly) {
  rows_->description.unit = {PrivacyUnit::kPerson, "id", 2};
  std::string text = "id,age,sick\n";
  for (int person = 0; person < 20'000; ++person) {
    for (int row = 0; row < 5; ++row) text += fmt::format("p{},{},0\n", person, row);
  }
  write(text);
  std::map<double, int> chosen;
  for (const double number : value_of(read())) ++chosen[number];
  ASSERT_EQ(chosen.size(), 5U);
  for (const auto& [row, count] : chosen) EXPECT_NEAR(count, 8'000, 6 * 69) << row;
}

TEST_F(ColumnTest, RefusesDataThatAreNoTableAndRowsOfNobody) {
  DatasetDescription text = rows_->description;
  text.format = TextFormat{8, {}, {}};
  expect_error(find_column(text, "age"), ErrorCode::kInvalidArgument, "no CSV table");
  rows_->description.unit = {PrivacyUnit::kPerson, "id", 2};
  write("id,age,sick\n,7,0\n");
  expect_error(read(), ErrorCode::kInputData, "whose it is");
}

}  // namespace
}  // namespace noisefloor
