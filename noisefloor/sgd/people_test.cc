#include "noisefloor/sgd/people.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using Numbers = std::vector<std::uint64_t>;

Numbers as_vector(std::span<const std::uint64_t> rows) { return {rows.begin(), rows.end()}; }

TEST(People, AreNumberedInTheOrderOfTheirFirstRows) {
  const std::vector<std::uint32_t> labels{7, 3, 7, 900, 3, 7};
  const People people = People::create(labels, Rows::of(2)).value();
  ASSERT_EQ(people.size(), 3U);
  EXPECT_EQ(people.rows_each().value(), 2U);
  EXPECT_EQ(as_vector(people.rows_of(0)), (Numbers{0, 2, 5}));
  EXPECT_EQ(as_vector(people.rows_of(1)), (Numbers{1, 4}));
  EXPECT_EQ(as_vector(people.rows_of(2)), (Numbers{3}));
  EXPECT_EQ(People::create({}, Rows::of(2)).value().size(), 0U) << "how many there are is private";
}

TEST(People, TakePartWithoutTheirNullRecords) {
  const std::vector<std::uint32_t> labels{0, kNobody, 0, 1, 0, 2, kNobody, 2};
  const std::vector<std::uint8_t> nulls{0, 1, 1, 1, 0, 0, 1, 1};
  const People people = People::create(labels, Rows::of(2), nulls).value();
  ASSERT_EQ(people.size(), 3U) << "a person of null records alone is one, and nobody is none";
  EXPECT_EQ(as_vector(people.rows_of(0)), (Numbers{0, 4}));
  EXPECT_TRUE(people.rows_of(1).empty());
  EXPECT_EQ(as_vector(people.rows_of(2)), (Numbers{5}));
  ReplayRandom random = ReplayRandom::create(1).value();
  const PeoplesRows taken = people.take(Numbers{0, 1, 2}, random);
  EXPECT_EQ(taken.single, (Numbers{5}));
  EXPECT_EQ(taken.shared, (Numbers{0, 4}));
  EXPECT_EQ(taken.ends, (std::vector<std::size_t>{2}));
  EXPECT_EQ(random.position(), 0U) << "two rows that fit are within the bound";
  testing::expect_invalid(People::create(labels, Rows::of(2), std::vector<std::uint8_t>{1}).error(), "for every row");
}

// No bit is drawn where there is nothing to choose: people with one row each use as many bits as rows do.
TEST(People, DrawNothingIfTheyAreWithinTheBound) {
  const std::vector<std::uint32_t> labels{0, 1, 0, 2, 1, 0};
  const People people = People::create(labels, Rows::of(3)).value();
  ReplayRandom random = ReplayRandom::create(1).value();
  const PeoplesRows taken = people.take(Numbers{0, 1, 2}, random);
  EXPECT_EQ(random.position(), 0U);
  EXPECT_EQ(taken.single, (Numbers{3}));
  EXPECT_EQ(taken.shared, (Numbers{0, 2, 5, 1, 4}));
  EXPECT_EQ(taken.ends, (std::vector<std::size_t>{3, 5}));
  const PeoplesRows nobody = people.take({}, random);
  EXPECT_TRUE(nobody.single.empty() && nobody.shared.empty() && nobody.ends.empty());
}

// 2 of 5 rows are chosen: each of the 10 pairs with probability 1/10. With 20,000 draws a count has a standard
// deviation of 42, and 6 of them are α = 2e-9 for each pair. A choice that is made once, or only among the first rows,
// or with repetition, fails.
TEST(People, ChooseRowsUniformlyAtEachDrawIfBeyondTheBound) {
  const std::vector<std::uint32_t> labels(5, 4);
  const People people = People::create(labels, Rows::of(2)).value();
  ReplayRandom random = ReplayRandom::create(2).value();
  std::map<Numbers, int> seen;
  for (int i = 0; i < 20'000; ++i) {
    const PeoplesRows taken = people.take(Numbers{0}, random);
    ASSERT_EQ(taken.ends, (std::vector<std::size_t>{2}));
    ++seen[taken.shared];
  }
  EXPECT_EQ(seen.size(), 10U);
  for (const auto& [pair, count] : seen) {
    EXPECT_LT(pair[0], pair[1]);
    EXPECT_NEAR(count, 2000, 6 * 42);
  }
}

// If one row is taken for each person, a person is an example like any other, whichever row it is.
TEST(People, TakePartWithASingleRowIfTheBoundIsOne) {
  const std::vector<std::uint32_t> labels{1, 1, 1, 2};
  const People people = People::create(labels, Rows::of(1)).value();
  ReplayRandom random = ReplayRandom::create(3).value();
  std::map<std::uint64_t, int> seen;
  for (int i = 0; i < 300; ++i) {
    const PeoplesRows taken = people.take(Numbers{0, 1}, random);
    ASSERT_EQ(taken.single.size(), 2U);
    ASSERT_TRUE(taken.ends.empty());
    ++seen[taken.single[0]];
    EXPECT_EQ(taken.single[1], 3U);
  }
  EXPECT_EQ(seen.size(), 3U);
}

TEST(People, ComeFromTheData) {
  Dataset data{.rows = 3, .shape = {1}, .features = {1, 2, 3}, .labels = {0, 1, 0}, .classes = 2, .targets = {}};
  EXPECT_FALSE(People::of(data).value().has_value());
  data.rows_per_person = 2;
  testing::expect_invalid(People::of(data).error(), "whose it is");
  data.people = {5, 5, 1};
  EXPECT_EQ(People::of(data).value()->size(), 2U);
}

}  // namespace
}  // namespace noisefloor
