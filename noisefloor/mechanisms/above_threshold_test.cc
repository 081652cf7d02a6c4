// Frequencies are compared with exact probabilities at α = testing::kAlpha = 1e-6, from replayed streams.
#include "noisefloor/mechanisms/above_threshold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/support/refusal.h"
#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;
using testing::kAlpha;
using Answers = std::vector<double>;
using Replies = std::vector<bool>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class Source>
AboveThreshold<Source> start(Source& source, double epsilon, AboveThresholdOptions options, double sensitivity = 1) {
  return AboveThreshold<Source>::create(Sensitivity::of_scalar({}, sensitivity).value(), Epsilon::make(epsilon).value(),
                                        options, source)
      .value();
}

// --- Exact laws ------------------------------------------------------------------------------------------------------

struct Noise {
  double threshold_scale;
  double answer_scale;
};

// The noise that Lyu, Su and Li prescribe, in units of the sensitivity.
Noise prescribed_noise(double epsilon, std::uint64_t max_above, bool monotonic) {
  const double c = static_cast<double>(max_above) * (monotonic ? 1 : 2);
  const double threshold_part = epsilon / (1 + std::pow(c, 2.0 / 3));
  return {1 / threshold_part, c / (epsilon - threshold_part)};
}

// All sequences of replies to `questions` questions, each ended by the last allowed "above".
std::vector<Replies> all_replies(std::size_t questions, std::uint64_t max_above) {
  std::vector<Replies> complete;
  std::function<void(Replies, std::uint64_t)> extend = [&](Replies replies, std::uint64_t left) {
    if (left == 0 || replies.size() == questions) {
      complete.push_back(std::move(replies));
      return;
    }
    for (bool above : {false, true}) {
      Replies longer = replies;
      longer.push_back(above);
      extend(std::move(longer), left - (above ? 1 : 0));
    }
  };
  extend({}, max_above);
  return complete;
}

// The probability of `replies`, given the noise z of the threshold (which is at 0).
double given_threshold(const Answers& answers, const Replies& replies, double z,
                       const std::function<double(double)>& at_least) {
  double p = 1;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const double above = at_least(z - answers[i]);
    p *= replies[i] ? above : 1 - above;
  }
  return p;
}

// The probability of `replies` with continuous Laplace noise, by quadrature between the kinks of the densities.
double probability(const Answers& answers, const Replies& replies, Noise noise) {
  const auto at_least = [&](double x) {
    const double tail = std::exp(-std::fabs(x) / noise.answer_scale) / 2;
    return x < 0 ? 1 - tail : tail;
  };
  const auto integrand = [&](double z) {
    return std::exp(-std::fabs(z) / noise.threshold_scale) / (2 * noise.threshold_scale) *
           given_threshold(answers, replies, z, at_least);
  };
  std::vector<double> kinks = {0};
  kinks.insert(kinks.end(), answers.begin(), answers.end());
  std::sort(kinks.begin(), kinks.end());
  const double reach = 40 * std::max(noise.threshold_scale, noise.answer_scale);
  kinks.insert(kinks.begin(), kinks.front() - reach);
  kinks.push_back(kinks.back() + reach);
  double sum = 0;
  for (std::size_t i = 0; i + 1 < kinks.size(); ++i) {
    const double length = kinks[i + 1] - kinks[i];
    const auto pieces = static_cast<int>(std::ceil(length / (3 * std::min(noise.threshold_scale, noise.answer_scale))));
    for (int piece = 0; piece < pieces; ++piece) {
      sum += boost::math::quadrature::gauss<double, 20>::integrate(integrand, kinks[i] + length * piece / pieces,
                                                                   kinks[i] + length * (piece + 1) / pieces);
    }
  }
  return sum;
}

enum class Ties { kAbove, kBelow };

// The same with discrete Laplace noise, by summation; everything is in steps.
double discrete_probability(const Answers& answers, const Replies& replies, Noise noise, Ties ties = Ties::kAbove) {
  const double r = std::exp(-1 / noise.answer_scale);
  const auto at_least = [&](double x) {
    const double m = ties == Ties::kAbove ? x : x + 1;
    return m > 0 ? std::pow(r, m) / (1 + r) : 1 - std::pow(r, 1 - m) / (1 + r);
  };
  const double q = std::exp(-1 / noise.threshold_scale);
  const auto reach = static_cast<int>(40 * noise.threshold_scale);
  double sum = 0;
  for (int z = -reach; z <= reach; ++z) {
    sum += (1 - q) / (1 + q) * std::pow(q, std::abs(z)) * given_threshold(answers, replies, z, at_least);
  }
  return sum;
}

