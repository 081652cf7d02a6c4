#include "noisefloor/config/pipeline_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "noisefloor/accounting/pld.h"

namespace noisefloor {
namespace {

const std::string kBudget = "[budget]\nepsilon = 3\ndelta = 1e-6\n";
const std::string kReplaceOne = kBudget + "adjacency = \"replace-one\"\n";
const std::string kPeople = kBudget + "unit = \"person\"\n";
const std::string kData = "[data]\nrows = 60_000\n";
const std::string kRun = "[[run]]\nname = \"model\"\n";
const std::string kSgd = kRun + "technique = \"dp-sgd\"\nclip_norm = 1.0\nbatch_size = 600\nepochs = 10\n";
const std::string kTarget = "target_epsilon = 2\n";
const std::string kLoud = "noise_multiplier = 20\n";
const std::string kFederated =
    kRun +
    "technique = [\"federated\", \"dp-sgd\"]\nclip_norm = 1\nrounds = 10\nlocal_epochs = 1\nbatch_size = 50\n"
    "target_epsilon = 2\n";
const std::string kUpdates =
    kRun + "technique = [\"federated\", \"dp-aggregation\"]\nclip_norm = 1\nclients = 1000\nrounds = 10\n";
const std::string kQuery = kRun + "technique = \"dp-aggregation\"\n";
const std::string kSynthetic = kRun + "technique = \"synthetic\"\n";
const std::string kBase = kBudget + kData;

Assessment assess_text(const std::string& text) {
  const PipelineText read = read_pipeline(text);
  for (const Finding& finding : read.findings) ADD_FAILURE() << finding.message << "\n" << text;
  return assess(read.pipeline);
}

const Finding* find(const std::vector<Finding>& findings, const std::string& code) {
  const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.code == code; });
  return found == findings.end() ? nullptr : &*found;
}

// A text that has a finding, and a twin that has neither this finding nor any error.
struct Case {
  std::string code;
  Severity severity;
  std::string faulty;
  std::string twin;
  std::string at;     // a part of the line that the finding points at
  std::string named;  // a part of its message
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.code; }

