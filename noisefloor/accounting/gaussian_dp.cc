#include "noisefloor/accounting/gaussian_dp.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <limits>
#include <optional>

#include "noisefloor/base/rounding.h"

namespace noisefloor {
namespace {

long double normal_cdf(long double x) {
  if (x < -150) return 0;  // Boost reports the underflow as an error
  return boost::math::erfc(-x / std::sqrt(2.0L)) / 2;
}

// ε by bisection on δ(ε) in long double, whose bounds decide all but a short interval; nothing where that is not short
// enough. A thousand times faster than what is left to do otherwise.
std::optional<Interval> quick_epsilon(double mu, double delta) {
  if (!(mu > 1e-6 && mu < 1e6 && delta > 1e-290)) return std::nullopt;
  const Result<NoiseMultiplier> less = NoiseMultiplier::make(std::nextafter(1 / mu, 0));
  const Result<NoiseMultiplier> more = NoiseMultiplier::make(next_up(1 / mu));
  const auto enough = [&](double e) {
    return gaussian_delta(less.value(), PrivacyLoss::make(e).value()).upper <= delta;
  };
  const auto not_enough = [&](double e) {
    return gaussian_delta(more.value(), PrivacyLoss::make(e).value()).lower >= delta;
  };
  if (enough(0)) return Interval{0, 0};
  double low = 0;
  double high = mu * mu + 2 * mu * std::sqrt(-2 * std::log(delta));
  if (!enough(high)) return std::nullopt;
  while (high - low > 1e-13 * high) {
    const double middle = low + (high - low) / 2;
    if (enough(middle)) {
      high = middle;
    } else if (not_enough(middle)) {
      low = middle;
    } else {
      break;
    }
  }
  // Close in from both sides of what could not be decided.
  const double middle = low + (high - low) / 2;
  double width = 1e-13;
  while (width < 1e-9 && !enough(middle * (1 + width))) width *= 2;
  if (enough(middle * (1 + width))) high = std::min(high, middle * (1 + width));
  width = 1e-13;
  while (width < 1e-9 && !not_enough(middle * (1 - width))) width *= 2;
  if (not_enough(middle * (1 - width))) low = std::max(low, middle * (1 - width));
  if (high - low > 1e-10 * high) return std::nullopt;
  return Interval{low, high};
}

Result<GaussianDpEstimate> estimate(long double mu) {
  if (mu <= std::numeric_limits<double>::max()) return GaussianDpEstimate{static_cast<double>(mu)};
  return invalid_argument("the central-limit estimate is too large for a number; use more noise");
}

}  // namespace

Result<GaussianDp> GaussianDp::of_mu(double mu) {
  if (mu >= 0 && mu <= std::numeric_limits<double>::max()) return GaussianDp(mu);
  return invalid_argument(fmt::format("mu must be a finite number, 0 or above; got {}", mu));
}

Result<GaussianDp> GaussianDp::of_mechanism(NoiseMultiplier multiplier, Steps count) {
  // A count above 2^53 may have been rounded down.
  const auto times = static_cast<double>(count.value());
  const double k = count.value() <= (std::uint64_t{1} << 53) ? times : next_up(times);
  // One more step, as remainders of tiny quotients are not looked at.
  const double mu = divided_up(sqrt_up(k), multiplier.value());
  return of_mu(mu < 1e-280 ? next_up(mu) : mu);
}

Result<GaussianDp> GaussianDp::compose(std::span<const GaussianDp> parts) {
  double largest = 0;
  for (const GaussianDp& part : parts) largest = std::max(largest, part.mu_);
  if (largest == 0) return GaussianDp(0);
  // In units of a power of two near the largest μ nothing overflows, and what underflows is lifted.
  int exponent = 0;
  static_cast<void>(std::frexp(largest, &exponent));
  double sum = 0;
  for (const GaussianDp& part : parts) {
    if (part.mu_ == 0) continue;
    const double scaled = std::max(std::ldexp(part.mu_, -exponent), 0x1p-400);
    sum = add_up(sum, times_up(scaled, scaled));
  }
  const double mu = std::ldexp(sqrt_up(sum), exponent);
  return of_mu(mu < 1e-280 ? next_up(mu) : mu);
}

Interval GaussianDp::delta_at(PrivacyLoss epsilon) const {
  if (mu_ == 0) return {0, 0};
  const LogDeltaBounds bounds = gaussian_log_delta(mu_, epsilon);
  const long double lower = std::exp(bounds.lower) * (1 - 0x1p-60L);
  const long double upper = std::exp(bounds.upper) * (1 + 0x1p-60L);
  return {std::max(0.0, std::nextafter(static_cast<double>(lower), -1.0)),
          std::min(1.0, next_up(static_cast<double>(upper)))};
}

Result<Interval> GaussianDp::epsilon_at(Delta delta) const {
  if (mu_ == 0) return Interval{0, 0};
  if (delta.value() == 0)
    return invalid_argument("Gaussian noise needs a delta above 0; got 0. For pure DP use Laplace");
  const long double target = std::log(static_cast<long double>(delta.value()));
  const long double above = target + std::fabs(target) * 0x1p-61L;
  const long double below = target - std::fabs(target) * 0x1p-61L;
  // How far ln δ(ε) is above the target, by its middle; the decisions below use the proper side.
  struct Point {
    double epsilon;
    long double excess;
    bool enough;  // δ(ε) ≤ δ for certain
    bool short_;  // δ(ε) ≥ δ for certain
  };
  const auto evaluate = [&](double epsilon) {
    const LogDeltaBounds bounds = gaussian_log_delta(mu_, PrivacyLoss::make(epsilon).value());
    return Point{epsilon, std::max(bounds.lower, -1e30L) - target, bounds.upper <= below, bounds.lower >= above};
  };
  if (const std::optional<Interval> found = quick_epsilon(mu_, delta.value())) return *found;
  Point low = evaluate(0);
  if (low.enough) return Interval{0, 0};
  // μ-GDP is μ²/2-zCDP, hence this ε is enough (Bun and Steinke 2016); doubled for rounding.
  const long double mu = mu_;
  const long double zcdp = 2 * (mu * mu / 2 + mu * std::sqrt(-2 * target));
  if (!(zcdp < std::numeric_limits<double>::max())) {
    return invalid_argument(fmt::format("the epsilon of mu {} is too large for a number; use more noise", mu_));
  }
  Point high = evaluate(std::max(static_cast<double>(zcdp), std::numeric_limits<double>::min()));
  if (!high.enough) return Interval{0, next_up(high.epsilon)};
  // Regula falsi on ln δ, which is smooth and nearly parabolic; every third step bisects.
  for (int step = 0; step < 400 && high.epsilon - low.epsilon > high.epsilon * 1e-13; ++step) {
    const long double share = low.excess / (low.excess - high.excess);
    double next = low.epsilon + (high.epsilon - low.epsilon) / 2;
    if (step % 3 != 2 && share > 0 && share < 1) {
      next = low.epsilon + static_cast<double>((high.epsilon - low.epsilon) * share);
      // A step to one side of the root, so that both ends move.
      const double side = 1e-14 * high.epsilon;
      next += step % 3 == 0 ? side : -side;
    }
    if (next <= low.epsilon || next >= high.epsilon) next = low.epsilon + (high.epsilon - low.epsilon) / 2;
    const Point point = evaluate(next);
    if (point.enough) {
      high = point;
    } else if (point.short_) {
      low = point;
    } else {
      // Within rounding of the root: certify both neighbours that are clear of it, as near as they come.
      constexpr int tries = 25;  // from 1e-15 to 1, by factors of 4
      for (int k = 0; k < tries; ++k) {
        const Point right = evaluate(std::min(high.epsilon, next * (1 + 1e-15 * std::exp2(2 * k))));
        if (right.enough) {
          high = right;
          break;
        }
      }
      for (int k = 0; k < tries; ++k) {
        const Point left = evaluate(std::max(low.epsilon, next * (1 - 1e-15 * std::exp2(2 * k))));
        if (left.short_) {
          low = left;
          break;
        }
      }
      break;
    }
  }
  return Interval{low.short_ ? low.epsilon : 0, high.epsilon};
}

Result<double> GaussianDp::type_two_error(double alpha) const {
  if (!(alpha >= 0 && alpha <= 1)) {
    return invalid_argument(fmt::format("the type I error must be between 0 and 1; got {}", alpha));
  }
  if (alpha == 0) return 1.0;
  if (alpha == 1) return 0.0;
  // Φ⁻¹(1 − α) = √2 erfc⁻¹(2α).
  const long double quantile = std::sqrt(2.0L) * boost::math::erfc_inv(2 * static_cast<long double>(alpha));
  return static_cast<double>(normal_cdf(quantile - mu_));
}

Result<GaussianDpEstimate> central_limit_estimate_poisson(SamplingRate rate, NoiseMultiplier multiplier, Steps steps) {
  const long double inverse = 1 / static_cast<long double>(multiplier.value());
  return estimate(rate.value() * std::sqrt(static_cast<long double>(steps.value()) * std::expm1(inverse * inverse)));
}

Result<GaussianDpEstimate> central_limit_estimate_uniform(SamplingRate rate, NoiseMultiplier multiplier, Steps steps) {
  const long double inverse = 1 / static_cast<long double>(multiplier.value());
  // For small 1/σ the three terms cancel to 1/2σ², with 1/σ³ next.
  const long double moment =
      inverse < 1e-6L ? inverse * inverse / 2
                      : std::exp(inverse * inverse) * normal_cdf(1.5L * inverse) + 3 * normal_cdf(-0.5L * inverse) - 2;
  return estimate(rate.value() * std::sqrt(2 * static_cast<long double>(steps.value()) * moment));
}

}  // namespace noisefloor
