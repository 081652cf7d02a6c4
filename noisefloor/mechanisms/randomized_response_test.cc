// Frequencies are compared with exact probabilities at α = testing::kAlpha = 1e-6, from replayed streams.
#include "noisefloor/mechanisms/randomized_response.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
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
using Law = std::function<double(std::int64_t)>;

RandomizedResponse randomizer(double epsilon, std::uint64_t categories = 2) {
  return RandomizedResponse::create(Epsilon::make(epsilon).value(), Categories::make(categories).value()).value();
}

std::map<std::int64_t, std::uint64_t> draw(const RandomizedResponse& response, std::uint64_t truth,
                                           std::uint64_t draws) {
  ReplayRandom source = ReplayRandom::create(1).value();
  std::map<std::int64_t, std::uint64_t> counts;
  for (std::uint64_t i = 0; i < draws; ++i) {
    ++counts[static_cast<std::int64_t>(response.release(truth, source).value().value())];
  }
  return counts;
}

Law exact_law(double epsilon, std::uint64_t categories, std::uint64_t truth) {
  const double k = static_cast<double>(categories);
  return [=](std::int64_t report) {
    const double p = std::exp(epsilon) / (std::exp(epsilon) + k - 1);
    return report == static_cast<std::int64_t>(truth) ? p : p * std::exp(-epsilon);
  };
}

double p_value(const std::map<std::int64_t, std::uint64_t>& counts, std::uint64_t categories, const Law& law) {
  std::uint64_t draws = 0;
  for (const auto& [report, count] : counts) draws += count;
  return testing::chi_square_p_value(counts, draws, 0, static_cast<std::int64_t>(categories) - 1, law);
}