std::string line_at(const std::string& text, std::uint32_t number) {
  std::size_t begin = 0;
  for (; number > 1; --number) begin = text.find('\n', begin) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

class EveryFinding : public ::testing::TestWithParam<Case> {};

TEST_P(EveryFinding, AppearsButNotInTheTwin) {
  const Case& c = GetParam();
  const Assessment faulty = assess_text(c.faulty);
  const Finding* finding = find(faulty.findings, c.code);
  ASSERT_NE(finding, nullptr) << c.faulty;
  EXPECT_EQ(finding->severity, c.severity);
  EXPECT_NE(line_at(c.faulty, finding->place.line).find(c.at), std::string::npos)
      << "points at: " << line_at(c.faulty, finding->place.line);
  EXPECT_NE(finding->message.find(c.named), std::string::npos) << finding->message;
  EXPECT_FALSE(finding->remedy.empty());
  if (c.severity == Severity::kWarning) {
    EXPECT_FALSE(has_errors(faulty.findings)) << "a warning alone does not fail";
    EXPECT_TRUE(faulty.composed.has_value());
  }

  const Assessment twin = assess_text(c.twin);
  EXPECT_EQ(find(twin.findings, c.code), nullptr) << c.twin;
  for (const Finding& other : twin.findings) EXPECT_NE(other.severity, Severity::kError) << other.message;
  EXPECT_TRUE(twin.composed.has_value());
}

constexpr Severity kError = Severity::kError;
constexpr Severity kWarning = Severity::kWarning;

INSTANTIATE_TEST_SUITE_P(
    Budget, EveryFinding,
    ::testing::Values(
        Case{"epsilon_missing", kError, "[budget]\ndelta = 1e-6\n" + kData + kSgd + kTarget, kBase + kSgd + kTarget,
             "[budget]", "epsilon"},
        Case{"epsilon_missing", kError, kData + kSgd + kTarget, kBase + kSgd + kTarget, "[data]", "epsilon"},
        Case{"delta_missing", kError, "[budget]\nepsilon = 3\n" + kData + kSgd + kTarget, kBase + kSgd + kTarget,
             "[budget]", "delta"},
        Case{"epsilon_large", kWarning, "[budget]\nepsilon = 10.5\ndelta = 1e-6\n" + kData + kSgd + kTarget,
             "[budget]\nepsilon = 10\ndelta = 1e-6\n" + kData + kSgd + kTarget, "epsilon = 10.5", "3.63e+04"},
        Case{"delta_above_one_in_rows", kError,
             "[budget]\nepsilon = 3\ndelta = 1e-3\n[data]\nrows = 1000\n" + kSgd + kTarget,
             "[budget]\nepsilon = 3\ndelta = 0.999e-3\n[data]\nrows = 1000\n" + kSgd + kTarget, "delta = 1e-3",
             "1/rows = 0.001"},
        Case{"delta_above_one_in_rows", kError,
             "[budget]\nepsilon = 3\ndelta = 1e-3\nunit = \"person\"\n[data]\nrows = 5000\npeople = "
             "1000\nrows_per_person = "
             "5\n" +
                 kSgd + kTarget,
             "[budget]\nepsilon = 3\ndelta = 5e-4\nunit = \"person\"\n[data]\nrows = 5000\npeople = "
             "1000\nrows_per_person = "
             "5\n" +
                 kSgd + kTarget,
             "delta = 1e-3", "1/people = 0.001"},
        Case{"rows_missing", kWarning, kBudget + kQuery + "epsilon = 1\n", kBase + kQuery + "epsilon = 1\n", "delta",
             "rows"},
        Case{"people_above_rows", kError, kBase + "people = 60001\n" + kSgd + kTarget,
             kBase + "people = 60000\n" + kSgd + kTarget, "people", "60001"},
        Case{"contribution_not_bounded", kError, kPeople + kData + "people = 6000\n" + kSgd + kTarget,
             kPeople + kData + "people = 6000\nrows_per_person = 20\n" + kSgd + kTarget, "unit", "people"},
        Case{"row_unit_for_people", kWarning, kBase + "rows_per_person = 4\n" + kSgd + kTarget,
             kBase + "rows_per_person = 1\n" + kSgd + kTarget, "rows_per_person", "4"},
        Case{"no_runs", kError, kBase, kBase + kSgd + kTarget, "[budget]", "no runs"},
        Case{"duplicate_name", kError, kBase + kQuery + "epsilon = 0.1\n" + kQuery + "epsilon = 0.1\n",
             kBase + kQuery + "epsilon = 0.1\n[[run]]\ntechnique = \"dp-aggregation\"\nepsilon = 0.1\n", "name",
             "line 6"}));

INSTANTIATE_TEST_SUITE_P(
    Privacy, EveryFinding,
    ::testing::Values(
        Case{"technique_missing", kError, kBase + kRun, kBase + kSgd + kTarget, "[[run]]", "model"},
        Case{"conflicting_techniques", kError,
             kBase + kRun + "technique = [\"dp-sgd\", \"dp-aggregation\"]\nclip_norm = 1\ntarget_epsilon = 1\n",
             kBase + kSgd + kTarget, "technique", "dp-aggregation"},
        Case{"target_above_total", kError, kBase + kSgd + "target_epsilon = 3.1\n",
             kBase + kSgd + "target_epsilon = 3\n", "target_epsilon", "3.1 is above the total of 3"},
        Case{"target_above_total", kError, kBase + kQuery + "epsilon = 4\n", kBase + kQuery + "epsilon = 3\n",
             "epsilon", "4 is above the total of 3"},
        Case{"synthetic_without_dp", kError, kBase + kSynthetic + "bounds = \"public\"\n",
             kBase + kSynthetic + "bounds = \"public\"\nepsilon = 1\n", "technique", "no formal privacy guarantee"},
        Case{"synthetic_without_dp", kWarning, kBase + kSynthetic + "bounds = \"public\"\nrelease = false\n",
             kBase + kRun +
                 "technique = [\"synthetic\", \"dp-sgd\"]\nbounds = \"public\"\nclip_norm = 1\nbatch_size = 600\n"
                 "epochs = 10\n" +
                 kTarget,
             "technique", "not charged"},
        Case{"federated_without_dp", kError, kBase + kRun + "technique = \"federated\"\nclients = 5\nrounds = 3\n",
             kBase + kFederated + "clients = 5\n", "technique", "updates"},
        Case{"federated_without_dp", kWarning,
             kBase + kRun + "technique = \"federated\"\nclients = 5\nrounds = 3\nrelease = false\n",
             kBase + kFederated + "clients = 5\n", "technique", "not charged"},
        Case{"secure_aggregation_is_not_dp", kError,
             kBase + kRun + "technique = [\"federated\", \"secure-aggregation\"]\nclients = 5\nrounds = 3\n",
             kBase + kFederated + "clients = 5\nsecure_aggregation = true\n", "technique", "hides each update"},
        Case{"secure_aggregation_without_federation", kError, kBase + kSgd + kTarget + "secure_aggregation = true\n",
             kBase + kSgd + kTarget + "secure_aggregation = false\n", "secure_aggregation", "without federation"},
        Case{"secure_aggregation_few_clients", kWarning,
             kBase + kFederated + "clients = 2\nsecure_aggregation = true\n",
             kBase + kFederated + "clients = 3\nsecure_aggregation = true\n", "clients", "2 clients"},
        Case{"replay_seed_set", kError, kBase + kSgd + kTarget + "replay_seed = 42\n", kBase + kSgd + kTarget,
             "replay_seed", "subtract"},
        Case{"tuning_not_charged", kError, kBase + kSgd + "target_epsilon = 0.5\ntrials = 4\n",
             kBase + kSgd + "target_epsilon = 0.5\ntrials = 4\ntuning = \"every-trial\"\n", "trials", "4 trials"},
        Case{"tuning_not_charged", kError, kBase + kSgd + kTarget + "trials = 20\n",
             kBase + kSgd + kTarget + "trials = 20\ntuning = \"public-data\"\n", "trials", "20 trials"},
        Case{"tuning_not_charged", kError, kBase + kSgd + "target_epsilon = 0.5\ntrials = 20\n",
             kBase + kSgd + "target_epsilon = 0.5\ntrials = 20\ntuning = \"repeat-and-select\"\n", "trials",
             "20 trials"},
        Case{"tuning_without_trials", kWarning, kBase + kSgd + kTarget + "tuning = \"every-trial\"\n",
             kBase + kSgd + kTarget + "trials = 1\ntuning = \"every-trial\"\n", "tuning", "trials"}));

INSTANTIATE_TEST_SUITE_P(
    Training, EveryFinding,
    ::testing::Values(
        Case{"clip_missing", kError, kBase + kRun + "technique = \"dp-sgd\"\nbatch_size = 600\nepochs = 10\n" + kTarget,
             kBase + kSgd + kTarget, "[[run]]", "clip_norm"},
        Case{"noise_missing", kError, kBase + kSgd, kBase + kSgd + kTarget, "[[run]]", "without noise"},
        Case{"noise_below_target", kError, kBase + kSgd + kTarget + "noise_multiplier = 0.5\n",
             kBase + kSgd + kTarget + "noise_multiplier = 2\n", "noise_multiplier", "above its target of 2"},
        Case{"target_without_schedule", kWarning, kBase + kRun + "technique = \"dp-sgd\"\nclip_norm = 1\n" + kTarget,
             kBase + kSgd + kTarget, "target_epsilon", "calibrated"},
        Case{"target_without_schedule", kWarning,
             kBase + kRun + "technique = \"dp-sgd\"\nclip_norm = 1\nbatch_size = 600\n" + kTarget,
             kBase + kSgd + kTarget, "target_epsilon", "calibrated"},
        Case{"schedule_missing", kError, kBase + kRun + "technique = \"dp-sgd\"\nclip_norm = 1\nnoise_multiplier = 2\n",
             kBase + kSgd + "noise_multiplier = 2\n", "noise_multiplier", "unknown"},
        Case{"batch_above_rows", kError, kBudget + "[data]\nrows = 599\n" + kSgd + kTarget,
             kBudget + "[data]\nrows = 600\n" + kSgd + kTarget, "batch_size", "600, but there are only 599 rows"},
        Case{"batch_above_rows", kError, kBase + kFederated + "clients = 6\nsmallest_client = 49\n",
             kBase + kFederated + "clients = 6\nsmallest_client = 50\n", "batch_size", "49 rows at a client"},
        Case{"people_missing", kError, kPeople + kData + "rows_per_person = 3\n" + kSgd + kTarget,
             kPeople + kData + "rows_per_person = 3\npeople = 20_000\n" + kSgd + kTarget, "batch_size", "people"},
        Case{"few_uses", kWarning,
             kBase + kRun + "technique = \"dp-sgd\"\nclip_norm = 1\nsample_rate = 0.001\nsteps = 10\n" + kLoud,
             kBase + kRun + "technique = \"dp-sgd\"\nclip_norm = 1\nsample_rate = 0.1\nsteps = 10\n" + kLoud,
             "sample_rate", "0.01"},
        Case{"rate_large", kWarning,
             kBase + kRun + "technique = \"dp-sgd\"\nclip_norm = 1\nsample_rate = 0.51\nsteps = 10\n" + kLoud,
             kBase + kRun + "technique = \"dp-sgd\"\nclip_norm = 1\nsample_rate = 0.5\nsteps = 10\n" + kLoud,
             "sample_rate", "0.51"},
        Case{"conflicting_keys", kError, kBase + kSgd + kTarget + "sample_rate = 0.01\n", kBase + kSgd + kTarget,
             "sample_rate", "batch_size and sample_rate"},
        Case{"conflicting_keys", kError, kBase + kSgd + kTarget + "steps = 100\n", kBase + kSgd + kTarget, "steps",
             "steps and epochs"},
        Case{"conflicting_keys", kError, kBase + kFederated + "clients = 5\nlocal_steps = 3\n",
             kBase + kFederated + "clients = 5\n", "local_steps", "local_epochs"},
        Case{"conflicting_keys", kError, kBase + kFederated + "clients = 5\nsteps = 3\n",
             kBase + kFederated + "clients = 5\n", "steps", "one place"},
        Case{"shuffle_not_poisson", kError, kBase + kSgd + kTarget + "sampler = \"shuffle\"\naccountant = \"rdp\"\n",
             kBase + kSgd + kTarget + "sampler = \"poisson\"\naccountant = \"rdp\"\n", "sampler", "accountant rdp"},
        Case{"fixed_size_add_remove", kError, kBase + kSgd + kTarget + "sampler = \"fixed-size\"\n",
             kReplaceOne + kData + kSgd + kTarget + "sampler = \"fixed-size\"\n", "sampler", "add-remove"},
        Case{"fixed_size_needs_batch", kError,
             kReplaceOne + kData + kRun + "technique = \"dp-sgd\"\nclip_norm = 1\nsample_rate = 0.01\nsteps = 100\n" +
                 kTarget + "sampler = \"fixed-size\"\n",
             kReplaceOne + kData + kSgd + kTarget + "sampler = \"fixed-size\"\n", "sampler", "batch_size"},
        Case{"accountant_is_estimate", kError, kBase + kSgd + kTarget + "accountant = \"gdp\"\n",
             kBase + kSgd + kTarget + "accountant = \"pld\"\n", "accountant", "estimate"},
        Case{"accountant_is_estimate", kError,
             kBase + kRun + "technique = \"dp-sgd\"\nclip_norm = 1\naccountant = \"gdp\"\n" + kTarget,
             kBase + kRun + "technique = \"dp-sgd\"\nclip_norm = 1\naccountant = \"rdp\"\n" + kTarget, "accountant",
             "estimate"},
        Case{"accountant_without_amplification", kWarning, kBase + kSgd + kTarget + "accountant = \"zcdp\"\n",
             kBase + kSgd + kTarget + "accountant = \"rdp\"\n", "accountant", "sampling"},
        Case{"accountant_does_not_fit", kError, kBase + kQuery + "epsilon = 1\naccountant = \"gdp\"\n",
             kBase + kQuery + "mechanism = \"gaussian\"\nnoise_multiplier = 2\naccountant = \"gdp\"\n", "accountant",
             "no answer"},
        Case{"no_bound", kError,
             kBase + kRun +
                 "technique = \"dp-sgd\"\nclip_norm = 1\nsample_rate = 1\nsteps = 1e12\ntarget_epsilon = 1e-3\n",
             kBase + kRun +
                 "technique = \"dp-sgd\"\nclip_norm = 1\nsample_rate = 1\nsteps = 1e3\ntarget_epsilon = 1e-3\n",
             "[[run]]", "no bound"}));

INSTANTIATE_TEST_SUITE_P(
    Federated, EveryFinding,
    ::testing::Values(
        Case{"clients_missing", kError, kBase + kFederated, kBase + kFederated + "clients = 5\n", "technique",
             "clients"},
        Case{"single_client", kWarning, kBase + kFederated + "clients = 1\nsmallest_client = 60000\n",
             kBase + kFederated + "clients = 2\nsmallest_client = 30000\n", "clients", "1 client"},
        Case{"clients_per_round_above_clients", kError, kBase + kFederated + "clients = 5\nclients_per_round = 6\n",
             kBase + kFederated + "clients = 5\nclients_per_round = 5\n", "clients_per_round",
             "6, but there are only 5"},
        Case{"client_size_assumed", kWarning, kBase + kFederated + "clients = 5\n",
             kBase + kFederated + "clients = 5\nsmallest_client = 9000\n", "batch_size", "12000"},
        Case{"smallest_client_too_large", kError, kBase + kFederated + "clients = 5\nsmallest_client = 12001\n",
             kBase + kFederated + "clients = 5\nsmallest_client = 12000\n", "smallest_client", "12001"},
        Case{"conflicting_keys", kError,
             kBase + kRun +
                 "technique = [\"federated\", \"dp-sgd\", \"secure-aggregation\"]\nclip_norm = 1\nrounds = 10\n"
                 "local_steps = 5\nsample_rate = 0.1\nclients = 5\nsecure_aggregation = false\n" +
                 kTarget,
             kBase + kRun +
                 "technique = [\"federated\", \"dp-sgd\", \"secure-aggregation\"]\nclip_norm = 1\nrounds = 10\n"
                 "local_steps = 5\nsample_rate = 0.1\nclients = 5\n" +
                 kTarget,
             "secure_aggregation = false", "false"},
        Case{"client_level_needs_person", kError, kBase + kUpdates + kTarget, kPeople + kData + kUpdates + kTarget,
             "technique", "whole clients"},
        Case{"mechanism_not_gaussian", kError, kPeople + kData + kUpdates + kTarget + "mechanism = \"laplace\"\n",
             kPeople + kData + kUpdates + kTarget + "mechanism = \"gaussian\"\n", "mechanism", "Gaussian"},
        Case{"key_not_used", kError, kPeople + kData + kUpdates + kTarget + "queries = 3\n",
             kPeople + kData + kUpdates + kTarget + "clients_per_round = 100\n", "queries", "queries"},
        Case{"clip_missing", kError,
             kPeople + kData + kRun + "technique = [\"federated\", \"dp-aggregation\"]\nclients = 1000\nrounds = 10\n" +
                 kTarget,
             kPeople + kData + kUpdates + kTarget, "[[run]]", "clip_norm"}));

INSTANTIATE_TEST_SUITE_P(
    Queries, EveryFinding,
    ::testing::Values(
        Case{"noise_missing", kError, kBase + kQuery, kBase + kQuery + "epsilon = 1\n", "[[run]]", "without noise"},
        Case{"mechanism_has_no_noise", kError, kBase + kQuery + "mechanism = \"exponential\"\nnoise_multiplier = 2\n",
             kBase + kQuery + "mechanism = \"exponential\"\nepsilon = 2\n", "noise_multiplier", "selects"},
        Case{"conflicting_keys", kError, kBase + kQuery + "epsilon = 1\nnoise_multiplier = 2\n",
             kBase + kQuery + "noise_multiplier = 2\n", "noise_multiplier", "epsilon and noise_multiplier"},
        Case{"bounds_missing", kError, kBase + kQuery + "epsilon = 1\nstatistic = \"sum\"\nlower = 0\n",
             kBase + kQuery + "epsilon = 1\nstatistic = \"sum\"\nlower = 0\nupper = 100\n", "statistic", "upper"},
        Case{"bounds_out_of_order", kError, kBase + kQuery + "epsilon = 1\nstatistic = \"sum\"\nlower = 5\nupper = 5\n",
             kBase + kQuery + "epsilon = 1\nstatistic = \"sum\"\nlower = 5\nupper = 6\n", "upper", "5"},
        Case{"mean_under_add_remove", kError,
             kBase + kQuery + "epsilon = 1\nstatistic = \"mean\"\nlower = 0\nupper = 1\n",
             kReplaceOne + kData + kQuery + "epsilon = 1\nstatistic = \"mean\"\nlower = 0\nupper = 1\n", "statistic",
             "mean"},
        Case{"delta_not_needed", kWarning, kBase + kQuery + "epsilon = 1\ndelta = 1e-7\n",
             kBase + kQuery + "epsilon = 1\ndelta = 1e-7\nmechanism = \"gaussian\"\n", "delta = 1e-7", "pure"},
        Case{"gaussian_needs_delta", kError, kBase + kQuery + "epsilon = 1\ndelta = 0\nmechanism = \"gaussian\"\n",
             kBase + kQuery + "epsilon = 1\ndelta = 0\nmechanism = \"laplace\"\n", "delta = 0", "Gaussian"},
        Case{"gaussian_needs_delta", kError, "[budget]\nepsilon = 3\ndelta = 0\n" + kData + kSgd + kTarget,
             "[budget]\nepsilon = 3\ndelta = 0\n" + kData + kQuery + "epsilon = 3\n", "delta = 0", "Gaussian"},
        Case{"delta_above_total", kError, kBase + kQuery + "epsilon = 1\ndelta = 2e-6\nmechanism = \"gaussian\"\n",
             kBase + kQuery + "epsilon = 1\ndelta = 1e-6\nmechanism = \"gaussian\"\n", "delta = 2e-6", "1e-06"},
        Case{"bounds_from_data", kError, kBase + kQuery + "epsilon = 1\nbounds = \"data\"\n",
             kBase + kQuery + "epsilon = 1\nbounds = \"public\"\n", "bounds", "largest value"},
        Case{"bounds_from_data", kError, kBase + kSynthetic + "epsilon = 1\nbounds = \"data\"\n",
             kBase + kSynthetic + "epsilon = 1\nbounds = \"private\"\nbounds_epsilon = 0.1\n", "bounds", "domain"},
        Case{"bounds_not_charged", kError, kBase + kSynthetic + "epsilon = 1\nbounds = \"private\"\n",
             kBase + kSynthetic + "epsilon = 1\nbounds = \"private\"\nbounds_epsilon = 0.1\n", "bounds", "costs"},
        Case{"conflicting_keys", kError,
             kBase + kSynthetic + "epsilon = 1\nbounds = \"public\"\nbounds_epsilon = 0.1\n",
             kBase + kSynthetic + "epsilon = 1\nbounds = \"public\"\n", "bounds_epsilon", "bounds_epsilon"},
        Case{"bounds_not_stated", kWarning, kBase + kSynthetic + "epsilon = 1\n",
             kBase + kSynthetic + "epsilon = 1\nbounds = \"public\"\n", "technique", "domain"},
        Case{"composition_refused", kError,
             kBase + kSynthetic + "epsilon = 0.1\nbounds = \"public\"\ndelta = 1e-6\n" +
                 "[[run]]\ntechnique = \"synthetic\"\nepsilon = 0.1\nbounds = \"public\"\ndelta = 1e-6\n",
             kBase + kSynthetic + "epsilon = 0.1\nbounds = \"public\"\ndelta = 5e-7\n" +
                 "[[run]]\ntechnique = \"synthetic\"\nepsilon = 0.1\nbounds = \"public\"\ndelta = 5e-7\n",
             "[[run]]", "together"},
        Case{
            "composition_refused", kError,
            kBudget + "rule = \"basic\"\n" + kData + kSynthetic + "epsilon = 0.1\nbounds = \"public\"\ndelta = 1e-6\n" +
                "[[run]]\ntechnique = \"synthetic\"\nepsilon = 0.1\nbounds = \"public\"\ndelta = 1e-6\n",
            kBudget + "rule = \"basic\"\n" + kData + kSynthetic + "epsilon = 0.1\nbounds = \"public\"\ndelta = 5e-7\n" +
                "[[run]]\ntechnique = \"synthetic\"\nepsilon = 0.1\nbounds = \"public\"\ndelta = 5e-7\n",
            "[[run]]", "add up to 2e-06"},
        Case{"runs_above_total", kError,
             kBase + kQuery + "epsilon = 2\n[[run]]\ntechnique = \"dp-aggregation\"\nepsilon = 2\n",
             kBase + kQuery + "epsilon = 2\n[[run]]\ntechnique = \"dp-aggregation\"\nepsilon = 1\n", "[[run]]",
             "2 runs together"},
        Case{"runs_above_total", kError, kBase + kSgd + "noise_multiplier = 0.5\n",
             kBase + kSgd + "noise_multiplier = 1\n", "[[run]]", "above the total of 3"}));

// --- Numbers ---------------------------------------------------------------------------------------------------------

const std::string kMediCore = R"([budget]
epsilon = 3.0
delta = 1e-6
[[run]]
technique = ["federated", "dp-sgd", "secure-aggregation"]
target_epsilon = 2.0
clip_norm = 1.0
clients = 15
local_epochs = 3
rounds = 50
secure_aggregation = true
)";

