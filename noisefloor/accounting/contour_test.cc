#include "noisefloor/accounting/contour.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "noisefloor/accounting/gaussian_dp.h"
#include "noisefloor/accounting/gaussian_transform.h"
#include "noisefloor/accounting/loss_lattice.h"
#include "noisefloor/accounting/loss_law.h"
#include "noisefloor/accounting/rdp.h"
#include "noisefloor/accounting/subsampled_gaussian.h"
#include "tests/support/expect_contains.h"
#include "tests/support/golden_accounting.h"

namespace noisefloor {
namespace {

using testing::expect_contains;
using Wide = boost::multiprecision::cpp_bin_float_50;

constexpr double kOperations = 5e6;
constexpr double kRounding = 1e-13;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Direction kDirections[] = {Direction::kRemove, Direction::kAdd, Direction::kReplace};

// P(N(0, 1) > x).
Wide upper_tail(const Wide& x) {
  static const Wide root = sqrt(Wide(2));
  return erfc(Wide(x / root)) / 2;
}
long double upper_tail(long double x) { return std::erfc(x / std::sqrt(2.0L)) / 2; }

// Steps of the sampled Gaussian, and a Gaussian of μ beside them if μ > 0, by brute force: the last part in closed
// form, the others by the trapezoid rule over all outcomes.
template <class Real>
class Exact {
 public:
  Exact(double q, double sigma, Direction direction, int steps, double mu)
      : q_(q), sigma_(sigma), direction_(direction), steps_(steps), mu_(mu) {}

  Real delta(const Real& epsilon) const { return after(mu_ > 0 ? 0 : 1, epsilon); }

  // Of one step alone: ∫ p e^{cL} (cos yL, sin yL) dx.
  std::complex<Real> transform(double c, double y) const {
    using std::cos;
    using std::exp;
    using std::sin;
    Real re = 0;
    Real im = 0;
    sum_over_outcomes(step(y), [&](const Real& x) {
      const Real l = loss(x);
      const Real size = density(x) * exp(c * l);
      const Real turn = y * l;
      re += size * cos(turn);
      im += size * sin(turn);
      return size;
    });
    return {re * step(y), im * step(y)};
  }

  // The same without the outcomes above x_max: by panels that are a few turns wide at most.
  std::complex<Real> transform_up_to(double x_max, double c, double y) const {
    using std::cos;
    using std::exp;
    using std::sin;
    using Rule = boost::math::quadrature::gauss<Real, 30>;
    const double s2 = sigma_ * sigma_;
    const double half = std::min({s2 / 4, sigma_ / 2, 4 * s2 / (y + 1e-9)});
    Real re = 0;
    Real im = 0;
    for (Real middle = x_max - half; middle > -15 * sigma_ - half; middle -= 2 * half) {
      for (std::size_t k = 0; k < Rule::abscissa().size(); ++k) {
        for (const Real& sign : {Real(1), Real(-1)}) {
          const Real x = middle + sign * half * Rule::abscissa()[k];
          const Real l = loss(x);
          const Real size = Rule::weights()[k] * half * density(x) * exp(c * l);
          re += size * cos(y * l);
          im += size * sin(y * l);
        }
      }
    }
    return {re, im};
  }

  // Where a law that has lost this mass ends: a number of 24 bits.
  double end_for(double mass) const {
    Real low = 0;
    Real high = 1 + 50 * sigma_;
    for (int i = 0; i < 80; ++i) {
      const Real x = (low + high) / 2;
      const Real lost = (1 - q_) * upper_tail(Real(x / sigma_)) + q_ * upper_tail(Real((x - 1) / sigma_));
      (lost > mass ? low : high) = x;
    }
    return static_cast<double>(static_cast<float>(low));
  }

