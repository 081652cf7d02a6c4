// Canaries in a training must notice every way of spending more than is certified, never accuse an honest training,
// and change nothing for anybody.
#include "noisefloor/audit/woven_canaries.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "noisefloor/audit/audit_document.h"
#include "noisefloor/audit/gaussian_curve.h"
#include "noisefloor/event/dp_sgd_event.h"
#include "noisefloor/random/gaussian_vector.h"
#include "noisefloor/random/subset.h"

namespace noisefloor::audit {
namespace {

constexpr std::uint64_t kRows = 400;
constexpr std::uint64_t kBatch = 40;
constexpr std::uint64_t kSteps = 60;
constexpr std::size_t kWeights = 6;
const Delta kDelta = Delta::of(1e-5);
const NoiseMultiplier kNoise = NoiseMultiplier::of(1);

BatchSampler sampler_of(Adjacency adjacency = Adjacency::kAddRemove, std::uint64_t batch = kBatch) {
  return BatchSampler::poisson(Rows::of(kRows), Rows::make(batch).value(), adjacency).value();
}

// Rows whose gradients are far longer than any clip norm.
class LongRows final : public GradientSource {
 public:
  explicit LongRows(float length, bool clips = true, std::size_t groups = 1)
      : length_(length), clips_(clips), groups_(groups) {}
  [[nodiscard]] std::size_t examples() const override { return kRows; }
  [[nodiscard]] std::size_t parameters() const override { return kWeights; }
  [[nodiscard]] std::size_t groups() const override { return groups_; }
  [[nodiscard]] Result<std::size_t> add(std::span<const float> /*at*/, std::span<const std::uint64_t> examples,
                                        const ClipRule* rule, BitStream& /*stream*/, std::span<float> sum) override {
    std::vector<float> squared(groups_, length_ * length_);
    std::vector<float> factor(groups_, 1.0F);
    if (rule != nullptr && clips_) (void)rule->factors(std::span<const float>(squared), groups_, 1, factor);
    for (const std::uint64_t example : examples) {
      for (std::size_t g = 0; g < groups_; ++g) sum[(example + g) % kWeights] += length_ * factor[g];
    }
    return std::size_t{0};
  }

