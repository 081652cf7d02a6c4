// Frequencies are compared with exact probabilities at α = testing::kAlpha = 1e-6, from replayed streams.
#include "noisefloor/mechanisms/tree_count.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "noisefloor/numerics/gaussian_profile.h"
#include "noisefloor/random/discrete_gaussian.h"
#include "noisefloor/random/discrete_laplace.h"
#include "tests/support/refusal.h"
#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;
using testing::kAlpha;

Result<TreeCounter> try_counter(std::uint64_t steps, double epsilon, double delta, double sensitivity = 1) {
  return TreeCounter::create(Sensitivity::of_scalar({}, sensitivity).value(), Steps::make(steps).value(),
                             Epsilon::make(epsilon).value(), Delta::make(delta).value());
}

TreeCounter counter(std::uint64_t steps, double epsilon, double delta, double sensitivity = 1) {
  return try_counter(steps, epsilon, delta, sensitivity).value();
}

// --- Streams of 7 steps, three levels --------------------------------------------------------------------------------

constexpr std::size_t kSteps = 7;
constexpr std::array<std::int64_t, kSteps> kValues = {5, 0, -3, 1000, 2, 2, 1};

using Totals = std::array<double, kSteps>;

// The noise of the totals of the next 7 steps: what is left after taking off the true ones. `before` is the total so
// far.
Totals noise_of_totals(TreeCounter& tree, ReplayRandom& source, double before = 0) {
  Totals noise{};
  for (std::size_t i = 0; i < kSteps; ++i) {
    before += static_cast<double>(kValues[i]);
    noise[i] = tree.next(kValues[i], source).value().value() - before;
  }
  return noise;
}

Totals noise_of_new_stream(ReplayRandom& source) {
  TreeCounter tree = counter(kSteps, 1, 0);
  return noise_of_totals(tree, source);
}

// The noise of the nodes 1, 1-2, 3, 1-4, 5, 5-6 and 7, solved for from the totals.
Totals nodes_of(const Totals& totals) {
  return {totals[0],
          totals[1],
          totals[2] - totals[1],
          totals[3],
          totals[4] - totals[3],
          totals[5] - totals[3],
          totals[6] - totals[5]};
}

// Counters that are wrong in ways that leave the law of each single total as it is.
enum class Defect { kNone, kFreshNoiseForEachTotal, kParentKeepsTheNoiseOfItsFirstChild };

Totals totals_with_defect(Defect defect, const std::function<double()>& noise) {
  Totals nodes{};
  for (double& node : nodes) node = noise();
  if (defect == Defect::kParentKeepsTheNoiseOfItsFirstChild) nodes[1] = nodes[0];
  Totals totals = {nodes[0],
                   nodes[1],
                   nodes[1] + nodes[2],
                   nodes[3],
                   nodes[3] + nodes[4],
                   nodes[3] + nodes[5],
                   nodes[3] + nodes[5] + nodes[6]};
  if (defect == Defect::kFreshNoiseForEachTotal) {
    for (std::size_t i = 0; i < kSteps; ++i) {
      totals[i] = 0;
      for (int node = 0; node < std::popcount(i + 1); ++node) totals[i] += noise();
    }
  }
  return totals;
}

std::vector<Totals> draw(std::uint64_t draws, const std::function<Totals()>& totals) {
  std::vector<Totals> drawn;
  drawn.reserve(draws);
  for (std::uint64_t i = 0; i < draws; ++i) drawn.push_back(totals());
  return drawn;
}

// --- Exact laws ------------------------------------------------------------------------------------------------------

