#include "noisefloor/accounting/rdp.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "noisefloor/accounting/repeat_and_select.h"
#include "noisefloor/base/rounding.h"

// Notation: α is the order, a = α − 1, and A = E_Q[(P/Q)^α] = e^{aD}. Where D may be tiny, A − 1 is computed as the
// expectation of
//   g(r) = r^α − 1 − α(r − 1) = r (e^{aL} − 1 − aL) + a (rL − r + 1)     with r = P/Q, L = ln r.
// E[r] = 1, so that this is the same number; and both terms are at least 0, so that nothing cancels.

namespace noisefloor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = std::numbers::pi;

// Covers a relative error of 2^-48 and underflow, for values that are known to be above 0.
double up(double value) { return next_up(value * (1 + 0x1p-48)); }

double to_double_up(std::uint64_t value) {
  const auto number = static_cast<double>(value);
  return number < 0x1p53 ? number : next_up(number);
}

// e^y − 1 − y.
double exp_excess(double y) {
  if (std::fabs(y) > 0.3) return std::expm1(y) - y;
  double sum = 0;
  for (int k = 15; k >= 3; --k) sum = (sum + 1) * y / k;
  return (sum + 1) * y * y / 2;
}

// (1 + u) ln(1 + u) − u, for |u| ≤ 1/4: with z = u/(2+u), ln(1 + u) = 2 artanh z.
double entropy_excess_near_1(double u) {
  const double z = u / (2 + u);
  const double w = z * z;
  double sum = 0;
  for (int k = 21; k >= 3; k -= 2) sum = sum * w + 1.0 / k;
  return 2 * (w + (1 + z) * z * w * sum) / (1 - z);
}

// ln(1 + q (e^x − 1)) for q in (0, 1].
double log_mixed_exp(double q, double x) {
  if (q >= 1) return x;
  const double u = q * std::expm1(x);
  if (u < 1) return std::log1p(u);
  return std::log(q) + x + std::log1p((1 - q) / q * std::exp(-x));
}

// ln(e^x − 1) for x > 0.
double log_expm1(double x) { return x > 40 ? x : std::log(std::expm1(x)); }

// ln(1 + e^x).
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

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

// The worst pair (P, Q) = ((1−q) Q + q P₁, Q) over all pairs (P₁, Q) with ratios in [e^−ε, e^ε], in its worse direction.
// r^α and r^(1−α) are convex in r, and r has mean 1 and lies between two ends: the expectation is largest with all mass
// on the ends, which is randomized response.
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

// ε-bounded range: ratios lie in [e^{t−ε}, e^t] for some t in [0, ε]. As above the worst law for t has two outcomes, and
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
  // Kairouz, Liu, Steinke 2021, Proposition 14; σ ≥ 1/2. The exponents k/(k+1) grow, so that a later term bounds the rest.
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

// Agarwal, Kairouz, Liu 2021, Corollary 3.6, for a whole order.
double skellam_divergence_at(const SkellamEvent& event, double order) {
  const double mu = event.variance.value();
  const double l1 = event.l1_sensitivity.value() / mu;
  const double l2 = event.l2_sensitivity.value() / std::sqrt(mu);
  const double square = l2 * l2;
  const double more = std::min(((2 * order - 1) * square + 6 * l1) / mu / 4, 1.5 * l1);
  return up(up(order / 2 * square + more));
}

// a D is convex in α and 0 at α = 1: between whole orders it lies below the chord.
template <class LogMoment>
double interpolated(double order, LogMoment log_moment) {
  const double below = std::floor(order);
  if (below == order) return log_moment(order) / (order - 1);
  const double part = order - below;
  const double low = below > 1 ? log_moment(below) : 0;
  return up(((1 - part) * low + part * log_moment(below + 1)) / (order - 1));
}

double skellam_divergence(const SkellamEvent& event, double order) {
  return up(interpolated(order, [&](double n) { return up((n - 1) * skellam_divergence_at(event, n)); }));
}

// --- The Poisson-sampled Gaussian ------------------------------------------------------------------------------------

// D_α((1−q) N(0,1) + q N(s,1) ‖ N(0,1)), the remove direction, which dominates. With r(x) = 1 − q + q e^{sx − s²/2},
// A = ∫ φ r^α is computed by the trapezoidal rule of step h on all of ℝ:
//   Discretisation: r has no zero for |Im x| < π/s, |r(x+iy)| ≤ r(x) and |φ(x+iy)| = φ(x) e^{y²/2}. So φ r^α is analytic
//     there, and the error is at most η A with η = 2 e^{d²/2} / (e^{2πd/h} − 1), for every d < π/s (Trefethen and
//     Weideman 2014, Theorem 5.1). What is summed is φ g; the sum of the rest, φ (1 + αu), is that of two Gaussians,
//     whose error is at most (1 + 2αq) η' with η' = 2 / (e^{2π²/h²} − 1).
//   Truncation: let ψ = −x²/2 + α ln r. ψ' = αs p(x) − x with a logistic p, so that ψ' is convex below x₀, where
//     p = 1/2, and concave above. If αs² ≤ 4, ψ' falls everywhere. Else it falls, rises, and falls again from x_h on; so
//     ψ has at most two peaks, the right one (`far`) at x_h or above. g ≤ r^α, and g ≤ a left of s/2. Terms below e^cut
//     of the scale are left out and their sum is bounded by these facts.
//   Rounding: margins that grow with the numbers that were added in the exponents.
// Nothing is proved about tightness, and nothing depends on it: all errors are added to the result.
class SampledGaussian {
 public:
  SampledGaussian(double q, double shift, double order)
      : q_(q), s_(shift), order_(order), a_(order - 1), logit_(std::log(q) - std::log1p(-q)) {}