 private:
  float length_;
  bool clips_;
  std::size_t groups_;
};

DpSgd::Options options_of(NoiseMultiplier noise = kNoise, const ClipRule::Kind& clip = FlatClip{ClipNorm::of(0.5)}) {
  DpSgd::Options options;
  options.noise = noise;
  options.clip = ClipRule::create(clip).value();
  options.learning_rate.steps = kSteps;
  return options;
}

struct Descended {
  RunFindings findings;
  DpEvent event = ZeroCostEvent{};
  std::vector<float> weights;  // of the model
};

Descended descend(GradientSource& model, const BatchSampler& sampler, const DpSgd::Options& options, std::uint64_t seed,
                  const WovenOptions& woven = {.canaries = 2000}) {
  ReplayRandom random = ReplayRandom::create(seed).value();
  const auto canaries = WovenCanaries::create(model, sampler, woven, random).value();
  DpSgd sgd = DpSgd::create(options, canaries->sampler(), canaries->source(),
                            canaries->extended(std::vector<float>(kWeights, 0.0F)))
                  .value();
  const DpEvent event = sgd.event(Steps::of(kSteps));
  for (std::uint64_t i = 0; i < kSteps; ++i) {
    EXPECT_TRUE(sgd.step(random).has_value());
    EXPECT_TRUE(canaries->look(sgd).has_value());
  }
  const std::vector<float>& all = sgd.result();
  return {canaries->findings().value(), event, std::vector<float>(all.begin(), all.begin() + kWeights)};
}

// Curves take some time, and most tests need the same one.
const DpEvent& usual_event() {
  static const DpEvent event = sampler_of().law().run(kNoise, Steps::of(kSteps));
  return event;
}

RunJudgement judged(const RunFindings& findings, const DpEvent& event, Adjacency adjacency = Adjacency::kAddRemove) {
  static const CertifiedCurve usual = CertifiedCurve::create(usual_event(), Adjacency::kAddRemove, kDelta).value();
  const bool known = event == usual_event() && adjacency == Adjacency::kAddRemove;
  const Result<RunJudgement> made =
      known ? judge(findings, descent_claim(event).value(), usual) : judge(findings, event, adjacency, kDelta);
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return made.value();
}

TEST(WovenCanaries, NeverAccuseAnHonestDescent) {
  LongRows model(30);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Descended run = descend(model, sampler_of(), options_of(), seed);
    const RunJudgement found = judged(run.findings, run.event);
    EXPECT_TRUE(found.refuted.empty()) << seed << ": " << found.refuted.front();
    EXPECT_LE(found.measured, found.certified.upper) << seed;
    EXPECT_GT(found.measured, 0.1 * found.certified.upper) << seed << ": canaries are seen";
    EXPECT_LE(found.measured_gaussian, found.certified.upper) << seed;
    EXPECT_LT(found.noise.lower, kNoise.value());
    EXPECT_GT(found.noise.lower, 0.95 * kNoise.value()) << "the noise is measured to a few percent";
    EXPECT_LT(found.rate.upper - found.rate.lower, 0.01);
    EXPECT_TRUE(expect_unrefuted(found).has_value());
  }
}

TEST(WovenCanaries, GoWithEveryFixedClipAndBothNeighbours) {
  LongRows one(30);
  LongRows two(30, true, 2);
  const GroupClip groups{{ClipNorm::of(0.3), ClipNorm::of(0.4)}};
  const AutomaticClip automatic{ClipNorm::of(1), 0.01};
  const Descended flat = descend(one, sampler_of(), options_of(), 1);
  const Descended grouped = descend(two, sampler_of(), options_of(kNoise, groups), 1);
  const Descended brought = descend(one, sampler_of(), options_of(kNoise, automatic), 1);
  for (const Descended* run : {&flat, &grouped, &brought}) {
    const RunJudgement found = judged(run->findings, run->event);
    EXPECT_TRUE(found.refuted.empty());
    EXPECT_NEAR(found.measured, judged(flat.findings, flat.event).measured, 0.25) << "canaries fill the clip norm";
  }
  // A row that is exchanged moves the sum by two clip norms.
  const Descended exchanged = descend(one, sampler_of(Adjacency::kReplaceOne), options_of(), 1);
  const RunJudgement found = judged(exchanged.findings, exchanged.event, Adjacency::kReplaceOne);
  EXPECT_TRUE(found.refuted.empty());
  EXPECT_GT(found.measured, 1.3 * judged(flat.findings, flat.event).measured);
}

// (1) of the guarantee: what is found is the same to the bit whatever the rows are.
TEST(WovenCanaries, FindTheSameWhateverTheRowsAre) {
  LongRows small(0.001F);
  LongRows large(1000);
  const Descended a = descend(small, sampler_of(), options_of(), 7);
  const Descended b = descend(large, sampler_of(), options_of(), 7);
  EXPECT_TRUE(a.findings == b.findings);
  EXPECT_NE(a.weights, b.weights);
}

// With hardly any noise and all rows in each batch, a descent is the same with canaries and without.
TEST(WovenCanaries, LeaveTheModelAsItIs) {
  LongRows model(3);
  const DpSgd::Options quiet = options_of(NoiseMultiplier::of(1e-9));
  const BatchSampler all = sampler_of(Adjacency::kAddRemove, kRows);
  const Descended with = descend(model, all, quiet, 3);
  ReplayRandom random = ReplayRandom::create(3).value();
  DpSgd alone = DpSgd::create(quiet, all, model, std::vector<float>(kWeights, 0.0F)).value();
  EXPECT_EQ(with.event, alone.event(Steps::of(kSteps))) << "what is certified does not change";
  for (std::uint64_t i = 0; i < kSteps; ++i) ASSERT_TRUE(alone.step(random).has_value());
  for (std::size_t i = 0; i < kWeights; ++i) EXPECT_NEAR(with.weights[i], alone.result()[i], 1e-6);
}

// Where approximations are at their worst: few steps, few draws, few canaries.
TEST(WovenCanaries, NeverAccuseADescentThatDrawsHardlyAnybody) {
  struct Setting {
    double rate;
    std::uint64_t steps;
    std::size_t canaries;
  };
  for (const Setting& setting : {Setting{0.5, 1, 200}, Setting{0.02, 1, 1000}, Setting{0.0005, 400, 200},
                                 Setting{0.01, 30, 100}, Setting{0.9, 3, 100}, Setting{0.002, 200, 2000}}) {
    const DpEvent event = BatchLaw::poisson(SamplingRate::make(setting.rate).value(), Adjacency::kAddRemove)
                              .run(kNoise, Steps::make(setting.steps).value());
    const CertifiedCurve curve = CertifiedCurve::create(event, Adjacency::kAddRemove, kDelta).value();
    const DescentClaim claim = descent_claim(event).value();
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      ReplayRandom random = ReplayRandom::create(seed).value();
      const RunFindings found =
          audit_event(event, Adjacency::kAddRemove, {.canaries = setting.canaries, .blanks = 32}, random).value();
      const RunJudgement result = judge(found, claim, curve).value();
      EXPECT_TRUE(result.refuted.empty()) << setting.rate << ", seed " << seed << ": " << result.refuted.front();
    }
  }
}

