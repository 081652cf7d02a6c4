// The audit of a descent must notice every way of spending more than the certificate says, and never accuse a descent
// that keeps it.
#include "noisefloor/audit/canary_audit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/audit/certified_curve.h"
#include "noisefloor/audit/gaussian_curve.h"
#include "noisefloor/event/dp_sgd_event.h"

namespace noisefloor::audit {
namespace {

constexpr std::uint64_t kSteps = 20;
const NoiseMultiplier kNoise = NoiseMultiplier::of(4);
const SamplingRate kRate = SamplingRate::of(0.5);

const CertifiedCurve& certified() {
  static const CertifiedCurve curve =
      CertifiedCurve::create(BatchLaw::poisson(kRate, Adjacency::kAddRemove).run(kNoise, Steps::of(kSteps)),
                             Adjacency::kAddRemove, Delta::of(1e-5))
          .value();
  return curve;
}

// A trainer that is written down once more, so that it can be made wrong.
struct Trainer {
  double noise = kNoise.value();
  double clip = 1;  // 0: gradients are not clipped
  double rate = kRate.value();
  bool same_noise = false;  // in every step
  bool watched = false;     // the score is how much the steps of a weight differ, and not where it ends
  std::uint64_t seed = 5;

  Result<std::vector<float>> operator()(GradientSource& source) const {
    NF_TRY(ReplayRandom random, ReplayRandom::create(seed));
    const std::size_t size = source.parameters();
    std::vector<double> weights(size, 0.0);
    const ClipRule rule = ClipRule::create(FlatClip{ClipNorm::of(1)}).value();
    std::vector<double> drawn(size);
    std::vector<double> least(size, INFINITY);
    std::vector<double> most(size, -INFINITY);
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      std::vector<std::uint64_t> batch;
      for (std::size_t i = 0; i < size; ++i) {
        if (static_cast<double>(random.next_u64() >> 11) * 0x1p-53 < rate) batch.push_back(i);
      }
      std::vector<float> sum(size, 0.0F);
      NF_TRY_VOID(source.add(sum, batch, clip > 0 ? &rule : nullptr, random, sum));
      if (step == 0 || !same_noise) {
        for (double& value : drawn) value = noise * normal(random);
      }
      for (std::size_t i = 0; i < size; ++i) {
        const double moved = -(static_cast<double>(sum[i]) + drawn[i]);
        weights[i] += moved;
        least[i] = std::min(least[i], moved);
        most[i] = std::max(most[i], moved);
      }
    }
    for (std::size_t i = 0; i < size; ++i) {
      if (watched) weights[i] = most[i] - least[i];
    }
    return std::vector<float>(weights.begin(), weights.end());
  }

  static double normal(BitStream& random) {
    const double u = (static_cast<double>(random.next_u64() >> 11) + 0.5) * 0x1p-53;
    const double v = static_cast<double>(random.next_u64() >> 11) * 0x1p-53;
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * 3.14159265358979323846 * v);
  }
};

CanaryAudit audit_of(const Trainer& trainer, const CanaryOptions& options = {}) {
  ReplayRandom coins = ReplayRandom::create(trainer.seed + 1000).value();
  const Result<CanaryAudit> made = audit_run(trainer, certified(), options, coins);
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return made.value();
}

TEST(CanaryAudit, NeverAccusesAnHonestTrainer) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Trainer honest;
    honest.seed = seed;
    const CanaryAudit audit = audit_of(honest);
    EXPECT_FALSE(audit.refuted) << seed;
    EXPECT_LE(audit.measured_epsilon, audit.certified_epsilon.upper) << seed;
  }
}

TEST(CanaryAudit, FindsMuchOfWhatIsSpent) {
  CanaryOptions options;
  const CanaryAudit audit = audit_of(Trainer{}, options);
  EXPECT_GT(audit.measured_epsilon, 0.2 * audit.certified_epsilon.lower);
  const double caught = caught_at(certified(), options).value();
  EXPECT_GT(caught, 0.5) << "a lack of half of the noise would be noticed";
  EXPECT_LT(caught, 1);
}

TEST(CanaryAudit, CatchesHalfOfTheNoise) {
  Trainer mutant;
  mutant.noise /= 2;
  EXPECT_TRUE(audit_of(mutant).refuted);
}

