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

// The directions in which examples differ most: found on public examples, used for all. Each channel of images, and
// each feature of other examples, counts by its deviations: it is divided by their root mean square.
struct PrincipalSpace {
  std::size_t components = 0;
  std::vector<float> mean;
  std::vector<float> scale;       // of each feature; 0 for a channel that is the same everywhere
  std::vector<float> directions;  // [component][feature]

  // The coordinates of the examples of `data`, [example][component].
  [[nodiscard]] std::vector<float> coordinates(const Dataset& data, std::size_t threads) const;
};
[[nodiscard]] PrincipalSpace principal_space(const Dataset& data, std::size_t components, std::size_t threads);

// The coordinates of the examples themselves.
[[nodiscard]] std::vector<float> principal_components(const Dataset& data, std::size_t components, std::size_t threads);

// kInvalidArgument for options out of range, an example or a label that there is not, or no labels at all.
[[nodiscard]] Result<SpreadLabels> spread_labels(std::span<const float> coordinates, std::size_t examples,
                                                 std::int32_t classes, std::span<const GivenLabel> given,
                                                 const SpreadingOptions& options, std::size_t threads);

// Public examples as a graph of nearest neighbours, for labels that come from elsewhere: each of them is given to the
// public examples that are nearest to it, and spread from there.
class SpreadingGraph {
 public:
  // kInvalidArgument for options out of range, or no examples.
  [[nodiscard]] static Result<SpreadingGraph> on(std::vector<float> coordinates, std::size_t examples,
                                                 const SpreadingOptions& options, std::size_t threads);

  // The class of each public example, as the labels of these points say; each class has the same weight in all. 0 where
  // no label arrives. Points with labels out of range count nothing.
  [[nodiscard]] std::vector<std::uint16_t> classes_from(std::span<const float> points,
                                                        std::span<const std::int32_t> labels,
                                                        std::int32_t classes) const;
  [[nodiscard]] std::size_t examples() const { return examples_; }

 private:
  struct Edge {
    std::uint32_t example;
    float weight;
  };
  SpreadingGraph() = default;

  std::vector<float> coordinates_;
  std::size_t examples_ = 0;
  SpreadingOptions options_;
  std::vector<std::vector<Edge>> edges_;
  std::vector<float> reach_;
};

}  // namespace noisefloor
