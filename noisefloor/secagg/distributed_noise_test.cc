#include "noisefloor/secagg/distributed_noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "noisefloor/accounting/rdp.h"
#include "tests/support/statistics.h"

namespace noisefloor::secagg {
namespace {

DistributedNoiseOptions options(NoiseLaw law, double multiplier = 1) {
  return {.law = law,
          .dimension = 300,
          .clip = ClipNorm::of(2),
          .noise_multiplier = NoiseMultiplier::make(multiplier).value(),
          .clients = 20,
          .minimum_survivors = 16,
          .colluders = 2,
          .bits = 16};
}

LaneVector sum_of(const ReplayedNoise& code, ReplayRandom& stream, const std::vector<double>& values, int clients) {
  LaneVector sum(code.dimension(), code.bits());
  std::vector<std::uint8_t> packed(packed_bytes(code.dimension(), code.bits()));
  for (int i = 0; i < clients; ++i) {
    code.encode(stream, values).pack(packed);
    sum.add_packed(packed);
  }
  return sum;
}

std::vector<double> some_values(double length) {
  std::vector<double> values(300);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i));
  double squares = 0;
  for (const double value : values) squares += value * value;
  for (double& value : values) value *= length / std::sqrt(squares);
  return values;
}

TEST(DistributedNoise, SumsTheVectorsWithThePlannedNoise) {
  for (const NoiseLaw law : {NoiseLaw::kSkellam, NoiseLaw::kDiscreteGaussian}) {
    ReplayRandom stream = ReplayRandom::create(1).value();
    const ReplayedNoise code(DistributedNoise::create(options(law), blake2b("round 1")).value());
    EXPECT_EQ(code.dimension(), 512U);
    const std::vector<double> values = some_values(1.5);
    double squares = 0;
    constexpr int rounds = 40;
    for (int round = 0; round < rounds; ++round) {
      const std::vector<double> sum = code.decode(sum_of(code, stream, values, 16));
      ASSERT_EQ(sum.size(), 300U);
      for (std::size_t i = 0; i < sum.size(); ++i) squares += std::pow(sum[i] - 16 * values[i], 2);
    }
    // σ = 1 · 2 with 14 shares; here there are 16. α = 1e-6: 5 standard deviations of a mean of 12,000 squares; without
    // noise it would be 0, and with one share 1/16.
    const double expected = 4 * 16.0 / 14;
    EXPECT_NEAR(squares / (rounds * 300), expected, expected * 5 * std::sqrt(2.0 / (rounds * 300)));
  }
}

TEST(DistributedNoise, ClipsVectors) {
  ReplayRandom stream = ReplayRandom::create(2).value();
  const ReplayedNoise code(DistributedNoise::create(options(NoiseLaw::kSkellam, 0.01), blake2b("x")).value());
  const std::vector<double> sum = code.decode(sum_of(code, stream, some_values(1000), 20));
  const std::vector<double> clipped = some_values(2);
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], 20 * clipped[i], 0.3);
  // NaN counts as 0, and large values do not overflow.
  std::vector<double> odd(300, std::nan(""));
  for (const double value : code.decode(sum_of(code, stream, odd, 20))) EXPECT_NEAR(value, 0, 0.3);
  odd.assign(300, std::numeric_limits<double>::infinity());
  for (const double value : code.decode(sum_of(code, stream, odd, 20))) EXPECT_NEAR(value, 0, 0.3);
  odd.assign(300, 1e300);
  for (const double value : code.decode(sum_of(code, stream, odd, 20)))
    EXPECT_NEAR(value, 20 * 2 / std::sqrt(300), 0.3);
}

