// Spreads a few labels over many public examples: what is near in the space of features gets the same label.
//
// Implements:    label spreading (Zhou et al. 2004) on the graph of nearest neighbours in the space of the principal
//                components of the features.
// Privacy:       public examples and released labels alone go in, so that what comes out costs nothing.
// Determinism:   the same examples, labels and options give the same bits, however many threads there are.
// Thread safety: pure functions; they use threads inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/table/dataset.h"

namespace noisefloor {

struct SpreadingOptions {
  std::size_t components = 60;
  std::size_t neighbours = 10;
  double smoothing = 0.95;  // α: how much of an example's label is that of its neighbours; above 0 and below 1
  std::size_t rounds = 200;
};

struct GivenLabel {
  std::uint64_t example;
  std::int32_t label;
};

struct SpreadLabels {
  std::vector<std::int32_t> labels;  // −1 for an example that no label has reached
  std::vector<float> shares;         // [example][class]: how much of each label has arrived, in shares of 1
};

// The coordinates of the examples, [example][component], in the directions in which they differ most. Features that are
// the same for all examples count nothing; the others are taken as they are.
[[nodiscard]] std::vector<float> principal_components(const Dataset& data, std::size_t components, std::size_t threads);

// kInvalidArgument for options out of range, an example or a label that there is not, or no labels at all.
[[nodiscard]] Result<SpreadLabels> spread_labels(std::span<const float> coordinates, std::size_t examples,
                                                 std::int32_t classes, std::span<const GivenLabel> given,
                                                 const SpreadingOptions& options, std::size_t threads);

}  // namespace noisefloor