// The law of the sum of `nodes` discrete Laplace numbers on [-reach, reach], by convolution.
class SumLaw {
 public:
  SumLaw(double scale, int nodes) : reach_(static_cast<std::int64_t>(30 * scale)) {
    const double r = std::exp(-1 / scale);
    const auto size = static_cast<std::size_t>(2 * reach_ + 1);
    std::vector<double> one(size);
    for (std::size_t i = 0; i < size; ++i) {
      const double x = static_cast<double>(static_cast<std::int64_t>(i) - reach_);
      one[i] = (1 - r) / (1 + r) * std::pow(r, std::fabs(x));
    }
    p_ = one;
    for (int node = 1; node < nodes; ++node) {
      std::vector<double> sum(size, 0.0);
      for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < size; ++j) {
          const std::int64_t place = static_cast<std::int64_t>(i + j) - reach_;
          if (place >= 0 && place < static_cast<std::int64_t>(size))
            sum[static_cast<std::size_t>(place)] += p_[i] * one[j];
        }
      }
      p_ = std::move(sum);
    }
  }

  [[nodiscard]] std::int64_t reach() const { return reach_; }
  [[nodiscard]] double operator()(std::int64_t x) const { return p_[static_cast<std::size_t>(x + reach_)]; }

 private:
  std::int64_t reach_;
  std::vector<double> p_;
};

// The p-value of one coordinate (of totals or nodes) against the law of so many Laplace nodes.
double laplace_p_value(const std::vector<Totals>& drawn, std::size_t coordinate, const SumLaw& law) {
  std::map<std::int64_t, std::uint64_t> counts;
  for (const Totals& one : drawn) ++counts[std::llround(one[coordinate])];
  return testing::chi_square_p_value(counts, drawn.size(), -law.reach(), law.reach(),
                                     [&](std::int64_t x) { return law(x); });
}

// The same for Gaussian nodes: 64 bins of equal probability.
double gaussian_p_value(const std::vector<Totals>& drawn, std::size_t coordinate, double sigma) {
  std::map<std::int64_t, std::uint64_t> counts;
  for (const Totals& one : drawn) {
    const double u = std::erfc(-one[coordinate] / sigma / std::sqrt(2.0)) / 2;
    ++counts[std::min<std::int64_t>(static_cast<std::int64_t>(u * 64), 63)];
  }
  return testing::chi_square_p_value(counts, drawn.size(), 0, 63, [](std::int64_t) { return 1.0 / 64; });
}

// The smallest p-value over all pairs of nodes that their signs are independent.
double independence_p_value(const std::vector<Totals>& drawn, double zero_probability) {
  const auto sign = [](double x) { return x < 0 ? 0 : x > 0 ? 2 : 1; };
  const auto probability = [&](std::int64_t s) { return s == 1 ? zero_probability : (1 - zero_probability) / 2; };
  double smallest = 1;
  for (std::size_t a = 0; a < kSteps; ++a) {
    for (std::size_t b = a + 1; b < kSteps; ++b) {
      std::map<std::int64_t, std::uint64_t> counts;
      for (const Totals& totals : drawn) {
        const Totals nodes = nodes_of(totals);
        ++counts[3 * sign(nodes[a]) + sign(nodes[b])];
      }
      const double p = testing::chi_square_p_value(
          counts, drawn.size(), 0, 8, [&](std::int64_t code) { return probability(code / 3) * probability(code % 3); });
      smallest = std::min(smallest, p);
    }
  }
  return smallest;
}

constexpr std::uint64_t kDraws = 100'000;

// ε-DP for three levels: scale 3/ε at each node. Detects a scale off by 5 %, a total that misses a node or has one too
// many, and a total that is not centred at the truth.
TEST(TreeCount, EachTotalHasTheExactLawOfItsNodes) {
  const double scale = 3;
  ReplayRandom source = ReplayRandom::create(1).value();
  const std::vector<Totals> drawn = draw(kDraws, [&] { return noise_of_new_stream(source); });
  for (std::size_t i = 0; i < kSteps; ++i) {
    const int nodes = std::popcount(i + 1);
    EXPECT_GT(laplace_p_value(drawn, i, SumLaw(scale, nodes)), kAlpha) << i;
    EXPECT_LT(laplace_p_value(drawn, i, SumLaw(scale * 1.05, nodes)), kAlpha) << i;
    EXPECT_LT(laplace_p_value(drawn, i, SumLaw(scale / 1.05, nodes)), kAlpha) << i;
    EXPECT_LT(laplace_p_value(drawn, i, SumLaw(scale, nodes + 1)), kAlpha) << i;
    if (nodes > 1) {
      EXPECT_LT(laplace_p_value(drawn, i, SumLaw(scale, nodes - 1)), kAlpha) << i;
    }
  }
  std::vector<Totals> shifted = drawn;
  for (Totals& one : shifted) {
    for (double& total : one) total += 1;
  }
  EXPECT_LT(laplace_p_value(shifted, 6, SumLaw(scale, 3)), kAlpha);
}

