#include "noisefloor/accounting/pld.h"
#include "noisefloor/numerics/bisect.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "noisefloor/accounting/rdp.h"
#include "tests/support/arbitrary_event.h"
#include "tests/support/golden_accounting.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

namespace golden = testing::golden;
using testing::expect_invalid;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Adjacency kAddRemove = Adjacency::kAddRemove;
constexpr Adjacency kReplaceOne = Adjacency::kReplaceOne;

// --- Short names -----------------------------------------------------------------------------------------------------

Delta delta_of(double v) { return Delta::make(v).value(); }
DpEvent gaussian(double z) { return GaussianEvent{NoiseMultiplier::make(z).value()}; }
DpEvent laplace(double z) { return LaplaceEvent{NoiseMultiplier::make(z).value()}; }
DpEvent approximate(double e, double d) { return EpsilonDeltaEvent{PrivacyLoss::make(e).value(), delta_of(d)}; }
DpEvent response(double e, std::uint64_t k = 2) {
  return RandomizedResponseEvent{Epsilon::make(e).value(), Categories::make(k).value()};
}
DpEvent exponential(double e) { return ExponentialEvent{Epsilon::make(e).value()}; }
DpEvent permute_and_flip(double e) { return PermuteAndFlipEvent{Epsilon::make(e).value()}; }
DpEvent discrete_laplace(double scale, double l1) {
  return DiscreteLaplaceEvent{NoiseScale::make(scale).value(), L1Sensitivity::make(l1).value()};
}
DpEvent discrete_gaussian(double sigma, double shift, std::uint64_t dimension = 1) {
  return DiscreteGaussianEvent{NoiseScale::make(sigma).value(), Contributors::of(1), L1Sensitivity::make(shift).value(),
                               L2Sensitivity::make(shift).value(), Dimension::make(dimension).value()};
}
DpEvent skellam(double variance) {
  return SkellamEvent{NoiseVariance::make(variance).value(), L1Sensitivity::of(1), L2Sensitivity::of(1), kScalar};
}
DpEvent zcdp(double rho, double d) { return ZcdpEvent{Rho::make(rho).value(), delta_of(d)}; }
DpEvent poisson(double q, DpEvent e) { return PoissonSampledEvent{SamplingRate::make(q).value(), std::move(e)}; }
DpEvent fixed_size(std::uint64_t m, std::uint64_t n, DpEvent e) {
  return FixedSizeSampledEvent{Rows::make(m).value(), Rows::make(n).value(), std::move(e)};
}
DpEvent shuffled(std::uint64_t n, DpEvent e) { return ShuffledEvent{Rows::make(n).value(), std::move(e)}; }
DpEvent times(std::uint64_t n, DpEvent e) { return SelfComposedEvent{Steps::make(n).value(), std::move(e)}; }
DpEvent all_of(std::vector<DpEvent> events) { return ComposedEvent{std::move(events)}; }

Interval epsilon(const DpEvent& event, double delta, Adjacency adjacency = kAddRemove) {
  const Result<Interval> found = pld_epsilon(event, adjacency, delta_of(delta));
  EXPECT_TRUE(found.has_value()) << (found.has_value() ? "" : found.error().message);
  return found.has_value() ? found.value() : Interval{kInfinity, -kInfinity};
}
Interval delta_at(const DpEvent& event, double epsilon, Adjacency adjacency = kAddRemove) {
  const Result<Interval> found = pld_delta(event, adjacency, PrivacyLoss::make(epsilon).value());
  EXPECT_TRUE(found.has_value()) << (found.has_value() ? "" : found.error().message);
  return found.has_value() ? found.value() : Interval{1, -1};
}
double renyi(const DpEvent& event, double delta, Adjacency adjacency = kAddRemove) {
  const Result<RenyiEpsilon> found = renyi_epsilon(event, adjacency, delta_of(delta));
  return found.has_value() ? found.value().epsilon : kInfinity;
}

// The interval holds `value`, which is right to a relative `error`.
void expect_holds(Interval interval, double value, double error) {
  EXPECT_LE(interval.lower, value * (1 + error));
  EXPECT_GE(interval.upper, value * (1 - error));
  EXPECT_LE(interval.lower, interval.upper);
}

// --- Reference values ------------------------------------------------------------------------------------------------

TEST(Pld, DpSgdAgreesWithExactValuesAndIsNeverAboveOtherLibraries) {
  for (const golden::Row& row : golden::kRows) {
    if (row.kind != golden::kDpSgd) continue;
    SCOPED_TRACE(row.id);
    const DpEvent event = event_of(row);
    const Interval found = epsilon(event, row.delta);
    expect_holds(found, row.exact, 1e-9);
    EXPECT_LE(found.upper - found.lower, 1e-6 * found.upper);
    EXPECT_LE(found.upper, row.best_other * (1 + 1e-6));
    EXPECT_LE(delta_at(event, found.upper).lower, row.delta);
    EXPECT_GE(delta_at(event, found.lower).upper, row.delta);
  }
}

TEST(Pld, GaussiansResponsesAndLaplaceAgreeWithExactValues) {
  for (const golden::Row& row : golden::kRows) {
    if (row.kind == golden::kDpSgd || row.kind == golden::kCalibrate) continue;
    SCOPED_TRACE(row.id);
    const Interval found = epsilon(event_of(row), row.delta);
    expect_holds(found, row.exact, 1e-9);
    EXPECT_LE(found.upper - found.lower, (row.kind == golden::kLaplace ? 1e-5 : 1e-9) * found.upper);
  }
  // Only upper bounds of another library are known (accounting_golden.csv, L01, L02, L05).
  EXPECT_LE(epsilon(laplace(1), 1e-5).upper, 0.9999800002999969);
  EXPECT_LE(epsilon(times(10, laplace(1)), 1e-5).upper, 9.989962316985142 * (1 + 1e-6));
  EXPECT_LE(epsilon(times(10, laplace(10)), 1e-6).upper, 0.9989780937250231 * (1 + 1e-6));
  // One Laplace mechanism: δ(ε) = 1 − e^{(ε − ε₀)/2}.
  for (double d : {1e-9, 1e-3, 0.2}) expect_holds(epsilon(laplace(0.5), d), 2 + 2 * std::log1p(-d), 1e-12);
}

