#include "noisefloor/training/public_count.h"

#include <gtest/gtest.h>

#include "noisefloor/table/split.h"
#include "noisefloor/training/session.h"
#include "tests/support/toy_job.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::value_of;

class PublicCountTest : public testing::ToyJob {
 protected:
  [[nodiscard]] static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  }
  [[nodiscard]] Result<PublicCount> count() const {
    const TrainingFile read = file();
    return public_count_of(read.training, value_of(read_examples(read, 1)).train);
  }
  void write_table(int rows) const {
    std::string table = testing::toy_table();
    std::size_t end = 0;
    for (int line = 0; line <= rows; ++line) end = table.find('\n', end) + 1;
    write("data.csv", table.substr(0, end));
  }
};

// What is stated is the number, whatever the file holds.
TEST_F(PublicCountTest, IsWhatTheOwnerStates) {
  for (const int rows : {2000, 1999, 1500, 1}) {
    write_table(rows);
    const PublicCount found = value_of(count());
    EXPECT_EQ(found.basis, CountBasis::kStated);
    EXPECT_EQ(found.units.value(), value_of(count_for_training(2000, 0, 0.2, 0))) << rows;
    EXPECT_EQ(in_words(found, PrivacyUnit::kRow),
              "the number of rows to learn from, " + std::to_string(found.units.value()) + ", is taken as public");
  }
  // Where the statement is true, so is the number: models of these seeds stay what they were.
  write_table(2000);
  EXPECT_EQ(value_of(count()).units.value(), value_of(read_examples(file(), 1)).train.rows);
}

TEST_F(PublicCountTest, FollowsFromASamplingRate) {
  const std::string plain = replaced(testing::toy_toml(), "rows = 2000\n", "");
  write("toy.toml", plain + "sample_rate = 0.1\n");
  const PublicCount found = value_of(count());
  EXPECT_EQ(found.basis, CountBasis::kByRate);
  EXPECT_EQ(found.units.value(), 2000U) << "a batch of 200 by a rate of 0.1";
  // Never a higher rate than the stated one.
  write("toy.toml", plain + "sample_rate = 0.3\n");
  EXPECT_EQ(value_of(count()).units.value(), 667U);
}

TEST_F(PublicCountTest, IsRefusedWhereItWouldBePrivate) {
  const std::string plain = replaced(testing::toy_toml(), "rows = 2000\n", "");
  write("toy.toml", plain);
  const Error error = count().error();
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  for (const char* part : {"add rows = … to [data]", "sample_rate", "a rounded one is fine"}) {
    EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
  }
  // Not even without noise: what a comparison prints would tell it.
  write("toy.toml", plain + "noise = \"none\"\n");
  expect_error(count(), ErrorCode::kInvalidArgument, "rows = …");
}

// Under replace-one all neighbours have the same number.
TEST_F(PublicCountTest, IsTheNumberItselfUnderReplaceOne) {
  const std::string text =
      replaced(testing::toy_toml(), "delta = 1e-5\n", "delta = 1e-5\nadjacency = \"replace-one\"\n");
  const std::string plain = replaced(text, "rows = 2000\n", "");
  write_table(1500);
  write("toy.toml", plain);
  const PublicCount found = value_of(count());
  EXPECT_EQ(found.basis, CountBasis::kReplaceOne);
  EXPECT_EQ(found.units.value(), value_of(read_examples(file(), 1)).train.rows);
  // Batches of a fixed size are drawn from exactly as many as the event says.
  write("toy.toml", replaced(text, "[model]", "[model]\n") + "sampler = \"fixed-size\"\n");
  const TrainingFile read = file();
  const TrainingExamples examples = value_of(read_examples(read, 1));
  expect_error(sampler_of(read.training, value_of(count()), examples.train), ErrorCode::kInvalidArgument, "fixed size");
  write("toy.toml", plain + "sampler = \"fixed-size\"\n");
  const TrainingFile exact = file();
  EXPECT_TRUE(sampler_of(exact.training, value_of(count()), examples.train).has_value());
}

TEST_F(PublicCountTest, OfPeopleIsOfPeople) {
  std::string table = "x,y,kind,who\n";
  for (int i = 0; i < 400; ++i) table += "0.1,0.2,yes,P" + std::to_string(i % 100) + "\n";
  write("data.csv", table);
  const std::string rows =
      replaced(testing::toy_toml(), "label = ", "unit = \"person\"\nperson = \"who\"\nrows_per_person = 2\nlabel = ");
  write("toy.toml", rows);
  expect_error(count(), ErrorCode::kInvalidArgument, "add people = … to [data]");
  write("toy.toml", replaced(rows, "rows = 2000", "people = 90"));
  const PublicCount found = value_of(count());
  EXPECT_EQ(found.units.value(), value_of(count_for_training(90, 0, 0.2, 0)));
  EXPECT_NE(in_words(found, PrivacyUnit::kPerson).find("the number of people"), std::string::npos);
  // Exchanging a person can move that person to the part for tests: their number is not public there.
  const std::string exchange =
      replaced(replaced(rows, "rows = 2000\n", ""), "delta = 1e-5\n", "delta = 1e-5\nadjacency = \"replace-one\"\n");
  write("toy.toml", exchange);
  expect_error(count(), ErrorCode::kInvalidArgument, "people = …");
  write("toy.toml", replaced(exchange, "test_fraction = 0.2\n", "people = 90\ntest_fraction = 0.2\n") +
                        "sampler = \"fixed-size\"\n");
  expect_error(count(), ErrorCode::kInvalidArgument, "can move that person");
  write("toy.toml", replaced(exchange, "test_fraction = 0.2\n", ""));
  EXPECT_EQ(value_of(count()).units.value(), 100U);
}

// A session draws from what is there by the public number, and its statement does not change with a row.
TEST_F(PublicCountTest, LeavesTheStatementTheSameForNeighbours) {
  std::vector<std::string> descriptions;
  for (const int rows : {2000, 1999, 700}) {
    write_table(rows);
    const TrainingFile read = file();
    const TrainingExamples examples = value_of(read_examples(read, 1));
    const TrainingSession session = value_of(begin_session(read, examples, {}));
    EXPECT_EQ(session.sampler.population(), examples.train.rows);
    EXPECT_EQ(session.sampler.rows().value(), value_of(count_for_training(2000, 0, 0.2, 0)));
    descriptions.push_back(std::to_string(session.steps.value()) + " " +
                           std::to_string(session.sampler.rate().value()) + data_declaration(session));
  }
  EXPECT_EQ(descriptions[0], descriptions[1]);
  EXPECT_EQ(descriptions[0], descriptions[2]);
}

}  // namespace
}  // namespace noisefloor
