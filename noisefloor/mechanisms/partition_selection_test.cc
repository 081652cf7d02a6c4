// Frequencies are compared with exact probabilities at α = testing::kAlpha = 1e-6, from replayed streams.
#include "noisefloor/mechanisms/partition_selection.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "noisefloor/numerics/gaussian_profile.h"
#include "tests/support/refusal.h"
#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;
using testing::kAlpha;
using Units = std::vector<std::uint64_t>;
using Keep = std::function<double(std::uint64_t)>;

constexpr std::array kAllRules = {PartitionRule::kTruncatedGeometric, PartitionRule::kLaplace,
                                  PartitionRule::kGaussian};
constexpr std::array kIntegerRules = {PartitionRule::kTruncatedGeometric, PartitionRule::kLaplace};

Result<PartitionSelection> try_selection(PartitionRule rule, double epsilon, double delta,
                                         std::uint64_t max_partitions = 1) {
  return PartitionSelection::create(Epsilon::make(epsilon).value(), Delta::make(delta).value(), max_partitions, rule);
}

PartitionSelection selection(PartitionRule rule, double epsilon, double delta, std::uint64_t max_partitions = 1) {
  return try_selection(rule, epsilon, delta, max_partitions).value();
}

Keep keep_of(const PartitionSelection& made) {
  return [&made](std::uint64_t units) { return made.keep_probability(units); };
}

// --- Exact probabilities ---------------------------------------------------------------------------------------------

// The probability that one unit alone is kept where the noised count must reach `threshold`, from ε alone. No
// difference of nearly equal numbers: good to 15 digits for every ε.
long double keep_one_exactly(PartitionRule rule, long double epsilon, long double threshold) {
  const long double k = threshold - 1;  // what the noise must reach
  const long double r = std::exp(-epsilon);
  const long double power = std::exp(-epsilon * k);
  if (rule == PartitionRule::kLaplace) return power / (1 + r);
  return -std::expm1(-epsilon) * power / (-std::expm1(-epsilon * (k + 1)) - r * std::expm1(-epsilon * k));
}

// The probability that `units` are kept, by summing over the noise.
double keep_by_summation(PartitionRule rule, double epsilon, std::uint64_t threshold, std::uint64_t units) {
  if (units == 0) return 0;
  const auto end = static_cast<std::int64_t>(threshold) - 1;
  const std::int64_t reach =
      rule == PartitionRule::kLaplace ? static_cast<std::int64_t>(60 / epsilon) + 2 * end + 500 : end;
  double kept = 0;
  double all = 0;
  for (std::int64_t noise = -reach; noise <= reach; ++noise) {
    const double weight = std::exp(-epsilon * std::fabs(static_cast<double>(noise)));
    all += weight;
    if (static_cast<std::int64_t>(units) + noise >= static_cast<std::int64_t>(threshold)) kept += weight;
  }
  return kept / all;
}

// The δ that is needed at `epsilon` to cover a unit that is in all the given groups or in none of them, either way.
// Every set of kept groups is an outcome.
double needed_delta(const Keep& keep, const Units& without, double epsilon) {
  double there = 0;
  double back = 0;
  for (std::uint64_t outcome = 0; outcome < (std::uint64_t{1} << without.size()); ++outcome) {
    double p = 1;
    double q = 1;
    for (std::size_t i = 0; i < without.size(); ++i) {
      const bool kept = (outcome >> i & 1) != 0;
      p *= kept ? keep(without[i]) : 1 - keep(without[i]);
      q *= kept ? keep(without[i] + 1) : 1 - keep(without[i] + 1);
    }
    there += std::max(0.0, p - std::exp(epsilon) * q);
    back += std::max(0.0, q - std::exp(epsilon) * p);
  }
  return std::max(there, back);
}

// --- Privacy ---------------------------------------------------------------------------------------------------------