TEST(Check, PassesMediCoreAsTheBookHasIt) {
  const Assessment assessment = assess_text(kMediCore);
  for (const Finding& finding : assessment.findings) EXPECT_EQ(finding.severity, Severity::kWarning) << finding.message;
  // The pipeline states neither rows nor batches, and the findings say so.
  EXPECT_NE(find(assessment.findings, "rows_missing"), nullptr);
  EXPECT_NE(find(assessment.findings, "target_without_schedule"), nullptr);
  ASSERT_TRUE(assessment.composed.has_value());
  EXPECT_NEAR(assessment.composed->upper, 2, 1e-9);
}

TEST(Check, FindsNothingInMediCoreWithRowsAndBatches) {
  const Assessment assessment =
      assess_text("[data]\nrows = 60_000\n" + kMediCore + "batch_size = 64\nsmallest_client = 2500\n");
  for (const Finding& finding : assessment.findings) ADD_FAILURE() << finding.message;
  ASSERT_TRUE(assessment.composed.has_value());
  EXPECT_LE(assessment.composed->upper, 2);
  EXPECT_GT(assessment.composed->lower, 1.9999);
}

// 400 batches, each a fortieth of 10,000 rows, δ = 1e-5: a book prints the noise 0.8731 for ε = 3, which spends 4.28;
// 1.0271 is right.
TEST(Check, NamesWhatTheNoiseSpendsAndWhichWouldDo) {
  const Assessment assessment = assess_text("[budget]\nepsilon = 3\ndelta = 1e-5\n[data]\nrows = 10_000\n" + kRun +
                                            "technique = \"dp-sgd\"\nclip_norm = 1\nsample_rate = 0.025\nepochs = "
                                            "10\ntarget_epsilon = 3\nnoise_multiplier = 0.8731\n");
  const Finding* finding = find(assessment.findings, "noise_below_target");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->message.find("4.28"), std::string::npos) << finding->message;
  EXPECT_NE(finding->remedy.find("noise_multiplier = 1.0271"), std::string::npos) << finding->remedy;
}

