// Questions about a growing table, and attempts to ask about its old rows again: new dates, other months, packed or
// shuffled files, and certificates that name other blocks.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <zlib.h>

#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "noisefloor/dataset/column.h"
#include "noisefloor/release/verify_release.h"
#include "noisefloor/statistics/column_questions.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/replay_engine.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_clean;
using testing::expect_error;
using testing::value_of;
using Texts = std::vector<std::string>;

struct Visit {
  std::string date;
  std::uint64_t id;
  int minutes;
};

class BlockQuestionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    LedgerOptions options;
    options.clock = [] { return value_of(parse_time("2026-04-15")); };
    ledger_ = value_of(Ledger::create(folder_.path("a.ledger"), SigningKey::from_seed({1}), std::move(options)));
    for (int month = 1; month <= 3; ++month) add_month(month, 200);
    write("visits.csv");
  }
  void add_month(int month, int rows) {
    for (int i = 0; i < rows; ++i) {
      rows_.push_back(
          {fmt::format("2026-{:02}-{:02}", month, 1 + random_() % 28), random_(), static_cast<int>(random_() % 90)});
    }
  }
  [[nodiscard]] std::string table() const {
    std::string text = "visited,id,minutes,sick\n";
    for (const Visit& row : rows_) text += fmt::format("{},{},{},no\n", row.date, row.id, row.minutes);
    return text;
  }
  void write(const std::string& file) { std::ofstream(folder_.path(file)) << table(); }
  [[nodiscard]] DescribedRows described(const std::string& blocks, const std::string& file = "visits.csv") const {
    CsvTable format;
    format.schema.features = {NumericColumn{.name = "minutes", .lower = 0, .upper = 100}};
    format.schema.outcome = LabelColumn{"sick", {"no", "yes"}};
    DescribedRows rows{{.name = "visits",
                        .format = format,
                        .files = TextFile{file},
                        .budget = DatasetBudget{"visits", Epsilon::of(1), Delta::of(0)},
                        .blocks = BlockTerms{BlockKind::kDate, "visited", BlockPeriod::kMonth, 1}},
                       folder_.path("")};
    const Result<void> chosen = choose_blocks(rows.description, blocks);
    EXPECT_TRUE(chosen.has_value()) << chosen.error().message;
    return rows;
  }
  [[nodiscard]] Result<ReleasedAnswer> ask(const DescribedRows& rows, double epsilon, const std::string& key) {
    SecureRandom random = value_of(SecureRandom::create());
    NF_TRY(const Question asked,
           column_question(rows, {ColumnStatistic::kSum, "minutes", Epsilon::make(epsilon).value()}, random));
    LedgerOutlet outlet;
    return ask_dataset(rows, asked, {key, "1.0", NewDatasets::kAdd}, *ledger_, outlet, &conflict_);
  }
  [[nodiscard]] double sum_of(const DescribedRows& rows) {
    SecureRandom random = value_of(SecureRandom::create());
    const std::vector<double> numbers =
        value_of(read_column(rows, value_of(find_column(rows.description, "minutes")), random));
    return std::accumulate(numbers.begin(), numbers.end(), 0.0);
  }

  testing::TemporaryFolder folder_;
  testing::ReplayEngine random_{3};
  std::vector<Visit> rows_;
  std::unique_ptr<Ledger> ledger_;
  std::optional<DatasetConflict> conflict_;
};

TEST_F(BlockQuestionsTest, ReadsTheRowsOfTheChosenBlocksAlone) {
  const auto true_sum = [&](const std::function<bool(const std::string&)>& counts) {
    double sum = 0;
    for (const Visit& row : rows_) sum += counts(row.date.substr(0, 7)) ? row.minutes : 0;
    return sum;
  };
  EXPECT_EQ(sum_of(described("2026-02")), true_sum([](const std::string& month) { return month == "2026-02"; }));
  EXPECT_EQ(sum_of(described("2026-01,2026-03")), true_sum([](const std::string& m) { return m != "2026-02"; }));
  EXPECT_EQ(sum_of(described("2026-01..2026-04")), true_sum([](const std::string&) { return true; }));
  EXPECT_EQ(sum_of(described("2025-01")), 0) << "a month without rows is no error, which would tell";
  // Rows without a readable date are in no block, wherever they stand.
  const double before = sum_of(described("2026-01"));
  for (const char* date : {"", "01.02.2026", "2026-01-32", "2026-13-01", "January 2026"})
    rows_.push_back({date, 1, 50});
  write("visits.csv");
  EXPECT_EQ(sum_of(described("2026-01")), before);
  rows_.push_back({" 2026-01-31T23:59:59Z ", 1, 50});
  write("visits.csv");
  EXPECT_EQ(sum_of(described("2026-01")), before + 50);
}

