#include "noisefloor/federated/row_noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/federated/exact_sum.h"
#include "noisefloor/random/gaussian_vector.h"
#include "tests/support/refusal.h"

namespace noisefloor::federated {
namespace {

using noisefloor::testing::expect_invalid;

RowNoiseOptions options_for(std::uint32_t sites, std::uint32_t least, std::uint32_t colluders) {
  return {.clip = ClipNorm::of(0.7),
          .noise = NoiseMultiplier::of(3),
          .parameters = 50,
          .rows = 500,
          .sites = sites,
          .minimum_survivors = least,
          .colluders = colluders};
}

TEST(RowNoise, OneRowMovesTheSumByNoMoreThanTheBound) {
  const RowNoise noise = RowNoise::create(options_for(5, 5, 0)).value();
  auto random = ReplayRandom::create(1).value();
  for (const float scale : {0.01F, 0.0989F, 0.1F, 1.0F, 1e30F}) {
    std::vector<float> gradient(50);
    fill_gaussian(random, gradient, scale);
    gradient[0] = std::nextafter(gradient[0], 1.0F);
    std::vector<std::int64_t> sum(50);
    noise.grid().add_rounded(gradient, sum);
    double squares = 0;
    for (const std::int64_t value : sum) squares += static_cast<double>(value) * static_cast<double>(value);
    EXPECT_LE(std::sqrt(squares), noise.bound());
  }
  EXPECT_NEAR(noise.bound() * noise.grid().step(), 0.7, 0.7 * 0.03) << "rounding costs little";
}

// The variance of the sum's noise is at least what the event says, with dropouts and with colluders removed.
TEST(RowNoise, TheSumHasTheNoiseOfItsEvent) {
  const RowNoise noise = RowNoise::create(options_for(6, 4, 1)).value();
  auto random = ReplayRandom::create(2).value();
  constexpr int kSums = 400;  // of 50 coordinates each
  for (const std::uint32_t survivors : {4U, 6U}) {
    const DpEvent event = noise.event(survivors).value();
    const auto& stated = std::get<DiscreteGaussianEvent>(event.kind());
    EXPECT_EQ(stated.summands.value(), survivors - 1);
    const double variance = std::pow(stated.sigma.value(), 2) * static_cast<double>(survivors - 1);
    EXPECT_GE(variance, std::pow(3 * noise.bound(), 2) * static_cast<double>(survivors - 1) / 3 * (1 - 1e-9));
    double squares = 0;
    for (int i = 0; i < kSums; ++i) {
      ExactSum sum(50);
      for (std::uint32_t site = 1; site < survivors; ++site) {  // site 0 leaves its noise out
        std::vector<std::int64_t> own(50);
        noise.add_share(random, own);
        sum.add(noise.lanes_of(own));
      }
      for (const double value : noise.decode(sum.value())) squares += std::pow(value / noise.grid().step(), 2);
    }
    // 20,000 draws: α = 1e-6 at ± 4.9 · √(2/20000).
    const double ratio = squares / (50.0 * kSums) / variance;
    EXPECT_NEAR(ratio, 1, 0.049) << survivors;
    EXPECT_LT(ratio * (survivors - 2.0) / (survivors - 1.0), 1 - 0.049) << "a share that is missing shows";
  }
  expect_invalid(noise.event(3).error(), "fewer than 4");
}

TEST(RowNoise, SumsAreExactAndWrapWithoutHarm) {
  const RowNoise noise = RowNoise::create(options_for(3, 3, 0)).value();
  std::vector<std::int64_t> one(50, 5'000'000);
  std::vector<std::int64_t> two(50, 6'000'000);
  std::vector<std::int64_t> three(50, -10'999'999);
  one[1] = -8'388'608;
  two[1] = 8'388'607;
  three[1] = 2;
  ExactSum sum(50);
  for (const auto& own : {one, two, three}) {
    const std::vector<float> lanes = noise.lanes_of(own);
    ASSERT_TRUE(ExactSum::holds(lanes));
    sum.add(lanes);
  }
  const std::vector<double> decoded = noise.decode(sum.value());
  EXPECT_EQ(decoded[0], 1 * noise.grid().step()) << "single lanes are out of range, and the sum is not";
  EXPECT_EQ(decoded[1], 1 * noise.grid().step());
}

TEST(RowNoise, CostsWhatGaussianNoiseOfThatSizeCosts) {
  for (const std::uint32_t sites : {1U, 3U, 40U}) {
    const RowNoise noise = RowNoise::create(options_for(sites, sites, 0)).value();
    const auto run = [](DpEvent step) -> DpEvent {
      return SelfComposedEvent{Steps::of(200), PoissonSampledEvent{SamplingRate::of(0.25), std::move(step)}};
    };
    const Interval shares =
        pld_epsilon(run(noise.event(sites).value()), Adjacency::kAddRemove, Delta::of(1e-3)).value();
    const Interval whole =
        pld_epsilon(run(GaussianEvent{NoiseMultiplier::of(3)}), Adjacency::kAddRemove, Delta::of(1e-3)).value();
    EXPECT_NEAR(shares.upper, whole.upper, 1e-4) << sites;
    EXPECT_GE(shares.upper, whole.lower) << sites;
  }
}

TEST(RowNoise, RefusesWhatCouldNotProtect) {
  expect_invalid(RowNoise::create(options_for(5, 2, 2)).error(), "collude");
  expect_invalid(RowNoise::create(options_for(5, 6, 0)).error(), "survive");
  RowNoiseOptions many = options_for(5, 5, 0);
  many.rows = 10'000'000;
  expect_invalid(RowNoise::create(many).error(), "too few");
  many.rows = 0;
  expect_invalid(RowNoise::create(many).error(), "how many rows");
}

}  // namespace
}  // namespace noisefloor::federated
