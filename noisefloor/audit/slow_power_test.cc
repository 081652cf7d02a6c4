// How much of the truth audits see, and how often they say too much: the experiments whose results are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "noisefloor/audit/gaussian_curve.h"
#include "noisefloor/audit/one_run.h"
#include "noisefloor/audit/two_worlds.h"
#include "noisefloor/random/gaussian_vector.h"

namespace noisefloor::audit {
namespace {

const Delta kDelta = Delta::of(1e-5);
const Significance kFivePercent = Significance::of(0.05);

std::vector<float> normals(std::size_t count, BitStream& stream) {
  std::vector<float> drawn(count);
  fill_gaussian(stream, drawn, 1);
  return drawn;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Half of the runs choose a threshold, the other half are counted.
GuessCounts two_worlds(double mu, std::size_t runs, double threshold, BitStream& stream) {
  GuessCounts counts{0, runs / 2, 0, runs / 2};
  for (const float x : normals(runs / 2, stream)) counts.found += static_cast<double>(x) + mu > threshold ? 1U : 0U;
  for (const float x : normals(runs / 2, stream)) counts.false_alarms += static_cast<double>(x) > threshold ? 1U : 0U;
  return counts;
}

std::vector<ScoredCanary> canaries(double mu, std::size_t count, BitStream& stream) {
  std::vector<ScoredCanary> made;
  for (const float x : normals(count, stream)) {
    const bool in = (stream.next_u64() >> 63) != 0;
    made.push_back({static_cast<double>(x) + (in ? mu : 0), in});
  }
  return made;
}

// A thousand audits of each kind, of a Gaussian mechanism whose ε is known: at 95 % confidence none of the bounds is
// above the truth in more than 5 % of them.
TEST(SlowAuditPower, IsAboveTheTruthInNoMoreThanFivePercent) {
  for (const double epsilon : {0.5, 1.0, 3.0}) {
    ReplayRandom stream = ReplayRandom::create(static_cast<std::uint64_t>(1000 * epsilon)).value();
    const double mu = mu_of_gaussian(Epsilon::make(epsilon).value(), kDelta);
    std::array<int, 4> above{};
    for (int audit = 0; audit < 1000; ++audit) {
      const Guesses guesses = Guesses::make(two_worlds(mu, 1000, 1 + mu / 2, stream)).value();
      above[0] += epsilon_at_least(guesses, kDelta, kFivePercent) > epsilon ? 1 : 0;
      above[1] += if_gaussian(guesses, kDelta, kFivePercent).epsilon > epsilon ? 1 : 0;
      const CanaryGuesses counts = guess(canaries(mu, 1000, stream), 100).value();
      above[2] += one_run_epsilon(counts, kDelta, kFivePercent) > epsilon ? 1 : 0;
      above[3] += one_run_gaussian(counts, kDelta, kFivePercent).epsilon > epsilon ? 1 : 0;
    }
    for (std::size_t i = 0; i < above.size(); ++i) EXPECT_LE(above[i], 50) << "kind " << i << ", epsilon " << epsilon;
  }
}

// Medians of ideal audits, for true ε of 1, 2, 4 and 8, that are reached at least: the best of several numbers of
// guesses, or of thresholds that were fixed before.
struct Power {
  double epsilon;
  double one_run_1000;
  double curve_1000;
  double runs_10000;
  double gaussian_10000;
};
constexpr std::array<Power, 4> kKnown{{{1, 0.22, 0.32, 0.27, 0.60},
                                       {2, 0.70, 1.01, 0.69, 1.55},
                                       {4, 1.46, 2.20, 1.53, 3.42},
                                       {8, 2.78, 4.59, 3.15, 6.76}}};

TEST(SlowAuditPower, ReachesTheKnownShareOfTheTruth) {
  for (const Power& known : kKnown) {
    const double mu = mu_of_gaussian(Epsilon::make(known.epsilon).value(), kDelta);
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      ReplayRandom stream = ReplayRandom::create(seed).value();
      std::array<double, 4> best{};
      for (const std::uint64_t guesses : {20U, 50U, 100U, 200U, 400U, 800U}) {
        std::vector<double> one_run;
        std::vector<double> curve;
        for (int audit = 0; audit < 25; ++audit) {
          const CanaryGuesses counts = guess(canaries(mu, 1000, stream), guesses).value();
          one_run.push_back(one_run_epsilon(counts, kDelta, kFivePercent));
          curve.push_back(one_run_gaussian(counts, kDelta, kFivePercent).epsilon);
        }
        best[0] = std::max(best[0], median(one_run));
        best[1] = std::max(best[1], median(curve));
      }
      for (const double threshold : {0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0}) {
        std::vector<double> runs;
        std::vector<double> gaussian;
        for (int audit = 0; audit < 25; ++audit) {
          const Guesses guesses = Guesses::make(two_worlds(mu, 10'000, threshold, stream)).value();
          runs.push_back(epsilon_at_least(guesses, kDelta, kFivePercent));
          gaussian.push_back(if_gaussian(guesses, kDelta, kFivePercent).epsilon);
        }
        best[2] = std::max(best[2], median(runs));
        best[3] = std::max(best[3], median(gaussian));
      }
      const std::array<double, 4> wanted{known.one_run_1000, known.curve_1000, known.runs_10000, known.gaussian_10000};
      for (std::size_t i = 0; i < best.size(); ++i) {
        EXPECT_GE(best[i], 0.9 * wanted[i] - 0.08) << "kind " << i << ", epsilon " << known.epsilon;
        EXPECT_LE(best[i], known.epsilon) << "kind " << i << ", epsilon " << known.epsilon;
      }
    }
  }
}

}  // namespace
}  // namespace noisefloor::audit
