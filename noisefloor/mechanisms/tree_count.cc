#include "noisefloor/mechanisms/tree_count.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "noisefloor/base/rounding.h"

namespace noisefloor {

Result<TreeCounter> TreeCounter::create(const Sensitivity& sensitivity, Steps steps, Epsilon epsilon, Delta delta) {
  if (delta.value() == 0 && sensitivity.l1.value() != std::floor(sensitivity.l1.value())) {
    return invalid_argument(
        fmt::format("a tree of whole noise needs a whole sensitivity; got {}", sensitivity.l1.value()));
  }
  const auto levels = static_cast<std::size_t>(std::bit_width(steps.value()));
  const double height = static_cast<double>(levels);
  NF_TRY(const Sensitivity of_tree,
         Sensitivity::of_vector(sensitivity.neighbours, times_up(sensitivity.l1.value(), height),
                                times_up(sensitivity.l2.value(), sqrt_up(height))));
  if (delta.value() == 0) {
    NF_TRY(GeometricMechanism geometric, GeometricMechanism::create(of_tree, epsilon));
    return TreeCounter(steps, levels, std::move(geometric));
  }
  NF_TRY(const Dimension dimension, Dimension::make(levels));
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
