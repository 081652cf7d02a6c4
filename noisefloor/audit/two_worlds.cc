#include "noisefloor/audit/two_worlds.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>

#include "noisefloor/audit/gaussian_curve.h"

namespace noisefloor::audit {
namespace {

// Boost's inverse is good to about 1e-14; rounding outwards by more than that keeps the ends on their sides.
constexpr double kOutward = 1e-13;

double log_ratio(double above, double below) {
  if (above <= 0) return 0;
  return std::max(0.0, std::log(above / below));
}

}  // namespace

Result<Guesses> Guesses::make(const GuessCounts& counts) {
  if (counts.members == 0 || counts.others == 0) {
    return invalid_argument("an audit needs runs with the record and runs without it");
  }
  if (counts.found > counts.members || counts.false_alarms > counts.others) {
    return invalid_argument(
        fmt::format("of {} runs with the record {} were recognised, and of {} without it {} were "
                    "false alarms: these cannot be more than the runs",
                    counts.members, counts.found, counts.others, counts.false_alarms));
  }
  return Guesses(counts);
}

Interval clopper_pearson(std::uint64_t hits, std::uint64_t runs, Significance each) {
  const auto k = static_cast<double>(hits);
  const auto n = static_cast<double>(runs);
  const double lower = hits == 0 ? 0 : boost::math::ibeta_inv(k, n - k + 1, each.value());
  const double upper = hits == runs ? 1 : boost::math::ibetac_inv(k + 1, n - k, each.value());
  return {std::max(0.0, lower * (1 - kOutward)), std::min(1.0, upper * (1 + kOutward))};
}

GuessRates rates_of(const Guesses& guesses, Significance significance) {
  const Significance each = Significance::make(significance.value() / 2).value();
  const GuessCounts& counts = guesses.counts();
  return {clopper_pearson(counts.found, counts.members, each),
          clopper_pearson(counts.false_alarms, counts.others, each)};
}

EpsilonByWorld epsilon_by_world(const Guesses& guesses, Delta delta, Significance significance) {
  const GuessRates rates = rates_of(guesses, significance);
  const double missed = 1 - rates.found.lower;
  return {log_ratio(rates.found.lower - delta.value(), rates.false_alarms.upper),
          log_ratio(1 - rates.false_alarms.upper - delta.value(), missed)};
}

double epsilon_at_least(const Guesses& guesses, Delta delta, Significance significance) {
  const EpsilonByWorld both = epsilon_by_world(guesses, delta, significance);
  return std::max(both.of_members, both.of_others);
}

GaussianEstimate if_gaussian(const Guesses& guesses, Delta delta, Significance significance) {
  const GuessRates rates = rates_of(guesses, significance);
  const boost::math::normal standard;
  const double found = rates.found.lower;
  const double alarms = rates.false_alarms.upper;
  if (!(found > 0) || !(alarms < 1) || found <= alarms) return {0, 0};
  const double mu = boost::math::quantile(standard, found) - boost::math::quantile(standard, alarms);
  return {mu, epsilon_of_gaussian(mu, delta)};
}

bool refutes(const Guesses& guesses, const TradeOff& certified, Significance significance) {
  const GuessRates rates = rates_of(guesses, significance);
  return 1 - rates.found.lower < certified(rates.false_alarms.upper);
}

}  // namespace noisefloor::audit
