// Frequencies are compared with exact probabilities at α = testing::kAlpha = 1e-6, from replayed streams.
#include "noisefloor/mechanisms/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/support/refusal.h"
#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;
using testing::kAlpha;
using Law = std::vector<double>;
using Scores = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::array kAllRules = {SelectionRule::kExponential, SelectionRule::kPermuteAndFlip,
                                  SelectionRule::kNoisyMax};

SelectionMechanism mechanism(SelectionRule rule, double epsilon, bool monotonic = false, double sensitivity = 1) {
  return SelectionMechanism::create(Sensitivity::of_scalar({}, sensitivity).value(), Epsilon::make(epsilon).value(),
                                    {rule, monotonic})
      .value();
}

// --- Exact laws, for scores and a scale in the same units ------------------------------------------------------------

Law exponential_law(const Scores& scores, double scale) {
  const double best = *std::max_element(scores.begin(), scores.end());
  Law law;
  for (double score : scores) law.push_back(std::exp(-(best - score) / scale));
  const double sum = std::accumulate(law.begin(), law.end(), 0.0);
  for (double& one : law) one /= sum;
  return law;
}

// By every order in which the candidates can come.
Law permute_and_flip_law(const Scores& scores, double scale) {
  const double best = *std::max_element(scores.begin(), scores.end());
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Law law(scores.size(), 0.0);
  double orders = 0;
  do {
    double still_open = 1;
    for (std::size_t i : order) {
      const double heads = std::exp(-(best - scores[i]) / scale);
      law[i] += still_open * heads;
      still_open *= 1 - heads;
    }
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  for (double& one : law) one /= orders;
  return law;
}

enum class Ties { kLowerIndex, kHigherIndex };

// By summing over the winner's noise. Scores are whole numbers of steps.
Law noisy_max_law(const Scores& scores, double scale, Ties ties = Ties::kLowerIndex) {
  const double r = std::exp(-1 / scale);
  const auto at_most = [&](double x) {  // P(X ≤ x)
    return x < 0 ? std::exp(x / scale) / (1 + r) : 1 - std::exp(-(x + 1) / scale) / (1 + r);
  };
  const auto [lowest, highest] = std::minmax_element(scores.begin(), scores.end());
  const auto reach = static_cast<int>(*highest - *lowest + 40 * scale);
  Law law;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    double sum = 0;
    for (int x = -reach; x <= reach; ++x) {
      double p = (1 - r) / (1 + r) * std::exp(-std::abs(x) / scale);
      for (std::size_t j = 0; j < scores.size(); ++j) {
        if (j == i) continue;
        const bool wins_ties = ties == Ties::kLowerIndex ? i < j : i > j;
        p *= at_most(scores[i] + x - scores[j] - (wins_ties ? 0 : 1));
      }
      sum += p;
    }
    law.push_back(sum);
  }
  return law;
}

// The grid that stands for the mechanism's far finer one: no test here sees the difference.
constexpr double kFine = 0x1p-10;

// `grid` is for noisy max; scores must lie on it.
Law exact_law(SelectionRule rule, const Scores& scores, double scale, double grid = kFine) {
  switch (rule) {
    case SelectionRule::kExponential:
      return exponential_law(scores, scale);
    case SelectionRule::kPermuteAndFlip:
      return permute_and_flip_law(scores, scale);
    case SelectionRule::kNoisyMax:
      break;
  }
  Scores steps;
  for (double score : scores) steps.push_back(score / grid);
  return noisy_max_law(steps, scale / grid);
}

std::map<std::int64_t, std::uint64_t> draw(const SelectionMechanism& chooser, const Scores& scores,
                                           std::uint64_t draws) {
  ReplayRandom source = ReplayRandom::create(1).value();
  std::map<std::int64_t, std::uint64_t> counts;
  for (std::uint64_t i = 0; i < draws; ++i) {
    ++counts[static_cast<std::int64_t>(chooser.release(scores, source).value().value())];
  }
  return counts;
}

