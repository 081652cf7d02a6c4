#include "noisefloor/pate/teachers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "noisefloor/pate/pate_file.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::value_of;

Dataset points(std::size_t rows, int seed) {
  Dataset data;
  data.rows = rows;
  data.shape = {2};
  data.classes = 2;
  for (std::size_t i = 0; i < rows; ++i) {
    const double at = static_cast<double>(i + 1000 * static_cast<std::size_t>(seed));
    const double x = std::sin(at * 12.9898);
    const double y = std::sin(at * 78.233 + 1);
    data.features.insert(data.features.end(), {static_cast<float>(x), static_cast<float>(y)});
    data.labels.push_back(x + y > 0 ? 1 : 0);
  }
  return data;
}

Pate pate_of(const std::string& teachers) {
  return value_of(parse_pate_file(R"(name = "toy"
[budget]
epsilon = 2.0
delta = 1e-5
[data]
format = "csv"
train = "private.csv"
rows = 400
label = "kind"
classes = ["no", "yes"]
[[data.column]]
name = "x"
lower = -1
upper = 1
[[data.column]]
name = "y"
lower = -1
upper = 1
[model]
kind = "logistic"
[public]
file = "public.csv"
[votes]
aggregator = "gnmax"
noise = 20
[teachers]
count = 8
)" + teachers,
                                  "toy.toml"))
      .pate;
}

ShortKey a_key() {
  ShortKey key;
  std::iota(key.bytes().begin(), key.bytes().end(), std::uint8_t{3});
  return key;
}

std::vector<std::uint64_t> all_of(std::size_t count) {
  std::vector<std::uint64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<std::vector<std::uint16_t>> ballots_of(const Pate& pate, const Dataset& data, const Dataset& pool) {
  const std::vector<std::uint64_t> order = all_of(pool.rows);
  const Classroom classroom = value_of(classroom_of(pate, pool, order, {}));
  const std::vector<Shard> shards = divide_into_shards(data, pate.count, a_key());
  std::vector<std::vector<std::uint16_t>> ballots;
  for (std::size_t teacher = 0; teacher < pate.count; ++teacher) {
    ballots.push_back(value_of(ballot_of(pate, data, shards[teacher], teacher, classroom, {})));
  }
  return ballots;
}

// The promise that everything rests on: one row changes one teacher. Teachers that shared anything that was learned
// from rows (a scaler, an order, a number of steps) would be found here.
TEST(Teachers, OneRowChangesOneTeacher) {
  const Dataset pool = points(150, 7);
  for (const char* kind :
       {"epochs = 60\nlearning_rate = 0.2\n", "kind = \"spread\"\ncomponents = 2\nneighbours = 4\n"}) {
    const Pate pate = pate_of(kind);
    Dataset data = points(240, 1);
    const auto before = ballots_of(pate, data, pool);
    std::size_t ever = 0;
    for (const std::size_t row : {0U, 17U, 239U}) {
      // Exchanged for the worst that there is.
      Dataset other = data;
      other.features[2 * row] = 1e6F;
      other.features[2 * row + 1] = -1e6F;
      other.labels[row] = 1 - other.labels[row];
      const auto after = ballots_of(pate, other, pool);
      std::size_t changed = 0;
      for (std::size_t t = 0; t < pate.count; ++t) changed += before[t] == after[t] ? 0U : 1U;
      EXPECT_LE(changed, 1) << kind << row;
      ever += changed;
    }
    // One more at the end.
    Dataset more = data;
    more.rows += 1;
    more.features.insert(more.features.end(), {3.0F, -5.0F});
    more.labels.push_back(1);
    const auto after = ballots_of(pate, more, pool);
    std::size_t changed = 0;
    for (std::size_t t = 0; t < pate.count; ++t) changed += before[t] == after[t] ? 0U : 1U;
    EXPECT_LE(changed, 1) << kind;
    if (std::string(kind).starts_with("epochs")) {
      EXPECT_GT(ever, 0) << "the test sees nothing";
    }
  }
}

TEST(Teachers, VoteWhateverIsInTheirShard) {
  const Dataset pool = points(50, 7);
  for (const char* kind : {"epochs = 3\n", "kind = \"spread\"\ncomponents = 2\nneighbours = 4\n"}) {
    const Pate pate = pate_of(kind);
    // Fewer rows than teachers: most shards are empty.
    const auto few = ballots_of(pate, points(2, 1), pool);
    for (const auto& ballot : few) EXPECT_EQ(ballot.size(), 50);
    // Training that diverges.
    Dataset wild = points(200, 1);
    for (float& x : wild.features) x *= 3e37F;
    for (const auto& ballot : ballots_of(pate, wild, pool)) {
      EXPECT_EQ(ballot.size(), 50);
      EXPECT_TRUE(std::all_of(ballot.begin(), ballot.end(), [](std::uint16_t vote) { return vote < 2; }));
    }
  }
}

TEST(Teachers, LearnTheSameWithAnyNumberOfThreads) {
  const Pate pate = pate_of("epochs = 5\n");
  const Dataset data = points(240, 1);
  const Dataset pool = points(60, 7);
  const std::vector<std::uint64_t> order = all_of(60);
  testing::TemporaryFolder folder;
  std::vector<std::vector<Votes>> counts;
  const std::string path = folder.path("ballots");
  Ballots ballots = value_of(Ballots::open(path, {.work = {1}, .teachers = 8, .queries = 60, .classes = 2}));
  EXPECT_TRUE(value_of(teach(pate, data, pool, order, {.threads = 3}, ballots, {})));
  // The same by hand, with the key that the ballots have.
  const Classroom classroom = value_of(classroom_of(pate, pool, order, {}));
  const std::vector<Shard> shards = divide_into_shards(data, 8, ballots.shard_key());
  std::vector<Votes> expected(60, Votes(2));
  for (std::size_t teacher = 0; teacher < 8; ++teacher) {
    const auto ballot = value_of(ballot_of(pate, data, shards[teacher], teacher, classroom, {}));
    for (std::size_t i = 0; i < 60; ++i) ++expected[i][ballot[i]];
  }
  EXPECT_EQ(value_of(ballots.counts()), expected);
}

TEST(Teachers, ChooseTheFirstOfEqualsAndSurviveNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> outputs{1, 2, 2, nan, nan, nan, nan, 0, -1};
  EXPECT_EQ(classes_of(outputs, 3, 3), (std::vector<std::uint16_t>{1, 0, 1}));
  EXPECT_EQ(classes_of(std::vector<float>{-0.5F, 0.5F, nan}, 3, 2), (std::vector<std::uint16_t>{0, 1, 0}));
}

}  // namespace
}  // namespace noisefloor