// --- Trainers that are wrong -----------------------------------------------------------------------------------------

// A descent that is written down once more, so that it can be made wrong. `draws` gives the batch of a step.
struct Mutant {
  double noise = kNoise.value();
  bool clips = true;
  std::uint64_t period = 0;  // the noise of so many steps, over and over
  bool one_number = false;   // the same noise for all coordinates
  std::function<std::vector<std::uint64_t>(std::uint64_t step, std::size_t size, BitStream&)> draws = {};

  [[nodiscard]] Result<RunFindings> run(std::uint64_t seed = 11) const {
    NF_TRY(ReplayRandom random, ReplayRandom::create(seed));
    LongRows model(30);
    NF_TRY(const auto canaries, WovenCanaries::create(model, sampler_of(), {.canaries = 2000}, random));
    GradientSource& source = canaries->source();
    NF_TRY(const ClipRule rule, ClipRule::create(FlatClip{ClipNorm::of(1)}));
    const std::vector<float> at(source.parameters(), 0.0F);
    std::vector<std::vector<float>> drawn;
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      const std::vector<std::uint64_t> batch =
          draws ? draws(step, source.examples(), random) : canaries->sampler().draw(random);
      std::vector<float> sum(source.parameters(), 0.0F);
      NF_TRY_VOID(source.add(at, batch, clips ? &rule : nullptr, random, sum));
      if (period == 0 || step < period) {
        drawn.emplace_back(source.parameters());
        if (noise > 0) fill_gaussian(random, drawn.back(), static_cast<float>(noise));
        if (one_number) std::fill(drawn.back().begin(), drawn.back().end(), drawn.back().front());
      }
      const std::vector<float>& added = drawn[period == 0 ? step : step % period];
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += added[i];
      NF_TRY_VOID(canaries->look(sum, 1));
    }
    return canaries->findings();
  }
};

std::string caught(const Mutant& mutant, std::uint64_t seed = 11) {
  const Result<RunFindings> found = mutant.run(seed);
  EXPECT_TRUE(found.has_value()) << found.error().message;
  std::string all;
  for (const std::string& one : judged(found.value(), usual_event()).refuted) all += one + "\n";
  return all;
}

std::vector<std::uint64_t> coins(double rate, std::size_t size, BitStream& random) {
  return PoissonSubsampler(SamplingRate::make(rate).value()).sample(random, size);
}

constexpr double kRate = static_cast<double>(kBatch) / kRows;

void expect_caught(const Mutant& mutant, const std::string& by) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const std::string found = caught(mutant, seed);
    EXPECT_NE(found.find(by), std::string::npos) << "caught by: " << found << "instead of: " << by;
  }
}

TEST(WovenCanaries, TheUnmutatedTrainerPasses) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(caught(Mutant{}, seed), "");
}

TEST(WovenCanaries, CatchNoiseThatIsATenthTooSmall) { expect_caught({.noise = 0.9}, "noise is too small"); }

