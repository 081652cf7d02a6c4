#include "noisefloor/accounting/repeat_and_select.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "noisefloor/base/rounding.h"

namespace noisefloor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A few roundings of long double and of the caller's doubles, which are taken as exact.
double rounded_up(long double value) {
  if (!(value < std::numeric_limits<double>::max())) return kInfinity;
  return next_up(static_cast<double>(std::max(0.0L, value) * (1 + 0x1p-56L)));
}

Result<void> check_order(double order) {
  if (order > 1 && std::isfinite(order)) return success();
  return invalid_argument(fmt::format("a Renyi order must be finite and above 1; got {}", order));
}

Result<void> check_mean(double mean) {
  if (mean > 0 && std::isfinite(mean)) return success();
  return invalid_argument(fmt::format("the mean number of runs must be a finite number above 0; got {}", mean));
}

// The least value of a bound over [low, high] of an order minus 1: every value is a bound, so the search need not be
// perfect. A geometric grid, then golden section around its best point.
double least(const std::function<double(double)>& bound, double low, double high) {
  constexpr int kPoints = 80;
  const double ratio = std::pow(high / low, 1.0 / kPoints);
  double best = kInfinity;
  double at = low;
  for (int i = 0; i <= kPoints; ++i) {
    const double x = i == 0 ? low : low * std::pow(ratio, i);
    const double value = bound(x);
    if (value < best) {
      best = value;
      at = x;
    }
  }
  double left = std::log(std::max(low, at / ratio));
  double right = std::log(at * ratio);
  constexpr double kGolden = 0.6180339887498949;
  for (int i = 0; i < 30; ++i) {
    const double first = right - kGolden * (right - left);
    const double second = left + kGolden * (right - left);
    const double at_first = bound(std::max(low, std::exp(first)));
    const double at_second = bound(std::max(low, std::exp(second)));
    best = std::min({best, at_first, at_second});
    (at_first < at_second ? right : left) = at_first < at_second ? second : first;
  }
  return best;
}

// A curve that remembers whether it was ever asked in vain: NaN or a negative value is no bound.
class CheckedCurve {
 public:
  explicit CheckedCurve(const std::function<double(double)>& curve) : curve_(curve) {}

  double operator()(double x) {
    const double value = curve_(x);
    if (value >= 0) return value;
    failed_at_ = x;
    failed_ = true;
    return kInfinity;
  }

  [[nodiscard]] Result<double> unless_failed(double value) const {
    if (!failed_) return value;
    return invalid_argument(
        fmt::format("the privacy curve of the base mechanism gave a negative number or NaN at {}", failed_at_));
  }

 private:
  const std::function<double(double)>& curve_;
  double failed_at_ = 0;
  bool failed_ = false;
};

constexpr double kLeastExcess = 1e-6;
constexpr double kLargestExcess = 1e7;

// The orders at and above the one asked for, as excess over 1.
double largest_excess(double excess) { return std::max(kLargestExcess, excess * 2); }

}  // namespace

Result<TruncatedNegativeBinomial> TruncatedNegativeBinomial::create(double eta, double gamma) {
  if (!(eta > -1) || !std::isfinite(eta)) {
    return invalid_argument(fmt::format("eta must be a finite number above -1; got {}", eta));
  }
  if (!(gamma > 0 && gamma < 1)) return invalid_argument(fmt::format("gamma must be between 0 and 1; got {}", gamma));
  return TruncatedNegativeBinomial(eta, gamma);
}

long double TruncatedNegativeBinomial::log_mean() const {
  const long double log_gamma = std::log(static_cast<long double>(gamma_));
  // E[K] = (1/γ − 1) η/(1 − γ^η), and η/(1 − γ^η) tends to 1/ln(1/γ). Where γ^η would overflow, ln of it is taken.
  const long double exponent = eta_ * log_gamma;
  long double factor = -std::log(-log_gamma);
  if (exponent > 1000) {
    factor = std::log(static_cast<long double>(-eta_)) - exponent;
  } else if (exponent != 0) {
    factor = std::log(eta_ / -std::expm1(exponent));
  }
  return factor + std::log1p(-static_cast<long double>(gamma_)) - log_gamma;
}