// Document 004, Tables 9 to 11 (θ = 1, k, N, σ, δ = 1/N), of which reference/ERRATA.md has the exact values. A row's
// sample size s gives q = s/N and T = ⌊kN/s⌋.
TEST(Pld, ExactColumnOfTheProactiveTables) {
  struct Row {
    double s, n, k, sigma;
    std::uint64_t steps;
    double exact, digit;
  };
  for (const Row& row :
       {Row{26, 10000, 5, 19.29962, 1923, 0.010263, 1e-6}, Row{198, 10000, 5, 19.29962, 252, 0.03477, 1e-5},
        Row{288, 60000, 6, 12.10881, 1250, 0.037628, 1e-6}, Row{3042, 60000, 6, 12.10881, 118, 0.13977, 1e-5},
        Row{406, 50000, 7, 6.572, 862, 0.107123, 1e-6}, Row{7504, 50000, 7, 6.572, 46, 0.5418, 1e-4}}) {
    EXPECT_EQ(static_cast<double>(row.steps), std::floor(row.k * row.n / row.s));
    const Interval found = epsilon(times(row.steps, poisson(row.s / row.n, gaussian(row.sigma))), 1 / row.n);
    EXPECT_NEAR(found.lower, row.exact, 0.51 * row.digit);
    EXPECT_NEAR(found.upper, row.exact, 0.51 * row.digit);
  }
}

// Engines that give up leave it to Rényi divergences, also for the parts of a tree.
TEST(Pld, ReplaceOneFallsBackForParts) {
  for (const auto& [event, delta] :
       {std::pair{all_of({times(53, poisson(0.002, skellam(30))), times(24, response(20, 3))}), 6e-7},
        std::pair{all_of({times(626, discrete_laplace(0.5, 2)), times(12, poisson(0.08, gaussian(1)))}), 7e-7},
        std::pair{all_of({times(10, skellam(1e4)), times(12, poisson(4e-4, permute_and_flip(0.1)))}), 4e-46}}) {
    const Interval found = epsilon(event, delta, kReplaceOne);
    EXPECT_LE(found.lower, found.upper);
    EXPECT_LT(found.upper, kInfinity);
  }
}

// The reference values are by a program of its own: the integral with 64 bits and on two lines, which agree to 1e-10.
// Another library's upper bounds are 2.84344581, 4.22135780 and 8.28250619 for the first three.
struct ReplacedRow {
  double q;
  double sigma;
  std::uint64_t steps;
  double delta;
  double exact;
};
constexpr ReplacedRow kReplacedRows[] = {
    {0.01, 1.0, 1000, 1e-5, 2.84344025927},      {0.004266666666666667, 1.1, 14062, 1e-5, 4.22129673437949},
    {0.1, 4.0, 1000, 1e-6, 8.28250278858232},    {0.001, 0.8, 100000, 1e-6, 4.62087397581699},
    {0.0256, 1.0, 390, 1e-5, 4.8464298358351},   {0.5, 5.0, 100, 1e-9, 13.456661994236},
    {0.01, 4.0, 1000, 1e-20, 1.40802281833432},  {0.25, 3.0, 500, 1e-5, 21.8921571258985},
    {0.01, 1.0, 1000000, 1e-6, 329.164840902875}};

TEST(Pld, ReplacedRecordsOfPoissonSamples) {
  for (const ReplacedRow& row : kReplacedRows) {
    SCOPED_TRACE(row.exact);
    const DpEvent event = times(row.steps, poisson(row.q, gaussian(row.sigma)));
    const Interval found = epsilon(event, row.delta, kReplaceOne);
    expect_holds(found, row.exact, 1e-9);
    EXPECT_LE(found.upper - found.lower, 1e-7 * found.upper);
    EXPECT_GE(found.lower, epsilon(event, row.delta, kAddRemove).upper);
    const Interval delta = delta_at(event, row.exact, kReplaceOne);
    expect_holds(delta, row.delta, 1e-6);
    EXPECT_LE(delta.upper - delta.lower, 1e-6 * delta.upper);
  }
  // Where all records are in the sample, N(−1, 1) against N(1, 1).
  const Interval all = epsilon(gaussian(0.5), 1e-5);
  EXPECT_LE(epsilon(poisson(0.999999, gaussian(1)), 1e-5, kReplaceOne).lower, all.upper);
  EXPECT_GE(epsilon(poisson(0.999999, gaussian(1)), 1e-5, kReplaceOne).upper, all.lower * (1 - 1e-4));
  expect_holds(epsilon(poisson(1, gaussian(1)), 1e-5, kReplaceOne), all.upper, 1e-9);
  const double pure = std::log1p(0.1 * std::expm1(1.0));
  expect_holds(epsilon(poisson(0.1, laplace(1)), 0, kReplaceOne), 2 * pure, 1e-9);
  EXPECT_GE(epsilon(poisson(0.1, laplace(1)), 0, kReplaceOne).lower, pure * (1 - 1e-9));
}

// More of anything loses more: rate, steps, less noise, a smaller δ.
TEST(Pld, ReplacedRecordsAreMonotone) {
  const auto at = [](double q, double z, std::uint64_t steps, double delta) {
    return epsilon(times(steps, poisson(q, gaussian(z))), delta, kReplaceOne);
  };
  const auto expect_growth = [](const std::vector<Interval>& found) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_LE(found[i].upper - found[i].lower, 1e-6 * found[i].upper) << i;
      if (i > 0) {
        EXPECT_LT(found[i - 1].upper, found[i].lower) << i;
      }
    }
  };
  expect_growth({at(1e-4, 1, 1000, 1e-6), at(1e-3, 1, 1000, 1e-6), at(0.0100, 1, 1000, 1e-6), at(0.0101, 1, 1000, 1e-6),
                 at(0.1, 1, 1000, 1e-6), at(0.9, 1, 1000, 1e-6), at(0.999, 1, 1000, 1e-6), at(1, 1, 1000, 1e-6)});
  expect_growth({at(0.01, 1, 300, 1e-6), at(0.01, 1, 1000, 1e-6), at(0.01, 1, 1001, 1e-6), at(0.01, 1, 100000, 1e-6),
                 at(0.01, 1, 10000000, 1e-6)});
  expect_growth({at(0.01, 100, 1000, 1e-6), at(0.01, 10, 1000, 1e-6), at(0.01, 1, 1000, 1e-6),
                 at(0.01, 0.999, 1000, 1e-6), at(0.01, 0.5, 1000, 1e-6), at(0.01, 0.3, 1000, 1e-6)});
  expect_growth({at(0.01, 1, 1000, 0.1), at(0.01, 1, 1000, 1e-3), at(0.01, 1, 1000, 1e-9), at(0.01, 1, 1000, 1.01e-12),
                 at(0.01, 1, 1000, 1e-12)});
}