TEST(WovenCanaries, CatchMissingNoise) {
  expect_caught({.noise = 0}, "noise is too small");
  expect_caught({.noise = 0}, "used more than once");
}

// Exercise 35.6.2: K workers each add noise for the mean, and their means are averaged: it is √K too small.
TEST(WovenCanaries, CatchNoiseThatWorkersShareTwice) {
  for (const double workers : {2.0, 4.0, 16.0}) expect_caught({.noise = 1 / std::sqrt(workers)}, "noise is too small");
  // Each worker adding the whole noise is too much, which harms nobody.
  EXPECT_EQ(caught({.noise = 2}), "");
}

TEST(WovenCanaries, CatchNoiseThatIsReplayed) {
  expect_caught({.period = 1}, "used more than once");
  expect_caught({.period = kSteps / 2}, "used more than once");
  expect_caught({.period = kSteps - 1}, "used more than once");
}

TEST(WovenCanaries, CatchNoiseThatCoordinatesShare) { expect_caught({.one_number = true}, "depends on each other"); }

TEST(WovenCanaries, CatchADescentThatDoesNotClip) { expect_caught({.clips = false}, "are not clipped"); }

TEST(WovenCanaries, CatchBatchesThatAreTooLarge) {
  Mutant mutant;
  mutant.draws = [](std::uint64_t, std::size_t size, BitStream& random) { return coins(1.1 * kRate, size, random); };
  expect_caught(mutant, "drawn too often");
  mutant.draws = [](std::uint64_t, std::size_t size, BitStream&) {
    std::vector<std::uint64_t> all(size);
    std::iota(all.begin(), all.end(), 0U);
    return all;
  };
  expect_caught(mutant, "drawn too often");
}

TEST(WovenCanaries, CatchBatchesThatAreNotDrawnByCoins) {
  // Shuffled batches, whose accounting by coins is the most frequent mistake: everyone once in an epoch.
  Mutant mutant;
  mutant.draws = [](std::uint64_t step, std::size_t size, BitStream&) {
    std::vector<std::uint64_t> batch;
    constexpr std::uint64_t in_epoch = kRows / kBatch;
    for (std::uint64_t i = 0; i < size; ++i) {
      if ((i * 7919 + step / in_epoch) % in_epoch == step % in_epoch) batch.push_back(i);
    }
    return batch;
  };
  expect_caught(mutant, "in turns");
  // The same batch in every step.
  mutant.draws = [](std::uint64_t, std::size_t size, BitStream&) {
    ReplayRandom always = ReplayRandom::create(5).value();
    return coins(kRate, size, always);
  };
  expect_caught(mutant, "much more often than others");
  // One coin for all.
  mutant.draws = [](std::uint64_t, std::size_t size, BitStream& random) {
    std::vector<std::uint64_t> batch;
    if (static_cast<double>(random.next_u64() >> 11) * 0x1p-53 < kRate) {
      batch.resize(size);
      std::iota(batch.begin(), batch.end(), 0U);
    }
    return batch;
  };
  expect_caught(mutant, "drawn together");
}

TEST(WovenCanaries, EndARunWhoseModelDoesNotClip) {
  LongRows model(30, false);
  ReplayRandom random = ReplayRandom::create(1).value();
  const auto canaries = WovenCanaries::create(model, sampler_of(), {.canaries = 200}, random).value();
  DpSgd sgd = DpSgd::create(options_of(), canaries->sampler(), canaries->source(),
                            canaries->extended(std::vector<float>(kWeights, 0.0F)))
                  .value();
  const Result<void> step = sgd.step(random);
  ASSERT_FALSE(step.has_value());
  EXPECT_EQ(step.error().code, ErrorCode::kVerificationFailed);
  EXPECT_NE(step.error().message.find("longer than the clip norm"), std::string::npos) << step.error().message;
}

