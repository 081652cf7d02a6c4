// The configuration of a private pipeline: a budget, the data, and the runs that spend it. docs/formats/pipeline.md has
// every key.
//
// Guarantee:     reading never fails: all that is wrong with the text, and not only the first mistake, comes back as
//                findings, each with its place. Every value that is read has the right type and is in its range.
//                Nothing is ignored: an unknown section or key, or a key that none of a run's techniques uses, is an
//                error.
// Thread safety: pure functions; plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/accounting/comparison.h"
#include "noisefloor/accounting/rule.h"
#include "noisefloor/base/privacy_types.h"
#include "noisefloor/config/finding.h"

namespace noisefloor {

inline constexpr std::size_t kMaxPipelineBytes = std::size_t{64} << 10;

// A value and its place in the text. A place without a value means that something is there but could not be read (and a
// finding says why).
template <class T>
struct Located {
  std::optional<T> value;
  Place place;

  [[nodiscard]] bool has() const { return value.has_value(); }
  [[nodiscard]] bool stated() const { return place.line != 0; }
  [[nodiscard]] bool unreadable() const { return stated() && !has(); }
  [[nodiscard]] const T& operator*() const { return *value; }
};

enum class Technique : std::uint8_t { kDpSgd, kDpAggregation, kFederated, kSecureAggregation, kSynthetic };
enum class SamplerKind : std::uint8_t { kPoisson, kFixedSize, kShuffle };
enum class NoiseMechanism : std::uint8_t {
  kLaplace,
  kGaussian,
  kGeometric,
  kExponential,
  kPermuteAndFlip,
  kRandomizedResponse
};
enum class Statistic : std::uint8_t { kCount, kHistogram, kSum, kMean, kQuantile };
// Where bounds and domains come from: known beforehand, bought with budget, or read off the data (a leak).
enum class BoundsSource : std::uint8_t { kPublic, kPrivate, kData };
// How tuning is paid for: every trial, the best of a secret random number of trials, or not at all because the data are
// public.
enum class Tuning : std::uint8_t { kEveryTrial, kRepeatAndSelect, kPublicData };

[[nodiscard]] std::string_view name_of(Technique technique);  // "dp-sgd", …

struct Budget {
  Place place;
  Located<Epsilon> epsilon;
  Located<Delta> delta;
  Located<Adjacency> adjacency;
  Located<PrivacyUnit> unit;
  Located<Rule> rule;  // planned or basic

  [[nodiscard]] Adjacency neighbours() const { return adjacency.value.value_or(Adjacency::kAddRemove); }
  [[nodiscard]] PrivacyUnit protects() const { return unit.value.value_or(PrivacyUnit::kRow); }
};

struct Data {
  Place place;
  Located<Rows> rows;
  Located<Rows> people;
  Located<Rows> rows_per_person;
};

// How private a run is to be.
struct RunPrivacy {
  Located<Epsilon> target_epsilon;  // the noise is calibrated to it
  Located<Epsilon> epsilon;         // ε of one query, or of a synthesizer
  Located<Delta> delta;
  Located<Accountant> accountant;
};

struct RunNoise {
  Located<NoiseMultiplier> multiplier;  // key noise_multiplier
  Located<ClipNorm> clip_norm;
  Located<NoiseMechanism> mechanism;
  Located<std::uint64_t> replay_seed;
};

// How data are visited.
struct RunSampling {
  Located<Rows> batch_size;
  Located<SamplingRate> sample_rate;
  Located<Steps> steps;
  Located<double> epochs;
  Located<SamplerKind> sampler;
};

struct RunFederation {
  Located<Contributors> clients;
  Located<Contributors> clients_per_round;
  Located<Rows> smallest_client;
  Located<Steps> rounds;
  Located<double> local_epochs;
  Located<Steps> local_steps;
  Located<bool> secure_aggregation;
};

struct RunQuery {
  Located<Statistic> statistic;
  Located<Steps> queries;
};

struct RunBounds {
  Located<double> lower;
  Located<double> upper;
  Located<BoundsSource> source;  // key bounds
  Located<Epsilon> epsilon;      // key bounds_epsilon
};

struct RunTuning {
  Located<Steps> trials;
  Located<Tuning> how;  // key tuning
};

// One run. Each group has the keys of one concern. A key in the file has the name of its field, unless a comment says
// otherwise.
struct Run {
  Place place;
  std::string name;  // as stated, or "run 2"
  Located<std::string> stated_name;
  Located<std::vector<Technique>> technique;
  RunPrivacy privacy;
  RunNoise noise;
  RunSampling sampling;
  RunFederation federation;
  RunQuery query;
  RunBounds bounds;
  RunTuning tuning;
  Located<std::string> method;  // the method of a synthesizer
  Located<bool> release;

  // False if part of the run could not be read: its cost is then unknown.
  bool readable = true;

  [[nodiscard]] bool uses(Technique wanted) const;
  [[nodiscard]] bool has_secure_aggregation() const;
};

struct Pipeline {
  Located<std::string> name;
  Budget budget;
  Data data;
  std::vector<Run> runs;
  // False if part of [budget] or [data], or a section, could not be read.
  bool readable = true;
};

struct PipelineText {
  Pipeline pipeline;
  std::vector<Finding> findings;
};

[[nodiscard]] PipelineText read_pipeline(std::string_view text);

}  // namespace noisefloor
