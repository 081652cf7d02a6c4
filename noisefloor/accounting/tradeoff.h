// The trade-off curve of an event: the least type II error β of any test that tells two neighbours apart with type I
// error α (f-DP, Dong, Roth and Su 2022).
//
// Guarantee:     lower ≤ f(α) ≤ upper for the curve f of the composed mechanisms: every (ε, δ(ε)) says
//                β ≥ 1 − δ − e^ε α and β ≥ e^−ε (1 − δ − α), and the best of all of them is f. The lower bound takes
//                certified upper bounds of δ on a grid of ε. The upper bound takes lower bounds of δ between the points
//                as well: δ is convex in e^ε, so that it lies above its chords where these are continued.
// Thread safety: pure functions.
#pragma once

#include <span>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"

namespace noisefloor {

struct TradeoffPoint {
  double alpha;
  double beta_lower;
  double beta_upper;
};

// The curve at each α in [0, 1]. `resolution` is how many ε are tried; the interval narrows with its square.
[[nodiscard]] Result<std::vector<TradeoffPoint>> tradeoff_curve(const DpEvent& event, Adjacency adjacency,
                                                                std::span<const double> alphas, int resolution = 64);

}  // namespace noisefloor