TEST(WovenCanaries, RefuseWhatTheyCannotAudit) {
  LongRows model(1);
  ReplayRandom random = ReplayRandom::create(1).value();
  EXPECT_FALSE(WovenCanaries::create(model, sampler_of(), {.canaries = 99}, random).has_value());
  EXPECT_FALSE(WovenCanaries::create(model, sampler_of(), {.canaries = 200, .blanks = 3}, random).has_value());
  EXPECT_FALSE(WovenCanaries::create(model, sampler_of(), {.canaries = 200, .norm_in_clips = 0.5}, random).has_value());
  const BatchSampler fixed =
      BatchSampler::fixed_size(Rows::of(kRows), Rows::of(kBatch), Adjacency::kReplaceOne).value();
  const auto refused = WovenCanaries::create(model, fixed, {.canaries = 200}, random);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("poisson"), std::string::npos);
  const auto canaries = WovenCanaries::create(model, sampler_of(), {.canaries = 200}, random).value();
  EXPECT_FALSE(canaries->look(std::vector<float>(3), 1).has_value());
  EXPECT_FALSE(descent_claim(NonPrivateEvent{"none"}).has_value());
  EXPECT_FALSE(descent_claim(LaplaceEvent{NoiseMultiplier::of(1)}).has_value());
}

TEST(WovenCanaries, AuditTheDescentOfAnEvent) {
  ReplayRandom random = ReplayRandom::create(2).value();
  const DpEvent event = sampler_of().law().run(NoiseMultiplier::of(0.8), Steps::of(200));
  const RunFindings found = audit_event(event, Adjacency::kAddRemove, {}, random).value();
  const RunJudgement result = judged(found, event);
  EXPECT_TRUE(result.refuted.empty());
  EXPECT_GT(result.measured, 0.2 * result.certified.upper);
  const DpEvent lie = sampler_of().law().run(NoiseMultiplier::of(0.85), Steps::of(200));
  EXPECT_FALSE(judged(found, lie).refuted.empty()) << "a certificate for a twentieth more noise";
  EXPECT_FALSE(
      judge(found, sampler_of().law().run(NoiseMultiplier::of(0.8), Steps::of(201)), Adjacency::kAddRemove, kDelta)
          .has_value())
      << "other steps";
  const DpEvent all_rows = SelfComposedEvent{Steps::of(20), GaussianEvent{NoiseMultiplier::of(5)}};
  EXPECT_TRUE(judged(audit_event(all_rows, Adjacency::kAddRemove, {}, random).value(), all_rows).refuted.empty());
}

// What guesses alone see, in the certificate's own currency: ε of a descent with a sixth of the noise.
TEST(WovenCanaries, GuessesAloneRefuteMuchTooLittleNoise) {
  ReplayRandom random = ReplayRandom::create(8).value();
  const DpEvent done = sampler_of().law().run(NoiseMultiplier::of(1), Steps::of(100));
  const DpEvent stated = sampler_of().law().run(NoiseMultiplier::of(6), Steps::of(100));
  const RunFindings found = audit_event(done, Adjacency::kAddRemove, {}, random).value();
  const RunJudgement result = judged(found, stated);
  ASSERT_FALSE(result.refuted.empty());
  EXPECT_NE(result.refuted.front().find("guesses about canaries"), std::string::npos) << result.refuted.front();
  EXPECT_GT(result.measured, result.certified.upper);
}

// --- The document ----------------------------------------------------------------------------------------------------

class AuditDocumentTest : public ::testing::Test {
 protected:
  AuditDocumentTest() {
    ReplayRandom random = ReplayRandom::create(4).value();
    findings_ = audit_event(event_, Adjacency::kAddRemove, {.canaries = 1000}, random).value();
    judgement_ = judge(findings_, event_, Adjacency::kAddRemove, kDelta).value();
  }
  [[nodiscard]] Certificate certificate(const DpEvent& event) const {
    const DpStatement statement{Adjacency::kAddRemove, PrivacyUnit::kRow, event};
    return {ReleaseKind::kModel,
            "toy",
            statement,
            kDelta,
            certified_epsilon(statement, kDelta).value(),
            certified_curve(statement),
            200,
            false,
            "{}",
            "bounds are public",
            blake2b("weights"),
            "1.2.3",
            CertifiedSpend{blake2b("ledger"), "b", {2}, 3, blake2b("head")}};
  }
  static Sign by(const SigningKey& key) {
    return [&key](std::string_view text) { return std::pair(key.public_key(), key.sign(text)); };
  }
  [[nodiscard]] std::string audit_text(const std::string& of) const {
    return to_json(audit_of(certificate(event_), of, event_, findings_), judgement_, by(key_));
  }

