#include "noisefloor/ledger/row_sketch.h"
#include "tests/support/replay_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

namespace noisefloor {
namespace {

using Row = std::vector<std::string>;
using Rows = std::vector<Row>;

Secret32 key(std::uint8_t filler = 7) {
  Secret32 made;
  for (std::uint8_t& byte : made.bytes()) byte = filler;
  return made;
}

const std::vector<std::string> kNames{"age", "Zip code", "score"};

RowSketch sketch(const Rows& rows, const std::vector<std::string>& names = kNames, std::size_t size = kSketchRows,
                 const Secret32& with = key()) {
  RowSketcher sketcher(with, size);
  sketcher.set_columns(names);
  std::vector<std::string_view> cells;
  for (const Row& row : rows) {
    cells.assign(row.begin(), row.end());
    sketcher.add_row(cells);
  }
  return std::move(sketcher).finish();
}

// Rows that hardly ever coincide.
Rows people(std::size_t count, std::uint64_t seed) {
  testing::ReplayEngine random(seed);
  Rows rows;
  for (std::size_t i = 0; i < count; ++i) {
    rows.push_back(
        {std::to_string(random() % 90), std::to_string(random() % 100'000), std::to_string(random() % 1000)});
  }
  return rows;
}

// Rows of few possible values, so that many occur more than once.
Rows answers(std::size_t count, std::uint64_t seed) {
  testing::ReplayEngine random(seed);
  Rows rows;
  for (std::size_t i = 0; i < count; ++i) {
    // The law is about exponential, so that some values are common and others rare.
    const auto rare = [&] {
      const auto zeros = static_cast<std::uint64_t>(std::countr_zero(random() | (std::uint64_t{1} << 20)));
      return std::to_string(zeros * 3 + random() % 9);
    };
    rows.push_back({rare(), rare(), std::to_string(random() % 5)});
  }
  return rows;
}

Rows joined(Rows a, const Rows& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Rows part(const Rows& rows, std::size_t from, std::size_t to) {
  return {rows.begin() + static_cast<std::ptrdiff_t>(from), rows.begin() + static_cast<std::ptrdiff_t>(to)};
}

bool shared(const Rows& a, const Rows& b) { return compare(sketch(a), sketch(b)).is_shared(); }

TEST(RowSketch, ForgetsTheOrderOfRowsAndColumns) {
  Rows rows = people(500, 1);
  const RowSketch before = sketch(rows);
  std::shuffle(rows.begin(), rows.end(), testing::ReplayEngine(2));
  EXPECT_EQ(sketch(rows), before);
  for (Row& row : rows) std::rotate(row.begin(), row.begin() + 1, row.end());
  EXPECT_EQ(sketch(rows, {"ZIP_CODE", "Score", " age "}), before);
}

TEST(RowSketch, ChangesWithEveryRow) {
  const Rows rows = people(300, 1);
  const Digest before = sketch(rows).fingerprint;
  Rows changed = rows;
  changed[17][1] += "0";
  EXPECT_NE(sketch(changed).fingerprint, before);
  changed = rows;
  changed.pop_back();
  EXPECT_NE(sketch(changed).fingerprint, before);
  changed = rows;
  changed.push_back(rows.front());
  EXPECT_NE(sketch(changed).fingerprint, before);
  EXPECT_NE(sketch(rows, kNames, kSketchRows, key(8)).fingerprint, before);
}

// Two rows that exchange a cell leave every column as it was, and every sum that is linear in the cells.
TEST(RowSketch, ChangesWhenRowsExchangeACell) {
  Rows rows = people(300, 1);
  const RowSketch before = sketch(rows);
  ASSERT_NE(rows[0][1], rows[1][1]);
  std::swap(rows[0][1], rows[1][1]);
  EXPECT_NE(sketch(rows).fingerprint, before.fingerprint);
  EXPECT_EQ(sketch(rows).columns, before.columns);
}

TEST(RowSketch, DistinguishesCellsByTheirColumn) {
  EXPECT_NE(sketch({{"1", "2", "3"}}).fingerprint, sketch({{"2", "1", "3"}}).fingerprint);
}

// Every row among the lowest has its exact count, also one that comes back after the sample was full.
TEST(RowSketch, SamplesWithExactCounts) {
  Rows rows = joined(answers(20'000, 3), people(2'000, 4));
  std::shuffle(rows.begin(), rows.end(), testing::ReplayEngine(5));
  const RowSketch all = sketch(rows);
  ASSERT_TRUE(all.whole);
  ASSERT_GT(all.sample.size(), 1000U);
  const RowSketch some = sketch(rows, kNames, 100);
  EXPECT_FALSE(some.whole);
  ASSERT_EQ(some.sample.size(), 100U);
  EXPECT_TRUE(std::equal(some.sample.begin(), some.sample.end(), all.sample.begin()));
  EXPECT_EQ(some.fingerprint, all.fingerprint);
}

TEST(RowSketch, RecognisesCopiesWithUpToHalfOfTheRowsExchanged) {
  for (const std::size_t rows : {200U, 30'000U}) {
    const Rows original = people(rows, 1);
    const Rows others = people(rows, 2);
    for (const std::size_t percent : {0U, 1U, 10U, 25U, 50U}) {
      SCOPED_TRACE(percent);
      const std::size_t kept = rows - rows * percent / 100;
      EXPECT_TRUE(shared(original, joined(part(original, 0, kept), part(others, 0, rows - kept))));
    }
    EXPECT_FALSE(shared(original, others));
  }
}

TEST(RowSketch, RecognisesSubsetsSupersetsAndUnions) {
  const Rows a = people(40'000, 1);
  const Rows b = people(40'000, 2);
  EXPECT_TRUE(shared(a, part(a, 0, 20'000)));
  EXPECT_TRUE(shared(a, part(a, 0, 1'000)));
  EXPECT_TRUE(shared(part(a, 0, 1'000), a));
  EXPECT_TRUE(shared(a, joined(a, b)));
  EXPECT_TRUE(shared(b, joined(a, b)));
}

// Rows of few possible values coincide in samples that have no record in common: as often as within one sample.
TEST(RowSketch, ExpectsRowsThatCoincideByChance) {
  const Rows a = answers(20'000, 1);
  const Rows b = answers(20'000, 2);
  const Similarity alike = compare(sketch(a), sketch(b));
  ASSERT_GT(alike.both, 30U);
  EXPECT_LT(alike.share(), 0.05);
  EXPECT_FALSE(alike.is_shared());
  EXPECT_FALSE(shared(a, part(b, 0, 2'000)));
  EXPECT_TRUE(shared(a, a));
  EXPECT_TRUE(shared(a, joined(part(a, 0, 15'000), part(b, 0, 5'000))));
}

TEST(RowSketch, DecidesByTheFingerprintAloneWhereRowsAreFew) {
  const Rows rows = people(10, 1);
  EXPECT_TRUE(shared(rows, rows));
  EXPECT_FALSE(shared(rows, part(rows, 0, 9)));
}

TEST(RowSketch, RecognisesATableWithColumnsAddedDroppedOrRenamed) {
  const Rows rows = people(1'000, 1);
  Rows wider = rows;
  Rows narrower = rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    wider[i].push_back(std::to_string(i));
    narrower[i].pop_back();
  }
  const RowSketch original = sketch(rows);
  EXPECT_TRUE(compare(original, sketch(wider, {"age", "Zip code", "score", "id"})).is_shared());
  EXPECT_TRUE(compare(original, sketch(narrower, {"age", "Zip code"})).is_shared());
  EXPECT_TRUE(compare(original, sketch(rows, {"a", "b", "c"})).is_shared());
  EXPECT_FALSE(compare(original, sketch(people(1'000, 2), {"a", "b", "c"})).is_shared());
}

// A table of an id, an age and a class is known by its ages alone, without the id or with another one.
TEST(RowSketch, RecognisesOneUnevenColumn) {
  Rows rows = people(400, 1);
  Rows fresh = rows;
  Rows ages;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i][1] = std::to_string(i);
    fresh[i][1] = std::to_string(70'000 + 13 * i);
    fresh[i][2] = rows[i][2] = i % 3 == 0 ? "yes" : "no";
    ages.push_back({rows[i][0], rows[i][2]});
  }
  std::reverse(ages.begin(), ages.end());
  const RowSketch original = sketch(rows);
  EXPECT_TRUE(compare(original, sketch(ages, {"years", "ill"})).is_shared());
  EXPECT_TRUE(compare(original, sketch(fresh)).is_shared());
  for (std::uint64_t other = 2; other < 40; ++other) {
    Rows others = people(400, other);
    for (std::size_t i = 0; i < others.size(); ++i) others[i][1] = rows[i][1];
    EXPECT_FALSE(compare(original, sketch(others)).is_shared()) << other;
  }
}

// Columns that follow from a design are equal in tables that have nothing in common: a quota for each site, days of a
// year.
TEST(RowSketch, TakesADesignForNoCommonContent) {
  const std::vector<int> days{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  Rows a;
  Rows b;
  for (int month = 0; month < 12; ++month) {
    for (int day = 0; day < days[static_cast<std::size_t>(month)]; ++day) {
      const std::string number = std::to_string(a.size());
      a.push_back({std::to_string(month), "site " + std::to_string(day % 10), "a" + number});
      b.push_back({std::to_string(month), "site " + std::to_string(day % 10), "b" + number});
    }
  }
  const Similarity alike = compare(sketch(a), sketch(b));
  EXPECT_EQ(alike.uneven_columns, 0U);
  EXPECT_EQ(alike.common_columns, 2U);
  EXPECT_FALSE(alike.is_shared());
}

// Two tables that count their rows from 1 have that column in common, and nothing else.
TEST(RowSketch, TakesARowNumberForNoCommonContent) {
  Rows a = people(1'000, 1);
  Rows b = people(1'000, 2);
  for (std::size_t i = 0; i < a.size(); ++i) a[i][0] = b[i][0] = std::to_string(i + 1);
  const Similarity alike = compare(sketch(a), sketch(b));
  EXPECT_EQ(alike.common_columns, 1U);
  EXPECT_FALSE(alike.is_shared());
}

TEST(RowSketch, IsReadBackFromBytesOfOneLength) {
  const RowSketch small = sketch(people(3, 1));
  const RowSketch large = sketch(people(20'000, 1));
  EXPECT_EQ(parse_sketch(to_bytes(small)), small);
  EXPECT_EQ(parse_sketch(to_bytes(large)), large);
  EXPECT_EQ(to_bytes(small).size(), to_bytes(large).size());
}

TEST(RowSketch, RefusesBytesThatItWouldNotWrite) {
  const std::string bytes = to_bytes(sketch(people(50, 1)));
  EXPECT_EQ(parse_sketch(bytes.substr(1)), std::nullopt);
  EXPECT_EQ(parse_sketch(bytes + "x"), std::nullopt);
  for (std::size_t at = 0; at < 700; ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x80);
    const std::optional<RowSketch> read = parse_sketch(changed);
    if (read) {
      ASSERT_EQ(to_bytes(*read), changed) << at;
    }
  }
  std::string padded = bytes;
  padded.back() = 'x';
  EXPECT_EQ(parse_sketch(padded), std::nullopt);
}

}  // namespace
}  // namespace noisefloor
