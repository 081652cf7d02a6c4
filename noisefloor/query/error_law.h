// How far a noised number may be from the exact one: the law of a sum of independent noises.
//
//   const double half = half_width(sum_of({law, law}), Confidence::of(0.95));
//
// Guarantee:     the noise is within half_width() of 0 with at least the stated probability, up to 1e-6; discrete noise
//                is taken as continuous noise of the same scale, and its step is added.
// Implements:    Gil-Pelaez 1951 (inversion of a characteristic function), by the trapezoidal rule.
// Thread safety: pure functions.
#pragma once

#include <utility>
#include <vector>

#include "noisefloor/base/privacy_types.h"

namespace noisefloor::query {

struct ErrorLaw {
  double gaussian_variance = 0;                         // of all Gaussian parts together
  std::vector<std::pair<double, double>> laplace = {};  // scale of a part, and how many such parts; ascending scales
  double rounding = 0;                                  // by which roundings may move the sum, at most

  friend bool operator==(const ErrorLaw&, const ErrorLaw&) = default;
};

[[nodiscard]] ErrorLaw sum_of(const ErrorLaw& a, const ErrorLaw& b);
// The sum of `count` independent errors of this law.
[[nodiscard]] ErrorLaw repeated(const ErrorLaw& law, double count);
[[nodiscard]] ErrorLaw scaled(const ErrorLaw& law, double factor);

[[nodiscard]] double variance_of(const ErrorLaw& law);
[[nodiscard]] double half_width(const ErrorLaw& law, Confidence confidence);

// P(|error| ≤ x), roundings left out.
[[nodiscard]] double probability_within(const ErrorLaw& law, double x);

}  // namespace noisefloor::query
