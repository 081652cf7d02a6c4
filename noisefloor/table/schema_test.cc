#include "noisefloor/table/schema.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <cmath>

#include "noisefloor/base/file.h"
#include "tests/support/gzip.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

Schema people() {
  return {
      .features = {NumericColumn{.name = "age", .lower = 0, .upper = 100, .missing = 50},
                   CategoricalColumn{.name = "work", .values = {"none", "part", "full"}, .unlisted = Unlisted::kOther},
                   NumericColumn{.name = "hours", .lower = 0, .upper = 60, .scaling = Scaling::kNone},
                   CategoricalColumn{.name = "sex", .values = {"f", "m"}}},
      .outcome = LabelColumn{.name = "income", .classes = {"low", "high"}},
      .missing = {"", "?"}};
}

Schema prices() {
  return {.features = {NumericColumn{.name = "size", .lower = 0, .upper = 10, .scaling = Scaling::kUnit}},
          .outcome = TargetColumn{.name = "price", .lower = -5, .upper = 5}};
}

Result<Dataset> read(const std::string& text, const Schema& schema, const CsvFormat& format = {}) {
  NF_TRY(ByteSource source, ByteSource::of("t.csv", text));
  return read_csv(std::move(source), schema, format, OddRecords::are_errors());
}

void expect_refusal(const std::string& text, const Schema& schema, const std::string& message) {
  const Result<Dataset> data = read(text, schema);
  ASSERT_FALSE(data.has_value()) << text;
  EXPECT_EQ(data.error().code, ErrorCode::kInputData);
  EXPECT_EQ(data.error().message.find(message), 0U) << data.error().message << "\nlacks: " << message;
  EXPECT_EQ(data.error().message.find("987"), std::string::npos) << data.error().message;
}

TEST(Schema, NeedsNoOutcomeForPredictions) {
  Schema schema = people();
  const std::string text = "age,work,hours,sex\n10,none,0,f\n20,part,5,m\n";
  expect_refusal(text, schema, "t.csv:1: the first line names no column 'income'");
  schema.outcome_may_lack = true;
  EXPECT_EQ(read(text, schema).value().labels, (std::vector<std::int32_t>{0, 0}));
  // If the outcome is there, it counts.
  EXPECT_EQ(read("age,work,hours,sex,income\n10,none,0,f,high\n", schema).value().labels,
            (std::vector<std::int32_t>{1}));
  Schema numbers = prices();
  numbers.outcome_may_lack = true;
  EXPECT_EQ(read("size\n3\n", numbers).value().targets, (std::vector<float>{-5}));
}

TEST(Schema, NumbersGroupsInTheirOrder) {
  Schema schema = prices();
  schema.group = "who";
  const Dataset data = read("who,size,price\nzoe,1,1\nal,1,1\nzoe,2,2\n", schema).value();
  EXPECT_EQ(data.groups, (std::vector<std::uint32_t>{0, 1, 0}));
  EXPECT_TRUE(check_dataset(data).has_value());
  const std::vector<std::uint64_t> last{2, 1};
  EXPECT_EQ(data.take(last).value().groups, (std::vector<std::uint32_t>{0, 1}));
  expect_refusal("size,price\n1,1\n", schema, "t.csv:1: the first line names no column 'who'");
  Dataset short_one = data;
  short_one.groups.pop_back();
  EXPECT_FALSE(check_dataset(short_one).has_value());
}

TEST(Schema, ComparesPeopleAsExactTexts) {
  Schema schema = prices();
  schema.person = PersonColumn{"who", 3};
  const Dataset data = read("who,size,price\nzoe,1,1\n Zoe,1,1\nzoe,2,2\n007,2,2\n7,2,2\n", schema).value();
  EXPECT_EQ(data.people, (std::vector<std::uint32_t>{0, 1, 0, 2, 3}));
  EXPECT_EQ(data.rows_per_person, 3U);
  EXPECT_EQ(data.unit(), PrivacyUnit::kPerson);
  EXPECT_TRUE(check_dataset(data).has_value());
  expect_refusal("size,price\n1,1\n", schema, "t.csv:1: the first line names no column 'who'");
  // Predictions do not need to know whose the rows are.
  schema.outcome_may_lack = true;
  EXPECT_EQ(read("size\n1\n", schema).value().unit(), PrivacyUnit::kRow);
}

