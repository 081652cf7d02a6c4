// The Rényi divergence of a Gaussian mechanism on a Poisson sample, at one real order.
//
// Guarantee:     an upper bound for both directions of add-remove neighbours (remove dominates add: Mironov, Talwar,
//                Zhang 2019, Theorem 5).
// Not promised:  a public interface; rdp.h is.
#pragma once

namespace noisefloor::internal {

// q is the rate, in (0, 1]; `precision` is 1/z², at least the true one; order > 1.
[[nodiscard]] double sampled_gaussian_divergence(double q, double precision, double order);

}  // namespace noisefloor::internal
