#include "noisefloor/mechanisms/tree_count.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "noisefloor/base/rounding.h"
#include "noisefloor/base/wide_int.h"
#include "noisefloor/event/tree_nodes.h"

namespace noisefloor {
namespace {

// The most nodes in which the streams of two neighbours differ. Rows of one person may lie in several steps.
Result<Dimension> differing_nodes(const Neighbours& neighbours, Steps steps) {
  const std::uint64_t rows = neighbours.rows_per_unit.value();
  const std::uint64_t one = tree_nodes(steps, neighbours.adjacency);
  if (rows == 1) return Dimension::make(one);
  const auto height = static_cast<std::uint64_t>(std::bit_width(steps.value()));
  const std::uint64_t sides = neighbours.adjacency == Adjacency::kReplaceOne ? 2 : 1;
  // There are fewer than twice as many nodes as steps.
  const Uint128 differing = std::min(Uint128{sides} * rows * height, 2 * Uint128{steps.value()});
  return Dimension::make(static_cast<std::uint64_t>(std::min(differing, Uint128{std::uint64_t{1} << 53})));
}

}  // namespace

Result<TreeCounter> TreeCounter::create(const Sensitivity& sensitivity, Steps steps, Epsilon epsilon, Delta delta) {
  if (delta.value() == 0 && sensitivity.l1.value() != std::floor(sensitivity.l1.value())) {
    return invalid_argument(
        fmt::format("a tree of whole noise needs a whole sensitivity; got {}", sensitivity.l1.value()));
  }
  const auto levels = static_cast<std::size_t>(std::bit_width(steps.value()));
  const auto nodes = static_cast<double>(tree_nodes(steps, sensitivity.neighbours.adjacency));
  NF_TRY(const Sensitivity of_tree,
         Sensitivity::of_vector(sensitivity.neighbours, times_up(sensitivity.l1.value(), nodes),
                                times_up(sensitivity.l2.value(), sqrt_up(nodes))));
  if (delta.value() == 0) {
    NF_TRY(GeometricMechanism geometric, GeometricMechanism::create(of_tree, epsilon));
    return TreeCounter(steps, levels, std::move(geometric));
  }
  NF_TRY(const Dimension dimension, differing_nodes(sensitivity.neighbours, steps));
  NF_TRY(GaussianMechanism gaussian, GaussianMechanism::create(of_tree, epsilon, delta, dimension));
  return TreeCounter(steps, levels, std::move(gaussian));
}

const DpStatement& TreeCounter::statement() const {
  return std::visit([](const auto& noise) -> const DpStatement& { return noise.statement(); }, noise_);
}

double TreeCounter::worst_standard_deviation() const {
  const double nodes = std::sqrt(static_cast<double>(nodes_.size()));
  if (const auto* geometric = std::get_if<GeometricMechanism>(&noise_))
    return nodes * std::sqrt(2.0) * geometric->scale();
  return nodes * std::get<GaussianMechanism>(noise_).sigma();
}

double TreeCounter::noised(Int128 sum, BitStream& stream) const {
  return std::visit([&](const auto& noise) { return noise.noised(saturate_to_int64(sum), stream); }, noise_);
}

Result<double> TreeCounter::advance(std::int64_t value, BitStream& stream) {
  if (done_ == steps_.value() || nodes_.empty()) {
    return budget_exhausted(fmt::format("this counter was planned for {} steps, and they are over", steps_.value()));
  }
  ++done_;
  // The new step completes the node at the lowest set bit of its number, which swallows the nodes below it.
  const auto level = static_cast<std::size_t>(std::countr_zero(done_));
  Int128 sum = value;
  for (std::size_t below = 0; below < level; ++below) {
    sum += nodes_[below].sum;
    nodes_[below] = {};
  }
  nodes_[level] = {sum, noised(sum, stream)};
  double total = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if ((done_ >> i & 1) != 0) total += nodes_[i].noised;
  }
  return total;
}

}  // namespace noisefloor