  // An upper bound; +∞ if it would take too many points.
  [[nodiscard]] double divergence() const {
    const double half = s_ * s_ / 2;
    // About E[g], and not above it by much.
    const double variance = std::min(q_ * q_ * std::expm1(std::min(s_ * s_, 50.0)), q_ * std::min(1.0, s_ * s_));
    const double size = std::min(1.0, order_ * a_ / 2 * variance);
    if (!(size > 1e-280)) return kInfinity;
    const double digits = 42 - std::log(size) + std::log1p(order_ * q_);
    const double strip = 0.98 * kPi / s_;
    double h = kPi * std::sqrt(2 / digits);
    if (2 * kPi / h > strip) h = 2 * kPi * strip / (digits + strip * strip / 2);
    // 12 binary digits, so that multiples of h are exact.
    int exponent = 0;
    h = std::floor(std::ldexp(std::frexp(h, &exponent), 12));
    h = std::ldexp(h, exponent - 12);
    const double d = std::min(strip, 2 * kPi / h);
    const double eta = 2 * std::exp(d * d / 2) / std::expm1(2 * kPi * d / h);
    const double eta_linear = (1 + 2 * order_ * q_) * 2 / std::expm1(2 * kPi * kPi / (h * h));
    const double reach = std::sqrt(2 * (digits + 6));
    const double cut = -(digits + 4);

    // Peaks of ψ.
    const double bend = order_ * s_ * s_;
    bool has_far = true;
    double turn = 0;  // from here on ψ' falls
    double near_peak = 0;
    double near_height = 0;
    bool has_near = false;
    if (bend > 4) {
      const double p = (1 + std::sqrt(1 - 4 / bend)) / 2;
      const double away = std::log(p * p * bend) / s_;
      const double middle = s_ / 2 - logit_ / s_;
      turn = middle + away;
      has_far = slope(turn) >= 0;
      const double left_turn = middle - away;
      has_near = left_turn > 0 && slope(left_turn) < 0;
      if (has_near) {
        near_peak = root(0, left_turn);
        near_height = std::max(0.0, height(near_peak) + 1e-6);
      }
      if (!has_near && !has_far) return kInfinity;  // only by rounding
    }
    const double far_peak = has_far ? root(std::max(turn, 0.0), order_ * s_) : 0;
    const bool apart = has_far && far_peak > 2 * (reach + s_);
    double scale = near_height;
    double far_height = -kInfinity;
    double far = 0;
    double steps_to_far = 0;
    bool aligned = true;
    if (apart) {
      steps_to_far = std::round(far_peak / h);
      far = steps_to_far * h;
      aligned = steps_to_far < 0x1p40;
      far_height = height(far);
      scale = std::max(scale, far_height);
    }
    if (scale < 100) scale = 0;

    double left_out = a_ * std::exp(-reach * reach / 2 - scale) * (h + 1);  // left of −reach, where g ≤ a
    double sum = 0;                                                         // of g/a
    double first_after_near = -reach;
    double budget = 40000;
    double largest_x = reach;
    const bool near_matters = !apart || near_height - scale > cut - 20 - std::log(far + reach);
    if (near_matters) {
      if (!aligned) return kInfinity;
      double x = -std::floor(reach / h) * h;
      for (;; x += h) {
        if (apart && x > far / 2) break;  // the rest of the way is done from the other side
        if (--budget < 0) return kInfinity;
        const double t = s_ * x - half;
        const double u = q_ * std::expm1(t);
        const double log_r = u < 1 ? std::log1p(u) : log_mixed_exp(q_, t);
        const double gauss = -x * x / 2 - scale;
        const double log_term = order_ * log_r + gauss;
        if (log_term < cut && x > reach / 2) {
          const bool falling = order_ * s_ * (u < 1 ? (u + q_) / (1 + u) : logistic(x)) < x;
          if (apart ? x > reach + 2 * s_ && (falling || !has_near) : falling && x >= far_peak) break;
        }
        const double y = a_ * log_r;
        if (y > 1) {
          const double linear =
              u < 1 ? std::exp(gauss) * (1 + order_ * u) : order_ * std::exp(log_r + gauss) - a_ * std::exp(gauss);
          sum += (std::exp(log_term) - linear) / a_;
        } else {
          const double r = u < 1 ? 1 + u : std::exp(log_r);
          const double entropy = std::fabs(u) <= 0.25 ? entropy_excess_near_1(u) : r * (log_r - 1) + 1;
          sum += std::exp(gauss) * (r * (exp_excess(y) / a_) + entropy);
        }
      }
      first_after_near = x;
      largest_x = std::max(largest_x, x);
      if (!apart) {
        double fall = -slope(x);
        if (x < turn) fall = std::min(fall, -slope(turn));
        if (!(fall > 0)) return kInfinity;
        left_out += std::exp(height(x) - scale + 1e-6) * (h + 1 / fall);
      }
    }
    double margin = 0x1p-43 * (1 + s_ * s_ / 16) + 0x1p-50 * (scale + largest_x * largest_x);
    if (apart) {
      // Around `far`: with y = x − far and p = p(far),
      // ψ(x) = ψ(far) + (αsp − far) y − y²/2 + α (ln(1 − p + p e^{sy}) − p s y), and g ≤ r^α.
      const double logit = s_ * far - half + logit_;
      const double p = 1 / (1 + std::exp(-logit));
      const double rest = 1 / (1 + std::exp(logit));
      const long double pull = static_cast<long double>(order_) * s_;
      const auto tilt = static_cast<double>(p <= 0.5 ? pull * p - far : (pull - far) - pull * rest);
      const double base = far_height - scale;
      const auto log_term = [&](double y) {
        const double v = s_ * y;
        const double bow =
            p <= 0.5 ? std::log1p(p * std::expm1(v)) - p * v : std::log1p(rest * std::expm1(-v)) + rest * v;
        return base + tilt * y - y * y / 2 + order_ * bow;
      };
      double far_sum = 0;
      if (base > cut - 20) {
        double y = 0;
        double log = log_term(y);
        for (; log > cut || y < 2 * h; y += h, log = log_term(y)) {
          if (--budget < 0) return kInfinity;
          far_sum += std::exp(log);
        }
        const double fall = -slope(far + y);
        if (!(fall > 0)) return kInfinity;
        left_out += std::exp(log + 1e-6) * (h + 1 / fall);
        for (y = -h; far + y >= first_after_near; y -= h) {
          log = log_term(y);
          if (log < cut && y < -2 * h) break;
          if (--budget < 0) return kInfinity;
          far_sum += std::exp(log);
        }
        const double left_end = far + y;
        const double between = std::max(near_matters ? height(first_after_near) - scale : near_height - scale, log);
        if (left_end > first_after_near) left_out += (left_end - first_after_near + h) * std::exp(between + 1e-6);
      } else {
        // All of it is below the peak, up to αs + 2, and falls like a Gaussian beyond.
        const double between = std::max(height(first_after_near) - scale, base + 0.2);  // `far` is off the peak
        left_out += (order_ * s_ + 3 + reach) * std::exp(between + 1e-6);
      }
      sum += far_sum / a_;
      margin += 0x1p-50 * (far * (reach + 4)) + 0x1p-60 * (far * far + order_ * s_ * far);
    }
    const double root_two_pi = std::sqrt(2 * kPi);
    double excess = (h * a_ * sum * std::exp(std::min(margin, 1.0)) + left_out) / root_two_pi;
    excess += (eta + eta_linear) * std::exp(-scale);
    excess *= 1 + 2 * eta;
    if (!(excess >= 0)) return kInfinity;
    if (scale == 0) return up(std::log1p(excess) / a_);
    return up((scale + std::log(std::exp(-scale) + excess) + margin) / a_);
  }

