// PATE as a TOML file describes it: private data, teachers, how they vote, public data without labels, and a student.
// docs/formats/pate.md has every key.
//
// Guarantee:     as in pipeline.h: reading never fails, all findings come back with their places, every value that is
//                read has the right type and is in its range, and nothing is ignored.
// Thread safety: pure functions; plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/config/finding.h"
#include "noisefloor/config/training.h"

namespace noisefloor {

// How the votes of teachers become an answer.
enum class Aggregator : std::uint8_t {
  kLnMax,        // the largest count with Laplace noise
  kGnMax,        // the largest count with Gaussian noise
  kConfident,    // GNMax where the largest count with noise reaches a threshold, else no answer
  kInteractive,  // the same in rounds; later ones compare with what the student of the round before predicts
};
[[nodiscard]] std::string_view name_of(Aggregator aggregator);  // "lnmax", "gnmax", "confident-gnmax", …
[[nodiscard]] constexpr bool has_threshold(Aggregator aggregator) {
  return aggregator == Aggregator::kConfident || aggregator == Aggregator::kInteractive;
}

struct PateVotes {
  Aggregator aggregator = Aggregator::kGnMax;
  NoiseScale noise;                                // on each count, in votes: σ, or the scale of Laplace noise
  std::uint32_t threshold = 0;                     // in votes
  std::optional<NoiseScale> threshold_noise = {};  // on the largest count; only with a threshold
  std::optional<Steps> queries = {};               // asked at most; nothing: as many as fit, without a threshold
  std::optional<Steps> answers = {};               // given at most; nothing: as many as fit
  Epsilon target_epsilon;                          // for all votes together
  Delta target_delta;
  std::uint64_t order_seed = 0;  // decides which public examples are asked about, and in which order
  std::size_t rounds = 1;        // of the interactive aggregator
  double own_confidence = 0.9;   // from which the student's own label is taken where teachers do not answer
};

// The data-dependent cost, released with noise of its own.
struct PateSanitised {
  double order;
  double smoothness;
  NoiseScale noise;
  Delta delta;
};

enum class TeacherKind : std::uint8_t {
  kNetwork,  // the network of the file, trained on the shard
  kSpread,   // the labels of the shard are spread over the public examples: no network, no weights
};
[[nodiscard]] std::string_view name_of(TeacherKind kind);  // "network", "spread"

// How labels are spread along nearest neighbours.
struct PateSpreading {
  std::size_t components = 60;  // of the space in which neighbours are near
  std::size_t neighbours = 10;
  double smoothing = 0.95;  // how much a label is its neighbours' and not its own
};

enum class StudentKind : std::uint8_t {
  kSupervised,  // learns from answered examples alone
  kSpread,      // labels are spread to all public examples first
};
[[nodiscard]] std::string_view name_of(StudentKind kind);  // "supervised", "spread"

struct PateStudent {
  StudentKind kind = StudentKind::kSpread;
  PateSpreading spreading = {};
  double epochs = 0;
  Rows batch_size;
  Optimizer::Options optimizer = {};
  double learning_rate = 0;
};

struct Pate {
  // Private data, the network of teachers and student, the budget, and how a teacher learns: without noise, because its
  // weights are never released.
  Training teachers;
  std::size_t count = 0;  // of teachers
  TeacherKind kind = TeacherKind::kNetwork;
  PateSpreading spreading = {};  // of teachers that spread
  std::uint64_t seed = 0;        // first weights and order of examples: public, and the same for all data
  ExampleFiles pool;             // public examples without labels; `labels` is empty
  std::uint64_t held_out = 0;    // rows at the end of the pool's file that are not part of it
  PateVotes votes;
  std::optional<PateSanitised> sanitised = {};
  PateStudent student;

  // Whether the rows to measure the student by are the held-out rows of the pool's file.
  [[nodiscard]] bool tests_held_out() const;
};

struct PateText {
  std::optional<Pate> pate;  // empty if there is an error among the findings
  std::vector<Finding> findings;
};

// Without `named`, a file that names its dataset is refused.
[[nodiscard]] PateText read_pate(std::string_view text, const ReadNamedFile& named = {});

// Whether a text is meant as such a file: it has [votes].
[[nodiscard]] bool is_pate(std::string_view text);

}  // namespace noisefloor