 private:
  // From the middle outwards, until terms do not matter.
  template <class Term>
  void sum_over_outcomes(const Real& step, Term&& term) const {
    const Real far = 10 * sigma_ + 1;
    for (const Real& sign : {Real(1), Real(-1)}) {
      Real largest = 0;
      for (Real x = sign > 0 ? Real(0) : Real(-step);; x += sign * step) {
        const Real t = term(x);
        if (t > largest) largest = t;
        if (t <= largest * Real(1e-22L) && sign * x > far) break;
      }
    }
  }
  // For integrands that are analytic in L and turn with it up to a frequency of y: good to e^-60 for ln w, whose branch
  // points are πσ² away, and to e^-110 for the noise.
  Real step(double y) const { return Real(6.28 / ((y + 20) / (sigma_ * sigma_) + 15 / sigma_)); }

  Real after(int done, const Real& epsilon) const {
    if (done == steps_) return last(epsilon);
    const Real dx = step(12 / mu_);
    Real sum = 0;
    sum_over_outcomes(dx, [&](const Real& x) {
      const Real term = density(x) * after(done + 1, epsilon - loss(x));
      sum += term;
      return term;
    });
    return sum * dx;
  }

  Real last(const Real& epsilon) const {
    using std::exp;
    using std::log;
    using std::sqrt;
    const Real lift = exp(epsilon);
    if (mu_ > 0) {
      const Real centre = epsilon / mu_;
      return upper_tail(Real(centre - Real(mu_) / 2)) - lift * upper_tail(Real(centre + Real(mu_) / 2));
    }
    const Real s2 = Real(sigma_) * sigma_;
    if (direction_ == Direction::kReplace) {
      // w(x) = e^ε w(−x) is a quadratic equation for e^{x/σ²}.
      const Real b = q_ * exp(-1 / (2 * s2));
      const Real half = (1 - q_) * (lift - 1) / (2 * b);
      const Real x = s2 * log(half + sqrt(half * half + lift));
      const Real rest = (1 - q_) * upper_tail(Real(x / sigma_));
      const Real up = rest + q_ * upper_tail(Real((x - 1) / sigma_));
      const Real down = rest + q_ * upper_tail(Real((x + 1) / sigma_));
      return up - lift * down;
    }
    const bool remove = direction_ == Direction::kRemove;
    const Real level = remove ? lift : Real(1 / lift);  // of w
    if (level <= 1 - q_) return remove ? Real(1 - lift) : Real(0);
    const Real x = s2 * log((level - (1 - q_)) / q_) + Real(0.5L);
    const Real sign = remove ? 1 : -1;
    const Real rest = upper_tail(Real(sign * x / sigma_));
    const Real mixed = (1 - q_) * rest + q_ * upper_tail(Real(sign * (x - 1) / sigma_));
    return remove ? Real(mixed - lift * rest) : Real(rest - lift * mixed);
  }

  Real w(const Real& x) const {
    using std::exp;
    return 1 - q_ + q_ * exp((2 * x - 1) / (2 * Real(sigma_) * sigma_));
  }
  Real loss(const Real& x) const {
    using std::log;
    if (direction_ == Direction::kReplace) return log(w(x) / w(Real(-x)));
    return direction_ == Direction::kRemove ? Real(log(w(x))) : Real(-log(w(x)));
  }
  Real density(const Real& x) const {
    using std::exp;
    using std::sqrt;
    static const Real root = sqrt(2 * boost::math::constants::pi<Real>());
    const Real normal = exp(-x * x / (2 * Real(sigma_) * sigma_)) / (root * sigma_);
    return direction_ == Direction::kAdd ? normal : Real(normal * w(x));
  }

