// The Rényi curve of a mechanism on a sample of the records, from the curve of the mechanism.
//
// Guarantee:     upper bounds; rdp.h states them.
// Not promised:  a public interface; rdp.h is.
#pragma once

#include "noisefloor/accounting/rdp.h"
#include "noisefloor/accounting/renyi_tree.h"
#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"

namespace noisefloor::internal {

[[nodiscard]] Result<RenyiBound> poisson_sampled(const PoissonSampledEvent& event, Adjacency adjacency, double order,
                                                 TreePlace place);
// Refused under add-remove.
[[nodiscard]] Result<RenyiBound> fixed_size_sampled(const FixedSizeSampledEvent& event, Adjacency adjacency,
                                                    double order, TreePlace place);

}  // namespace noisefloor::internal