 private:
  [[nodiscard]] double logistic(double x) const { return 1 / (1 + std::exp(-(s_ * x - s_ * s_ / 2 + logit_))); }
  [[nodiscard]] double slope(double x) const { return order_ * s_ * logistic(x) - x; }

  // ψ(x).
  [[nodiscard]] double height(double x) const {
    const long double s = s_;
    const long double q = q_;
    const long double t = s * x - s * s / 2;
    const long double u = t < 11000 ? q * std::expm1(t) : 2;
    const long double log_r =
        u < 1 ? std::log1p(u) : std::log(q) + t + std::log1p((1 - q) / q * std::exp(-std::max(t, 0.0L)));
    return static_cast<double>(order_ * log_r - static_cast<long double>(x) * x / 2);
  }

  // Where ψ' changes its sign from + to −, near enough.
  [[nodiscard]] double root(double low, double high) const {
    for (int i = 0; i < 60 && high - low > 1e-3; ++i) {
      const double middle = low + (high - low) / 2;
      (slope(middle) > 0 ? low : high) = middle;
    }
    return high;
  }

  double q_;
  double s_;
  double order_;
  double a_;
  double logit_;
};

// `precision` is 1/z², at least the true one.
double sampled_gaussian_divergence(double q, double precision, double order) {
  if (precision == 0) return 0;
  const double plain = up(order / 2 * precision);
  if (q >= 1) return plain;
  const double a = order - 1;
  // Minkowski: A^{1/α} ≤ (1−q) + q e^{a s²/2}.
  double best = std::min(plain, up(up(order * (log_mixed_exp(q, a * (precision / 2)) / a))));
  const double shift = sqrt_up(precision);
  if (shift < 100 && shift > 1e-140 && order < 1e15) {
    best = std::min(best, SampledGaussian(q, shift, order).divergence());
  }
  return best;
}

// --- Trees -----------------------------------------------------------------------------------------------------------

// Σ 1/z² if the event is exactly a Gaussian mechanism. Gaussians in a row are one (also if chosen adaptively: the pair
// of the composition is dominated by that of one Gaussian).
std::optional<double> gaussian_precision(const DpEvent& event) {
  const auto of = [](NoiseMultiplier z) {
    const double precision = divided_up(divided_up(1, z.value()), z.value());
    return precision > 1e-280 ? precision : up(precision);  // remainders near underflow are not seen
  };
  return std::visit(
      [&](const auto& kind) -> std::optional<double> {
        using Kind = std::decay_t<decltype(kind)>;
        if constexpr (std::is_same_v<Kind, GaussianEvent>) {
          return of(kind.noise_multiplier);
        } else if constexpr (std::is_same_v<Kind, TreeAggregationEvent>) {
          return times_up(static_cast<double>(std::bit_width(kind.steps.value())), of(kind.noise_multiplier));
        } else if constexpr (std::is_same_v<Kind, ZeroCostEvent>) {
          return 0.0;
        } else if constexpr (std::is_same_v<Kind, SelfComposedEvent>) {
          const std::optional<double> one = gaussian_precision(kind.event);
          if (!one.has_value() || *one == 0) return one;
          return times_up(to_double_up(kind.count.value()), *one);
        } else if constexpr (std::is_same_v<Kind, ComposedEvent>) {
          double sum = 0;
          for (const DpEvent& part : kind.events) {
            const std::optional<double> one = gaussian_precision(part);
            if (!one.has_value()) return std::nullopt;
            if (*one > 0) sum = sum > 0 ? next_up(sum + *one) : *one;
          }
          return sum;
        } else {
          return std::nullopt;
        }
      },
      event.kind());
}

double fraction_of(const FixedSizeSampledEvent& event) {
  if (event.sample_size.value() >= event.population.value()) return 1;
  const double below = static_cast<double>(event.population.value());
  return std::min(1.0, up(to_double_up(event.sample_size.value()) / below));
}

