// Rényi accounting: the Rényi-DP curve of an event tree, and the ε or δ that follows from it.
//
// Guarantee:     every divergence, ε and δ returned is an upper bound on the true one, for every event kind and for
//                both directions of neighbours. Rounding of the arithmetic is covered by explicit margins (below 1e-12
//                of the result; for sampled Gaussians up to 5e-12, and 1e-10 as the noise multiplier falls to 0.01),
//                given that exp, expm1, log and log1p of the standard library are right to 4 ulp.
// Implements:    Rényi DP (Mironov 2017); conversion of Canonne, Kamath, Steinke 2020 (Proposition 12) and Asoodeh et
//                al. 2020, with Bretagnolle-Huber, Pinsker and chi-square bounds on the total variation;
//                Poisson-sampled Gaussian by quadrature at real orders (remove dominates add: Mironov, Talwar, Zhang
//                2019, Theorem 5); sampling without replacement: Wang, Balle, Kasiviswanathan 2019; sums of discrete
//                Gaussians: Kairouz, Liu, Steinke 2021; Skellam: Agarwal, Kairouz, Liu 2021; bounded range: Dong,
//                Durfee, Rogers 2020.
// Exact:         Gaussian, Laplace, discrete Laplace (whole sensitivity), randomized response, tree aggregation,
//                Poisson-sampled Gaussian up to noise multiplier 0.01, and the worst case of a pure ε or bounded range.
//                The others are bounds.
// Requires:      noise multipliers and sensitivities hold for the adjacency that is passed in.
// Refused:       fixed-size samples under add-remove (a neighbour of another size has no batch of that size). Poisson
//                samples under replace-one get the bound of removing and adding; shuffled events that of one report.
// Thread safety: pure functions.
#pragma once

#include <span>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"

namespace noisefloor {

// Neighbours' outputs are mixtures of equal weights, 1 − delta on a pair of laws whose Rényi divergence is at most
// `divergence` in both directions. Under composition divergences add up, and delta is 1 − Π(1 − δᵢ), at most their sum.
struct RenyiBound {
  double divergence;  // ≥ 0; +∞ where there is no finite bound at this order
  double delta;       // in [0, 1]
};

// The order is above 1; +∞ asks for the pure ε.
[[nodiscard]] Result<RenyiBound> renyi_bound(const DpEvent& event, Adjacency adjacency, double order);
// The same at several orders, in their order. Faster than one by one: whole orders within samples are found once.
[[nodiscard]] Result<std::vector<RenyiBound>> renyi_bounds(const DpEvent& event, Adjacency adjacency,
                                                           std::span<const double> orders);

// What one point of a Rényi curve says: (epsilon_from_renyi(α, D, δ), δ)-DP and (ε, delta_from_renyi(α, D, ε))-DP. They
// require α > 1, D ≥ 0, δ in [0, 1], ε ≥ 0; outside, and for NaN, the answers are +∞ and 1.
[[nodiscard]] double epsilon_from_renyi(double order, double divergence, double delta);
[[nodiscard]] double delta_from_renyi(double order, double divergence, double epsilon);

struct RenyiEpsilon {
  double epsilon;  // +∞ if part of the event is non-private
  double order;    // at which it was found; +∞ for pure DP
};

// The ε at `delta`, best over all real orders. Refused unless delta is above what the events themselves spend, or equal
// to it where the rest is pure DP.
[[nodiscard]] Result<RenyiEpsilon> renyi_epsilon(const DpEvent& event, Adjacency adjacency, Delta delta);

// The same, best of the orders given.
[[nodiscard]] Result<RenyiEpsilon> renyi_epsilon(const DpEvent& event, Adjacency adjacency, Delta delta,
                                                 std::span<const double> orders);

// The δ at `epsilon` (0 or above), best over all real orders; at most 1.
[[nodiscard]] Result<double> renyi_delta(const DpEvent& event, Adjacency adjacency, double epsilon);

// The grid that other libraries use by default: 1.1, 1.2, … 10.9, 11, 12, … 63, 128, 256, 512, 1024.
[[nodiscard]] std::span<const double> default_orders();

}  // namespace noisefloor
