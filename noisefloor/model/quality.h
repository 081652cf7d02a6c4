// Measures how good predictions are, and how good the best answer is that looks at no features.
//
// Not covered:   nothing here is private. A quality that was measured on private data must not be shown.
// Cost:          O(n log n) for n examples of two classes, O(n) otherwise.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "noisefloor/table/dataset.h"

namespace noisefloor {

struct Quality {
  std::size_t examples = 0;
  double loss = 0;  // mean: cross-entropy, or half the squared distance

  // For classes:
  std::optional<double> accuracy = {};
  std::optional<double> majority_accuracy =
      {};                         // of always answering the class that is most frequent in these examples
  std::optional<double> f1 = {};  // mean over the classes that occur; for two classes, that of class 1
  // For two classes: how often an example of class 1 scores above one of class 0, over all such pairs; a tie counts a
  // half. Nothing if a class does not occur, or a score is not a number.
  std::optional<double> auc = {};
  // How much of what was to be found is among 20 suggestions. With more than 20 classes: the share of examples whose
  // class is among the 20 most likely ones. With two classes and groups: the share of each group's examples of class 1
  // that is among its 20 most likely ones, averaged over groups that have any.
  std::optional<double> recall_at_20 = {};

  // For numbers, in the unit of the target: the root of the mean squared distance, and that of always answering the
  // mean of these examples.
  std::optional<double> rmse = {};
  std::optional<double> mean_rmse = {};

  // For a text: how many characters were predicted. Loss and accuracy are then means over them.
  std::size_t positions = 0;
};

// The measured figures, by the names under which files and programs know them: "loss", "accuracy", … and, for a text,
// "perplexity".
[[nodiscard]] std::vector<std::pair<const char*, double>> named_figures(const Quality& quality);

// Judges a network's outputs for every example, one after the other: one for each class, one logit of class 1, or a
// number.
[[nodiscard]] Quality quality_of(std::span<const float> outputs, const Dataset& data);

}  // namespace noisefloor