double p_value(const std::map<std::int64_t, std::uint64_t>& counts, const Law& law) {
  std::uint64_t draws = 0;
  for (const auto& [outcome, count] : counts) draws += count;
  return testing::chi_square_p_value(counts, draws, 0, static_cast<std::int64_t>(law.size()) - 1,
                                     [&](std::int64_t i) { return law[static_cast<std::size_t>(i)]; });
}

// The largest log-ratio of the probabilities of one outcome, either way.
double privacy_loss(const Law& a, const Law& b) {
  double loss = 0;
  for (std::size_t i = 0; i < a.size(); ++i) loss = std::max(loss, std::fabs(std::log(a[i] / b[i])));
  return loss;
}

// The largest loss over all neighbours of `scores` whose every score moves by one of `moves`.
double worst_loss(const Scores& scores, const std::vector<double>& moves,
                  const std::function<Law(const Scores&)>& law_of) {
  const Law law = law_of(scores);
  double worst = 0;
  Scores neighbour = scores;
  std::function<void(std::size_t)> visit = [&](std::size_t i) {
    if (i == scores.size()) {
      worst = std::max(worst, privacy_loss(law, law_of(neighbour)));
      return;
    }
    for (double move : moves) {
      neighbour[i] = scores[i] + move;
      visit(i + 1);
    }
  };
  visit(0);
  return worst;
}

// --- Laws ------------------------------------------------------------------------------------------------------------

const Scores kScores = {3, 5, 4.5, 5, 1};