// The pure ε of the event, apart from its delta; +∞ if there is none.
double pure_epsilon(const DpEvent& event, Adjacency adjacency) {
  return std::visit(
      [&](const auto& kind) -> double {
        using Kind = std::decay_t<decltype(kind)>;
        if constexpr (std::is_same_v<Kind, LaplaceEvent>) {
          return divided_up(1, kind.noise_multiplier.value());
        } else if constexpr (std::is_same_v<Kind, DiscreteLaplaceEvent>) {
          return divided_up(kind.l1_sensitivity.value(), kind.scale.value());
        } else if constexpr (std::is_same_v<Kind, RandomizedResponseEvent> || std::is_same_v<Kind, ExponentialEvent> ||
                             std::is_same_v<Kind, PermuteAndFlipEvent> || std::is_same_v<Kind, EpsilonDeltaEvent>) {
          return kind.epsilon.value();
        } else if constexpr (std::is_same_v<Kind, ZcdpEvent>) {
          return kind.rho.value() == 0 ? 0 : kInfinity;
        } else if constexpr (std::is_same_v<Kind, ZeroCostEvent>) {
          return 0;
        } else if constexpr (std::is_same_v<Kind, PoissonSampledEvent>) {
          // Within a sample a record is there or not; replacing one is removing and adding.
          const double inner = pure_epsilon(kind.event, Adjacency::kAddRemove);
          if (inner == 0 || inner == kInfinity) return inner;
          const double once = std::min(inner, up(up(log_mixed_exp(kind.sampling_rate.value(), inner))));
          return adjacency == Adjacency::kAddRemove ? once : times_up(2, once);
        } else if constexpr (std::is_same_v<Kind, FixedSizeSampledEvent>) {
          const double inner = pure_epsilon(kind.event, adjacency);
          if (inner == 0 || inner == kInfinity) return inner;
          return std::min(inner, up(up(log_mixed_exp(fraction_of(kind), inner))));
        } else if constexpr (std::is_same_v<Kind, ShuffledEvent>) {
          return pure_epsilon(kind.event, adjacency);
        } else if constexpr (std::is_same_v<Kind, RepeatAndSelectEvent>) {
          const double inner = pure_epsilon(kind.event, adjacency);
          return inner == 0 || inner == kInfinity ? inner : times_up(next_up(2 + kind.eta.value()), inner);
        } else if constexpr (std::is_same_v<Kind, PoissonRepeatAndSelectEvent>) {
          return pure_epsilon(kind.event, adjacency) == 0 ? 0 : kInfinity;
        } else if constexpr (std::is_same_v<Kind, SelfComposedEvent>) {
          const double inner = pure_epsilon(kind.event, adjacency);
          return inner == 0 ? 0 : times_up(to_double_up(kind.count.value()), inner);
        } else if constexpr (std::is_same_v<Kind, ComposedEvent>) {
          double sum = 0;
          for (const DpEvent& part : kind.events) {
            const double one = pure_epsilon(part, adjacency);
            if (one > 0) sum = sum > 0 ? next_up(sum + one) : one;
          }
          return sum;
        } else {
          return kInfinity;
        }
      },
      event.kind());
}

// δ of n mechanisms in a row: 1 − (1−δ)^n.
double repeated_delta(double delta, double count) {
  if (delta == 0) return 0;
  return std::min({1.0, up(count * delta), up(-std::expm1(count * std::log1p(-delta)))});
}

// Bounds on whole orders take a sum over the orders below. Those of a sample within a sample within a sample … would
// take a power of that; further inside only the closed forms are used.
double largest_summed_order(int depth) { return depth == 0 ? 512 : depth == 1 ? 32 : 1; }

Result<RenyiBound> bound(const DpEvent& event, Adjacency adjacency, double order, int depth);

// ln(1 + Σ_{l=2}^n C(n,l) q^l keep^{n−l} e^{log_term[l]}).
double log_binomial_moment(double q, double log_keep, int n, const std::vector<double>& log_terms) {
  std::array<double, 513> exponents{};
  long double log_choose = 0;
  const double log_q = std::log(q);
  double largest = -kInfinity;
  double size = 0;
  for (int l = 1; l <= n; ++l) {
    log_choose += std::log(static_cast<long double>(n - l + 1) / l);
    if (l < 2) continue;
    const double term = log_terms[static_cast<std::size_t>(l)];
    const double exponent = static_cast<double>(log_choose) + l * log_q + (n - l) * log_keep + term;
    exponents[static_cast<std::size_t>(l)] = exponent;
    if (exponent > largest) largest = exponent;
    size = std::max(size, std::fabs(static_cast<double>(log_choose)) + l * std::fabs(log_q) +
                              (n - l) * std::fabs(log_keep) + std::fabs(term));
  }
  if (largest == kInfinity || largest == -kInfinity) return largest == kInfinity ? kInfinity : 0;
  long double sum = 0;
  for (int l = 2; l <= n; ++l) sum += std::exp(exponents[static_cast<std::size_t>(l)] - largest);
  const double log_sum = largest + static_cast<double>(std::log(sum)) + 0x1p-45 + 0x1p-50 * size;
  return up(softplus(log_sum));
}

// (D_l)_{l = 2..n} of the event, the first two unused.
Result<std::vector<double>> whole_orders(const DpEvent& event, Adjacency adjacency, int n, int depth) {
  std::vector<double> divergences(static_cast<std::size_t>(n) + 1, 0.0);
  for (int l = 2; l <= n; ++l) {
    NF_TRY(const RenyiBound at, bound(event, adjacency, l, depth + 1));
    divergences[static_cast<std::size_t>(l)] = at.divergence;
  }
  return divergences;
}

// Each record takes part with probability q, add-remove. P = (1−q) Q + q P₁, and (P₁, Q) is a pair of the inner event.
// Let W = P₁/Q, r = P/Q = 1 − q + qW, B_l = e^{(l−1) D_l}.
//   Remove: Minkowski gives A^{1/α} ≤ 1 − q + q B_α^{1/α}; at a whole order n the binomial sum
//           A − 1 ≤ Σ_{l≥2} C(n,l) q^l (1−q)^{n−l} (B_l − 1).
//   Add:    E_Q[r^{−a}], to which the reverse Minkowski inequality applies: D ≤ −ln(1 − q + q e^{−D_α}). At a whole order,
//           E_P[(1 + qX)^n] with X = (Q − P₁)/P, E_P[X] = 0, and b^{1−l} being convex in b:
//           E_P[X^l] ≤ (1−q) E_Q|W−1|^l + q E_{P₁}|1/W−1|^l ≤ B_l − 1, the latter since |w−1|^l ≤ w^l − 1 − l(w−1) for
//           w ≥ 0, l ≥ 2. So A − 1 ≤ Σ_{l≥2} C(n,l) q^l (B_l − 1). If the inner event is ε-DP, |W−1| ≤ e^ε − 1 and
//           E|W−1|^l ≤ (e^ε−1)^{l−2} (B₂−1) as well.
// If the inner event has a δ: with Q = (1−δ) Q' + δ Q'' and P₁ = (1−δ) P' + δ P'', P and Q share the weight qδ of P''
// against Q'', and what is left is a mixture of Q'' against itself and of (1−q) Q' + q P' against Q'. By joint convexity
// its A is at most that of the latter pair. So δ becomes qδ.
Result<RenyiBound> poisson_sampled(const PoissonSampledEvent& event, Adjacency adjacency, double order, int depth);

