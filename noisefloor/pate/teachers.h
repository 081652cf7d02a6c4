// Trains teachers on their shards, on all cores, and writes down how they vote.
//
// Guarantee:     a teacher is a function of its shard's rows, the public settings and its number alone: teachers share
//                no scaler, no vocabulary, no random numbers that depend on data, and no early stopping. Shards are
//                checked to be disjoint before the first one is read. Whatever is in a shard, there is a vote: a
//                teacher whose shard is empty or whose training diverges votes as its weights, or their lack, say.
//                Weights are in memory while a teacher votes, and are written nowhere.
// Determinism:   the same shard, settings and instruction set give the same votes, however many threads there are.
// Stopped:       when it is asked to, after the teachers that are at work; all that have voted are kept in the ballots.
// Thread safety: none; it uses threads inside.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/config/pate.h"
#include "noisefloor/pate/ballots.h"
#include "noisefloor/pate/label_spreading.h"
#include "noisefloor/pate/shards.h"
#include "noisefloor/table/dataset.h"
#include "noisefloor/training/network.h"

namespace noisefloor {

struct TeachingProgress {
  std::size_t taught = 0;  // teachers that have voted
  std::size_t teachers = 0;
  double seconds = 0;
  double seconds_left = 0;
};

struct TeachingHooks {
  std::function<void(const TeachingProgress&)> progress = {};  // about once a second, and at the end
  std::function<bool()> stop = {};
};

// How one teacher or student learns, without noise: weights after `epochs` of `data`. For tests and for students, too.
struct PlainTraining {
  double epochs = 1;
  std::size_t batch_size = 1;
  Optimizer::Options optimizer;
  double learning_rate = 0.1;
  std::uint64_t seed = 0;  // of first weights and order; mixed with `number`
  std::uint64_t number = 0;
};
[[nodiscard]] Result<std::vector<float>> train_plainly(TrainableModel& model, const Dataset& data,
                                                       const PlainTraining& how);

// The class with the largest output for each example; the first one of equals, and where no output is a number.
[[nodiscard]] std::vector<std::uint16_t> classes_of(std::span<const float> outputs, std::size_t examples,
                                                    std::size_t classes);

// What teachers have in common, all of it public: the examples that they are asked about, and, for teachers that spread
// labels, the space and the graph of all public examples.
struct Classroom {
  Dataset queries;
  std::vector<std::uint64_t> order;  // numbers of the queries among the public examples
  std::optional<PrincipalSpace> space = {};
  std::optional<SpreadingGraph> graph = {};
};
[[nodiscard]] Result<Classroom> classroom_of(const Pate& pate, const Dataset& pool,
                                             std::span<const std::uint64_t> order, const Machine& machine);

// How the teacher with this shard votes on the queries.
[[nodiscard]] Result<std::vector<std::uint16_t>> ballot_of(const Pate& pate, const Dataset& data, const Shard& shard,
                                                           std::size_t teacher, const Classroom& classroom,
                                                           const Machine& machine);

// Teaches all teachers that have not voted yet; `order` has the numbers of the public examples that they are asked
// about. True if all have voted; false if it was stopped.
[[nodiscard]] Result<bool> teach(const Pate& pate, const Dataset& data, const Dataset& pool,
                                 std::span<const std::uint64_t> order, const Machine& machine, Ballots& ballots,
                                 const TeachingHooks& hooks);

}  // namespace noisefloor
