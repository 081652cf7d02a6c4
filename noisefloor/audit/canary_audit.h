// Audits a private descent by canaries: gradients that are nobody's, each in or out by a coin, in a direction of its
// own. Whoever sees the weights sees what each canary left behind, as clearly as the noise allows.
//
//   NF_TRY(const CertifiedCurve certified, CertifiedCurve::create(event, Adjacency::kAddRemove, Delta::of(1e-5)));
//   NF_TRY(const CanaryAudit audit, audit_run(run, certified, {.canaries = 10'000}, random));
//   if (audit.refuted) …   // the run spends more than its certificate says
//
// Guarantee:     if the descent keeps its certificate, `refuted` is true with probability at most `significance`, which
//                two tests share: of the trade-off curve, and of ε. Then measured_epsilon is at most ε. Canaries go
//                through the very sampler, clipping and noise that rows go through.
// What it finds: noise that is too small, missing, shared or repeated; clipping that does not clip; batches that are
//                drawn more often than stated. caught_at() says how much noise could be missing before this audit would
//                notice: print it beside a result, because "nothing found" is no praise.
// Not covered:   gradients of a real network, whose directions overlap; the weights of real trainings are harder to
//                read. What is audited is the mechanism, with its strongest observer.
// Thread safety: pure functions; the source of randomness is used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "noisefloor/audit/certified_curve.h"
#include "noisefloor/audit/one_run.h"
#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/numerics/interval.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/sgd/dp_sgd.h"
#include "noisefloor/sgd/gradient_source.h"

namespace noisefloor::audit {

// Gradients of canaries: canary i is one coordinate of the weights, and nothing else. Those that are out add nothing,
// as if they were not there.
class CanarySource final : public GradientSource {
 public:
  // Gradients have this norm before they are clipped. Requires a finite norm above 0 (checked).
  CanarySource(std::vector<std::uint8_t> in, double norm);

  [[nodiscard]] std::size_t examples() const override { return in_.size(); }
  [[nodiscard]] std::size_t parameters() const override { return in_.size(); }
  [[nodiscard]] std::size_t groups() const override { return 1; }
  [[nodiscard]] Result<std::size_t> add(std::span<const float> at, std::span<const std::uint64_t> examples,
                                        const ClipRule* rule, BitStream& stream, std::span<float> sum) override;

 private:
  std::vector<std::uint8_t> in_;
  double norm_;
};

struct CanaryOptions {
  std::size_t canaries = 10'000;
  std::uint64_t guesses = 0;   // 0: a tenth of the canaries
  double norm_in_clips = 100;  // a canary's gradient before clipping: what does not clip gives itself away
  Significance significance = Significance::of(0.05);
};

// A run that is to be audited: descends by `source`, as many weights as canaries, and returns a score for each canary,
// larger for one that seems to be in. Any function of what the run releases may be a score: the last weights (started
// from 0, with a rate above 0, they move towards the canaries that are in), or something that watches every step.
using AuditedRun = std::function<Result<std::vector<float>>(GradientSource& source)>;

struct CanaryAudit {
  CanaryGuesses counts;
  bool refuted = false;         // the certified trade-off curve cannot be true
  double measured_epsilon = 0;  // at least this, whatever the curve
  Interval certified_epsilon{0, 0};
};

// Draws the coins, runs, guesses, and compares with what is certified.
[[nodiscard]] Result<CanaryAudit> audit_run(const AuditedRun& run, const CertifiedCurve& certified,
                                            const CanaryOptions& options, BitStream& coins);

// The share of the certified noise below which such an audit would notice the lack in most runs, if the run is that of
// a Gaussian with the certified ε, and all else is right: 1 means that the least lack would be seen. 0: not even a
// thousandth of the noise would be noticed. Takes a hundred simulated audits, from a fixed seed.
[[nodiscard]] Result<double> caught_at(const CertifiedCurve& certified, const CanaryOptions& options);

// Audits a descent with these options, whose event it states itself. Uses plain gradient descent.
struct AuditedDescent {
  NoiseMultiplier noise;
  ClipNorm clip = ClipNorm::of(1);
  Steps steps = Steps::of(1);
  SamplingRate rate = SamplingRate::of(1);  // Poisson; the number of canaries in a batch follows
  Delta delta = Delta::of(1e-5);
};
[[nodiscard]] Result<CanaryAudit> audit_descent(const AuditedDescent& descent, const CanaryOptions& options,
                                                SecureRandom& random);
// Repeatable, for tests: not private, and the event that is audited is that of the same descent with secure noise.
[[nodiscard]] Result<CanaryAudit> audit_descent(const AuditedDescent& descent, const CanaryOptions& options,
                                                ReplayRandom& random);

}  // namespace noisefloor::audit