TEST_F(BlockQuestionsTest, EachMonthPaysForItself) {
  for (const char* month : {"2026-01", "2026-02", "2026-03"}) {
    EXPECT_TRUE(ask(described(month), 0.75, fmt::format("total {}", month)).has_value()) << month;
  }
  expect_error(ask(described("2026-01"), 0.5, "again"), ErrorCode::kBudgetExhausted, "Left: epsilon 0.25");
  expect_error(ask(described("2026-01..2026-03"), 0.5, "quarter"), ErrorCode::kBudgetExhausted, "block '2026-01'");
  EXPECT_TRUE(ask(described("2026-01..2026-03"), 0.25, "quarter").has_value());
  // April comes, with rows of its own; the months before stay spent.
  add_month(4, 200);
  write("visits.csv");
  EXPECT_TRUE(ask(described("2026-04"), 1, "total 2026-04").has_value());
  expect_error(ask(described("2026-03..2026-04"), 0.125, "x"), ErrorCode::kBudgetExhausted, "Nothing was spent");
  EXPECT_TRUE(value_of(ask(described("2026-02"), 0.75, "total 2026-02")).again)
      << "an answer is given again for nothing";
  expect_clean(folder_.path("a.ledger"));
}

TEST_F(BlockQuestionsTest, AQuestionNamesItsBlocksAndAKeyIsForThemAlone) {
  DescribedRows rows = described("2026-01..2026-02");
  const ReleasedAnswer made = value_of(ask(rows, 0.25, "total"));
  EXPECT_EQ(made.release.certificate.spend->blocks, Texts{"2026-01..2026-02"});
  EXPECT_NE(made.release.certificate.configuration.find("\"blocks\":[\"2026-01..2026-02\"]"), std::string::npos)
      << made.release.certificate.configuration;
  expect_error(ask(described("2026-01"), 0.25, "total"), ErrorCode::kInvalidArgument, "another request");
  rows.description.chosen.clear();
  expect_error(ask(rows, 0.25, "none"), ErrorCode::kInvalidArgument, "blocks by month of the column 'visited'");
  // What a use says it touches is what it reads: the two cannot differ.
  rows = described("2026-01");
  SecureRandom random = value_of(SecureRandom::create());
  const Question about_january =
      value_of(column_question(rows, {ColumnStatistic::kSum, "minutes", Epsilon::of(0.25)}, random));
  LedgerOutlet outlet;
  const Result<ReleasedAnswer> mixed =
      ask_dataset(described("2026-03"), about_january, {"mixed", "1.0"}, *ledger_, outlet);
  EXPECT_FALSE(mixed.has_value()) << "a question about January must not be paid for by March";
}

TEST_F(BlockQuestionsTest, ACertificateThatNamesOtherBlocksIsRefused) {
  const ReleasedAnswer made = value_of(ask(described("2026-01"), 0.25, "total"));
  VerifiedRelease verified = value_of(verify_release(made.release.bytes));
  EXPECT_TRUE(verify_in_ledger(verified, *ledger_).has_value());
  const Texts named = verified.certificate.certificate.spend->blocks;
  for (const Texts& other : {Texts{}, Texts{"2026-02"}, Texts{"2026-01..2026-02"}}) {
    verified.certificate.certificate.spend->blocks = other;
    expect_error(verify_in_ledger(verified, *ledger_), ErrorCode::kVerificationFailed, "names other blocks");
  }
  // In the text, the signature covers them, wherever they stand.
  const std::string& text = made.release.signed_certificate;
  int places = 0;
  for (std::size_t at = text.find("\"2026-01\""); at != std::string::npos; at = text.find("\"2026-01\"", at + 1)) {
    std::string forged = text;
    forged.replace(at, 9, "\"2026-02\"");
    EXPECT_FALSE(parse_certificate(forged).has_value()) << at;
    ++places;
  }
  EXPECT_EQ(places, 2) << "the question and the payment name them";
  const Certificate again = value_of(parse_certificate(made.release.signed_certificate)).certificate;
  EXPECT_EQ(again.spend->blocks, named);
}