// The first multiplier in a remedy.
double noise_in(const std::string& remedy) {
  const std::string key = "noise_multiplier = ";
  const std::size_t at = remedy.find(key);
  EXPECT_NE(at, std::string::npos) << remedy;
  return at == std::string::npos ? 0 : std::stod(remedy.substr(at + key.size()));
}

void expect_remedy_fits(const std::string& before, const std::string& last) {
  const Assessment faulty = assess_text(before + last + "noise_multiplier = 0.7\n");
  const Finding* finding = find(faulty.findings, "runs_above_total");
  ASSERT_NE(finding, nullptr);
  const double noise = noise_in(finding->remedy);
  EXPECT_GT(noise, 0.7);
  const Assessment repaired = assess_text(before + last + "noise_multiplier = " + std::to_string(noise) + "\n");
  EXPECT_FALSE(has_errors(repaired.findings)) << finding->remedy;
  ASSERT_TRUE(repaired.composed.has_value());
  EXPECT_GT(repaired.composed->upper, 2.4) << "it does not ask for far too much noise";
}

const std::string kLast =
    "[[run]]\nname = \"last\"\ntechnique = \"dp-sgd\"\nclip_norm = 1\nbatch_size = 600\nepochs = 10\n";

TEST(Check, SaysWhichNoiseOfTheLastRunWouldFit) {
  expect_remedy_fits(kBase + kSgd + "noise_multiplier = 1.2\n", kLast);
  expect_remedy_fits(kBase, kLast);
}

