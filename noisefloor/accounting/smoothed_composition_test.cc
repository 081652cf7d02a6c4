// Atoms, their transform and the smoothed integral against laws whose δ is known exactly: sums of 50 digits over
// outcomes, long doubles node by node, closed forms.
#include "noisefloor/accounting/smoothed_composition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <vector>

#include "noisefloor/accounting/atom_transform.h"
#include "noisefloor/accounting/composition.h"
#include "noisefloor/accounting/gaussian_dp.h"
#include "noisefloor/accounting/loss_atoms.h"
#include "noisefloor/accounting/loss_law.h"

namespace noisefloor {
namespace {

using Wide = boost::multiprecision::cpp_bin_float_50;
using SharedLaw = std::shared_ptr<const LossLaw>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNodes = 65536;

Wide tail(const Wide& x) { return boost::math::erfc(Wide(x / sqrt(Wide(2)))) / 2; }

// A sampled Gaussian: the probabilities of { x > cut } under both of its laws.
struct Tails {
  Wide rest;   // N(0, z²)
  Wide mixed;  // (1 − q) N(0, z²) + q N(1, z²)
};
Tails tails_beyond(double q, double z, const Wide& cut) {
  const Wide rest = tail(cut / z);
  return {rest, (1 - Wide(q)) * rest + Wide(q) * tail((cut - 1) / z)};
}
// Where ln(1 − q + q e^{(2x − 1)/2z²}) is this loss.
Wide place_of(double q, double z, const Wide& loss) {
  const Wide u = log(1 + (exp(loss) - 1) / Wide(q));
  return Wide(z) * z * u + Wide(1) / 2;
}

// δ(ε) of one step with a removed record.
Wide removed_delta(double q, double z, double epsilon) {
  const Tails beyond = tails_beyond(q, z, place_of(q, z, epsilon));
  return beyond.mixed - exp(Wide(epsilon)) * beyond.rest;
}

// With 64 bits: no term is negative.
Wide delta_of(const LossAtoms& atoms, double epsilon) {
  long double sum = 0;
  for (std::size_t i = 0; i < atoms.loss.size(); ++i) {
    const long double more = static_cast<long double>(atoms.loss[i]) - epsilon;
    if (more > 0) sum -= atoms.mass[i] * std::expm1(-more);
  }
  return sum;
}

// --- Atoms -----------------------------------------------------------------------------------------------------------

TEST(LossAtoms, AreAboveAndBelowTheLaw) {
  for (const double q : {1e-7, 1e-4, 1e-2, 0.3}) {
    for (const double z : {0.3, 1.0, 4.0}) {
      const auto law = sampled_law(SharedLaw(gaussian_law(1 / z)), q, true);
      const double middle = single_epsilon(*law, std::log(q * 1e-3)).upper;
      const RepeatedLaw once{law.get(), 1};
      const auto found = atomic_laws({&once, 1}, {-1, 2 * middle, 1e-7 * middle * middle, 12 / middle, 60}, 40'000);
      ASSERT_EQ(found.size(), 1U);
      const AtomicLaw& atoms = found[0];
      for (const double share : {0.3, 0.7, 1.0, 1.3, 1.9}) {
        const double epsilon = share * middle;
        const Wide exact = removed_delta(q, z, epsilon);
        const Wide above = delta_of(atoms.above, epsilon) + Wide(atoms.infinite);
        // The event of the tail, from below: P − e^ε Q.
        const Wide tail_q = atoms.tail_q_high;
        const Wide rest = tail_q + Wide(atoms.tail_gain_low) - exp(Wide(epsilon)) * tail_q;
        const Wide below = delta_of(atoms.below, epsilon) + (rest > 0 ? rest : Wide(0));
        SCOPED_TRACE(testing::Message() << q << ' ' << z << ' ' << share);
        EXPECT_GE(above, exact * (1 - 1e-15));
        EXPECT_LE(below, exact * (1 + 1e-15));
        // Both are close, and so an error in them would show.
        EXPECT_LE(above, exact * 1.01);
        EXPECT_GE(below, exact * 0.99);
      }
    }
  }
}

TEST(LossAtoms, TakeNoMoreThanTheyMay) {
  const auto law = gaussian_law(1);
  const RepeatedLaw once{law.get(), 1};
  EXPECT_TRUE(atomic_laws({&once, 1}, {-5, 5, 1e-12, 1, 60}, 1000).empty());
  const auto found = atomic_laws({&once, 1}, {-5, 5, 1e-2, 1, 60}, 1000);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_LE(found[0].above.loss.size(), 1100U);
}

// p − q e^at of sampled laws is as exact as it says, and far more exact than the difference of the masses.
TEST(LossAtoms, KnowSmallDifferences) {
  for (const double q : {1e-6, 1e-3}) {
    for (const double z : {0.5, 2.0}) {
      const SharedLaw inner(gaussian_law(1 / z));
      const auto remove = sampled_law(inner, q, true);
      const auto add = sampled_law(inner, q, false);
      for (const double from : {-0.4 * q, 0.3 * q, 5 * q}) {
        const double to = from + 0.01 * q;
        const Tails low = tails_beyond(q, z, place_of(q, z, from));
        const Tails high = tails_beyond(q, z, place_of(q, z, to));
        const Wide mixed = low.mixed - high.mixed;
        const Wide rest = low.rest - high.rest;
        const Excess removed = remove->excess(from, to, from);
        const Excess added = add->excess(-to, -from, -to);
        const Wide truth = mixed - rest * exp(Wide(from));
        const Wide other = rest - mixed * exp(Wide(-to));
        SCOPED_TRACE(testing::Message() << q << ' ' << z << ' ' << from);
        // The ends of the cell themselves are known up to loss_error().
        const double slack = remove->loss_error(std::fabs(to)) * 8 * static_cast<double>(low.rest);
        EXPECT_LE(abs(Wide(removed.value) - truth), Wide(removed.error + slack));
        EXPECT_LE(abs(Wide(added.value) - other), Wide(added.error + slack));
        EXPECT_LT(removed.error, 1e-3 * q * 0.01 * static_cast<double>(rest) + 4e-15 * q);
      }
    }
  }
}

// --- Their transform -------------------------------------------------------------------------------------------------

TEST(AtomTransform, IsWithinItsErrorsOfTheSum) {
  LossAtoms atoms;
  for (int i = 0; i < 400; ++i) {
    const double size = std::pow(10.0, -9 + 0.025 * i);  // 1e-9 … 10
    atoms.loss.push_back(i % 3 == 0 ? -size : size);
    atoms.mass.push_back(0.5 / (1 + i * i % 97) / 400);
  }
  atoms.loss.push_back(-1e-4);
  atoms.mass.push_back(0.9);
  const AtomTransform transform(atoms, 0);
  for (const double c : {0.5, 3.0}) {
    for (const double h : {0.02, 0.7}) {  // windows of 314, and of 9: less than the largest losses
      const std::size_t nodes = 300;
      std::vector<std::complex<double>> ratios(nodes);
      std::vector<double> errors(nodes);
      const auto values = transform.on_line(c)->evaluate(h, 1e-9, ratios, errors);
      long double moment = 0;
      for (std::size_t j = 0; j < atoms.loss.size(); ++j) {
        moment += static_cast<long double>(atoms.mass[j]) * std::exp(static_cast<long double>(c) * atoms.loss[j]);
      }
      EXPECT_NEAR(values.log_moment, static_cast<double>(std::log(moment)),
                  values.log_moment_error + 0x1p-51 * std::fabs(values.log_moment));
      double largest = 0;
      for (std::size_t n = 0; n < nodes; ++n) {
        const long double y = static_cast<long double>(h) * static_cast<long double>(n + 1);
        std::complex<long double> sum = 0;
        for (std::size_t j = 0; j < atoms.loss.size(); ++j) {
          const long double tilted =
              static_cast<long double>(atoms.mass[j]) * std::exp(static_cast<long double>(c) * atoms.loss[j]);
          const long double angle = y * atoms.loss[j];
          const long double half = std::sin(angle / 2);
          sum += tilted * std::complex<long double>(-2 * half * half, std::sin(angle));
        }
        sum /= moment;
        const double off =
            static_cast<double>(std::abs(std::complex<long double>(ratios[n].real(), ratios[n].imag()) - sum));
        EXPECT_LE(off, errors[n]) << c << ' ' << h << ' ' << n;
        EXPECT_LE(errors[n], 1e-9);
        largest = std::max(largest, off);
      }
      EXPECT_GT(largest, 0) << "nothing was rounded: the test compares nothing";
    }
  }
}

// --- Compositions ----------------------------------------------------------------------------------------------------

void expect_holds(Interval found, double exact_low, double exact_high, double width) {
  EXPECT_LE(found.lower, exact_high);
  EXPECT_GE(found.upper, exact_low);
  EXPECT_LE(found.upper - found.lower, width * found.upper);
}

TEST(SmoothedComposition, HoldsGaussiansInClosedForm) {
  for (const double mu : {1e-4, 0.1, 1.0}) {
    for (const double steps : {2.0, 100.0, 1e4}) {
      for (const double delta : {1e-3, 1e-8, 1e-20}) {
        const double total = mu * std::sqrt(steps);
        if (total > 5) continue;
        const Interval exact = GaussianDp::of_mu(total).value().epsilon_at(Delta::make(delta).value()).value();
        const auto law = gaussian_law(mu);
        const RepeatedLaw repeated{law.get(), steps};
        const Interval found =
            smoothed_epsilon({&repeated, 1}, std::log(delta), std::max(exact.upper, 1e-9), 1e-5, kNodes);
        SCOPED_TRACE(testing::Message() << mu << ' ' << steps << ' ' << delta);
        if (exact.upper > 1e-6) expect_holds(found, exact.lower * (1 - 1e-12), exact.upper * (1 + 1e-12), 1e-4);
      }
    }
  }
}

// Rare enormous losses beside many small ones: three outcomes, whose counts are a multinomial law.
TEST(SmoothedComposition, HoldsRareLargeLosses) {
  const double rare = 1e-5;
  std::vector<Wide> factorial = {1};
  for (int i = 1; i <= 40; ++i) factorial.push_back(factorial.back() * i);
  for (const double large : {0.5, 3.0}) {
    for (const double small : {1e-3, 1e-2}) {
      // P and Q of the outcomes: a rare one with the loss `large`, and two with about ±small.
      const double p1 = rare;
      const double q1 = rare * std::exp(-large);
      const double p2 = (1 - p1) / 2;
      const double q2 = (1 - q1) / 2 * (1 - small);
      const double p3 = 1 - p1 - p2;
      const double q3 = 1 - q1 - q2;
      const auto law = finite_law({{p1, q1}, {p2, q2}, {p3, q3}});
      for (const int steps : {3, 40}) {
        const auto exact_delta = [&](double epsilon) {
          Wide sum = 0;
          for (int i = 0; i <= steps; ++i) {
            for (int j = 0; i + j <= steps; ++j) {
              const int k = steps - i - j;
              const Wide ways = factorial[static_cast<std::size_t>(steps)] /
                                (factorial[static_cast<std::size_t>(i)] * factorial[static_cast<std::size_t>(j)] *
                                 factorial[static_cast<std::size_t>(k)]);
              const Wide p = ways * pow(Wide(p1), i) * pow(Wide(p2), j) * pow(Wide(p3), k);
              const Wide q = ways * pow(Wide(q1), i) * pow(Wide(q2), j) * pow(Wide(q3), k);
              const Wide more = p - exp(Wide(epsilon)) * q;
              if (more > 0) sum += more;
            }
          }
          return sum;
        };
        for (const double share : {0.3, 0.01}) {
          const double delta = share * rare * steps;
          const RepeatedLaw repeated{law.get(), static_cast<double>(steps)};
          const Interval found = smoothed_epsilon({&repeated, 1}, std::log(delta), large, 1e-6, kNodes);
          SCOPED_TRACE(testing::Message() << large << ' ' << small << ' ' << steps << ' ' << delta << ": "
                                          << found.lower << ' ' << found.upper);
          ASSERT_LT(found.upper, kInfinity);
          EXPECT_LE(exact_delta(found.upper), Wide(delta) * (1 + 1e-12));
          if (found.lower > 0) {
            EXPECT_GE(exact_delta(found.lower), Wide(delta) * (1 - 1e-12));
          }
          // An interval that is moved by its width and a little more does not hold.
          const double width = found.upper - found.lower;
          EXPECT_LE(width, 1e-2 * found.upper);
          EXPECT_GT(exact_delta(found.lower - width - 1e-9), Wide(delta));
          EXPECT_LT(exact_delta(found.upper + width + 1e-9), Wide(delta));
        }
      }
    }
  }
}

// Pure losses, in both directions: the optimal composition is known.
TEST(SmoothedComposition, HoldsRandomizedResponse) {
  for (const double one : {0.01, 0.3}) {
    for (const double steps : {5.0, 200.0}) {
      for (const double delta : {1e-3, 1e-9}) {
        const ApproxDp part{PrivacyLoss::make(one).value(), Delta::of(0)};
        const Interval exact = optimal_composition_epsilon(part, Steps::make(static_cast<std::uint64_t>(steps)).value(),
                                                           Delta::make(delta).value())
                                   .value();
        const auto law = epsilon_delta_law(one, 0);
        const RepeatedLaw repeated{law.get(), steps};
        const Interval found = smoothed_epsilon({&repeated, 1}, std::log(delta), exact.upper, 1e-5, kNodes);
        SCOPED_TRACE(testing::Message() << one << ' ' << steps << ' ' << delta);
        EXPECT_LE(found.lower, exact.upper);
        EXPECT_GE(found.upper, exact.lower);
        // Where hardly less than all losses at once is rare enough, the smoothed bound is no help.
        if (exact.upper < 0.9 * steps * one) {
          EXPECT_LE(found.upper - found.lower, 0.02 * found.upper);
        }
      }
    }
  }
}

}  // namespace
}  // namespace noisefloor
