// Two bounds of one number.
#pragma once

namespace noisefloor {

// lower ≤ the true value ≤ upper.
struct Interval {
  double lower;
  double upper;
};

}  // namespace noisefloor
