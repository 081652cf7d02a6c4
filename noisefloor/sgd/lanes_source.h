// Gradients of a small network on all cores (lanes/).
//
// Determinism:   the same rows, parameters and number of threads give the same bits.
// Memory:        that of the lanes of each thread and a few MB of random bits, whatever the size of the batch.
#pragma once

#include <memory>
#include <vector>

#include "noisefloor/lanes/program.h"
#include "noisefloor/lanes/team.h"
#include "noisefloor/lanes/worker.h"
#include "noisefloor/model/augmentation.h"
#include "noisefloor/sgd/trainable_model.h"
#include "noisefloor/table/dataset.h"

namespace noisefloor {

class LanesSource final : public TrainableModel {
 public:
  // Fails if the data are not what the network reads and predicts, or the program is not for as many copies as are made of
  // each example. `data` must outlive the source.
  [[nodiscard]] static Result<std::unique_ptr<LanesSource>> create(lanes::Program program, const Dataset& data,
                                                                   std::size_t threads, Augmentation augmentation = {});

  [[nodiscard]] std::size_t examples() const override { return data_->rows; }
  [[nodiscard]] std::size_t parameters() const override { return training_.program.parameters(); }
  [[nodiscard]] std::size_t groups() const override { return training_.program.groups(); }
  [[nodiscard]] Result<std::size_t> add(std::span<const float> at, std::span<const std::uint64_t> rows,
                                        const ClipRule* rule, BitStream& stream, std::span<float> sum) override;
  [[nodiscard]] Result<void> add_on_grid(std::span<const float> at, std::span<const std::uint64_t> rows,
                                         const ClipRule& rule, const GradientGrid& grid, BitStream& stream,
                                         std::span<std::int64_t> sum) override;

  [[nodiscard]] std::vector<float> initial_weights(BitStream& stream) const override;
  [[nodiscard]] std::vector<NamedTensor> name_weights(std::span<const float> weights) const override;
  [[nodiscard]] Result<std::vector<float>> take_weights(const TensorFile& file) const override;
  [[nodiscard]] std::vector<float> predict(std::span<const float> at, const Dataset& data) override;

 private:
  // A program with what each thread needs to run it.
  struct Engine {
    Engine(lanes::Program of, std::size_t threads);
    lanes::Program program;
    lanes::PackedWeights packed;
    std::vector<std::unique_ptr<lanes::Worker>> workers;
  };

  LanesSource(lanes::Program program, const Dataset& data, std::size_t threads, Augmentation augmentation);

  // Calls add(member, block, random) for all blocks of the rows, on all threads.
  template <class Add>
  void each_block(std::span<const std::uint64_t> rows, BitStream& stream, Add add);
  template <class Add>
  void some_blocks(std::span<const std::uint64_t> rows, BitStream& stream, const Add& add);

  Engine training_;
  std::unique_ptr<Engine> single_;  // for predictions, where training has several copies of an example
  const Dataset* data_;
  Augmentation augmentation_;
  lanes::Team team_;
};

}  // namespace noisefloor