// Replacing a sampled record is removing one and adding another. By Hölder's inequality, for every p > 1,
//   D_α(P‖Q) ≤ (α − 1/p)/(α − 1) D_{pα}(P‖R) + D_{(pα−1)/(p−1)}(R‖Q)
// with R the release without the record (Mironov 2017, Proposition 11).
// Near order 1 the first factor is large, and the bound at a larger order is the better one.
Result<RenyiBound> replaced_sample(const PoissonSampledEvent& event, double order, int depth) {
  double best = times_up(2, pure_epsilon(event, Adjacency::kAddRemove));
  for (double at : {order, 1.5, 2.0, 3.0, 6.0}) {
    if (at < order || at == kInfinity) continue;
    for (double p : {1.5, 2.0, 4.0}) {
      NF_TRY(const RenyiBound remove, poisson_sampled(event, Adjacency::kAddRemove, up(p * at), depth));
      NF_TRY(const RenyiBound add, poisson_sampled(event, Adjacency::kAddRemove, up((p * at - 1) / (p - 1)), depth));
      if (remove.delta > 0 || add.delta > 0) {
        return invalid_argument(
            "no Renyi bound is known for (epsilon, delta) parts within Poisson samples under replace-one: use "
            "add-remove, "
            "or the pld accountant");
      }
      best = std::min(best, up(up((at - 1 / p) / (at - 1) * remove.divergence + add.divergence)));
    }
  }
  return RenyiBound{best, 0};
}

Result<RenyiBound> poisson_sampled(const PoissonSampledEvent& event, Adjacency adjacency, double order, int depth) {
  if (adjacency == Adjacency::kReplaceOne) return replaced_sample(event, order, depth);
  const double q = event.sampling_rate.value();
  if (q >= 1) return bound(event.event, adjacency, order, depth);
  NF_TRY(const RenyiBound inner, bound(event.event, adjacency, order, depth + (depth > 0 ? 1 : 0)));
  const double delta = inner.delta == 0 ? 0 : std::min(inner.delta, up(q * inner.delta));
  const double d = inner.divergence;
  if (d == 0 || d == kInfinity) return RenyiBound{d, delta};
  const double a = order - 1;
  if (const std::optional<double> precision = gaussian_precision(event.event); precision.has_value()) {
    return RenyiBound{sampled_gaussian_divergence(q, *precision, order), delta};
  }
  double remove = up(up(order * (log_mixed_exp(q, a / order * d) / a)));
  double add = up(up(-std::log1p(q * std::expm1(-d))));
  const double pure = pure_epsilon(event.event, adjacency);
  const double top = std::ceil(order);
  if (top <= largest_summed_order(depth)) {
    NF_TRY(const std::vector<double> at, whole_orders(event.event, adjacency, static_cast<int>(top), depth));
    std::vector<double> removed(at.size(), 0.0);
    std::vector<double> added(at.size(), 0.0);
    for (std::size_t l = 2; l < at.size(); ++l) {
      const auto number = static_cast<double>(l);
      removed[l] = log_expm1((number - 1) * at[l]);
      added[l] = removed[l];
      if (pure < 700) added[l] = std::min(added[l], (number - 2) * log_expm1(pure) + removed[2]);
    }
    const double log_keep = std::log1p(-q);
    remove = std::min(remove, interpolated(order, [&](double n) {
                        return log_binomial_moment(q, log_keep, static_cast<int>(n), removed);
                      }));
    add = std::min(
        add, interpolated(order, [&](double n) { return log_binomial_moment(q, 0.0, static_cast<int>(n), added); }));
  }
  return RenyiBound{std::min({d, std::max(remove, add), pure_divergence(q, pure, order)}), delta};
}

// E[(E−1)^j] for E = e^{sx − s²/2}, j = 0 … n, x standard normal. E[(E−1)^j E] is E[(e^{s²}E − 1)^j], so
//   m_{j+1} = (e^{js²} − 1) m_j + Σ_{i<j} C(j,i) e^{is²} (e^{s²}−1)^{j−i} m_i,
// in which no term is negative.
std::vector<long double> centred_moments(double square, int n) {
  std::vector<long double> m(static_cast<std::size_t>(n) + 1, 0.0L);
  const long double step = std::expm1(static_cast<long double>(square));
  m[0] = 1;
  for (int j = 1; j < n; ++j) {
    long double sum = std::expm1(static_cast<long double>(square) * j) * m[static_cast<std::size_t>(j)];
    long double choose = 1;
    long double power = std::exp(static_cast<long double>(square) * (j - 1)) * step;
    for (int i = j - 1; i >= 0; --i) {
      choose = choose * (i + 1) / (j - i);
      sum += choose * power * m[static_cast<std::size_t>(i)];
      power *= step / (step + 1);
    }
    m[static_cast<std::size_t>(j) + 1] = sum;
  }
  return m;
}