TEST(Check, SaysWhichNoiseWouldFitBesideOtherMechanisms) {
  expect_remedy_fits(kBase + kQuery + "epsilon = 0.2\n", kLast);
}

TEST(Check, SaysWhichEpsilonOfTheLastRunWouldFit) {
  const std::string before = kBase + kQuery + "epsilon = 1\n[[run]]\ntechnique = \"dp-aggregation\"\n";
  const Finding finding = *find(assess_text(before + "epsilon = 2.5\n").findings, "runs_above_total");
  EXPECT_NE(finding.message.find("the total of 3"), std::string::npos) << finding.message;
  EXPECT_NE(finding.message.find("'model' 1, 'run 2' 2.5"), std::string::npos) << finding.message;
  const std::string key = "an epsilon of ";
  ASSERT_EQ(finding.remedy.find(key), 0U) << finding.remedy;
  const double room = std::stod(finding.remedy.substr(key.size()));
  EXPECT_NEAR(room, 2, 0.01);
  EXPECT_FALSE(has_errors(assess_text(before + "epsilon = " + std::to_string(room) + "\n").findings));
}

TEST(Check, SaysWhenTheOthersAlreadySpendTooMuch) {
  const Assessment assessment = assess_text(kBase + kSgd +
                                            "noise_multiplier = 0.5\n[[run]]\nname = \"small\"\n"
                                            "technique = \"dp-aggregation\"\nepsilon = 0.1\n");
  const Finding* finding = find(assessment.findings, "runs_above_total");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->remedy.find("already spend"), std::string::npos) << finding->remedy;
}

