#include "noisefloor/mechanisms/laplace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "noisefloor/mechanisms/geometric.h"
#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

using testing::kAlpha;
using testing::p_value_of_sampler;

Sensitivity scalar(double change, Adjacency adjacency = Adjacency::kAddRemove) {
  return Sensitivity::of_scalar({adjacency, PrivacyUnit::kRow, Rows::of(1)}, change).value();
}

LaplaceMechanism mechanism(double sensitivity, double epsilon) {
  return LaplaceMechanism::create(scalar(sensitivity), Epsilon::make(epsilon).value()).value();
}

// 128 bins of equal probability under the continuous law. Detects a scale off by 3 %.
TEST(Laplace, NoiseHasTheScaleOfTheTextbook) {
  const auto p_value_against = [](double claimed) {
    ReplayRandom source = ReplayRandom::create(1).value();
    const LaplaceMechanism laplace = mechanism(1, 0.5);
    return p_value_of_sampler(
        300'000,
        [&] {
          const double noise = laplace.release(342.0, source).value().value() - 342;
          const auto bin = static_cast<std::int64_t>(std::exp(-std::fabs(noise) / claimed) * 63.999);
          return noise < 0 ? -bin - 1 : bin;
        },
        -64, 63, [](std::int64_t) { return 1.0 / 128; });
  };
  EXPECT_GT(p_value_against(2), kAlpha);
  EXPECT_LT(p_value_against(2 * 1.03), kAlpha);
  EXPECT_LT(p_value_against(2 / 1.03), kAlpha);
}

// --- The low bits of floating-point noise (Mironov 2012)
// -----------------------------------------------------------------

// What a textbook program does.
double naive_release(double answer, double scale, BitStream& stream) {
  const double u = (static_cast<double>(stream.next_u64() >> 11) + 0.5) * 0x1p-53;
  const double sign = (stream.next_u64() & 1) != 0 ? -1 : 1;
  return answer + sign * scale * std::log(u);
}

// Guesses from one output whether the answer was 0 or 1: near 0 a double sum with 1 has no bits below 2^-53.
bool betrays_zero(double output) {
  const double scaled = std::ldexp(output, 53);
  return std::fabs(output) < 1 && scaled != std::floor(scaled);
}

template <class Mechanism>
double rate_of_betrayal(const Mechanism& run, double answer) {
  int hits = 0;
  constexpr int draws = 100'000;
  for (int i = 0; i < draws; ++i) hits += betrays_zero(run(answer)) ? 1 : 0;
  return hits / static_cast<double>(draws);
}

// The attack tells 0 from 1 in a quarter of all outputs of naive noise, with certainty and at ε = 1; of ours, never.
TEST(Laplace, NaiveFloatNoiseBetraysTheAnswerByItsLowBitsAndOursDoesNot) {
  ReplayRandom source = ReplayRandom::create(2).value();
  const auto naive = [&](double answer) { return naive_release(answer, 1, source); };
  EXPECT_GT(rate_of_betrayal(naive, 0), 0.25);
  EXPECT_EQ(rate_of_betrayal(naive, 1), 0);

  const LaplaceMechanism laplace = mechanism(1, 1);
  const auto ours = [&](double answer) { return laplace.release(answer, source).value().value(); };
  EXPECT_EQ(rate_of_betrayal(ours, 0), 0);
  EXPECT_EQ(rate_of_betrayal(ours, 1), 0);
}

TEST(Laplace, EveryOutputIsAMultipleOfThePublicGridWhateverTheAnswer) {
  ReplayRandom source = ReplayRandom::create(3).value();
  const LaplaceMechanism laplace = mechanism(1, 0.1);
  for (double answer : {0.0, 1.0, 1.0 / 3, 1e-30, 12345.678, -7e11, 1e300, -0.0}) {
    for (int i = 0; i < 100; ++i) {
      const double steps = laplace.release(answer, source).value().value() / laplace.lattice().step();
      EXPECT_EQ(steps, std::floor(steps)) << answer;
    }
  }
}

TEST(Laplace, DataThatAreNotNumbersCauseNoError) {
  ReplayRandom source = ReplayRandom::create(4).value();
  const LaplaceMechanism laplace = mechanism(1, 1);
  for (double answer : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -1e308}) {
    EXPECT_TRUE(std::isfinite(laplace.release(answer, source).value().value()));
  }
}

TEST(Laplace, StatesWhatItDid) {
  const LaplaceMechanism laplace =
      LaplaceMechanism::create(scalar(2, Adjacency::kReplaceOne), Epsilon::of(0.5)).value();
  EXPECT_EQ(laplace.statement().adjacency, Adjacency::kReplaceOne);
  const auto& event = std::get<DiscreteLaplaceEvent>(laplace.statement().event.kind());
  EXPECT_EQ(event.l1_sensitivity.value() / event.scale.value(), 0.5);
  EXPECT_EQ(laplace.scale(), 4);
}

