#include "noisefloor/mechanisms/bounded_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

constexpr Neighbours kAddRemove{Adjacency::kAddRemove, PrivacyUnit::kRow, Rows::of(1)};
constexpr Neighbours kReplaceOne{Adjacency::kReplaceOne, PrivacyUnit::kRow, Rows::of(1)};

Bounds bounds(double lower, double upper) { return Bounds::make(lower, upper).value(); }

double noise_free(const std::vector<double>& values, Bounds b, std::uint64_t seed) {
  // Two sums of the same replayed noise differ by the data alone.
  const BoundedSum sum = BoundedSum::create(kAddRemove, b, Epsilon::of(1), Delta::of(0)).value();
  ReplayRandom with = ReplayRandom::create(seed).value();
  ReplayRandom without = ReplayRandom::create(seed).value();
  return sum.release(std::span<const double>(values), with).value() -
         sum.release(std::span<const double>(), without).value();
}

// The attack of Casacuberta et al. 2022: in doubles, 2^53 swallows the ones that follow, so that removing one record of
// at most 2^53 changes the sum by more than 2^53. Integers do not care.
TEST(BoundedSum, RoundingOfFloatsDoesNotRaiseTheSensitivity) {
  std::vector<double> ones(5000, 1.0);
  std::vector<double> with = {0x1p53};
  with.insert(with.end(), ones.begin(), ones.end());
  const double naive_with = std::accumulate(with.begin(), with.end(), 0.0);
  const double naive_without = std::accumulate(ones.begin(), ones.end(), 0.0);
  EXPECT_NE(naive_with - naive_without, 0x1p53);  // the sensitivity that a naive program would claim

  const BoundedSum sum = BoundedSum::create(kAddRemove, bounds(0, 0x1p53), Epsilon::of(1), Delta::of(0)).value();
  // Order and company do not change what a record adds: exact on the grid.
  std::vector<double> shuffled = with;
  std::reverse(shuffled.begin(), shuffled.end());
  ReplayRandom a = ReplayRandom::create(1).value();
  ReplayRandom b = ReplayRandom::create(1).value();
  EXPECT_EQ(sum.release(std::span<const double>(with), a).value(),
            sum.release(std::span<const double>(shuffled), b).value());
}

// A person's rows are rounded one by one: 1000 times R(0.7) is more than R(700). The noise must be for the former.
TEST(BoundedSum, SeveralRowsOfAPersonAreRoundedOneByOne) {
  for (const std::uint64_t rows : {2ULL, 3ULL, 1000ULL, 3'900'000ULL}) {
    for (const double upper : {0.7, 1.07, 1.0 / 3}) {
      const Neighbours persons{Adjacency::kAddRemove, PrivacyUnit::kPerson, Rows::make(rows).value()};
      for (const Delta delta : {Delta::of(0), Delta::of(1e-5)}) {
        const auto sum = BoundedSum::create(persons, bounds(0, upper), Epsilon::of(1), delta);
        if (!sum.has_value()) continue;  // refused is safe
        const double one_row = std::floor(upper / sum.value().lattice().step() + 0.5);
        const DpEventVariant& kind = sum.value().statement().event.kind();
        const double steps = delta.value() == 0 ? std::get<DiscreteLaplaceEvent>(kind).l1_sensitivity.value()
                                                : std::get<DiscreteGaussianEvent>(kind).l2_sensitivity.value();
        EXPECT_GE(steps, one_row * static_cast<double>(rows)) << rows << ' ' << upper;
        EXPECT_LE(steps, one_row * static_cast<double>(rows) * (1 + 0x1p-17)) << rows << ' ' << upper;
      }
    }
  }
}

TEST(BoundedSum, ValuesAreClampedAndOddOnesHarmless) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NEAR(noise_free({5, -5, inf, -inf, nan, 0.5}, bounds(0, 1), 2), 1 + 0 + 1 + 0 + 0 + 0.5, 1e-6);
  EXPECT_NEAR(noise_free({nan}, bounds(2, 3), 3), 2, 1e-6);
}

