// Canaries in a training: people who do not exist, each in or out by a coin, who are drawn, clipped and noised together
// with the rows, and what became of them. What was measured refutes a training that spends more than it certifies, and
// gives ε a lower bound beside the certified upper one.
//
//   NF_TRY(auto canaries, WovenCanaries::create(model, sampler, {}, random));
//   NF_TRY(DpSgd sgd, DpSgd::create(options, canaries->sampler(), canaries->source(), canaries->extended(initial)));
//   … NF_TRY_VOID(sgd.step(random)); NF_TRY_VOID(canaries->look(sgd)); …
//   NF_TRY(const RunJudgement judged, judge(canaries->findings(), sgd.event(steps), adjacency, delta));
//
// Guarantee:     (1) Nobody pays. Each canary has a coordinate of its own behind the model's, where rows have no
//                gradient. The model's coordinates get the same sums, and noise of the same law, as without canaries:
//                the model is the same function of rows, draws and noise, and its event the same. Coins, draws and
//                noise of the canaries' coordinates do not depend on the rows, so that findings() may be published
//                (docs/proofs/canaries.md).
//                (2) A training that keeps its event is refuted with probability at most kRefuting. Its measured ε is
//                above the true one with probability at most 1 − kAuditConfidence.
// What it finds: rows that are drawn too often, always the same ones, or in turns instead of by coins; noise that is
//                too small, repeated, or shared by coordinates; a descent that does not clip; gradients of single rows
//                that are longer than the clip norm: the latter ends the run at once.
// Requires:      Poisson sampling (refused otherwise), a clip norm that does not adapt, one worker, and noise that is
//                not discrete. The coins stay in memory, unseen, until the run has ended.
// Not covered:   what a model remembers of its rows: attacks find that (shadow_models.h). The observer here is the
//                strongest one, who sees every step and knows all other rows, as the certificate has it.
// Thread safety: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "noisefloor/audit/certified_curve.h"
#include "noisefloor/audit/one_run.h"
#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/numerics/interval.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/sgd/dp_sgd.h"
#include "noisefloor/sgd/gradient_source.h"
#include "noisefloor/sgd/sampler.h"

namespace noisefloor::audit {

inline constexpr double kAuditConfidence = 0.95;  // of the measured ε
inline constexpr double kRefuting = 1e-6;         // an honest run is refuted with at most this probability

inline constexpr std::size_t kUsualCanaries = 10'000;
inline constexpr std::size_t kFewestCanaries = 100;
inline constexpr std::size_t kMostCanaries = 1'000'000;

struct WovenOptions {
  std::size_t canaries = kUsualCanaries;
  std::size_t blanks = 512;    // coordinates that hold noise alone
  double norm_in_clips = 100;  // a canary's gradient before clipping: what does not clip gives itself away
};

// What became of the canaries of a run. Nothing here depends on the rows.
struct RunFindings {
  std::uint64_t steps = 0;
  // Guesses about a fiftieth, a tenth and half of the canaries: few guesses see a small ε best, and many a large one.
  std::array<CanaryGuesses, 3> counts = {};
  std::uint64_t drawn = 0;        // how often canaries were drawn, of steps · canaries chances
  double spread_of_canaries = 0;  // Σ (draws of a canary − their mean)²
  double spread_of_steps = 0;     // Σ (draws in a step − rate · canaries)²
  double moved = 0;               // Σ draws · score over canaries that are in; scores in clip norms, as all below
  double moved_squares = 0;       // Σ draws² over them
  std::uint64_t blanks = 0;
  double noise_squares = 0;   // Σ x² over blanks and steps
  double noise_sums = 0;      // Σ over steps of (Σ x over blanks)²
  double noise_products = 0;  // Σ x · (x of the step before)
  std::uint64_t repeats = 0;  // steps whose noise had been there before
  friend bool operator==(const RunFindings&, const RunFindings&);
};

// What an event says of a descent with Poisson batches and Gaussian noise. kInvalidArgument for other events.
struct DescentClaim {
  SamplingRate rate;
  NoiseMultiplier noise;
  Steps steps;
};
[[nodiscard]] Result<DescentClaim> descent_claim(const DpEvent& event);

struct RunJudgement {
  Interval certified{0, 0};      // ε of the event
  double measured = 0;           // ε is at least this, with kAuditConfidence, whatever the mechanism
  double measured_gaussian = 0;  // the same if the trade-off curve is that of a Gaussian, which is assumed
  Interval noise{0, 0};          // the noise multiplier as measured, and the rate: with confidence 1 − kRefuting
  Interval rate{0, 0};
  Interval reach{0, 0};              // by how many clip norms a canary moved a sum that it was drawn for
  std::vector<std::string> refuted;  // what cannot be true, in words; empty for a run that passes
};
// kInvalidArgument for findings that cannot be, and for events that are not those of such a descent.
[[nodiscard]] Result<RunJudgement> judge(const RunFindings& findings, const DpEvent& event, Adjacency adjacency,
                                         Delta delta);
// The same for whoever judges many runs. Requires the curve of that claim.
[[nodiscard]] Result<RunJudgement> judge(const RunFindings& findings, const DescentClaim& claim,
                                         const CertifiedCurve& curve);

// kVerificationFailed, with what it means and what to do, if anything is refuted.
[[nodiscard]] Result<void> expect_unrefuted(const RunJudgement& judgement);

class WovenCanaries {
 public:
  // The model and the sampler are those without canaries. The model must outlive this.
  [[nodiscard]] static Result<std::unique_ptr<WovenCanaries>> create(GradientSource& model, const BatchSampler& sampler,
                                                                     const WovenOptions& options, BitStream& coins);
  WovenCanaries(const WovenCanaries&) = delete;
  WovenCanaries& operator=(const WovenCanaries&) = delete;
  ~WovenCanaries();