// All totals together are the nodes of one tree, each with noise of its own. Detects totals with fresh noise each, and
// a node that keeps the noise of its child: both leave the law of each total as it is.
TEST(TreeCount, TotalsShareTheNoiseOfTheirNodesAndNothingElse) {
  const double scale = 3;
  const double r = std::exp(-1 / scale);
  const double zero = (1 - r) / (1 + r);
  const SumLaw one_node(scale, 1);
  ReplayRandom source = ReplayRandom::create(2).value();
  const DiscreteLaplace law = DiscreteLaplace::create(NoiseScale::of(3)).value();
  const auto noise = [&] { return static_cast<double>(law.sample(source)); };
  const auto smallest_of_nodes = [&](const std::vector<Totals>& drawn) {
    std::vector<Totals> nodes;
    nodes.reserve(drawn.size());
    for (const Totals& totals : drawn) nodes.push_back(nodes_of(totals));
    double smallest = 1;
    for (std::size_t i = 0; i < kSteps; ++i) smallest = std::min(smallest, laplace_p_value(nodes, i, one_node));
    return smallest;
  };

  const auto right = draw(kDraws, [&] { return noise_of_new_stream(source); });
  EXPECT_GT(smallest_of_nodes(right), kAlpha);
  EXPECT_GT(independence_p_value(right, zero), kAlpha);

  const auto model = draw(kDraws, [&] { return totals_with_defect(Defect::kNone, noise); });
  EXPECT_GT(smallest_of_nodes(model), kAlpha);
  EXPECT_GT(independence_p_value(model, zero), kAlpha);

  const auto fresh = draw(kDraws, [&] { return totals_with_defect(Defect::kFreshNoiseForEachTotal, noise); });
  for (std::size_t i = 0; i < kSteps; ++i) {
    EXPECT_GT(laplace_p_value(fresh, i, SumLaw(scale, std::popcount(i + 1))), kAlpha);
  }
  EXPECT_LT(smallest_of_nodes(fresh), kAlpha);

  const auto kept =
      draw(kDraws, [&] { return totals_with_defect(Defect::kParentKeepsTheNoiseOfItsFirstChild, noise); });
  EXPECT_GT(smallest_of_nodes(kept), kAlpha);
  EXPECT_LT(independence_p_value(kept, zero), kAlpha);
}

// Gaussian nodes, from one long stream: after every eighth step the tree below starts anew. Detects a sigma off by 5 %,
// and totals that do not share their nodes as the tree says.
TEST(TreeCount, GaussianTotalsHaveTheLawOfTheirNodes) {
  TreeCounter tree = counter(8 * kDraws, 10, 1e-6);
  const double sigma = tree.worst_standard_deviation() / std::sqrt(std::bit_width(8 * kDraws));
  ReplayRandom source = ReplayRandom::create(3).value();
  double before = 0;
  const std::vector<Totals> drawn = draw(kDraws, [&] {
    const Totals totals = noise_of_totals(tree, source, before);
    before = tree.next(0, source).value().value();
    return totals;
  });
  std::vector<Totals> nodes;
  nodes.reserve(drawn.size());
  for (const Totals& totals : drawn) nodes.push_back(nodes_of(totals));
  for (std::size_t i = 0; i < kSteps; ++i) {
    const double of_total = sigma * std::sqrt(static_cast<double>(std::popcount(i + 1)));
    EXPECT_GT(gaussian_p_value(drawn, i, of_total), kAlpha) << i;
    EXPECT_LT(gaussian_p_value(drawn, i, of_total * 1.05), kAlpha) << i;
    EXPECT_LT(gaussian_p_value(drawn, i, of_total / 1.05), kAlpha) << i;
    EXPECT_GT(gaussian_p_value(nodes, i, sigma), kAlpha) << i;
    EXPECT_LT(gaussian_p_value(nodes, i, sigma * 1.05), kAlpha) << i;
  }
  EXPECT_GT(independence_p_value(drawn, 0), kAlpha);

  const DiscreteGaussian law = DiscreteGaussian::create(NoiseScale::of(1e6)).value();
  const auto noise = [&] { return static_cast<double>(law.sample(source)); };
  const auto fresh = draw(kDraws, [&] { return totals_with_defect(Defect::kFreshNoiseForEachTotal, noise); });
  EXPECT_LT(independence_p_value(fresh, 0), kAlpha);
}

