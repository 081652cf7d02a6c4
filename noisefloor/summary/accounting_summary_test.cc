#include "noisefloor/summary/accounting_summary.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/ledger_pieces.h"
#include "tests/support/summary_reading.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::expect_good;
using testing::fields_of;
using testing::value_of;
using Json = nlohmann::ordered_json;

AccountQuestion training_question() {
  StatedTraining stated;
  stated.rate = SamplingRate::of(0.01);
  stated.steps = Steps::of(100);
  return question_about(value_of(stated.run(Adjacency::kAddRemove)), NoiseMultiplier::of(1), PrivacyUnit::kRow);
}

TEST(AccountingSummary, GivesTheCertifiedIntervalWithItsParameters) {
  const Summary summary = value_of(epsilon_summary(training_question(), Delta::of(1e-5), Accountant::kPld));
  const Json fields = fields_of(summary);
  EXPECT_LE(fields["epsilon"]["lower"].get<double>(), fields["epsilon"]["upper"].get<double>());
  EXPECT_EQ(fields["parameters"].dump(), R"({"sample_rate":0.01,"noise_multiplier":1.0,"steps":100})");
  EXPECT_EQ(fields["accountant"], "pld");
  EXPECT_EQ(fields["estimate"], false);
  EXPECT_EQ(fields["sampling"], "poisson");
  EXPECT_NE(summary.as_text().find("one row added or removed"), std::string::npos) << summary.as_text();
  EXPECT_FALSE(summary.failure());
}

TEST(AccountingSummary, ComparesEveryAccountantAndSaysWhichRefuse) {
  const Json fields = fields_of(value_of(epsilon_summary(training_question(), Delta::of(1e-5), std::nullopt)));
  EXPECT_EQ(fields["comparison"].size(), all_accountants().size());
  std::size_t refused = 0;
  for (const Json& one : fields["comparison"]) refused += one.contains("refused") ? 1U : 0U;
  EXPECT_LT(refused, fields["comparison"].size());
}

TEST(AccountingSummary, EpsilonAndDeltaAgree) {
  const Json there = fields_of(value_of(epsilon_summary(training_question(), Delta::of(1e-5), Accountant::kPld)));
  const double epsilon = there["epsilon"]["upper"];
  const Json back = fields_of(value_of(delta_summary(training_question(), PrivacyLoss::make(epsilon).value())));
  EXPECT_LE(back["delta"]["lower"].get<double>(), 1e-5 * (1 + 1e-6));
  EXPECT_GT(back["delta"]["upper"].get<double>(), 0.9e-5);
}

TEST(AccountingSummary, SolvesForEachUnknownWithinTheTarget) {
  const Target target{Adjacency::kAddRemove, Epsilon::of(1), Delta::of(1e-5)};
  StatedTraining stated;
  stated.rate = SamplingRate::of(0.01);
  stated.steps = Steps::of(100);
  for (const auto& [unknown, name] : std::vector<std::pair<SolveFor, const char*>>{
           {SolveFor::kNoise, "noise_multiplier"}, {SolveFor::kSteps, "steps"}, {SolveFor::kRate, "sample_rate"}}) {
    StatedTraining asked = stated;
    if (unknown == SolveFor::kRate) asked.rate.reset();
    const Json fields =
        fields_of(value_of(solution_summary(target, asked, NoiseMultiplier::of(2), unknown, PrivacyUnit::kRow)));
    EXPECT_TRUE(fields.contains(name)) << name;
    EXPECT_LE(fields["epsilon"]["upper"].get<double>(), 1) << name;
    EXPECT_EQ(fields["target_epsilon"], 1.0);
  }
  const Json count = fields_of(value_of(
      solution_summary(target, QueryNoise::kGaussian, std::nullopt, NoiseMultiplier::of(20), PrivacyUnit::kRow)));
  EXPECT_GT(count["count"].get<std::uint64_t>(), 1U);
  expect_error(solution_summary(target, QueryNoise::kGaussian, std::nullopt, std::nullopt, PrivacyUnit::kRow),
               ErrorCode::kInvalidArgument, "state the number of queries");
}

TEST(AccountingSummary, WritesCurvesAndNamesThem) {
  const testing::TemporaryFolder folder;
  Summary summary = value_of(epsilon_summary(training_question(), Delta::of(1e-5), Accountant::kPld));
  expect_good(write_curve(summary, CurveKind::kEpsilon, training_question().statement, folder.path("c")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("c.csv")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("c.svg")));
  EXPECT_EQ(fields_of(summary)["curve"]["kind"], "epsilon");
  const DpStatement open_book{Adjacency::kAddRemove, PrivacyUnit::kRow, NonPrivateEvent{"replay"}};
  expect_error(write_curve(summary, CurveKind::kEpsilon, open_book, folder.path("d")), ErrorCode::kInvalidArgument,
               "no finite epsilon");
}

}  // namespace
}  // namespace noisefloor