// Detects an ε off by 7 %, a truth that is let through too often, and a bias to one side.
TEST(RandomizedResponse, HasTheExactLaw) {
  for (double epsilon : {0.7, 1.0, 3.0}) {
    for (std::uint64_t categories : {2U, 3U, 10U}) {
      for (std::uint64_t truth : {std::uint64_t{0}, categories - 1}) {
        const auto counts = draw(randomizer(epsilon, categories), truth, 400'000);
        EXPECT_GT(p_value(counts, categories, exact_law(epsilon, categories, truth)), kAlpha) << epsilon << categories;
        for (double wrong : {1.07, 1 / 1.07}) {
          EXPECT_LT(p_value(counts, categories, exact_law(epsilon * wrong, categories, truth)), kAlpha)
              << epsilon << ' ' << categories << ' ' << wrong;
        }
        // A common mistake: the truth with the right probability, and else any category, the truth included.
        const double k = static_cast<double>(categories);
        const double p = exact_law(epsilon, categories, truth)(static_cast<std::int64_t>(truth));
        const Law any_else = [&](std::int64_t report) {
          return (1 - p) / k + (report == static_cast<std::int64_t>(truth) ? p : 0);
        };
        EXPECT_LT(p_value(counts, categories, any_else), kAlpha);
        // Another: the binary law, whatever the number of categories.
        if (categories > 2) {
          const double binary = 1 / (1 + std::exp(-epsilon));
          const Law as_binary = [&](std::int64_t report) {
            return report == static_cast<std::int64_t>(truth) ? binary : (1 - binary) / (k - 1);
          };
          EXPECT_LT(p_value(counts, categories, as_binary), kAlpha);
        }
      }
    }
  }
}

// Detects an ε off by 14 % where reports are nearly uniform.
TEST(RandomizedResponse, HasTheExactLawAtASmallEpsilon) {
  const auto counts = draw(randomizer(0.05), 1, 4'000'000);
  EXPECT_GT(p_value(counts, 2, exact_law(0.05, 2, 1)), kAlpha);
  EXPECT_LT(p_value(counts, 2, exact_law(0.057, 2, 1)), kAlpha);
  EXPECT_LT(p_value(counts, 2, exact_law(0.043, 2, 1)), kAlpha);
}

// The law has the form of the header, so its odds for any two truths are these.
TEST(RandomizedResponse, TheOddsAreExactlyEToTheEpsilon) {
  for (double epsilon : {1e-6, 0.1, 1.0, 5.0, 20.0}) {
    for (std::uint64_t categories : {2U, 7U, 1000U}) {
      const double p = randomizer(epsilon, categories).truth_probability();
      const double k = static_cast<double>(categories);
      EXPECT_NEAR(p, std::exp(epsilon) / (std::exp(epsilon) + k - 1), 1e-15);
      if (epsilon < 6) {
        EXPECT_NEAR(p / ((1 - p) / (k - 1)) * std::exp(-epsilon), 1, 1e-11);
      }
    }
  }
}

TEST(RandomizedResponse, TheEndsOfTheRangeWork) {
  // ε = 2^-60: a fair coin. Detects one that shows heads in 51 %.
  const auto fair = draw(randomizer(0x1p-60), 1, 100'000);
  EXPECT_GT(testing::coin_p_value(fair.at(1), 100'000, 0.5), kAlpha);
  EXPECT_LT(testing::coin_p_value(fair.at(1), 100'000, 0.51), kAlpha);
  EXPECT_LT(testing::coin_p_value(fair.at(1), 100'000, 0.49), kAlpha);
  // ε = 700: the truth.
  const auto sure = draw(randomizer(700, 5), 3, 1000);
  EXPECT_EQ(sure.at(3), 1000U);
}

// Proposing categories until one is kept takes min(k, e^ε) turns: here, hours.
TEST(RandomizedResponse, RespondsAmongManyCategories) {
  EXPECT_EXIT(
      {
        alarm(20);
        ReplayRandom source = ReplayRandom::create(2).value();
        const RandomizedResponse response = randomizer(100, std::uint64_t{1} << 40);
        _exit(response.release(12345, source).value().value() == 12345 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

// --- Estimates -------------------------------------------------------------------------------------------------------

// Detects estimates that are left biased as the raw counts are, or corrected for an ε off by 10 %. The standard error
// is a bound on that of each count: 5 of them are passed once in 10^6 times.
TEST(RandomizedResponse, EstimatesAreUnbiased) {
  const std::vector<std::uint64_t> truths = {50'000, 20'000, 130'000};
  const RandomizedResponse response = randomizer(1, 3);
  ReplayRandom source = ReplayRandom::create(3).value();
  std::vector<std::uint64_t> reports(3);
  for (std::size_t truth = 0; truth < 3; ++truth) {
    for (std::uint64_t i = 0; i < truths[truth]; ++i) ++reports[response.release(truth, source).value().value()];
  }
  const auto estimate = response.estimate(reports).value();
  const auto mutant = randomizer(1.1, 3).estimate(reports).value();
  double worst = 0;
  double worst_raw = 0;
  double worst_mutant = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const double truth = static_cast<double>(truths[i]);
    worst = std::max(worst, std::fabs(estimate.counts[i] - truth));
    worst_raw = std::max(worst_raw, std::fabs(static_cast<double>(reports[i]) - truth));
    worst_mutant = std::max(worst_mutant, std::fabs(mutant.counts[i] - truth));
  }
  EXPECT_LT(worst, 5 * estimate.standard_error);
  EXPECT_GT(worst_raw, 5 * estimate.standard_error);
  EXPECT_GT(worst_mutant, 5 * estimate.standard_error);
}

// The estimate of what is expected to be reported is the truth, to rounding, and estimates add up to the whole.
TEST(RandomizedResponse, EstimatesInvertTheExpectation) {
  const double epsilon = std::log(3.0);  // two categories: 3/4 and 1/4; five: 3/7 and 1/7
  const auto two = randomizer(epsilon).estimate(std::vector<std::uint64_t>{3 * 80 + 20, 80 + 3 * 20}).value();
  EXPECT_NEAR(two.counts[0], 320, 1e-9);
  EXPECT_NEAR(two.counts[1], 80, 1e-9);
  const auto five = randomizer(epsilon, 5).estimate(std::vector<std::uint64_t>{300, 100, 100, 100, 100}).value();
  EXPECT_NEAR(five.counts[0], 700, 1e-9);
  for (std::size_t i = 1; i < 5; ++i) EXPECT_NEAR(five.counts[i], 0, 1e-9);
}

// Detects a standard error that is off by 10 %: 4000 surveys of 100 people who are all in category 0, where the bound
// is attained by category 0.
TEST(RandomizedResponse, TheStandardErrorIsThatOfTheHardestCategory) {
  const RandomizedResponse response = randomizer(1, 3);
  ReplayRandom source = ReplayRandom::create(4).value();
  constexpr int kSurveys = 4000;
  double squares = 0;
  double standard_error = 0;
  for (int survey = 0; survey < kSurveys; ++survey) {
    std::vector<std::uint64_t> reports(3);
    for (int i = 0; i < 100; ++i) ++reports[response.release(0, source).value().value()];
    const auto estimate = response.estimate(reports).value();
    squares += (estimate.counts[0] - 100) * (estimate.counts[0] - 100);
    standard_error = estimate.standard_error;
  }
  // A mean of kSurveys squares of a nearly normal number has a relative deviation of √(2 / kSurveys).
  const double ratio = squares / kSurveys / (standard_error * standard_error);
  const double allowed = 4.9 * std::sqrt(2.0 / kSurveys);
  EXPECT_NEAR(ratio, 1, allowed);
  EXPECT_GT(std::fabs(ratio * 1.21 - 1), allowed);
  EXPECT_GT(std::fabs(ratio / 1.21 - 1), allowed);
}

// Detects probabilities that are computed by differences of nearly equal numbers. With two categories the estimate of
// 600 against 400 is 500 ± 100 coth(ε/2), and its standard error at most √1000/2 / sinh(ε/2).
TEST(RandomizedResponse, EstimatesAreAccurateAtEveryEpsilon) {
  for (double epsilon : {0x1p-60, 1e-16, 1e-15, 1e-12, 1e-8, 1e-3, 1.0, 40.0, 700.0}) {
    const auto estimate = randomizer(epsilon).estimate(std::vector<std::uint64_t>{600, 400}).value();
    EXPECT_NEAR(estimate.counts[0] / (500 + 100 / std::tanh(epsilon / 2)), 1, 1e-9) << epsilon;
    EXPECT_NEAR(estimate.counts[1] / (500 - 100 / std::tanh(epsilon / 2)), 1, 1e-9) << epsilon;
    EXPECT_NEAR(estimate.standard_error * std::sinh(epsilon / 2) * 2 / std::sqrt(1000.0), 1, 1e-9) << epsilon;
  }
}

TEST(RandomizedResponse, NoReportsGiveNoCounts) {
  const auto none = randomizer(1, 3).estimate(std::vector<std::uint64_t>{0, 0, 0}).value();
  EXPECT_EQ(none.counts, (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(none.standard_error, 0);
}

// --- Statements and bad input ----------------------------------------------------------------------------------------

TEST(RandomizedResponse, StatesItsLawForReplacedPersons) {
  const DpStatement expected{Adjacency::kReplaceOne, PrivacyUnit::kPerson,
                             RandomizedResponseEvent{Epsilon::of(0.5), Categories::of(4)}};
  EXPECT_EQ(randomizer(0.5, 4).statement(), expected);
  const RandomizedResponse rows =
      RandomizedResponse::create(Epsilon::of(0.5), Categories::of(4), PrivacyUnit::kRow).value();
  EXPECT_EQ(rows.statement().unit, PrivacyUnit::kRow);
}

TEST(RandomizedResponse, AReplayIsAnotherTypeAndSaysThatItIsNotPrivate) {
  SecureRandom secure = SecureRandom::create().value();
  ReplayRandom replay = ReplayRandom::create(5).value();
  const RandomizedResponse response = randomizer(1, 3);
  const auto one = response.release(2, secure).value();
  const auto replayed = response.release(2, replay).value();
  using Private = std::decay_t<decltype(one)>;
  using Replayed = std::decay_t<decltype(replayed)>;
  static_assert(std::is_same_v<Private, PrivateRelease<std::uint64_t>>);
  static_assert(std::is_same_v<Replayed, ReplayedRelease<std::uint64_t>>);
  static_assert(!std::is_constructible_v<Private, Replayed> && !std::is_assignable_v<Private&, Replayed>);
  EXPECT_EQ(one.statement(), response.statement());
  EXPECT_FALSE(contains<NonPrivateEvent>(one.statement().event));
  EXPECT_TRUE(contains<NonPrivateEvent>(replayed.statement().event));
}

TEST(RandomizedResponse, RefusesEpsilonsOutsideItsRange) {
  const auto refusal = [](double epsilon) {
    return RandomizedResponse::create(Epsilon::make(epsilon).value()).error();
  };
  expect_invalid(refusal(700.5), "got 700.5");
  expect_invalid(refusal(1e300), "got 1e+300");
  expect_invalid(refusal(1e-300), "got 1e-300");
  expect_invalid(refusal(0x1p-61), "got 4.3");
  EXPECT_TRUE(RandomizedResponse::create(Epsilon::of(700)).has_value());
  EXPECT_TRUE(RandomizedResponse::create(Epsilon::of(0x1p-60)).has_value());
}

TEST(RandomizedResponse, RefusesATruthOutsideTheCategoriesWithoutNamingIt) {
  ReplayRandom source = ReplayRandom::create(6).value();
  for (std::uint64_t truth : {std::uint64_t{4}, std::uint64_t{987654}, std::numeric_limits<std::uint64_t>::max()}) {
    const auto refused = randomizer(1, 4).release(truth, source);
    ASSERT_FALSE(refused.has_value());
    expect_invalid(refused.error(), "0 to 3");
    EXPECT_EQ(refused.error().message.find(std::to_string(truth)), std::string::npos) << refused.error().message;
  }
}

TEST(RandomizedResponse, RefusesCountsOfAnotherNumberOfCategories) {
  for (std::size_t size : {0U, 2U, 4U}) {
    expect_invalid(randomizer(1, 3).estimate(std::vector<std::uint64_t>(size, 987)).error(),
                   "got " + std::to_string(size));
  }
}

}  // namespace
}  // namespace noisefloor