TEST(Schema, RefusesARecordWithoutAPerson) {
  Schema schema = prices();
  schema.person = PersonColumn{"who", 3};
  schema.missing = {"?"};
  for (const char* id : {"", "?"}) {
    const std::string text = fmt::format("who,size,price\n987654,1,1\n{},1,987\n", id);
    expect_refusal(text, schema, "t.csv:3: column 'who' must say in every record whose it is");
    EXPECT_NE(read(text, schema).error().message.find("person in [data]"), std::string::npos);
  }
}

TEST(Schema, RefusesToLearnFromAPersonsColumn) {
  Schema schema = prices();
  schema.person = PersonColumn{"size", 3};
  expect_invalid(check_schema(schema).error(), "'size' says whose record it is");
  schema.person = PersonColumn{"price", 3};
  expect_invalid(check_schema(schema).error(), "'price' says whose record it is");
  schema.person = PersonColumn{"who", 0};
  expect_invalid(check_schema(schema).error(), "at least 1 row");
}

TEST(Schema, EncodesARecord) {
  EXPECT_EQ(people().dimension(), 1U + 4 + 1 + 2);
  // The columns have another order than the schema's, and one is not in the schema.
  const Dataset data = read(
                           "income,sex,note,age,hours,work\n"
                           "high,m,x,100,40.5,part\n"
                           "low,f,,25,-0,none\n"
                           "low,?,\"a,\nb\",?,1e1,cook\n",
                           people())
                           .value();
  EXPECT_TRUE(check_dataset(data).has_value());
  EXPECT_EQ(data, (Dataset{.rows = 3,
                           .shape = {8},
                           .features = {1,    0, 1, 0, 0, 40.5, 0, 1,  //
                                        -0.5, 1, 0, 0, 0, 0,    1, 0,  //
                                        0,    0, 0, 0, 1, 10,   0, 0},
                           .labels = {1, 0, 0},
                           .classes = 2,
                           .targets = {}}));
}

TEST(Schema, ReadsTargetsAndClamps) {
  const Dataset data = read("price,size\n-1.5,2.5\n1e999,-1e999\n-99,99\n", prices()).value();
  EXPECT_TRUE(check_dataset(data).has_value());
  EXPECT_EQ(data.targets, (std::vector<float>{-1.5, 5, -5}));
  EXPECT_EQ(data.features, (std::vector<float>{0.25, 0, 1}));
  EXPECT_EQ(data.classes, 0);
}

TEST(Schema, RefusesBadTables) {
  const std::string header = "age,work,hours,sex,income\n";
  expect_refusal("", people(), "t.csv:1: the file is empty");
  expect_refusal(header, people(), "t.csv:2: the table holds no records");
  expect_refusal("age,987\n", people(), "t.csv:1: the first line names no column 'work'");
  expect_refusal("age,work,hours,sex,987\n", people(), "t.csv:1: the first line names no column 'income'");
  // The file has no header: its first record is not shown.
  expect_refusal("987,full,40,f,low\n1,full,40,f,low\n", people(), "t.csv:1: the first line names no column 'age'");
  for (const char* bad : {"9876x", "nan", "NaN", "inf", "-inf", "0x987", " 987", "987 ", "1,5"}) {
    expect_refusal(header + "1,full,40,f,low\n\"" + bad + "\",full,40,f,low\n", people(),
                   "t.csv:3: column 'age' must hold a decimal number, such as");
  }
  expect_refusal(header + "1,full,,f,low\n", people(),
                 "t.csv:2: column 'hours' must hold a decimal number, and this record has none; add missing = … to its "
                 "[[data.column]]");
  expect_refusal(header + "1,full,?,f,low\n", people(), "t.csv:2: column 'hours'");
  expect_refusal(header + "1,full,4,f,987\n", people(),
                 "t.csv:2: label column 'income' must hold one of the 2 classes");
  expect_refusal(header + "1,full,4,f,\n", people(), "t.csv:2: label column 'income'");
  expect_refusal(header + "1,full,4,f,Low\n", people(), "t.csv:2: label column 'income'");
  expect_refusal("price,size\n,1\n", prices(), "t.csv:2: target column 'price' must hold a decimal number");
  expect_refusal("price,size\nnan,1\n", prices(), "t.csv:2: target column 'price' must hold a decimal number");
}