TEST(BoundedSum, StreamedAndWholeDataGiveTheSame) {
  const BoundedSum sum = BoundedSum::create(kReplaceOne, bounds(-1, 1), Epsilon::of(0.5), Delta::of(1e-6)).value();
  const std::vector<double> values = {0.25, -0.75, 2, 0.1};
  auto data = sum.accumulator();
  for (double value : values) data.add(value);
  ReplayRandom a = ReplayRandom::create(4).value();
  ReplayRandom b = ReplayRandom::create(4).value();
  EXPECT_EQ(sum.release(data, a).value(), sum.release(std::span<const double>(values), b).value());
}

TEST(BoundedMean, PublicNumberOfRowsGivesTheTextbookNoise) {
  // The private mean of 50,000 records in [0, 1] at ε = 1, δ = 1e-5: sensitivity 1/50000.
  const BoundedMean mean = BoundedMean::create(kReplaceOne, bounds(0, 1), Epsilon::of(1), Delta::of(1e-5)).value();
  EXPECT_NEAR(mean.noise_scale(Rows::of(50000)), 3.73063 / 50000, 1e-9);
}

// Detects a mean whose error exceeds its bound 5 % more often than it says. Both adjacencies, both kinds of noise.
TEST(BoundedMean, ErrorBoundHolds) {
  std::vector<double> values;
  for (int i = 0; i < 2000; ++i) values.push_back(20 + (i * 37 % 60));
  const double truth = std::accumulate(values.begin(), values.end(), 0.0) / 2000;
  for (const Neighbours& neighbours : {kAddRemove, kReplaceOne}) {
    for (const Delta delta : {Delta::of(0), Delta::of(1e-6)}) {
      const BoundedMean mean = BoundedMean::create(neighbours, bounds(0, 100), Epsilon::of(0.5), delta).value();
      const double bound = mean.error_bound(Rows::of(2000), Confidence::of(0.9));
      ReplayRandom source = ReplayRandom::create(5).value();
      std::uint64_t outside = 0;
      constexpr std::uint64_t draws = 20'000;
      for (std::uint64_t i = 0; i < draws; ++i) {
        const double released = mean.release(std::span<const double>(values), source).value().value();
        outside += std::fabs(released - truth) > bound ? 1U : 0U;
      }
      // At most 10 %; five standard deviations of 20,000 coins are 1 %.
      EXPECT_LE(static_cast<double>(outside) / draws, 0.11);
      if (neighbours.adjacency == Adjacency::kReplaceOne) {
        EXPECT_GE(static_cast<double>(outside) / draws, 0.09);  // exact there
      }
    }
  }
}

TEST(BoundedMean, StatesBothPartsUnderAddRemove) {
  const BoundedMean mean = BoundedMean::create(kAddRemove, bounds(0, 1), Epsilon::of(1), Delta::of(0)).value();
  const auto& parts = std::get<ComposedEvent>(mean.statement().event.kind());
  ASSERT_EQ(parts.events.size(), 2U);
  double epsilon = 0;
  for (const DpEvent& part : parts.events) {
    const auto& noise = std::get<DiscreteLaplaceEvent>(part.kind());
    epsilon += noise.l1_sensitivity.value() / noise.scale.value();
  }
  EXPECT_LE(epsilon, 1);
  EXPECT_GT(epsilon, 0.999);
}

TEST(BoundedMean, HandlesNoValues) {
  ReplayRandom source = ReplayRandom::create(6).value();
  const BoundedMean replace = BoundedMean::create(kReplaceOne, bounds(0, 1), Epsilon::of(1), Delta::of(0)).value();
  EXPECT_EQ(replace.release(std::span<const double>(), source).error().code, ErrorCode::kInputData);
  // Under add-remove an error would tell that there are no rows.
  const BoundedMean add = BoundedMean::create(kAddRemove, bounds(0, 1), Epsilon::of(1), Delta::of(0)).value();
  const double released = add.release(std::span<const double>(), source).value().value();
  EXPECT_GE(released, 0);
  EXPECT_LE(released, 1);
}

}  // namespace
}  // namespace noisefloor
