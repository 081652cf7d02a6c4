#include "noisefloor/query/error_law.h"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <map>
#include <numbers>

namespace noisefloor::query {
namespace {

// Laplace parts with less than this share of the variance are taken as Gaussian: they hardly shape the sum.
constexpr double kSmallShare = 0.01;
// The characteristic function is cut off where it falls below this.
constexpr double kSmallest = 1e-8;

// φ(t) of a law with variance 1.
double characteristic(const ErrorLaw& law, double t) {
  double log_sum = law.gaussian_variance * t * t / 2;
  for (const auto& [scale, count] : law.laplace) log_sum += count * std::log1p(scale * scale * t * t);
  return std::exp(-log_sum);
}

// The law in units of its standard deviation, small parts merged.
ErrorLaw normalised(const ErrorLaw& law, double deviation) {
  ErrorLaw simple;
  simple.gaussian_variance = law.gaussian_variance / (deviation * deviation);
  for (const auto& [scale, count] : law.laplace) {
    const double one = scale / deviation;
    const double share = 2 * one * one * count;
    if (share < kSmallShare) {
      simple.gaussian_variance += share;
    } else {
      simple.laplace.emplace_back(one, count);
    }
  }
  return simple;
}

// Integrates φ(t) sin(tx)/t on a grid so fine that masses beyond 45 standard deviations would alias.
class Inversion {
 public:
  explicit Inversion(const ErrorLaw& law) {
    constexpr double step = 2 * std::numbers::pi / 90;
    for (double t = step;; t += step) {
      const double value = characteristic(law, t);
      if (value < kSmallest * (1 + t) || terms_.size() > 2'000'000) break;
      terms_.push_back({t, value * step / t});
    }
    step_ = step;
  }
  [[nodiscard]] double within(double x) const {
    double sum = step_ * x / 2;
    for (const auto& [t, weight] : terms_) sum += weight * std::sin(t * x);
    return std::clamp(2 / std::numbers::pi * sum, 0.0, 1.0);
  }

 private:
  std::vector<std::pair<double, double>> terms_;
  double step_ = 0;
};

bool is_one_laplace(const ErrorLaw& law) {
  return law.gaussian_variance == 0 && law.laplace.size() == 1 && law.laplace[0].second == 1;
}

double quantile_without_rounding(const ErrorLaw& law, double confidence) {
  const double deviation = std::sqrt(variance_of(law));
  if (deviation == 0) return 0;
  const ErrorLaw simple = normalised(law, deviation);
  if (simple.laplace.empty()) return deviation * std::numbers::sqrt2 * boost::math::erf_inv(confidence);
  if (is_one_laplace(simple)) return -deviation * simple.laplace[0].first * std::log1p(-confidence);
  const Inversion inversion(simple);
  double low = 0;
  double high = 1;
  while (inversion.within(high) < confidence && high < 40) high *= 1.5;
  for (int i = 0; i < 30 && high - low > 1e-7 * high; ++i) {
    const double middle = (low + high) / 2;
    (inversion.within(middle) < confidence ? low : high) = middle;
  }
  return deviation * high;
}

}  // namespace

double variance_of(const ErrorLaw& law) {
  double sum = law.gaussian_variance;
  for (const auto& [scale, count] : law.laplace) sum += 2 * scale * scale * count;
  return sum;
}

ErrorLaw sum_of(const ErrorLaw& a, const ErrorLaw& b) {
  std::map<double, double> parts;
  for (const ErrorLaw* law : {&a, &b}) {
    for (const auto& [scale, count] : law->laplace) parts[scale] += count;
  }
  return {a.gaussian_variance + b.gaussian_variance, {parts.begin(), parts.end()}, a.rounding + b.rounding};
}

ErrorLaw repeated(const ErrorLaw& law, double count) {
  ErrorLaw many = law;
  many.gaussian_variance *= count;
  many.rounding *= count;
  for (auto& part : many.laplace) part.second *= count;
  return many;
}

ErrorLaw scaled(const ErrorLaw& law, double factor) {
  ErrorLaw other = law;
  other.gaussian_variance *= factor * factor;
  other.rounding *= std::fabs(factor);
  for (auto& part : other.laplace) part.first *= std::fabs(factor);
  return other;
}

double half_width(const ErrorLaw& law, Confidence confidence) {
  return quantile_without_rounding(law, confidence.value()) + law.rounding;
}

double probability_within(const ErrorLaw& law, double x) {
  const double deviation = std::sqrt(variance_of(law));
  if (deviation == 0) return x >= 0 ? 1 : 0;
  const ErrorLaw simple = normalised(law, deviation);
  if (simple.laplace.empty()) return std::erf(x / deviation / std::numbers::sqrt2);
  if (is_one_laplace(simple)) return -std::expm1(-x / deviation / simple.laplace[0].first);
  return Inversion(simple).within(x / deviation);
}

}  // namespace noisefloor::query