// Later levels too: the noise of total t has popcount(t) nodes, and from t to t + 1 as many nodes change as t + 1 has
// zeros at its end, and two more or one. Variances, over many streams of 64 steps. Detects one node too many or too
// few.
TEST(TreeCount, VariancesFollowTheBinaryDigits) {
  constexpr std::uint64_t kLong = 64;
  constexpr int kStreams = 4000;
  const double scale = 7;  // seven levels
  const double r = std::exp(-1 / scale);
  const double node = 2 * r / ((1 - r) * (1 - r));
  ReplayRandom source = ReplayRandom::create(5).value();
  std::vector<double> squares(kLong + 1, 0.0);
  std::vector<double> squares_of_steps(kLong + 1, 0.0);
  for (int stream = 0; stream < kStreams; ++stream) {
    TreeCounter tree = counter(kLong, 1, 0);
    double before = 0;
    for (std::uint64_t t = 1; t <= kLong; ++t) {
      const double noise = tree.next(1, source).value().value() - static_cast<double>(t);
      squares[t] += noise * noise;
      squares_of_steps[t] += (noise - before) * (noise - before);
      before = noise;
    }
  }
  // The fourth moment of Laplace noise is 6 times the squared variance, less for sums: 5 relative variances of a
  // square. Six standard deviations are passed once in 10^8 times (the tails of a mean of 4000 squares are longer).
  const double allowed = 6 * std::sqrt(5.0 / kStreams);
  for (std::uint64_t t = 1; t <= kLong; ++t) {
    const double nodes = std::popcount(t);
    const double ratio = squares[t] / kStreams / node;
    EXPECT_NEAR(ratio / nodes, 1, allowed) << t;
    if (nodes <= 3) {
      EXPECT_GT(std::fabs(ratio / (nodes + 1) - 1), allowed / 1.2) << t;
    }
    const double changed = std::popcount(t ^ (t - 1));
    EXPECT_NEAR(squares_of_steps[t] / kStreams / node / changed, 1, allowed) << t;
  }
}

// --- Privacy ---------------------------------------------------------------------------------------------------------

// The tree that the laws above reveal: the node that is completed at step t covers (t − lowest bit of t, t].
TEST(TreeCount, AStepEntersAtMostAsManyNodesAsThereAreLevels) {
  for (std::uint64_t steps : {1U, 2U, 3U, 4U, 7U, 8U, 9U, 100U}) {
    const auto levels = static_cast<int>(std::bit_width(steps));
    for (std::uint64_t changed = 1; changed <= steps; ++changed) {
      int entered = 0;
      for (std::uint64_t t = 1; t <= steps; ++t) {
        const std::uint64_t width = t & (~t + 1);
        if (changed > t - width && changed <= t) ++entered;
      }
      EXPECT_LE(entered, levels) << steps << ' ' << changed;
    }
  }
}

// With a huge ε the noise is 0 nearly always, and totals are exact.
TEST(TreeCount, TotalsAreExactWithoutNoise) {
  ReplayRandom source = ReplayRandom::create(6).value();
  TreeCounter tree = counter(100, 500, 0);
  double truth = 0;
  for (int t = 1; t <= 100; ++t) {
    truth += t * t - 50;
    EXPECT_EQ(tree.next(t * t - 50, source).value().value(), truth);
  }
}