TEST(CanaryAudit, CatchesMissingNoise) {
  Trainer mutant;
  mutant.noise = 0;
  EXPECT_TRUE(audit_of(mutant).refuted);
}

TEST(CanaryAudit, CatchesGradientsThatAreNotClipped) {
  Trainer mutant;
  mutant.clip = 0;
  EXPECT_TRUE(audit_of(mutant).refuted);
}

// Exercise: K workers each add noise for the mean, and their means are averaged: the noise is √K too small.
TEST(CanaryAudit, CatchesNoiseThatWorkersShareTwice) {
  Trainer mutant;
  mutant.noise /= std::sqrt(8.0);
  EXPECT_TRUE(audit_of(mutant).refuted);
}

TEST(CanaryAudit, CatchesNoiseThatIsRepeated) {
  Trainer mutant;
  mutant.same_noise = true;
  mutant.watched = true;
  EXPECT_TRUE(audit_of(mutant).refuted);
  Trainer honest;
  honest.watched = true;
  EXPECT_FALSE(audit_of(honest).refuted) << "whoever watches the steps of an honest trainer finds nothing either";
}

TEST(CanaryAudit, CatchesBatchesThatAlwaysHoldTheCanary) {
  Trainer mutant;
  mutant.rate = 1;
  EXPECT_TRUE(audit_of(mutant).refuted);
}

// The real descent, with its own event.
TEST(CanaryAudit, TheDescentKeepsItsCertificate) {
  ReplayRandom random = ReplayRandom::create(99).value();
  AuditedDescent descent{kNoise, ClipNorm::of(0.25), Steps::of(kSteps), kRate};
  for (int i = 0; i < 3; ++i) {
    const Result<CanaryAudit> audit = audit_descent(descent, {}, random);
    ASSERT_TRUE(audit.has_value()) << audit.error().message;
    EXPECT_FALSE(audit.value().refuted);
    EXPECT_GT(audit.value().measured_epsilon, 0.05) << "the canaries are seen at all";
  }
}

TEST(CanaryAudit, RefusesWhatCannotBeAudited) {
  ReplayRandom coins = ReplayRandom::create(1).value();
  CanaryOptions options;
  options.canaries = 1;
  EXPECT_FALSE(audit_run(Trainer{}, certified(), options, coins).has_value());
  options = {};
  options.guesses = options.canaries + 1;
  EXPECT_FALSE(audit_run(Trainer{}, certified(), options, coins).has_value());
  options = {};
  options.norm_in_clips = INFINITY;
  EXPECT_FALSE(audit_run(Trainer{}, certified(), options, coins).has_value());
  const AuditedRun fewer = [](GradientSource&) -> Result<std::vector<float>> { return std::vector<float>(3, 0.0F); };
  EXPECT_FALSE(audit_run(fewer, certified(), {}, coins).has_value());
  EXPECT_FALSE(CertifiedCurve::create(NonPrivateEvent{}, Adjacency::kAddRemove, Delta::of(1e-5)).has_value());
}

// Between its points the curve errs to the side that refutes less.
TEST(CertifiedCurve, IsNeverMoreThanTheTruth) {
  const double mu = 1.25;
  const CertifiedCurve curve =
      CertifiedCurve::create(GaussianEvent{NoiseMultiplier::of(1 / 1.25)}, Adjacency::kAddRemove, Delta::of(1e-5))
          .value();
  for (double found = 0.001; found < 1; found += 0.0137) {
    const double truth = gaussian_false_alarms(mu, found);
    EXPECT_LE(curve.false_alarms(found), truth * (1 + 1e-9)) << found;
    EXPECT_GE(curve.false_alarms(found), 0.85 * truth - 1e-6) << found;
  }
  for (double alarms = 0.001; alarms < 1; alarms += 0.0137) {
    EXPECT_LE(curve.missed(alarms), gaussian_missed(mu, alarms) * (1 + 1e-9)) << alarms;
    EXPECT_GE(curve.missed(alarms), gaussian_missed(mu, alarms) - 0.03) << alarms;
  }
}

}  // namespace
}  // namespace noisefloor::audit