// --- Frequencies -----------------------------------------------------------------------------------------------------

std::int64_t code_of(const Replies& replies) {
  std::int64_t code = 1;
  for (bool above : replies) code = 2 * code + (above ? 1 : 0);
  return code;
}

std::map<std::int64_t, std::uint64_t> draw(const Answers& answers, double epsilon, AboveThresholdOptions options,
                                           std::uint64_t draws, double sensitivity = 1) {
  ReplayRandom source = ReplayRandom::create(1).value();
  std::map<std::int64_t, std::uint64_t> counts;
  for (std::uint64_t i = 0; i < draws; ++i) {
    AboveThreshold<ReplayRandom> asked = start(source, epsilon, options, sensitivity);
    Replies replies;
    for (double answer : answers) {
      if (asked.above_left() > 0) replies.push_back(asked.ask(answer).value());
    }
    ++counts[code_of(replies)];
  }
  return counts;
}

double p_value(const std::map<std::int64_t, std::uint64_t>& counts, std::size_t questions, std::uint64_t max_above,
               const std::function<double(const Replies&)>& law) {
  std::uint64_t draws = 0;
  for (const auto& [code, count] : counts) draws += count;
  std::map<std::int64_t, double> p;
  for (const Replies& replies : all_replies(questions, max_above)) p[code_of(replies)] = law(replies);
  return testing::chi_square_p_value(counts, draws, 0, std::int64_t{1} << (questions + 1),
                                     [&](std::int64_t code) { return p.contains(code) ? p.at(code) : 0.0; });
}