Result<double> repeat_and_select_rdp(const RenyiCurve& base, const TruncatedNegativeBinomial& runs, double order) {
  NF_TRY_VOID(check_order(order));
  CheckedCurve curve(base);
  const long double log_inverse = -std::log(static_cast<long double>(runs.gamma()));
  const long double log_mean = std::max(0.0L, runs.log_mean());
  // The price of selection per 1 + η, over λ̂ = 1 + x; at λ̂ = 1 it is ln(1/γ).
  const double selection =
      std::min(rounded_up(log_inverse),
               least(
                   [&](double x) {
                     const double free = 1 + x;
                     const long double l = free;
                     const double value = curve(free);
                     return value == kInfinity ? kInfinity : rounded_up((1 - 1 / l) * value + log_inverse / l);
                   },
                   kLeastExcess, kLargestExcess));
  const long double price = (1 + static_cast<long double>(runs.eta())) * selection;
  const auto at = [&](double l) {
    const double value = curve(l);
    return value == kInfinity ? kInfinity : rounded_up(value + price + log_mean / (static_cast<long double>(l) - 1));
  };
  const double excess = order - 1;
  const double bound =
      std::min(at(order), least([&](double x) { return at(std::max(order, 1 + x)); }, excess, largest_excess(excess)));
  return curve.unless_failed(bound);
}

Result<double> repeat_and_select_rdp_poisson(const RenyiCurve& base, const DeltaProfile& profile, double mean,
                                             double order) {
  NF_TRY_VOID(check_order(order));
  NF_TRY_VOID(check_mean(mean));
  CheckedCurve curve(base);
  CheckedCurve deltas(profile);
  const long double mu = mean;
  const auto at = [&](double l) {
    const long double excess = static_cast<long double>(l) - 1;
    const double value = curve(l);
    // ε̂ rounded down, as e^ε̂ may not exceed 1 + 1/(λ − 1).
    const double free =
        std::max(0.0, std::nextafter(static_cast<double>(std::log1p(1 / excess) * (1 - 0x1p-56L)), -1.0));
    const double delta = std::min(1.0, deltas(free));
    if (value == kInfinity) return kInfinity;
    // ln(e^-μ + μ e^x) without overflow.
    const long double one = -mu;
    const long double other = std::log(mu) + excess * (value + mu * delta);
    const long double high = std::max(one, other);
    const long double sum = high + std::log1p(std::exp(std::min(one, other) - high));
    // Rounding of the two terms is of their size, and may be that of more than the sum where they cancel.
    const long double error = 0x1p-58L * (std::fabs(one) + std::fabs(other) + 1);
    return rounded_up(std::max(0.0L, sum + error) / excess);
  };
  const double excess = order - 1;
  const double bound =
      std::min(at(order), least([&](double x) { return at(std::max(order, 1 + x)); }, excess, largest_excess(excess)));
  NF_TRY_VOID(deltas.unless_failed(0));
  return curve.unless_failed(bound);
}

Result<double> repeat_and_select_rdp_poisson(const RenyiCurve& base, double mean, double order) {
  CheckedCurve curve(base);
  // The profile is asked at many ε: the curve is tabulated once, with what does not depend on ε.
  struct Point {
    long double excess;  // α − 1
    long double value;
    long double constant;  // (α − 1) ln(1 − 1/α) − ln α
    long double size;      // 2 ln α + 1
  };
  std::vector<Point> points;
  for (int i = 0; i <= 240; ++i) {
    const double at = 1 + std::pow(10, -3 + i / 30.0);
    const double value = curve(at);
    if (value == kInfinity) continue;
    const long double log_order = std::log(static_cast<long double>(at));
    const long double excess = static_cast<long double>(at) - 1;
    points.push_back(
        {excess, value, excess * std::log1p(-1 / static_cast<long double>(at)) - log_order, 2 * log_order + 1});
  }
  NF_TRY_VOID(curve.unless_failed(0));
  const DeltaProfile profile = [&](double epsilon) {
    long double least = 0;  // ln 1
    for (const Point& point : points) {
      const long double log_delta = point.excess * (point.value - epsilon) + point.constant;
      // Terms are at most (α − 1)(value + ε) + 2 ln α + 1 large.
      const long double error = 0x1p-58L * (point.excess * (point.value + epsilon) + point.size);
      least = std::min(least, log_delta + error);
    }
    return rounded_up(std::exp(least));
  };
  return repeat_and_select_rdp_poisson(base, profile, mean, order);
}

Result<PrivacyLoss> repeat_and_select_pure(PrivacyLoss base, const TruncatedNegativeBinomial& runs) {
  return PrivacyLoss::make(times_up(add_up(2, runs.eta()), base.value()));
}

}  // namespace noisefloor