  DpEvent event_ = sampler_of().law().run(NoiseMultiplier::of(0.8), Steps::of(200));
  SigningKey key_ = SigningKey::from_seed({4, 5, 6});
  RunFindings findings_;
  RunJudgement judgement_;
};

TEST_F(AuditDocumentTest, RoundTripsAndBelongsToOneCertificate) {
  const std::string text = to_json(certificate(event_), by(key_));
  const SignedCertificate signed_text = parse_certificate(text).value();
  const SignedAudit read = parse_audit(audit_text(text)).value();
  EXPECT_TRUE(read.audit.findings == findings_);
  EXPECT_EQ(read.key, key_.public_key());
  EXPECT_GT(read.judgement.measured, 0);
  EXPECT_TRUE(expect_about(read, signed_text, text).has_value());
  // Another release, and another signer.
  Certificate renamed = certificate(event_);
  renamed.released = blake2b("other weights");
  const std::string other = to_json(renamed, by(key_));
  EXPECT_FALSE(expect_about(read, parse_certificate(other).value(), other).has_value());
  const SigningKey stranger = SigningKey::from_seed({7});
  const std::string theirs = to_json(certificate(event_), by(stranger));
  const SignedAudit mine = parse_audit(audit_text(theirs)).value();
  EXPECT_FALSE(expect_about(mine, parse_certificate(theirs).value(), theirs).has_value());
}

TEST_F(AuditDocumentTest, FindsAnyAlteredField) {
  const std::string text = audit_text("a certificate");
  const nlohmann::ordered_json whole = nlohmann::ordered_json::parse(text);
  int altered = 0;
  const nlohmann::ordered_json fields = whole.flatten();
  for (const auto& [place, value] : fields.items()) {
    nlohmann::ordered_json changed = whole;
    nlohmann::ordered_json& at = changed[nlohmann::ordered_json::json_pointer(place)];
    if (value.is_number_integer()) {
      at = value.get<std::int64_t>() + 1;
    } else if (value.is_number()) {
      at = value.get<double>() * 1.0001 + 1e-6;
    } else if (value.is_boolean()) {
      at = !value.get<bool>();
    } else {
      at = value.get<std::string>() + "0";
    }
    const auto read = parse_audit(changed.dump(2) + "\n");
    EXPECT_FALSE(read.has_value()) << place;
    ++altered;
  }
  EXPECT_GT(altered, 30);
  EXPECT_FALSE(parse_audit(whole.dump()).has_value()) << "another text of the same";
  EXPECT_FALSE(parse_audit("{}").has_value());
  EXPECT_FALSE(parse_audit(std::string(1 << 19, '[')).has_value());
}

// Even with the key: findings that refute the certificate, and numbers that do not follow from them.
TEST_F(AuditDocumentTest, IsRefusedIfItRefutes) {
  RunFindings quiet = findings_;
  quiet.noise_squares /= 4;
  const AuditDocument lying = audit_of(certificate(event_), "c", event_, quiet);
  const auto read = parse_audit(to_json(lying, judgement_of(lying).value(), by(key_)));
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::kVerificationFailed);
  EXPECT_NE(read.error().message.find("REFUTES"), std::string::npos) << read.error().message;
  const AuditDocument boasting = audit_of(certificate(event_), "c", event_, findings_);
  RunJudgement better = judgement_;
  better.measured /= 2;
  EXPECT_FALSE(parse_audit(to_json(boasting, better, by(key_))).has_value());
}

TEST(TwoSided, RoundsToTheSafeSides) {
  EXPECT_EQ(two_sided(2.9991, 1.4199), "certified ≤ 3.000, measured ≥ 1.41");
  EXPECT_EQ(two_sided(2.99999999, 0), "certified ≤ 3.000, measured ≥ 0.00");
}

}  // namespace
}  // namespace noisefloor::audit
