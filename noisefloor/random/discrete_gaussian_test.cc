#include "noisefloor/random/discrete_gaussian.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

using testing::kAlpha;
using testing::p_value_of_sampler;

NoiseScale scale(double sigma) { return NoiseScale::make(sigma).value(); }

// The exact probabilities, normalised by their sum.
class Law {
 public:
  explicit Law(double sigma) : sigma_(sigma) {
    for (auto x = -reach(); x <= reach(); ++x) sum_ += weight(x);
  }
  [[nodiscard]] std::int64_t reach() const { return static_cast<std::int64_t>(12 * sigma_ + 5); }
  [[nodiscard]] double operator()(std::int64_t x) const { return weight(x) / sum_; }

 private:
  [[nodiscard]] double weight(std::int64_t x) const {
    return std::exp(-static_cast<double>(x) * static_cast<double>(x) / (2 * sigma_ * sigma_));
  }
  double sigma_;
  double sum_ = 0;
};

double p_value(const std::function<std::int64_t()>& sampler, double sigma, std::uint64_t draws) {
  const Law law(sigma);
  return p_value_of_sampler(draws, sampler, -law.reach(), law.reach(), law);
}

// Detects sigma off by 3 % either way: below, at and above the width where blocks begin (32).
TEST(DiscreteGaussian, TableHasTheExactLaw) {
  for (double sigma : {0.3, 0.75, 1.0, 3.7, 31.9, 32.0, 77.7, 500.0}) {
    const DiscreteGaussian law = DiscreteGaussian::create(scale(sigma)).value();
    ReplayRandom stream = ReplayRandom::create(1).value();
    const auto sampler = [&] { return law.sample(stream); };
    EXPECT_GT(p_value(sampler, sigma, 1'000'000), kAlpha) << sigma;
    EXPECT_LT(p_value(sampler, sigma * 1.03, 1'000'000), kAlpha) << sigma;
    EXPECT_LT(p_value(sampler, sigma / 1.03, 1'000'000), kAlpha) << sigma;
  }
}

// The two samplers share no code but random bits. Detects sigma off by 5 %.
TEST(DiscreteGaussian, SingleDrawsHaveTheExactLaw) {
  for (double sigma : {0.3, 1.0, 3.7, 40.0}) {
    ReplayRandom stream = ReplayRandom::create(2).value();
    const auto sampler = [&] { return sample_discrete_gaussian(stream, scale(sigma)).value(); };
    EXPECT_GT(p_value(sampler, sigma, 100'000), kAlpha) << sigma;
    EXPECT_LT(p_value(sampler, sigma * 1.05, 100'000), kAlpha) << sigma;
  }
}

// At the sigma of mechanisms the law is normal to 1e-12; 200 bins of equal probability. Detects sigma off by 1 %, and a
// rejection step that keeps everything (a staircase instead of a bell, 0.8 % off within a block).
TEST(DiscreteGaussian, HasTheExactLawAtLargeSigma) {
  for (double sigma : {0x1p20 * 1.37, 0x1p33 * 1.01, 0x1p45 * 1.9, 0x1p52}) {
    const DiscreteGaussian law = DiscreteGaussian::create(scale(sigma)).value();
    const auto p_value_against = [&](double claimed) {
      ReplayRandom stream = ReplayRandom::create(3).value();
      return p_value_of_sampler(
          1'000'000,
          [&] {
            const double u = std::erfc(static_cast<double>(law.sample(stream)) / (claimed * std::sqrt(2.0))) / 2;
            return static_cast<std::int64_t>(u * 200);
          },
          0, 199, [](std::int64_t) { return 1.0 / 200; });
    };
    EXPECT_GT(p_value_against(sigma), kAlpha) << sigma;
    EXPECT_LT(p_value_against(sigma * 1.01), kAlpha) << sigma;
  }
}

// Within one block the low bits must follow the slope of the density. Mutant: uniform low bits.
TEST(DiscreteGaussian, LowBitsFollowTheDensityWithinABlock) {
  const double sigma = 0x1p20 * 1.01;  // blocks of 2^16
  const DiscreteGaussian law = DiscreteGaussian::create(scale(sigma)).value();
  ReplayRandom stream = ReplayRandom::create(4).value();
  constexpr std::int64_t width = 1 << 16;
  constexpr std::int64_t block = 32;  // about two standard deviations out: the density falls by 12 % over the block
  std::map<std::int64_t, std::uint64_t> counts;
  std::uint64_t draws = 0;
  for (int i = 0; i < 12'000'000; ++i) {
    const std::int64_t x = std::abs(law.sample(stream));
    if (x / width != block) continue;
    ++counts[x % width * 8 / width];
    ++draws;
  }
  const auto normal = [&](double x) { return std::erf(x / (sigma * std::sqrt(2.0))); };
  const double edge = block * width;
  const auto exact = [&](std::int64_t eighth) {
    const double step = width / 8.0;
    return (normal(edge + static_cast<double>(eighth + 1) * step) - normal(edge + static_cast<double>(eighth) * step)) /
           (normal(edge + width) - normal(edge));
  };
  EXPECT_GT(testing::chi_square_p_value(counts, draws, 0, 7, exact), kAlpha);
  EXPECT_LT(testing::chi_square_p_value(counts, draws, 0, 7, [](std::int64_t) { return 1.0 / 8; }), kAlpha);
}

// With a wide margin every draw is decided by 320 bits, which otherwise happens once in 10^9. Detects sigma off by 5 %.
TEST(DiscreteGaussian, TheWideDecisionHasTheExactLawToo) {
  const double sigma = 40;
  const DiscreteGaussian law = DiscreteGaussian::create(scale(sigma), 2).value();
  ReplayRandom stream = ReplayRandom::create(7).value();
  const auto sampler = [&] { return law.sample(stream); };
  EXPECT_GT(p_value(sampler, sigma, 60'000), kAlpha);
  EXPECT_LT(p_value(sampler, sigma * 1.05, 60'000), kAlpha);
}

TEST(DiscreteGaussian, FillIsTheSameStreamAsSample) {
  const DiscreteGaussian law = DiscreteGaussian::create(scale(1000)).value();
  ReplayRandom a = ReplayRandom::create(5).value();
  ReplayRandom b = ReplayRandom::create(5).value();
  std::vector<std::int64_t> filled(5000);
  law.fill(a, filled);
  for (std::int64_t x : filled) ASSERT_EQ(x, law.sample(b));
}

TEST(DiscreteGaussian, RefusesSigmaItCannotSample) {
  for (double bad : {0x1p-7, 0x1p53}) {
    EXPECT_FALSE(DiscreteGaussian::create(scale(bad)).has_value());
    ReplayRandom stream = ReplayRandom::create(6).value();
    EXPECT_FALSE(sample_discrete_gaussian(stream, scale(bad)).has_value());
  }
}

// The same as TableHasTheExactLaw with fifty times the draws. Detects sigma off by 0.2 %.
TEST(SlowDiscreteGaussian, TableHasTheExactLawToOnePartInFiveHundred) {
  for (double sigma : {1.0, 31.9, 77.7}) {
    const DiscreteGaussian law = DiscreteGaussian::create(scale(sigma)).value();
    ReplayRandom stream = ReplayRandom::create(8).value();
    const auto sampler = [&] { return law.sample(stream); };
    EXPECT_GT(p_value(sampler, sigma, 50'000'000), kAlpha) << sigma;
    EXPECT_LT(p_value(sampler, sigma * 1.002, 50'000'000), kAlpha) << sigma;
  }
}

}  // namespace
}  // namespace noisefloor
