// A site's descent on its own rows: what it does in a round, for every strategy, in clear or with noise of its own.
//
// A round:       y = x; steps of y -= rate · direction(y); the update is y − x. The direction is the mean gradient of
//                a batch, plus weight decay, as the strategy corrects it (strategy.h).
// Batches:       without noise, stretches of the shuffled rows, as usual. With noise, each row by a coin of its own
//                (Poisson), and the sum of clipped gradients plus noise is divided by the expected size.
// Guarantee:     with noise, what leaves the site in a round, and all that is kept for later rounds except for the
//                personal model, is a function of `steps` releases, each of which event_of_step() describes. Clipping
//                comes before the strategy's correction, which is of public numbers and of what was released before.
// Personal:      parts that never leave the site: its own last parameters (FedPer, Arivazhagan et al. 2019), or a model
//                of its own, pulled towards the common one (Ditto, Li et al. 2021). That model descends without noise:
//                it must not be published.
// Not covered:   the noise is floating-point (random/gaussian_vector.h). The number of a site's rows is public.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_sgd_event.h"
#include "noisefloor/federated/row_noise.h"
#include "noisefloor/federated/site.h"
#include "noisefloor/federated/strategy.h"
#include "noisefloor/federated/upload.h"
#include "noisefloor/sgd/trainable_model.h"
#include "noisefloor/table/dataset.h"

namespace noisefloor::federated {

// Makes the model for these examples, which outlive it. Called from several threads at once.
using ModelMaker = std::function<Result<std::unique_ptr<TrainableModel>>(const Dataset& examples)>;

// Clipping and noise of each local step.
struct StepNoise {
  ClipNorm clip;
  NoiseMultiplier noise;
};

// Clipping, and a share of the noise of a sum over sites (row_noise.h). A round is one step; each row joins it by a
// coin of this probability, which is the same at all sites. What leaves the site is its share of the sum, not an
// update.
struct SharedNoise {
  const RowNoise* noise;  // outlives the descent
  ClipNorm clip;
  SamplingRate rate;
  std::uint32_t survivors;  // at least so many: what a round costs is stated for them
};

struct LocalDescentOptions {
  std::uint64_t steps = 1;  // of a round
  std::uint64_t batch = 1;  // rows of a step; the expected number with noise
  double rate = 0.1;
  double weight_decay = 0;
  std::optional<StepNoise> noise = {};
  std::optional<SharedNoise> shared = {};  // in place of `noise`
  std::size_t own = 0;                     // so many last parameters stay at the site
  std::optional<double> ditto{};           // λ of a personal model
};

class LocalDescent final : public LocalWork {
 public:
  // `first` are all initial parameters; the layout is for those that are shared. Strategy and layout of the run, the
  // rows and the maker outlive it. Fails for numbers out of range.
  [[nodiscard]] static Result<std::unique_ptr<LocalDescent>> create(const LocalDescentOptions& options,
                                                                    const Strategy& strategy,
                                                                    const UploadLayout& layout, const Dataset& rows,
                                                                    const ModelMaker& maker, std::vector<float> first);

  // The event of one local step, and of a round. Non-private without noise. With shared noise: of opening the sum of
  // the fewest survivors, for a row of this site.
  [[nodiscard]] DpEvent event_of_step() const;
  [[nodiscard]] DpStatement statement_of_round() const;

  [[nodiscard]] Result<Contribution> contribute(const RoundTask& task, BitStream& stream) override;

  // The model that this site would use itself: the shared parameters with its own, or its personal one. `own` is what
  // the site keeps (Site::own), empty before its first round.
  [[nodiscard]] std::vector<float> personal(std::span<const float> shared, std::span<const std::uint8_t> own) const;

  // `steps` more steps from `from`, all parameters, without noise: for a model that stays at the site.
  [[nodiscard]] Result<std::vector<float>> fine_tuned(std::vector<float> from, std::uint64_t steps,
                                                      BitStream& stream) const;

  [[nodiscard]] std::uint64_t rounds() const { return rounds_; }

 private:
  struct Kept {                   // between rounds
    std::vector<double> control;  // SCAFFOLD's c_i
    std::vector<float> last;      // its own last parameters
    std::vector<float> model;     // the personal one
  };
  class Batches;
  using Correct = std::function<void(std::span<float> gradient, std::span<const float> y)>;

  LocalDescent(const LocalDescentOptions& options, const Strategy& strategy, const UploadLayout& layout,
               const Dataset& rows, const ModelMaker& maker, std::vector<float> first);

  [[nodiscard]] Result<Contribution> share_of_sum(TrainableModel& model, const std::vector<float>& y, Kept& kept,
                                                  BitStream& stream);
  [[nodiscard]] Result<void> descend_personal(TrainableModel& model, std::span<const float> x, Kept& kept,
                                              BitStream& stream) const;
  [[nodiscard]] Kept read(std::span<const std::uint8_t> own) const;
  [[nodiscard]] std::vector<std::uint8_t> write(const Kept& kept) const;
  [[nodiscard]] Result<void> descend(TrainableModel& model, std::vector<float>& y, std::uint64_t steps, bool with_noise,
                                     const Correct& correct, BitStream& stream) const;

  LocalDescentOptions options_;
  const Strategy* strategy_;
  const UploadLayout* layout_;
  const Dataset* rows_;
  const ModelMaker* maker_;
  std::vector<float> first_;
  std::size_t shared_;
  std::optional<ClipRule> clip_;
  std::optional<BatchLaw> law_;
  std::uint64_t rounds_ = 0;
};

}  // namespace noisefloor::federated
