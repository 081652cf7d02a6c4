#include "noisefloor/sgd/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "noisefloor/accounting/pld.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

TEST(BatchSampler, DrawsEachRowByItsOwnCoinUnderPoisson) {
  const BatchSampler sampler = BatchSampler::poisson(Rows::of(1000), Rows::of(50), Adjacency::kAddRemove).value();
  ReplayRandom random = ReplayRandom::create(1).value();
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    const auto size = static_cast<double>(sampler.draw(random).size());
    sum += size;
    squares += size * size;
  }
  // Binomial(1000, 0.05): mean 50, variance 47.5. A batch of fixed size has variance 0; α = 1e-6: 4.9 standard errors.
  EXPECT_NEAR(sum / kDraws, 50, 4.9 * std::sqrt(47.5 / kDraws));
  EXPECT_NEAR(squares / kDraws - sum / kDraws * (sum / kDraws), 47.5, 4.9 * 47.5 * std::sqrt(2.0 / kDraws));
}

TEST(BatchSampler, DrawsASubsetOfFixedSize) {
  const BatchSampler sampler = BatchSampler::fixed_size(Rows::of(10), Rows::of(4), Adjacency::kReplaceOne).value();
  ReplayRandom random = ReplayRandom::create(1).value();
  std::set<std::vector<std::uint64_t>> seen;
  for (int i = 0; i < 10000; ++i) {
    const std::vector<std::uint64_t> rows = sampler.draw(random);
    ASSERT_EQ(rows.size(), 4U);
    ASSERT_TRUE(std::is_sorted(rows.begin(), rows.end()));
    ASSERT_LT(rows.back(), 10U);
    seen.insert(rows);
  }
  EXPECT_EQ(seen.size(), 210U) << "all subsets of 4 out of 10";
}

// The event of a sampler describes its batches: noise of z clip norms, where an exchange moves the sum by two.
TEST(BatchSampler, DescribesItsDrawsByItsEvent) {
  const NoiseMultiplier noise = NoiseMultiplier::of(3.0);
  const BatchSampler poisson = BatchSampler::poisson(Rows::of(1000), Rows::of(50), Adjacency::kAddRemove).value();
  EXPECT_EQ(poisson.event(noise), DpEvent(PoissonSampledEvent{SamplingRate::of(0.05), GaussianEvent{noise}}));
  const BatchSampler fixed = BatchSampler::fixed_size(Rows::of(1000), Rows::of(50), Adjacency::kReplaceOne).value();
  EXPECT_EQ(fixed.event(noise),
            DpEvent(FixedSizeSampledEvent{Rows::of(50), Rows::of(1000), GaussianEvent{NoiseMultiplier::of(1.5)}}));
  EXPECT_EQ(fixed.rate().value(), 0.05);
  // The batch is the whole data set: exchanging a row moves the sum by 2 and the noise is 3, so this is a Gaussian of
  // 1.5.
  const BatchSampler all = BatchSampler::fixed_size(Rows::of(50), Rows::of(50), Adjacency::kReplaceOne).value();
  const auto cost = [](const DpEvent& event) {
    return pld_epsilon(event, Adjacency::kReplaceOne, Delta::of(1e-5)).value().upper;
  };
  EXPECT_NEAR(cost(all.event(noise)), cost(GaussianEvent{NoiseMultiplier::of(1.5)}), 1e-6);
}

// The parts cover every row once, and each worker draws at the rate of the whole.
TEST(BatchSampler, SharesTheRowsAmongShards) {
  for (const std::uint64_t rows : {3U, 10U, 1000U, 1003U}) {
    const BatchSampler all =
        BatchSampler::poisson(Rows::make(rows).value(), Rows::make(rows).value(), Adjacency::kAddRemove).value();
    for (const std::size_t size : {1U, 2U, 4U, 7U}) {
      std::vector<std::uint64_t> drawn;
      ReplayRandom random = ReplayRandom::create(1).value();
      for (std::size_t rank = 0; rank < size; ++rank) {
        const std::vector<std::uint64_t> own = all.shard(rank, size).value().draw(random);
        drawn.insert(drawn.end(), own.begin(), own.end());
      }
      std::vector<std::uint64_t> every(rows);
      std::iota(every.begin(), every.end(), 0);
      EXPECT_EQ(drawn, every) << rows << " rows, " << size << " workers";
    }
  }
  const BatchSampler whole = BatchSampler::poisson(Rows::of(1000), Rows::of(50), Adjacency::kAddRemove).value();
  const BatchSampler part = whole.shard(1, 4).value();
  EXPECT_EQ(part.rows(), whole.rows());
  EXPECT_EQ(part.expected_batch(), whole.expected_batch());
  EXPECT_EQ(part.event(NoiseMultiplier::of(3.0)), whole.event(NoiseMultiplier::of(3.0)));
  ReplayRandom random = ReplayRandom::create(1).value();
  double drawn = 0;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    const std::vector<std::uint64_t> own = part.draw(random);
    drawn += static_cast<double>(own.size());
    for (const std::uint64_t row : own) ASSERT_TRUE(row >= 250 && row < 500);
  }
  // Binomial(250, 0.05): mean 12.5, variance 11.875; α = 1e-6.
  EXPECT_NEAR(drawn / kDraws, 12.5, 4.9 * std::sqrt(11.875 / kDraws));
}

