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

// What has no number is mapped by a public rule, which keeps the bounds of both relations: nothing where rows come and
// go, and a number within the bounds where one is exchanged for another.
TEST_F(ColumnTest, MapsRecordsWithoutANumberByThePublicRule) {
  auto& columns = std::get<CsvTable>(rows_->description.format).schema.features;
  for (const char* odd : {"a,,0", "a,x,0", "a,nan,0", "a", "a,1,0,0", "a,\"1\"2,0", "a,\"1,0", ""}) {
    columns[0] = NumericColumn{.name = "age", .lower = 20, .upper = 100};
    const std::string text = fmt::format("id,age,sick\nb,30,0\n{}\nc,99,0\n", odd);
    write(text);
    rows_->description.budget->adjacency = Adjacency::kAddRemove;
    EXPECT_EQ(value_of(read()), (std::vector<double>{30, 99})) << odd;
    rows_->description.budget->adjacency = Adjacency::kReplaceOne;
    EXPECT_EQ(value_of(read()), (std::vector<double>{30, 20, 99})) << odd;
    columns[0] = NumericColumn{.name = "age", .lower = 20, .upper = 100, .missing = 50};
    for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
      rows_->description.budget->adjacency = adjacency;
      EXPECT_EQ(value_of(read()), (std::vector<double>{30, 50, 99})) << odd;
    }
  }
}

// Neighbours by persons, exhaustively on small tables: whatever records a person has, that person adds at most
// rows_per_person numbers, or exactly one where rows_per_person is 1 under replace-one; the others keep theirs.
TEST_F(ColumnTest, APersonWithAnyRecordsMovesNothingElse) {
  const std::vector<std::string> kinds{"a,5,0", "a,,0", "a,x,0", ",5,0", "a"};
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    rows_->description.budget->adjacency = adjacency;
    const std::uint64_t most = adjacency == Adjacency::kReplaceOne ? 1 : 2;
    rows_->description.unit = {PrivacyUnit::kPerson, "id", most};
    for (std::size_t code = 0; code < 125; ++code) {
      std::string text = "id,age,sick\nb,30,0\n";
      bool is_there = false;
      for (std::size_t i = 0, left = code; i < 3; ++i, left /= 5) {
        text += kinds[left % 5] + "\n";
        is_there = is_there || left % 5 < 3;
      }
      write(text + "c,31,0\n");
      const std::vector<double> numbers = value_of(read());
      EXPECT_EQ(std::count(numbers.begin(), numbers.end(), 30.0), 1) << text;
      EXPECT_EQ(std::count(numbers.begin(), numbers.end(), 31.0), 1) << text;
      if (adjacency == Adjacency::kReplaceOne) {
        EXPECT_EQ(numbers.size(), is_there ? 3U : 2U) << text;
      } else {
        EXPECT_LE(numbers.size(), 2 + most) << text;
      }
    }
  }
}

TEST_F(ColumnTest, RefusesDataThatAreNoTable) {
  DatasetDescription text = rows_->description;
  text.format = TextFormat{8, {}, {}};
  expect_error(find_column(text, "age"), ErrorCode::kInvalidArgument, "noisefloor query");
}

}  // namespace
}  // namespace noisefloor