// Both directions, keeping and dropping, for every size of a group. Detects a threshold that is one too low.
TEST(PartitionSelection, OneMoreUnitChangesTheOddsWithinEpsilonAndDelta) {
  for (PartitionRule rule : kAllRules) {
    for (double epsilon : {0.1, 1.0, 4.0}) {
      for (double delta : {1e-8, 1e-3}) {
        for (std::uint64_t partitions : {1U, 2U, 7U}) {
          const PartitionSelection made = selection(rule, epsilon, delta, partitions);
          // The integer rules give each group its share; the Gaussian rule has the whole for all groups together.
          const double shares = rule == PartitionRule::kGaussian ? 1 : static_cast<double>(partitions);
          double worst = 0;
          double worst_of_mutant = 0;
          for (std::uint64_t n = 0; n <= 200; ++n) {
            worst = std::max(worst, needed_delta(keep_of(made), {n}, epsilon / shares));
            const Keep mutant = [&](std::uint64_t units) { return made.keep_probability(units == 0 ? 0 : units + 1); };
            worst_of_mutant = std::max(worst_of_mutant, needed_delta(mutant, {n}, epsilon / shares));
          }
          EXPECT_LE(worst, delta / shares + 1e-14)
              << name_of(rule) << ' ' << epsilon << ' ' << delta << ' ' << partitions;
          if (rule != PartitionRule::kGaussian) {
            EXPECT_GT(worst_of_mutant, delta / shares + 1e-14) << name_of(rule) << ' ' << epsilon << ' ' << delta;
          }
        }
      }
    }
  }
}

// A unit in several groups, old ones and new ones mixed. Detects a budget that is not divided among the groups.
TEST(PartitionSelection, AUnitInSeveralGroupsIsProtectedInAllTogether) {
  const double epsilon = 1;
  const double delta = 0.01;
  for (PartitionRule rule : kAllRules) {
    for (std::uint64_t partitions : {2U, 3U}) {
      const PartitionSelection made = selection(rule, epsilon, delta, partitions);
      const PartitionSelection undivided = selection(rule, epsilon, delta, 1);
      double worst = 0;
      double worst_undivided = 0;
      const auto try_all = [&](const PartitionSelection& one, double& result) {
        const std::uint64_t t = one.typical_threshold();
        const std::vector<std::uint64_t> sizes = {0, 1, 2, t - 2, t - 1, t, t + 1, 2 * t - 3};
        for (std::uint64_t a : sizes) {
          for (std::uint64_t b : sizes) {
            if (partitions == 2) {
              result = std::max(result, needed_delta(keep_of(one), {a, b}, epsilon));
              continue;
            }
            for (std::uint64_t c : sizes) result = std::max(result, needed_delta(keep_of(one), {a, b, c}, epsilon));
          }
        }
      };
      try_all(made, worst);
      try_all(undivided, worst_undivided);
      EXPECT_LE(worst, delta + 1e-13) << name_of(rule) << partitions;
      EXPECT_GT(worst_undivided, delta * 1.2) << name_of(rule) << partitions;
    }
  }
}

// The rule that the header calls the guarantee of a group with one unit. Tight: one step less would exceed the share.
TEST(PartitionSelection, OneUnitAloneIsKeptWithItsShareOfDeltaAtMost) {
  for (PartitionRule rule : kIntegerRules) {
    for (double epsilon : {1e-4, 0.01, 0.1, 1.0, 3.0, 20.0}) {
      for (double delta : {1e-15, 1e-10, 1e-5, 0.01, 0.3}) {
        for (std::uint64_t partitions : {1U, 3U, 100U}) {
          const PartitionSelection made = selection(rule, epsilon, delta, partitions);
          const long double share = static_cast<long double>(delta) / static_cast<long double>(partitions);
          const long double group_epsilon = static_cast<long double>(epsilon) / static_cast<long double>(partitions);
          const auto threshold = static_cast<long double>(made.typical_threshold());
          EXPECT_LE(keep_one_exactly(rule, group_epsilon, threshold), share)
              << name_of(rule) << ' ' << epsilon << ' ' << delta << ' ' << partitions;
          if (threshold > 2) {
            EXPECT_GT(keep_one_exactly(rule, group_epsilon, threshold - 1), share * (1 - 1e-8L))
                << name_of(rule) << ' ' << epsilon << ' ' << delta << ' ' << partitions;
          }
          EXPECT_LE(made.keep_probability(1), delta / static_cast<double>(partitions));
          EXPECT_NEAR(made.keep_probability(1) / static_cast<double>(keep_one_exactly(rule, group_epsilon, threshold)),
                      1, 1e-6);
        }
      }
    }
  }
}

