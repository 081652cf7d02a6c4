// The Rényi curve of a tree of events, at one order.
//
// Guarantee:     upper bounds; rdp.h states them.
// Not promised:  a public interface; rdp.h is.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "noisefloor/accounting/rdp.h"
#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"

namespace noisefloor::internal {

// The divergences of events within samples at whole orders. A sample at one order needs all whole orders below of what
// is sampled, so they are kept while a tree is asked at many orders.
// Lifetime: at most that of the tree, whose nodes it knows by their addresses.
class WholeOrders {
 public:
  // D_0, D_1 (both unused), D_2 … D_n at least, of an event with `depth` samples around it. Valid until the next call.
  [[nodiscard]] Result<std::span<const double>> up_to(int n, const DpEvent& event, Adjacency adjacency, int depth);

 private:
  std::map<std::tuple<const DpEventVariant*, Adjacency, int>, std::vector<double>> known_;
};

// Where in a tree an event stands. `depth` counts the samples around it: bounds of samples within samples are summed
// over fewer orders.
struct TreePlace {
  WholeOrders& known;
  int depth = 0;
};

// At a finite order above 1.
[[nodiscard]] Result<RenyiBound> tree_bound(const DpEvent& event, Adjacency adjacency, double order, TreePlace place);

// Σ 1/z² if the event is exactly a Gaussian mechanism. Gaussians in a row are one (also if chosen adaptively: the pair
// of the composition is dominated by that of one Gaussian).
[[nodiscard]] std::optional<double> gaussian_precision(const DpEvent& event, Adjacency adjacency);

// The pure ε of the event, apart from its delta; +∞ if there is none.
[[nodiscard]] double pure_epsilon(const DpEvent& event, Adjacency adjacency);

// The share of the population in a sample, rounded up.
[[nodiscard]] double fraction_of(const FixedSizeSampledEvent& event);

}  // namespace noisefloor::internal
