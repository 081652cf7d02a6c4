#include "noisefloor/mechanisms/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "noisefloor/base/check.h"
#include "noisefloor/random/bernoulli_exp.h"
#include "noisefloor/random/discrete_laplace.h"
#include "noisefloor/random/exact_choice.h"
#include "noisefloor/random/uniform.h"

namespace noisefloor {
namespace {

constexpr std::size_t kMaxCandidates = std::size_t{1} << 24;

DpEvent event_of(SelectionRule rule, Epsilon epsilon) {
  switch (rule) {
    case SelectionRule::kExponential:
      return ExponentialEvent{epsilon};
    case SelectionRule::kPermuteAndFlip:
      return PermuteAndFlipEvent{epsilon};
    case SelectionRule::kNoisyMax:
      return EpsilonDeltaEvent{PrivacyLoss::make(epsilon.value()).value(), Delta::of(0)};
  }
  NF_UNREACHABLE("a selection rule outside the closed list");
}

std::size_t choose_exponential(std::span<const Int128> points, Int128 best, Uint128 scale, BitStream& stream) {
  std::vector<ExpWeight> weights;
  weights.reserve(points.size());
  for (Int128 point : points) weights.push_back({1, static_cast<Uint128>(best - point)});
  return exact_choice(stream, weights, scale);
}

std::size_t choose_permute_and_flip(std::span<const Int128> points, Int128 best, Uint128 scale, BitStream& stream) {
  // Candidates in random order; the first whose coin shows exp(−(best − score)/scale). The best one's always does.
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t next = 0;; ++next) {
    NF_CHECK(next < order.size(), "the best candidate's coin always shows heads");
    std::swap(order[next], order[next + uniform_below(stream, order.size() - next)]);
    if (bernoulli_exp<Uint128>(stream, static_cast<Uint128>(best - points[order[next]]), scale)) return order[next];
  }
}

std::size_t choose_noisy_max(std::span<const Int128> points, Uint128 scale, BitStream& stream) {
  const DiscreteLaplace noise = DiscreteLaplace::create(NoiseScale::make(static_cast<double>(scale)).value()).value();
  std::size_t best = 0;
  Int128 best_noised = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Int128 noised = points[i] + noise.sample(stream);
    if (i == 0 || noised > best_noised) {
      best = i;
      best_noised = noised;
    }
  }
  return best;
}

}  // namespace

std::string_view name_of(SelectionRule rule) {
  switch (rule) {
    case SelectionRule::kExponential:
      return "exponential";
    case SelectionRule::kPermuteAndFlip:
      return "permute-and-flip";
    case SelectionRule::kNoisyMax:
      return "noisy-max";
  }
  NF_UNREACHABLE("a selection rule outside the closed list");
}

Result<SelectionMechanism> SelectionMechanism::create(const Sensitivity& sensitivity, Epsilon epsilon,
                                                      SelectionOptions options) {
  if (options.monotonic) NF_TRY_VOID(check_monotonic(sensitivity.neighbours.adjacency));
  NF_TRY(const LaplaceOnLattice calibration, laplace_on_lattice(sensitivity.l1, epsilon, 1));
  return SelectionMechanism(
      calibration, options,
      {sensitivity.neighbours.adjacency, sensitivity.neighbours.unit, event_of(options.rule, epsilon)});
}

Uint128 SelectionMechanism::scale_steps() const {
  const auto scale = static_cast<Uint128>(calibration_.scale.value());
  return options_.monotonic ? scale : 2 * scale;
}

double SelectionMechanism::scale() const { return calibration_.lattice.to_real(static_cast<Int128>(scale_steps())); }

double SelectionMechanism::score_gap_bound(std::size_t candidates, Confidence confidence) const {
  // P(gap > s (ln n + t)) ≤ e^-t for the exponential mechanism, hence for permute-and-flip. Noisy max: n noises of
  // scale s are all within s ln(n/β) on their side, twice.
  const double n = static_cast<double>(candidates);
  const double bound = scale() * std::log(n / (1 - confidence.value()));
  return (options_.rule == SelectionRule::kNoisyMax ? 2 : 1) * bound + calibration_.lattice.step();
}

Result<std::vector<Int128>> SelectionMechanism::to_points(std::span<const double> scores) const {
  if (scores.empty() || scores.size() > kMaxCandidates) {
    return invalid_argument(fmt::format("a choice needs 1 to {} candidates; got {}", kMaxCandidates, scores.size()));
  }
  std::vector<Int128> points;
  points.reserve(scores.size());
  for (double score : scores) points.push_back(calibration_.lattice.nearest(score));
  return points;
}

std::size_t SelectionMechanism::choose_point(std::span<const Int128> points, BitStream& stream) const {
  const Int128 best = *std::max_element(points.begin(), points.end());
  switch (options_.rule) {
    case SelectionRule::kExponential:
      return choose_exponential(points, best, scale_steps(), stream);
    case SelectionRule::kPermuteAndFlip:
      return choose_permute_and_flip(points, best, scale_steps(), stream);
    case SelectionRule::kNoisyMax:
      return choose_noisy_max(points, scale_steps(), stream);
  }
  NF_UNREACHABLE("a selection rule outside the closed list");
}

Result<std::size_t> SelectionMechanism::choose(std::span<const double> scores, BitStream& stream) const {
  NF_TRY(const std::vector<Int128> points, to_points(scores));
  return choose_point(points, stream);
}

Result<std::vector<std::size_t>> SelectionMechanism::choose_top(std::span<const double> scores, std::size_t count,
                                                                BitStream& stream) const {
  NF_TRY(std::vector<Int128> points, to_points(scores));
  if (count == 0 || count > points.size()) {
    return invalid_argument(
        fmt::format("the top of {} candidates has 1 to {} places; got {}", points.size(), points.size(), count));
  }
  std::vector<std::size_t> names(points.size());
  std::iota(names.begin(), names.end(), std::size_t{0});
  std::vector<std::size_t> chosen;
  while (chosen.size() < count) {
    const auto place = static_cast<std::ptrdiff_t>(choose_point(points, stream));
    chosen.push_back(names[static_cast<std::size_t>(place)]);
    points.erase(points.begin() + place);
    names.erase(names.begin() + place);
  }
  return chosen;
}

Result<std::vector<double>> SelectionMechanism::exponential_probabilities(std::span<const double> scores) const {
  if (options_.rule != SelectionRule::kExponential) {
    return invalid_argument(fmt::format("no closed form of the probabilities for {}", name_of(options_.rule)));
  }
  NF_TRY(const std::vector<Int128> points, to_points(scores));
  const Int128 best = *std::max_element(points.begin(), points.end());
  std::vector<double> p;
  p.reserve(points.size());
  for (Int128 point : points) {
    p.push_back(std::exp(-static_cast<double>(best - point) / static_cast<double>(scale_steps())));
  }
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& one : p) one /= sum;
  return p;
}

}  // namespace noisefloor
