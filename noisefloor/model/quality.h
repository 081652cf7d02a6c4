// How good predictions are.
//
// Not covered:   nothing here is private. What is measured on private data must not be shown.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "noisefloor/table/dataset.h"

namespace noisefloor {

struct Quality {
  std::size_t examples = 0;
  double loss = 0;  // mean: cross-entropy, or half the squared distance
  // Of classes:
  std::optional<double> accuracy = {};
  std::optional<double> f1 = {};  // mean over the classes that occur; of two classes, that of class 1
  // How much of what was to be found is among 20 suggestions. With more than 20 classes: the share of examples whose class
  // is among the 20 that are held most likely. With two classes and groups: of each group's examples of class 1 the share
  // that is among its 20 most likely ones, the mean over groups that have any.
  std::optional<double> recall_at_20 = {};
  // Of a text: how many characters were predicted. Loss and accuracy are then means over them.
  std::size_t positions = 0;
};

// Of a network's outputs for every example, one after the other: one for each class, one logit of class 1, or a number.
[[nodiscard]] Quality quality_of(std::span<const float> outputs, const Dataset& data);

}  // namespace noisefloor