  // The model and the canaries as one source, and the sampler that draws both.
  [[nodiscard]] GradientSource& source();
  [[nodiscard]] const BatchSampler& sampler() const { return sampler_; }
  // First weights with those of the canaries behind them.
  [[nodiscard]] std::vector<float> extended(std::vector<float> initial) const;

  // After each step. `released` is what the step released: the noisy sum over the batch, for all coordinates; `unit`
  // is one clip norm of it.
  [[nodiscard]] Result<void> look(std::span<const float> released, double unit);
  [[nodiscard]] Result<void> look(const DpSgd& sgd);

  [[nodiscard]] Result<RunFindings> findings() const;

 private:
  class Source;
  WovenCanaries(std::unique_ptr<Source> source, BatchSampler sampler, std::vector<std::uint8_t> in, std::size_t model,
                std::size_t blanks);

  std::unique_ptr<Source> source_;
  BatchSampler sampler_;
  std::vector<std::uint8_t> in_;
  std::size_t model_;  // its parameters
  std::vector<double> scores_;
  std::vector<float> before_;        // noise of the step before, in clip norms
  std::vector<std::uint64_t> seen_;  // fingerprints of the noise of all steps
  RunFindings so_far_;
};

// No model and no rows: for audits of the descent alone.
class NoRows final : public GradientSource {
 public:
  [[nodiscard]] std::size_t examples() const override { return 0; }
  [[nodiscard]] std::size_t parameters() const override { return 0; }
  [[nodiscard]] std::size_t groups() const override { return 1; }
  [[nodiscard]] Result<std::size_t> add(std::span<const float> at, std::span<const std::uint64_t> examples,
                                        const ClipRule* rule, BitStream& stream, std::span<float> sum) override;
};

// Carries out the descent that the event states, on canaries alone: whether this program keeps such certificates.
[[nodiscard]] Result<RunFindings> audit_event(const DpEvent& event, Adjacency adjacency, const WovenOptions& options,
                                              SecureRandom& random);
[[nodiscard]] Result<RunFindings> audit_event(const DpEvent& event, Adjacency adjacency, const WovenOptions& options,
                                              ReplayRandom& random);

}  // namespace noisefloor::audit
