#include "noisefloor/config/simulation_file.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace noisefloor {
namespace {

using federated::Cooperation;
using federated::Personal;
using federated::PrivacyMode;
using federated::RobustRule;
using federated::StrategyKind;
using federated::Weighting;

constexpr const char* kGood = R"(
name = "ward"
[data]
format = "csv"
train = "ward.csv"
public = true
test_fraction = 0.25
label = "ill"
classes = ["no", "yes"]
[[data.column]]
name = "age"
lower = 0
upper = 120
[sites]
by = "column"
column = "clinic"
least = 5
[model]
kind = "logistic"
[run]
rounds = 7
local_steps = 3
batch_size = 16
learning_rate = 0.5
seeds = [4, 5]
[privacy]
mode = "local"
epsilon = 2
delta = 1e-4
clip_norm = 1.5
[faults]
away = 0.1
attackers = 1
attack = "sign-flip"
[[method]]
kind = "fedavg"
[[method]]
name = "robust"
kind = "fedavg"
rule = "median"
[[method]]
kind = "fedprox"
proximal = 0.3
private = false
personal = "ditto"
pull = 0.7
[[method]]
kind = "local-only"
)";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// The codes of the errors.
std::vector<std::string> errors_of(const std::string& text) {
  std::vector<std::string> codes;
  const SimulationText read = read_simulation(text);
  for (const Finding& finding : read.findings) {
    if (finding.severity == Severity::kError) codes.push_back(finding.code);
    EXPECT_GT(finding.place.line, 0U) << finding.message;
  }
  EXPECT_EQ(read.simulation.has_value(), codes.empty());
  return codes;
}
using Codes = std::vector<std::string>;

TEST(SimulationFile, ReadsAllSections) {
  const SimulationText read = read_simulation(kGood);
  ASSERT_TRUE(read.simulation) << (read.findings.empty() ? "" : read.findings.front().message);
  const SimulationFile& file = *read.simulation;
  EXPECT_EQ(file.name, "ward");
  EXPECT_EQ(file.sites.by, SitesBy::kColumn);
  EXPECT_EQ(file.sites.column, "clinic");
  EXPECT_EQ(file.sites.least, 5U);
  EXPECT_EQ(file.seeds, (std::vector<std::uint64_t>{4, 5}));
  ASSERT_EQ(file.methods.size(), 4U);
  const auto& fedavg = file.methods[0].options;
  EXPECT_EQ(file.methods[0].name, "fedavg");
  EXPECT_EQ(fedavg.rounds, 7U);
  EXPECT_EQ(fedavg.steps, 3U);
  EXPECT_EQ(fedavg.mode, PrivacyMode::kLocal);
  EXPECT_EQ(fedavg.epsilon, Epsilon::of(2));
  EXPECT_EQ(fedavg.clip, ClipNorm::of(1.5));
  EXPECT_EQ(fedavg.weighting, Weighting::kByCount);
  EXPECT_EQ(fedavg.faults.liars, 1U);
  EXPECT_EQ(fedavg.faults.away, 0.1);
  const auto& robust = file.methods[1].options;
  EXPECT_EQ(file.methods[1].name, "robust");
  EXPECT_EQ(robust.robust, (federated::RobustOptions{RobustRule::kMedian, 1, {}})) << "as many liars as attack";
  EXPECT_EQ(robust.weighting, Weighting::kEqual);
  const auto& prox = file.methods[2].options;
  EXPECT_EQ(file.methods[2].name, "fedprox, ditto");
  EXPECT_EQ(prox.strategy.kind, StrategyKind::kFedProx);
  EXPECT_EQ(prox.strategy.proximal, 0.3);
  EXPECT_EQ(prox.mode, PrivacyMode::kNone);
  EXPECT_FALSE(prox.clip);
  EXPECT_EQ(prox.personal, Personal::kDitto);
  EXPECT_EQ(prox.ditto, 0.7);
  const auto& alone = file.methods[3].options;
  EXPECT_EQ(alone.cooperation, Cooperation::kLocalOnly);
  EXPECT_EQ(alone.mode, PrivacyMode::kLocal);
  EXPECT_EQ(alone.faults.liars, 0U);
  EXPECT_TRUE(is_simulation(kGood));
  EXPECT_FALSE(is_simulation("name = \"x\"\n[model]\n"));
}

TEST(SimulationFile, TakesPublicRowsOnly) {
  EXPECT_EQ(errors_of(with("public = true\n", "")), Codes{"rows_not_public"});
  EXPECT_EQ(errors_of(with("public = true", "public = false")), Codes{"rows_not_public"});
}