// A uniform subset of fixed size, replace-one. P = (1−γ) R + γ P₁, Q = (1−γ) R + γ Q₁, and all of R, P₁, Q₁ are pairwise
// neighbours. A = Σ C(n,j) γ^j E_Q[((P₁−Q₁)/Q)^j], of which the first-order term is 0, and by convexity E_Q|…|^j is at
// most E_r|(p−q)/r|^j for some neighbours p, q, r. Of that
//   • |p−q|^j ≤ p^j + q^j gives 2 B_j, and (e^ε−1)^j B_j if ε-DP (|p−q| ≤ (e^ε−1) q);
//   • by cases of the order of p, q, r it is at most 4 max E|p/q−1|^j (where p ≥ r ≥ q, r^{1−j} ≤ q^{1−j}; where
//     p ≥ q ≥ r, p−q ≤ p−r; and so on), and E|p/q−1|^j ≤ B_j − 1, see above;
//   • for Gaussians E|p/q−1|^j is known for even j, and for odd j at most the geometric mean of its neighbours.
// This is Wang, Balle, Kasiviswanathan 2019, Theorems 9 and 27. Besides, A ≤ 1 − γ + γ B_α, also if there is a δ (→ γδ).
Result<RenyiBound> fixed_size_sampled(const FixedSizeSampledEvent& event, Adjacency adjacency, double order,
                                      int depth) {
  if (adjacency != Adjacency::kReplaceOne) {
    return invalid_argument(fmt::format(
        "a sample of fixed size ({} of {}) has no Rényi bound under add-remove: a neighbour of another size "
        "has no sample of the same rate. State it under replace-one, or use Poisson sampling",
        event.sample_size.value(), event.population.value()));
  }
  const double fraction = fraction_of(event);
  if (fraction >= 1) return bound(event.event, adjacency, order, depth);
  NF_TRY(const RenyiBound inner, bound(event.event, adjacency, order, depth + (depth > 0 ? 1 : 0)));
  const double delta = inner.delta == 0 ? 0 : std::min(inner.delta, up(fraction * inner.delta));
  const double d = inner.divergence;
  if (d == 0 || d == kInfinity) return RenyiBound{d, delta};
  const double a = order - 1;
  double best = std::min(d, up(up(log_mixed_exp(fraction, a * d) / a)));
  if (inner.delta > 0) return RenyiBound{best, delta};
  const double pure = pure_epsilon(event.event, adjacency);
  if (pure < kInfinity) best = std::min(best, pure_divergence(1, up(up(log_mixed_exp(fraction, pure))), order));
  const double top = std::ceil(order);
  if (top <= largest_summed_order(depth)) {
    NF_TRY(const std::vector<double> at, whole_orders(event.event, adjacency, static_cast<int>(top), depth));
    std::vector<double> terms(at.size(), 0.0);
    const std::optional<double> precision = gaussian_precision(event.event);
    std::vector<long double> moments;
    if (precision.has_value() && *precision < 4 && *precision > 1e-30 && top <= 64) {
      moments = centred_moments(*precision, static_cast<int>(top) + 2);
    }
    for (std::size_t j = 2; j < at.size(); ++j) {
      const auto number = static_cast<double>(j);
      const double log_b = (number - 1) * at[j];
      double more = std::numbers::ln2;
      if (pure < 700) more = std::min(more, number * log_expm1(pure));
      terms[j] = std::min(std::log(4.0) + log_expm1(log_b), more + log_b);
      if (!moments.empty()) {
        const long double low = moments[j / 2 * 2];
        const long double high = moments[(j + 1) / 2 * 2];
        terms[j] = std::min(terms[j], static_cast<double>(std::log(4.0L) + (std::log(low) + std::log(high)) / 2));
      }
    }
    best = std::min(best, interpolated(order, [&](double n) {
                      return log_binomial_moment(fraction, 0.0, static_cast<int>(n), terms);
                    }));
  }
  return RenyiBound{best, delta};
}

// The best of K runs. The inner curve is asked for at hundreds of orders, so that selections are not nested. A run that
// fails (its δ) fails for the whole: E[K] δ at most.
template <class Event>
Result<RenyiBound> repeat_and_select(const Event& event, Adjacency adjacency, double order, int depth) {
  if (contains<RepeatAndSelectEvent, PoissonRepeatAndSelectEvent>(event.event)) {
    return invalid_argument(
        "repeat-and-select within repeat-and-select is not accounted for: choose once among all runs");
  }
  NF_TRY(const RenyiBound here, bound(event.event, adjacency, order, depth));
  if (here.divergence == 0 && here.delta == 0) return here;
  const RenyiCurve inner = [&](double at) {
    const Result<RenyiBound> one = bound(event.event, adjacency, at, depth);
    return one.has_value() ? one.value().divergence : kInfinity;
  };
  double divergence = kInfinity;
  double runs = 0;
  if constexpr (std::is_same_v<Event, RepeatAndSelectEvent>) {
    NF_TRY(const TruncatedNegativeBinomial law,
           TruncatedNegativeBinomial::create(event.eta.value(), event.gamma.value()));
    runs = static_cast<double>(std::exp(law.log_mean())) * (1 + 1e-12);
    if (order < kInfinity) {
      NF_TRY(divergence, repeat_and_select_rdp(inner, law, order));
    }
    divergence = std::min(divergence, pure_epsilon(event, adjacency));
  } else {
    runs = event.mean.value();
    if (order < kInfinity) {
      NF_TRY(divergence, repeat_and_select_rdp_poisson(inner, event.mean.value(), order));
    }
  }
  return RenyiBound{divergence, std::min(1.0, times_up(runs, here.delta))};
}