// Detects noise that is off by 5 %, and a "monotonic" that is ignored or always on.
TEST(Selection, EachRuleHasItsExactLaw) {
  for (SelectionRule rule : kAllRules) {
    for (bool monotonic : {false, true}) {
      const double sensitivity = 1.5;
      const double epsilon = 1.2;
      const double scale = (monotonic ? 1 : 2) * sensitivity / epsilon;
      const auto counts = draw(mechanism(rule, epsilon, monotonic, sensitivity), kScores, 600'000);
      EXPECT_GT(p_value(counts, exact_law(rule, kScores, scale)), kAlpha) << name_of(rule) << monotonic;
      EXPECT_LT(p_value(counts, exact_law(rule, kScores, scale * 1.05)), kAlpha) << name_of(rule) << monotonic;
      EXPECT_LT(p_value(counts, exact_law(rule, kScores, scale / 1.05)), kAlpha) << name_of(rule) << monotonic;
      EXPECT_LT(p_value(counts, exact_law(rule, kScores, scale * (monotonic ? 2 : 0.5))), kAlpha) << name_of(rule);
    }
  }
}

// Detects a rule that runs as another.
TEST(Selection, TheRulesAreToldApart) {
  for (SelectionRule rule : kAllRules) {
    const auto counts = draw(mechanism(rule, 1.2), kScores, 600'000);
    for (SelectionRule other : kAllRules) {
      const double p = p_value(counts, exact_law(other, kScores, 2 / 1.2));
      EXPECT_EQ(p > kAlpha, rule == other) << name_of(rule) << " against " << name_of(other);
    }
  }
}

// An ε so large that the noise is a few grid steps: here ties matter, and the law is a finite sum. Detects ties that go
// to the higher index, and a scale off by one step in 8.
TEST(Selection, NoisyMaxGivesTiesToTheLowerIndex) {
  constexpr double kStep = 0x1p-32;
  const Scores steps = {0, 2, 1, 2};
  Scores scores;
  for (double step : steps) scores.push_back(step * kStep);
  for (bool monotonic : {false, true}) {
    const SelectionMechanism chooser = mechanism(SelectionRule::kNoisyMax, 0x1p30, monotonic);
    const double scale = monotonic ? 4 : 8;
    ASSERT_EQ(chooser.scale(), scale * kStep);
    const auto counts = draw(chooser, scores, 300'000);
    EXPECT_GT(p_value(counts, noisy_max_law(steps, scale)), kAlpha);
    EXPECT_LT(p_value(counts, noisy_max_law(steps, scale, Ties::kHigherIndex)), kAlpha);
    EXPECT_LT(p_value(counts, noisy_max_law(steps, scale + 1)), kAlpha);
    EXPECT_LT(p_value(counts, noisy_max_law(steps, scale - 1)), kAlpha);
  }
}

// The same for the other rules. Detects exponents off by one step in 8.
TEST(Selection, TheLawIsExactWhereTheNoiseIsAFewSteps) {
  const Scores steps = {0, 5, 11, 7};
  Scores scores;
  for (double step : steps) scores.push_back(step * 0x1p-32);
  for (SelectionRule rule : {SelectionRule::kExponential, SelectionRule::kPermuteAndFlip}) {
    const auto counts = draw(mechanism(rule, 0x1p30), scores, 300'000);
    EXPECT_GT(p_value(counts, exact_law(rule, steps, 8)), kAlpha) << name_of(rule);
    EXPECT_LT(p_value(counts, exact_law(rule, steps, 9)), kAlpha) << name_of(rule);
    EXPECT_LT(p_value(counts, exact_law(rule, steps, 7)), kAlpha) << name_of(rule);
  }
}

TEST(Selection, OneCandidateIsCertain) {
  ReplayRandom source = ReplayRandom::create(2).value();
  for (SelectionRule rule : kAllRules) {
    for (double score : {-7.0, 0.0, kNan, kInfinity, -kInfinity}) {
      EXPECT_EQ(mechanism(rule, 1).release(Scores{score}, source).value().value(), 0U);
    }
  }
}

// --- Privacy ---------------------------------------------------------------------------------------------------------

// The exact laws of all neighbours of hard cases: equal scores, and a candidate far below the others. Detects noise
// that is 3 % too small.
TEST(Selection, NoNeighbourHasOddsBeyondEpsilon) {
  constexpr double kCoarse = 0x1p-4;  // ties happen, and cost nothing
  const double epsilon = 1.5;
  for (SelectionRule rule : kAllRules) {
    for (bool monotonic : {false, true}) {
      const auto loss = [&](const Scores& scores, double scale) {
        const std::vector<double> moves = monotonic ? std::vector<double>{0, 1} : std::vector<double>{-1, 0, 1};
        return worst_loss(scores, moves, [&](const Scores& s) { return exact_law(rule, s, scale, kCoarse); });
      };
      const double scale = mechanism(rule, epsilon, monotonic).scale();
      double worst = 0;
      for (const Scores& scores :
           {Scores{0, 0, 0}, Scores{0, 1, 2}, Scores{-20, 0, 0}, Scores{0, 0, -20}, Scores{-6, -3, 0}}) {
        worst = std::max(worst, loss(scores, scale));
      }
      EXPECT_LE(worst, epsilon + 1e-9) << name_of(rule) << monotonic;
      EXPECT_GT(worst, epsilon - 0.01) << name_of(rule) << monotonic;  // the cases are hard ones
      EXPECT_GT(loss({-20, 0, 0}, scale / 1.03), epsilon + 1e-9) << name_of(rule) << monotonic;
    }
  }
}

// Monotonic is for scores that all move the same way: with others the same noise would not do.
TEST(Selection, MonotonicNoiseIsTooLittleForOtherScores) {
  for (SelectionRule rule : kAllRules) {
    const double scale = mechanism(rule, 1, true).scale();
    const double loss = worst_loss({-20, 0, 0}, {-1, 0, 1},
                                   [&](const Scores& scores) { return exact_law(rule, scores, scale, 0x1p-4); });
    EXPECT_GT(loss, 1.9) << name_of(rule);
  }
}

// The exponential event promises bounded range: over all pairs of outcomes the losses differ by at most ε.
double loss_range(const Law& a, const Law& b) {
  double low = kInfinity;
  double high = -kInfinity;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double loss = std::log(a[i] / b[i]);
    low = std::min(low, loss);
    high = std::max(high, loss);
  }
  return high - low;
}

TEST(Selection, ExponentialHasBoundedRange) {
  const SelectionMechanism general = mechanism(SelectionRule::kExponential, 0.8);
  const SelectionMechanism monotonic = mechanism(SelectionRule::kExponential, 0.8, true);
  const auto range = [](const SelectionMechanism& chooser, const Scores& a, const Scores& b) {
    return loss_range(chooser.exponential_probabilities(a).value(), chooser.exponential_probabilities(b).value());
  };
  EXPECT_NEAR(range(general, {4, 7, 5}, {5, 6, 5}), 0.8, 1e-8);
  EXPECT_LE(range(general, {4, 7, 5}, {5, 6, 5}), 0.8 + 1e-12);
  EXPECT_NEAR(range(monotonic, {4, 7, 5}, {5, 7, 6}), 0.8, 1e-8);
  EXPECT_LE(range(monotonic, {4, 7, 5}, {5, 7, 6}), 0.8 + 1e-12);
  EXPECT_NEAR(range(monotonic, {4, 7, 5}, {5, 6, 5}), 1.6, 1e-8);  // the mutant: not monotonic
}

// Scores between two grid points. Detects rounding that moves a difference of exactly the sensitivity to more steps
// than were paid for, as rounding half to even does where the sensitivity is an odd number of steps.
TEST(Selection, RoundingNeverAddsToTheSensitivity) {
  for (double sensitivity : {1.0, 1 + 0x1p-32, 1 + 0x1p-31, 1.7, 3 + 0x1p-31}) {
    const SelectionMechanism chooser = mechanism(SelectionRule::kExponential, 1, false, sensitivity);
    const double step = std::ldexp(1.0, floor_log2(sensitivity) - 32);
    for (double low : {0.0, 0.5 * step, 1.5 * step, 0.25 * step, 0.75 * step, -0.5 * step, -2.5 * step}) {
      const double high = low + sensitivity;
      ASSERT_LE(high - low, sensitivity);
      const Law a = chooser.exponential_probabilities(Scores{low, high}).value();
      const Law b = chooser.exponential_probabilities(Scores{high, low}).value();
      EXPECT_LE(loss_range(a, b), 1 + 1e-13) << sensitivity << ' ' << low / step;
    }
  }
}

// --- Accuracy --------------------------------------------------------------------------------------------------------

TEST(Selection, PermuteAndFlipIsNeverWorseThanExponential) {
  for (const Scores& scores :
       {Scores{0, 0, 0, 0}, Scores{0, 1, 2, 3}, Scores{0, 0, 0, 5}, Scores{9, 8, 1, 0}, Scores{0, 0.1, 0.2, 7}}) {
    for (double scale : {0.3, 1.0, 4.0}) {
      const auto mean = [&](const Law& law) { return std::inner_product(law.begin(), law.end(), scores.begin(), 0.0); };
      EXPECT_GE(mean(permute_and_flip_law(scores, scale)), mean(exponential_law(scores, scale)) - 1e-12);
    }
  }
}

// The hardest case for a gap of g: one candidate at 0, all others g below. Detects a bound that is 5 % too small for
// the exponential rule, whose bound is the tightest.
TEST(Selection, TheScoreGapBoundHolds) {
  const double confidence = 0.9;
  for (SelectionRule rule : kAllRules) {
    const SelectionMechanism chooser = mechanism(rule, 1);
    const double bound = chooser.score_gap_bound(5, Confidence::make(confidence).value());
    const auto miss = [&](double gap) {
      return 1 - exact_law(rule, {0, -gap, -gap, -gap, -gap}, chooser.scale(), bound / 512).front();
    };
    EXPECT_LE(miss(bound * (1 + 0x1p-9)), 1 - confidence) << name_of(rule);
  }
  const SelectionMechanism chooser = mechanism(SelectionRule::kExponential, 1);
  const double bound = chooser.score_gap_bound(1000, Confidence::make(confidence).value());
  Scores many(1000, -bound / 1.05);
  many[0] = 0;
  EXPECT_GT(1 - exponential_law(many, chooser.scale()).front(), 1 - confidence);
}

TEST(Selection, ExponentialProbabilitiesAreTheLaw) {
  const Law law = mechanism(SelectionRule::kExponential, 1.2, false, 1.5).exponential_probabilities(kScores).value();
  const Law exact = exponential_law(kScores, 2.5);
  ASSERT_EQ(law.size(), exact.size());
  for (std::size_t i = 0; i < law.size(); ++i) EXPECT_NEAR(law[i], exact[i], 1e-9);
}

TEST(Selection, TheScaleIsTwoSensitivitiesOverEpsilonAndNeverLess) {
  for (double epsilon : {1e-6, 0.1, 1.0, 3.0, 50.0}) {
    for (double sensitivity : {1e-3, 1.0, 1.7, 1e6}) {
      const double wanted = 2 * sensitivity / epsilon;
      const double scale = mechanism(SelectionRule::kNoisyMax, epsilon, false, sensitivity).scale();
      EXPECT_GE(scale, wanted * (1 - 1e-15));
      EXPECT_LE(scale, wanted * (1 + 0x1p-19));
      const double half = mechanism(SelectionRule::kNoisyMax, epsilon, true, sensitivity).scale();
      EXPECT_EQ(scale, 2 * half);
    }
  }
}

// --- The top k -------------------------------------------------------------------------------------------------------

// The law of ordered pairs, coded as 4 · first + second: choosing and setting aside, twice.
Law pair_law(SelectionRule rule, const Scores& scores, double scale) {
  const Law first = exact_law(rule, scores, scale);
  Law pairs(scores.size() * scores.size(), 0.0);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    Scores rest = scores;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const Law second = exact_law(rule, rest, scale);
    for (std::size_t j = 0; j < rest.size(); ++j) {
      pairs[i * scores.size() + j + (j >= i ? 1 : 0)] = first[i] * second[j];
    }
  }
  return pairs;
}

// Detects a scale off by 5 %, a second choice that is uniform and one that forgets the index shift.
TEST(Selection, TheTopTwoHaveTheLawOfTwoChoices) {
  const Scores scores = {3, 1, 4, 4.5};
  for (SelectionRule rule : kAllRules) {
    const SelectionMechanism chooser = mechanism(rule, 1.2);
    ReplayRandom source = ReplayRandom::create(3).value();
    std::map<std::int64_t, std::uint64_t> counts;
    for (int i = 0; i < 400'000; ++i) {
      const auto release = chooser.release_top(scores, 2, source).value();
      const std::vector<std::size_t>& top = release.value();
      ASSERT_EQ(top.size(), 2U);
      ++counts[static_cast<std::int64_t>(4 * top[0] + top[1])];
    }
    const double scale = 2 / 1.2;
    EXPECT_GT(p_value(counts, pair_law(rule, scores, scale)), kAlpha) << name_of(rule);
    EXPECT_LT(p_value(counts, pair_law(rule, scores, scale * 1.05)), kAlpha) << name_of(rule);
    EXPECT_LT(p_value(counts, pair_law(rule, scores, scale / 1.05)), kAlpha) << name_of(rule);

    const Law first = exact_law(rule, scores, scale);
    Law uniform_second(16, 0.0);
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 4; ++j) uniform_second[4 * i + j] = i == j ? 0 : first[i] / 3;
    }
    EXPECT_LT(p_value(counts, uniform_second), kAlpha) << name_of(rule);
  }
}

