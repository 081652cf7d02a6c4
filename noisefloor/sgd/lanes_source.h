// Gradients of a small network on all cores (lanes/).
//
// Determinism:   the same rows, parameters and number of threads give the same bits.
// People:        if the data say which rows belong to whom, people are drawn and clipped (people.h). Rows of several
//                people go through the network side by side, and each person's gradient is added up before it is
//                clipped. People with one row are treated as rows are.
// Memory:        the lanes of each thread and a few MB of random bits, whatever the size of the batch; for people also
//                lanes · parameters for each thread, and the random bits of all rows of one person.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "noisefloor/lanes/program.h"
#include "noisefloor/lanes/team.h"
#include "noisefloor/lanes/worker.h"
#include "noisefloor/model/augmentation.h"
#include "noisefloor/sgd/clipped_mean.h"
#include "noisefloor/sgd/people.h"
#include "noisefloor/sgd/trainable_model.h"
#include "noisefloor/table/dataset.h"

namespace noisefloor {

class LanesSource final : public TrainableModel {
 public:
  // Fails if the network cannot read the data or predict their labels, or if the program expects another number of
  // copies of an example than the augmentation makes. `data` must outlive the source.
  [[nodiscard]] static Result<std::unique_ptr<LanesSource>> create(lanes::Program program, const Dataset& data,
                                                                   std::size_t threads, Augmentation augmentation = {});

  [[nodiscard]] std::size_t examples() const override { return people_ ? people_->size() : data_->rows; }
  [[nodiscard]] const People* people() const override { return people_ ? &*people_ : nullptr; }
  [[nodiscard]] std::size_t parameters() const override { return training_.program.parameters(); }
  [[nodiscard]] std::size_t groups() const override { return training_.program.groups(); }
  [[nodiscard]] Result<std::size_t> add(std::span<const float> at, std::span<const std::uint64_t> examples,
                                        const ClipRule* rule, BitStream& stream, std::span<float> sum) override;
  [[nodiscard]] Result<void> add_on_grid(std::span<const float> at, std::span<const std::uint64_t> examples,
                                         const ClipRule& rule, const GradientGrid& grid, BitStream& stream,
                                         std::span<std::int64_t> sum) override;

  [[nodiscard]] std::vector<float> initial_weights(BitStream& stream) const override;
  [[nodiscard]] std::vector<NamedTensor> name_weights(std::span<const float> weights) const override;
  [[nodiscard]] Result<std::vector<float>> take_weights(const TensorFile& file) const override;
  [[nodiscard]] std::vector<float> predict(std::span<const float> at, const Dataset& data) override;

 private:
  // A program with the memory that each thread needs to run it.
  struct Engine {
    Engine(lanes::Program of, std::size_t threads);
    lanes::Program program;
    lanes::PackedWeights packed;
    std::vector<std::unique_ptr<lanes::Worker>> workers;
  };

  LanesSource(lanes::Program program, const Dataset& data, std::size_t threads, Augmentation augmentation,
              std::optional<People> people);

  // Rows with the random bits of their blocks. The bits are drawn beforehand, because threads share no stream.
  struct Piece {
    std::span<const std::uint64_t> rows;
    std::vector<std::uint32_t> words;    // bits for each block
    std::vector<std::uint32_t> changes;  // augmentation of each copy of each row
  };
  // Rows first_row … last_row − 1 of a piece; first_row begins block number first_block.
  struct Part {
    std::size_t first_row = 0;
    std::size_t last_row = 0;
    std::size_t first_block = 0;
  };

  // How many rows a piece has at most: all, if no random bits are needed.
  [[nodiscard]] std::size_t rows_at_once(std::size_t rows) const;
  [[nodiscard]] Piece piece_of(std::span<const std::uint64_t> rows, std::size_t blocks, BitStream& stream) const;
  // Calls add(block, random, its first row in the piece) for all blocks of a part.
  template <class Add>
  void blocks_of(const Piece& piece, const Part& part, const Add& add) const;
  // Calls add(member, block, random) for all blocks of the rows, on all threads.
  template <class Add>
  void each_block(std::span<const std::uint64_t> rows, BitStream& stream, const Add& add);
  // Calls add(member, total, rows) for all people with several rows, on all threads; `total` is the sum of the
  // gradients of a person's `rows` rows. One thread handles a person from beginning to end.
  template <class Add>
  void each_person(std::span<const float> at, const PeoplesRows& taken, BitStream& stream, const Add& add);
  template <class Add>
  void some_people(std::span<const float> at, std::span<const std::uint64_t> rows, std::span<const std::size_t> ends,
                   std::size_t before, BitStream& stream, const Add& add);
  // The rows that take part for these examples.
  [[nodiscard]] PeoplesRows rows_of(std::span<const std::uint64_t> examples, BitStream& stream) const;

  Engine training_;
  std::unique_ptr<Engine> single_;  // for predictions, if training makes several copies of an example
  const Dataset* data_;
  Augmentation augmentation_;
  std::optional<People> people_;
  internal::ParameterGroups parameter_groups_;
  // Sums of the gradients of people: for each thread, a vector for each lane. All zeros between calls.
  std::vector<std::vector<std::vector<float>>> totals_;
  lanes::Team team_;
};

}  // namespace noisefloor
