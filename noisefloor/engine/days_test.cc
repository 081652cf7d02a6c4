#include "noisefloor/engine/days.h"

#include <gtest/gtest.h>

#include <ctime>

namespace noisefloor::engine {
namespace {

TEST(Days, HaveTheDateOfTheCalendar) {
  EXPECT_EQ(date_text(0), "1970-01-01");
  EXPECT_EQ(date_text(kFirstDay), "0001-01-01");
  EXPECT_EQ(date_text(kLastDay), "9999-12-31");
  EXPECT_EQ(parse_date("2000-02-29"), 11016);
  EXPECT_EQ(parse_date("1900-02-28").value() + 1, parse_date("1900-03-01"));
}

TEST(Days, FollowEachOtherWithoutAGap) {
  Civil before = civil_of(kFirstDay);
  for (std::int64_t days = kFirstDay + 1; days <= kLastDay; ++days) {
    const Civil date = civil_of(days);
    ASSERT_EQ(days_of(date), days);
    const bool next_day = date.year == before.year && date.month == before.month && date.day == before.day + 1;
    const bool next_month = date.day == 1 && ((date.year == before.year && date.month == before.month + 1) ||
                                              (date.year == before.year + 1 && date.month == 1 && before.month == 12));
    ASSERT_TRUE(next_day || next_month) << date_text(days);
    before = date;
  }
}

TEST(Days, AgreeWithTheSystemOnParts) {
  for (std::int64_t days = -25000; days < 80000; days += 13) {
    const std::time_t seconds = days * 86400;
    std::tm parts{};
    ASSERT_NE(gmtime_r(&seconds, &parts), nullptr);
    char week[8];
    ASSERT_GT(std::strftime(week, sizeof week, "%V", &parts), 0U);
    EXPECT_EQ(date_part("dow", days), parts.tm_wday);
    EXPECT_EQ(date_part("doy", days), parts.tm_yday + 1);
    EXPECT_EQ(date_part("week", days), std::stoi(week)) << date_text(days);
    EXPECT_EQ(date_part("isodow", truncated_date("week", days).value()), 1);
  }
}

TEST(Days, AreTruncatedToTheirPeriod) {
  const std::int64_t day = parse_date("2026-08-20").value();
  EXPECT_EQ(truncated_date("day", day), day);
  EXPECT_EQ(truncated_date("week", day), parse_date("2026-08-17"));
  EXPECT_EQ(truncated_date("month", day), parse_date("2026-08-01"));
  EXPECT_EQ(truncated_date("quarter", day), parse_date("2026-07-01"));
  EXPECT_EQ(truncated_date("year", day), parse_date("2026-01-01"));
  EXPECT_EQ(truncated_date("week", kFirstDay), kFirstDay);
  EXPECT_EQ(truncated_date("year", kLastDay + 1), std::nullopt);
  EXPECT_EQ(date_part("quarter", day), 3);
  EXPECT_EQ(date_part("century", day), std::nullopt);
}

TEST(Days, RefuseTextsThatAreNoDates) {
  for (const char* text : {"", "2026", "2026-3-05", "2026-02-29", "2026-13-01", "0000-01-01", "2026-03-05x",
                           "2026/03/05", " 2026-03-05", "20260305", "-026-03-05", "2026-00-01", "2026-01-00"}) {
    EXPECT_EQ(parse_date(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_date("2026-03-05T12:30:00Z"), parse_date("2026-03-05"));
  EXPECT_EQ(parse_date("2026-03-05 any words"), parse_date("2026-03-05"));
}

}  // namespace
}  // namespace noisefloor::engine