TEST(Selection, TheWholeTopIsAPermutation) {
  ReplayRandom source = ReplayRandom::create(4).value();
  for (SelectionRule rule : kAllRules) {
    std::vector<std::size_t> top = mechanism(rule, 1).release_top(kScores, 5, source).value().value();
    std::sort(top.begin(), top.end());
    EXPECT_EQ(top, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  }
}

TEST(Selection, TheTopCostsAsManyChoicesAsItHasPlaces) {
  SecureRandom source = SecureRandom::create().value();
  const SelectionMechanism chooser = mechanism(SelectionRule::kExponential, 0.5);
  const auto release = chooser.release_top(kScores, 3, source).value();
  const DpStatement expected{Adjacency::kAddRemove, PrivacyUnit::kRow,
                             SelfComposedEvent{Steps::of(3), ExponentialEvent{Epsilon::of(0.5)}}};
  EXPECT_EQ(release.statement(), expected);
}

// --- Statements ------------------------------------------------------------------------------------------------------

TEST(Selection, StatesItsRuleAndItsNeighbours) {
  const Neighbours neighbours{Adjacency::kReplaceOne, PrivacyUnit::kPerson, Rows::of(3)};
  const auto statement = [&](SelectionRule rule) {
    return SelectionMechanism::create(Sensitivity::of_scalar(neighbours, 2).value(), Epsilon::of(0.7), {rule, false})
        .value()
        .statement();
  };
  const auto expected = [](DpEvent event) {
    return DpStatement{Adjacency::kReplaceOne, PrivacyUnit::kPerson, std::move(event)};
  };
  EXPECT_EQ(statement(SelectionRule::kExponential), expected(ExponentialEvent{Epsilon::of(0.7)}));
  EXPECT_EQ(statement(SelectionRule::kPermuteAndFlip), expected(PermuteAndFlipEvent{Epsilon::of(0.7)}));
  EXPECT_EQ(statement(SelectionRule::kNoisyMax), expected(EpsilonDeltaEvent{PrivacyLoss::of(0.7), Delta::of(0)}));
}

TEST(Selection, AReplayIsAnotherTypeAndSaysThatItIsNotPrivate) {
  SecureRandom secure = SecureRandom::create().value();
  ReplayRandom replay = ReplayRandom::create(5).value();
  for (SelectionRule rule : kAllRules) {
    const SelectionMechanism chooser = mechanism(rule, 1);
    const auto one = chooser.release(kScores, secure).value();
    const auto replayed = chooser.release(kScores, replay).value();
    using Private = std::decay_t<decltype(one)>;
    using Replayed = std::decay_t<decltype(replayed)>;
    static_assert(std::is_same_v<Private, PrivateRelease<std::size_t>>);
    static_assert(std::is_same_v<Replayed, ReplayedRelease<std::size_t>>);
    static_assert(!std::is_constructible_v<Private, Replayed> && !std::is_assignable_v<Private&, Replayed>);
    EXPECT_EQ(one.statement(), chooser.statement());
    EXPECT_FALSE(contains<NonPrivateEvent>(one.statement().event));
    EXPECT_TRUE(contains<NonPrivateEvent>(replayed.statement().event));
    EXPECT_FALSE(contains<NonPrivateEvent>(chooser.release_top(kScores, 2, secure).value().statement().event));
    EXPECT_TRUE(contains<NonPrivateEvent>(chooser.release_top(kScores, 2, replay).value().statement().event));
  }
}

TEST(Selection, NamesItsRules) {
  EXPECT_EQ(name_of(SelectionRule::kExponential), "exponential");
  EXPECT_EQ(name_of(SelectionRule::kPermuteAndFlip), "permute-and-flip");
  EXPECT_EQ(name_of(SelectionRule::kNoisyMax), "noisy-max");
}

// --- Strange scores and bad input ------------------------------------------------------------------------------------

// Detects a NaN that wins, loses or poisons the others.
TEST(Selection, NanCountsAsZero) {
  for (SelectionRule rule : kAllRules) {
    const auto counts = draw(mechanism(rule, 1), {1, kNan, -1}, 200'000);
    EXPECT_GT(p_value(counts, exact_law(rule, {1, 0, -1}, 2)), kAlpha) << name_of(rule);
    EXPECT_LT(p_value(counts, exact_law(rule, {1, -1, -1}, 2)), kAlpha) << name_of(rule);
  }
}

TEST(Selection, InfiniteScoresSaturate) {
  for (SelectionRule rule : kAllRules) {
    const auto top =
        draw(mechanism(rule, 1), {5, kInfinity, -kInfinity, 1e300, std::numeric_limits<double>::max()}, 20'000);
    // Whatever is beyond 2^100 steps counts alike.
    EXPECT_GT(p_value(top, {0, 1.0 / 3, 0, 1.0 / 3, 1.0 / 3}), kAlpha) << name_of(rule);
    const auto bottom = draw(mechanism(rule, 1), {-kInfinity, -kInfinity}, 20'000);
    EXPECT_GT(p_value(bottom, {0.5, 0.5}), kAlpha) << name_of(rule);
    const auto never = draw(mechanism(rule, 1), {0, -kInfinity}, 20'000);
    EXPECT_EQ(never.at(0), 20'000U) << name_of(rule);
  }
}

TEST(Selection, HugeEpsilonChoosesTheBest) {
  ReplayRandom source = ReplayRandom::create(6).value();
  for (SelectionRule rule : kAllRules) {
    for (double epsilon : {1e9, 1e300}) {
      EXPECT_EQ(mechanism(rule, epsilon).release(Scores{1, 3, 2}, source).value().value(), 1U);
    }
  }
}

TEST(Selection, RefusesEpsilonsThatNoGridFits) {
  for (double epsilon : {1e-12, 1e-300}) {
    const auto made = SelectionMechanism::create(count_sensitivity({}).value(), Epsilon::make(epsilon).value());
    ASSERT_FALSE(made.has_value());
    expect_invalid(made.error(), epsilon == 1e-12 ? "1e-12" : "1e-300");
  }
  EXPECT_TRUE(SelectionMechanism::create(count_sensitivity({}).value(), Epsilon::of(1e-8)).has_value());
}

TEST(Selection, NothingIsMonotonicUnderReplaceOne) {
  const Sensitivity count = count_sensitivity({.adjacency = Adjacency::kReplaceOne}).value();
  for (SelectionRule rule : kAllRules) {
    expect_invalid(SelectionMechanism::create(count, Epsilon::of(1), {rule, true}).error(), "replace-one");
    EXPECT_TRUE(SelectionMechanism::create(count, Epsilon::of(1), {rule, false}).has_value());
  }
}

TEST(Selection, RefusesBadNumbersOfCandidatesAndPlacesWithoutNamingScores) {
  ReplayRandom source = ReplayRandom::create(7).value();
  const SelectionMechanism chooser = mechanism(SelectionRule::kExponential, 1);
  const Scores scores = {987.25, 9871, 9872};
  expect_invalid(chooser.release(Scores{}, source).error(), "got 0");
  expect_invalid(chooser.release_top(Scores{}, 1, source).error(), "got 0");
  expect_invalid(chooser.release_top(scores, 0, source).error(), "got 0");
  expect_invalid(chooser.release_top(scores, 4, source).error(), "got 4");
  expect_invalid(chooser.exponential_probabilities(Scores{}).error(), "got 0");
  expect_invalid(mechanism(SelectionRule::kNoisyMax, 1).exponential_probabilities(scores).error(), "noisy-max");
  expect_invalid(mechanism(SelectionRule::kPermuteAndFlip, 1).exponential_probabilities(scores).error(),
                 "permute-and-flip");
  const Scores too_many((std::size_t{1} << 24) + 1, 987.25);
  expect_invalid(chooser.release(too_many, source).error(), "16777217");
}

}  // namespace
}  // namespace noisefloor