// Other parts beside them go to the lattice, or not, and the same with all of it said twice.
TEST(Pld, ReplacedRecordsInMixedTrees) {
  const DpEvent steps = times(100, poisson(0.05, gaussian(2)));
  const Interval alone = epsilon(steps, 1e-6, kReplaceOne);
  // With a Gaussian: both have transforms. Its μ² does not change with the neighbours.
  const Interval mixed = epsilon(all_of({steps, gaussian(3)}), 1e-6, kReplaceOne);
  EXPECT_LE(mixed.upper - mixed.lower, 1e-6 * mixed.upper);
  EXPECT_GT(mixed.lower, alone.upper);
  EXPECT_GT(mixed.lower, epsilon(all_of({steps, gaussian(3.01)}), 1e-6, kReplaceOne).upper);
  // A rate of nearly 1 is a Gaussian of twice the distance.
  const Interval doubled = epsilon(all_of({steps, gaussian(1.5)}), 1e-6, kReplaceOne);
  const Interval nearly = epsilon(all_of({steps, poisson(1 - 1e-9, gaussian(3))}), 1e-6, kReplaceOne);
  EXPECT_LE(nearly.lower, doubled.upper);
  EXPECT_GE(nearly.upper, doubled.lower * (1 - 1e-6));
  EXPECT_LE(nearly.upper - nearly.lower, 1e-6 * nearly.upper);
  // Two kinds of samples, and one of them in two parts.
  const DpEvent others = times(60, poisson(0.01, gaussian(1)));
  const Interval both = epsilon(all_of({steps, others}), 1e-6, kReplaceOne);
  const Interval split =
      epsilon(all_of({times(40, poisson(0.05, gaussian(2))), others, times(60, poisson(0.05, gaussian(2)))}), 1e-6,
              kReplaceOne);
  EXPECT_EQ(both.lower, split.lower);
  EXPECT_EQ(both.upper, split.upper);
  EXPECT_GT(both.lower, alone.upper);
  // With Laplace noise there is no transform.
  const Interval lattice = epsilon(all_of({steps, laplace(50)}), 1e-6, kReplaceOne);
  EXPECT_GT(lattice.upper, alone.lower);
  EXPECT_LE(lattice.lower, alone.upper + 0.02);
  EXPECT_GE(lattice.lower, alone.lower * (1 - 1e-3));
  // Discrete noise, which has bounds to both sides, and a sample of a sample, whose rate is rounded to both.
  const Interval discrete = epsilon(times(100, poisson(0.05, discrete_gaussian(200, 100, 5))), 1e-6, kReplaceOne);
  EXPECT_LE(discrete.lower, alone.upper);
  EXPECT_GE(discrete.upper, alone.lower);
  const Interval twice = epsilon(times(100, poisson(0.1, poisson(0.5, gaussian(2)))), 1e-6, kReplaceOne);
  EXPECT_LE(twice.lower, alone.upper);
  EXPECT_GE(twice.upper, alone.lower);
  EXPECT_LE(twice.upper - twice.lower, 1e-6 * twice.upper);
  // More kinds than fit on a lattice, and they go together in groups.
  std::vector<DpEvent> many;
  for (int i = 0; i < 30; ++i) many.push_back(times(10, poisson(0.01 + 1e-4 * i, gaussian(1 + 0.01 * i))));
  const Interval kinds = epsilon(all_of(many), 1e-6, kReplaceOne);
  EXPECT_LE(kinds.lower, epsilon(times(300, poisson(0.0129, gaussian(1))), 1e-6, kReplaceOne).upper);
  EXPECT_GE(kinds.upper, epsilon(times(300, poisson(0.01, gaussian(1.29))), 1e-6, kReplaceOne).lower);
  EXPECT_LE(kinds.upper - kinds.lower, 1e-6 * kinds.upper);
  // Pure ε is out of reach.
  EXPECT_FALSE(pld_epsilon(steps, kReplaceOne, delta_of(0)).has_value());
}

