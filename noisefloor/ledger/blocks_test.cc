#include "noisefloor/ledger/blocks.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/support/ledger_pieces.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::value_of;
using Texts = std::vector<std::string>;

constexpr std::int64_t kDay = 86'400'000;
constexpr BlockPeriod kPeriods[] = {BlockPeriod::kDay, BlockPeriod::kWeek, BlockPeriod::kMonth, BlockPeriod::kQuarter,
                                    BlockPeriod::kYear};

BlockTerms by_date(BlockPeriod period, std::uint32_t unlock = 1) { return {BlockKind::kDate, "day", period, unlock}; }
const BlockTerms kBatches{BlockKind::kBatch, "", BlockPeriod::kDay, 1};

std::int64_t time_of(const std::string& text) { return value_of(parse_time(text)); }

// The calendar of the standard library is the independent truth.
TEST(Blocks, NamesEveryDayOfFourHundredYearsAsTheCalendarDoes) {
  namespace ch = std::chrono;
  const ch::sys_days first = ch::year(1899) / 12 / 25;
  for (int i = 0; i < 400 * 366; ++i) {
    const ch::sys_days day = first + ch::days(i);
    const ch::year_month_day date(day);
    const int year = static_cast<int>(date.year());
    const unsigned month = static_cast<unsigned>(date.month());
    const std::string text = fmt::format("{:04}-{:02}-{:02}", year, month, static_cast<unsigned>(date.day()));
    ASSERT_EQ(block_of_date(BlockPeriod::kDay, text), text);
    ASSERT_EQ(block_of_date(BlockPeriod::kMonth, text), text.substr(0, 7));
    ASSERT_EQ(block_of_date(BlockPeriod::kQuarter, text), fmt::format("{:04}-Q{}", year, (month + 2) / 3));
    ASSERT_EQ(block_of_date(BlockPeriod::kYear, text), text.substr(0, 4));
    // The week of a day is that of its Thursday.
    const ch::sys_days thursday = day - (ch::weekday(day) - ch::Monday) + ch::days(3);
    const ch::year of = ch::year_month_day(thursday).year();
    const auto week = (thursday - ch::sys_days(of / 1 / 1)).count() / 7 + 1;
    ASSERT_EQ(block_of_date(BlockPeriod::kWeek, text), fmt::format("{:04}-W{:02}", static_cast<int>(of), week));
    for (const BlockPeriod period : kPeriods) {
      const std::string block = *block_of_date(period, text);
      const std::int64_t begin = value_of(begin_of_block(by_date(period), block));
      const std::int64_t now = ch::sys_time<ch::milliseconds>(day).time_since_epoch().count();
      ASSERT_LE(begin, now);
      ASSERT_GT(begin + (period == BlockPeriod::kDay     ? 1
                         : period == BlockPeriod::kWeek  ? 7
                         : period == BlockPeriod::kMonth ? 31
                                                         : 366) *
                            kDay,
                now);
      // The block begins on its first day, and the day before is in another one.
      ASSERT_EQ(block_of_date(period, show_time(begin)), block);
      ASSERT_NE(block_of_date(period, show_time(begin - 1)), block);
    }
  }
}

TEST(Blocks, ReadsDatesWithTimesAndZones) {
  const auto day = [](std::string_view cell) { return block_of_date(BlockPeriod::kDay, cell); };
  EXPECT_EQ(day("2026-02-28"), "2026-02-28");
  EXPECT_EQ(day("2026-02-28T23:59"), "2026-02-28");
  EXPECT_EQ(day("2026-02-28 23:59:59.999Z"), "2026-02-28");
  EXPECT_EQ(day("2026-02-28T23:30:00-01:00"), "2026-03-01");
  EXPECT_EQ(day("2026-03-01T00:30+01:00"), "2026-02-28");
  EXPECT_EQ(day("2024-02-29"), "2024-02-29");
  for (const std::string_view cell : {"",
                                      " ",
                                      "2026-2-28",
                                      "2026-02-30",
                                      "2025-02-29",
                                      "2100-02-29",
                                      "28.02.2026",
                                      "2026-02-28T",
                                      "2026-02-28T24:00",
                                      "2026-02-28T10:60",
                                      "2026-02-28T10:00:60",
                                      "2026-02-28x",
                                      "2026-02-28T10:00+1:00",
                                      "2026-02-28T10:00Zx",
                                      "0000-01-01",
                                      "2026-00-01",
                                      "2026-13-01",
                                      "2026-01-00",
                                      "+2026-01-01",
                                      "99999-01-01",
                                      "20260228"}) {
    EXPECT_EQ(day(cell), std::nullopt) << cell;
  }
}

