#include "noisefloor/plan/phases.h"

#include <gtest/gtest.h>

#include "noisefloor/accounting/pld.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

PhaseQuestion question(double target) {
  return {.rows = Rows::of(60'000),
          .delta = Delta::of(1.0 / 60'000),
          .target = Epsilon::make(target).value(),
          .epochs = 6,
          .clip = ClipNorm::of(0.025)};
}

double exact(const ProactiveSetting& setting) {
  return pld_epsilon(setting.sizes.event(setting.rows, setting.noise, Adjacency::kAddRemove, Draw::kPoisson).value(),
                     Adjacency::kAddRemove, setting.delta)
      .value()
      .upper;
}

TEST(Phases, BeginWithTheClosedForm) {
  const PlannedPhase first = next_phase(question(0.15)).value();
  const ClosedFormPlan plan =
      closed_form_plan({Rows::of(60'000), 6, Delta::of(1.0 / 60'000)}, Epsilon::of(0.15)).value();
  EXPECT_EQ(first.phase.size, plan.setting.sizes.largest());
  EXPECT_EQ(first.phase.noise, plan.setting.noise);
}

TEST(Phases, LowerTheNoiseAsFarAsTheBudgetAllows) {
  PhaseQuestion asked = question(0.15);
  std::vector<Phase> phases{next_phase(asked).value().phase};
  double epsilon = 0.15;
  for (const double target : {0.35, 0.8}) {
    asked.target = Epsilon::make(target).value();
    asked.before = phases;
    asked.noise = NoiseMultiplier::make(1.05 * proactive::sigma_for(target, asked.delta.value())).value();
    const PlannedPhase next = next_phase(asked).value();
    const ProactiveSetting& all = next.all.setting;
    EXPECT_TRUE(all_hold(theorem_b4(all)));
    EXPECT_LE(all.epsilon.value(), target);
    EXPECT_GT(all.epsilon.value(), epsilon) << "nothing is free";
    EXPECT_LE(exact(all), all.epsilon.value());
    EXPECT_GE(next.phase.size, phases.back().size) << "smaller samples never fit better";
    // One more row in a sample would not fit.
    phases.push_back(next.phase);
    std::vector<SampleSizes::Stretch> more;
    for (const Phase& phase : phases) more.push_back({phase.size, phase.rounds});
    more.back().size += 2;
    ProactiveSetting over = all;
    over.epsilon = asked.target;
    over.sizes = SampleSizes::of(more).value();
    EXPECT_FALSE(all_hold(theorem_b4(over)));
    epsilon = all.epsilon.value();
  }
  EXPECT_GT(next_phase(asked).value().all.setting.sizes.theta(), 1);
}

TEST(Phases, RefuseAClientWithoutBudget) {
  PhaseQuestion asked = question(0.15);
  const Phase first = next_phase(asked).value().phase;
  asked.before = {first};
  asked.noise = NoiseMultiplier::make(0.9 * first.noise.value()).value();
  expect_invalid(next_phase(asked).error(), "too small for epsilon 0.15");  // the first phase used all of ε for its σ
  asked.noise = first.noise;
  expect_invalid(next_phase(asked).error(), "less noise than the one before");
  asked.noise.reset();
  expect_invalid(next_phase(asked).error(), "needs its noise");
  asked.target = Epsilon::of(0.16);
  asked.noise = NoiseMultiplier::make(0.98 * first.noise.value()).value();
  asked.epochs = 60;
  expect_invalid(next_phase(asked).error(), "no sample size keeps");
  // The named number of epochs fits.
  asked.target = Epsilon::of(0.3);
  asked.noise = NoiseMultiplier::make(1.01 * proactive::sigma_for(0.3, asked.delta.value())).value();
  const std::string fewer = next_phase(asked).error().message;
  const std::size_t at = fewer.find("At most ");
  ASSERT_NE(at, std::string::npos) << fewer;
  const double most = std::stod(fewer.substr(at + 8));
  asked.epochs = most;
  EXPECT_TRUE(next_phase(asked).has_value()) << fewer;
  asked.epochs = 1.01 * most;
  EXPECT_FALSE(next_phase(asked).has_value()) << fewer;
}

TEST(Phases, NameALargerEpsilonIfNoEpochsFit) {
  PhaseQuestion asked = question(0.15);
  const Phase first = next_phase(asked).value().phase;
  asked.before = {first};
  asked.target = Epsilon::of(0.1501);
  asked.noise = NoiseMultiplier::make(proactive::sigma_for(0.1501, asked.delta.value())).value();
  asked.before.back().rounds *= 2;  // more than was planned: (34) is missed whatever follows
  const std::string refused = next_phase(asked).error().message;
  const std::size_t at = refused.find("It would take epsilon ");
  ASSERT_NE(at, std::string::npos) << refused;
  asked.target = Epsilon::make(std::stod(refused.substr(at + 22))).value();
  EXPECT_TRUE(next_phase(asked).has_value()) << refused;
}

TEST(Phases, TrySizesFromOneInPaperMode) {
  PhaseQuestion asked = question(0.15008);
  const Phase first = next_phase(asked, GammaMode::kPaper).value().phase;
  EXPECT_EQ(first.size, 370U);
  EXPECT_NEAR(first.noise.value(), 12.10881, 1e-5);
  asked.before = {first};
  asked.noise = NoiseMultiplier::of(8.0);
  asked.target = Epsilon::of(0.5);
  // A sample of one means 360,000 more rounds with θ near 370, which is far too much; samples of 370 and more would
  // fit.
  expect_invalid(next_phase(asked, GammaMode::kPaper).error(), "no sample size");
  EXPECT_GE(next_phase(asked).value().phase.size, 370U);
}

}  // namespace
}  // namespace noisefloor
