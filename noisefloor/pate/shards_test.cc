#include "noisefloor/pate/shards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>

#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

ShortKey key_of(std::uint8_t seed) {
  ShortKey key;
  for (std::size_t i = 0; i < key.bytes().size(); ++i) key.bytes()[i] = static_cast<std::uint8_t>(seed * 31 + i);
  return key;
}

Dataset rows_like(std::size_t rows) {
  Dataset data;
  data.rows = rows;
  data.shape = {1};
  data.classes = 2;
  for (std::size_t i = 0; i < rows; ++i) {
    data.features.push_back(static_cast<float>(i));
    data.labels.push_back(static_cast<std::int32_t>(i % 2));
  }
  return data;
}

TEST(Shards, HoldEveryRowOnce) {
  const Dataset data = rows_like(1000);
  const std::vector<Shard> shards = divide_into_shards(data, 7, key_of(1));
  ASSERT_EQ(shards.size(), 7);
  std::set<std::uint64_t> seen;
  for (const Shard& shard : shards) {
    EXPECT_TRUE(std::is_sorted(shard.begin(), shard.end()));
    seen.insert(shard.begin(), shard.end());
  }
  EXPECT_EQ(seen.size(), 1000);
  EXPECT_TRUE(expect_disjoint(data, shards).has_value());
}

TEST(Shards, KeepAPersonTogether) {
  Dataset data = rows_like(600);
  data.rows_per_person = 3;
  for (std::uint32_t i = 0; i < 600; ++i) data.people.push_back(i % 5 == 0 ? kNobody : i % 40);
  const std::vector<Shard> shards = divide_into_shards(data, 6, key_of(2));
  ASSERT_TRUE(expect_disjoint(data, shards).has_value());
  std::map<std::uint32_t, std::size_t> place;
  std::size_t rows = 0;
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    for (const std::uint64_t row : shards[shard]) {
      ++rows;
      EXPECT_NE(data.people[row], kNobody) << "a row of nobody takes part in nothing";
      EXPECT_EQ(place.try_emplace(data.people[row], shard).first->second, shard);
    }
  }
  EXPECT_EQ(rows, 480);
  // The mutant that divides rows and forgets whose they are: it is caught before a teacher sees anything.
  Dataset forgotten = data;
  forgotten.people.clear();
  EXPECT_FALSE(expect_disjoint(data, divide_into_shards(forgotten, 6, key_of(2))).has_value());
}

TEST(Shards, ATeacherThatSeesTwoShardsIsCaught) {
  const Dataset data = rows_like(50);
  std::vector<Shard> shards = divide_into_shards(data, 5, key_of(3));
  shards[0].insert(shards[0].end(), shards[1].begin(), shards[1].end());
  EXPECT_FALSE(expect_disjoint(data, shards).has_value());
  std::vector<Shard> twice = divide_into_shards(data, 5, key_of(3));
  twice[2].push_back(twice[2].front());
  EXPECT_FALSE(expect_disjoint(data, twice).has_value());
}

// One row more at the end leaves all others where they are.
TEST(Shards, OneRowMoreChangesOneShard) {
  const std::vector<Shard> without = divide_into_shards(rows_like(300), 9, key_of(4));
  const std::vector<Shard> with = divide_into_shards(rows_like(301), 9, key_of(4));
  std::size_t changed = 0;
  for (std::size_t i = 0; i < 9; ++i) changed += without[i] == with[i] ? 0U : 1U;
  EXPECT_EQ(changed, 1);
}

// Detects a division that is not uniform, or follows the order of rows: shares of 1/8 that are off by 5 %.
TEST(Shards, AreUniformAndIndependentOfTheOrder) {
  const auto p_value = [](const std::vector<Shard>& shards) {
    std::map<std::int64_t, std::uint64_t> counts;
    std::uint64_t draws = 0;
    for (std::size_t shard = 0; shard < shards.size(); ++shard) {
      // Of neighbouring rows, too, each shard gets a share.
      for (const std::uint64_t row : shards[shard]) counts[static_cast<std::int64_t>(shard + 8 * (row % 2))] += 1;
      draws += shards[shard].size();
    }
    return testing::chi_square_p_value(counts, draws, 0, 15, [](std::int64_t) { return 1.0 / 16; });
  };
  const Dataset data = rows_like(100'000);
  EXPECT_GT(p_value(divide_into_shards(data, 8, key_of(5))), testing::kAlpha);
  std::vector<Shard> by_order(8);
  for (std::uint64_t row = 0; row < data.rows; ++row) by_order[row % 8].push_back(row);
  EXPECT_LT(p_value(by_order), testing::kAlpha);
  std::vector<Shard> skewed = divide_into_shards(data, 8, key_of(5));
  skewed[0].resize(skewed[0].size() * 9 / 10);
  EXPECT_LT(p_value(skewed), testing::kAlpha);
  EXPECT_NE(divide_into_shards(data, 8, key_of(5)), divide_into_shards(data, 8, key_of(6)));
}

TEST(Shards, TeachersSeeNoNullRecordsAndNoPeople) {
  Dataset data = rows_like(10);
  data.nulls.assign(10, 0);
  data.nulls[3] = 1;
  data.people = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
  data.rows_per_person = 5;
  const Dataset rows = rows_of_teacher(data, {1, 3, 4}).value();
  EXPECT_EQ(rows.rows, 2);
  EXPECT_EQ(rows.features, (std::vector<float>{1, 4}));
  EXPECT_TRUE(rows.people.empty());
  EXPECT_TRUE(check_dataset(rows).has_value());
}

}  // namespace
}  // namespace noisefloor
