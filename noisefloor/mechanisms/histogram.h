// A histogram: counts over bins that are fixed in advance, empty ones included.
//
// Guarantee:     with δ = 0, ε-DP by discrete Laplace noise; with δ > 0, (ε, δ)-DP by Gaussian noise, the better one
//                where a unit touches many bins. Counts come out whole; negative ones are kept, so that sums stay
//                unbiased.
// Requires:      the bins do not depend on the data (else see partition_selection.h), and a unit touches at most
//                `bins_per_row` different bins a row, once each.
// Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "noisefloor/mechanisms/gaussian.h"
#include "noisefloor/mechanisms/geometric.h"
#include "noisefloor/mechanisms/release.h"
#include "noisefloor/mechanisms/sensitivity.h"

namespace noisefloor {

class HistogramMechanism {
 public:
  [[nodiscard]] static Result<HistogramMechanism> create(Neighbours neighbours, Dimension bins, Epsilon epsilon,
                                                         Delta delta, std::uint64_t bins_per_row = 1);

  template <RandomSource Source>
  [[nodiscard]] Result<Release<Source, std::vector<std::int64_t>>> release(std::span<const std::int64_t> counts,
                                                                           Source& source) const {
    NF_TRY_VOID(check_bins(counts.size()));
    if (const auto* geometric = std::get_if<GeometricMechanism>(&noise_)) return geometric->release(counts, source);
    const auto& gaussian = std::get<GaussianMechanism>(noise_);
    std::vector<std::int64_t> noised;
    noised.reserve(counts.size());
    for (std::int64_t count : counts) noised.push_back(gaussian.noised_whole(count, source));
    return Release<Source, std::vector<std::int64_t>>(std::move(noised), statement());
  }

  [[nodiscard]] const DpStatement& statement() const;

  // Scale (Laplace) or standard deviation (Gaussian) of the noise on each count.
  [[nodiscard]] double noise_scale() const;

  // Each count, taken by itself, is within this of the truth with at least the given probability.
  [[nodiscard]] double error_bound(Confidence confidence) const;

 private:
  using Noise = std::variant<GeometricMechanism, GaussianMechanism>;
  HistogramMechanism(Dimension bins, Noise noise) : bins_(bins), noise_(std::move(noise)) {}

  [[nodiscard]] Result<void> check_bins(std::size_t got) const;

  Dimension bins_;
  Noise noise_;
};

}  // namespace noisefloor
