#include "noisefloor/audit/one_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "noisefloor/audit/gaussian_curve.h"
#include "noisefloor/numerics/bisect.h"

namespace noisefloor::audit {
namespace {

constexpr double kPrecise = 1e-13;
// No guess tells more than this: e^−40 is far below any significance divided by a number of guesses.
constexpr double kLargest = 64;

// Pr[Bin(n, p) ≥ k].
double at_least(std::uint64_t k, std::uint64_t n, double p) {
  if (k == 0) return 1;
  if (k > n) return 0;
  return boost::math::ibeta(static_cast<double>(k), static_cast<double>(n - k) + 1, p);
}

// max over 1 ≤ i ≤ v of Pr[v − i ≤ Bin(r, p) < v] / i. The sums are added up from the largest terms' side; each term is
// positive, so nothing cancels.
double heaviest_below(const CanaryGuesses& counts, double p) {
  const auto n = static_cast<double>(counts.guesses);
  const double log_p = std::log(p);
  const double log_q = std::log1p(-p);
  double sum = 0;
  double heaviest = 0;
  for (std::uint64_t i = 1; i <= counts.right; ++i) {
    const auto k = static_cast<double>(counts.right - i);
    const double log_term =
        std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * log_p + (n - k) * log_q;
    const double term = std::exp(log_term);
    sum += term;
    heaviest = std::max(heaviest, sum / static_cast<double>(i));
    if (k < n * p && term < 1e-18 * heaviest) break;  // terms fall from here on, so that no later mean is larger
  }
  return heaviest;
}

}  // namespace

Result<void> check_guesses(const CanaryGuesses& counts) {
  if (counts.guesses == 0) return invalid_argument("an audit needs a guess: none was made");
  if (counts.guesses > counts.canaries || counts.right > counts.guesses) {
    return invalid_argument(
        fmt::format("{} right guesses of {} about {} canaries: right ones are at most the guesses, and these at most "
                    "the canaries",
                    counts.right, counts.guesses, counts.canaries));
  }
  return success();
}

double one_run_p_value(const CanaryGuesses& counts, PrivacyLoss epsilon, Delta delta) {
  const double p = 1 / (1 + std::exp(-epsilon.value()));
  const double chance = at_least(counts.right, counts.guesses, p);
  if (delta.value() == 0 || chance >= 1) return std::min(1.0, chance);
  const double given_away = 2 * static_cast<double>(counts.canaries) * delta.value() * heaviest_below(counts, p);
  return std::min(1.0, chance + given_away);
}

double one_run_epsilon(const CanaryGuesses& counts, Delta delta, Significance significance) {
  const auto refuted = [&](double epsilon) {
    return one_run_p_value(counts, PrivacyLoss::make(epsilon).value(), delta) < significance.value();
  };
  if (!refuted(0)) return 0;
  return bisect({0, kLargest}, {.relative = kPrecise, .absolute = kPrecise}, refuted).holds;
}

bool refuted_in_one_run(const CanaryGuesses& counts, const FalseAlarms& certified, Significance significance) {
  const auto canaries = static_cast<double>(counts.canaries);
  const auto guesses = static_cast<double>(counts.guesses);
  const auto right = static_cast<double>(counts.right);
  double found = significance.value() * right / canaries;
  double alarms = significance.value() * (guesses - right) / canaries;
  for (std::uint64_t i = counts.right; i-- > 0;) {
    const double next = std::max(alarms, certified(found));
    const double others = guesses - static_cast<double>(i);
    found = std::min(1.0, found + static_cast<double>(i) / others * (next - alarms));
    alarms = next;
    if (found + alarms >= guesses / canaries) return true;
  }
  return false;
}

GaussianEstimate one_run_gaussian(const CanaryGuesses& counts, Delta delta, Significance significance) {
  const auto refuted = [&](double mu) {
    return refuted_in_one_run(
        counts, [mu](double found) { return gaussian_false_alarms(mu, found); }, significance);
  };
  if (!refuted(0)) return {0, 0};
  const double mu = bisect({0, kLargest}, {.relative = kPrecise, .absolute = kPrecise}, refuted).holds;
  return {mu, epsilon_of_gaussian(mu, delta)};
}

Result<CanaryGuesses> guess(std::span<const ScoredCanary> canaries, std::uint64_t guesses) {
  if (guesses < 2 || guesses > canaries.size()) {
    return invalid_argument(fmt::format("{} guesses about {} canaries: make at least 2 and at most one for each",
                                        guesses, canaries.size()));
  }
  std::vector<std::size_t> order(canaries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto score = [&](std::size_t place) {
    const double value = canaries[place].score;
    return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return score(a) > score(b); });
  CanaryGuesses counts{canaries.size(), guesses, 0};
  const std::size_t in = guesses / 2;
  const std::size_t out = guesses - in;
  for (std::size_t i = 0; i < in; ++i) counts.right += canaries[order[i]].in ? 1U : 0U;
  for (std::size_t i = 0; i < out; ++i) counts.right += canaries[order[order.size() - 1 - i]].in ? 0U : 1U;
  return counts;
}

Result<OneRunBound> best_of_guesses(std::span<const ScoredCanary> canaries, std::span<const std::uint64_t> numbers,
                                    Delta delta, Significance significance) {
  if (numbers.empty()) return invalid_argument("an audit needs a number of guesses to make");
  NF_TRY(const Significance each, Significance::make(significance.value() / static_cast<double>(numbers.size())));
  OneRunBound best;
  for (const std::uint64_t number : numbers) {
    NF_TRY(const CanaryGuesses counts, guess(canaries, number));
    const double epsilon = one_run_epsilon(counts, delta, each);
    if (best.counts.guesses == 0 || epsilon > best.epsilon) best = {counts, epsilon};
  }
  return best;
}

}  // namespace noisefloor::audit
