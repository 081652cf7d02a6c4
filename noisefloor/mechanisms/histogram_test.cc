// Frequencies are compared with exact probabilities at α = testing::kAlpha = 1e-6, from replayed streams.
#include "noisefloor/mechanisms/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "noisefloor/numerics/gaussian_profile.h"
#include "tests/support/refusal.h"
#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;
using testing::kAlpha;
using Counts = std::vector<std::int64_t>;

constexpr Neighbours kAddRemove{Adjacency::kAddRemove, PrivacyUnit::kRow, Rows::of(1)};
constexpr Neighbours kReplaceOne{Adjacency::kReplaceOne, PrivacyUnit::kRow, Rows::of(1)};

Result<HistogramMechanism> try_histogram(Neighbours neighbours, std::uint64_t bins, double epsilon, double delta,
                                         std::uint64_t bins_per_row = 1) {
  return HistogramMechanism::create(neighbours, Dimension::make(bins).value(), Epsilon::make(epsilon).value(),
                                    Delta::make(delta).value(), bins_per_row);
}

HistogramMechanism histogram(Neighbours neighbours, std::uint64_t bins, double epsilon, double delta,
                             std::uint64_t bins_per_row = 1) {
  return try_histogram(neighbours, bins, epsilon, delta, bins_per_row).value();
}

// --- Laws ------------------------------------------------------------------------------------------------------------

double laplace_pmf(double scale, std::int64_t x) {
  const double r = std::exp(-1 / scale);
  return (1 - r) / (1 + r) * std::pow(r, std::fabs(static_cast<double>(x)));
}

// A Gaussian number, rounded to a whole one.
double rounded_gaussian_pmf(double sigma, std::int64_t x) {
  const auto above = [&](double y) { return std::erfc(y / sigma / std::sqrt(2.0)) / 2; };
  const double magnitude = std::fabs(static_cast<double>(x));
  return above(magnitude - 0.5) - above(magnitude + 0.5);
}

// The noise of each bin, over many releases.
std::vector<Counts> draw_noise(const HistogramMechanism& made, const Counts& counts, int draws) {
  ReplayRandom source = ReplayRandom::create(1).value();
  std::vector<Counts> noise(counts.size());
  for (int i = 0; i < draws; ++i) {
    const auto release = made.release(counts, source).value();
    for (std::size_t bin = 0; bin < counts.size(); ++bin) noise[bin].push_back(release.value()[bin] - counts[bin]);
  }
  return noise;
}

double p_value(const Counts& noise, double scale, bool gaussian) {
  std::map<std::int64_t, std::uint64_t> counts;
  for (std::int64_t x : noise) ++counts[x];
  const auto reach = static_cast<std::int64_t>(40 * scale + 10);
  return testing::chi_square_p_value(counts, noise.size(), -reach, reach, [&](std::int64_t x) {
    return gaussian ? rounded_gaussian_pmf(scale, x) : laplace_pmf(scale, x);
  });
}

