// A client that was given a plan: it follows that, and does nothing else.
//
// Guarantee:     the client releases at most what the plan's statement says, whoever asks for more: its rows, samples,
//                clip norm and noise are the plan's, and after the last planned round there is none. A plan whose
//                statement does not fit its numbers is refused.
// Requires:      one client for one plan: the ledger ensures that if plans are set aside (training/plan_file.h, whose
//                numbers these are).
// Thread safety: none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/sgd/dp_sgd.h"

namespace noisefloor {

struct ClientPlan {
  Rows rows;
  ClipNorm clip;
  NoiseMultiplier noise;
  Rows batch;
  Steps rounds;
  DpStatement statement;  // for all rounds
};

class PlannedClient {
 public:
  // Settings that turn a round's sum into an update. They cost no privacy, so they are not part of the plan.
  struct Updates {
    Optimizer::Options optimizer = {};
    LearningRate::Options learning_rate = {};
  };

  // Fails if the statement is not that of these rounds. The plan's number of rows is public; the data may have another
  // one unless batches have a fixed size (sgd/sampler.h).
  [[nodiscard]] static Result<PlannedClient> create(const ClientPlan& plan, const Updates& updates,
                                                    GradientSource& source, std::vector<float> initial);

  // The next round. Refused when the plan has no more.
  [[nodiscard]] Result<void> step(SecureRandom& random);
  [[nodiscard]] Result<void> step(ReplayRandom& random);
  // Continues from a model that the server has sent.
  [[nodiscard]] Result<void> move_to(std::span<const float> parameters) { return descent_.move_to(parameters); }

  [[nodiscard]] std::uint64_t steps() const { return descent_.steps(); }
  [[nodiscard]] const std::vector<float>& parameters() const { return descent_.parameters(); }
  [[nodiscard]] Steps rounds() const { return rounds_; }
  [[nodiscard]] const DpSgd& descent() const { return descent_; }

 private:
  PlannedClient(Steps rounds, DpSgd descent) : rounds_(rounds), descent_(std::move(descent)) {}

  template <class Random>
  Result<void> next(Random& random);

  Steps rounds_;
  DpSgd descent_;
};

}  // namespace noisefloor
