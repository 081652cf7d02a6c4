#include "noisefloor/table/split.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/support/refusal.h"
#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

std::vector<std::uint64_t> all_rows(const Split& split) {
  std::vector<std::uint64_t> all = split.train;
  all.insert(all.end(), split.validation.begin(), split.validation.end());
  all.insert(all.end(), split.test.begin(), split.test.end());
  std::sort(all.begin(), all.end());
  return all;
}

void expect_a_partition(const Split& split, std::uint64_t rows) {
  for (const auto* list : {&split.train, &split.validation, &split.test}) {
    RC_ASSERT(std::is_sorted(list->begin(), list->end()));
  }
  const std::vector<std::uint64_t> all = all_rows(split);
  RC_ASSERT(all.size() == rows);
  for (std::uint64_t row = 0; row < rows; ++row) RC_ASSERT(all[row] == row);
}

RC_GTEST_PROP(Split, EveryRowIsInOneList, (std::uint64_t seed)) {
  const auto rows = *rc::gen::inRange<std::uint64_t>(1, 300);
  const auto test = *rc::gen::inRange<std::uint64_t>(0, rows);
  const auto validation = *rc::gen::inRange<std::uint64_t>(0, rows - test);
  const Split exact = split_by_count(rows, validation, test, seed).value();
  RC_ASSERT(exact.test.size() == test);
  RC_ASSERT(exact.validation.size() == validation);
  expect_a_partition(exact, rows);
  const auto share = [&](std::uint64_t count) { return static_cast<double>(count) / static_cast<double>(rows); };
  expect_a_partition(split_by_fraction(rows, share(validation) * 0.9, share(test), seed).value(), rows);
}

// By fractions, adding a last row changes nothing for the others.
RC_GTEST_PROP(Split, KeepsRowsInPlaceIfOneIsAdded, (std::uint64_t seed)) {
  const auto rows = *rc::gen::inRange<std::uint64_t>(0, 300);
  const Split before = split_by_fraction(rows, 0.2, 0.3, seed).value();
  Split after = split_by_fraction(rows + 1, 0.2, 0.3, seed).value();
  for (auto* list : {&after.train, &after.validation, &after.test}) {
    if (!list->empty() && list->back() == rows) list->pop_back();
  }
  RC_ASSERT(after == before);
}

// These values must never change: otherwise a published test set would no longer be one.
TEST(Split, IsTheSameForever) {
  const Split exact = split_by_count(12, 3, 2, 7).value();
  EXPECT_EQ(exact.test, (std::vector<std::uint64_t>{2, 8}));
  EXPECT_EQ(exact.validation, (std::vector<std::uint64_t>{0, 1, 4}));
  const Split shares = split_by_fraction(20, 0.25, 0.25, 7).value();
  EXPECT_EQ(shares.test, (std::vector<std::uint64_t>{1, 2, 8, 18}));
  EXPECT_EQ(shares.validation, (std::vector<std::uint64_t>{0, 4, 12, 14}));
}

// Fractions hold for every seed, and rows next to each other are kept independently. Detects shares off by 2 %. The
// mutant keeps each tenth row.
TEST(Split, SpreadsRowsEvenly) {
  constexpr std::uint64_t kRows = 1'000'000;
  for (std::uint64_t seed : {0ULL, 1ULL, 2ULL, ~0ULL}) {
    const Split split = split_by_fraction(kRows, 0.2, 0.1, seed).value();
    EXPECT_GT(testing::coin_p_value(split.test.size(), kRows, 0.1), testing::kAlpha);
    EXPECT_GT(testing::coin_p_value(split.validation.size(), kRows, 0.2), testing::kAlpha);
    EXPECT_LT(testing::coin_p_value(split.test.size(), kRows, 0.102), testing::kAlpha);
    std::uint64_t neighbours = 0;
    for (std::size_t i = 1; i < split.test.size(); ++i) {
      if (split.test[i] == split.test[i - 1] + 1) ++neighbours;
    }
    EXPECT_GT(testing::coin_p_value(neighbours, kRows - 1, 0.01), testing::kAlpha);
    EXPECT_LT(testing::coin_p_value(0, kRows - 1, 0.01), testing::kAlpha);
  }
}