TEST(Check, ComposesTighterThanSums) {
  // Six queries of a hospital, for which basic composition says 1.4. With rule = "basic" the sum is exact.
  std::string text;
  for (int i = 0; i < 4; ++i) text += "[[run]]\ntechnique = \"dp-aggregation\"\nepsilon = 0.1\n";
  for (int i = 0; i < 2; ++i) {
    text += "[[run]]\ntechnique = \"synthetic\"\nbounds = \"public\"\nepsilon = 0.5\ndelta = 1e-7\n";
  }
  const Assessment plan = assess_text(kBase + text);
  const Assessment planned = assess_text(kBudget + "rule = \"planned\"\n" + kData + text);
  ASSERT_TRUE(plan.composed.has_value());
  EXPECT_LE(plan.composed->upper, 1.4);
  EXPECT_GT(plan.composed->lower, 1.2);
  ASSERT_TRUE(planned.composed.has_value());
  EXPECT_EQ(planned.composed->upper, plan.composed->upper) << "it is the default";
  const Assessment basic = assess_text(kBudget + "rule = \"basic\"\n" + kData + text);
  ASSERT_TRUE(basic.composed.has_value());
  EXPECT_NEAR(basic.composed->upper, 1.4, 1e-5) << "a pure query costs a little less at its share of delta";
  EXPECT_LT(plan.composed->upper, basic.composed->upper);
}