// All totals together, for a unit that changes step 1 by the sensitivity: it enters one node on each level. The loss of
// noise is at most 1/scale for each, and the event says so.
TEST(TreeCount, TheEventHasOneSensitivityForEachLevel) {
  const std::vector<std::pair<std::uint64_t, double>> levels = {
      {1, 1}, {2, 2}, {3, 2}, {4, 3}, {7, 3}, {8, 4}, {1000, 10}, {1024, 11}, {std::uint64_t{1} << 63, 64}};
  for (const auto& [steps, height] : levels) {
    for (double sensitivity : {1.0, 5.0}) {
      const TreeCounter tree = counter(steps, 0.3, 0, sensitivity);
      const auto event = std::get<DiscreteLaplaceEvent>(tree.statement().event.kind());
      EXPECT_EQ(event.l1_sensitivity.value(), height * sensitivity) << steps;
      EXPECT_LE(event.l1_sensitivity.value(), std::nextafter(0.3 * event.scale.value(), 1e9)) << steps;
      EXPECT_NEAR(event.scale.value() * 0.3, height * sensitivity, 1e-9) << steps;
      EXPECT_NEAR(tree.worst_standard_deviation(), std::sqrt(2 * height) * event.scale.value(), 1e-9);

      const TreeCounter gaussian = counter(steps, 0.3, 1e-6, sensitivity);
      const auto noise = std::get<DiscreteGaussianEvent>(gaussian.statement().event.kind());
      EXPECT_EQ(noise.summands.value(), 1U);
      EXPECT_EQ(static_cast<double>(noise.dimension.value()), height);
      // The noise reaches (ε, δ) for the L2 norm of a path through all levels, and 0.1 % less would not.
      const double multiplier = noise.sigma.value() / noise.l2_sensitivity.value();
      const auto delta_of = [](double z) {
        return gaussian_delta(NoiseMultiplier::make(z).value(), PrivacyLoss::of(0.3)).upper;
      };
      EXPECT_LE(delta_of(multiplier), 1e-6);
      EXPECT_GT(delta_of(multiplier / 1.001), 1e-6);
      const double sigma = gaussian.worst_standard_deviation() / std::sqrt(height);
      EXPECT_GE(sigma / (sensitivity * std::sqrt(height)), multiplier * (1 - 1e-12));
      EXPECT_LE(sigma / (sensitivity * std::sqrt(height)), multiplier * 1.0001);
    }
  }
}

TEST(TreeCount, StatesItsNeighbours) {
  const Neighbours neighbours{Adjacency::kReplaceOne, PrivacyUnit::kPerson, Rows::of(2)};
  for (double delta : {0.0, 1e-6}) {
    const TreeCounter tree = TreeCounter::create(count_sensitivity(neighbours).value(), Steps::of(10), Epsilon::of(1),
                                                 Delta::make(delta).value())
                                 .value();
    EXPECT_EQ(tree.statement().adjacency, Adjacency::kReplaceOne);
    EXPECT_EQ(tree.statement().unit, PrivacyUnit::kPerson);
    EXPECT_EQ(std::holds_alternative<DiscreteLaplaceEvent>(tree.statement().event.kind()), delta == 0);
    EXPECT_EQ(std::holds_alternative<DiscreteGaussianEvent>(tree.statement().event.kind()), delta > 0);
  }
}

// Node sums that no double holds. Neighbours are 1 apart, so their totals must look alike. Detects sums that are
// rounded to doubles before the noise is added: here they would come out 256 apart, at noise of 4.
TEST(TreeCount, HugeSumsKeepTheirSensitivity) {
  for (double delta : {0.0, 1e-6}) {
    const std::int64_t huge = (std::int64_t{1} << 60) + 128;
    double difference = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      ReplayRandom source = ReplayRandom::create(seed).value();
      TreeCounter one = counter(1, 1, delta);
      TreeCounter neighbour = counter(1, 1, delta);
      difference += neighbour.next(huge + 1, source).value().value() - one.next(huge, source).value().value();
    }
    // Outputs are doubles, 256 apart here: noise moves a result to one side or the other, about as often for both.
    EXPECT_LT(std::fabs(difference / 100), 128) << delta;
  }
}

// --- The stream ------------------------------------------------------------------------------------------------------