// Discrete noise on samples is held against the sum over the plane's lattice, and against continuous noise.
TEST(Pld, SamplesWithDiscreteNoiseAreCloseToContinuousOnes) {
  const double q = 0.1;
  const double sigma = 70;
  const auto exact = [&](double epsilon, bool remove) {
    const auto density = [&](int x, int y) { return std::exp(-(x * x + y * y) / (2 * sigma * sigma)); };
    double total = 0;
    double delta = 0;
    for (int x = -800; x <= 800; ++x) {
      for (int y = -800; y <= 800; ++y) {
        const double none = density(x, y);
        const double mixed = (1 - q) * none + q * density(x - 30, y - 40);
        total += none;
        delta +=
            remove ? std::max(0.0, mixed - std::exp(epsilon) * none) : std::max(0.0, none - std::exp(epsilon) * mixed);
      }
    }
    return delta / total;
  };
  const DpEvent step = poisson(q, DiscreteGaussianEvent{NoiseScale::of(70), Contributors::of(1), L1Sensitivity::of(70),
                                                        L2Sensitivity::of(50), Dimension::of(2)});
  for (const double epsilon : {0.05, 0.2, 0.5}) {
    const double truth = std::max(exact(epsilon, true), exact(epsilon, false));
    EXPECT_GE(delta_at(step, epsilon).upper, truth) << epsilon;
    EXPECT_LE(delta_at(step, epsilon).upper, truth * 1.05) << epsilon;
  }
  // Many steps of a fine grid cost hardly more than those of continuous noise, and never less.
  for (const Adjacency adjacency : {kAddRemove, kReplaceOne}) {
    const Interval fine =
        epsilon(times(1000, poisson(0.03, discrete_gaussian(0x1p24, 0x1p23, 30'000))), 1e-5, adjacency);
    const Interval smooth = epsilon(times(1000, poisson(0.03, gaussian(2))), 1e-5, adjacency);
    EXPECT_GE(fine.upper, smooth.lower);
    EXPECT_LE(fine.upper, smooth.upper * (1 + 1e-6));
    EXPECT_LE(fine.lower, smooth.upper);
    EXPECT_GE(fine.lower, smooth.lower * (1 - 1e-6));
  }
}

// δ(ε) of (1 − q) N(0, z²) + q N(a, z²) against (1 − q) N(0, z²) + q N(b, z²) in the plane, by a sum over a grid.
double delta_of_two_records(double q, double z, std::array<double, 2> a, std::array<double, 2> b, double epsilon) {
  const auto density = [&](double x, double y, const std::array<double, 2>& centre) {
    const double dx = (x - centre[0]) / z;
    const double dy = (y - centre[1]) / z;
    return std::exp(-(dx * dx + dy * dy) / 2) / (2 * std::numbers::pi * z * z);
  };
  constexpr int cells = 300;
  const double reach = 1 + 7 * z;
  const double h = 2 * reach / cells;
  double sum = 0;
  for (int i = 0; i < cells; ++i) {
    for (int j = 0; j < cells; ++j) {
      const double x = -reach + h * (i + 0.5);
      const double y = -reach + h * (j + 0.5);
      const double rest = (1 - q) * density(x, y, {0, 0});
      sum += std::max(0.0, rest + q * density(x, y, a) - std::exp(epsilon) * (rest + q * density(x, y, b)));
    }
  }
  return sum * h * h;
}

// No two records, of whatever length and direction, tell more than two that pull in opposite directions.
TEST(Pld, OppositeRecordsAreTheWorst) {
  for (const auto& [q, z, e] : {std::tuple{0.3, 1.0, 0.5}, {0.05, 0.6, 1.5}, {0.8, 1.5, 0.2}, {0.5, 0.7, 3.0}}) {
    const double worst = delta_at(poisson(q, gaussian(z)), e, kReplaceOne).upper;
    EXPECT_NEAR(delta_of_two_records(q, z, {1, 0}, {-1, 0}, e), worst, 3e-3 * worst);
    for (double length : {0.0, 0.5, 1.0}) {
      for (double other : {0.3, 1.0}) {
        for (double angle : {0.0, 1.0, 2.0, 2.9}) {
          if (length * other == 1 && angle == 2.9) continue;  // too near to the worst for the grid to tell
          const std::array<double, 2> b = {other * std::cos(angle), other * std::sin(angle)};
          EXPECT_LE(delta_of_two_records(q, z, {length, 0}, b, e), worst * (1 + 1e-9))
              << q << " " << length << " " << angle;
          EXPECT_LE(delta_of_two_records(q, z, b, {length, 0}, e), worst * (1 + 1e-9))
              << q << " " << length << " " << angle;
        }
      }
    }
  }
}

// --- Losses that are too large for doubles ---------------------------------------------------------------------------

// Each of these gave an upper bound far below the truth at some time: where Q underflows, comparisons with NaN passed.
TEST(Pld, LargeLossesAreNotLost) {
  const auto check = [](const DpEvent& event, double delta, double least, double most) {
    const Interval found = epsilon(event, delta);
    EXPECT_GE(found.upper, least * (1 - 1e-12));
    EXPECT_LE(found.upper, most * (1 + 1e-12));
    EXPECT_LE(found.lower, most);
    const double at = delta_at(event, least / 2).upper;
    EXPECT_GE(at, 0.4);
  };
  for (double e : {500.0, 650.0, 2000.0, 1e12}) {
    SCOPED_TRACE(e);
    check(laplace(1 / e), 1e-5, e - 3e-5, e);
    check(times(10, laplace(1 / e)), 1e-5, 10 * e - 100, 10 * e);
    check(discrete_laplace(1 / e, 1), 1e-5, e - 3e-5, e);
    check(times(5, discrete_laplace(1 / e, 1)), 1e-5, 5 * e - 50, 5 * e);
    check(response(e, 3), 1e-5, e - 3e-5, e);
    check(times(2, response(e, 3)), 1e-5, 2 * e - 3e-5, 2 * e);
    check(all_of({approximate(e, 0), approximate(e + 1, 0)}), 1e-5, 2 * e + 1 - 3e-5, 2 * e + 1);
    check(permute_and_flip(e), 1e-5, e - 3e-5, e);
    check(all_of({laplace(1 / e), laplace(1)}), 1e-5, e - 3e-5, e + 1);
  }
  check(discrete_gaussian(1, 100), 1e-5, 5400, 5500);
  check(poisson(0.5, gaussian(1e-3)), 1e-5, 5.03e5, 5.06e5);
  check(times(10, poisson(0.5, gaussian(1e-3))), 1e-5, 3e6, 5.1e6);
  check(all_of({gaussian(0.02), laplace(1)}), 1e-5, 1463, 1490);
}

TEST(Pld, LowerBoundsOfLargeLossesAreBelowExactValues) {
  // Exact: ln(1 − δ (1 + e^-ε)/…) ≈ ε + 2 ln(1 − δ) for Laplace, ε + ln(1 − δ) for responses.
  EXPECT_LE(epsilon(laplace(1e-3), 1e-2).lower, 1000 + 2 * std::log1p(-1e-2));
  EXPECT_LE(epsilon(discrete_laplace(1e-3, 1), 1e-2).lower, 1000 + std::log1p(-1e-2) + 1e-9);
  EXPECT_LE(epsilon(all_of({approximate(800, 0), approximate(900, 0)}), 1e-2).lower, 1700 + std::log1p(-1e-2) + 1e-9);
  // N(μ, 1) with μ = 1000, of which half are there: between those of q = ½ alone and of the Gaussian.
  EXPECT_LE(epsilon(poisson(0.5, gaussian(1e-3)), 1e-5).lower, epsilon(gaussian(1e-3), 1e-5).upper);
}

// --- Edges -----------------------------------------------------------------------------------------------------------

TEST(Pld, PureTreesAddUp) {
  const DpEvent event = all_of({times(10, laplace(2)), response(1), response(0.5, 4), exponential(0.2),
                                permute_and_flip(0.1), discrete_laplace(2, 1.5), times(3, ZeroCostEvent{})});
  const Interval found = epsilon(event, 0);
  expect_holds(found, 5 + 1 + 0.5 + 0.2 + 0.1 + 0.5, 1e-11);
  EXPECT_LE(found.upper - found.lower, 1e-10);
  expect_holds(epsilon(times(10, poisson(0.1, laplace(1))), 0), 10 * std::log1p(0.1 * std::expm1(1.0)), 1e-11);
  expect_holds(epsilon(times(1000000000, laplace(10)), 0), 1e8, 1e-11);
  for (const DpEvent& bad : {gaussian(1), all_of({gaussian(1), laplace(1)}), approximate(1, 1e-9), skellam(10),
                             poisson(0.1, gaussian(1)), zcdp(0.1, 0)}) {
    expect_invalid(pld_epsilon(bad, kAddRemove, Delta::of(0)).error(), "delta");
  }
  EXPECT_GE(delta_at(event, 7.31).upper, 0);
  EXPECT_EQ(delta_at(times(10, response(1)), 10).upper, 0);
}

// A bound without δ holds with every δ. Whole answers that move by 1.5 at most move by 1.
TEST(Pld, NoDeltaCostsMoreThanNone) {
  const DpEvent four = times(4, discrete_laplace(0.5956, 1.5));
  const double pure = epsilon(four, 0).upper;
  EXPECT_NEAR(pure, 4 / 0.5956, 1e-9);
  for (double delta : {1e-300, 1e-100, 1e-30, 1e-12, 1e-9, 1e-6, 1e-3}) {
    EXPECT_LE(epsilon(four, delta).upper, pure) << delta;
    EXPECT_LE(renyi(four, delta), pure * (1 + 1e-12)) << delta;
    EXPECT_EQ(delta_at(four, pure).upper, 0);
    for (const DpEvent& event : {times(50, laplace(2)), times(7, response(3, 5)), times(9, exponential(4)),
                                 times(20, permute_and_flip(1)), times(3, poisson(0.3, laplace(0.2)))}) {
      EXPECT_LE(epsilon(event, delta).upper, epsilon(event, 0).upper) << delta;
    }
  }
  EXPECT_GT(epsilon(four, 1e-12).lower, 0.5 * pure);
}

TEST(Pld, NonPrivateIsInfinite) {
  for (const DpEvent& event :
       {DpEvent(NonPrivateEvent{"raw"}), all_of({laplace(1), NonPrivateEvent{"raw"}}),
        poisson(0.1, NonPrivateEvent{"raw"}), fixed_size(1, 10, poisson(0.5, NonPrivateEvent{"raw"}))}) {
    EXPECT_EQ(epsilon(event, 1e-5, kReplaceOne).lower, kInfinity);
    EXPECT_EQ(epsilon(event, 0, kReplaceOne).upper, kInfinity);
    EXPECT_EQ(delta_at(event, 10, kReplaceOne).lower, 1);
  }
}

TEST(Pld, ZeroCostPartsChangeNothing) {
  const DpEvent zero = times(std::uint64_t{1} << 60, times(1000, ZeroCostEvent{}));
  for (const DpEvent& event : {laplace(1), times(100, poisson(0.01, gaussian(1))), zcdp(0.1, 1e-9)}) {
    const Interval plain = epsilon(event, 1e-6);
    const Interval with =
        epsilon(all_of({zero, event, poisson(0.5, zero), approximate(0, 0), discrete_laplace(1, 0.5)}), 1e-6);
    EXPECT_NEAR(plain.lower, with.lower, 1e-13);
    EXPECT_NEAR(plain.upper, with.upper, 1e-13);
  }
  EXPECT_EQ(epsilon(zero, 0).upper, 0);
  EXPECT_EQ(delta_at(all_of({}), 0).upper, 0);
}

TEST(Pld, CountsUpTo2To53AndNoFurther) {
  constexpr std::uint64_t most = std::uint64_t{1} << 53;
  for (const DpEvent& event : {laplace(10), response(0.1), response(0.1, 5), poisson(0.01, gaussian(1)), gaussian(1)}) {
    for (std::uint64_t n : {std::uint64_t{1000000000}, most}) {
      const Interval found = epsilon(times(n, event), 1e-5);
      EXPECT_LE(found.lower, found.upper);
      EXPECT_LE(found.upper, renyi(times(n, event), 1e-5) * (1 + 1e-9));
      // Not less than that of fewer steps.
      EXPECT_GT(found.upper, epsilon(times(1000000, event), 1e-5).lower);
    }
  }
  expect_invalid(pld_epsilon(times(most + 1, laplace(10)), kAddRemove, Delta::of(1e-5)).error(), "2^53");
  expect_invalid(pld_epsilon(all_of({times(most, laplace(10)), laplace(10)}), kAddRemove, Delta::of(1e-5)).error(),
                 "2^53");
  expect_invalid(pld_epsilon(times(most, times(most, gaussian(10))), kAddRemove, Delta::of(1e-5)).error(), "2^53");
}

TEST(Pld, ExtremeParametersGiveTrueBounds) {
  for (double d : {1e-300, 1e-100, 1e-5, 0.999}) {
    for (const DpEvent& event :
         {poisson(1e-12, gaussian(1)), times(1000000000, poisson(1e-12, gaussian(1))), poisson(1 - 1e-12, gaussian(1)),
          times(100, poisson(1 - 1e-12, gaussian(1))), poisson(0.01, gaussian(1e6)), poisson(0.01, gaussian(1e-3)),
          times(10, poisson(0.01, gaussian(1e-3))), gaussian(1e-3), gaussian(1e6), gaussian(1e200),
          times(10, laplace(1e9)), times(3, poisson(1e-12, laplace(1))), discrete_gaussian(10, 1),
          times(3, discrete_gaussian(1e4, 1)), discrete_gaussian(1e200, 1), response(1e-300, 3), exponential(1)}) {
      SCOPED_TRACE(d);
      const Interval found = epsilon(event, d);
      EXPECT_GE(found.lower, 0);
      EXPECT_LE(found.lower, found.upper);
      EXPECT_LT(found.upper, kInfinity);
      EXPECT_LE(found.upper, renyi(event, d) * (1 + 1e-9) + 1e-12);
    }
    // As the rate goes to 1 it is the Gaussian.
    const double exact = epsilon(gaussian(1), d).upper;
    EXPECT_GE(epsilon(poisson(1 - 1e-12, gaussian(1)), d).upper, exact * (1 - 1e-9));
  }
  // A Gaussian of multiplier 10^200 still costs something at 10^-300.
  EXPECT_GT(epsilon(gaussian(1e200), 1e-300).upper, 0);
  // The discrete Gaussian's law ends at 36 σ, the truth does not: about that of the continuous one at 37 σ.
  EXPECT_GE(epsilon(discrete_gaussian(10, 1), 1e-300).upper, 3.68);
  expect_invalid(pld_epsilon(gaussian(1e-200), kAddRemove, Delta::of(1e-5)).error(), "more noise");
}

TEST(Pld, DeltasOfParts) {
  // (ε, δ) parts whose δ are more than there is, all of it, and less.
  const DpEvent two = all_of({approximate(1, 1e-6), approximate(0.5, 2e-6)});
  expect_invalid(pld_epsilon(two, kAddRemove, Delta::of(2.9e-6)).error(), "larger delta");
  expect_holds(epsilon(two, 3e-6), 1.5, 1e-5);
  expect_invalid(pld_epsilon(times(10, approximate(0.1, 1e-7)), kAddRemove, Delta::of(9e-7)).error(), "larger delta");
  expect_invalid(pld_epsilon(all_of({approximate(1, 1e-6), gaussian(2)}), kAddRemove, Delta::of(1e-6)).error(),
                 "delta");
  EXPECT_EQ(epsilon(approximate(1, 1e-6), 1e-6).upper, 1);
  EXPECT_GE(delta_at(two, 100).lower, 2.99e-6);
  EXPECT_LE(delta_at(two, 100).upper, 3.001e-6);
  // A Rényi part that spends nearly all of δ leaves the rest to the others.
  const Interval tight = epsilon(all_of({zcdp(0.01, 1e-6), laplace(2)}), 1.05e-6);
  EXPECT_GE(tight.upper, 0.5 + 0.1);
  EXPECT_LE(tight.upper, 1.3);
  expect_invalid(pld_epsilon(zcdp(0.01, 1e-6), kAddRemove, Delta::of(1e-7)).error(), "delta");
}

// Parts of epsilon 0 fail with a probability f, and tell nothing otherwise: δ(ε) = f + (1 − f) δ of the rest, exactly.
// Thresholds of noised counts are such parts.
TEST(Pld, FailuresTakeTheirShareOfDelta) {
  const double failure = 4e-7;
  for (const DpEvent& rest :
       {gaussian(4), discrete_gaussian(4 * 65536.0, 65536, 3), exponential(0.5), laplace(2), approximate(0.3, 1e-8)}) {
    for (double delta : {1e-6, 1e-3}) {
      const double left = (delta - failure) / (1 - failure);
      const Interval alone = pld_epsilon(rest, kAddRemove, delta_of(left)).value();
      const Interval with =
          pld_epsilon(ComposedEvent{{approximate(0, failure), rest}}, kAddRemove, delta_of(delta)).value();
      EXPECT_NEAR(with.upper, alone.upper, 1e-9 * alone.upper);
      EXPECT_NEAR(with.lower, alone.lower, 1e-9 * alone.lower);
      // Mutants: the failure counted not at all, and twice.
      const Interval never = pld_epsilon(rest, kAddRemove, delta_of(delta)).value();
      EXPECT_LT(never.upper, with.upper);
      const Interval twice =
          pld_epsilon(ComposedEvent{{SelfComposedEvent{Steps::of(2), approximate(0, failure)}, rest}}, kAddRemove,
                      delta_of(delta))
              .value();
      EXPECT_GT(twice.upper, with.upper);
      const Interval back =
          pld_delta(ComposedEvent{{approximate(0, failure), rest}}, kAddRemove, PrivacyLoss::make(with.upper).value())
              .value();
      EXPECT_LE(back.lower, delta);
      EXPECT_GE(back.upper, failure);
      EXPECT_LE(back.upper, delta * (1 + 1e-3));
    }
  }
  // Failures alone: nothing is told unless they happen.
  const DpEvent failures = SelfComposedEvent{Steps::of(3), approximate(0, 1e-7)};
  EXPECT_EQ(pld_epsilon(failures, kAddRemove, delta_of(3.1e-7)).value().upper, 0);
  EXPECT_FALSE(pld_epsilon(failures, kAddRemove, delta_of(2.9e-7)).has_value());
  EXPECT_NEAR(pld_delta(failures, kAddRemove, PrivacyLoss::of(1)).value().upper, 3e-7, 1e-12);
}

TEST(Pld, RefusesWhatHasNoBound) {
  const auto refused = [](const DpEvent& event, Adjacency adjacency, const char* named) {
    expect_invalid(pld_epsilon(event, adjacency, Delta::of(1e-5)).error(), named);
    expect_invalid(pld_delta(event, adjacency, PrivacyLoss::of(1)).error(), named);
  };
  refused(fixed_size(10, 100, gaussian(1)), kAddRemove, "fixed size");
  refused(poisson(0.5, fixed_size(10, 100, gaussian(1))), kReplaceOne, "fixed size");
  refused(fixed_size(10, 100, poisson(0.5, gaussian(1))), kReplaceOne, "one kind");
  refused(shuffled(100, gaussian(1)), kReplaceOne, "shuffling");
  refused(shuffled(100, poisson(0.5, laplace(1))), kReplaceOne, "shuffl");
}

TEST(Pld, NestedSamplesAreOneSample) {
  const Interval nested = epsilon(times(100, poisson(0.25, poisson(0.125, gaussian(1)))), 1e-5);
  const Interval flat = epsilon(times(100, poisson(0.03125, gaussian(1))), 1e-5);
  EXPECT_EQ(nested.lower, flat.lower);
  EXPECT_EQ(nested.upper, flat.upper);
  const Interval inexact = epsilon(times(100, poisson(0.1, poisson(0.2, gaussian(1)))), 1e-5);
  expect_holds(inexact, epsilon(times(100, poisson(0.02, gaussian(1))), 1e-5).upper, 1e-6);
  const Interval laplaces = epsilon(poisson(0.25, poisson(0.5, laplace(1))), 1e-5);
  expect_holds(laplaces, epsilon(poisson(0.125, laplace(1)), 1e-5).upper, 1e-9);
  // Several Gaussians within a sample are one.
  expect_holds(epsilon(times(50, poisson(0.1, times(4, gaussian(4)))), 1e-5),
               epsilon(times(50, poisson(0.1, gaussian(2))), 1e-5).upper, 1e-6);
}

// Against an independent evaluation of the optimal composition of exponential mechanisms with the same t: it is a
// mechanism that the event describes, hence below; and basic composition is above.
// One choice: for every x some mechanism has the δ of the dominating pair, (1 − e^{(x−ε)/2})²/(1 − e^−ε).
TEST(Pld, OneExponentialMechanismIsExact) {
  for (double e : {0.1, 1.0, 4.0}) {
    for (double share : {0.1, 0.5, 0.9}) {
      const double gap = -std::expm1((share - 1) * e / 2);
      const double truth = gap * gap / -std::expm1(-e);
      const Interval found = epsilon(exponential(e), truth);
      EXPECT_LE(found.lower, share * e * (1 + 1e-9));
      EXPECT_GE(found.upper, share * e * (1 - 1e-9));
      EXPECT_LE(found.upper - found.lower, 1e-6 * found.upper);
    }
  }
}

// δ(ε) of Skellam noise by its definition: the Bessel functions of Boost, over all outcomes of one or two answers.
TEST(Pld, SkellamNoiseOnANumberHasALawOfItsOwn) {
  for (double variance : {1.0, 30.0}) {
    for (double shift : {1.0, 2.0}) {
      std::vector<double> p;
      std::vector<double> q;
      const int reach = variance > 10 ? 60 : 30;
      const auto mass = [&](int x) { return std::exp(-variance) * std::cyl_bessel_i(std::abs(x), variance); };
      for (int x = -reach; x <= reach; ++x) {
        p.push_back(mass(x));
        q.push_back(mass(x - static_cast<int>(shift)));
      }
      const DpEvent event = SkellamEvent{NoiseVariance::make(variance).value(), L1Sensitivity::make(shift).value(),
                                         L2Sensitivity::make(shift).value(), kScalar};
      for (double delta : {1e-2, 1e-5}) {
        const auto once = [&](double e) {
          double sum = 0;
          for (std::size_t i = 0; i < p.size(); ++i) sum += std::max(0.0, p[i] - std::exp(e) * q[i]);
          return sum;
        };
        const auto twice = [&](double e) {
          double sum = 0;
          for (std::size_t i = 0; i < p.size(); ++i) {
            for (std::size_t j = 0; j < p.size(); ++j) {
              sum += std::max(0.0, p[i] * p[j] - std::exp(e) * q[i] * q[j]);
            }
          }
          return sum;
        };
        const Interval one = epsilon(event, delta);
        const Interval two = epsilon(times(2, event), delta);
        EXPECT_LE(once(one.upper), delta * (1 + 1e-6)) << variance << ' ' << shift;
        EXPECT_GE(once(one.lower), delta * (1 - 1e-6)) << variance << ' ' << shift;
        EXPECT_LE(one.upper - one.lower, 1e-5 * one.upper);
        EXPECT_LE(twice(two.upper), delta * (1 + 1e-6)) << variance << ' ' << shift;
        EXPECT_GE(twice(two.lower), delta * (1 - 1e-6)) << variance << ' ' << shift;
        EXPECT_LE(two.upper - two.lower, 1e-2 * two.upper);
        EXPECT_GT(once(one.upper * 0.999), delta);
      }
    }
  }
}

TEST(Pld, ExponentialMechanisms) {
  const auto binomial_delta = [](int k, double e, double t, double x) {
    // Ratios e^t with probability p and e^{t−ε} otherwise.
    const double p = -std::expm1(t - e) / -std::expm1(-e);
    double sum = 0;
    double choose = 1;
    for (int i = 0; i <= k; ++i) {
      const double loss = k * t - i * e;
      if (loss > x) sum += choose * std::pow(p, k - i) * std::pow(1 - p, i) * -std::expm1(x - loss);
      choose = choose * (k - i) / (i + 1);
    }
    return sum;
  };
  for (int k : {1, 2, 20}) {
    for (double e : {0.1, 1.0, 4.0}) {
      const DpEvent event = times(static_cast<std::uint64_t>(k), exponential(e));
      const Interval found = epsilon(event, 1e-6);
      EXPECT_LE(found.upper, k * e);
      const double above = delta_at(event, 0.4 * k * e).upper;
      // From below: some mechanism of two groups of candidates loses as much, and no other much more.
      double best = 0;
      for (double share = 0.5; share < 0.9995; share += 0.0005) {
        if (binomial_delta(k, e, share * e, 0) <= 1e-6) continue;
        const auto too_large = [&](double x) { return binomial_delta(k, e, share * e, x) > 1e-6; };
        best = std::max(best, bisect({.holds = 0, .fails = k * e}, {.halvings = 40}, too_large).holds);
      }
      EXPECT_LE(found.lower, found.upper);
      if (k > 1) {
        EXPECT_LE(found.lower, best * (1 + 1e-3));
        EXPECT_GE(found.lower, best * 0.85);
      }
      for (double share : {0.05, 0.25, 0.5, 0.75, 0.95, 0.999}) {
        EXPECT_LE(binomial_delta(k, e, share * e, found.upper), 1e-6 * (1 + 1e-9)) << k << " " << e << " " << share;
        EXPECT_LE(binomial_delta(k, e, share * e, 0.4 * k * e), above * (1 + 1e-9));
      }
    }
  }
  // In company their own law helps: below Rényi, and below what ε-DP alone says.
  const auto company = [](DpEvent event) {
    return all_of({times(1000, poisson(0.01, gaussian(1))), std::move(event)});
  };
  const double upper = epsilon(company(times(10, exponential(0.3))), 1e-5).upper;
  EXPECT_LT(upper, renyi(company(times(10, exponential(0.3))), 1e-5));
  EXPECT_LT(upper, epsilon(company(times(10, response(0.3))), 1e-5).lower);
}

// --- Many parts ------------------------------------------------------------------------------------------------------

TEST(Pld, ThousandDifferentParts) {
  std::vector<DpEvent> samples;
  std::vector<DpEvent> laplaces;
  std::vector<DpEvent> mixed;
  for (int i = 0; i < 1000; ++i) {
    samples.push_back(poisson(0.01, gaussian(1 + i * 1e-3)));
    laplaces.push_back(laplace(20 + 0.02 * i));
    mixed.push_back(i % 2 == 0 ? samples.back() : laplaces.back());
  }
  // 1000 of the best and of the worst of them.
  const Interval s = epsilon(all_of(samples), 1e-5);
  EXPECT_GE(s.lower, epsilon(times(1000, poisson(0.01, gaussian(2))), 1e-5).lower);
  EXPECT_LE(s.upper, epsilon(times(1000, poisson(0.01, gaussian(1))), 1e-5).upper);
  EXPECT_LE(s.upper - s.lower, 1e-3 * s.upper);
  const Interval l = epsilon(all_of(laplaces), 1e-5);
  EXPECT_GE(l.lower, epsilon(times(1000, laplace(40)), 1e-5).lower * (1 - 1e-5));
  EXPECT_LE(l.upper, epsilon(times(1000, laplace(20)), 1e-5).upper * (1 + 1e-5));
  EXPECT_LE(l.upper, renyi(all_of(laplaces), 1e-5));
  EXPECT_GE(l.lower, 0.8 * l.upper);
  const Interval m = epsilon(all_of(mixed), 1e-5);
  EXPECT_LE(m.lower, m.upper);
  EXPECT_LE(m.upper, renyi(all_of(mixed), 1e-5));
}

// --- Properties of random trees --------------------------------------------------------------------------------------

// SplitMix64: fixed seeds, so that a test gives the same verdict every time.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  double uniform() { return std::ldexp(static_cast<double>(next() >> 11), -53); }
  double between(double low, double high) { return low * std::pow(high / low, uniform()); }
  std::uint64_t below(std::uint64_t n) { return next() % n; }

  DpEvent leaf() {
    switch (below(9)) {
      case 0:
        return gaussian(between(0.5, 20));
      case 1:
        return laplace(between(0.5, 50));
      case 2:
        return response(between(0.01, 3), 2 + below(4));
      case 3:
        return exponential(between(0.01, 2));
      case 4:
        return discrete_laplace(between(1, 30), 1 + static_cast<double>(below(3)));
      case 5:
        return approximate(between(0.01, 1), below(2) == 0 ? 0 : between(1e-12, 1e-8));
      case 6:
        return zcdp(between(1e-4, 0.1), below(2) == 0 ? 0 : between(1e-12, 1e-8));
      case 7:
        return permute_and_flip(between(0.01, 2));
      default:
        return poisson(between(1e-3, 1), gaussian(between(0.6, 10)));
    }
  }
  DpEvent tree() {
    std::vector<DpEvent> parts;
    for (std::uint64_t n = 1 + below(3); n > 0; --n) parts.push_back(times(1 + below(40), leaf()));
    return all_of(std::move(parts));
  }
  double delta() { return between(1e-7, 1e-2); }

 private:
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

constexpr std::uint64_t kTrees = 10;

TEST(PldProperties, BoundsAgreeWithEachOtherAndWithRenyi) {
  for (std::uint64_t seed = 1; seed <= kTrees; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws(seed);
    const DpEvent event = draws.tree();
    const double delta = draws.delta();
    const Interval found = epsilon(event, delta);
    EXPECT_GE(found.lower, 0);
    EXPECT_LE(found.lower, found.upper);
    EXPECT_LE(found.upper, renyi(event, delta) * (1 + 1e-9));
    EXPECT_LE(delta_at(event, found.upper).lower, delta * (1 + 1e-9));
    const double below = delta_at(event, found.lower).upper;
    EXPECT_TRUE(found.lower == 0 || below >= delta * (1 - 1e-9)) << below;
  }
}

TEST(PldProperties, CompositionIsAtMostTheSumAndAtLeastEachPart) {
  for (std::uint64_t seed = 101; seed <= 108; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws(seed);
    const DpEvent a = times(1 + draws.below(20), draws.leaf());
    const DpEvent b = times(1 + draws.below(20), draws.leaf());
    const double delta = draws.delta();
    const Interval both = epsilon(all_of({a, b}), delta);
    EXPECT_LE(both.lower, (epsilon(a, delta / 2).upper + epsilon(b, delta / 2).upper) * (1 + 1e-9));
    EXPECT_GE(both.upper, std::max(epsilon(a, delta).lower, epsilon(b, delta).lower) * (1 - 1e-9));
  }
}

TEST(PldProperties, OrderAndNestingDoNotMatter) {
  for (std::uint64_t seed = 201; seed <= 208; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws(seed);
    const DpEvent a = draws.leaf();
    const DpEvent b = draws.leaf();
    const Interval one = epsilon(all_of({times(6, a), times(2, b)}), 1e-5);
    const Interval other =
        epsilon(all_of({b, times(3, all_of({a})), times(1, all_of({all_of({b, times(3, a)})}))}), 1e-5);
    // The Rényi route adds up in the order of the tree.
    EXPECT_NEAR(one.lower, other.lower, 1e-12 * one.upper);
    EXPECT_NEAR(one.upper, other.upper, 1e-12 * one.upper);
  }
}

TEST(PldProperties, CountsAreNotIgnored) {
  for (std::uint64_t seed = 301; seed <= 308; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws(seed);
    const DpEvent event = draws.leaf();
    const Interval counted = epsilon(times(7, event), 1e-5);
    const Interval listed = epsilon(all_of(std::vector<DpEvent>(7, event)), 1e-5);
    EXPECT_NEAR(counted.upper, listed.upper, 1e-12 * listed.upper);
    EXPECT_NEAR(counted.lower, listed.lower, 1e-12 * listed.upper);
    EXPECT_GE(epsilon(times(1000, event), 1e-5).upper, counted.upper);
  }
}

TEST(PldProperties, MonotoneInRateStepsNoiseAndDelta) {
  for (std::uint64_t seed = 401; seed <= 420; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws(seed);
    const double q = draws.between(1e-4, 0.9);
    const double z = draws.between(0.5, 20);
    const std::uint64_t steps = 20 + draws.below(10000);
    const double delta = draws.delta();
    const auto at = [](double rate, double sigma, std::uint64_t n, double d) {
      return epsilon(times(n, poisson(rate, gaussian(sigma))), d);
    };
    const double less = at(q, z, steps, delta).lower;
    for (double factor : {1 + 1e-7, 1.02}) {
      EXPECT_GE(at(std::min(1.0, q * factor), z, steps, delta).upper, less);
      EXPECT_GE(at(q, z / factor, steps, delta).upper, less);
      EXPECT_GE(at(q, z, steps, delta / factor).upper, less);
    }
    EXPECT_GE(at(q, z, steps + 1, delta).upper, less);
    // And δ falls with ε.
    const DpEvent event = times(steps, poisson(q, gaussian(z)));
    EXPECT_GE(delta_at(event, less).upper, delta_at(event, less * 1.01 + 1e-9).lower);
  }
}

TEST(PldProperties, ReplaceOneTrees) {
  for (std::uint64_t seed = 501; seed <= 508; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws(seed);
    const DpEvent inner = draws.below(2) == 0 ? gaussian(draws.between(0.8, 5)) : laplace(draws.between(0.8, 5));
    const std::uint64_t n = 1 + draws.below(50);
    const DpEvent fixed = times(n, fixed_size(1 + draws.below(99), 100, inner));
    const Interval found = epsilon(fixed, 1e-5, kReplaceOne);
    EXPECT_LE(found.lower, found.upper);
    EXPECT_LE(found.upper, renyi(fixed, 1e-5, kReplaceOne) * (1 + 1e-9));
    EXPECT_LE(found.lower, epsilon(times(n, inner), 1e-5, kReplaceOne).upper);
    const Interval reports = epsilon(shuffled(1000, response(draws.between(0.1, 3))), 1e-6, kReplaceOne);
    EXPECT_LE(reports.upper, 3);
  }
}

// Whatever the parameters: a valid interval, or a refusal that says why.
RC_GTEST_PROP(PldProperties, AnyTreeGivesAnIntervalOrARefusal, ()) {
  const DpStatement statement = {*rc::gen::element(kAddRemove, kReplaceOne), PrivacyUnit::kRow, testing::draw_event(2)};
  const Delta delta = *rc::gen::element(Delta::of(0), Delta::of(1e-300), Delta::of(1e-6), Delta::of(0.999));
  const Result<Interval> found = pld_epsilon(statement.event, statement.adjacency, delta);
  if (!found.has_value()) {
    RC_ASSERT(found.error().code == ErrorCode::kInvalidArgument);
    RC_ASSERT(found.error().message.size() > 20);
    return;
  }
  const Interval interval = found.value();
  RC_ASSERT(interval.lower >= 0);
  RC_ASSERT(interval.lower <= interval.upper);
  RC_ASSERT(std::isfinite(interval.upper) || contains<NonPrivateEvent>(statement.event));
  const Result<Interval> back =
      pld_delta(statement.event, statement.adjacency, PrivacyLoss::make(std::min(interval.upper, 1e300)).value());
  RC_ASSERT(back.has_value());
  RC_ASSERT(back.value().lower >= 0);
  RC_ASSERT(back.value().lower <= back.value().upper);
  RC_ASSERT(back.value().upper <= 1);
  if (std::isfinite(interval.upper)) RC_ASSERT(back.value().lower <= delta.value() * (1 + 1e-9));
}

}  // namespace
}  // namespace noisefloor