TEST(Blocks, AListHasOneForm) {
  const BlockTerms months = by_date(BlockPeriod::kMonth);
  const auto canonical = [&](const std::string& text) { return value_of(parse_blocks(months, text)); };
  EXPECT_EQ(canonical("2026-03"), Texts{"2026-03"});
  EXPECT_EQ(canonical("2026-02..2026-04,2026-01..2026-03"), Texts{"2026-01..2026-04"});
  EXPECT_EQ(canonical("2026-01,2025-12"), Texts{"2025-12..2026-01"});
  EXPECT_EQ(canonical("2026-03,2026-03,2026-03..2026-03"), Texts{"2026-03"});
  EXPECT_EQ(canonical("2026-05,2026-01"), (Texts{"2026-01", "2026-05"}));
  EXPECT_EQ(value_of(blocks_in(months, Texts{"2025-12..2026-02", "2026-04"})),
            (Texts{"2025-12", "2026-01", "2026-02", "2026-04"}));
  // What is not in that form names the same blocks a second time, or is no list at all.
  for (const Texts& list : std::initializer_list<Texts>{{},
                                                        {""},
                                                        {"2026-1"},
                                                        {" 2026-01"},
                                                        {"2026-01-01"},
                                                        {"2026-Q1"},
                                                        {"2026"},
                                                        {"2026-13"},
                                                        {"2026-00"},
                                                        {"2026-01..2026-01"},
                                                        {"2026-01", "2026-01"},
                                                        {"2026-01", "2026-02"},
                                                        {"2026-02", "2025-01"},
                                                        {"2026-03..2026-01"},
                                                        {"2026-01..2026-03", "2026-02..2026-04"},
                                                        {"2026-01.."},
                                                        {"..2026-01"},
                                                        {"2026-01...2026-02"},
                                                        {"0000-01"},
                                                        {"2026-01..2026-02..2026-03"}}) {
    EXPECT_FALSE(blocks_in(months, list).has_value()) << (list.empty() ? "" : list.front());
  }
  expect_error(parse_blocks(months, "2026-01,"), ErrorCode::kInvalidArgument, "no block");
  expect_error(parse_blocks(months, ""), ErrorCode::kInvalidArgument, "name the blocks");
  EXPECT_FALSE(blocks_in(by_date(BlockPeriod::kWeek), Texts{"2025-W53"}).has_value()) << "2025 has 52 weeks";
  EXPECT_TRUE(blocks_in(by_date(BlockPeriod::kWeek), Texts{"2026-W53"}).has_value());
}

TEST(Blocks, ARangeIsBounded) {
  const BlockTerms days = by_date(BlockPeriod::kDay);
  EXPECT_EQ(value_of(blocks_in(days, Texts{"2024-01-01..2024-12-31"})).size(), 366U);
  for (const char* range : {"0001-02-01..9999-12-01", "2024-01-01..2025-02-04"}) {
    expect_error(parse_blocks(days, range), ErrorCode::kInvalidArgument, "at most 400 blocks");
  }
  std::string many;
  for (int i = 0; i < 401; ++i) many += fmt::format("{}{:03}", i == 0 ? "" : ",", i);
  expect_error(parse_blocks(kBatches, many), ErrorCode::kInvalidArgument, "at most 400 blocks");
}

TEST(Blocks, ABatchHasAPlainName) {
  EXPECT_EQ(value_of(parse_blocks(kBatches, "b,a-1.csv,b")), (Texts{"a-1.csv", "b"}));
  for (const char* name : {"../a", "a/b", "a..b", ".a", "-a", "a b", "a\n", "ä", "{block}", "a..", ""}) {
    EXPECT_FALSE(check_block(kBatches, name).has_value()) << name;
  }
  EXPECT_FALSE(check_block(kBatches, std::string(65, 'a')).has_value());
}

TEST(Blocks, AreUnlockedAtTheBeginningOfEachPeriod) {
  const BlockTerms months = by_date(BlockPeriod::kMonth, 3);
  const std::int64_t begin = value_of(begin_of_block(months, "2026-01"));
  EXPECT_EQ(begin, time_of("2026-01-01"));
  const auto parts = [&](const std::string& time, std::int64_t more) {
    return unlocked_parts(months, begin, time_of(time) + more);
  };
  EXPECT_EQ(parts("2026-01-01", -1), 0U);
  EXPECT_EQ(parts("2026-01-01", 0), 1U);
  EXPECT_EQ(parts("2026-02-01", -1), 1U);
  EXPECT_EQ(parts("2026-02-01", 0), 2U);
  EXPECT_EQ(parts("2026-03-01", -1), 2U);
  EXPECT_EQ(parts("2026-03-01", 0), 3U);
  EXPECT_EQ(parts("9000-01-01", 0), 3U);
  EXPECT_EQ(next_unlock(months, begin, begin), time_of("2026-02-01"));
  EXPECT_EQ(next_unlock(months, begin, time_of("2026-03-01")), std::nullopt);
  // A batch arrives at any moment; a month later is the same time of the same day, or of the month's last.
  const std::int64_t arrival = time_of("2027-12-31T12:30:00Z");
  const BlockTerms batches{BlockKind::kBatch, "", BlockPeriod::kMonth, 4};
  EXPECT_EQ(next_unlock(batches, arrival, arrival), time_of("2028-01-31T12:30:00Z"));
  EXPECT_EQ(next_unlock(batches, arrival, time_of("2028-01-31T12:30:00Z")), time_of("2028-02-29T12:30:00Z"));
  EXPECT_EQ(unlocked_parts(batches, arrival, arrival - 1), 0U);
}

TEST(Blocks, TermsAreChecked) {
  EXPECT_TRUE(check_block_terms(by_date(BlockPeriod::kDay, 60)).has_value());
  EXPECT_FALSE(check_block_terms(by_date(BlockPeriod::kDay, 61)).has_value());
  EXPECT_FALSE(check_block_terms(by_date(BlockPeriod::kDay, 0)).has_value());
  EXPECT_FALSE(check_block_terms({BlockKind::kDate, "", BlockPeriod::kDay, 1}).has_value());
  EXPECT_FALSE(check_block_terms({BlockKind::kBatch, "day", BlockPeriod::kDay, 1}).has_value());
  for (const BlockPeriod period : kPeriods) EXPECT_EQ(value_of(parse_block_period(name_of(period))), period);
  expect_error(parse_block_period("decade"), ErrorCode::kInvalidArgument, "'decade'");
  expect_error(parse_block_kind("row"), ErrorCode::kInvalidArgument, "'row'");
}

}  // namespace
}  // namespace noisefloor