TEST(Laplace, ErrorBoundCoversAsOftenAsItSays) {
  ReplayRandom source = ReplayRandom::create(5).value();
  const LaplaceMechanism laplace = mechanism(1, 0.5);
  const double bound = laplace.error_bound(Confidence::of(0.95));
  EXPECT_NEAR(bound, 2 * std::log(20.0), 1e-6);
  std::uint64_t covered = 0;
  constexpr std::uint64_t draws = 200'000;
  for (std::uint64_t i = 0; i < draws; ++i) {
    covered += std::fabs(laplace.release(0.1, source).value().value() - 0.1) <= bound ? 1U : 0U;
  }
  EXPECT_GT(testing::coin_p_value(covered, draws, 0.95), kAlpha);
  EXPECT_LT(testing::coin_p_value(covered, draws, 0.955), kAlpha);
}

TEST(Laplace, VectorsGetIndependentNoiseAndTheRightSize) {
  ReplayRandom source = ReplayRandom::create(6).value();
  const LaplaceMechanism laplace = LaplaceMechanism::create(scalar(1), Epsilon::of(1), Dimension::of(4)).value();
  const std::vector<double> answer = {1, 2, 3, 4};
  const auto release = laplace.release(std::span<const double>(answer), source).value();
  ASSERT_EQ(release.value().size(), 4U);
  EXPECT_NE(release.value()[0] - 1, release.value()[1] - 2);
  EXPECT_EQ(laplace.release(std::span<const double>(answer).first(3), source).error().message,
            "the mechanism was calibrated for 4 numbers; got 3");
  EXPECT_FALSE(laplace.release(1.0, source).has_value());
}

// --- Secure and replayed releases
// --------------------------------------------------------------------------------------------

TEST(Release, ReplayedNoiseIsAnotherTypeAndSaysThatItIsNotPrivate) {
  const LaplaceMechanism laplace = mechanism(1, 1);
  SecureRandom secure = SecureRandom::create().value();
  ReplayRandom replay = ReplayRandom::create(7).value();
  const PrivateRelease<double> real = laplace.release(1.0, secure).value();
  const ReplayedRelease<double> replayed = laplace.release(1.0, replay).value();
  static_assert(!std::is_convertible_v<ReplayedRelease<double>, PrivateRelease<double>>);
  static_assert(!std::is_constructible_v<PrivateRelease<double>, ReplayedRelease<double>>);
  EXPECT_FALSE(contains<NonPrivateEvent>(real.statement().event));
  EXPECT_TRUE(contains<NonPrivateEvent>(replayed.statement().event));
  EXPECT_EQ(real.statement(), laplace.statement());
}

// --- Geometric
// ----------------------------------------------------------------------------------------------------------------

// Detects ε off by 3 %.
TEST(Geometric, NeighbouringCountsHaveExactlyTheStatedOdds) {
  const auto p_value_against = [](double claimed) {
    ReplayRandom source = ReplayRandom::create(8).value();
    const GeometricMechanism geometric = GeometricMechanism::create(scalar(1), Epsilon::of(0.7)).value();
    const double r = std::exp(-claimed);
    return p_value_of_sampler(
        300'000, [&] { return geometric.release(std::int64_t{342}, source).value(); }, 342 - 60, 342 + 60,
        [&](std::int64_t x) { return (1 - r) / (1 + r) * std::pow(r, std::fabs(static_cast<double>(x - 342))); });
  };
  EXPECT_GT(p_value_against(0.7), kAlpha);
  EXPECT_LT(p_value_against(0.7 * 1.03), kAlpha);
}

TEST(Geometric, ScaleIsNeverBelowWhatEpsilonAllows) {
  for (double epsilon : {1e-9, 0.1, 0.3, 1.0 / 3, 0.7, 1.1, 12.0}) {
    for (double sensitivity : {1.0, 2.0, 7.0, 1000.0}) {
      const auto made = GeometricMechanism::create(scalar(sensitivity), Epsilon::make(epsilon).value());
      if (!made.has_value()) continue;
      EXPECT_GE(std::fma(made.value().scale(), epsilon, -sensitivity), 0);
      EXPECT_LE(made.value().scale(), sensitivity / epsilon * (1 + 1e-15));
    }
  }
}

TEST(Geometric, NeedsAWholeSensitivityAndSaturates) {
  EXPECT_FALSE(GeometricMechanism::create(scalar(1.5), Epsilon::of(1)).has_value());
  const GeometricMechanism geometric = GeometricMechanism::create(scalar(1), Epsilon::of(1e-6)).value();
  ReplayRandom source = ReplayRandom::create(9).value();
  for (int i = 0; i < 100; ++i) {
    EXPECT_GT(geometric.release(std::numeric_limits<std::int64_t>::max(), source).value(), 0);
    EXPECT_LT(geometric.release(std::numeric_limits<std::int64_t>::min(), source).value(), 0);
  }
}

}  // namespace
}  // namespace noisefloor
