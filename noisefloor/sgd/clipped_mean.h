// Adds a person's gradient to a sum: the mean over the person's rows, clipped once (people.h).
//
// Guarantee:     the vector that is added has an L2 norm of at most the rule's sensitivity, as clip.h says. Norms are
//                computed from the very numbers that are added, so that rows whose gradients nearly cancel each other
//                cannot hide behind rounding. A gradient that is not finite adds exactly nothing.
// Thread safety: pure functions.
//
// Internal to gradient sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "noisefloor/sgd/clip.h"
#include "noisefloor/sgd/gradient_grid.h"

namespace noisefloor::internal {

// A stretch of parameters that belong to one group.
struct ParameterStretch {
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t group = 0;
};

// Which group each parameter belongs to: stretches cover all parameters, each once.
struct ParameterGroups {
  std::vector<ParameterStretch> stretches;
  std::size_t groups = 0;
};

// Adds factor · total / rows to `sum`, with the factors that the rule gives for the mean total / rows (1 without a
// rule). `total` is the sum of the gradients of `rows` rows. Returns whether the mean's norm is within the rule's bound
// (false without a rule).
bool add_clipped_mean(std::span<const float> total, std::size_t rows, const ParameterGroups& groups,
                      const ClipRule* rule, std::span<float> sum);

// The same in whole steps of a grid: the mean is rounded once, and left out if it is then longer than the grid's bound.
// Overwrites `total`.
void add_clipped_mean(std::span<float> total, std::size_t rows, const ParameterGroups& groups, const ClipRule& rule,
                      const GradientGrid& grid, std::span<std::int64_t> sum);

}  // namespace noisefloor::internal