// Two seeds keep a row independently of each other.
TEST(Split, IsIndependentForEachSeed) {
  constexpr std::uint64_t kRows = 100'000;
  for (std::uint64_t seed : {0ULL, 1ULL, 2ULL, 1ULL << 63}) {
    const auto first = split_by_fraction(kRows, 0, 0.2, seed).value().test;
    const auto second = split_by_fraction(kRows, 0, 0.2, seed + 1).value().test;
    std::vector<std::uint64_t> both;
    std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(both));
    EXPECT_GT(testing::coin_p_value(both.size(), kRows, 0.04), testing::kAlpha);
    EXPECT_LT(testing::coin_p_value(first.size(), kRows, 0.04), testing::kAlpha);  // the mutant: one seed for all
  }
}

TEST(Split, RefusesRequestsWithoutMeaning) {
  expect_invalid(split_by_count(10, 5, 5, 1).error(), "leave none to train with");
  expect_invalid(split_by_count(10, ~0ULL, 5, 1).error(), "leave none to train with");
  expect_invalid(split_by_count(0, 0, 0, 1).error(), "leave none to train with");
  for (const auto& [validation, test] :
       {std::pair(0.5, 0.5), std::pair(-0.1, 0.5), std::pair(0.1, -0.5), std::pair(std::nan(""), 0.1),
        std::pair(0.1, std::nan("")), std::pair(1.0, 0.0)}) {
    expect_invalid(split_by_fraction(10, validation, test, 1).error(), "a sum below 1");
  }
}

Dataset with_people(std::vector<std::uint32_t> people) {
  Dataset data;
  data.rows = people.size();
  data.people = std::move(people);
  data.rows_per_person = 2;
  return data;
}

// No person has rows on two sides.
RC_GTEST_PROP(Split, NeverDividesPeople, (std::uint64_t seed)) {
  const auto rows = *rc::gen::inRange<std::size_t>(1, 300);
  const Dataset data = with_people(*rc::gen::container<std::vector<std::uint32_t>>(rows, rc::gen::inRange(0U, 60U)));
  const Split split = split_by_fraction(data, 0.2, 0.3, seed).value();
  expect_a_partition(split, rows);
  std::map<std::uint32_t, std::set<int>> sides;
  for (const std::uint64_t row : split.train) sides[data.people[row]].insert(0);
  for (const std::uint64_t row : split.validation) sides[data.people[row]].insert(1);
  for (const std::uint64_t row : split.test) sides[data.people[row]].insert(2);
  for (const auto& [person, on] : sides) RC_ASSERT(on.size() == 1U);
  // One more person, after all others, moves nobody.
  Dataset more = data;
  more.people.insert(more.people.end(), 3, 1000);
  more.rows += 3;
  const Split after = split_by_fraction(more, 0.2, 0.3, seed).value();
  const auto before_end = [&](const std::vector<std::uint64_t>& list) {
    return std::vector<std::uint64_t>(list.begin(), std::lower_bound(list.begin(), list.end(), rows));
  };
  RC_ASSERT(before_end(after.train) == split.train);
  RC_ASSERT(before_end(after.test) == split.test);
}

RC_GTEST_PROP(Split, WithOneRowEachPeopleAreSplitAsRows, (std::uint64_t seed)) {
  std::vector<std::uint32_t> people(200);
  for (std::size_t i = 0; i < people.size(); ++i) people[i] = static_cast<std::uint32_t>(5 * (people.size() - i));
  RC_ASSERT(split_by_fraction(with_people(people), 0.1, 0.2, seed).value() ==
            split_by_fraction(200, 0.1, 0.2, seed).value());
}

}  // namespace
}  // namespace noisefloor
