#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "noisefloor/config/training_sections.h"

namespace noisefloor::internal {
namespace {

constexpr std::size_t kMaxDraws = 1000;
constexpr std::size_t kMaxPhases = 16;
// As audit/woven_canaries.h has them.
constexpr std::size_t kFewestCanaries = 100;
constexpr std::size_t kMostCanaries = 1'000'000;

constexpr Names<UtilityData, 3> kUtilityData{
    {{"public", UtilityData::kPublic}, {"proxy", UtilityData::kProxy}, {"budgeted", UtilityData::kBudgeted}}};

std::vector<NoiseMultiplier> usual_noise() {
  std::vector<NoiseMultiplier> noise;
  for (const double one : {0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0}) {
    noise.push_back(NoiseMultiplier::make(one).value());
  }
  return noise;
}

}  // namespace

TrainingAudit read_audit_section(const toml::table& table, Findings& findings) {
  SectionReader reader(table, "[audit]", findings);
  Located<std::size_t> canaries;
  reader.size("canaries", kFewestCanaries, kMostCanaries, canaries);
  reader.finish();
  TrainingAudit audit;
  audit.canaries = canaries.value.value_or(audit.canaries);
  return audit;
}

TrainingGoal read_plan_section(const toml::table& table, std::optional<DataKind> kind, Findings& findings) {
  SectionReader reader(table, "[plan]", findings);
  TrainingGoal goal;
  Located<UtilityData> utility;
  Located<std::string> proxy;
  Located<std::string> proxy_labels;
  Located<Epsilon> utility_epsilon;
  Located<double> target;
  Located<double> loss;
  Located<std::vector<ClipNorm>> clips;
  Located<std::vector<NoiseMultiplier>> noise;
  Located<std::size_t> draws;
  Located<std::size_t> phases;
  reader.choice("utility", kUtilityData, utility);
  reader.require("utility", utility,
                 "say what the utility graph may look at: \"public\" if the training data are public, \"proxy\" with "
                 "other data, or \"budgeted\" with utility_epsilon, which is charged");
  const auto chosen = selector("utility", kUtilityData, utility);
  if (reader.takes("proxy", chosen, {UtilityData::kProxy})) reader.text("proxy", proxy);
  if (reader.takes("proxy_labels", chosen, {UtilityData::kProxy})) reader.text("proxy_labels", proxy_labels);
  if (reader.takes("utility_epsilon", chosen, {UtilityData::kBudgeted})) {
    reader.quantity("utility_epsilon", utility_epsilon);
  }
  reader.number("target_accuracy", target, kBetweenZeroAndOne);
  reader.number("allowed_loss", loss, kBetweenZeroAndOne);
  reader.exclude("target_accuracy", target, "allowed_loss", loss, "keep one: both say how much noise there may be");
  reader.quantities("clip_norms", clips);
  reader.quantities("noise_multipliers", noise);
  reader.size("draws", 1, kMaxDraws, draws);
  reader.size("phases", 1, kMaxPhases, phases);
  reader.finish();
  if (utility.value == UtilityData::kProxy) {
    reader.require("proxy", proxy, "add proxy = \"…\", a file of the same form as the training data");
    const bool idx = kind == DataKind::kIdx;
    if (idx) reader.require("proxy_labels", proxy_labels, "add proxy_labels = \"…\", beside the images of proxy");
    if (!idx && kind) reader.unused("proxy_labels", "format = \"idx\"");
    if (proxy.has()) {
      goal.proxy =
          idx ? ExampleFiles(IdxFiles{*proxy, proxy_labels.value.value_or("")}) : ExampleFiles(TextFile{*proxy});
    }
  }
  if (utility.value == UtilityData::kBudgeted) {
    reader.require("utility_epsilon", utility_epsilon,
                   "add utility_epsilon = …, what the trainings for the utility graph may cost together");
  }
  goal.utility = utility.value.value_or(goal.utility);
  goal.utility_epsilon = utility_epsilon.value;
  goal.target_accuracy = target.value;
  goal.allowed_loss = loss.value.value_or(goal.allowed_loss);
  goal.clip_norms = clips.value.value_or(goal.clip_norms);
  goal.noise = noise.value.value_or(usual_noise());
  std::sort(goal.noise.begin(), goal.noise.end());
  goal.draws = draws.value.value_or(goal.draws);
  goal.phases = phases.value.value_or(goal.phases);
  return goal;
}

}  // namespace noisefloor::internal