Result<RenyiBound> bound(const DpEvent& event, Adjacency adjacency, double order, int depth) {
  const auto pure = [](double divergence) { return RenyiBound{divergence, 0}; };
  return std::visit(
      [&](const auto& kind) -> Result<RenyiBound> {
        using Kind = std::decay_t<decltype(kind)>;
        if constexpr (std::is_same_v<Kind, GaussianEvent> || std::is_same_v<Kind, TreeAggregationEvent>) {
          return pure(up(order / 2 * *gaussian_precision(event)));
        } else if constexpr (std::is_same_v<Kind, LaplaceEvent>) {
          return pure(laplace_divergence(divided_up(1, kind.noise_multiplier.value()), order));
        } else if constexpr (std::is_same_v<Kind, DiscreteLaplaceEvent>) {
          const double epsilon = divided_up(kind.l1_sensitivity.value(), kind.scale.value());
          return pure(discrete_laplace_divergence(1 / kind.scale.value(), epsilon, order));
        } else if constexpr (std::is_same_v<Kind, DiscreteGaussianEvent>) {
          return pure(discrete_gaussian_divergence(kind, order));
        } else if constexpr (std::is_same_v<Kind, SkellamEvent>) {
          return pure(skellam_divergence(kind, order));
        } else if constexpr (std::is_same_v<Kind, RandomizedResponseEvent>) {
          return pure(randomized_response_divergence(kind.epsilon.value(), kind.categories.value(), order));
        } else if constexpr (std::is_same_v<Kind, ExponentialEvent>) {
          return pure(bounded_range_divergence(kind.epsilon.value(), order));
        } else if constexpr (std::is_same_v<Kind, PermuteAndFlipEvent>) {
          return pure(pure_divergence(1, kind.epsilon.value(), order));
        } else if constexpr (std::is_same_v<Kind, EpsilonDeltaEvent>) {
          return RenyiBound{pure_divergence(1, kind.epsilon.value(), order), kind.delta.value()};
        } else if constexpr (std::is_same_v<Kind, ZcdpEvent>) {
          return RenyiBound{times_up(order, kind.rho.value()), kind.delta.value()};
        } else if constexpr (std::is_same_v<Kind, ZeroCostEvent>) {
          return pure(0);
        } else if constexpr (std::is_same_v<Kind, NonPrivateEvent>) {
          return pure(kInfinity);
        } else if constexpr (std::is_same_v<Kind, PoissonSampledEvent>) {
          return poisson_sampled(kind, adjacency, order, depth);
        } else if constexpr (std::is_same_v<Kind, FixedSizeSampledEvent>) {
          return fixed_size_sampled(kind, adjacency, order, depth);
        } else if constexpr (std::is_same_v<Kind, ShuffledEvent>) {
          // Shuffling is post-processing, and one unit has one report.
          return bound(kind.event, adjacency, order, depth);
        } else if constexpr (std::is_same_v<Kind, RepeatAndSelectEvent> ||
                             std::is_same_v<Kind, PoissonRepeatAndSelectEvent>) {
          return repeat_and_select(kind, adjacency, order, depth);
        } else if constexpr (std::is_same_v<Kind, SelfComposedEvent>) {
          NF_TRY(const RenyiBound one, bound(kind.event, adjacency, order, depth));
          const double count = to_double_up(kind.count.value());
          return RenyiBound{one.divergence == 0 ? 0 : times_up(count, one.divergence),
                            repeated_delta(one.delta, count)};
        } else {
          static_assert(std::is_same_v<Kind, ComposedEvent>, "an event kind without a Rényi bound");
          RenyiBound sum{0, 0};
          for (const DpEvent& part : kind.events) {
            NF_TRY(const RenyiBound one, bound(part, adjacency, order, depth));
            if (one.divergence > 0) {
              sum.divergence = sum.divergence > 0 ? next_up(sum.divergence + one.divergence) : one.divergence;
            }
            if (one.delta > 0) {
              const double both = up(sum.delta + one.delta - sum.delta * one.delta);
              sum.delta = sum.delta > 0 ? std::min(1.0, both) : one.delta;
            }
          }
          return sum;
        }
      },
      event.kind());
}

// --- Conversions -----------------------------------------------------------------------------------------------------

// Total variation is δ at ε = 0, and δ falls with ε. Bretagnolle-Huber and Pinsker take the Kullback-Leibler divergence,
// which is at most D_α; TV ≤ √(e^{D₂} − 1)/2.
double total_variation_bound(double order, double divergence) {
  double bound = std::min(std::sqrt(-std::expm1(-divergence)), std::sqrt(divergence / 2));
  if (order >= 2) bound = std::min(bound, std::sqrt(std::expm1(std::min(divergence, 2.0))) / 2);
  return std::min(1.0, up(bound));
}

// ln(1 − 1/α).
double log_order_gap(double order) {
  return order < 2 ? std::log(order - 1) - std::log(order) : std::log1p(-1 / order);
}

double log_delta_from_renyi(double order, double divergence, double epsilon) {
  if (!(order > 1) || !(divergence >= 0) || !(epsilon >= 0)) return 0;
  if (divergence == 0) return -kInfinity;
  if (divergence == kInfinity) return 0;
  const double log_variation = std::min(0.0, std::log(total_variation_bound(order, divergence)) + 0x1p-48);
  if (order == kInfinity) return divergence <= epsilon ? -kInfinity : log_variation;
  const double a = order - 1;
  const double steep = a * (divergence - epsilon);
  const double gap = a * log_order_gap(order);
  const double last = std::log(order);
  const double size = std::fabs(steep) + std::fabs(gap) + last;
  return std::min(log_variation, steep + gap - last + size * 0x1p-49 + 0x1p-48);
}

struct Best {
  double value;
  double order;
};

// The least value of f over the orders. f may be rugged: a grid over ln(α−1), then a golden-section search around its
// best point, then the whole orders beside that (bounds which are interpolated have their kinks there). Whatever is
// found is a valid bound, the search only makes it small.
template <class F>
Result<Best> minimise(F f) {
  Best best{kInfinity, kInfinity};
  double at = 0;
  const auto try_order = [&](double order) -> Result<double> {
    NF_TRY(const double value, f(order));
    if (value < best.value) best = {value, order};
    return value;
  };
  const auto order_at = [](double x) { return 1 + std::exp(x); };
  constexpr double kStep = 1.2;
  for (double x = -36; x < 35; x += kStep) {
    const double before = best.value;
    NF_TRY_VOID(try_order(order_at(x)));
    if (best.value < before) at = x;
  }
  if (best.value == kInfinity) return best;
  double low = at - kStep;
  double high = at + kStep;
  constexpr double kGolden = 0.6180339887498949;
  double left = high - kGolden * (high - low);
  double right = low + kGolden * (high - low);
  NF_TRY(double at_left, try_order(order_at(left)));
  NF_TRY(double at_right, try_order(order_at(right)));
  while (high - low > 2e-5) {
    if (at_left <= at_right) {
      high = right;
      right = left;
      at_right = at_left;
      left = high - kGolden * (high - low);
      NF_TRY(at_left, try_order(order_at(left)));
    } else {
      low = left;
      left = right;
      at_left = at_right;
      right = low + kGolden * (high - low);
      NF_TRY(at_right, try_order(order_at(right)));
    }
  }
  if (best.order < 1e6) {
    const double below = std::floor(best.order);
    if (below >= 2) NF_TRY_VOID(try_order(below));
    NF_TRY_VOID(try_order(below + 1));
  }
  return best;
}

