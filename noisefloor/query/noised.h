// The noised numbers of all groups of a query: what was bought, and what answers are computed from.
//
// Guarantee:     noise is exact and whole, drawn anew for every number of every group; groups whose names are private
//                are there only if the choice of the split keeps them. Whatever the rows hold, a query with public
//                names gives the same groups in the same order.
// Not private:   WithoutNoise and UnnoisedGroups, which tests take to see what lies under the noise. They do not
//                convert into what is released.
// Thread safety: plain data; pure functions.
#pragma once

#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/engine.h"
#include "noisefloor/query/noise_split.h"
#include "noisefloor/query/plan.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor::query {

struct NoisedGroup {
  std::vector<engine::Cell> keys = {};  // as Plan::keys
  std::vector<double> numbers = {};     // as Plan::quantities, in the units of the answer
  double parts = 1;                     // how many noised numbers were added up for each of them
};

struct NoisedGroups {
  std::vector<NoisedGroup> groups;
  std::vector<ErrorLaw> errors;  // of each quantity, for one part
  std::vector<bool> has_error;   // false for quantiles, whose error is one of ranks
};

// The measurement that answers the plan, under this order key.
[[nodiscard]] engine::Measurement measurement_of(const Plan& plan, Secret32 order_key);

// Measures under a fresh order key, and adds noise.
[[nodiscard]] Result<NoisedGroups> measure_with_noise(const Plan& plan, const PlanNoise& noise, engine::Engine& engine,
                                                      BitStream& stream);
// What measure_with_noise would give for tables without rows: it reads nothing.
[[nodiscard]] NoisedGroups noise_alone(const Plan& plan, const PlanNoise& noise, BitStream& stream);

// Stands where a source of noise is wanted, and adds none: a group is kept if its number of units reaches the
// threshold, and a quantile is the exact one of the bounded rows. The order key follows from `order`.
struct WithoutNoise {
  std::uint64_t order = 0;
};
struct UnnoisedGroups {
  engine::Measured exact;  // what the engine gave, after bounding
  NoisedGroups groups;     // the same in the form of noised numbers. NOT private
};
[[nodiscard]] Result<UnnoisedGroups> measure_with_noise(const Plan& plan, const PlanNoise& noise,
                                                        engine::Engine& engine, const WithoutNoise& none);

}  // namespace noisefloor::query