TEST(SimulationFile, RefusesWhatDoesNotFit) {
  EXPECT_EQ(errors_of(with("column = \"clinic\"\n", "")), Codes{"key_missing"});
  EXPECT_EQ(errors_of(with("by = \"column\"", "by = \"dirichlet\"")), (Codes{"key_missing", "key_not_used"}));
  EXPECT_EQ(errors_of(with("by = \"column\"\ncolumn = \"clinic\"", "by = \"file\"\nnames = [\"a\"]")),
            (Codes{"sites_do_not_fit", "key_not_used"}));
  EXPECT_EQ(errors_of(with("local_steps = 3\n", "")), Codes{"key_missing"});
  EXPECT_EQ(errors_of(with("local_steps = 3\n", "local_steps = 3\nlocal_epochs = 1\n")), Codes{"conflicting_keys"});
  EXPECT_EQ(errors_of(with("clip_norm = 1.5\n", "")), Codes{"key_missing"});
  EXPECT_EQ(errors_of(with("delta = 1e-4", "delta = 0")), Codes{"gaussian_needs_delta"});
  EXPECT_EQ(errors_of(with("proximal = 0.3", "momentum = 0.3")), Codes{"key_not_used"});
  EXPECT_EQ(errors_of(with("pull = 0.7", "fine_tune_steps = 3")), Codes{"key_not_used"});
  EXPECT_EQ(errors_of(with("attack = \"sign-flip\"\n", "")), Codes{"key_missing"});
  EXPECT_EQ(errors_of(with("attackers = 1\n", "")), Codes{"key_not_used"});
  EXPECT_EQ(errors_of(with("name = \"robust\"", "name = \"fedavg\"")), Codes{"duplicate_name"});
  EXPECT_EQ(errors_of(with("away = 0.1", "away = 1.1")), Codes{"out_of_range"});
  EXPECT_EQ(errors_of(with("test_fraction = 0.25\n", "")), Codes{"key_missing"});
  EXPECT_EQ(errors_of(with("[run]", "[budget]\nepsilon = 1\n[run]")), Codes{"unknown_key"});
}

TEST(SimulationFile, StandardisesNothingUnderNoise) {
  EXPECT_EQ(errors_of(with("least = 5", "least = 5\nstandardise = \"all\"")), Codes{"standardise_not_private"});
}

TEST(SimulationFile, MethodsMayDifferInModeAndWork) {
  const SimulationText read = read_simulation(
      with("name = \"robust\"\nkind = \"fedavg\"\nrule = \"median\"",
           "name = \"sums\"\nkind = \"fedavg\"\nmode = \"secagg\"\nlocal_steps = 1\nrounds = 90\nbatch_size = 64"));
  ASSERT_TRUE(read.simulation) << read.findings.front().message;
  const auto& sums = read.simulation->methods[1].options;
  EXPECT_EQ(sums.mode, PrivacyMode::kSecagg);
  EXPECT_EQ(sums.epsilon, Epsilon::of(2)) << "that of [privacy]";
  EXPECT_EQ(sums.weighting, Weighting::kEqual);
  EXPECT_EQ(sums.minimum_cohort, 0U) << "all sites";
  EXPECT_EQ(sums.steps, 1U);
  EXPECT_EQ(sums.rounds, 90U);
  EXPECT_EQ(sums.batch, 64U);
  EXPECT_EQ(sums.evaluate_every, 2U);
  EXPECT_EQ(read.simulation->methods[0].options.rounds, 7U);
  EXPECT_EQ(errors_of(with("rule = \"median\"", "mode = \"none\"\nclip_norm = 1")), Codes{"key_not_used"});
}

TEST(SimulationFile, CentralNoiseMakesSitesEqual) {
  std::string text = with("mode = \"local\"", "mode = \"central\"\nsite_rate = 0.5\nadaptive_clip = true");
  const SimulationText read = read_simulation(text);
  ASSERT_TRUE(read.simulation) << read.findings.front().message;
  const auto& fedavg = read.simulation->methods[0].options;
  EXPECT_EQ(fedavg.weighting, Weighting::kEqual);
  EXPECT_EQ(fedavg.minimum_cohort, 0U) << "who is there must not decide whether a round counts";
  EXPECT_TRUE(fedavg.adaptive_clip);
  EXPECT_EQ(read.simulation->methods[3].options.mode, PrivacyMode::kNone);
}

}  // namespace
}  // namespace noisefloor
