#include "noisefloor/pate/smooth_sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "noisefloor/accounting/rdp.h"
#include "noisefloor/numerics/bisect.h"

namespace noisefloor {
namespace {

// From here down the monotony is checked: e^-400 is far below any q that whole votes make where the bound matters.
constexpr double kLowest = -400;
constexpr int kGrid = 4000;
constexpr double kLeastDelta = 1e-8;

}  // namespace

double SmoothedBound::moved(double log_q, double by) const {
  const double others = static_cast<double>(classes_ - 1);
  // 2q/(m − 1) = erfc(x): a vote moves each lead by at most 2, and x by at most 1/σ.
  const double share = log_q + std::numbers::ln2 - std::log(others);
  if (share >= std::numbers::ln2) return 0;
  const double x = inverse_log_erfc(share);
  return std::min(0.0, log_erfc(x + by / sigma_.value()) - std::numbers::ln2 + std::log(others));
}

double SmoothedBound::local_sensitivity(double log_q) const {
  if (log_q >= log_q1_ && log_q <= log_q0_) log_q = log_q1_;
  const double here = divergence(log_q);
  return std::max(divergence(moved(log_q, -1)) - here, here - divergence(moved(log_q, 1)));
}

// C5 and C6: below q0 the bound grows with q, and below q1 so do its steps in both directions.
bool SmoothedBound::is_monotone() const {
  double bound = 0;
  double up = 0;
  double down = 0;
  for (int i = 0; i <= kGrid; ++i) {
    const double log_q = log_q0_ + (kLowest - log_q0_) * (kGrid - i) / kGrid;
    const double here = divergence(log_q);
    if (here < bound * (1 - 1e-9)) return false;
    bound = here;
    const double below = here - divergence(moved(log_q, 1));
    if (below < down * (1 - 1e-9)) return false;
    down = below;
    if (log_q > log_q1_) continue;
    const double above = divergence(moved(log_q, -1)) - here;
    if (above < up * (1 - 1e-9)) return false;
    up = above;
  }
  return true;
}

Result<SmoothedBound> SmoothedBound::create(NoiseScale sigma, std::uint32_t classes, double order, VoteNoise noise) {
  if (classes < 2) return invalid_argument(fmt::format("votes are for at least 2 classes; {} were given", classes));
  if (!(order > 1 && order < 1e6)) {
    return invalid_argument(
        fmt::format("the order of a Rényi divergence must be above 1 and below 1e6; got {}", order));
  }
  SmoothedBound bound(sigma, classes, order, noise);
  const double s = sigma.value();
  const double whatever = order / (s * s);
  const auto is_below = [&](double log_q) { return bound.divergence(log_q) < whatever * (1 - 1e-13); };
  // Above this q the theorem says nothing.
  const double top = std::min({-(1 + 1 / s) * (1 + 1 / s), -((order - 0.99) / s) * ((order - 0.99) / s), -1 / (s * s)});
  double low = top;
  for (int i = 0; i < 64 && !is_below(low); ++i) low = low * 1.05 - 1e-3;
  if (!is_below(low)) {
    return invalid_argument(
        fmt::format("at the order {} no agreement of teachers makes the cost smaller with this much noise, {}: give a "
                    "smaller order",
                    order, s));
  }
  bound.log_q0_ = is_below(top) ? top : bisect({low, top}, {.relative = 0, .absolute = 1e-15}, is_below).holds;
  bound.log_q1_ = bound.moved(bound.log_q0_, 1);
  if (!bound.is_monotone()) {
    return invalid_argument(fmt::format(
        "with the noise {} for {} classes the bound at the order {} is not monotone, and nothing is proved about its "
        "smooth sensitivity: give another order",
        s, classes, order));
  }
  return bound;
}

double SmoothedBound::cost(const Votes& votes) const { return divergence(log_wrong_gaussian(votes, sigma_, noise_)); }

std::vector<double> SmoothedBound::local_sensitivities(Votes votes) const {
  const std::uint64_t teachers = std::accumulate(votes.begin(), votes.end(), std::uint64_t{0});
  std::vector<double> sensitivities(teachers, local_sensitivity(log_q1_));
  double log_q = log_wrong_gaussian(votes, sigma_, noise_);
  if (teachers == 0 || (log_q >= log_q1_ && log_q <= log_q0_)) return sensitivities;
  std::sort(votes.begin(), votes.end(), std::greater<>());
  // Moves make q larger until it reaches the plateau, or smaller where it is above.
  const bool grows = log_q < log_q1_;
  for (std::uint64_t d = 0; d < teachers && (grows ? log_q < log_q1_ : log_q > log_q0_); ++d) {
    sensitivities[d] = local_sensitivity(log_q);
    if (grows) {
      votes[0] -= 1;
      votes[1] += 1;
    } else {
      if (votes[1] == 0) break;
      votes[0] += 1;
      votes[1] -= 1;
    }
    std::sort(votes.begin(), votes.end(), std::greater<>());
    log_q = log_wrong_gaussian(votes, sigma_, noise_);
  }
  return sensitivities;
}

Result<double> smooth_sensitivity(const SmoothedBound& bound, std::span<const Votes> votes, double smoothness) {
  if (!(smoothness > 0)) return invalid_argument(fmt::format("the smoothness must be above 0; got {}", smoothness));
  std::vector<double> sums;
  for (const Votes& one : votes) {
    const std::vector<double> local = bound.local_sensitivities(one);
    if (sums.empty()) sums.resize(local.size());
    if (sums.size() != local.size()) return invalid_argument("all votes must be of the same number of teachers");
    for (std::size_t d = 0; d < local.size(); ++d) sums[d] += local[d];
  }
  double largest = 0;
  for (std::size_t d = 0; d < sums.size(); ++d) {
    largest = std::max(largest, std::exp(-smoothness * static_cast<double>(d)) * sums[d]);
  }
  return largest;
}

Result<double> sanitising_divergence(double order, double smoothness, NoiseScale noise) {
  if (!(smoothness > 0 && order > 1 && 2 * smoothness * order < 1)) {
    return invalid_argument(fmt::format("the smoothness must be above 0 and below 1/(2 · order) = {:.6g}; got {}",
                                        1 / (2 * order), smoothness));
  }
  const double variance = noise.value() * noise.value();
  return order * std::exp(2 * smoothness) / variance +
         (smoothness * order - 0.5 * std::log1p(-2 * smoothness * order)) / (order - 1);
}

Result<DpEvent> sanitising_event(const Sanitising& how) {
  NF_TRY_VOID(sanitising_divergence(how.order, how.smoothness, how.noise));
  if (how.delta.value() < kLeastDelta) {
    return invalid_argument(
        fmt::format("the delta of the sanitised cost must be {} or above; got {}", kLeastDelta, how.delta.value()));
  }
  if (how.noise.value() > 4096) {
    return invalid_argument(
        fmt::format("the noise of the sanitised cost must be at most 4096; got {}", how.noise.value()));
  }
  // A ten-thousandth of it is for noise in steps of 2^-40 instead of continuous noise.
  const double delta = how.delta.value() * (1 - 1e-4);
  const double largest = 1 / (2 * how.smoothness);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 1; i < 2000; ++i) {
    const double order = std::pow(largest, i / 2000.0);
    const Result<double> divergence = sanitising_divergence(order, how.smoothness, how.noise);
    if (!divergence.has_value()) continue;
    best = std::min(best, epsilon_from_renyi(order, divergence.value() * (1 + 1e-12), delta));
  }
  NF_TRY(const PrivacyLoss epsilon, PrivacyLoss::make(best));
  return DpEvent(EpsilonDeltaEvent{epsilon, how.delta});
}

}  // namespace noisefloor