TEST(Schema, RefusesSchemasWithoutMeaning) {
  const auto refusal = [](Schema schema, auto&& change) {
    change(schema);
    const Error error = check_schema(schema).error();
    EXPECT_EQ(read("", schema).error(), error);  // before the file is looked at
    EXPECT_EQ(read_csv("/no/such/file", schema).error(), error);
    return error;
  };
  EXPECT_TRUE(check_schema(people()).has_value());
  const auto age = [](Schema& s) -> NumericColumn& { return std::get<NumericColumn>(s.features[0]); };
  const auto work = [](Schema& s) -> CategoricalColumn& { return std::get<CategoricalColumn>(s.features[1]); };
  const auto income = [](Schema& s) -> LabelColumn& { return std::get<LabelColumn>(s.outcome); };
  expect_invalid(refusal(people(), [](Schema& s) { s.features.clear(); }), "at least one feature");
  expect_invalid(refusal(people(), [&](Schema& s) { age(s).upper = 0; }), "column 'age' needs finite bounds");
  expect_invalid(refusal(people(), [&](Schema& s) { age(s).lower = std::nan(""); }),
                 "column 'age' needs finite bounds");
  expect_invalid(refusal(people(), [&](Schema& s) { age(s).missing = 101; }), "column 'age': the constant");
  expect_invalid(refusal(people(), [&](Schema& s) { age(s).missing = std::nan(""); }), "column 'age': the constant");
  expect_invalid(refusal(people(), [&](Schema& s) { age(s).name = "work"; }), "column 'work' is in the schema twice");
  expect_invalid(refusal(people(), [&](Schema& s) { age(s).name = "income"; }),
                 "column 'income' is in the schema twice");
  expect_invalid(refusal(people(), [&](Schema& s) { work(s).values.clear(); }), "column 'work': values must list");
  expect_invalid(refusal(people(), [&](Schema& s) { work(s).values[0] = "full"; }), "lists 'full' twice");
  expect_invalid(refusal(people(), [&](Schema& s) { income(s).classes = {"x"}; }), "at least 2");
  expect_invalid(refusal(people(), [&](Schema& s) { income(s).classes = {"x", "x"}; }), "lists 'x' twice");
  expect_invalid(refusal(people(), [](Schema& s) { s.missing = {"?", "?"}; }), "lists '?' twice");
  expect_invalid(refusal(prices(), [](Schema& s) { std::get<TargetColumn>(s.outcome).upper = -5; }),
                 "target column 'price'");
  EXPECT_EQ(read_csv("/no/such/file", people()).error().code, ErrorCode::kIo);
}

// A changed record changes its own example and no other.
RC_GTEST_PROP(Schema, MakesAnExampleFromItsRecordAlone, (double first, double second)) {
  RC_PRE(std::isfinite(first) && std::isfinite(second));
  const auto table = [](double x) { return fmt::format("price,size\n1,2\n{},{}\n3,4\n", x, x); };
  const Dataset a = read(table(first), prices()).value();
  const Dataset b = read(table(second), prices()).value();
  const std::vector<std::uint64_t> others = {0, 2};
  RC_ASSERT(a.take(others).value() == b.take(others).value());
}

// 4 MB of plain cells, from a compressed file.
TEST(Schema, ReadsLargeFiles) {
  const testing::TemporaryFolder folder;
  std::string text = "size,price\n";
  constexpr std::size_t kRows = 300'000;
  for (std::size_t i = 0; i < kRows; ++i) text += fmt::format("{}.{},-{}.5\n", i % 10, i % 1000, i % 4);
  ASSERT_TRUE(write_file(folder.path("t.csv"), testing::gzip(text)).has_value());
  const Dataset data = read_csv(folder.path("t.csv"), prices()).value();
  ASSERT_EQ(data.rows, kRows);
  EXPECT_TRUE(check_dataset(data).has_value());
  EXPECT_FLOAT_EQ(data.features[123'456], 0.6456F);
  EXPECT_EQ(data.targets[kRows - 1], -3.5F);
}

}  // namespace
}  // namespace noisefloor