// Detects noise of the answers off by 5 %, noise of the threshold off by 10 % or absent, and noise for monotonic
// answers where they are not and the other way round.
TEST(AboveThreshold, SequencesOfRepliesHaveTheirExactLaw) {
  const Answers answers = {2, -1, 3, 0.5};  // relative to the threshold
  const double sensitivity = 1.5;
  for (std::uint64_t max_above : {1U, 2U}) {
    for (bool monotonic : {false, true}) {
      Answers asked;
      for (double answer : answers) asked.push_back(100 + answer * sensitivity);
      const double epsilon = 1.3;
      const auto counts = draw(asked, epsilon, {100, max_above, monotonic}, 400'000, sensitivity);
      const auto against = [&](Noise noise) {
        return p_value(counts, answers.size(), max_above,
                       [&](const Replies& replies) { return probability(answers, replies, noise); });
      };
      const Noise right = prescribed_noise(epsilon, max_above, monotonic);
      EXPECT_GT(against(right), kAlpha) << max_above << monotonic;
      for (double wrong : {1.05, 1 / 1.05}) {
        EXPECT_LT(against({right.threshold_scale, right.answer_scale * wrong}), kAlpha) << max_above << monotonic;
      }
      for (double wrong : {1.1, 1 / 1.1, 0.01}) {
        EXPECT_LT(against({right.threshold_scale * wrong, right.answer_scale}), kAlpha) << max_above << monotonic;
      }
      EXPECT_LT(against(prescribed_noise(epsilon, max_above, !monotonic)), kAlpha) << max_above << monotonic;
    }
  }
}

// Detects a threshold whose noise is drawn anew for each question: the replies would be independent.
TEST(AboveThreshold, OneNoiseOfTheThresholdServesAllQuestions) {
  const Answers answers = {0, 0, 0, 0};
  const auto counts = draw(answers, 1, {0, 4, false}, 200'000);
  const Noise noise = prescribed_noise(1, 4, false);
  EXPECT_GT(p_value(counts, 4, 4, [&](const Replies& replies) { return probability(answers, replies, noise); }),
            kAlpha);
  EXPECT_LT(p_value(counts, 4, 4, [&](const Replies&) { return 1.0 / 16; }), kAlpha);
}

// An ε so large that the noise is a few grid steps: the law is a finite sum, and ties matter. Detects ties that count
// as below, and a scale off by one step in 7.
TEST(AboveThreshold, ATieIsAbove) {
  constexpr double kStep = 0x1p-32;
  const Answers steps = {1, -2, 4};
  Answers answers;
  for (double step : steps) answers.push_back(step * kStep);
  const double epsilon = 0x1p31;
  const Noise exact = prescribed_noise(epsilon, 1, false);
  const Noise noise{std::ceil(exact.threshold_scale / kStep), std::ceil(exact.answer_scale / kStep)};
  ASSERT_EQ(noise.threshold_scale, 6);
  ASSERT_EQ(noise.answer_scale, 7);
  ReplayRandom source = ReplayRandom::create(2).value();
  ASSERT_EQ(start(source, epsilon, {}).answer_scale(), 7 * kStep);
  const auto counts = draw(answers, epsilon, {}, 400'000);
  const auto against = [&](Noise claimed, Ties ties) {
    return p_value(counts, 3, 1,
                   [&](const Replies& replies) { return discrete_probability(steps, replies, claimed, ties); });
  };
  EXPECT_GT(against(noise, Ties::kAbove), kAlpha);
  EXPECT_LT(against(noise, Ties::kBelow), kAlpha);
  for (double wrong : {-1.0, 1.0}) {
    EXPECT_LT(against({noise.threshold_scale, noise.answer_scale + wrong}, Ties::kAbove), kAlpha) << wrong;
    EXPECT_LT(against({noise.threshold_scale + wrong, noise.answer_scale}, Ties::kAbove), kAlpha) << wrong;
  }
}

// --- Privacy ---------------------------------------------------------------------------------------------------------

// The noise as the mechanism has it: the answers' scale by its own word, the threshold's as prescribed (the frequencies
// above hold it to that).
Noise actual_noise(double epsilon, std::uint64_t max_above, bool monotonic) {
  ReplayRandom source = ReplayRandom::create(3).value();
  return {prescribed_noise(epsilon, max_above, monotonic).threshold_scale,
          start(source, epsilon, {0, max_above, monotonic}).answer_scale()};
}

double loss(const Answers& a, const Answers& b, const Replies& replies, Noise noise) {
  return std::fabs(std::log(probability(a, replies, noise) / probability(b, replies, noise)));
}

// Every neighbour whose answers move by the sensitivity or not at all, and every sequence of replies.
TEST(AboveThreshold, NoNeighbourHasOddsBeyondEpsilon) {
  const double epsilon = 1.5;
  for (std::uint64_t max_above : {1U, 2U}) {
    for (bool monotonic : {false, true}) {
      const Noise noise = actual_noise(epsilon, max_above, monotonic);
      const std::vector<double> moves = monotonic ? std::vector<double>{0, 1} : std::vector<double>{-1, 0, 1};
      double worst = 0;
      for (const Answers& answers : {Answers{0, 0, 0}, Answers{8, 8, -8}, Answers{-8, 8, -8}}) {
        for (const Replies& replies : all_replies(answers.size(), max_above)) {
          for (double first : moves) {
            for (double second : moves) {
              for (double third : moves) {
                const Answers neighbour = {answers[0] + first, answers[1] + second, answers[2] + third};
                worst = std::max(worst, loss(answers, neighbour, replies, noise));
              }
            }
          }
        }
      }
      EXPECT_LE(worst, epsilon + 1e-9) << max_above << monotonic;
      EXPECT_GT(worst, 0.5 * epsilon) << max_above << monotonic;  // the cases are not easy ones
    }
  }
}

// The hardest sequence: many answers far above are "below", which drives the noised threshold up, then answers far
// below are "above". The neighbour raises the former and lowers the latter. Detects noise that is 2 % too small on
// either side, and the monotonic noise used for answers like these.
TEST(AboveThreshold, TheHardestSequenceComesUpToEpsilonAndNotBeyond) {
  const double epsilon = 1.5;
  for (std::uint64_t max_above : {1U, 2U, 3U}) {
    for (bool monotonic : {false, true}) {
      Answers answers(40, 30.0);
      Answers neighbour(40, 31.0);
      Replies replies(40, false);
      for (std::uint64_t i = 0; i < max_above; ++i) {
        answers.push_back(-30);
        neighbour.push_back(monotonic ? -30 : -31);
        replies.push_back(true);
      }
      const Noise noise = actual_noise(epsilon, max_above, monotonic);
      EXPECT_LE(loss(answers, neighbour, replies, noise), epsilon + 1e-9) << max_above << monotonic;
      EXPECT_GT(loss(answers, neighbour, replies, noise), epsilon * 0.999) << max_above << monotonic;
      EXPECT_GT(loss(answers, neighbour, replies, {noise.threshold_scale, noise.answer_scale / 1.02}), epsilon + 1e-9);
      EXPECT_GT(loss(answers, neighbour, replies, {noise.threshold_scale / 1.02, noise.answer_scale}), epsilon + 1e-9);
      if (!monotonic) {
        EXPECT_GT(loss(answers, neighbour, replies, actual_noise(epsilon, max_above, true)), 1.2 * epsilon);
      }
    }
  }
}

// On the grid itself, ties included: the sensitivity is 4 steps. Detects half of the answers' noise.
TEST(AboveThreshold, IsPrivateOnTheGridWithTies) {
  const auto worst_loss = [](Noise noise) {
    double worst = 0;
    for (const Answers& answers : {Answers{0, 0, 0}, Answers{100, 100, -100}, Answers{1, 2, -1}}) {
      for (const Replies& replies : all_replies(3, 1)) {
        for (double early : {-4, 0, 4}) {
          for (double late : {-4, 0, 4}) {
            const Answers neighbour = {answers[0] + early, answers[1] + early, answers[2] + late};
            const double ratio =
                discrete_probability(answers, replies, noise) / discrete_probability(neighbour, replies, noise);
            worst = std::max(worst, std::fabs(std::log(ratio)));
          }
        }
      }
    }
    return worst;
  };
  const Noise noise = prescribed_noise(1, 1, false);
  EXPECT_LE(worst_loss({4 * noise.threshold_scale, 4 * noise.answer_scale}), 1 + 1e-9);
  EXPECT_GT(worst_loss({4 * noise.threshold_scale, 2 * noise.answer_scale}), 1 + 1e-9);
}

// --- Replies, statements, limits -------------------------------------------------------------------------------------

TEST(AboveThreshold, RefusesEveryQuestionAfterTheLastAbove) {
  ReplayRandom source = ReplayRandom::create(4).value();
  AboveThreshold<ReplayRandom> asked = start(source, 1, {0, 2, false});
  EXPECT_EQ(asked.above_left(), 2U);
  EXPECT_FALSE(asked.ask(-1e6).value());
  EXPECT_EQ(asked.above_left(), 2U);
  EXPECT_TRUE(asked.ask(1e6).value());
  EXPECT_EQ(asked.above_left(), 1U);
  EXPECT_TRUE(asked.ask(1e6).value());
  EXPECT_EQ(asked.above_left(), 0U);
  for (double answer : {-987654.0, 987654.0, kNan}) {
    const Result<bool> refused = asked.ask(answer);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kBudgetExhausted);
    EXPECT_EQ(refused.error().message.find("98765"), std::string::npos) << refused.error().message;
  }
  EXPECT_EQ(asked.above_left(), 0U);
}

// A copy would give its "above" replies a second time, against the same noised threshold.
TEST(AboveThreshold, CannotBeCopied) {
  EXPECT_FALSE(std::is_copy_constructible_v<AboveThreshold<SecureRandom>>);
  EXPECT_FALSE(std::is_copy_assignable_v<AboveThreshold<SecureRandom>>);
  EXPECT_TRUE(std::is_move_constructible_v<AboveThreshold<SecureRandom>>);
}

TEST(AboveThreshold, StrangeAnswersAreAnswered) {
  ReplayRandom source = ReplayRandom::create(5).value();
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(start(source, 1, {}).ask(kInfinity).value());
    EXPECT_FALSE(start(source, 1, {}).ask(-kInfinity).value());
    EXPECT_FALSE(start(source, 1, {1e6, 1, false}).ask(kNan).value());  // NaN counts as 0
    EXPECT_TRUE(start(source, 1, {-1e6, 1, false}).ask(kNan).value());
    EXPECT_TRUE(start(source, 1, {-1e300, 1, false}).ask(0).value());
    EXPECT_FALSE(start(source, 1, {1e300, 1, false}).ask(0).value());
  }
}

TEST(AboveThreshold, StatesTheCostOfTheWholeSequence) {
  const Neighbours neighbours{Adjacency::kReplaceOne, PrivacyUnit::kPerson, Rows::of(2)};
  SecureRandom source = SecureRandom::create().value();
  auto asked = AboveThreshold<SecureRandom>::create(count_sensitivity(neighbours).value(), Epsilon::of(0.7),
                                                    {0, 3, false}, source)
                   .value();
  const DpStatement expected{Adjacency::kReplaceOne, PrivacyUnit::kPerson,
                             EpsilonDeltaEvent{PrivacyLoss::of(0.7), Delta::of(0)}};
  EXPECT_EQ(asked.statement(), expected);
  EXPECT_FALSE(contains<NonPrivateEvent>(asked.statement().event));
  for (int i = 0; i < 10; ++i) (void)asked.ask(1);
  EXPECT_EQ(asked.statement(), expected);
}

TEST(AboveThreshold, AReplayIsAnotherTypeAndSaysThatItIsNotPrivate) {
  ReplayRandom source = ReplayRandom::create(6).value();
  EXPECT_TRUE(contains<NonPrivateEvent>(start(source, 1, {}).statement().event));
  static_assert(!std::is_constructible_v<AboveThreshold<SecureRandom>, AboveThreshold<ReplayRandom>>);
}

TEST(AboveThreshold, TheSensitivityScalesTheNoise) {
  ReplayRandom source = ReplayRandom::create(7).value();
  for (double sensitivity : {1e-3, 1.0, 1.7, 1e6}) {
    for (double epsilon : {0.01, 1.0, 20.0}) {
      for (std::uint64_t max_above : {1U, 5U}) {
        const double scale = start(source, epsilon, {0, max_above, false}, sensitivity).answer_scale();
        const double wanted = prescribed_noise(epsilon, max_above, false).answer_scale * sensitivity;
        EXPECT_GE(scale, wanted * (1 - 1e-14));
        EXPECT_LE(scale, wanted * (1 + 0x1p-20));
      }
    }
  }
}

TEST(AboveThreshold, RefusesBadOptions) {
  ReplayRandom source = ReplayRandom::create(8).value();
  const auto refusal = [&](double epsilon, AboveThresholdOptions options) {
    return AboveThreshold<ReplayRandom>::create(count_sensitivity({}).value(), Epsilon::make(epsilon).value(), options,
                                                source)
        .error();
  };
  expect_invalid(refusal(1, {0, 0, false}), "got 0");
  expect_invalid(refusal(1, {kNan, 1, false}), "nan");
  expect_invalid(refusal(1, {kInfinity, 1, false}), "inf");
  expect_invalid(refusal(1, {-kInfinity, 1, false}), "-inf");
  for (double epsilon : {1e-12, 1e-300, 5e-324}) expect_invalid(refusal(epsilon, {}), "epsilon");
  EXPECT_EQ(refusal(1, {0, std::numeric_limits<std::uint64_t>::max(), false}).code, ErrorCode::kInvalidArgument);
}

TEST(AboveThreshold, NothingIsMonotonicUnderReplaceOne) {
  ReplayRandom source = ReplayRandom::create(8).value();
  const Sensitivity count = count_sensitivity({.adjacency = Adjacency::kReplaceOne}).value();
  expect_invalid(AboveThreshold<ReplayRandom>::create(count, Epsilon::of(1), {0, 1, true}, source).error(),
                 "replace-one");
  EXPECT_TRUE(AboveThreshold<ReplayRandom>::create(count, Epsilon::of(1), {0, 1, false}, source).has_value());
}

// The value that the caller gave, not one that was computed from it.
TEST(AboveThreshold, RefusalsNameTheEpsilonAndTheNumberOfAboves) {
  ReplayRandom source = ReplayRandom::create(9).value();
  const auto refusal = [&](double epsilon, std::uint64_t max_above) {
    return AboveThreshold<ReplayRandom>::create(count_sensitivity({}).value(), Epsilon::make(epsilon).value(),
                                                {0, max_above, false}, source)
        .error();
  };
  expect_invalid(refusal(1e-12, 1), "1e-12");
  expect_invalid(refusal(1e-12, 1), "use a larger epsilon or allow fewer");
  expect_invalid(refusal(5e-324, 1), "5e-324");
  expect_invalid(refusal(1, std::uint64_t{1} << 60), std::to_string(std::uint64_t{1} << 60));
}

}  // namespace
}  // namespace noisefloor