// Detects a scale off by 3 %, noise in some bins only, results that are not centred at the truth, and negative results
// that are cut off.
TEST(Histogram, EachCountHasTheExactLaw) {
  const Counts counts = {0, 1, -5, 1'000'000'000'000};
  for (double delta : {0.0, 1e-6}) {
    const bool gaussian = delta > 0;
    const HistogramMechanism made = histogram(kAddRemove, counts.size(), 0.7, delta);
    if (!gaussian) {
      EXPECT_NEAR(made.noise_scale(), 1 / 0.7, 1e-12);
    }
    for (const Counts& noise : draw_noise(made, counts, 200'000)) {
      EXPECT_GT(p_value(noise, made.noise_scale(), gaussian), kAlpha);
      EXPECT_LT(p_value(noise, made.noise_scale() * 1.03, gaussian), kAlpha);
      EXPECT_LT(p_value(noise, made.noise_scale() / 1.03, gaussian), kAlpha);
      Counts cut = noise;
      for (std::int64_t& x : cut) x = std::max<std::int64_t>(x, 0);
      EXPECT_LT(p_value(cut, made.noise_scale(), gaussian), kAlpha);
      Counts shifted = noise;
      for (std::int64_t& x : shifted) ++x;
      EXPECT_LT(p_value(shifted, made.noise_scale(), gaussian), kAlpha);
    }
  }
}

// Detects one draw that serves two bins, with either sign.
TEST(Histogram, BinsHaveIndependentNoise) {
  for (double delta : {0.0, 1e-6}) {
    const auto noise = draw_noise(histogram(kAddRemove, 3, 0.5, delta), {5, 5, 5}, 100'000);
    const auto sign = [](std::int64_t x) { return x < 0 ? 0 : x > 0 ? 2 : 1; };
    const auto joint_p_value = [&](const Counts& a, const Counts& b) {
      std::map<std::int64_t, std::uint64_t> joint;
      std::map<int, double> first;
      std::map<int, double> second;
      for (std::size_t i = 0; i < a.size(); ++i) {
        ++joint[3 * sign(a[i]) + sign(b[i])];
        first[sign(a[i])] += 1.0 / static_cast<double>(a.size());
        second[sign(b[i])] += 1.0 / static_cast<double>(b.size());
      }
      return testing::chi_square_p_value(joint, a.size(), 0, 8, [&](std::int64_t code) {
        return first[static_cast<int>(code / 3)] * second[static_cast<int>(code % 3)];
      });
    };
    EXPECT_GT(joint_p_value(noise[0], noise[1]), kAlpha);
    EXPECT_GT(joint_p_value(noise[0], noise[2]), kAlpha);
    EXPECT_GT(joint_p_value(noise[1], noise[2]), kAlpha);
    Counts negated = noise[0];
    for (std::int64_t& x : negated) x = -x;
    EXPECT_LT(joint_p_value(noise[0], noise[0]), kAlpha);
    EXPECT_LT(joint_p_value(noise[0], negated), kAlpha);
  }
}

// --- Privacy ---------------------------------------------------------------------------------------------------------

struct Case {
  Neighbours neighbours;
  std::uint64_t bins_per_row;
  double l1;
  double l2;
};

// How far one unit can move the counts: its rows may all fall into the same bins, and a replaced unit leaves some bins
// and enters others.
const std::vector<Case> kCases = {
    {kAddRemove, 1, 1, 1},
    {kAddRemove, 4, 4, 2},
    {kReplaceOne, 1, 2, std::sqrt(2.0)},
    {kReplaceOne, 8, 16, 4},
    {{Adjacency::kAddRemove, PrivacyUnit::kPerson, Rows::of(3)}, 1, 3, 3},
    {{Adjacency::kAddRemove, PrivacyUnit::kPerson, Rows::of(3)}, 4, 12, 6},
    {{Adjacency::kReplaceOne, PrivacyUnit::kPerson, Rows::of(3)}, 1, 6, 3 * std::sqrt(2.0)},
};

TEST(Histogram, LaplaceNoiseCoversTheL1Norm) {
  for (const Case& one : kCases) {
    for (double epsilon : {0.01, 0.3, 1.0, 7.0}) {
      const HistogramMechanism made = histogram(one.neighbours, 20, epsilon, 0, one.bins_per_row);
      const auto event = std::get<DiscreteLaplaceEvent>(made.statement().event.kind());
      EXPECT_EQ(event.l1_sensitivity.value(), one.l1);
      EXPECT_EQ(event.scale.value(), made.noise_scale());
      // The loss is L1 / scale: at most ε, exactly, and less by a rounding at most.
      EXPECT_GE(std::fma(event.scale.value(), epsilon, -one.l1), 0);
      EXPECT_LE(event.scale.value() * epsilon, one.l1 * (1 + 1e-15));
      EXPECT_EQ(made.statement().adjacency, one.neighbours.adjacency);
      EXPECT_EQ(made.statement().unit, one.neighbours.unit);
    }
  }
}

TEST(Histogram, GaussianNoiseCoversTheL2Norm) {
  for (const Case& one : kCases) {
    for (double epsilon : {0.1, 1.0, 7.0}) {
      const double delta = 1e-7;
      const HistogramMechanism made = histogram(one.neighbours, 20, epsilon, delta, one.bins_per_row);
      const auto event = std::get<DiscreteGaussianEvent>(made.statement().event.kind());
      const auto delta_of = [&](double multiplier) {
        return gaussian_delta(NoiseMultiplier::make(multiplier).value(), PrivacyLoss::make(epsilon).value()).upper;
      };
      // By the event and by the noise that is added; 0.1 % less would be too little.
      EXPECT_LE(delta_of(event.sigma.value() / event.l2_sensitivity.value()), delta);
      EXPECT_LE(delta_of(made.noise_scale() / one.l2), delta);
      EXPECT_GT(delta_of(made.noise_scale() / one.l2 / 1.001), delta);
      EXPECT_EQ(event.summands.value(), 1U);
      EXPECT_EQ(event.dimension.value(), 20U);
      EXPECT_EQ(made.statement().adjacency, one.neighbours.adjacency);
      EXPECT_EQ(made.statement().unit, one.neighbours.unit);
    }
  }
}

TEST(Histogram, ReplacingDoublesTheL1Norm) {
  EXPECT_NEAR(histogram(kReplaceOne, 5, 1, 0).noise_scale(), 2 * histogram(kAddRemove, 5, 1, 0).noise_scale(), 1e-12);
  EXPECT_NEAR(histogram(kReplaceOne, 5, 1, 1e-6).noise_scale(),
              std::sqrt(2.0) * histogram(kAddRemove, 5, 1, 1e-6).noise_scale(), 1e-4);
}

TEST(Histogram, GaussianNoiseIsTheLesserWhereAUnitTouchesManyBins) {
  const double laplace = std::sqrt(2.0) * histogram(kAddRemove, 500, 1, 0, 200).noise_scale();
  EXPECT_LT(histogram(kAddRemove, 500, 1, 1e-6, 200).noise_scale(), laplace);
}

// Counts that no double holds. Neighbours are 1 apart, so their results must look alike. Detects counts that are
// rounded to doubles before the noise is added: here they would come out 256 apart, at noise of 4.
TEST(Histogram, HugeCountsKeepTheirSensitivity) {
  for (double delta : {0.0, 1e-6}) {
    const HistogramMechanism made = histogram(kAddRemove, 1, 1, delta);
    const std::int64_t huge = (std::int64_t{1} << 60) + 128;
    ReplayRandom source = ReplayRandom::create(2).value();
    double difference = 0;
    for (int i = 0; i < 1000; ++i) {
      difference += static_cast<double>(made.release(Counts{huge + 1}, source).value().value()[0] - huge);
      difference -= static_cast<double>(made.release(Counts{huge}, source).value().value()[0] - huge);
    }
    EXPECT_LT(std::fabs(difference / 1000), 64) << delta;
  }
}

// --- Results ---------------------------------------------------------------------------------------------------------

TEST(Histogram, ResultsHaveOneWholeNumberForEachBin) {
  ReplayRandom source = ReplayRandom::create(3).value();
  for (double delta : {0.0, 1e-6}) {
    for (std::uint64_t bins : {1U, 2U, 1000U}) {
      const auto release = histogram(kAddRemove, bins, 1, delta).release(Counts(bins, 7), source).value();
      static_assert(std::is_same_v<std::decay_t<decltype(release.value())>, Counts>);
      EXPECT_EQ(release.value().size(), bins);
    }
  }
}

TEST(Histogram, ExtremeCountsDoNotOverflow) {
  ReplayRandom source = ReplayRandom::create(4).value();
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
  for (double delta : {0.0, 1e-6}) {
    const HistogramMechanism made = histogram(kAddRemove, 2, 0.1, delta);
    for (int i = 0; i < 100; ++i) {
      const auto release = made.release(Counts{kLow, kHigh}, source).value();
      EXPECT_LT(release.value()[0], -0x1p61);
      EXPECT_GT(release.value()[1], 0x1p61);
    }
  }
}

// Detects a bound that is too small by one, or by 10 % of the noise.
TEST(Histogram, TheErrorBoundHolds) {
  for (double delta : {0.0, 1e-6}) {
    const bool gaussian = delta > 0;
    const HistogramMechanism made = histogram(kAddRemove, 1, 0.2, delta);
    for (double confidence : {0.5, 0.9, 0.99}) {
      const double bound = made.error_bound(Confidence::make(confidence).value());
      const auto covered = [&](double reach) {
        double sum = 0;
        for (auto x = static_cast<std::int64_t>(-std::floor(reach)); static_cast<double>(x) <= reach; ++x) {
          sum += gaussian ? rounded_gaussian_pmf(made.noise_scale(), x) : laplace_pmf(made.noise_scale(), x);
        }
        return sum;
      };
      EXPECT_GE(covered(bound), confidence - 1e-12) << delta << ' ' << confidence;
      EXPECT_LT(covered(bound - 1 - 0.1 * made.noise_scale()), confidence) << delta << ' ' << confidence;
    }
  }
}

// --- Statements and bad input ----------------------------------------------------------------------------------------

TEST(Histogram, AReplayIsAnotherTypeAndSaysThatItIsNotPrivate) {
  SecureRandom secure = SecureRandom::create().value();
  ReplayRandom replay = ReplayRandom::create(5).value();
  for (double delta : {0.0, 1e-6}) {
    const HistogramMechanism made = histogram(kAddRemove, 2, 1, delta);
    const auto one = made.release(Counts{1, 2}, secure).value();
    const auto replayed = made.release(Counts{1, 2}, replay).value();
    using Private = std::decay_t<decltype(one)>;
    using Replayed = std::decay_t<decltype(replayed)>;
    static_assert(std::is_same_v<Private, PrivateRelease<Counts>>);
    static_assert(std::is_same_v<Replayed, ReplayedRelease<Counts>>);
    static_assert(!std::is_constructible_v<Private, Replayed> && !std::is_assignable_v<Private&, Replayed>);
    EXPECT_EQ(one.statement(), made.statement());
    EXPECT_FALSE(contains<NonPrivateEvent>(one.statement().event));
    EXPECT_TRUE(contains<NonPrivateEvent>(replayed.statement().event));
  }
}

TEST(Histogram, RefusesAnotherNumberOfBinsWithoutNamingCounts) {
  ReplayRandom source = ReplayRandom::create(6).value();
  for (double delta : {0.0, 1e-6}) {
    for (std::size_t size : {0U, 2U, 4U}) {
      const auto refused = histogram(kAddRemove, 3, 1, delta).release(Counts(size, 987654), source);
      ASSERT_FALSE(refused.has_value());
      expect_invalid(refused.error(), "got " + std::to_string(size));
    }
  }
}

TEST(Histogram, RefusesBadParameters) {
  for (double delta : {0.0, 1e-6}) {
    expect_invalid(try_histogram(kAddRemove, 3, 1, delta, 0).error(), "got 0");
    const Neighbours two_rows{Adjacency::kAddRemove, PrivacyUnit::kRow, Rows::of(2)};
    expect_invalid(try_histogram(two_rows, 3, 1, delta).error(), "got 2");
    for (double epsilon : {1e-300, 5e-324, 1e300}) {
      const Result<HistogramMechanism> made = try_histogram(kAddRemove, 3, epsilon, delta);
      ASSERT_FALSE(made.has_value()) << epsilon;
      EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
    }
  }
}

// The value that the caller gave, not one that was computed from it.
TEST(Histogram, RefusalsNameTheEpsilon) {
  for (double delta : {0.0, 1e-6}) {
    expect_invalid(try_histogram(kAddRemove, 3, 1e-300, delta).error(), "1e-300");
    const Result<HistogramMechanism> large = try_histogram(kAddRemove, 3, 1e9, delta);
    if (!large.has_value()) expect_invalid(large.error(), "1000000000");
  }
}

}  // namespace
}  // namespace noisefloor