// The event follows from the public number, and each row is drawn at its rate whatever the true number is: with one row
// more or less, and far off.
TEST(BatchSampler, DrawsAtTheRateOfThePublicNumber) {
  const BatchSampler stated = BatchSampler::poisson(Rows::of(1000), Rows::of(50), Adjacency::kAddRemove).value();
  for (const std::uint64_t true_rows : {0U, 1U, 999U, 1001U, 5000U}) {
    const BatchSampler sampler = stated.with_population(true_rows).value();
    EXPECT_EQ(sampler.rows(), stated.rows());
    EXPECT_EQ(sampler.population(), true_rows);
    EXPECT_EQ(sampler.expected_batch(), stated.expected_batch());
    EXPECT_EQ(sampler.event(NoiseMultiplier::of(3.0)), stated.event(NoiseMultiplier::of(3.0)));
    ReplayRandom random = ReplayRandom::create(1).value();
    ReplayRandom again = ReplayRandom::create(1).value();
    double drawn = 0;
    constexpr int kDraws = 2000;
    for (int i = 0; i < kDraws; ++i) {
      const std::vector<std::uint64_t> rows = sampler.draw(random);
      for (const std::uint64_t row : rows) ASSERT_LT(row, true_rows);
      drawn += static_cast<double>(rows.size());
    }
    // Binomial(rows, 0.05); α = 1e-6. A rate of 50 over the true number fails at 5000 by far.
    const double mean = 0.05 * static_cast<double>(true_rows);
    EXPECT_NEAR(drawn / kDraws, mean, 4.9 * std::sqrt(0.95 * mean / kDraws)) << true_rows;
    std::vector<std::uint64_t> shared;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const std::vector<std::uint64_t> part = sampler.shard(rank, 3).value().draw(again);
      shared.insert(shared.end(), part.begin(), part.end());
    }
    EXPECT_TRUE(std::is_sorted(shared.begin(), shared.end()));
    EXPECT_TRUE(shared.empty() || shared.back() < true_rows);
  }
  const BatchSampler fixed = BatchSampler::fixed_size(Rows::of(10), Rows::of(4), Adjacency::kReplaceOne).value();
  EXPECT_TRUE(fixed.with_population(10).has_value());
  const Error error = fixed.with_population(11).error();
  testing::expect_invalid(error, "exactly as many rows as are stated, 10");
  EXPECT_EQ(error.message.find("11"), std::string::npos);
}

TEST(BatchSampler, RefusesBatchesThatDoNotFit) {
  const BatchSampler fixed = BatchSampler::fixed_size(Rows::of(10), Rows::of(4), Adjacency::kReplaceOne).value();
  testing::expect_invalid(fixed.shard(0, 2).error(), "fixed size");
  EXPECT_TRUE(fixed.shard(0, 1));
  testing::expect_invalid(fixed.shard(1, 1).error(), "number 1 among 1");
  testing::expect_invalid(fixed.shard(0, 0).error(), "among 0");
  testing::expect_invalid(BatchSampler::poisson(Rows::of(10), Rows::of(11), Adjacency::kAddRemove).error(), "11");
  testing::expect_invalid(BatchSampler::fixed_size(Rows::of(10), Rows::of(11), Adjacency::kReplaceOne).error(), "11");
  testing::expect_invalid(BatchSampler::fixed_size(Rows::of(10), Rows::of(5), Adjacency::kAddRemove).error(),
                          "replace-one");
}

}  // namespace
}  // namespace noisefloor
