#include "noisefloor/mechanisms/above_threshold.h"

#include <fmt/format.h>

#include <cmath>

namespace noisefloor {

template <RandomSource Source>
Result<AboveThreshold<Source>> AboveThreshold<Source>::create(const Sensitivity& sensitivity, Epsilon epsilon,
                                                              AboveThresholdOptions options, Source& source) {
  if (options.max_above == 0) return invalid_argument("above-threshold needs at least one allowed \"above\"; got 0");
  if (!std::isfinite(options.threshold)) {
    return invalid_argument(fmt::format("the threshold must be a finite number; got {}", options.threshold));
  }
  const double above = static_cast<double>(options.max_above) * (options.monotonic ? 1 : 2);
  const double ratio = std::cbrt(above * above);
  // Rounded so that the two parts add up to at most ε.
  NF_TRY(const Epsilon threshold_part, Epsilon::make(std::nextafter(epsilon.value() / (1 + ratio), 0)));
  NF_TRY(const Epsilon answer_part, Epsilon::make(std::nextafter(epsilon.value() - threshold_part.value(), 0)));
  // One grid for both: that of the answers, whose sensitivity is the same.
  NF_TRY(const LaplaceOnLattice grid, laplace_on_lattice(sensitivity.l1, answer_part, kScalar));
  const double steps = grid.sensitivity.value();
  const auto noise_of = [](double scale) -> Result<DiscreteLaplace> {
    NF_TRY(const NoiseScale whole, NoiseScale::make(std::ceil(scale * (1 + 0x1p-50))));
    return DiscreteLaplace::create(whole);
  };
  NF_TRY(const DiscreteLaplace threshold_noise, noise_of(steps / threshold_part.value()));
  NF_TRY(const DiscreteLaplace answer_noise, noise_of(above * steps / answer_part.value()));
  NF_TRY(const PrivacyLoss loss, PrivacyLoss::make(epsilon.value()));
  DpStatement statement{sensitivity.neighbours.adjacency, sensitivity.neighbours.unit,
                        EpsilonDeltaEvent{loss, Delta::of(0)}};
  if constexpr (std::same_as<Source, ReplayRandom>) statement = mark_as_replayed(std::move(statement));
  const Int128 noised = saturating_add(grid.lattice.nearest(options.threshold), threshold_noise.sample(source));
  return AboveThreshold(source, grid.lattice, noised, answer_noise, options.max_above, std::move(statement));
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