TEST(Check, AddsTenTenthsToOne) {
  std::string text = "[budget]\nepsilon = 1\ndelta = 0\n";
  for (int i = 0; i < 10; ++i) text += "[[run]]\ntechnique = \"dp-aggregation\"\nepsilon = 0.1\n";
  EXPECT_FALSE(has_errors(assess_text(text).findings));
  EXPECT_TRUE(has_errors(assess_text(text + "[[run]]\ntechnique = \"dp-aggregation\"\nepsilon = 1e-9\n").findings));
}

TEST(Check, ReturnsTheStatementThatItAccountedFor) {
  const Assessment assessment = assess_text(kBase + kSgd + "noise_multiplier = 2\n" + kLast + "noise_multiplier = 3\n");
  ASSERT_TRUE(assessment.statement.has_value() && assessment.composed.has_value());
  const Interval again = pld_epsilon(assessment.statement->event, Adjacency::kAddRemove, Delta::of(1e-6)).value();
  EXPECT_EQ(again.upper, assessment.composed->upper);
  EXPECT_EQ(assessment.statement->unit, PrivacyUnit::kRow);
  ASSERT_EQ(assessment.runs.size(), 2U);
  EXPECT_GT(again.upper, assessment.runs[0].epsilon->upper);
}

TEST(Check, ChargesNothingForARunThatIsNotReleased) {
  const Assessment assessment = assess_text(kBase + kSgd + kTarget +
                                            "[[run]]\ntechnique = \"federated\"\nclients = 5\n"
                                            "release = false\n");
  ASSERT_TRUE(assessment.composed.has_value());
  EXPECT_NEAR(assessment.composed->upper, assessment.runs[0].epsilon->upper, 1e-12);
  EXPECT_FALSE(assessment.runs[1].charged);
}