// Noise of many steps, where e^-ε is nearly 1. Detects probabilities that are computed from e^-ε in double precision.
TEST(PartitionSelection, OneUnitAloneIsKeptWithDeltaAtMostAtSmallEpsilons) {
  for (PartitionRule rule : kIntegerRules) {
    for (double start : {1e-6, 1e-7, 1e-8, 1e-9, 1e-10}) {
      long double worst = 0;
      for (int i = 0; i < 300; ++i) {
        const double epsilon = start * (1 + i / 997.0);
        for (double delta : {1e-15, 1e-12}) {
          const Result<PartitionSelection> made = try_selection(rule, epsilon, delta);
          if (!made.has_value()) continue;  // refused is safe
          const auto threshold = static_cast<long double>(made.value().typical_threshold());
          worst = std::max(worst, keep_one_exactly(rule, epsilon, threshold) / delta);
        }
      }
      EXPECT_LE(worst, 1) << name_of(rule) << " at " << start << ": beyond by " << static_cast<double>(worst - 1);
    }
  }
}

// The same where a truncation of a few steps is enough: each δ lies just below what some truncation k leaves, so that
// k + 1 is due. Detects an end of the truncated law that is computed as a difference of nearly equal numbers.
TEST(PartitionSelection, AShortTruncationIsNotTakenWhereItLeavesMoreThanDelta) {
  for (double epsilon : {1e-9, 2e-9, 1.3e-8, 1e-7, 1e-6, 1e-3}) {
    for (int k : {1, 2, 3, 10, 100, 1000, 12'345}) {
      for (double beyond : {1.5e-9, 1e-8, 1e-7}) {
        const PartitionRule rule = PartitionRule::kTruncatedGeometric;
        const auto delta = static_cast<double>(keep_one_exactly(rule, epsilon, k + 1)) * (1 - beyond);
        const Result<PartitionSelection> made = try_selection(rule, epsilon, delta);
        if (!made.has_value()) continue;  // refused is safe
        const auto threshold = static_cast<long double>(made.value().typical_threshold());
        EXPECT_LE(keep_one_exactly(rule, epsilon, threshold) / delta, 1) << epsilon << ' ' << k << ' ' << beyond;
      }
    }
  }
}

// Detects a rule that names everybody where e^-ε rounds to 1.
TEST(PartitionSelection, TheTiniestEpsilonsAreRefusedOrSafe) {
  for (double epsilon : {0x1p-50, 0x1p-53, 0x1p-54, 0x1p-55, 0x1p-56}) {
    const Result<PartitionSelection> made = try_selection(PartitionRule::kTruncatedGeometric, epsilon, 1e-6);
    if (!made.has_value()) {
      EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
      continue;
    }
    EXPECT_GT(made.value().typical_threshold(), 1000U) << epsilon;
    EXPECT_LE(made.value().keep_probability(1), 1e-6) << epsilon;
  }
}

// Whether `body` ends at all: what this catches would run for hours. In a process of its own.
void expect_ends(const std::function<void()>& body) {
  EXPECT_EXIT(
      {
        alarm(20);
        body();
        _exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

// Detects a search for the threshold in steps of 1 from a start that is far off, or where steps of 1 are rounded away.
TEST(PartitionSelection, ThresholdsAreFoundAtEveryEpsilon) {
  for (PartitionRule rule : kIntegerRules) {
    expect_ends([&] {
      for (double epsilon : {1e-6, 1e-9, 1e-12, 1.6e-12, 1e-14, 6e-16, 0x1p-55}) {
        for (double delta : {1e-10, 1e-6, 0.5}) (void)try_selection(rule, epsilon, delta);
      }
    });
  }
}

// Detects noise that is drawn until it happens to be within a range that it nearly never is in.
TEST(PartitionSelection, GroupsAreDecidedWhereEpsilonIsFarBelowDelta) {
  expect_ends([] {
    const Result<PartitionSelection> made = try_selection(PartitionRule::kTruncatedGeometric, 1e-9, 0.4);
    ReplayRandom source = ReplayRandom::create(1).value();
    if (made.has_value()) (void)made.value().release(Units(10, 2), source);
  });
}

// The Gaussian rule: half of δ for the noise, half for one unit alone in each of its groups. sigma is read off the
// normal quantiles of the probabilities. Detects a sigma or a threshold that is 1 % too small.
TEST(PartitionSelection, TheGaussianRuleSpendsHalfOfDeltaOnEachPart) {
  for (double epsilon : {0.3, 1.0, 4.0}) {
    for (double delta : {1e-10, 1e-6, 1e-3}) {
      for (std::uint64_t partitions : {1U, 4U, 100U}) {
        const PartitionSelection made = selection(PartitionRule::kGaussian, epsilon, delta, partitions);
        const double m = static_cast<double>(partitions);
        const auto quantile = [&](std::uint64_t units) {
          return std::sqrt(2.0) * boost::math::erfc_inv(2 * made.keep_probability(units));
        };
        const double sigma = 1 / (quantile(1) - quantile(2));
        const auto delta_of = [&](double s) {
          return gaussian_delta(NoiseMultiplier::make(s / std::sqrt(m)).value(), PrivacyLoss::make(epsilon).value())
              .upper;
        };
        EXPECT_LE(delta_of(sigma), delta / 2 * (1 + 1e-6)) << epsilon << ' ' << delta << ' ' << partitions;
        EXPECT_GT(delta_of(sigma / 1.01), delta / 2) << epsilon << ' ' << delta << ' ' << partitions;
        EXPECT_LE(made.keep_probability(1), delta / (2 * m)) << epsilon << ' ' << delta << ' ' << partitions;
        EXPECT_GT(made.keep_probability(1), 0.99 * delta / (2 * m)) << epsilon << ' ' << delta << ' ' << partitions;
      }
    }
  }
}

// --- Frequencies -----------------------------------------------------------------------------------------------------

// Detects a threshold off by one, and an ε off by 10 %. The sizes are those around the threshold.
TEST(PartitionSelection, GroupsAreKeptWithTheStatedProbability) {
  const double delta = 0.01;
  for (PartitionRule rule : kAllRules) {
    for (std::uint64_t partitions : {1U, 3U}) {
      const double epsilon = 0.9 * static_cast<double>(partitions);
      const PartitionSelection made = selection(rule, epsilon, delta, partitions);
      const PartitionSelection less_noise = selection(rule, epsilon * 1.1, delta, partitions);
      ReplayRandom source = ReplayRandom::create(2).value();
      double smallest_of_mutants = 1;
      for (std::uint64_t units : {made.typical_threshold() - 2, made.typical_threshold() - 1, made.typical_threshold(),
                                  made.typical_threshold() + 2}) {
        constexpr std::uint64_t kDraws = 100'000;
        const auto release = made.release(Units(kDraws, units), source);
        const auto hits = static_cast<std::uint64_t>(std::count(release.value().begin(), release.value().end(), true));
        const double p = made.keep_probability(units);
        EXPECT_GT(testing::coin_p_value(hits, kDraws, p), kAlpha) << name_of(rule) << ' ' << units;
        EXPECT_LT(testing::coin_p_value(hits, kDraws, made.keep_probability(units + 1)), kAlpha) << name_of(rule);
        EXPECT_LT(testing::coin_p_value(hits, kDraws, made.keep_probability(units - 1)), kAlpha) << name_of(rule);
        smallest_of_mutants =
            std::min(smallest_of_mutants, testing::coin_p_value(hits, kDraws, less_noise.keep_probability(units)));
      }
      EXPECT_LT(smallest_of_mutants, kAlpha) << name_of(rule);
    }
  }
}

// One unit alone, at a δ that can be seen: detects one that is kept 5 % too often.
TEST(PartitionSelection, OneUnitAloneIsKeptAsRarelyAsPromised) {
  constexpr std::uint64_t kDraws = 1'000'000;
  const double delta = 0.05;
  for (PartitionRule rule : kAllRules) {
    const PartitionSelection made = selection(rule, 0.5, delta);
    ReplayRandom source = ReplayRandom::create(3).value();
    const auto release = made.release(Units(kDraws, 1), source);
    const auto hits = static_cast<std::uint64_t>(std::count(release.value().begin(), release.value().end(), true));
    const double p = made.keep_probability(1);
    EXPECT_LE(p, delta) << name_of(rule);
    EXPECT_GT(testing::coin_p_value(hits, kDraws, p), kAlpha) << name_of(rule);
    EXPECT_LT(testing::coin_p_value(hits, kDraws, p * 1.05), kAlpha) << name_of(rule);
    EXPECT_LT(testing::coin_p_value(hits, kDraws, p / 1.05), kAlpha) << name_of(rule);
  }
}

TEST(PartitionSelection, StatedProbabilitiesAreSumsOverTheNoise) {
  for (PartitionRule rule : kIntegerRules) {
    for (double epsilon : {0.05, 0.7, 3.0}) {
      for (std::uint64_t partitions : {1U, 2U}) {
        const PartitionSelection made = selection(rule, epsilon, 1e-4, partitions);
        for (std::uint64_t units = 0; units <= 200; ++units) {
          EXPECT_NEAR(
              made.keep_probability(units),
              keep_by_summation(rule, epsilon / static_cast<double>(partitions), made.typical_threshold(), units),
              1e-11)
              << name_of(rule) << ' ' << units;
        }
      }
    }
  }
}

// --- Utility ---------------------------------------------------------------------------------------------------------

// The truncation is rounded to a whole number, which leaves less than δ (by up to e^ε) to one unit alone. At what is
// left no size of a group fares better with Laplace noise; at δ itself a group needs at most one unit more.
TEST(PartitionSelection, TruncatedGeometricKeepsAtLeastAsOftenAsLaplaceButForRounding) {
  for (double epsilon : {0.05, 0.3, 1.0, 5.0}) {
    for (double delta : {1e-9, 1e-4, 0.1}) {
      for (std::uint64_t partitions : {1U, 4U}) {
        const PartitionSelection best = selection(PartitionRule::kTruncatedGeometric, epsilon, delta, partitions);
        const double left = best.keep_probability(1) * static_cast<double>(partitions);
        const PartitionSelection laplace_of_left = selection(PartitionRule::kLaplace, epsilon, left, partitions);
        const PartitionSelection laplace = selection(PartitionRule::kLaplace, epsilon, delta, partitions);
        for (std::uint64_t units = 0; units <= 400; ++units) {
          EXPECT_GE(best.keep_probability(units), laplace_of_left.keep_probability(units) * (1 - 1e-8) - 1e-15)
              << epsilon << ' ' << delta << ' ' << partitions << ' ' << units;
          EXPECT_GE(best.keep_probability(units + 1), laplace.keep_probability(units) * (1 - 1e-8) - 1e-15)
              << epsilon << ' ' << delta << ' ' << partitions << ' ' << units;
        }
        EXPECT_LE(best.typical_threshold(), laplace.typical_threshold());
      }
    }
  }
}

// The largest probabilities that (ε, δ) allows, size by size (Desfontaines et al., Theorem 1), for the δ that is left
// after rounding the truncation to a whole number.
TEST(PartitionSelection, TruncatedGeometricIsOptimal) {
  for (double epsilon : {0.1, 1.0, 3.0}) {
    for (double delta : {1e-8, 1e-2}) {
      const PartitionSelection made = selection(PartitionRule::kTruncatedGeometric, epsilon, delta);
      const double rounded = made.keep_probability(1);
      double most = 0;
      for (std::uint64_t units = 0; units <= 300; ++units) {
        EXPECT_NEAR(made.keep_probability(units), most, 1e-9) << epsilon << ' ' << delta << ' ' << units;
        most = std::min({std::exp(epsilon) * most + rounded, 1 - std::exp(-epsilon) * (1 - most - rounded), 1.0});
      }
      EXPECT_GT(rounded, delta * std::exp(-epsilon) * 0.999);
    }
  }
}

TEST(PartitionSelection, GaussianIsBetterWhereAUnitIsInManyGroups) {
  EXPECT_LT(selection(PartitionRule::kGaussian, 1, 1e-6, 200).typical_threshold(),
            selection(PartitionRule::kTruncatedGeometric, 1, 1e-6, 200).typical_threshold());
}

TEST(PartitionSelection, TheTypicalThresholdIsTheFewestUnitsKeptMoreOftenThanNot) {
  for (PartitionRule rule : kAllRules) {
    for (double epsilon : {0.1, 1.0, 5.0}) {
      for (double delta : {1e-9, 0.1}) {
        const PartitionSelection made = selection(rule, epsilon, delta);
        EXPECT_GT(made.keep_probability(made.typical_threshold()), 0.5) << name_of(rule);
        EXPECT_LE(made.keep_probability(made.typical_threshold() - 1), 0.5) << name_of(rule);
      }
    }
  }
}

// --- Groups ----------------------------------------------------------------------------------------------------------

TEST(PartitionSelection, EmptyGroupsAreNeverKeptAndLargeOnesAlways) {
  ReplayRandom source = ReplayRandom::create(4).value();
  for (PartitionRule rule : kAllRules) {
    // A δ near 1 and little noise: a group without units would be kept half the time if it were tried.
    const PartitionSelection made = selection(rule, 0.1, 0.9);
    EXPECT_EQ(made.keep_probability(0), 0);
    const auto none = made.release(Units(10'000, 0), source);
    EXPECT_EQ(std::count(none.value().begin(), none.value().end(), true), 0) << name_of(rule);
    const Units large = {100'000, std::uint64_t{1} << 52, std::uint64_t{1} << 63,
                         std::numeric_limits<std::uint64_t>::max()};
    const auto all = made.release(large, source);
    EXPECT_EQ(std::count(all.value().begin(), all.value().end(), true), 4) << name_of(rule);
    for (std::uint64_t units : large) EXPECT_EQ(made.keep_probability(units), 1) << name_of(rule);
  }
}

TEST(PartitionSelection, RepliesForEachGroupInOrder) {
  ReplayRandom source = ReplayRandom::create(5).value();
  for (PartitionRule rule : kAllRules) {
    const PartitionSelection made = selection(rule, 1, 1e-9);
    EXPECT_EQ(made.release(Units{100'000, 0, 1, 100'000}, source).value(),
              (std::vector<bool>{true, false, false, true}));
    EXPECT_TRUE(made.release(Units{}, source).value().empty());
  }
}

// --- Statements and bad input ----------------------------------------------------------------------------------------

TEST(PartitionSelection, StatesEpsilonAndDeltaForAddedUnits) {
  for (PartitionRule rule : kAllRules) {
    for (PrivacyUnit unit : {PrivacyUnit::kPerson, PrivacyUnit::kRow}) {
      const PartitionSelection made =
          PartitionSelection::create(Epsilon::of(0.7), Delta::of(1e-6), 3, rule, unit).value();
      const DpStatement expected{Adjacency::kAddRemove, unit, EpsilonDeltaEvent{PrivacyLoss::of(0.7), Delta::of(1e-6)}};
      EXPECT_EQ(made.statement(), expected) << name_of(rule);
    }
  }
}

TEST(PartitionSelection, AReplayIsAnotherTypeAndSaysThatItIsNotPrivate) {
  SecureRandom secure = SecureRandom::create().value();
  ReplayRandom replay = ReplayRandom::create(6).value();
  for (PartitionRule rule : kAllRules) {
    const PartitionSelection made = selection(rule, 1, 1e-6);
    const auto one = made.release(Units{5, 50}, secure);
    const auto replayed = made.release(Units{5, 50}, replay);
    using Private = std::decay_t<decltype(one)>;
    using Replayed = std::decay_t<decltype(replayed)>;
    static_assert(std::is_same_v<Private, PrivateRelease<std::vector<bool>>>);
    static_assert(std::is_same_v<Replayed, ReplayedRelease<std::vector<bool>>>);
    static_assert(!std::is_constructible_v<Private, Replayed> && !std::is_assignable_v<Private&, Replayed>);
    EXPECT_EQ(one.statement(), made.statement());
    EXPECT_FALSE(contains<NonPrivateEvent>(one.statement().event));
    EXPECT_TRUE(contains<NonPrivateEvent>(replayed.statement().event));
  }
}

TEST(PartitionSelection, NamesItsRules) {
  EXPECT_EQ(name_of(PartitionRule::kTruncatedGeometric), "truncated-geometric");
  EXPECT_EQ(name_of(PartitionRule::kLaplace), "laplace");
  EXPECT_EQ(name_of(PartitionRule::kGaussian), "gaussian");
}

TEST(PartitionSelection, RefusesDeltaZeroAndNoPartitions) {
  for (PartitionRule rule : kAllRules) {
    expect_invalid(try_selection(rule, 1, 0).error(), "got 0");
    expect_invalid(try_selection(rule, 1, 1e-6, 0).error(), "of 0");
  }
}

TEST(PartitionSelection, ExtremeParametersAreRefusedOrSafe) {
  for (PartitionRule rule : kAllRules) {
    for (double epsilon : {1e-300, 1.0, 2000.0, 1e300}) {
      for (double delta : {5e-324, 1e-310, 1e-300, 1e-6, 0.999}) {
        for (std::uint64_t partitions : {std::uint64_t{1}, std::uint64_t{64}, std::uint64_t{1} << 20}) {
          const Result<PartitionSelection> made = try_selection(rule, epsilon, delta, partitions);
          if (made.has_value()) {
            EXPECT_LE(made.value().keep_probability(1), delta) << name_of(rule) << ' ' << epsilon << ' ' << delta;
          } else {
            EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
          }
        }
      }
    }
  }
}

// The value that the caller gave, not one that was computed from it.
TEST(PartitionSelection, RefusalsNameTheEpsilon) {
  for (PartitionRule rule : kAllRules) {
    expect_invalid(try_selection(rule, 1e-300, 1e-6).error(), "1e-300");
    const Result<PartitionSelection> large = try_selection(rule, 1e9, 1e-6);
    if (!large.has_value()) expect_invalid(large.error(), "1000000000");
  }
}

}  // namespace
}  // namespace noisefloor
