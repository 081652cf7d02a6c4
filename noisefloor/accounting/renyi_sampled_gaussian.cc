#include "noisefloor/accounting/renyi_sampled_gaussian.h"

#include <algorithm>
#include <cmath>

#include "noisefloor/accounting/renyi_arithmetic.h"
#include "noisefloor/base/rounding.h"
#include "noisefloor/numerics/bisect.h"

namespace noisefloor::internal {
namespace {

// D_α((1−q) N(0,1) + q N(s,1) ‖ N(0,1)), the remove direction, which dominates. With r(x) = 1 − q + q e^{sx − s²/2},
// A = ∫ φ r^α is computed by the trapezoidal rule of step h on all of ℝ:
//   Discretisation: r has no zero for |Im x| < π/s, |r(x+iy)| ≤ r(x) and |φ(x+iy)| = φ(x) e^{y²/2}. So φ r^α is
//     analytic there, and the error is at most η A with η = 2 e^{d²/2} / (e^{2πd/h} − 1), for every d < π/s (Trefethen
//     and Weideman 2014, Theorem 5.1). What is summed is φ g; the sum of the rest, φ (1 + αu), is that of two
//     Gaussians, whose error is at most (1 + 2αq) η' with η' = 2 / (e^{2π²/h²} − 1).
//   Truncation: let ψ = −x²/2 + α ln r. ψ' = αs p(x) − x with a logistic p, so that ψ' is convex below x₀, where
//     p = 1/2, and concave above. If αs² ≤ 4, ψ' falls everywhere. Else it falls, rises, and falls again from x_h on;
//     so ψ has at most two peaks, the right one (`far`) at x_h or above. g ≤ r^α, and g ≤ a left of s/2. Terms below
//     e^cut of the scale are left out and their sum is bounded by these facts.
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
    if (high <= low) return high;
    return bisect({.holds = low, .fails = high}, {.halvings = 60, .absolute = 1e-3},
                  [&](double x) { return slope(x) > 0; })
        .fails;
  }

  double q_;
  double s_;
  double order_;
  double a_;
  double logit_;
};

}  // namespace

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

}  // namespace noisefloor::internal
