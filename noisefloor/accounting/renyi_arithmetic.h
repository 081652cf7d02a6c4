// Arithmetic that Rényi bounds share: rounding up by explicit margins, and differences that do not cancel.
//
// Notation: α is the order, a = α − 1, and A = E_Q[(P/Q)^α] = e^{aD}. Where D may be tiny, A − 1 is computed as the
// expectation of
//   g(r) = r^α − 1 − α(r − 1) = r (e^{aL} − 1 − aL) + a (rL − r + 1)     with r = P/Q, L = ln r.
// E[r] = 1, so that this is the same number; and both terms are at least 0, so that nothing cancels.
//
// Not promised:  a public interface; rdp.h is.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "noisefloor/base/rounding.h"

namespace noisefloor::internal {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kPi = std::numbers::pi;

// Covers a relative error of 2^-48 and underflow, for values that are known to be above 0.
[[nodiscard]] inline double up(double value) { return next_up(value * (1 + 0x1p-48)); }

[[nodiscard]] inline double to_double_up(std::uint64_t value) {
  const auto number = static_cast<double>(value);
  return number < 0x1p53 ? number : next_up(number);
}

// e^y − 1 − y.
[[nodiscard]] inline double exp_excess(double y) {
  if (std::fabs(y) > 0.3) return std::expm1(y) - y;
  double sum = 0;
  for (int k = 15; k >= 3; --k) sum = (sum + 1) * y / k;
  return (sum + 1) * y * y / 2;
}

// (1 + u) ln(1 + u) − u, for |u| ≤ 1/4: with z = u/(2+u), ln(1 + u) = 2 artanh z.
[[nodiscard]] inline double entropy_excess_near_1(double u) {
  const double z = u / (2 + u);
  const double w = z * z;
  double sum = 0;
  for (int k = 21; k >= 3; k -= 2) sum = sum * w + 1.0 / k;
  return 2 * (w + (1 + z) * z * w * sum) / (1 - z);
}

// ln(1 + q (e^x − 1)) for q in (0, 1].
[[nodiscard]] inline double log_mixed_exp(double q, double x) {
  if (q >= 1) return x;
  const double u = q * std::expm1(x);
  if (u < 1) return std::log1p(u);
  return std::log(q) + x + std::log1p((1 - q) / q * std::exp(-x));
}

// ln(e^x − 1) for x > 0.
[[nodiscard]] inline double log_expm1(double x) { return x > 40 ? x : std::log(std::expm1(x)); }

// ln(1 + e^x).
[[nodiscard]] inline double softplus(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

// a D is convex in α and 0 at α = 1: between whole orders it lies below the chord.
template <class LogMoment>
[[nodiscard]] double interpolated(double order, LogMoment log_moment) {
  const double below = std::floor(order);
  if (below == order) return log_moment(order) / (order - 1);
  const double part = order - below;
  const double low = below > 1 ? log_moment(below) : 0;
  return up(((1 - part) * low + part * log_moment(below + 1)) / (order - 1));
}

}  // namespace noisefloor::internal