  Real q_;
  double sigma_;
  Direction direction_;
  int steps_;
  double mu_;
};

SubsampledGaussianTransform sampled(double q, double sigma, Direction direction) {
  return {SamplingRate::make(q).value(), NoiseMultiplier::make(sigma).value(), direction};
}

std::string named(double q, double sigma, Direction direction, double more) {
  return "q " + std::to_string(q) + " sigma " + std::to_string(sigma) + " and " + std::to_string(more) +
         (direction == Direction::kRemove ? " remove"
          : direction == Direction::kAdd  ? " add"
                                          : " replace");
}

bool is_narrow(Interval epsilon) {
  return std::isfinite(epsilon.upper) && epsilon.upper - epsilon.lower <= 1e-6 * epsilon.upper;
}

// --- The transform itself --------------------------------------------------------------------------------------------

TEST(SubsampledGaussianTransform, ErrorsAndDecayAreBounds) {
  struct Case {
    double q, sigma, c, h;
  };
  double closest = 0;  // how much of an error bound is used
  for (const auto& [q, sigma, c, h] : std::vector<Case>{{0.01, 1, 8, 0.5},
                                                        {0.01, 1, 0.02, 0.01},
                                                        {1e-6, 0.5, 3, 0.2},
                                                        {0.5, 0.2, 0.7, 0.05},
                                                        {1 - 1e-9, 0.7, 1.5, 0.3},
                                                        {0.3, 30, 40, 3},
                                                        {0.001, 1000, 2000, 1e5},
                                                        {0.2, 2, 25, 1},
                                                        {0.9, 0.6, 3, 0.2}}) {
    for (Direction direction : kDirections) {
      SCOPED_TRACE(named(q, sigma, direction, c));
      const auto line = sampled(q, sigma, direction).on_line(c);
      std::vector<std::complex<double>> ratios(20);
      std::vector<double> errors(ratios.size());
      const auto values = line->evaluate(h, 1e-14, ratios, errors);
      const Exact<Wide> exact(q, sigma, direction, 1, 0);
      const Wide moment = exact.transform(c, 0).real();
      EXPECT_LE(abs(log(moment) - values.log_moment), values.log_moment_error + 0x1p-51 * std::fabs(values.log_moment));
      EXPECT_LT(values.log_moment_error, 1e-9);
      for (std::size_t n : {std::size_t{0}, std::size_t{15}, std::size_t{19}}) {
        const double y = h * static_cast<double>(n + 1);
        const std::complex<Wide> phi = exact.transform(c, y);
        const Wide re = phi.real() / moment;
        const Wide im = phi.imag() / moment;
        const auto off = static_cast<double>(hypot(re - 1 - ratios[n].real(), im - ratios[n].imag()));
        EXPECT_LE(off, errors[n]);
        EXPECT_LT(errors[n], 1e-8);
        closest = std::max(closest, off / errors[n]);
        EXPECT_LE(hypot(re, im), 1 - line->decay(y));
      }
    }
  }
  EXPECT_GT(closest, 1e-4);  // the bounds are not out of all proportion
}

// Laws that are cut off: the integral ends at x_max, and turns fast at the last nodes.
TEST(SubsampledGaussianTransform, ErrorsOfTruncatedLawsAreBounds) {
  struct Case {
    double q, sigma, mass, c, h;
  };
  for (const auto& [q, sigma, mass, c, h] : std::vector<Case>{{0.01, 1, 1e-9, 6, 0.5},
                                                              {0.5, 1, 1e-6, 2, 25},
                                                              {0.9, 0.5, 1e-12, 1, 20},
                                                              {1e-4, 0.6, 1e-20, 40, 2},
                                                              {0.2, 8, 1e-5, 30, 40}}) {
    for (Direction direction : {Direction::kRemove, Direction::kReplace}) {
      SCOPED_TRACE(named(q, sigma, direction, c));
      const auto cut = sampled(q, sigma, direction).truncated(mass);
      EXPECT_LE(cut->lost_mass(), mass * (1 + 1e-6));
      const Exact<long double> exact(q, sigma, direction, 1, 0);
      const double x_max = exact.end_for(cut->lost_mass());
      const auto line = cut->on_line(c);
      std::vector<std::complex<double>> ratios(20);
      std::vector<double> errors(ratios.size());
      const auto values = line->evaluate(h, 1e-13, ratios, errors);
      const long double moment = exact.transform_up_to(x_max, c, 0).real();
      EXPECT_LE(std::fabs(std::log(moment) - values.log_moment),
                values.log_moment_error + 0x1p-51 * std::fabs(values.log_moment));
      EXPECT_LT(values.log_moment_error, 1e-9);
      // Without the end it is another law.
      EXPECT_GT(std::fabs(std::log(exact.transform(c, 0).real()) - values.log_moment), 2 * values.log_moment_error);
      for (std::size_t n : {std::size_t{0}, std::size_t{19}}) {
        const double y = h * static_cast<double>(n + 1);
        const std::complex<long double> phi = exact.transform_up_to(x_max, c, y);
        const long double re = phi.real() / moment;
        const long double im = phi.imag() / moment;
        EXPECT_LE(std::hypot(re - 1 - ratios[n].real(), im - ratios[n].imag()), errors[n]);
        EXPECT_LT(errors[n], 1e-8);
        EXPECT_LE(std::hypot(re, im), 1 - line->decay(y));
      }
    }
  }
}

TEST(GaussianTransform, ErrorsAndDecayAreBounds) {
  for (double mu2 : {1e-12, 0.3, 50.0}) {
    for (double c : {0.01, 1.0, 300.0}) {
      const auto line = GaussianTransform(mu2).on_line(c);
      std::vector<std::complex<double>> ratios(30);
      std::vector<double> errors(ratios.size());
      const double h = 0.3 / std::sqrt(mu2);
      const auto values = line->evaluate(h, 1e-14, ratios, errors);
      const Wide exact = Wide(c) * (Wide(c) + 1) * mu2 / 2;
      EXPECT_LE(abs(exact - values.log_moment), values.log_moment_error);
      for (std::size_t n = 0; n < ratios.size(); ++n) {
        const Wide y = Wide(h) * static_cast<double>(n + 1);
        const Wide size = exp(-y * y * mu2 / 2);
        const Wide turn = y * (2 * Wide(c) + 1) * mu2 / 2;
        EXPECT_LE(hypot(size * cos(turn) - 1 - ratios[n].real(), size * sin(turn) - ratios[n].imag()), errors[n]);
        EXPECT_LE(size, 1 - line->decay(static_cast<double>(y)) + 1e-12);
      }
    }
  }
}

// --- The integral, against brute force -------------------------------------------------------------------------------

TEST(Contour, OneStepAtTheEdges) {
  int narrow = 0;
  for (double q : {1e-6, 1e-3, 0.5, 1 - 1e-9}) {
    for (double sigma : {0.05, 0.3, 1.0, 1000.0}) {
      for (double delta : {1e-300, 1e-30, 1e-5, 0.1, 0.9}) {
        for (Direction direction : kDirections) {
          SCOPED_TRACE(named(q, sigma, direction, std::log10(delta)));
          const auto loss = sampled(q, sigma, direction);
          const RepeatedLoss losses[] = {{&loss, 1}};
          const auto integral = ContourIntegral::for_delta(losses, std::log(delta), kOperations);
          if (!integral) continue;
          const Interval epsilon = integral->epsilon(std::log(delta));
          const Exact<Wide> exact(q, sigma, direction, 1, 0);
          expect_contains(epsilon, delta, kRounding, [&](double e) { return exact.delta(e); });
          if (is_narrow(epsilon)) ++narrow;
        }
      }
    }
  }
  EXPECT_GE(narrow, 5);
}

int attack_a_gaussian_beside_one_step(const std::vector<double>& rates, const std::vector<double>& sigmas,
                                      const std::vector<double>& mus, const std::vector<double>& deltas) {
  int narrow = 0;
  for (double q : rates) {
    for (double sigma : sigmas) {
      for (double mu : mus) {
        for (double delta : deltas) {
          for (Direction direction : kDirections) {
            SCOPED_TRACE(named(q, sigma, direction, std::log10(delta)) + " mu " + std::to_string(mu));
            const auto loss = sampled(q, sigma, direction);
            const GaussianTransform gaussian(mu * mu);
            const RepeatedLoss losses[] = {{&gaussian, 1}, {&loss, 1}};
            const auto integral = ContourIntegral::for_delta(losses, std::log(delta), kOperations);
            if (!integral) continue;
            const Interval epsilon = integral->epsilon(std::log(delta));
            const Exact<Wide> exact(q, sigma, direction, 1, mu);
            expect_contains(epsilon, delta, kRounding, [&](double e) { return exact.delta(e); });
            if (is_narrow(epsilon)) ++narrow;
          }
        }
      }
    }
  }
  return narrow;
}

TEST(Contour, AGaussianBesideOneStep) {
  EXPECT_GE(attack_a_gaussian_beside_one_step({1e-6, 0.5, 1 - 1e-9}, {1, 1000}, {1}, {1e-300, 1e-5}), 18);
}

TEST(SlowContour, AGaussianBesideOneStep) {
  EXPECT_GE(attack_a_gaussian_beside_one_step({1e-6, 0.01, 0.5, 1 - 1e-9}, {0.2, 0.3, 1, 5, 1000}, {0.25, 2},
                                              {1e-300, 1e-12, 1e-5, 0.9}),
            200);
}

void attack_a_gaussian_beside_two_steps(const std::vector<double>& rates, const std::vector<double>& sigmas,
                                        const std::vector<double>& deltas) {
  for (double q : rates) {
    for (double sigma : sigmas) {
      for (double delta : deltas) {
        for (Direction direction : kDirections) {
          SCOPED_TRACE(named(q, sigma, direction, std::log10(delta)));
          const auto loss = sampled(q, sigma, direction);
          const GaussianTransform gaussian(1);
          const RepeatedLoss losses[] = {{&gaussian, 1}, {&loss, 2}};
          const auto integral = ContourIntegral::for_delta(losses, std::log(delta), kOperations);
          ASSERT_TRUE(integral.has_value());
          const Interval epsilon = integral->epsilon(std::log(delta));
          const Exact<long double> exact(q, sigma, direction, 2, 1);
          expect_contains(epsilon, delta, kRounding, [&](double e) { return exact.delta(e); });
          EXPECT_TRUE(is_narrow(epsilon));
        }
      }
    }
  }
}

TEST(Contour, AGaussianBesideTwoSteps) { attack_a_gaussian_beside_two_steps({0.3}, {1, 2}, {1e-9}); }

TEST(SlowContour, AGaussianBesideTwoSteps) {
  attack_a_gaussian_beside_two_steps({0.001, 0.3, 0.9}, {0.6, 1, 2}, {1e-12, 1e-5, 0.01});
}

TEST(Contour, ABillionGaussians) {
  for (double mu2 : {1e-13, 1e-9, 3e-8}) {
    for (double count : {1e3, 1e6, 1e9}) {
      for (double delta : {1e-300, 1e-10, 1e-5, 0.3}) {
        const GaussianTransform gaussian(mu2);
        const RepeatedLoss losses[] = {{&gaussian, count}};
        const auto integral = ContourIntegral::for_delta(losses, std::log(delta), kOperations);
        if (!integral) continue;
        const Interval epsilon = integral->epsilon(std::log(delta));
        const Wide mu = sqrt(Wide(mu2) * count);
        expect_contains(epsilon, delta, kRounding, [&](double e) {
          return upper_tail(Wide(e / mu - mu / 2)) - exp(Wide(e)) * upper_tail(Wide(e / mu + mu / 2));
        });
        EXPECT_TRUE(is_narrow(epsilon) || epsilon.upper < 1e-3) << mu2 << " " << count << " " << delta;
      }
    }
  }
}

// δ at a given ε, where the losses are always truncated.
int attack_delta(const std::vector<double>& rates, const std::vector<double>& sigmas) {
  int narrow = 0;
  for (double q : rates) {
    for (double sigma : sigmas) {
      for (double epsilon : {0.0, 2.0, 40.0, 900.0}) {
        for (Direction direction : kDirections) {
          SCOPED_TRACE(named(q, sigma, direction, epsilon));
          const auto loss = sampled(q, sigma, direction);
          const GaussianTransform gaussian(1);
          const RepeatedLoss losses[] = {{&gaussian, 1}, {&loss, 1}};
          const auto integral = ContourIntegral::for_epsilon(losses, epsilon, kOperations);
          if (!integral) continue;
          const Interval logs = integral->log_delta(epsilon);
          EXPECT_GT(logs.upper, -kInfinity);
          const Wide log_delta = log(Exact<Wide>(q, sigma, direction, 1, 1).delta(epsilon));
          const auto holds = [&](const Wide& value) { return logs.lower <= value && value <= logs.upper; };
          EXPECT_TRUE(holds(log_delta)) << logs.lower << " " << log_delta << " " << logs.upper;
          if (logs.upper - logs.lower > 1e-4) continue;
          ++narrow;
          EXPECT_FALSE(holds(log_delta + (logs.upper - logs.lower) * 1.01 + 1e-13)) << "a mutant";
        }
      }
    }
  }
  return narrow;
}

TEST(Contour, DeltaAtEpsilon) { EXPECT_GE(attack_delta({0.01, 0.5}, {1}), 8); }

TEST(SlowContour, DeltaAtEpsilon) { EXPECT_GE(attack_delta({1e-6, 0.01, 0.5, 1 - 1e-9}, {0.2, 0.3, 1, 30}), 40); }

// A loss that adding cannot exceed: nothing is left at it, and something just below it.
TEST(Contour, TheLargestLoss) {
  const auto loss = sampled(0.01, 0.1, Direction::kAdd);
  const double largest = -std::log1p(-0.01);
  EXPECT_GE(loss.max_loss(), largest);
  const GaussianTransform gaussian(1e-4);
  const RepeatedLoss losses[] = {{&gaussian, 1}, {&loss, 1000}};
  const auto integral = ContourIntegral::for_epsilon(losses, 1000 * largest, kOperations);
  if (integral) {
    EXPECT_GT(integral->log_delta(1000 * largest).upper, -kInfinity);
  }
}

TEST(Contour, NeverReturnsNaN) {
  for (double q : {1e-6, 0.1, 1 - 1e-9}) {
    for (double sigma : {0.03, 0.5, 1000.0}) {
      for (double count : {1.0, 100.0, 1e9}) {
        for (Direction direction : kDirections) {
          const auto loss = sampled(q, sigma, direction);
          const RepeatedLoss losses[] = {{&loss, count}};
          const auto integral = ContourIntegral::for_delta(losses, -12, 1e6);
          if (!integral) continue;
          for (double epsilon : {0.0, 1e-12, 1.0, 1e3, 1e6, 1e12}) {
            const Interval logs = integral->log_delta(epsilon);
            EXPECT_LE(logs.lower, logs.upper) << q << " " << sigma << " " << count << " " << epsilon;
            EXPECT_LE(logs.upper, 0);
            const Interval found = integral->epsilon(-epsilon / 2000);
            EXPECT_LE(found.lower, found.upper);
          }
        }
      }
    }
  }
}

// --- Replaced records, against other bounds --------------------------------------------------------------------------

Interval replaced_epsilon(double q, double sigma, double steps, double delta, double operations) {
  const auto loss = sampled(q, sigma, Direction::kReplace);
  const RepeatedLoss losses[] = {{&loss, steps}};
  const auto integral = ContourIntegral::for_delta(losses, std::log(delta), operations);
  return integral ? integral->epsilon(std::log(delta)) : Interval{0, kInfinity};
}

TEST(Contour, ReplacedRecordsAgreeWithTheLattice) {
  for (const auto& [q, sigma, steps, delta] : {std::tuple{0.1, 1.0, 40.0, 1e-6},
                                               {0.01, 1.0, 1000.0, 1e-5},
                                               {0.3, 4.0, 50.0, 1e-9},
                                               {0.9, 10.0, 30.0, 1e-3},
                                               {0.02, 0.7, 400.0, 0.05}}) {
    SCOPED_TRACE(named(q, sigma, Direction::kReplace, steps));
    const Interval line = replaced_epsilon(q, sigma, steps, delta, kOperations);
    const auto law = opposite_samples_law(q, sigma);
    const RepeatedLaw laws[] = {{law.get(), steps}};
    const Interval lattice = lattice_epsilon(laws, std::log(delta), 1e-6, 14);
    EXPECT_TRUE(is_narrow(line));
    EXPECT_LE(lattice.upper - lattice.lower, 1e-2 * lattice.upper);
    EXPECT_LE(line.lower, lattice.upper);
    EXPECT_LE(lattice.lower, line.upper);
  }
}

// Bounds that other code and other proofs give, at the edges of all parameters: those of one step and of the two
// add-remove pairs from below, of Gaussians without sampling and of Rényi divergences from above.
TEST(Contour, ReplacedRecordsAtTheEdges) {
  int narrow = 0;
  for (double q : {1e-6, 1e-3, 0.1, 0.999}) {
    for (double sigma : {0.15, 0.6, 3.0, 100.0}) {
      for (double steps : {1.0, 20.0, 1e4, 1e7}) {
        for (double delta : {1e-30, 1e-6, 0.1}) {
          SCOPED_TRACE(named(q, sigma, Direction::kReplace, steps) + " delta " + std::to_string(std::log10(delta)));
          const Interval found = replaced_epsilon(q, sigma, steps, delta, 1e6);
          ASSERT_GE(found.lower, 0);
          ASSERT_LE(found.lower, found.upper);
          if (is_narrow(found)) ++narrow;
          const Interval one = single_epsilon(*opposite_samples_law(q, sigma), std::log(delta));
          EXPECT_GE(found.upper, one.lower);
          if (steps == 1) {
            EXPECT_LE(found.lower, one.upper);
          }
          for (Direction direction : {Direction::kRemove, Direction::kAdd}) {
            const auto loss = sampled(q, sigma, direction);
            const RepeatedLoss losses[] = {{&loss, steps}};
            const auto integral = ContourIntegral::for_delta(losses, std::log(delta), 1e6);
            if (integral) {
              EXPECT_GE(found.upper, integral->epsilon(std::log(delta)).lower);
            }
          }
          const auto whole = GaussianDp::of_mu(2 * std::sqrt(steps) / sigma);
          ASSERT_TRUE(whole.has_value());
          const auto most = whole.value().epsilon_at(Delta::make(delta).value());
          if (most.has_value()) {
            EXPECT_LE(found.lower, most.value().upper);
          }
          if (steps != 1e4) continue;
          const DpEvent event = SelfComposedEvent{
              Steps::of(10000),
              PoissonSampledEvent{SamplingRate::make(q).value(), GaussianEvent{NoiseMultiplier::make(sigma).value()}}};
          const auto renyi = renyi_epsilon(event, Adjacency::kReplaceOne, Delta::make(delta).value());
          if (renyi.has_value()) {
            EXPECT_LE(found.lower, renyi.value().epsilon);
          }
        }
      }
    }
  }
  EXPECT_GE(narrow, 95);  // of 192, of which 48 are one step
}

// --- Known values ----------------------------------------------------------------------------------------------------

TEST(Contour, AgreesWithTheReferenceTable) {
  int narrow = 0;
  for (const testing::golden::Row& row : testing::golden::kRows) {
    if (row.add == 0) continue;
    for (Direction direction : {Direction::kRemove, Direction::kAdd}) {
      const auto steps = static_cast<double>(row.count);
      SCOPED_TRACE(named(row.rate, row.scale, direction, steps));
      const double golden = direction == Direction::kRemove ? row.exact : row.add;
      const auto loss = sampled(row.rate, row.scale, direction);
      const RepeatedLoss losses[] = {{&loss, steps}};
      const auto integral = ContourIntegral::for_delta(losses, std::log(row.delta), kOperations);
      if (!integral) continue;
      const Interval epsilon = integral->epsilon(std::log(row.delta));
      const auto agrees = [&](double value) {
        return epsilon.lower <= value * (1 + 1e-9) && epsilon.upper >= value * (1 - 1e-9);
      };
      EXPECT_TRUE(agrees(golden)) << epsilon.lower << " " << golden << " " << epsilon.upper;
      if (!is_narrow(epsilon)) continue;
      ++narrow;
      EXPECT_FALSE(agrees(golden * (1 + 2e-6))) << "a mutant";
      EXPECT_FALSE(agrees(golden * (1 - 2e-6))) << "a mutant";
    }
  }
  EXPECT_EQ(narrow, 44);  // all
}

}  // namespace
}  // namespace noisefloor
