// The student: a model that learns from public examples and released labels alone.
//
// Guarantee:     nothing private goes in: what it learns is post-processing of what was released, and costs nothing.
//                The same examples, labels and settings give the same weights.
// Thread safety: none; it uses threads inside.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/config/pate.h"
#include "noisefloor/pate/label_spreading.h"
#include "noisefloor/pate/voting.h"
#include "noisefloor/sgd/trainable_model.h"
#include "noisefloor/table/dataset.h"
#include "noisefloor/training/network.h"

namespace noisefloor {

class Student {
 public:
  // `pool`: the public examples. Finds the coordinates in which labels are spread, once.
  [[nodiscard]] static Student on(const Pate& pate, Dataset pool, const Machine& machine);

  // Learns from the examples that have a label. kInvalidArgument if none has.
  [[nodiscard]] Result<void> learn(std::span<const GivenLabel> labels);

  [[nodiscard]] const Dataset& pool() const { return pool_; }
  // After learn().
  [[nodiscard]] std::vector<NamedTensor> named_weights() const { return model_->name_weights(weights_); }
  [[nodiscard]] Quality quality(const Dataset& test) { return model_->quality(weights_, test); }
  [[nodiscard]] std::size_t parameters() const { return model_->parameters(); }
  // The probability of each class for these examples of the pool.
  [[nodiscard]] Result<std::vector<Prediction>> predict(std::span<const std::uint64_t> examples);

 private:
  Student(const Pate& pate, Dataset pool, const Machine& machine)
      : pate_(&pate), pool_(std::move(pool)), machine_(machine) {}

  const Pate* pate_;
  Dataset pool_;
  Machine machine_;
  std::vector<float> coordinates_;
  std::unique_ptr<Dataset> taught_;  // what it last learned from; the model is bound to it
  std::unique_ptr<TrainableModel> model_;
  std::vector<float> weights_;
};

// Which examples have which label, of teachers or of the student itself.
[[nodiscard]] std::vector<GivenLabel> given_labels(std::span<const ReleasedLabel> labels);

}  // namespace noisefloor
