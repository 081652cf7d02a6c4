// The geometric mechanism: the Laplace mechanism for whole numbers, with whole results.
//
// Guarantee:     ε-DP for neighbours that move the count by at most the stated (whole) sensitivity. The noise is
//                discrete Laplace of scale Δ/ε, exact; nothing is rounded. Results saturate at the ends of 64 bits,
//                and so does the noise (an event of probability below 2^-183).
// Implements:    Ghosh, Roughgarden, Sundararajan 2009.
// Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "noisefloor/base/wide_int.h"
#include "noisefloor/mechanisms/release.h"
#include "noisefloor/mechanisms/sensitivity.h"
#include "noisefloor/random/discrete_laplace.h"

namespace noisefloor {

class GeometricMechanism {
 public:
  // The L1 sensitivity must be a whole number. It is that of the whole vector if several counts are released.
  [[nodiscard]] static Result<GeometricMechanism> create(const Sensitivity& sensitivity, Epsilon epsilon);

  template <RandomSource Source>
  [[nodiscard]] Release<Source, std::int64_t> release(std::int64_t count, Source& source) const {
    return Release<Source, std::int64_t>(add_noise(count, source), statement_);
  }

  template <RandomSource Source>
  [[nodiscard]] Release<Source, std::vector<std::int64_t>> release(std::span<const std::int64_t> counts,
                                                                   Source& source) const {
    std::vector<std::int64_t> noised;
    noised.reserve(counts.size());
    for (std::int64_t count : counts) noised.push_back(add_noise(count, source));
    return Release<Source, std::vector<std::int64_t>>(std::move(noised), statement_);
  }

  // For mechanisms that release something derived from the noised number, under a statement of their own.
  [[nodiscard]] double noised(std::int64_t count, BitStream& stream) const {
    return static_cast<double>(Int128{count} + noise_.sample(stream));
  }

  [[nodiscard]] const DpStatement& statement() const { return statement_; }
  [[nodiscard]] double scale() const { return noise_.scale().value(); }

  // A released count is within this of the truth with at least the given probability.
  [[nodiscard]] std::int64_t error_bound(Confidence confidence) const {
    return noise_.quantile_of_magnitude(confidence);
  }

 private:
  GeometricMechanism(DiscreteLaplace noise, DpStatement statement) : noise_(noise), statement_(std::move(statement)) {}

  [[nodiscard]] std::int64_t add_noise(std::int64_t count, BitStream& stream) const;

  DiscreteLaplace noise_;
  DpStatement statement_;
};

}  // namespace noisefloor
