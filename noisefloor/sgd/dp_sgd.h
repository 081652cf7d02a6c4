// Differentially private stochastic gradient descent: draw a batch, clip each example's gradient, sum, add noise once,
// divide by the expected size, step. An example is a row, or a person with several rows (people.h): the source decides.
//
// Implements:    Abadi et al. 2016; adaptive clipping: Andrew et al. 2021.
// Guarantee:     after t steps with a SecureRandom, everything here (parameters, their average, the optimizer, the clip
//                norm) is a function of t releases, each of which event_of_step() describes. Noise is added exactly
//                once a step, and to empty batches too. With adaptive clipping the count of small norms is part of the
//                same release: its noise is paid for by more noise on the sum, so that the event stays the same.
//                With a ReplayRandom there is no privacy, and never again: replayed() stays true. With discrete noise,
//                gradients are rounded to a grid; sums and noise are exact, so that the release carries no traces of
//                floating-point arithmetic (gradient_grid.h).
// Workers:       several processes may descend together, each with a DpSgd of its own in one WorkerGroup. Each draws
//                from its part of the rows, clips, and adds its share of the noise before the sum leaves the process:
//                1/size of the variance, rounded up. The sum over all is then the release that event_of_step()
//                describes, and every worker takes the same step from the same bits. If the exchange fails, the step
//                fails too, and nothing changes. If one worker replays, all are replayed. All workers have the whole
//                data and start alike (checked, except for the data). Discrete noise is for one worker.
// Not covered:   without discrete noise, sums and noise are floating-point (random/gaussian_vector.h says which attacks
//                that leaves open).
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/random/discrete_gaussian.h"
#include "noisefloor/sgd/clip.h"
#include "noisefloor/sgd/gradient_grid.h"
#include "noisefloor/sgd/gradient_source.h"
#include "noisefloor/sgd/optimizer.h"
#include "noisefloor/sgd/sampler.h"
#include "noisefloor/sgd/schedule.h"
#include "noisefloor/sgd/worker_group.h"

namespace noisefloor {

// Moves the clip norm towards a quantile of the gradients' norms.
struct AdaptiveClip {
  double quantile = 0.5;
  double rate = 0.2;                // step of the exponent, at each step of the descent
  double count_noise_share = 0.05;  // standard deviation of the noise on the count, as a share of the expected batch
};

class DpSgd {
 public:
  struct Options {
    std::optional<NoiseMultiplier> noise = {};  // none: no noise, and no privacy
    std::optional<ClipRule> clip = {};          // none: no clipping, and no privacy
    std::optional<AdaptiveClip> adaptive = {};  // needs a FlatClip, whose norm it starts from
    bool discrete = false;                      // noise in whole steps of a grid; not with adaptive clipping
    Optimizer::Options optimizer = {};
    LearningRate::Options learning_rate = {};
    double averaging = 0;  // weight of the past in the exponential average of the weights; 0 for no average
  };

  // All that later steps depend on, except for randomness.
  struct State {
    std::uint64_t steps = 0;
    std::vector<float> parameters;
    std::vector<float> averaged;  // empty without averaging
    Optimizer::State optimizer;
    double clip_norm = 0;
    bool replayed = false;
  };

  // Fails if the options do not fit each other or the sizes, or if the sampler draws rows and the source has people, or
  // the reverse. With a group, all its members call this; they start from the initial weights of rank 0. The group and
  // the source must outlive the descent.
  [[nodiscard]] static Result<DpSgd> create(Options options, BatchSampler sampler, GradientSource& source,
                                            std::vector<float> initial, WorkerGroup* group = nullptr);

  [[nodiscard]] Result<void> step(SecureRandom& random) { return step(static_cast<BitStream&>(random)); }
  [[nodiscard]] Result<void> step(ReplayRandom& random) {
    replayed_ = true;
    return step(static_cast<BitStream&>(random));
  }

  [[nodiscard]] State state() const;
  // Continues from this state. Fails if the state belongs to another model or other options. Once replayed, always
  // replayed. In a group all members call this, with the same state (checked).
  [[nodiscard]] Result<void> restore(State state);

  // Takes the next step from these parameters, which others may have changed too. Fails for another number of
  // parameters.
  // Requires: they were computed from nothing private except what steps like these have released.
  [[nodiscard]] Result<void> move_to(std::span<const float> parameters);

  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  [[nodiscard]] const std::vector<float>& parameters() const { return parameters_; }
  // The averaged parameters if averaging was asked for, or else the last ones.
  [[nodiscard]] const std::vector<float>& result() const { return averaged_.empty() ? parameters_ : averaged_; }
  // What the last step released: the noisy sum of clipped gradients, divided by the expected batch. Zeros before the
  // first step.
  [[nodiscard]] std::span<const float> released() const { return std::span(sum_).first(parameters_.size()); }
  [[nodiscard]] const BatchSampler& sampler() const { return sampler_; }
  // Whose data a step protects: that of one row, or all rows of one person.
  [[nodiscard]] PrivacyUnit unit() const { return sampler_.unit(); }
  [[nodiscard]] double clip_norm() const;  // the present one; 0 without clipping
  [[nodiscard]] bool replayed() const { return replayed_; }
  // Everything that decides the steps, except for data, model and randomness; two descents have the same text only if
  // they are the same.
  [[nodiscard]] const std::string& description() const { return description_; }

  // The event of each step. It is non-private without noise, without clipping, or when replayed.
  [[nodiscard]] DpEvent event_of_step() const;
  // The event of `steps` such steps.
  [[nodiscard]] DpEvent event(Steps steps) const;
  // The same before there is a descent: the event of a step with this noise on a model with so many parameters.
  [[nodiscard]] static Result<DpEvent> event_of_step(const BatchSampler& sampler, NoiseMultiplier noise,
                                                     const ClipRule& clip, bool discrete, std::size_t parameters);

 private:
  DpSgd(Options options, std::string description, BatchSampler sampler, GradientSource& source, Optimizer optimizer,
        LearningRate rate, std::vector<float> initial, WorkerGroup* group);

  Result<void> step(BitStream& stream);
  // sum_ = the sum over these examples, with noise. Returns how many norms were within the bound (0 with discrete
  // noise).
  Result<std::size_t> noisy_sum(std::span<const std::uint64_t> examples, BitStream& stream);
  Result<void> discrete_sum(std::span<const std::uint64_t> examples, BitStream& stream);
  // Replaces our sum and count by those of all workers together.
  Result<void> exchange(float& count);
  // The noise on the sum, in units of the sensitivity.
  [[nodiscard]] double noise_on_sum() const;
  // This worker's share of a noise of this scale.
  [[nodiscard]] float own_noise(double total) const;
  // The number of gradients within the norm, less half of all, with noise.
  [[nodiscard]] float noisy_count(std::size_t within, std::size_t drawn, BitStream& stream) const;
  void set_clip_norm(double norm);
  void adapt(float count);

  // State that only discrete noise needs.
  struct Lattice {
    GradientGrid grid;
    DiscreteGaussian noise;
    std::vector<std::int64_t> sum;
    std::vector<std::int64_t> draws;
  };

  Options options_;
  std::string description_;
  BatchSampler sampler_;
  GradientSource* source_;
  std::optional<Lattice> lattice_;
  WorkerGroup* group_;
  Optimizer optimizer_;
  LearningRate rate_;
  std::vector<float> parameters_;
  std::vector<float> averaged_;
  std::vector<float> sum_;  // a group appends two numbers: the count, and how many workers replay
  std::uint64_t steps_ = 0;
  bool replayed_ = false;
};

}  // namespace noisefloor