TEST(TreeCount, RefusesStepsBeyondTheLast) {
  ReplayRandom source = ReplayRandom::create(7).value();
  for (double delta : {0.0, 1e-6}) {
    TreeCounter tree = counter(3, 1, delta);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(tree.next(1, source).has_value());
    for (int i = 0; i < 3; ++i) {
      const auto refused = tree.next(987654, source);
      ASSERT_FALSE(refused.has_value());
      EXPECT_EQ(refused.error().code, ErrorCode::kBudgetExhausted);
      EXPECT_TRUE(refused.error().message.find("3 steps") != std::string::npos) << refused.error().message;
      EXPECT_EQ(refused.error().message.find("98765"), std::string::npos) << refused.error().message;
    }
  }
}

TEST(TreeCount, EachReleaseStatesTheWholeStream) {
  SecureRandom source = SecureRandom::create().value();
  TreeCounter tree = counter(10, 1, 0);
  const DpStatement whole = tree.statement();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(tree.next(1, source).value().statement(), whole);
}

TEST(TreeCount, AReplayIsAnotherTypeAndSaysThatItIsNotPrivate) {
  SecureRandom secure = SecureRandom::create().value();
  ReplayRandom replay = ReplayRandom::create(8).value();
  for (double delta : {0.0, 1e-6}) {
    TreeCounter tree = counter(10, 1, delta);
    TreeCounter replayed_tree = counter(10, 1, delta);
    const auto one = tree.next(1, secure).value();
    const auto replayed = replayed_tree.next(1, replay).value();
    using Private = std::decay_t<decltype(one)>;
    using Replayed = std::decay_t<decltype(replayed)>;
    static_assert(std::is_same_v<Private, PrivateRelease<double>>);
    static_assert(std::is_same_v<Replayed, ReplayedRelease<double>>);
    static_assert(!std::is_constructible_v<Private, Replayed> && !std::is_assignable_v<Private&, Replayed>);
    EXPECT_FALSE(contains<NonPrivateEvent>(one.statement().event));
    EXPECT_TRUE(contains<NonPrivateEvent>(replayed.statement().event));
  }
}

// A total holds the noise of earlier steps: one replayed step and every later total with its node is not private.
TEST(TreeCount, AReplayedStepMarksTheTotalsThatHoldIt) {
  SecureRandom secure = SecureRandom::create().value();
  ReplayRandom replay = ReplayRandom::create(9).value();
  TreeCounter tree = counter(4, 1, 0);
  (void)tree.next(1, replay);
  (void)tree.next(1, replay);
  const auto total = tree.next(1, secure);  // the replayed node 1-2 and a fresh node 3
  EXPECT_TRUE(!total.has_value() || contains<NonPrivateEvent>(total.value().statement().event));
}

// A copy would give the same nodes out again, with other noise.
TEST(TreeCount, CannotBeCopied) {
  EXPECT_FALSE(std::is_copy_constructible_v<TreeCounter>);
  EXPECT_FALSE(std::is_copy_assignable_v<TreeCounter>);
  EXPECT_TRUE(std::is_move_constructible_v<TreeCounter>);
}

// --- Bad input -------------------------------------------------------------------------------------------------------

TEST(TreeCount, RefusesAFractionalSensitivityForLaplaceNoise) {
  for (std::uint64_t steps : {1U, 2U, 4U, 8U}) {
    const Result<TreeCounter> made = try_counter(steps, 1, 0, 1.5);
    ASSERT_FALSE(made.has_value()) << steps;
    expect_invalid(made.error(), "1.5");
  }
  EXPECT_TRUE(try_counter(4, 1, 1e-6, 1.5).has_value());
}

TEST(TreeCount, RefusesEpsilonsThatNoNoiseFits) {
  for (double epsilon : {1e-300, 5e-324, 1e300}) {
    for (double delta : {0.0, 1e-6}) {
      const Result<TreeCounter> made = try_counter(4, epsilon, delta);
      ASSERT_FALSE(made.has_value()) << epsilon << ' ' << delta;
      EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
    }
  }
}

// The value that the caller gave, not one that was computed from it.
TEST(TreeCount, RefusalsNameTheEpsilon) {
  for (double delta : {0.0, 1e-6}) {
    expect_invalid(try_counter(4, 1e-300, delta).error(), "1e-300");
    const Result<TreeCounter> large = try_counter(4, 1e9, delta);
    if (!large.has_value()) expect_invalid(large.error(), "1000000000");
  }
}

}  // namespace
}  // namespace noisefloor
