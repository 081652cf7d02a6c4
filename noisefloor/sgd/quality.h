// How good predictions are.
//
// Not covered:   nothing here is private. What is measured on private data must not be shown.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <span>

#include "noisefloor/table/dataset.h"

namespace noisefloor {

struct Quality {
  std::size_t examples = 0;
  double loss = 0;      // mean: cross-entropy, or half the squared distance
  double accuracy = 0;  // of classes; 0 for a regression
  double f1 = 0;        // mean over the classes that occur
};

// Of a network's outputs for every example, one after the other: one for each class, one logit of class 1, or a number.
[[nodiscard]] Quality quality_of(std::span<const float> outputs, const Dataset& data);

}  // namespace noisefloor