Result<void> check_order(double order) {
  if (order > 1) return success();
  return invalid_argument(fmt::format("a Rényi order must be above 1; got {}", order));
}

// The δ that is left for the conversion: spent + (1 − spent) δ' ≤ delta.
double remaining_delta(double delta, double spent) {
  if (spent == 0) return delta;
  return (delta - spent) / (1 - spent) * (1 - 0x1p-50);
}

}  // namespace

Result<RenyiBound> renyi_bound(const DpEvent& event, Adjacency adjacency, double order) {
  NF_TRY_VOID(check_order(order));
  if (order < kInfinity) return bound(event, adjacency, order, 0);
  NF_TRY(const RenyiBound at_two, bound(event, adjacency, 2, 0));
  return RenyiBound{pure_epsilon(event, adjacency), at_two.delta};
}

double epsilon_from_renyi(double order, double divergence, double delta) {
  if (!(order > 1) || !(divergence >= 0) || !(delta >= 0)) return kInfinity;
  if (divergence == 0 || delta >= 1) return 0;
  if (divergence == kInfinity) return kInfinity;
  if (total_variation_bound(order, divergence) <= delta) return 0;
  if (order == kInfinity) return divergence;
  if (delta == 0) return kInfinity;
  const double a = order - 1;
  const double gap = log_order_gap(order);
  const double log_delta = std::log(delta);
  const double log_order = std::log(order);
  const double epsilon = divergence + gap - (log_delta + log_order) / a;
  const double size = divergence + std::fabs(gap) + (std::fabs(log_delta) + log_order) / a;
  return std::max(0.0, epsilon + size * 0x1p-50);
}

double delta_from_renyi(double order, double divergence, double epsilon) {
  const double log_delta = log_delta_from_renyi(order, divergence, epsilon);
  return log_delta == -kInfinity ? 0 : std::min(1.0, up(std::exp(log_delta)));
}

namespace {

// What both forms of renyi_epsilon do before they search: the answer, or the δ that is left to search with.
struct Start {
  std::optional<RenyiEpsilon> answer;
  double delta;
};

Result<Start> start(const DpEvent& event, Adjacency adjacency, Delta delta) {
  NF_TRY(const RenyiBound at_two, bound(event, adjacency, 2, 0));
  if (contains<NonPrivateEvent>(event)) return Start{RenyiEpsilon{kInfinity, kInfinity}, 0};
  if (delta.value() > at_two.delta) return Start{std::nullopt, remaining_delta(delta.value(), at_two.delta)};
  const double pure = pure_epsilon(event, adjacency);
  if (delta.value() == at_two.delta && pure < kInfinity) return Start{RenyiEpsilon{pure, kInfinity}, 0};
  return invalid_argument(fmt::format("delta {} is not above the {} that these events spend; ask for a larger delta",
                                      delta.value(), at_two.delta));
}

}  // namespace

Result<RenyiEpsilon> renyi_epsilon(const DpEvent& event, Adjacency adjacency, Delta delta) {
  NF_TRY(const Start begin, start(event, adjacency, delta));
  if (begin.answer.has_value()) return *begin.answer;
  NF_TRY(const Best best, minimise([&](double order) -> Result<double> {
           NF_TRY(const RenyiBound at, bound(event, adjacency, order, 0));
           return epsilon_from_renyi(order, at.divergence, begin.delta);
         }));
  const double pure = epsilon_from_renyi(kInfinity, pure_epsilon(event, adjacency), begin.delta);
  if (pure <= best.value) return RenyiEpsilon{pure, kInfinity};
  return RenyiEpsilon{best.value, best.order};
}

Result<RenyiEpsilon> renyi_epsilon(const DpEvent& event, Adjacency adjacency, Delta delta,
                                   std::span<const double> orders) {
  if (orders.empty()) return invalid_argument("Rényi accounting needs at least one order; got none");
  for (const double order : orders) NF_TRY_VOID(check_order(order));
  NF_TRY(const Start begin, start(event, adjacency, delta));
  if (begin.answer.has_value()) return *begin.answer;
  RenyiEpsilon best{kInfinity, orders.front()};
  for (const double order : orders) {
    NF_TRY(const RenyiBound at, renyi_bound(event, adjacency, order));
    const double epsilon = epsilon_from_renyi(order, at.divergence, begin.delta);
    if (epsilon < best.epsilon) best = {epsilon, order};
  }
  return best;
}

Result<double> renyi_delta(const DpEvent& event, Adjacency adjacency, double epsilon) {
  if (!(epsilon >= 0 && epsilon < kInfinity)) {
    return invalid_argument(fmt::format("epsilon must be a finite number, 0 or above; got {}", epsilon));
  }
  NF_TRY(const RenyiBound at_two, bound(event, adjacency, 2, 0));
  NF_TRY(const Best best, minimise([&](double order) -> Result<double> {
           NF_TRY(const RenyiBound at, bound(event, adjacency, order, 0));
           return log_delta_from_renyi(order, at.divergence, epsilon);
         }));
  const double pure = log_delta_from_renyi(kInfinity, pure_epsilon(event, adjacency), epsilon);
  const double log_delta = std::min(best.value, pure);
  const double delta = log_delta == -kInfinity ? 0 : std::min(1.0, up(std::exp(log_delta)));
  if (at_two.delta == 0) return delta;
  if (delta == 0) return at_two.delta;
  return std::min(1.0, up(at_two.delta + delta * (1 - at_two.delta)));
}

std::span<const double> default_orders() {
  static const auto orders = [] {
    std::array<double, 99 + 53 + 4> list{};
    std::size_t n = 0;
    for (int i = 1; i < 100; ++i) list[n++] = 1 + i / 10.0;
    for (int i = 11; i < 64; ++i) list[n++] = i;
    for (const int i : {128, 256, 512, 1024}) list[n++] = i;
    return list;
  }();
  return orders;
}

}  // namespace noisefloor
