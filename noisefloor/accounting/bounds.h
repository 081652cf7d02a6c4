// Two sides of an ε that is known up to rounding.
#pragma once

namespace noisefloor {

// The true value is in [lower, upper]. Claims and spending use `upper`; `lower` says how much that gives away.
struct EpsilonBounds {
  double lower;
  double upper;
};

}  // namespace noisefloor
