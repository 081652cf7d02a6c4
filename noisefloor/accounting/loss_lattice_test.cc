#include "noisefloor/accounting/loss_lattice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "noisefloor/accounting/loss_law.h"
#include "tests/support/expect_contains.h"

namespace noisefloor {
namespace {

using testing::contains;
using testing::expect_contains;
using Wide = boost::multiprecision::cpp_bin_float_100;
using LawPtr = std::shared_ptr<const LossLaw>;

constexpr double kRounding = 1e-12;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Wide upper_tail(const Wide& x) {
  static const Wide root = sqrt(Wide(2));
  return erfc(Wide(x / root)) / 2;
}

// --- Exact laws ------------------------------------------------------------------------------------------------------

// Outcomes with their exact probabilities, and products of them.
struct Pair {
  Wide p;
  Wide q;
};
using Law = std::vector<Pair>;

Wide delta_of(const Law& law, const Wide& epsilon) {
  const Wide lift = exp(epsilon);
  Wide sum = 0;
  for (const auto& [p, q] : law) {
    const Wide more = p - lift * q;
    if (more > 0) sum += more;
  }
  return sum;
}

// All sequences of outcomes.
Law product(const Law& a, const Law& b) {
  Law result;
  result.reserve(a.size() * b.size());
  for (const Pair& x : a) {
    for (const Pair& y : b) result.push_back({x.p * y.p, x.q * y.q});
  }
  return result;
}

// `count` draws of a law with three outcomes, by how often each came up.
Law repeated(const Law& three, int count) {
  std::vector<Wide> factorial{1};
  for (int i = 1; i <= count; ++i) factorial.push_back(factorial.back() * i);
  const auto f = [&](int i) { return factorial[static_cast<std::size_t>(i)]; };
  const auto power = [&](const Wide& base, int i) { return i == 0 ? Wide(1) : Wide(pow(base, i)); };
  Law result;
  for (int i = 0; i <= count; ++i) {
    for (int j = 0; i + j <= count; ++j) {
      const int k = count - i - j;
      const Wide ways = f(count) / f(i) / f(j) / f(k);
      result.push_back({ways * power(three[0].p, i) * power(three[1].p, j) * power(three[2].p, k),
                        ways * power(three[0].q, i) * power(three[1].q, j) * power(three[2].q, k)});
    }
  }
  return result;
}

std::unique_ptr<LossLaw> as_doubles(const Law& law) {
  std::vector<Outcome> outcomes;
  for (const Pair& one : law) outcomes.push_back({static_cast<double>(one.p), static_cast<double>(one.q)});
  return finite_law(outcomes);
}

// (1 − q) Q + q P against Q, or the other way round.
Law sampled(const Law& inner, double rate, bool remove) {
  Law result;
  for (const auto& [p, q] : inner) {
    const Wide mixed = (1 - Wide(rate)) * q + Wide(rate) * p;
    result.push_back(remove ? Pair{mixed, q} : Pair{q, mixed});
  }
  return result;
}

Law discrete_gaussian(double sigma, int shift, int reach) {
  Law law;
  Wide total = 0;
  const auto weight = [&](int x) { return Wide(exp(-Wide(x) * x / (2 * Wide(sigma) * sigma))); };
  for (int x = -reach; x <= reach; ++x) total += weight(x);
  for (int x = -reach; x <= reach + shift; ++x) law.push_back({weight(x) / total, weight(x - shift) / total});
  return law;
}

Law discrete_laplace(double scale, int shift, int reach) {
  Law law;
  const Wide r = exp(-1 / Wide(scale));
  const auto weight = [&](int x) { return Wide((1 - r) / (1 + r) * pow(r, std::abs(x))); };
  // What is beyond has the largest or the smallest loss: the two outermost outcomes hold it.
  const Wide tail = pow(r, reach + 1) / (1 + r);
  const Wide far = pow(r, reach + 1 + shift) / (1 + r);
  law.push_back({tail, far});
  for (int x = -reach; x <= reach + shift; ++x) law.push_back({weight(x), weight(x - shift)});
  law.push_back({far, tail});
  return law;
}

// --- What is tested --------------------------------------------------------------------------------------------------

// Both δ(ε) and ε(δ).
template <class Delta>
void expect_bounds(const LossLaw& law, double count, const std::vector<double>& deltas, double width, Delta&& exact) {
  const RepeatedLaw laws[] = {{&law, count}};
  for (double delta : deltas) {
    SCOPED_TRACE("delta " + std::to_string(std::log10(delta)));
    const Interval epsilon = lattice_epsilon(laws, std::log(delta), 1e-6, 14);
    expect_contains(epsilon, delta, kRounding, exact);
    ASSERT_LT(epsilon.upper, kInfinity);
    EXPECT_LE(epsilon.upper - epsilon.lower, width * epsilon.upper + 1e-9);
    const Wide true_delta = exact(epsilon.upper);
    const Interval found = lattice_delta(laws, epsilon.upper, 1e-6, 14);
    EXPECT_LE(found.lower, true_delta);
    EXPECT_GE(found.upper, true_delta);
    EXPECT_FALSE(std::isnan(found.lower) || std::isnan(found.upper));
  }
}

const Law kThree = {{Wide(1) / 2, Wide(1) / 4}, {Wide(3) / 8, Wide(3) / 8}, {Wide(1) / 8, Wide(3) / 8}};
const Law kSkewed = {{Wide(7) / 16, Wide(5) / 16}, {Wide(1) / 1024, Wide(1) / 64}, {Wide(575) / 1024, Wide(43) / 64}};
const Law kFour = {{Wide(5) / 16, Wide(1) / 16},
                   {Wide(3) / 16, Wide(4) / 16},
                   {Wide(6) / 16, Wide(7) / 16},
                   {Wide(2) / 16, Wide(4) / 16}};

TEST(Lattice, FiniteLawsByEnumeration) {
  const auto four = as_doubles(kFour);
  Law composed = kFour;
  for (int count = 2; count <= 4; ++count) {
    composed = product(composed, kFour);
    SCOPED_TRACE(count);
    expect_bounds(*four, count, {1e-3, 0.02, 0.2}, 1e-2, [&](double e) { return delta_of(composed, e); });
  }
}

TEST(Lattice, SixtyFourDrawsOfThreeOutcomes) {
  for (const Law& law : {kThree, kSkewed}) {
    for (double rate : {0.75, 0.25}) {
      for (bool remove : {true, false}) {
        SCOPED_TRACE(std::to_string(rate) + (remove ? " remove" : " add"));
        const Law one = sampled(law, rate, remove);
        const Law composed = repeated(one, 64);
        const LawPtr whole = as_doubles(law);
        const auto tested = sampled_law(whole, rate, remove);
        expect_bounds(*tested, 64, {1e-12, 1e-5, 0.1}, 5e-2, [&](double e) { return delta_of(composed, e); });
        expect_bounds(*as_doubles(one), 64, {1e-9}, 2e-2, [&](double e) { return delta_of(composed, e); });
      }
    }
  }
}

// Different laws together.
TEST(Lattice, AMixture) {
  const auto three = as_doubles(kThree);
  const auto skewed = as_doubles(kSkewed);
  const Law composed = product(repeated(kThree, 12), repeated(kSkewed, 9));
  const RepeatedLaw laws[] = {{three.get(), 12}, {skewed.get(), 9}};
  for (double delta : {1e-8, 1e-3}) {
    expect_contains(lattice_epsilon(laws, std::log(delta), 1e-6, 14), delta, kRounding,
                    [&](double e) { return delta_of(composed, e); });
  }
}

// Equal (ε, δ) bounds: the sum of Kairouz, Oh and Viswanath. Atoms on the lattice, and losses that are infinite.
Wide optimal(double e0, double d0, int count, const Wide& epsilon) {
  const Wide high = 1 / (1 + exp(-Wide(e0)));
  Law finite;
  Wide ways = 1;
  for (int i = 0; i <= count; ++i) {
    finite.push_back({ways * pow(high, count - i) * pow(1 - high, i), ways * pow(high, i) * pow(1 - high, count - i)});
    ways = ways * (count - i) / (i + 1);
  }
  const Wide rest = pow(1 - Wide(d0), count);
  return 1 - rest + rest * delta_of(finite, epsilon);
}

TEST(Lattice, EqualBoundsAndInfiniteLosses) {
  struct Case {
    double epsilon, delta;
    int count;
  };
  for (const auto& [e0, d0, count] :
       std::vector<Case>{{0.1, 0, 100}, {0.01, 1e-9, 1000}, {1, 1e-3, 50}, {3, 0.01, 7}}) {
    SCOPED_TRACE(std::to_string(e0) + " " + std::to_string(count));
    const auto law = epsilon_delta_law(e0, d0);
    const double floor = 1 - std::pow(1 - d0, count);
    const auto exact = [&, e0 = e0, d0 = d0, count = count](double e) { return optimal(e0, d0, count, e); };
    expect_bounds(*law, count, {floor * 1.001 + 1e-12, floor + 1e-5, floor + 0.01}, 1e-5, exact);
    if (d0 == 0) continue;
    const RepeatedLaw laws[] = {{law.get(), static_cast<double>(count)}};
    EXPECT_EQ(lattice_epsilon(laws, std::log(floor * 0.999), 1e-6, 14).upper, kInfinity);
  }
}

// A million randomized responses: the binomial law, term by term.
TEST(Lattice, AMillionRandomizedResponses) {
  using Real = boost::multiprecision::cpp_bin_float_50;
  const int count = 1'000'000;
  const double e0 = 1.0 / 1024;
  const Real odds = exp(Real(e0));
  const Real high = odds / (1 + odds);
  // Sequences with k highs have the loss (2k − T) e₀. From the mean on, up to 14 deviations: what is beyond is below
  // e^-90.
  const int first = count / 2;
  const Real log_ways = lgamma(Real(count) + 1) - 2 * lgamma(Real(first) + 1);
  std::vector<Real> p;
  Real term = exp(log_ways + first * log(high) + (count - first) * log(1 - high));
  for (int k = first; k <= first + 8000; ++k) {
    p.push_back(term);
    term *= Real(count - k) / (k + 1) * odds;
  }
  const auto exact = [&](double e) {
    Real sum = 0;
    for (int k = first; k <= first + 8000; ++k) {
      const Real loss = (2 * Real(k) - count) * e0;
      if (loss > e) sum += p[static_cast<std::size_t>(k - first)] * (1 - exp(e - loss));
    }
    return sum;
  };
  const auto law = epsilon_delta_law(e0, 0);
  const RepeatedLaw laws[] = {{law.get(), count}};
  for (double delta : {1e-12, 1e-5}) {
    const Interval epsilon = lattice_epsilon(laws, std::log(delta), 1e-7, 16);
    expect_contains(epsilon, delta, kRounding, exact);
    ASSERT_LT(epsilon.upper, kInfinity);
    EXPECT_LE(epsilon.upper - epsilon.lower, 1e-5 * epsilon.upper);
  }
}

TEST(Lattice, DiscreteNoiseByEnumeration) {
  // A δ that no lattice resolves, at the largest loss: the upper bound is still finite.
  const Law rare = discrete_laplace(0.5, 1, 12);
  const auto rare_law = discrete_laplace_law(0.5, 1);
  const RepeatedLaw laws[] = {{rare_law.get(), 2}};
  const Interval epsilon = lattice_epsilon(laws, std::log(1e-40), 1e-6, 12);
  EXPECT_TRUE(contains(epsilon, 1e-40, [&](double e) { return delta_of(product(rare, rare), e); }));
  EXPECT_LT(epsilon.upper, 4.1);
  for (double sigma : {0.7, 3.0}) {
    for (int shift : {1, 3}) {
      SCOPED_TRACE(std::to_string(sigma) + " " + std::to_string(shift));
      const Law one = discrete_gaussian(sigma, shift, static_cast<int>(20 * sigma));
      const Law two = product(one, one);
      expect_bounds(*discrete_gaussian_law(sigma, shift), 2, {1e-5, 0.01}, 0.05,
                    [&](double e) { return delta_of(two, e); });
    }
  }
  for (double scale : {0.5, 4.0}) {
    for (int shift : {1, 5}) {
      SCOPED_TRACE(std::to_string(scale) + " " + std::to_string(shift));
      const Law one = discrete_laplace(scale, shift, 12);
      expect_bounds(*discrete_laplace_law(scale, shift), 2, {1e-5, 0.01}, 0.05,
                    [&, two = product(one, one)](double e) { return delta_of(two, e); });
    }
  }
}

// --- Continuous laws -------------------------------------------------------------------------------------------------

Wide gaussian_delta(const Wide& mu, const Wide& epsilon) {
  return upper_tail(Wide(epsilon / mu - mu / 2)) - exp(epsilon) * upper_tail(Wide(epsilon / mu + mu / 2));
}

TEST(Lattice, GaussiansComposeToOne) {
  struct Case {
    double mu, count;
  };
  for (const auto& [mu, count] : std::vector<Case>{{1, 2}, {0.01, 1e4}, {20, 3}, {1e-3, 10}, {40, 2}}) {
    for (double delta : {1e-300, 1e-30, 1e-5, 0.3}) {
      SCOPED_TRACE(std::to_string(mu) + " " + std::to_string(count) + " " + std::to_string(std::log10(delta)));
      const auto law = gaussian_law(mu);
      const RepeatedLaw laws[] = {{law.get(), count}};
      const Interval epsilon = lattice_epsilon(laws, std::log(delta), 1e-6, 14);
      const Wide total = sqrt(Wide(mu) * mu * count);
      expect_contains(epsilon, delta, kRounding, [&](double e) { return gaussian_delta(total, e); });
    }
  }
}

// Two Laplace mechanisms of the same ε: P and Q of the sum of losses, term by term.
TEST(Lattice, TwoLaplaceMechanisms) {
  for (double e0 : {0.1, 1.0, 6.0}) {
    const auto law = laplace_law(e0);
    // δ₁(ε) = 1 − e^{(ε − e₀)/2} for |ε| ≤ e₀; below −e₀ it is 1 − e^ε.
    const auto one = [&](const Wide& e) {
      if (e >= e0) return Wide(0);
      return e <= -Wide(e0) ? Wide(1 - exp(e)) : Wide(1 - exp((e - e0) / 2));
    };
    const auto exact = [&](double e) {
      // Atoms at ±e₀, and a density of ¼ e^{(ℓ − e₀)/2} between: Simpson's rule on the two smooth pieces.
      Wide sum = one(Wide(e) - e0) / 2 + exp(-Wide(e0)) / 2 * one(Wide(e) + e0);
      const auto density = [&](const Wide& l) { return Wide(exp((l - e0) / 2) / 4 * one(e - l)); };
      // From e − e₀ on δ₁ is positive.
      const Wide from = e - Wide(e0) > -Wide(e0) ? Wide(e - Wide(e0)) : -Wide(e0);
      const Wide to = e0;
      const int n = 400;
      const Wide step = (to - from) / n;
      Wide integral = density(from) + density(to);
      for (int i = 1; i < n; ++i) integral += density(from + i * step) * (i % 2 == 1 ? 4 : 2);
      return Wide(sum + integral * step / 3);
    };
    for (double delta : {1e-6, 1e-3, 0.05}) {
      SCOPED_TRACE(std::to_string(e0) + " " + std::to_string(delta));
      const RepeatedLaw laws[] = {{law.get(), 2}};
      expect_contains(lattice_epsilon(laws, std::log(delta), 1e-6, 14), delta, kRounding, exact);
    }
  }
}

TEST(Lattice, LaplaceAgreesWithTheReferenceTable) {
  struct Golden {
    double scale, count, delta, epsilon;
  };
  for (const auto& [scale, count, delta, golden] : std::vector<Golden>{{1, 100, 1e-5, 68.25295105561433},
                                                                       {10, 100, 1e-6, 4.692667415611285},
                                                                       {10, 1000, 1e-6, 18.950287367539527},
                                                                       {100, 1000, 1e-8, 1.651834244107855},
                                                                       {1, 1000, 1e-5, 474.3024465555185}}) {
    const auto law = laplace_law(1 / scale);
    const RepeatedLaw laws[] = {{law.get(), count}};
    const Interval epsilon = lattice_epsilon(laws, std::log(delta), 1e-6, 16);
    const auto agrees = [&](double value) {
      return epsilon.lower <= value * (1 + 1e-9) && epsilon.upper >= value * (1 - 1e-9);
    };
    EXPECT_TRUE(agrees(golden)) << epsilon.lower << " " << golden << " " << epsilon.upper;
    EXPECT_LE(epsilon.upper - epsilon.lower, 1e-5 * golden);
    EXPECT_FALSE(agrees(golden * (1 + 2e-5))) << "a mutant";
    EXPECT_FALSE(agrees(golden * (1 - 2e-5))) << "a mutant";
  }
}

// The sampled Gaussian: rows of the reference table that few steps, or rare large losses, leave to the lattice.
TEST(Lattice, SampledGaussiansAgreeWithTheReferenceTable) {
  struct Golden {
    double q, sigma, count, delta, remove, add;
  };
  for (const auto& row : std::vector<Golden>{{0.0001, 0.5, 1, 1e-5, 0.004395826777675456, 7.661873922648955e-05},
                                             {0.5, 1.0, 1, 1e-5, 3.5339979854489583, 0.6625608620685423},
                                             {0.0256, 1.0, 390, 1e-5, 3.212051800687597, 2.205782306480567},
                                             {0.1, 1.0, 100, 0.001, 4.784349951968425, 3.069637510662647},
                                             {0.256, 10.0, 30, 1e-5, 0.5058209304242477, 0.4801799622409226},
                                             {0.5, 5.0, 100, 1e-9, 6.383859918670028, 5.965945558734145},
                                             {0.01, 4.0, 1000, 1e-20, 0.7312803132608583, 0.6801840318996691}}) {
    for (bool remove : {true, false}) {
      SCOPED_TRACE(std::to_string(row.q) + " " + std::to_string(row.sigma) + (remove ? " remove" : " add"));
      const auto law = sampled_law(gaussian_law(1 / row.sigma), row.q, remove);
      const double golden = remove ? row.remove : row.add;
      const RepeatedLaw laws[] = {{law.get(), row.count}};
      const Interval epsilon = row.count == 1 ? single_epsilon(*law, std::log(row.delta))
                                              : lattice_epsilon(laws, std::log(row.delta), 1e-6, 16);
      const auto agrees = [&](double value) {
        return epsilon.lower <= value * (1 + 1e-9) && epsilon.upper >= value * (1 - 1e-9);
      };
      EXPECT_TRUE(agrees(golden)) << epsilon.lower << " " << golden << " " << epsilon.upper;
      EXPECT_LE(epsilon.upper - epsilon.lower, 2e-4 * golden);
      EXPECT_FALSE(agrees(golden * (1 + 3e-4))) << "a mutant";
      EXPECT_FALSE(agrees(golden * (1 - 3e-4))) << "a mutant";
    }
  }
}

// --- One mechanism alone ---------------------------------------------------------------------------------------------

template <class Delta>
void expect_single(const LossLaw& law, const std::vector<double>& epsilons, Delta&& exact) {
  for (double epsilon : epsilons) {
    SCOPED_TRACE("epsilon " + std::to_string(epsilon));
    const Wide delta = exact(epsilon);
    const Interval found = single_delta(law, epsilon);
    EXPECT_LE(found.lower, delta);
    EXPECT_GE(found.upper, delta);
    const auto target = static_cast<double>(delta);
    if (target < 1e-300) continue;
    const Interval back = single_epsilon(law, std::log(target));
    ASSERT_LT(back.upper, kInfinity);
    EXPECT_TRUE(contains(back, target, exact)) << back.lower << " " << epsilon << " " << back.upper;
    const double moved = 1.01 * (back.upper - back.lower) + 1e-9 * epsilon;
    if (back.lower > 0) {
      EXPECT_FALSE(contains({back.lower + moved, back.upper + moved}, target, exact)) << "a mutant";
    }
  }
}

Wide sampled_gaussian_delta(double rate, double sigma, bool remove, double epsilon) {
  const Wide q = rate;
  const Wide lift = exp(Wide(epsilon));
  const Wide level = remove ? lift : Wide(1 / lift);
  if (level <= 1 - q) return remove ? Wide(1 - lift) : Wide(0);
  const Wide x = Wide(sigma) * sigma * log((level - (1 - q)) / q) + Wide(0.5);
  const Wide sign = remove ? 1 : -1;
  const Wide rest = upper_tail(Wide(sign * x / sigma));
  const Wide mixed = (1 - q) * rest + q * upper_tail(Wide(sign * (x - 1) / sigma));
  return remove ? Wide(mixed - lift * rest) : Wide(rest - lift * mixed);
}

TEST(LossLaw, OneMechanismAlone) {
  for (double mu : {1e-3, 1.0, 30.0, 60.0}) {
    SCOPED_TRACE(mu);
    expect_single(*gaussian_law(mu), {0, 1e-6, mu, mu * mu / 2, mu * mu / 2 + 5 * mu, mu * mu / 2 + 30 * mu},
                  [&](double e) { return gaussian_delta(mu, e); });
  }
  for (double e0 : {0.01, 1.0, 100.0, 800.0}) {
    SCOPED_TRACE(e0);
    expect_single(*laplace_law(e0), {0, e0 / 3, 0.999 * e0},
                  [&](double e) { return e >= e0 ? Wide(0) : Wide(1 - exp((Wide(e) - e0) / 2)); });
  }
  for (double q : {1e-6, 0.3, 1 - 1e-9}) {
    for (double sigma : {0.05, 1.0, 1000.0}) {
      for (bool remove : {true, false}) {
        SCOPED_TRACE(std::to_string(q) + " " + std::to_string(sigma) + (remove ? " remove" : " add"));
        expect_single(*sampled_law(gaussian_law(1 / sigma), q, remove),
                      {0, q / sigma / 10, 0.9 * -std::log1p(-q), 2 / sigma},
                      [&](double e) { return sampled_gaussian_delta(q, sigma, remove, e); });
      }
    }
  }
  const Law noise = discrete_gaussian(2.5, 2, 100);
  expect_single(*discrete_gaussian_law(2.5, 2), {0, 0.5, 2, 10}, [&](double e) { return delta_of(noise, e); });
  const Law laplace = discrete_laplace(3, 4, 50);
  expect_single(*discrete_laplace_law(3, 4), {0, 0.5, 1, 1.33}, [&](double e) { return delta_of(laplace, e); });
  expect_single(*as_doubles(kFour), {0, 0.3, 1.6}, [&](double e) { return delta_of(kFour, e); });
}

// A fixed-size sample: the profile of Zhu, Dong and Wang on both sides of 0, from the sampled pairs.
TEST(LossLaw, FixedSizeSamples) {
  const double q = 0.2;
  const LawPtr inner = gaussian_law(1.5);
  const auto law = fixed_size_law(inner, q);
  for (double epsilon : {0.0, 0.4, 2.0}) {
    EXPECT_LE(single_delta(*law, epsilon).lower, sampled_gaussian_delta(q, 1 / 1.5, true, epsilon) + 1e-13);
    EXPECT_GE(single_delta(*law, epsilon).upper, sampled_gaussian_delta(q, 1 / 1.5, true, epsilon) - 1e-13);
  }
  // Below 0: P{L > −a} − e^−a Q{L > −a} is the profile of adding.
  for (double a : {0.05, 0.15}) {
    const Masses m = law->masses(-a, kInfinity);
    const double found = m.p - std::exp(-a) * m.q;
    EXPECT_NEAR(found, static_cast<double>(sampled_gaussian_delta(q, 1 / 1.5, false, -a)), 1e-12);
  }
  const Masses all = law->masses(-kInfinity, kInfinity);
  EXPECT_NEAR(all.p, 1, 1e-12);
  EXPECT_NEAR(all.q, 1, 1e-12);
}

// Records that pull in opposite directions: the loss grows with x, so that x > x* is the event to look at.
TEST(LossLaw, OppositeSamples) {
  for (double q : {1e-3, 0.4, 1 - 1e-9}) {
    for (double z : {0.05, 2.0}) {
      SCOPED_TRACE(std::to_string(q) + " " + std::to_string(z));
      const Wide s2 = Wide(z) * z;
      const auto w = [&](const Wide& x) { return Wide(1 - Wide(q) + q * exp((2 * x - 1) / (2 * s2))); };
      expect_single(*opposite_samples_law(q, z), {0, 0.1, 600}, [&](double epsilon) {
        Wide low = -4000;
        Wide high = 4000;
        for (int i = 0; i < 200; ++i) {
          const Wide x = (low + high) / 2;
          (log(w(x)) - log(w(-x)) > epsilon ? high : low) = x;
        }
        const Wide rest = upper_tail(Wide(high / z));
        const Wide p = (1 - Wide(q)) * rest + q * upper_tail(Wide((high - 1) / z));
        return Wide(p - exp(Wide(epsilon)) * ((1 - Wide(q)) * rest + q * upper_tail(Wide((high + 1) / z))));
      });
    }
  }
}

// Masses add up over any partition, whatever its ends.
TEST(LossLaw, MassesAddUp) {
  const LawPtr noise = gaussian_law(1.2);
  std::vector<LawPtr> laws = {noise, laplace_law(0.7), as_doubles(kFour), discrete_laplace_law(2, 3)};
  laws.push_back(sampled_law(noise, 0.1, true));
  laws.push_back(sampled_law(laws[3], 0.9, false));
  laws.push_back(fixed_size_law(noise, 0.3));
  laws.push_back(opposite_samples_law(0.2, 1.1));
  for (const LawPtr& law : laws) {
    Masses sum{law->infinite_mass(), 0, 0, 0};
    double from = -kInfinity;
    for (int i = -40; i <= 41; ++i) {
      const double to = i == 41 ? kInfinity : 0.1 * i;
      const Masses m = law->masses(from, to);
      sum = {sum.p + m.p, sum.q + m.q, sum.p_error + m.p_error, sum.q_error + m.q_error};
      from = to;
    }
    EXPECT_NEAR(sum.p, 1, sum.p_error + 1e-15);
    EXPECT_NEAR(sum.q, 1, sum.q_error + 1e-15);
  }
}

TEST(Lattice, NeverReturnsNaN) {
  std::vector<LawPtr> laws = {gaussian_law(0.1), gaussian_law(70), laplace_law(2), epsilon_delta_law(800, 1e-3)};
  laws.push_back(sampled_law(laws[0], 1e-6, true));
  laws.push_back(sampled_law(laws[1], 0.5, true));
  laws.push_back(sampled_law(laws[1], 1 - 1e-9, false));
  for (const LawPtr& law : laws) {
    for (double count : {1.0, 30.0, 1e9}) {
      const RepeatedLaw repeated_laws[] = {{law.get(), count}};
      for (double log_delta : {-690.0, -12.0, -0.1}) {
        const Interval epsilon = lattice_epsilon(repeated_laws, log_delta, 1e-3, 12);
        EXPECT_TRUE(epsilon.lower >= 0 && epsilon.lower <= epsilon.upper) << epsilon.lower << " " << epsilon.upper;
      }
      for (double at : {0.0, 1.0, 1e3, 1e7}) {
        const Interval delta = lattice_delta(repeated_laws, at, 1e-3, 12);
        EXPECT_TRUE(delta.lower >= 0 && delta.lower <= delta.upper && delta.upper <= 1);
        if (law != laws[2]) {
          EXPECT_GT(delta.upper, 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace noisefloor