TEST_F(BlockQuestionsTest, OldRowsUnderNewDatesAreRefused) {
  ASSERT_TRUE(ask(described("2026-01"), 1, "january").has_value());
  const std::vector<Visit> honest = rows_;
  const auto refused = [&](const std::string& why) {
    write("visits.csv");
    expect_error(ask(described("2026-04"), 0.5, "x"), ErrorCode::kBudgetExhausted,
                 "are known under the block '2026-01'");
    EXPECT_EQ(conflict_->kind, DatasetConflict::Kind::kOtherBlock) << why;
    rows_ = honest;
  };
  for (int i = 0; i < 200; ++i) rows_[static_cast<std::size_t>(i)].date.replace(5, 2, "04");
  refused("the whole month");
  add_month(4, 100);
  for (int i = 0; i < 100; ++i) rows_[static_cast<std::size_t>(i)].date.replace(5, 2, "04");
  refused("half of April's rows are January's");
  for (int i = 199; i >= 0; --i) {
    rows_.push_back(rows_[static_cast<std::size_t>(i)]);
    rows_.back().date = fmt::format("2026-04-{:02}T10:00:00Z", 1 + random_() % 28);
  }
  refused("a copy in another order, beside the rows themselves");
  // Packed: the file's bytes are others, its rows are the same.
  for (int i = 0; i < 200; ++i) rows_[static_cast<std::size_t>(i)].date.replace(5, 2, "04");
  const std::string text = table();
  gzFile packed = gzopen(folder_.path("visits.csv.gz").c_str(), "wb");
  ASSERT_NE(packed, nullptr);
  ASSERT_EQ(gzwrite(packed, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  gzclose(packed);
  expect_error(ask(described("2026-04", "visits.csv.gz"), 0.5, "x"), ErrorCode::kBudgetExhausted,
               "known under the block '2026-01'");
  rows_ = honest;
  add_month(4, 200);
  write("visits.csv");
  EXPECT_TRUE(ask(described("2026-04"), 0.5, "april").has_value()) << "honest rows of a new month";
}

TEST_F(BlockQuestionsTest, BatchesAreFilesOfTheirOwn) {
  const auto batch = [&](const std::string& blocks) {
    DescribedRows rows = described("2026-01", "part-{block}.csv");
    rows.description.name = "stream";
    rows.description.budget->name = "stream";
    rows.description.blocks = BlockTerms{BlockKind::kBatch, "", BlockPeriod::kDay, 1};
    const Result<void> chosen = choose_blocks(rows.description, blocks);
    EXPECT_TRUE(chosen.has_value()) << chosen.error().message;
    return rows;
  };
  rows_.clear();
  add_month(1, 150);
  write("part-one.csv");
  const double first = sum_of(batch("one"));
  const std::vector<Visit> copied = rows_;
  rows_.clear();
  add_month(2, 150);
  write("part-two.csv");
  EXPECT_EQ(sum_of(batch("one,two")), first + sum_of(batch("two")));
  EXPECT_TRUE(ask(batch("one,two"), 0.5, "both").has_value());
  EXPECT_TRUE(ask(batch("one"), 0.5, "first").has_value());
  expect_error(ask(batch("one,two"), 0.5, "more"), ErrorCode::kBudgetExhausted, "'one'");
  EXPECT_TRUE(ask(batch("two"), 0.5, "second").has_value());
  rows_ = copied;
  write("part-three.csv");
  expect_error(ask(batch("three"), 0.5, "third"), ErrorCode::kBudgetExhausted, "known under the block 'one'");
  std::ofstream(folder_.path("part-four.csv")) << "visited,id,minutes\n";
  EXPECT_FALSE(ask(batch("one,four"), 0.1, "other columns").has_value());
  // A use that cannot be paid for claims nothing: its rows are still new, under another name, too.
  rows_.clear();
  add_month(5, 150);
  write("part-five.csv");
  write("part-six.csv");
  expect_error(ask(batch("one,five"), 0.5, "fifth"), ErrorCode::kBudgetExhausted, "'one'");
  EXPECT_TRUE(ask(batch("six"), 0.5, "sixth").has_value());
  expect_clean(folder_.path("a.ledger"));
}

TEST_F(BlockQuestionsTest, ADryRunSaysTheSame) {
  ASSERT_TRUE(ask(described("2026-01"), 0.75, "january").has_value());
  const auto outlook = [&](const DescribedRows& rows, double epsilon) {
    SecureRandom random = value_of(SecureRandom::create());
    const Question asked =
        value_of(column_question(rows, {ColumnStatistic::kSum, "minutes", Epsilon::make(epsilon).value()}, random));
    return value_of(outlook_about(rows.description, asked, {"new", "1.0"}, ledger_.get()));
  };
  EXPECT_TRUE(outlook(described("2026-01..2026-02"), 0.25).fits);
  EXPECT_EQ(outlook(described("2026-01..2026-02"), 0.25).left, "epsilon 0.25 and delta 0");
  EXPECT_FALSE(outlook(described("2026-01..2026-02"), 0.5).fits);
  EXPECT_TRUE(outlook(described("2026-02"), 1).fits);
  EXPECT_FALSE(outlook(described("2026-12"), 0.1).fits) << "December has not begun";
}

}  // namespace
}  // namespace noisefloor
