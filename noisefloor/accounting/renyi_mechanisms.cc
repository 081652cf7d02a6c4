#include "noisefloor/accounting/renyi_mechanisms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "noisefloor/accounting/renyi_arithmetic.h"
#include "noisefloor/base/rounding.h"

namespace noisefloor::internal {
namespace {

// --- Discrete pairs --------------------------------------------------------------------------------------------------

// An outcome: its probability under Q and its likelihood ratio r = P/Q.
struct Atom {
  double log_weight;
  double log_ratio;
  double ratio_minus_1;  // may be +∞
};

// D_α(P‖Q) from all outcomes with r ≠ 1. The terms are right to a relative 2^-46 or so.
double divergence_of(std::span<const Atom> atoms, double order) {
  const double a = order - 1;
  double largest = -kInfinity;
  for (const Atom& atom : atoms) largest = std::max(largest, atom.log_weight + order * atom.log_ratio);
  if (largest > 300) {
    double sum = std::exp(-largest);  // the outcomes with r = 1
    for (const Atom& atom : atoms) sum += std::exp(atom.log_weight + order * atom.log_ratio - largest);
    return up(up((largest + std::log(sum)) / a));
  }
  double sum = 0;  // (A − 1)/a
  for (const Atom& atom : atoms) {
    const double y = a * atom.log_ratio;
    const double weight_q = std::exp(atom.log_weight);
    const double weight_p = std::exp(atom.log_weight + atom.log_ratio);
    if (y > 1) {
      // 1 + αu; the first form does not cancel where a is large and u small, the second does not overflow.
      const double linear =
          atom.ratio_minus_1 < 1 ? weight_q * (1 + order * atom.ratio_minus_1) : order * weight_p - a * weight_q;
      sum += (std::exp(atom.log_weight + order * atom.log_ratio) - linear) / a;
    } else {
      sum += weight_p * exp_excess(y) / a;
      sum += std::fabs(atom.ratio_minus_1) <= 0.25 ? weight_q * entropy_excess_near_1(atom.ratio_minus_1)
                                                   : weight_p * (atom.log_ratio - 1) + weight_q;
    }
  }
  // Up to 35-fold cancellation in the last line, and roundings of the arguments.
  return up(std::log1p(a * std::max(sum, 0.0) * (1 + 0x1p-43)) / a);
}

}  // namespace

// The worst pair (P, Q) = ((1−q) Q + q P₁, Q) over all pairs (P₁, Q) with ratios in [e^−ε, e^ε], in its worse
// direction. r^α and r^(1−α) are convex in r, and r has mean 1 and lies between two ends: the expectation is largest
// with all mass on the ends, which is randomized response.
double pure_divergence(double q, double epsilon, double order) {
  if (epsilon == 0) return 0;
  if (epsilon == kInfinity) return kInfinity;
  const double high = log_mixed_exp(q, epsilon);
  if (order == kInfinity) return up(high);
  const double high_excess = q * std::expm1(epsilon);
  const double low_excess = q * std::expm1(-epsilon);
  const double low = q >= 1 ? -epsilon : std::log1p(low_excess);
  const std::array<Atom, 2> removed = {Atom{-softplus(epsilon), high, high_excess},
                                       Atom{-softplus(-epsilon), low, low_excess}};
  const std::array<Atom, 2> added = {Atom{removed[0].log_weight + high, -high, std::expm1(-high)},
                                     Atom{removed[1].log_weight + low, -low, std::expm1(-low)}};
  const double worst =
      q >= 1 ? divergence_of(removed, order) : std::max(divergence_of(removed, order), divergence_of(added, order));
  return std::min(up(high), worst);  // in this order: where α ε overflows, worst is NaN
}

double randomized_response_divergence(double epsilon, std::uint64_t categories, double order) {
  const double others = to_double_up(categories - 1);
  const double log_total = epsilon + std::log1p(others * std::exp(-epsilon));
  const std::array<Atom, 2> atoms = {Atom{-log_total, epsilon, std::expm1(epsilon)},
                                     Atom{epsilon - log_total, -epsilon, std::expm1(-epsilon)}};
  return std::min(epsilon, divergence_of(atoms, order));  // in this order, as above
}

// ε-bounded range: ratios lie in [e^{t−ε}, e^t] for some t in [0, ε]. As above the worst law for t has two outcomes,
// and
//   A(t) = (e^{at}(1 − e^{−αε}) − e^{αt}(e^{−ε} − e^{−αε})) / (1 − e^{−ε})
// is largest at the t below, where A = e^{at}(1 − e^{−αε}) / (α (1 − e^{−ε})).
double bounded_range_divergence(double epsilon, double order) {
  const double a = order - 1;
  const double concentrated = up(order * (epsilon * (epsilon / 8)));  // Cesar and Rogers 2021
  double best = std::min(concentrated, epsilon);
  if (a * epsilon >= 1) {
    // ln((1 − e^{−αε}) / (1 − e^{−aε})), without cancellation.
    const double ratio = std::log1p(-std::expm1(-epsilon) / std::expm1(a * epsilon));
    const double t = std::log1p(-1 / order) + epsilon + ratio;
    const double rest = std::log1p(-std::exp(-order * epsilon)) - std::log(-std::expm1(-epsilon)) - std::log(order);
    const double size = std::fabs(t) + epsilon + 1 / order + (std::fabs(rest) + 2 * std::log(order) + 2) / a;
    return std::min(best, up(t + rest / a + size * 0x1p-49));
  }
  const auto log_sinhc = [](double y) {  // ln(sinh y / y)
    if (y > 0.5) return y + std::log(-std::expm1(-2 * y) / (2 * y));
    double sum = 0;
    for (int k = 8; k >= 1; --k) sum = (sum + 1) * y * y / (2 * k * (2 * k + 1));
    return std::log1p(sum);
  };
  const double shift = log_sinhc(order * epsilon / 2);
  const double t = std::clamp(epsilon / 2 + shift - log_sinhc(a * epsilon / 2), 0.0, epsilon);
  if (t <= 0 || t >= epsilon) return best;
  const double log_range = std::log(-std::expm1(-epsilon));
  const std::array<Atom, 2> atoms = {Atom{std::log(-std::expm1(t - epsilon)) - t - log_range, t, std::expm1(t)},
                                     Atom{std::log(-std::expm1(-t)) - log_range, t - epsilon, std::expm1(t - epsilon)}};
  // ln A has the second derivative −aα at its maximum, and is about aα ε²/8 or more there for small ε: an error of t
  // that is `off` costs a relative 4 (off/ε)². Where ε is above 1, ln A is at least a/8 and a < 1.
  const double off = (shift + epsilon) * 0x1p-50;
  const double lost = 16 * (off / epsilon) * (off / epsilon) + 16 * off * off;
  return std::min(best, up(divergence_of(atoms, order) * (1 + lost)));
}

// --- Laplace, continuous and discrete --------------------------------------------------------------------------------

// Mironov 2017, Proposition 6: A = (α e^{aε} + a e^{−αε}) / (2α−1). The terms of first order in ε cancel exactly.
double laplace_divergence(double epsilon, double order) {
  const double a = order - 1;
  const double width = order + a;
  if (a * epsilon > 1) {
    const double log_rest = std::log(order / width) + std::log1p(a / order * std::exp(-width * epsilon));
    return std::min(epsilon, up(epsilon + log_rest / a + 0x1p-49 * (epsilon + 2 / a)));
  }
  const double sum = (order * (exp_excess(a * epsilon) / a) + exp_excess(-order * epsilon)) / width;
  return std::min(epsilon, up(up(std::log1p(a * sum) / a)));
}

// P(x) ∝ e^{−t|x|} shifted by m ≥ 1: A = c₁ e^{aε} + c₂ e^{−αε} with ε = tm, c₁ + c₂ = 1 and, for λ = e^{−t},
//   c₂ = λ (1 − λ^{2a}) / ((1+λ)(1 − λ^{2α−1})).
// ln A is convex in m and 0 at m = 0, hence superadditive: of all shifts with the same L1 norm, that of one coordinate
// costs most. It grows with m, so that it also bounds every smaller whole shift.
double discrete_laplace_divergence(double t, double epsilon, double order) {
  const double a = order - 1;
  const double width = order + a;
  const double lambda = std::exp(-t);
  const double scale = (1 + lambda) * -std::expm1(-width * t);
  const double c1 = -std::expm1(-2 * order * t) / scale;
  const double c2 = lambda * -std::expm1(-2 * a * t) / scale;
  if (a * epsilon > 1 || order * t > 1) {
    // Here nothing cancels by more than a factor of about 10.
    if (a * epsilon > 1) {
      const double log_rest = std::log(c1) + std::log1p(c2 / c1 * std::exp(-width * epsilon));
      return std::min(epsilon, up(epsilon + log_rest / a + 0x1p-47 * (epsilon + 2 / a)));
    }
    const double c2_over_a = lambda * (-std::expm1(-2 * a * t) / a) / scale;
    const double sum = c1 * (std::expm1(a * epsilon) / a) + c2_over_a * std::expm1(-order * epsilon);
    const double size = c1 * (std::expm1(a * epsilon) / a) + c2_over_a;
    return std::min(epsilon, up(std::log1p(a * (std::max(sum, 0.0) + size * 0x1p-48)) / a));
  }
  // The first-order term c₁ a − c₂ α is 2 e^{−αt} aαt (S(αt) − S(at)) / scale with S(x) = sinh(x)/x.
  const auto sinhc_excess = [](double x) {
    double sum = 0;
    for (int k = 9; k >= 1; --k) sum = (sum + 1) * x * x / (2 * k * (2 * k + 1));
    return sum;
  };
  const double first = 2 * std::exp(-order * t) * order * t * (sinhc_excess(order * t) - sinhc_excess(a * t)) / scale;
  const double c2_over_a = lambda * (-std::expm1(-2 * a * t) / a) / scale;
  const double sum =
      c1 * (exp_excess(a * epsilon) / a) + c2_over_a * exp_excess(-order * epsilon) + epsilon * std::max(first, 0.0);
  return std::min(epsilon, up(std::log1p(a * sum * (1 + 0x1p-46)) / a));
}

// --- Gaussians on the integers ---------------------------------------------------------------------------------------

double discrete_gaussian_divergence(const DiscreteGaussianEvent& event, double order) {
  const double sigma = event.sigma.value();
  const double n = to_double_up(event.summands.value());
  const double d = to_double_up(event.dimension.value());
  const double l2 = event.l2_sensitivity.value() / sigma;
  // One summand alone protects this much (Canonne, Kamath, Steinke 2020, Theorem 4), and more noise is post-processing.
  const double one = up(up(order / 2 * (l2 * l2)));
  if (event.summands.value() == 1 || sigma < 0.5) return one;
  // Kairouz, Liu, Steinke 2021, Proposition 14; σ ≥ 1/2. The exponents k/(k+1) grow, so that a later term bounds the
  // rest.
  constexpr std::uint64_t kTerms = 256;
  double tau = 0;
  std::uint64_t k = 1;
  const auto term = [&](std::uint64_t i) {
    const auto x = static_cast<double>(i);
    return std::exp(-2 * kPi * kPi * (sigma * sigma * (x / (x + 1))) * (1 - 0x1p-48));
  };
  for (; k < event.summands.value() && k <= kTerms; ++k) tau += term(k);
  if (k < event.summands.value()) tau += to_double_up(event.summands.value() - k) * term(k);
  tau = up(10 * tau);
  const double l2_sum = l2 / std::sqrt(n) * (1 + 0x1p-50);
  const double l1_sum = event.l1_sensitivity.value() / sigma / std::sqrt(n);
  const double plain = order / 2 * (l2_sum * l2_sum);
  const double through_ratio = plain + tau * d;
  const double through_l1 = plain + order / 2 * (2 * l1_sum * tau + tau * tau * d);
  const double wide = l2_sum + std::sqrt(d) * tau;
  return std::min(one, up(up(std::min({through_ratio, through_l1, order / 2 * (wide * wide)}))));
}

namespace {

// Agarwal, Kairouz, Liu 2021, Corollary 3.6, for a whole order.
double skellam_divergence_at(const SkellamEvent& event, double order) {
  const double mu = event.variance.value();
  const double l1 = event.l1_sensitivity.value() / mu;
  const double l2 = event.l2_sensitivity.value() / std::sqrt(mu);
  const double square = l2 * l2;
  const double more = std::min(((2 * order - 1) * square + 6 * l1) / mu / 4, 1.5 * l1);
  return up(up(order / 2 * square + more));
}

}  // namespace

double skellam_divergence(const SkellamEvent& event, double order) {
  return up(interpolated(order, [&](double n) { return up((n - 1) * skellam_divergence_at(event, n)); }));
}

}  // namespace noisefloor::internal
