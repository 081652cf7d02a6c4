#include "noisefloor/mechanisms/above_threshold.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace noisefloor {
namespace {

struct Noise {
  Lattice lattice;
  DiscreteLaplace on_threshold;
  DiscreteLaplace on_answers;
};

Result<Noise> calibrate(L1Sensitivity sensitivity, Epsilon epsilon, AboveThresholdOptions options) {
  const double above = static_cast<double>(options.max_above) * (options.monotonic ? 1 : 2);
  const double ratio = std::cbrt(above * above);
  // Rounded so that the two parts add up to at most ε.
  NF_TRY(const Epsilon threshold_part, Epsilon::make(std::nextafter(epsilon.value() / (1 + ratio), 0)));
  NF_TRY(const Epsilon answer_part, Epsilon::make(std::nextafter(epsilon.value() - threshold_part.value(), 0)));
  // One grid for both, which has room for the larger noise.
  NF_TRY(const Epsilon smaller_part, Epsilon::make(std::min(threshold_part.value(), answer_part.value() / above)));
  NF_TRY(const LaplaceOnLattice grid, laplace_on_lattice(sensitivity, smaller_part, 1));
  const auto noise_of = [](double scale) -> Result<DiscreteLaplace> {
    NF_TRY(const NoiseScale whole, NoiseScale::make(std::ceil(scale * (1 + 0x1p-50))));
    return DiscreteLaplace::create(whole);
  };
  const double steps = grid.sensitivity.value();
  NF_TRY(const DiscreteLaplace on_threshold, noise_of(steps / threshold_part.value()));
  NF_TRY(const DiscreteLaplace on_answers, noise_of(above * steps / answer_part.value()));
  return Noise{grid.lattice, on_threshold, on_answers};
}

}  // namespace

Result<DpStatement> above_threshold_statement(const Sensitivity& sensitivity, Epsilon epsilon) {
  NF_TRY(const PrivacyLoss loss, PrivacyLoss::make(epsilon.value()));
  return DpStatement{sensitivity.neighbours.adjacency, sensitivity.neighbours.unit,
                     EpsilonDeltaEvent{loss, Delta::of(0)}};
}

template <RandomSource Source>
Result<AboveThreshold<Source>> AboveThreshold<Source>::create(const Sensitivity& sensitivity, Epsilon epsilon,
                                                              AboveThresholdOptions options, Source& source) {
  if (options.max_above == 0) return invalid_argument("above-threshold needs at least one allowed \"above\"; got 0");
  if (!std::isfinite(options.threshold)) {
    return invalid_argument(fmt::format("the threshold must be a finite number; got {}", options.threshold));
  }
  if (options.monotonic) NF_TRY_VOID(check_monotonic(sensitivity.neighbours.adjacency));
  const Result<Noise> noise = calibrate(sensitivity.l1, epsilon, options);
  if (!noise.has_value()) {
    return invalid_argument(
        fmt::format("no exact noise for epsilon {} and {} replies \"above\": use a larger epsilon or allow "
                    "fewer ({})",
                    epsilon.value(), options.max_above, noise.error().message));
  }
  const auto& [lattice, threshold_noise, answer_noise] = noise.value();
  NF_TRY(DpStatement statement, above_threshold_statement(sensitivity, epsilon));
  if constexpr (std::same_as<Source, ReplayRandom>) statement = mark_as_replayed(std::move(statement));
  const Int128 noised = saturating_add(lattice.nearest(options.threshold), threshold_noise.sample(source));
  return AboveThreshold(source, lattice, noised, answer_noise, options.max_above, std::move(statement));
}

template <RandomSource Source>
Result<bool> AboveThreshold<Source>::ask(double answer) {
  if (above_left_ == 0) {
    return budget_exhausted("above-threshold has given all the \"above\" replies that were paid for; start another");
  }
  const bool above = saturating_add(lattice_.nearest(answer), answer_noise_.sample(*source_)) >= noised_threshold_;
  if (above) --above_left_;
  return above;
}

template class AboveThreshold<SecureRandom>;
template class AboveThreshold<ReplayRandom>;

}  // namespace noisefloor
