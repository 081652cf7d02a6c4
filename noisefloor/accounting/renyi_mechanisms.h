// Rényi divergences of single mechanisms, at one order.
//
// Guarantee:     upper bounds on D_α of neighbours' outputs, in both directions; exact but for rounding where rdp.h
//                says so.
// Requires:      order > 1.
// Not promised:  a public interface; rdp.h is.
#pragma once

#include <cstdint>

#include "noisefloor/event/dp_event.h"

namespace noisefloor::internal {

// The worst pair of an ε-DP mechanism on a sample of rate q (1: without sampling), in its worse direction. +∞ asks for
// the pure ε.
[[nodiscard]] double pure_divergence(double q, double epsilon, double order);
// k-ary randomized response.
[[nodiscard]] double randomized_response_divergence(double epsilon, std::uint64_t categories, double order);
// The worst pair of an ε-bounded range.
[[nodiscard]] double bounded_range_divergence(double epsilon, double order);
// Laplace noise that is ε-DP.
[[nodiscard]] double laplace_divergence(double epsilon, double order);
// Discrete Laplace noise of scale 1/t that is ε-DP.
[[nodiscard]] double discrete_laplace_divergence(double t, double epsilon, double order);
[[nodiscard]] double discrete_gaussian_divergence(const DiscreteGaussianEvent& event, double order);
[[nodiscard]] double skellam_divergence(const SkellamEvent& event, double order);

}  // namespace noisefloor::internal
