#include "noisefloor/audit/gaussian_curve.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>

#include "noisefloor/numerics/bisect.h"
#include "noisefloor/numerics/gaussian_profile.h"

namespace noisefloor::audit {
namespace {

constexpr double kPrecise = 1e-15;
const boost::math::normal kStandard;

double phi(double x) { return boost::math::cdf(kStandard, x); }

double delta_of(double mu, double epsilon) {
  return gaussian_delta(NoiseMultiplier::make(1 / mu).value(), PrivacyLoss::make(epsilon).value()).upper;
}

}  // namespace

double gaussian_missed(double mu, double false_alarms) {
  if (false_alarms <= 0) return 1;
  if (false_alarms >= 1) return 0;
  return phi(boost::math::quantile(boost::math::complement(kStandard, false_alarms)) - mu);
}

double gaussian_false_alarms(double mu, double found) {
  if (found <= 0) return 0;
  if (found >= 1) return 1;
  return phi(boost::math::quantile(kStandard, found) - mu);
}

double epsilon_of_gaussian(double mu, Delta delta) {
  if (!(mu > 0)) return 0;
  if (delta.value() == 0) return std::numeric_limits<double>::infinity();
  const auto enough = [&](double epsilon) { return delta_of(mu, epsilon) <= delta.value(); };
  if (enough(0)) return 0;
  double high = 1;
  while (!enough(high)) high *= 2;
  return bisect({high, 0}, {.relative = kPrecise, .absolute = kPrecise}, enough).holds;
}

double mu_of_gaussian(Epsilon epsilon, Delta delta) {
  if (delta.value() == 0) return 0;
  const auto keeps = [&](double mu) { return delta_of(mu, epsilon.value()) <= delta.value(); };
  double low = 1;
  while (!keeps(low)) low /= 2;
  double high = 2 * low;
  while (keeps(high)) high *= 2;
  return bisect({low, high}, {.relative = kPrecise}, keeps).holds;
}

double gaussian_auc(double mu) { return phi(mu / std::sqrt(2.0)); }
double gaussian_advantage(double mu) { return std::max(0.0, phi(mu / 2) - phi(-mu / 2)); }

double most_auc(Epsilon epsilon, Delta delta) {
  const double not_given_away = 1 - delta.value();
  return 1 - not_given_away * not_given_away / (1 + std::exp(epsilon.value()));
}

double most_advantage(Epsilon epsilon, Delta delta) {
  return delta.value() + (1 - delta.value()) * std::tanh(epsilon.value() / 2);
}

}  // namespace noisefloor::audit