// With little noise the integers themselves are visible: they keep the bounds that the event states.
TEST(DistributedNoise, KeepsTheBoundsOfIntegers) {
  ReplayRandom stream = ReplayRandom::create(3).value();
  for (const unsigned bits : {14U, 16U, 20U}) {
    DistributedNoiseOptions some = options(NoiseLaw::kDiscreteGaussian, 1e-3);
    some.bits = bits;
    const ReplayedNoise code(DistributedNoise::create(some, blake2b("x")).value());
    EXPECT_LE(code.l2_sensitivity(), some.clip.value() / code.granularity() + std::sqrt(512) + 1e-6);
    EXPECT_GE(code.l2_sensitivity(), some.clip.value() / code.granularity());
    EXPECT_LE(code.l1_sensitivity(), code.l2_sensitivity() * code.l2_sensitivity() * (1 + 1e-9));
    for (int i = 0; i < 50; ++i) {
      const LaneVector vector = code.encode(stream, some_values(2));
      double squares = 0;
      double sum = 0;
      for (std::uint64_t k = 0; k < vector.dimension(); ++k) {
        const auto value = static_cast<double>(vector.get_signed(k));
        squares += value * value;
        sum += std::fabs(value);
      }
      // 512 coordinates of noise, a standard deviation of at most 1e-3 of the clip norm over √14 each: 6 times its
      // length.
      const double noise = 6 * std::sqrt(512) * std::max(1.0, 1e-3 * 2 / code.granularity() / std::sqrt(14));
      EXPECT_LE(std::sqrt(squares), code.l2_sensitivity() + noise) << bits;
      EXPECT_LE(sum, code.l1_sensitivity() + noise * std::sqrt(512)) << bits;
    }
  }
}

TEST(DistributedNoise, StatesTheNoiseOfSurvivorsMinusColluders) {
  const DistributedNoise skellam = DistributedNoise::create(options(NoiseLaw::kSkellam), blake2b("x")).value();
  const DpStatement all = skellam.statement(20).value();
  EXPECT_EQ(all.adjacency, Adjacency::kAddRemove);
  EXPECT_EQ(all.unit, PrivacyUnit::kPerson);
  const auto variance = [](const DpStatement& s) { return std::get<SkellamEvent>(s.event.kind()).variance.value(); };
  EXPECT_NEAR(variance(all) / variance(skellam.statement(16).value()), 18.0 / 14, 1e-9);
  const double planned = std::pow(2 / skellam.granularity(), 2);  // (1 · clip / γ)²
  EXPECT_NEAR(variance(skellam.statement(16).value()), planned, 1e-9 * planned);
  const DistributedNoise gaussian =
      DistributedNoise::create(options(NoiseLaw::kDiscreteGaussian), blake2b("x")).value();
  const DpStatement statement = gaussian.statement(17).value();
  EXPECT_EQ(std::get<DiscreteGaussianEvent>(statement.event.kind()).summands.value(), 15U);
  // Too few: nothing may be released.
  for (const DistributedNoise* code : {&skellam, &gaussian}) {
    EXPECT_EQ(code->statement(15).error().code, ErrorCode::kProtocol);
    EXPECT_FALSE(code->statement(21).has_value());
  }
}

// The ε of the sum is little above that of a Gaussian of the same multiplier, and falls with more survivors.
TEST(DistributedNoise, CostsLittleMoreThanAGaussian) {
  const double gaussian =
      renyi_epsilon(GaussianEvent{NoiseMultiplier::of(1)}, Adjacency::kAddRemove, Delta::of(1e-5)).value().epsilon;
  for (const NoiseLaw law : {NoiseLaw::kSkellam, NoiseLaw::kDiscreteGaussian}) {
    DistributedNoiseOptions some = options(law);
    some.bits = 20;
    const DistributedNoise code = DistributedNoise::create(some, blake2b("x")).value();
    const auto epsilon = [&](std::uint32_t survivors) {
      return renyi_epsilon(code.statement(survivors).value().event, Adjacency::kAddRemove, Delta::of(1e-5))
          .value()
          .epsilon;
    };
    EXPECT_GE(epsilon(16), gaussian);
    EXPECT_LE(epsilon(16), 1.02 * gaussian);
    EXPECT_LT(epsilon(20), epsilon(16));
  }
}

