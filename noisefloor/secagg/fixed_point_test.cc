#include "noisefloor/secagg/fixed_point.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/statistics.h"

namespace noisefloor::secagg {
namespace {

LaneVector sum_of(const FixedPoint& code, const std::vector<LaneVector>& parts) {
  LaneVector sum(code.dimension(), code.bits());
  std::vector<std::uint8_t> packed(packed_bytes(code.dimension(), code.bits()));
  for (const LaneVector& part : parts) {
    part.pack(packed);
    sum.add_packed(packed);
  }
  return sum;
}

TEST(FixedPoint, SumsToWithinAStepForEachClient) {
  ReplayRandom stream = ReplayRandom::create(1).value();
  const FixedPoint code = FixedPoint::create({.dimension = 50, .bound = 2, .step = 1e-4, .clients = 20}).value();
  EXPECT_EQ(code.dimension(), 50U);
  std::vector<double> truth(50);
  std::vector<LaneVector> parts;
  for (int client = 0; client < 20; ++client) {
    std::vector<double> values(50);
    for (std::size_t i = 0; i < 50; ++i) {
      values[i] = std::sin(static_cast<double>(client * 50) + static_cast<double>(i));
      truth[i] += values[i];
    }
    parts.push_back(code.encode(stream, values));
  }
  const FixedPoint::Sum sum = code.decode(sum_of(code, parts));
  for (std::size_t i = 0; i < 50; ++i) EXPECT_NEAR(sum.values[i], truth[i], 20 * 1e-4);
}

// The largest and the smallest sum there can be, for many shapes: the modulus never shows, and one bit fewer would.
TEST(FixedPoint, HasARangeThatHoldsEverySum) {
  ReplayRandom stream = ReplayRandom::create(2).value();
  for (const std::uint32_t clients : {1U, 2U, 3U, 10U, 63U, 64U, 65U}) {
    for (const double step : {1.0, 0.5, 0.3, 1e-3}) {
      for (const std::uint32_t weight : {0U, 1U, 7U}) {
        const FixedPoint code = FixedPoint::create({1, 1.0, step, clients, weight}).value();
        for (const double value : {1.0, -1.0, 1e300, -std::numeric_limits<double>::infinity()}) {
          std::vector<LaneVector> parts;
          for (std::uint32_t i = 0; i < clients; ++i)
            parts.push_back(code.encode(stream, std::vector<double>{value}, 100));
          const FixedPoint::Sum sum = code.decode(sum_of(code, parts));
          const double most = std::max(1U, weight);
          EXPECT_NEAR(sum.values[0], std::copysign(clients * most, value), clients * step) << clients << " " << step;
          EXPECT_EQ(sum.weight, clients * weight);
        }
        const double steps = std::ceil(std::max(1U, weight) / step);
        EXPECT_LE(std::exp2(code.bits() - 2), clients * (steps + 2));
      }
    }
  }
}

TEST(FixedPoint, ComputesWeightedMeans) {
  ReplayRandom stream = ReplayRandom::create(3).value();
  const FixedPoint code =
      FixedPoint::create({.dimension = 1, .bound = 10, .step = 1e-6, .clients = 3, .max_weight = 100}).value();
  EXPECT_EQ(code.dimension(), 2U);
  const std::vector<LaneVector> parts = {code.encode(stream, std::vector<double>{1}, 10),
                                         code.encode(stream, std::vector<double>{2}, 30),
                                         code.encode(stream, std::vector<double>{-4}, 60)};
  const FixedPoint::Sum sum = code.decode(sum_of(code, parts));
  EXPECT_EQ(sum.weight, 100U);
  EXPECT_NEAR(sum.values[0] / static_cast<double>(sum.weight), (10 + 60 - 240) / 100.0, 1e-6);
}

TEST(FixedPoint, CountsNanAsZero) {
  ReplayRandom stream = ReplayRandom::create(4).value();
  const FixedPoint code = FixedPoint::create({.dimension = 2, .bound = 1, .step = 0.25, .clients = 4}).value();
  const LaneVector vector = code.encode(stream, std::vector<double>{std::nan(""), -0.0});
  EXPECT_EQ(vector.get(0), 0U);
  EXPECT_EQ(vector.get(1), 0U);
}

// α = 1e-6; detects a rounding that favours one side by 1 %. The mutant rounds to nearest.
TEST(FixedPoint, RoundsWithoutBias) {
  ReplayRandom stream = ReplayRandom::create(5).value();
  for (const double value : {0.25, -0.25, 3.9, -7.01, 0.5}) {
    std::uint64_t up = 0;
    std::uint64_t nearest = 0;
    constexpr std::uint64_t draws = 100000;
    for (std::uint64_t i = 0; i < draws; ++i) {
      const std::int64_t rounded = round_at_random(stream, value);
      ASSERT_LT(std::fabs(static_cast<double>(rounded) - value), 1);
      up += static_cast<double>(rounded) > value ? 1 : 0;
      nearest += std::nearbyint(value) > value ? 1 : 0;
    }
    const double probability = value - std::floor(value);
    EXPECT_GT(testing::coin_p_value(up, draws, probability), testing::kAlpha) << value;
    EXPECT_LT(testing::coin_p_value(nearest, draws, probability), testing::kAlpha) << value;
  }
  EXPECT_EQ(round_at_random(stream, 5), 5);
}

TEST(FixedPoint, RefusesBadOptions) {
  const FixedPointOptions good{.dimension = 1, .bound = 1, .step = 0.1, .clients = 2};
  EXPECT_TRUE(FixedPoint::create(good).has_value());
  const auto refused = [&](auto change) {
    FixedPointOptions bad = good;
    change(bad);
    return !FixedPoint::create(bad).has_value();
  };
  EXPECT_TRUE(refused([](auto& o) { o.dimension = 0; }));
  EXPECT_TRUE(refused([](auto& o) { o.dimension = kMaxDimension; }));
  EXPECT_TRUE(refused([](auto& o) { o.bound = -1; }));
  EXPECT_TRUE(refused([](auto& o) { o.bound = std::nan(""); }));
  EXPECT_TRUE(refused([](auto& o) { o.step = 0; }));
  EXPECT_TRUE(refused([](auto& o) { o.step = 1e-30; }));
  EXPECT_TRUE(refused([](auto& o) { o.clients = 0; }));
  EXPECT_TRUE(refused([](auto& o) {
    o.step = 1e-15;
    o.clients = 100000;
    o.max_weight = 1000;
  }));
}

}  // namespace
}  // namespace noisefloor::secagg
