#include "noisefloor/audit/canary_audit.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "noisefloor/audit/gaussian_curve.h"
#include "noisefloor/base/check.h"
#include "noisefloor/numerics/bisect.h"

namespace noisefloor::audit {
namespace {

constexpr std::uint64_t kPowerSeed = 1;  // of the audits that are simulated to tell what one can notice
constexpr int kPowerAudits = 9;

std::vector<std::uint8_t> toss(std::size_t count, BitStream& coins) {
  std::vector<std::uint8_t> in(count);
  for (std::uint8_t& coin : in) coin = static_cast<std::uint8_t>(coins.next_u64() >> 63);
  return in;
}

std::uint64_t guesses_of(const CanaryOptions& options) {
  return options.guesses != 0 ? options.guesses : std::max<std::uint64_t>(2, options.canaries / 10);
}

double standard_normal(BitStream& stream) {
  const double radius = std::sqrt(-2 * std::log((static_cast<double>(stream.next_u64() >> 11) + 0.5) * 0x1p-53));
  return radius * std::cos(2 * std::numbers::pi * static_cast<double>(stream.next_u64() >> 11) * 0x1p-53);
}

// Whether ideal audits of a run that has this share of its noise mostly notice. The score of a canary that is in is
// then that many standard deviations away.
Result<bool> mostly_noticed(double share, double mu, const CertifiedCurve& curve, const CanaryOptions& options) {
  NF_TRY(ReplayRandom random, ReplayRandom::create(kPowerSeed));
  NF_TRY(const Significance each, Significance::make(options.significance.value() / 2));
  int noticed = 0;
  for (int audit = 0; audit < kPowerAudits; ++audit) {
    std::vector<ScoredCanary> canaries;
    for (const std::uint8_t coin : toss(options.canaries, random)) {
      canaries.push_back({standard_normal(random) + (coin != 0 ? mu / share : 0), coin != 0});
    }
    NF_TRY(const CanaryGuesses counts, guess(canaries, guesses_of(options)));
    const auto certified = [&](double found) { return curve.false_alarms(found); };
    noticed += refuted_in_one_run(counts, certified, each) ? 1 : 0;
  }
  return noticed > kPowerAudits / 2;
}

template <class Random>
Result<CanaryAudit> audit_by(const AuditedDescent& descent, const CanaryOptions& options, Random& random) {
  NF_TRY(const Rows rows, Rows::make(options.canaries));
  const double expected = descent.rate.value() * static_cast<double>(options.canaries);
  NF_TRY(const Rows batch, Rows::make(static_cast<std::uint64_t>(std::max(1.0, std::round(expected)))));
  NF_TRY(const BatchSampler sampler, BatchSampler::poisson(rows, batch, Adjacency::kAddRemove));
  NF_TRY(const ClipRule clip, ClipRule::create(FlatClip{descent.clip}));
  DpSgd::Options wanted;
  wanted.noise = descent.noise;
  wanted.clip = clip;
  wanted.learning_rate.initial = 1;
  wanted.learning_rate.steps = descent.steps.value();
  NF_TRY(const DpEvent step, DpSgd::event_of_step(sampler, descent.noise, clip, false, options.canaries));
  NF_TRY(const CertifiedCurve certified,
         CertifiedCurve::create(SelfComposedEvent{descent.steps, step}, Adjacency::kAddRemove, descent.delta));
  const AuditedRun run = [&](GradientSource& source) -> Result<std::vector<float>> {
    NF_TRY(DpSgd made, DpSgd::create(wanted, sampler, source, std::vector<float>(source.parameters(), 0.0F)));
    for (std::uint64_t i = 0; i < descent.steps.value(); ++i) NF_TRY_VOID(made.step(random));
    return made.parameters();
  };
  CanaryOptions scaled = options;
  scaled.norm_in_clips *= descent.clip.value();
  return audit_run(run, certified, scaled, random);
}

}  // namespace

CanarySource::CanarySource(std::vector<std::uint8_t> in, double norm) : in_(std::move(in)), norm_(norm) {
  NF_CHECK(std::isfinite(norm) && norm > 0, "canaries need a gradient");
}

Result<std::size_t> CanarySource::add(std::span<const float> /*at*/, std::span<const std::uint64_t> examples,
                                      const ClipRule* rule, BitStream& /*stream*/, std::span<float> sum) {
  float factor = 1;
  std::size_t within = 0;
  if (rule != nullptr) {
    const auto squared = static_cast<float>(norm_ * norm_);
    within = rule->factors(std::span<const float>(&squared, 1), 1, 1, std::span<float>(&factor, 1));
  }
  const auto each = static_cast<float>(static_cast<double>(factor) * norm_);
  std::size_t small = 0;
  for (const std::uint64_t example : examples) {
    if (in_[example] == 0) continue;
    sum[example] -= each;  // descent then moves towards larger weights
    small += within;
  }
  return small;
}

Result<CanaryAudit> audit_run(const AuditedRun& run, const CertifiedCurve& certified, const CanaryOptions& options,
                              BitStream& coins) {
  if (options.canaries < 2) return invalid_argument("an audit needs at least two canaries");
  if (!(options.norm_in_clips > 0) || !std::isfinite(options.norm_in_clips)) {
    return invalid_argument("the norm of canaries must be a finite number above 0");
  }
  CanaryAudit audit;
  audit.certified_epsilon = certified.epsilon();
  const std::vector<std::uint8_t> in = toss(options.canaries, coins);
  CanarySource source(in, options.norm_in_clips);
  NF_TRY(const std::vector<float> scores, run(source));
  if (scores.size() != in.size()) return invalid_argument("an audited run gives one score for each canary");
  std::vector<ScoredCanary> scored;
  for (std::size_t i = 0; i < in.size(); ++i) scored.push_back({static_cast<double>(scores[i]), in[i] != 0});
  NF_TRY(audit.counts, guess(scored, guesses_of(options)));
  NF_TRY(const Significance each, Significance::make(options.significance.value() / 2));
  audit.measured_epsilon = one_run_epsilon(audit.counts, certified.delta(), each);
  audit.refuted = refuted_in_one_run(
                      audit.counts, [&](double found) { return certified.false_alarms(found); }, each) ||
                  audit.measured_epsilon > audit.certified_epsilon.upper;
  return audit;
}

Result<double> caught_at(const CertifiedCurve& certified, const CanaryOptions& options) {
  NF_TRY(const Epsilon upper, Epsilon::make(std::max(certified.epsilon().upper, 1e-6)));
  const double mu = mu_of_gaussian(upper, certified.delta());
  constexpr double kLeast = 1e-3;
  NF_TRY(const bool ever, mostly_noticed(kLeast, mu, certified, options));
  if (!ever) return 0;
  NF_TRY(const Bracket at, try_bisect({kLeast, 1}, {.halvings = 10}, [&](double share) -> Result<bool> {
           return mostly_noticed(share, mu, certified, options);
         }));
  return at.holds;
}

Result<CanaryAudit> audit_descent(const AuditedDescent& descent, const CanaryOptions& options, SecureRandom& random) {
  return audit_by(descent, options, random);
}

Result<CanaryAudit> audit_descent(const AuditedDescent& descent, const CanaryOptions& options, ReplayRandom& random) {
  return audit_by(descent, options, random);
}

}  // namespace noisefloor::audit
