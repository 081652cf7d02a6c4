#include "noisefloor/mechanisms/partition_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>

#include "noisefloor/base/check.h"
#include "noisefloor/base/rounding.h"

namespace noisefloor {
namespace {

// P(X ≥ m) of the discrete Laplace law, for any whole m. Powers are exp of a quotient: exact to 1e-13 at every scale
// used.
double laplace_tail(double scale, double m) {
  const double r = std::exp(-1 / scale);
  return m > 0 ? std::exp(-m / scale) / (1 + r) : 1 - std::exp((m - 1) / scale) / (1 + r);
}

// P(X = k) of the discrete Laplace law conditioned on |X| ≤ k: the probability that one unit alone is kept.
double truncated_end(double scale, double k) {
  // The denominator is 1 + r − 2 r^(k+1), without cancellation.
  const double denominator = -std::expm1(-(k + 1) / scale) - std::exp(-1 / scale) * std::expm1(-k / scale);
  return -std::expm1(-1 / scale) * std::exp(-k / scale) / denominator;
}

// P(N(0, 1) ≥ x).
double normal_tail(double x) { return std::erfc(x / std::sqrt(2.0)) / 2; }

// Probabilities that are compared with δ are computed with errors below this, relatively.
constexpr double kSafety = 1 - 1e-9;

// The share of one group must lie in these ranges.
constexpr double kMinEpsilon = 0x1p-30;
constexpr double kMaxEpsilon = 500;
constexpr double kMinDelta = 1e-300;

Result<void> check_shares(Epsilon epsilon, Delta delta, double partitions) {
  const double group_epsilon = epsilon.value() / partitions;
  if (group_epsilon < kMinEpsilon || group_epsilon > kMaxEpsilon) {
    return invalid_argument(
        fmt::format("partition selection takes an epsilon from {:.3g} to {} for each partition of a unit; "
                    "got {} for {}",
                    kMinEpsilon, kMaxEpsilon, epsilon.value(), partitions));
  }
  if (delta.value() / partitions < kMinDelta) {
    return invalid_argument(
        fmt::format("partition selection takes a delta from {} for each partition of a unit; got {} for {}", kMinDelta,
                    delta.value(), partitions));
  }
  return success();
}

}  // namespace

std::string_view name_of(PartitionRule rule) {
  switch (rule) {
    case PartitionRule::kTruncatedGeometric:
      return "truncated-geometric";
    case PartitionRule::kLaplace:
      return "laplace";
    case PartitionRule::kGaussian:
      return "gaussian";
  }
  NF_UNREACHABLE("a partition rule outside the closed list");
}

Result<PartitionSelection> PartitionSelection::create(Epsilon epsilon, Delta delta, std::uint64_t max_partitions,
                                                      PartitionRule rule, PrivacyUnit unit) {
  if (delta.value() == 0) return invalid_argument("partition selection needs a delta above 0; got 0");
  if (max_partitions == 0) return invalid_argument("a unit is in at least one partition; got a maximum of 0");
  NF_TRY(const PrivacyLoss loss, PrivacyLoss::make(epsilon.value()));
  PartitionSelection selection(rule, {Adjacency::kAddRemove, unit, EpsilonDeltaEvent{loss, delta}});
  const double partitions = static_cast<double>(max_partitions);
  NF_TRY_VOID(check_shares(epsilon, delta, partitions));

  if (rule == PartitionRule::kGaussian) {
    // Half of δ for the noise on the counts that both neighbours have, half for groups that only one of them has.
    const Neighbours neighbours{Adjacency::kAddRemove, unit, Rows::of(1)};
    NF_TRY(const Sensitivity sensitivity, Sensitivity::of_vector(neighbours, partitions, std::sqrt(partitions)));
    NF_TRY(const Delta half, Delta::make(delta.value() / 2));
    NF_TRY(const Dimension dimension, Dimension::make(max_partitions));
    NF_TRY(selection.gaussian_, GaussianMechanism::create(sensitivity, epsilon, half, dimension));
    const double tail = delta.value() / (2 * partitions) * kSafety;
    selection.threshold_ = 1 + selection.gaussian_->sigma() * std::sqrt(2.0) * boost::math::erfc_inv(2 * tail) +
                           2 * selection.gaussian_->lattice().step();
    return selection;
  }

  // The share of one group: composition over the groups of a unit adds up to (ε, δ).
  const double group_epsilon = std::nextafter(epsilon.value() / partitions, 0);
  const double group_delta = delta.value() / partitions * kSafety;
  const double scale = divided_up(1, group_epsilon);
  NF_TRY(const NoiseScale noise_scale, NoiseScale::make(scale));
  NF_TRY(selection.laplace_, DiscreteLaplace::create(noise_scale));
  if (rule == PartitionRule::kLaplace) {
    // 1 + noise ≥ threshold with probability at most δ. The closed form is exact up to rounding.
    const double r = std::exp(-1 / scale);
    double above = std::max(1.0, std::floor(std::log(1 / (group_delta * (1 + r))) * scale));
    while (laplace_tail(scale, above) > group_delta) above += 1;
    selection.threshold_ = 1 + above;
  } else {
    const double one_minus_r = -std::expm1(-1 / scale);
    const double ratio = one_minus_r / (group_delta * (2 - one_minus_r)) + 2 * std::exp(-1 / scale) / (2 - one_minus_r);
    double k = std::max(0.0, std::floor(std::log(ratio) * scale) - 2);
    while (truncated_end(scale, k) > group_delta) k += 1;
    selection.truncation_ = static_cast<std::int64_t>(k);
    selection.threshold_ = k + 1;
  }
  return selection;
}

bool PartitionSelection::keep(std::uint64_t units, BitStream& stream) const {
  if (units == 0) return false;
  const auto count = static_cast<std::int64_t>(std::min<std::uint64_t>(units, std::uint64_t{1} << 52));
  if (gaussian_) return gaussian_->noised(count, stream) >= threshold_;
  const bool truncated = rule_ == PartitionRule::kTruncatedGeometric;
  const std::int64_t noise = truncated ? laplace_->sample_within(stream, truncation_) : laplace_->sample(stream);
  return static_cast<double>(count) + static_cast<double>(noise) >= threshold_;
}

double PartitionSelection::keep_probability(std::uint64_t units) const {
  if (units == 0) return 0;
  const double need = threshold_ - static_cast<double>(units);
  if (gaussian_) return normal_tail(need / gaussian_->sigma());
  const double scale = laplace_->scale().value();
  if (rule_ == PartitionRule::kLaplace) return laplace_tail(scale, need);
  const double k = static_cast<double>(truncation_);
  if (need <= -k) return 1;
  const double beyond = laplace_tail(scale, k + 1);
  return (laplace_tail(scale, need) - beyond) / (1 - 2 * beyond);
}

std::uint64_t PartitionSelection::typical_threshold() const {
  return static_cast<std::uint64_t>(std::ceil(threshold_));
}

}  // namespace noisefloor
