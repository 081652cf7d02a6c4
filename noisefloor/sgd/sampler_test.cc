#include "noisefloor/sgd/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "noisefloor/accounting/pld.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

TEST(BatchSampler, PoissonDrawsEachRowByItsOwnCoin) {
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

TEST(BatchSampler, FixedSizeDrawsASubset) {
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

// The event of a sampler is that of its batches: noise of z clip norms, where an exchange moves the sum by two.
TEST(BatchSampler, EventsSayWhatIsDrawn) {
  const NoiseMultiplier noise = NoiseMultiplier::of(3.0);
  const BatchSampler poisson = BatchSampler::poisson(Rows::of(1000), Rows::of(50), Adjacency::kAddRemove).value();
  EXPECT_EQ(poisson.event(noise), DpEvent(PoissonSampledEvent{SamplingRate::of(0.05), GaussianEvent{noise}}));
  const BatchSampler fixed = BatchSampler::fixed_size(Rows::of(1000), Rows::of(50), Adjacency::kReplaceOne).value();
  EXPECT_EQ(fixed.event(noise),
            DpEvent(FixedSizeSampledEvent{Rows::of(50), Rows::of(1000), GaussianEvent{NoiseMultiplier::of(1.5)}}));
  EXPECT_EQ(fixed.rate().value(), 0.05);
  // A whole data set in the batch: exchanging a row moves the sum by 2, noise is 3, so this is a Gaussian of 1.5.
  const BatchSampler all = BatchSampler::fixed_size(Rows::of(50), Rows::of(50), Adjacency::kReplaceOne).value();
  const auto cost = [](const DpEvent& event) {
    return pld_epsilon(event, Adjacency::kReplaceOne, Delta::of(1e-5)).value().upper;
  };
  EXPECT_NEAR(cost(all.event(noise)), cost(GaussianEvent{NoiseMultiplier::of(1.5)}), 1e-6);
}

TEST(BatchSampler, WhatDoesNotFitIsRefused) {
  testing::expect_invalid(BatchSampler::poisson(Rows::of(10), Rows::of(11), Adjacency::kAddRemove).error(), "11");
  testing::expect_invalid(BatchSampler::fixed_size(Rows::of(10), Rows::of(11), Adjacency::kReplaceOne).error(), "11");
  testing::expect_invalid(BatchSampler::fixed_size(Rows::of(10), Rows::of(5), Adjacency::kAddRemove).error(),
                          "replace-one");
}

}  // namespace
}  // namespace noisefloor