TEST(Check, WarnsIfARunMissesItsTargetByItsOwnAccountant) {
  const std::string run = kBase + kSgd + "accountant = \"rdp\"\n";
  const double upper = assess_text(run + "noise_multiplier = 1\n").runs[0].epsilon->upper;
  const std::string close = "noise_multiplier = 1\ntarget_epsilon = " + std::to_string(upper * 1.001) + "\n";
  const Assessment assessment = assess_text(run + close);
  EXPECT_NE(find(assessment.findings, "accountant_above_target"), nullptr);
  EXPECT_FALSE(has_errors(assessment.findings));
  const std::string wide = "noise_multiplier = 1\ntarget_epsilon = " + std::to_string(upper * 1.3) + "\n";
  EXPECT_EQ(find(assess_text(run + wide).findings, "accountant_above_target"), nullptr);
}

TEST(Check, ReturnsFindingsInTheOrderOfTheFile) {
  const std::vector<Finding> findings =
      check(read_pipeline("[[run]]\n[budget]\nepsilon = 50\ndelta = 0.5\n[data]\nrows = 10\n").pipeline);
  EXPECT_TRUE(std::is_sorted(findings.begin(), findings.end(),
                             [](const Finding& a, const Finding& b) { return a.place < b.place; }));
  EXPECT_GE(findings.size(), 3U);
}

}  // namespace
}  // namespace noisefloor