// 16 bits do for a thousand clients and a million coordinates.
TEST(DistributedNoise, NeedsOnlySixteenBits) {
  const DistributedNoiseOptions large{.law = NoiseLaw::kSkellam,
                                      .dimension = 1U << 20,
                                      .clip = ClipNorm::of(1),
                                      .noise_multiplier = NoiseMultiplier::of(1),
                                      .clients = 1000,
                                      .minimum_survivors = 800,
                                      .colluders = 100,
                                      .bits = 16,
                                      .log2_wrap = -20};
  const DistributedNoise code = DistributedNoise::create(large, blake2b("x")).value();
  EXPECT_LT(code.l2_sensitivity() * code.granularity(), 1.03);
}

// A replayed stream gives vectors, but no statement: neither type has both.
template <class Code>
concept HasStatement = requires(const Code& code) {
  code.statement(3U);
};
template <class Code, class Stream>
concept Encodes = requires(const Code& code, Stream& stream, std::span<const double> values) {
  code.encode(stream, values);
};
// More bits than are needed do no harm: the grid is no finer than one on which the noise can be drawn.
TEST(DistributedNoise, TakesAllBitsThereAre) {
  for (const NoiseLaw law : {NoiseLaw::kSkellam, NoiseLaw::kDiscreteGaussian}) {
    double last = 1;
    for (unsigned bits = 12; bits <= 62; ++bits) {
      const auto code = DistributedNoise::create({.law = law,
                                                  .dimension = 5,
                                                  .clip = ClipNorm::of(1),
                                                  .noise_multiplier = NoiseMultiplier::of(1.5),
                                                  .clients = 10,
                                                  .minimum_survivors = 8,
                                                  .colluders = 2,
                                                  .bits = bits},
                                                 blake2b("bits"));
      ASSERT_TRUE(code.has_value()) << bits << " " << code.error().message;
      EXPECT_LE(code.value().granularity(), last) << bits;
      last = code.value().granularity();
      EXPECT_TRUE(code.value().statement(9).has_value());
    }
  }
}

TEST(DistributedNoise, HasNoStatementForReplayedNoise) {
  static_assert(HasStatement<DistributedNoise> && !HasStatement<ReplayedNoise>);
  static_assert(Encodes<DistributedNoise, SecureRandom> && Encodes<ReplayedNoise, ReplayRandom>);
  static_assert(!Encodes<DistributedNoise, ReplayRandom> && !Encodes<DistributedNoise, BitStream>);
  static_assert(!Encodes<ReplayedNoise, SecureRandom>);
  SecureRandom stream = SecureRandom::create().value();
  const DistributedNoise code = DistributedNoise::create(options(NoiseLaw::kSkellam), blake2b("x")).value();
  EXPECT_NE(code.encode(stream, some_values(1)), code.encode(stream, some_values(1)));
}

TEST(DistributedNoise, RefusesBadOptions) {
  const auto refused = [&](auto change) {
    DistributedNoiseOptions bad = options(NoiseLaw::kSkellam);
    change(bad);
    return !DistributedNoise::create(bad, blake2b("x")).has_value();
  };
  EXPECT_TRUE(refused([](auto& o) { o.dimension = 0; }));
  EXPECT_TRUE(refused([](auto& o) { o.colluders = 16; }));
  EXPECT_TRUE(refused([](auto& o) { o.minimum_survivors = 21; }));
  EXPECT_TRUE(refused([](auto& o) { o.bits = 1; }));
  EXPECT_TRUE(refused([](auto& o) { o.bits = 63; }));
  EXPECT_TRUE(refused([](auto& o) { o.bits = 3; }));
  EXPECT_TRUE(refused([](auto& o) { o.log2_wrap = 0; }));
}

}  // namespace
}  // namespace noisefloor::secagg
