#include "noisefloor/pate/vote_bounds.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#include "noisefloor/base/check.h"

namespace noisefloor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ln(e^a + e^b).
double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  if (a == -kInfinity) return a;
  return a + std::log1p(std::exp(b - a));
}

// ln(1 − e^x) for x < 0.
double log_one_minus(double x) { return x > -0.6931471805599453 ? std::log(-std::expm1(x)) : std::log1p(-std::exp(x)); }

std::size_t winner(std::span<const std::uint32_t> votes) {
  NF_CHECK(votes.size() >= 2, "votes are for at least two classes");
  return static_cast<std::size_t>(std::max_element(votes.begin(), votes.end()) - votes.begin());
}

// Calls visit(by how many votes the winner leads) for each other class.
template <class Visit>
void each_lead(std::span<const std::uint32_t> votes, const Visit& visit) {
  const std::size_t first = winner(votes);
  for (std::size_t j = 0; j < votes.size(); ++j) {
    if (j != first) visit(static_cast<double>(votes[first]) - static_cast<double>(votes[j]));
  }
}

double largest_wrong(std::size_t classes) { return std::log1p(-1.0 / static_cast<double>(classes)); }

}  // namespace

double log_erfc(double x) {
  if (x < 26)
    return x < 0 ? std::log(std::erfc(x)) : static_cast<double>(std::log(std::erfc(static_cast<long double>(x))));
  // −x² − ln(x√π) + ln(1 − 1/2x² + 3/4x⁴ − …): the terms fall below 2^-53 before they rise.
  const double y = 1 / (2 * x * x);
  const double series = -y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y * (1 - 9 * y))));
  return -x * x - std::log(x) - 0.5 * std::log(std::numbers::pi) + std::log1p(series);
}

double inverse_log_erfc(double value) {
  NF_CHECK(value < std::numbers::ln2, "erfc is below 2");
  // ln erfc falls and is concave: Newton's steps from the left of the root never pass it, and from the right they pass
  // it once.
  double x = value > -1 ? 0 : std::sqrt(-value);
  for (int i = 0; i < 200; ++i) {
    const double here = log_erfc(x);
    const double slope = -2 / std::sqrt(std::numbers::pi) * std::exp(-x * x - here);
    double step = (here - value) / slope;
    if (!std::isfinite(step)) step = here > value ? -1 : 1;
    const double next = std::clamp(x - step, x - 2, x + std::max(2.0, std::fabs(x)));
    if (next == x || std::fabs(next - x) < 1e-16 * std::max(1.0, std::fabs(x))) break;
    x = next;
  }
  return x;
}

double log_wrong_gaussian(std::span<const std::uint32_t> votes, NoiseScale sigma, VoteNoise noise) {
  // Two counts differ by N(0, 2σ²) more than by their lead. The difference of two discrete Gaussians has the weights
  // e^(−d²/4σ²)/(2σ√π) up to a factor of 1 + 2.1 e^(−π²σ²), by Poisson summation. They fall in d ≥ 0, so those of all
  // d ≥ lead, ties among them, add up to at most the integral from lead − 1.
  const double earlier = noise == VoteNoise::kDiscrete ? 1 : 0;
  double sum = -kInfinity;
  each_lead(votes,
            [&](double lead) { sum = log_add(sum, log_erfc(std::max(0.0, lead - earlier) / (2 * sigma.value()))); });
  if (noise == VoteNoise::kDiscrete) {
    NF_CHECK(sigma.value() >= 2, "discrete Gaussian noise of 2 or above");
    sum += 2.1 * std::exp(-std::numbers::pi * std::numbers::pi * sigma.value() * sigma.value());
  }
  return std::min(sum - std::numbers::ln2, largest_wrong(votes.size()));
}

double log_wrong_laplace(std::span<const std::uint32_t> votes, NoiseScale scale) {
  double sum = -kInfinity;
  each_lead(votes, [&](double lead) {
    const double x = lead / scale.value();
    sum = log_add(sum, std::log((2 + x) / 4) - x);
  });
  return std::min(sum, largest_wrong(votes.size()));
}

double log_above(std::span<const std::uint32_t> votes, double threshold, NoiseScale sigma) {
  const double lead = threshold - static_cast<double>(votes[winner(votes)]);
  return log_erfc(lead / (sigma.value() * std::numbers::sqrt2)) - std::numbers::ln2;
}

double gaussian_votes_divergence(double log_wrong, NoiseScale sigma, double order) {
  const double variance = sigma.value() * sigma.value();
  const double whatever = order / variance;
  if (!(log_wrong < 0)) return whatever;
  if (log_wrong == -kInfinity) return 0;
  const double second = sigma.value() * std::sqrt(-log_wrong);  // μ₂ of Proposition 10
  const double first = second + 1;                              // μ₁
  const double first_cost = first / variance;
  const double second_cost = second / variance;
  if (!(second > 1 && first > order)) return whatever;
  const double largest =
      (second - 1) * second_cost - second * (std::log1p(1 / (first - 1)) + std::log1p(1 / (second - 1)));
  if (log_wrong > largest || log_wrong + second_cost >= 0) return whatever;
  const double right = log_one_minus(log_wrong);  // ln(1 − q)
  const double log_a = right - log_one_minus((log_wrong + second_cost) * (1 - 1 / second));
  const double log_b = first_cost - log_wrong / (first - 1);
  // ln((1 − q) A^(λ−1) + q B^(λ−1)), exactly also where it is far below 1e-16.
  const double u = right + (order - 1) * log_a;
  const double v = log_wrong + (order - 1) * log_b;
  const double sum = std::fabs(u) < 0.5 && v < 0 ? std::log1p(std::expm1(u) + std::exp(v)) : log_add(u, v);
  return std::clamp(sum / (order - 1), 0.0, whatever);
}

double threshold_divergence(double log_above, NoiseScale sigma, double order) {
  const auto wide = NoiseScale::make(sigma.value() * std::numbers::sqrt2);
  if (!wide.has_value()) return 0;
  const double below = log_above >= 0 ? -kInfinity : log_one_minus(log_above);
  return gaussian_votes_divergence(std::min(log_above, below), wide.value(), order);
}

double laplace_votes_divergence(double log_wrong, NoiseScale scale, double order) {
  const double pure = 2 / scale.value();
  const double whatever = std::min(pure, pure * pure * order / 2);
  if (log_wrong > -std::log1p(std::exp(pure))) return whatever;
  const double right = log_one_minus(log_wrong);
  const double u = right + (order - 1) * (right - log_one_minus(log_wrong + pure));
  const double v = log_wrong + pure * (order - 1);
  const double sum = std::fabs(u) < 0.5 && v < 0 ? std::log1p(std::expm1(u) + std::exp(v)) : log_add(u, v);
  return std::clamp(sum / (order - 1), 0.0, whatever);
}

}  // namespace noisefloor
