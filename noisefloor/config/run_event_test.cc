#include "noisefloor/config/run_event.h"

#include <gtest/gtest.h>

#include "noisefloor/accounting/pld.h"

namespace noisefloor {
namespace {

// A pipeline with one run, under a budget of (3, 1e-5) on 10,000 rows.
Pipeline pipeline_of(const std::string& run, const std::string& budget = "", const std::string& data = "") {
  const PipelineText read = read_pipeline("[budget]\nepsilon = 3\ndelta = 1e-5\n" + budget +
                                          "\n[data]\nrows = 10_000\n" + data + "\n[[run]]\n" + run);
  for (const Finding& finding : read.findings) ADD_FAILURE() << finding.message;
  EXPECT_EQ(read.pipeline.runs.size(), 1U);
  return read.pipeline;
}

RunEvent event_in(const Pipeline& pipeline) {
  const Result<RunEvent> event = event_of(pipeline, pipeline.runs.at(0));
  EXPECT_TRUE(event.has_value()) << event.error().message;
  return event.value();
}

DpEvent sampled(double rate, double noise, std::uint64_t steps) {
  return SelfComposedEvent{
      Steps::make(steps).value(),
      PoissonSampledEvent{SamplingRate::make(rate).value(), GaussianEvent{NoiseMultiplier::make(noise).value()}}};
}

const std::string kTraining = "technique = \"dp-sgd\"\nclip_norm = 1\nbatch_size = 256\nepochs = 10\n";

TEST(RunEvent, TurnsTrainingIntoSampledGaussians) {
  const Pipeline pipeline = pipeline_of(kTraining + "noise_multiplier = 1.5");
  EXPECT_EQ(event_in(pipeline).all, sampled(0.0256, 1.5, 391));
  EXPECT_EQ(event_in(pipeline).noise, NoiseMultiplier::of(1.5));
  EXPECT_FALSE(event_in(pipeline).calibrated);
}

TEST(RunEvent, CalibratesATarget) {
  // 400 batches of a fortieth, ε = 3 at δ = 1e-5: the least noise is 1.0271.
  const RunEvent event = event_in(
      pipeline_of("technique = \"dp-sgd\"\nclip_norm = 1\nsample_rate = 0.025\nepochs = 10\ntarget_epsilon = 3"));
  ASSERT_TRUE(event.noise.has_value());
  EXPECT_TRUE(event.calibrated);
  EXPECT_NEAR(event.noise->value(), 1.0271, 1e-4);
}

TEST(RunEvent, TakesATargetWithoutAScheduleAsABound) {
  const RunEvent event = event_in(pipeline_of("technique = \"dp-sgd\"\nclip_norm = 1\ntarget_epsilon = 2"));
  EXPECT_EQ(event.all, DpEvent(EpsilonDeltaEvent{PrivacyLoss::of(2), Delta::of(1e-5)}));
}

TEST(RunEvent, CountsTheRowsOfEachClient) {
  const std::string run =
      "technique = [\"federated\", \"dp-sgd\"]\nclip_norm = 1\nnoise_multiplier = 2\nrounds = 5\nlocal_epochs = 3\n"
      "clients = 4\nbatch_size = 100\n";
  EXPECT_EQ(event_in(pipeline_of(run)).all, sampled(100.0 / 2500, 2, 5 * 75)) << "divided equally";
  EXPECT_EQ(event_in(pipeline_of(run + "smallest_client = 1000")).all, sampled(0.1, 2, 5 * 30));
}

TEST(RunEvent, TurnsSumsOfUpdatesIntoSampledClients) {
  const std::string run =
      "technique = [\"federated\", \"dp-aggregation\"]\nclip_norm = 1\nnoise_multiplier = 2\nrounds = 50\n"
      "clients = 1000\n";
  EXPECT_EQ(event_in(pipeline_of(run, "unit = \"person\"")).all, sampled(1, 2, 50));
  EXPECT_EQ(event_in(pipeline_of(run + "clients_per_round = 20", "unit = \"person\"")).all, sampled(0.02, 2, 50));
}

TEST(RunEvent, ChargesTwoClipNormsForAFixedBatch) {
  const Pipeline pipeline =
      pipeline_of(kTraining + "noise_multiplier = 8\nsampler = \"fixed-size\"", "adjacency = \"replace-one\"");
  const DpEvent expected = SelfComposedEvent{
      Steps::of(391), FixedSizeSampledEvent{Rows::of(256), Rows::of(10000), GaussianEvent{NoiseMultiplier::of(4)}}};
  EXPECT_EQ(event_in(pipeline).all, expected);
}

TEST(RunEvent, CountsPeopleWherePeopleAreProtected) {
  const Pipeline pipeline =
      pipeline_of(kTraining + "noise_multiplier = 1.5", "unit = \"person\"", "people = 2560\nrows_per_person = 4");
  EXPECT_EQ(event_in(pipeline).all, sampled(0.1, 1.5, 100));
}

TEST(RunEvent, ChargesQueriesAsStated) {
  const auto epsilon_of = [](const std::string& run) {
    const Pipeline pipeline = pipeline_of("technique = \"dp-aggregation\"\n" + run);
    return pld_epsilon(event_in(pipeline).all, Adjacency::kAddRemove, Delta::of(1e-5)).value().upper;
  };
  EXPECT_NEAR(epsilon_of("mechanism = \"gaussian\"\nepsilon = 0.5"), 0.5, 1e-6);
  EXPECT_LE(epsilon_of("epsilon = 0.5"), 0.5 + 1e-12);
  EXPECT_GT(epsilon_of("epsilon = 0.5"), 0.49);
  for (const char* mechanism : {"geometric", "exponential", "permute-and-flip", "randomized-response"}) {
    const double epsilon = epsilon_of("epsilon = 0.5\nmechanism = \"" + std::string(mechanism) + "\"");
    EXPECT_LE(epsilon, 0.5 + 1e-12) << mechanism;
    EXPECT_GT(epsilon, 0.4) << mechanism;
  }
  EXPECT_GT(epsilon_of("epsilon = 0.5\nqueries = 4"), 1.5);
}

TEST(RunEvent, ChargesTrialsAndBounds) {
  const DpEvent once = sampled(0.0256, 1.5, 391);
  const auto all_of = [](const std::string& keys) {
    return event_in(pipeline_of(kTraining + "noise_multiplier = 1.5\n" + keys)).all;
  };
  EXPECT_EQ(all_of("trials = 1"), once);
  EXPECT_EQ(all_of("trials = 8"), DpEvent(SelfComposedEvent{Steps::of(8), once})) << "unless it is said otherwise";
  EXPECT_EQ(all_of("trials = 8\ntuning = \"every-trial\""), DpEvent(SelfComposedEvent{Steps::of(8), once}));
  EXPECT_EQ(all_of("trials = 8\ntuning = \"repeat-and-select\""),
            DpEvent(PoissonRepeatAndSelectEvent{MeanRuns::of(8), once}));
  EXPECT_EQ(all_of("trials = 8\ntuning = \"public-data\""), once);
  const DpEvent synthetic =
      event_in(pipeline_of("technique = \"synthetic\"\nepsilon = 1\nbounds = \"private\"\nbounds_epsilon = 0.25")).all;
  const DpEvent expected = ComposedEvent{
      {EpsilonDeltaEvent{PrivacyLoss::of(1), Delta::of(1e-5)}, EpsilonDeltaEvent{PrivacyLoss::of(0.25), Delta::of(0)}}};
  EXPECT_EQ(synthetic, expected);
}

TEST(RunEvent, IsAbsentWithoutABound) {
  for (const std::string& run :
       {std::string("technique = \"federated\"\nclients = 3"), std::string("technique = \"synthetic\""), kTraining,
        kTraining + "noise_multiplier = 1\nsampler = \"shuffle\"",
        kTraining + "noise_multiplier = 1\nsampler = \"fixed-size\"",
        kTraining + "noise_multiplier = 1\nreplay_seed = 1",
        std::string("technique = \"dp-sgd\"\nnoise_multiplier = 1")}) {
    const Pipeline pipeline = pipeline_of(run);
    const Result<RunEvent> event = event_of(pipeline, pipeline.runs[0]);
    EXPECT_FALSE(event.has_value()) << run;
  }
}

TEST(RunEvent, RoundsEpochsToWholeSteps) {
  EXPECT_EQ(steps_for_epochs(10, SamplingRate::of(0.1)).value(), Steps::of(100));
  EXPECT_EQ(steps_for_epochs(0.5, SamplingRate::of(1)).value(), Steps::of(1));
  EXPECT_EQ(steps_for_epochs(10, SamplingRate::of(0.0256)).value(), Steps::of(391));
  EXPECT_FALSE(steps_for_epochs(0, SamplingRate::of(0.1)).has_value());
  EXPECT_FALSE(steps_for_epochs(1e300, SamplingRate::of(0.1)).has_value());
}

}  // namespace
}  // namespace noisefloor
