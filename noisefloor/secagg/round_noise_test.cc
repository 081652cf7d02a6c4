#include "noisefloor/secagg/round_noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "noisefloor/secagg/simulation.h"

namespace noisefloor::secagg {
namespace {

constexpr std::uint32_t kClients = 10;

NoiseContract some_noise() {
  return {NoiseLaw::kSkellam, 5, ClipNorm::of(1), NoiseMultiplier::of(1.5), 2, blake2b("round 1")};
}

RoundConfig noisy_config(const Cohort& cohort) {
  RoundConfig config = cohort.config(1, {kClients - 1, 7, 0, 0}, ThreatModel::kLyingServer, 8, 8, 24);
  config.noise = some_noise();
  return config;
}

Policy policy_with(double multiplier, double corrupt = 0.2) {
  Policy policy;
  policy.corrupt = corrupt;
  policy.drop = 0;
  policy.noise = NoiseMultiplier::make(multiplier).value();
  return policy;
}

// A whole round with real randomness: noise in the sum as the configuration says, and a statement for it.
TEST(RoundNoise, ARoundHasTheNoiseOfItsConfiguration) {
  SecureRandom stream = SecureRandom::create().value();
  const Cohort cohort = Cohort::draw(kClients, stream);
  const RoundConfig config = noisy_config(cohort);
  const DistributedNoise code = noise_of(config).value();
  RecordingNetwork network;
  network.silence(4, MessageType::kMaskedInput);
  const std::vector<double> values(5, 0.25);
  const auto input = [&](std::uint32_t) { return code.encode(stream, values); };
  const RoundOutcome outcome = simulate_round(cohort, config, policy_with(1.5), input, stream, network).value();
  ASSERT_TRUE(outcome.sum.has_value());
  const DpStatement statement = statement_of(config, static_cast<std::uint32_t>(outcome.survivors.size())).value();
  // 9 survivors, 2 of whom may leave their noise out, where 8 were planned for: 7 shares of 6.
  const double planned = std::pow(1.5 / code.granularity(), 2);
  const double stated = std::get<SkellamEvent>(statement.event.kind()).variance.value();
  EXPECT_NEAR(stated, planned * 7 / 6, 1e-6 * planned);
  for (const double sum : code.decode(*outcome.sum)) EXPECT_LT(std::fabs(sum - 9 * 0.25), 20 * 1.5);
}

TEST(RoundNoise, HasNoStatementBelowTheMinimumCohortNorForReplayedRounds) {
  SecureRandom secure = SecureRandom::create().value();
  RoundConfig config = noisy_config(Cohort::draw(kClients, secure));
  EXPECT_TRUE(statement_of(config, 8).has_value());
  EXPECT_FALSE(statement_of(config, 7).has_value());  // such a round has no sum either
  EXPECT_FALSE(statement_of(config, 11).has_value());
  RoundConfig replayed = config;
  replayed.replayed = true;
  EXPECT_EQ(statement_of(replayed, 10).error().code, ErrorCode::kProtocol);
  config.noise.reset();
  EXPECT_FALSE(statement_of(config, 10).has_value());
}

// The configuration is what a client checks: everything that the statement rests on is signed with its keys.
TEST(RoundNoise, AClientRefusesLessNoiseThanItInsistsOn) {
  SecureRandom stream = SecureRandom::create().value();
  const Cohort cohort = Cohort::draw(kClients, stream);
  const auto joins = [&](const RoundConfig& config, const Policy& policy) {
    return Client::join(config, cohort.registry, 0, cohort.keys[0], policy, stream);
  };
  const RoundConfig config = noisy_config(cohort);
  const Error refused = error_of(AbortReason::kNoiseRefused);
  EXPECT_TRUE(joins(config, policy_with(1.5)).has_value());
  EXPECT_EQ(joins(config, policy_with(1.6)).error(), refused);
  RoundConfig lie = config;
  lie.noise.reset();
  EXPECT_EQ(joins(lie, policy_with(1.5)).error(), refused);
  Policy none = policy_with(1.5);
  none.noise.reset();
  EXPECT_TRUE(joins(lie, none).has_value());
  // Colluders are at least the clients that the policy counts as corrupt, also for a client that needs no noise.
  lie = config;
  lie.noise->colluders = 1;
  EXPECT_EQ(joins(lie, policy_with(1.5)).error(), refused);
  EXPECT_EQ(joins(lie, none).error(), refused);
  // A modulus in which the noise does not fit.
  lie = config;
  lie.bits = 3;
  EXPECT_EQ(joins(lie, none).error(), refused);
  // A minimum cohort of no more than the colluders: there would be no noise.
  lie = config;
  lie.noise->colluders = 8;
  EXPECT_EQ(joins(lie, none).error(), error_of(AbortReason::kConfigurationRefused));
}

// A client that draws from a seed in a round that is not replayed would break the statement, and the other way round.
TEST(RoundNoise, ReplayedStreamsJoinReplayedRoundsOnly) {
  SecureRandom secure = SecureRandom::create().value();
  ReplayRandom replay = ReplayRandom::create(1).value();
  const Cohort cohort = Cohort::draw(kClients, secure);
  RoundConfig config = noisy_config(cohort);
  const Policy policy = policy_with(1);
  EXPECT_EQ(Client::join(config, cohort.registry, 0, cohort.keys[0], policy, replay).error(),
            error_of(AbortReason::kReplayRefused));
  config.replayed = true;
  EXPECT_EQ(Client::join(config, cohort.registry, 0, cohort.keys[0], policy, secure).error(),
            error_of(AbortReason::kReplayRefused));
  EXPECT_TRUE(Client::join(config, cohort.registry, 0, cohort.keys[0], policy, replay).has_value());
  EXPECT_TRUE(Cohort::draw(kClients, replay).config(1, {9, 7, 0, 0}, ThreatModel::kLyingServer, 8, 8, 24).replayed);
}

// 10^4 clients, 2^16 numbers, 16 bits: the sensitivity is half as much again as the clip norm; three bits mend it.
TEST(RoundNoise, PlansSayHowMuchRoundingCosts) {
  const auto plan = [](std::uint32_t clients, std::uint64_t dimension, unsigned bits) {
    return plan_noise({.dimension = dimension,
                       .clip = ClipNorm::of(3),
                       .noise_multiplier = NoiseMultiplier::of(1),
                       .clients = clients,
                       .minimum_survivors = clients - clients / 5,
                       .colluders = clients / 10,
                       .bits = bits})
        .value();
  };
  const NoisePlan coarse = plan(10'000, 1U << 16, 16);
  EXPECT_NEAR(coarse.inflation, 1.52, 0.005);
  EXPECT_EQ(coarse.bits_for_little, 19U);
  EXPECT_LE(plan(10'000, 1U << 16, 19).inflation, kLittleInflation);
  EXPECT_GT(plan(10'000, 1U << 16, 18).inflation, kLittleInflation);
  EXPECT_LT(plan(1'000, 1U << 16, 16).inflation, 1.02);
}

}  // namespace
}  // namespace noisefloor::secagg
