#include "noisefloor/training/planning.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/plan/exact.h"
#include "noisefloor/training/exposing.h"
#include "noisefloor/training/plan_following.h"

namespace noisefloor {
namespace {

constexpr const char* kItem = "training";
constexpr double kRoundedDown = 1 - 1e-12;  // so that shares add up to no more than the whole

Result<void> expect_plannable(const Training& training) {
  if (!training.goal) {
    return invalid_argument(
        "the file has no [plan]: add it, with utility = \"public\", \"proxy\" or \"budgeted\" "
        "(docs/formats/training.md)");
  }
  if (!training.privacy.private_training) return invalid_argument("a training with noise = \"none\" needs no plan");
  if (training.descent.discrete_noise || training.descent.adaptive || !training.descent.clip ||
      !std::holds_alternative<FlatClip>(*training.descent.clip)) {
    return invalid_argument(R"(plans are for Gaussian noise and one clip norm: clipping = "flat", noise = "gaussian")");
  }
  return success();
}

Result<UtilityChoice> next_choice(const std::optional<NoiseMultiplier>& wish, const PlanFile& before) {
  NF_TRY(const NoiseMultiplier half, NoiseMultiplier::make(before.noise.value() / 2));
  const NoiseMultiplier noise = wish.value_or(half);
  if (noise < before.noise) return UtilityChoice{before.clip, noise};
  return invalid_argument(fmt::format("a next phase must have less noise than the one before, {:g}; {:g} was given",
                                      before.noise.value(), noise.value()));
}

// The noise is at most what the utility graph allows. The first choice is the least noise that keeps ε with the file's
// own batch, which gives the better model. If that is too much noise, or later phases are to have less, the plan takes
// all the noise that the graph allows, with the largest batch that keeps ε.
Result<ExactPlan> exact_plan(const ExactQuestion& question, const UtilityChoice& choice, Rows batch,
                             std::uint64_t phases) {
  if (phases == 1) {
    Result<ExactPlan> least = exact_for_size(question, batch);
    if (least.has_value() && least.value().noise <= choice.noise) return least;
  }
  return exact_for_noise(question, choice.noise);
}

// The use of the training's own budget that sets a plan aside.
ReserveRequest set_aside_use(const PlanFile& plan) {
  ReserveRequest use{plan.budget, key_of(plan), plan.statement, plan.delta};
  use.use = UseKind::kTraining;
  return use;
}

// The plan of the theorems, where they apply and their promise is kept.
Result<std::optional<ClosedFormPlan>> closed_form_of(const ExactQuestion& question, const ExactPlan& exact) {
  std::optional<ClosedFormPlan> closed;
  if (question.draw != Draw::kPoisson || question.target.adjacency != Adjacency::kAddRemove) return closed;
  auto made = closed_form_plan({question.rows, question.epochs, question.target.delta}, exact.noise);
  if (!made.has_value()) return closed;
  NF_TRY(const Interval cost, certified_epsilon(made.value().setting));
  if (cost.upper <= made.value().setting.epsilon.value()) closed = std::move(made).value();
  return closed;
}

}  // namespace

Result<EarlierPhase> read_earlier_phase(const std::filesystem::path& folder, const TrainingFile& file) {
  const OutputFiles files{folder};
  NF_TRY(FollowedPlan read, read_plan(files.plan(), file));
  if (read.plan.phase >= read.plan.phases) {
    return invalid_argument(
        fmt::format("that was the last of {} phases, among which delta was divided before anything was spent: the "
                    "training ends here",
                    read.plan.phases));
  }
  std::error_code error;
  const std::filesystem::path model = std::filesystem::absolute(files.model(), error);
  if (error || !std::filesystem::exists(model, error)) {
    return invalid_argument(fmt::format("{} has no model: train by its plan first", shown(folder.string())));
  }
  return EarlierPhase{std::move(read.plan), model.string()};
}

Result<PlanJob> PlanJob::prepare(TrainingFile file, PlanWish wish, Machine machine) {
  const Training& training = file.training;
  NF_TRY_VOID(require_backend(training, file.location, machine.torch));
  if (wish.noise && !wish.after)
    return invalid_argument("a noise multiplier can be given only for a next phase: leave it out");
  NF_TRY(TrainingExamples examples, read_examples(file, machine.threads));
  NF_TRY_VOID(expect_plannable(training));
  NF_TRY_VOID(expect_test_examples(examples));
  const bool budgeted = training.goal->utility == UtilityData::kBudgeted;
  const std::size_t uses = training.goal->phases + (budgeted ? 1 : 0);
  NF_TRY(const PublicCount count, public_count_of(training, examples.train));
  NF_TRY(BatchSampler sampler, sampler_of(training, count, examples.train));
  NF_TRY(const Steps steps, steps_of(training.descent, sampler));
  const double one_row = 1 / static_cast<double>(sampler.rows().value());
  const double whole_delta = std::min(training.privacy.target_delta.value(), one_row);
  NF_TRY(const Delta delta, Delta::make(whole_delta / static_cast<double>(uses) * kRoundedDown));
  const Epsilon target = training.privacy.target_epsilon.value_or(training.privacy.epsilon);
  std::filesystem::path folder = wish.folder.empty() ? std::filesystem::path(training.name + "-plan") : wish.folder;
  return PlanJob(
      std::make_unique<Parts>(Parts{std::move(file), std::move(wish), std::move(machine), std::move(examples),
                                    std::move(folder), std::move(sampler), steps, target, whole_delta, delta}));
}

bool PlanJob::needs_ledger() const {
  if (follows_a_phase()) return false;
  return !learns_from_public_rows(parts_->file.training) || charges_for_graph();
}

bool PlanJob::charges_for_graph() const { return goal().utility == UtilityData::kBudgeted && !follows_a_phase(); }

UtilityQuestion PlanJob::question() const {
  return {parts_->file, parts_->examples, parts_->machine, parts_->delta, parts_->folder};
}

Result<std::optional<UtilitySpend>> PlanJob::cost() const {
  if (!charges_for_graph()) return std::optional<UtilitySpend>{};
  NF_TRY(UtilitySpend spend, utility_spend(question()));
  return std::optional(std::move(spend));
}

Result<Outlook> PlanJob::outlook(Ledger* ledger, const PlanFile* plan) const {
  std::vector<ReserveRequest> uses;
  NF_TRY(const std::optional<UtilitySpend> graph, cost());
  if (graph) NF_TRY_VOID(expect_start(parts_->file, ledger));
  if (graph) uses.push_back(graph->request);
  if (plan != nullptr) uses.push_back(set_aside_use(*plan));
  const DatasetDescription dataset = description_of(parts_->file.training);
  BudgetTerms if_new = budget_of(parts_->file.training.privacy);
  if_new.blocks = dataset.blocks;
  return outlook_for(dataset.name, std::move(uses), std::move(if_new), ledger);
}

Result<std::optional<std::uint64_t>> PlanJob::claim(Ledger* ledger, const JobControl& control) {
  NF_TRY(const std::optional<UtilitySpend> spend, cost());
  RowsWish rows{.dataset = description_of(parts_->file.training),
                .outlook = [&] { return outlook(ledger, nullptr); },
                .unknown = parts_->wish.unknown};
  if (spend) rows.uses = {&spend->request, 1};
  const std::string what = parts_->file.digest();
  if (goal().utility == UtilityData::kPublic) {
    rows.unnoised = {ExposureKind::kUtilityGraph, what,
                     fmt::format("{}/utility-graph-{}", parts_->file.training.name, what.substr(0, 16))};
  }
  if (goal().utility == UtilityData::kProxy && ledger != nullptr) {
    NF_TRY_VOID(expect_public(*ledger, parts_->file, *goal().proxy, "the proxy rows"));
  }
  // A graph of proxy rows looks at private ones only to measure by rows that were kept for tests.
  const bool looks = goal().utility != UtilityData::kProxy || measures_private_rows(parts_->file.training);
  if (!looks) return std::optional<std::uint64_t>{};
  if (ledger == nullptr && goal().utility == UtilityData::kProxy) {
    return invalid_argument(
        "this measures rows of private data that were kept for tests: give the ledger of their dataset, which records "
        "it, or a test file with public rows");
  }
  NF_TRY(ClaimedRows claimed, claim_rows(ledger, parts_->file, rows, control));
  if (claimed.evaluation) {
    NF_TRY(const Outlook found, outlook(ledger, nullptr));
    NF_TRY_VOID(expect_fits(found));
    NF_TRY_VOID(ledger->expose(*claimed.evaluation));
  }
  if (spend && ledger != nullptr) parts_->file.training.privacy.budget = std::move(claimed.budget);
  return claimed.exposure;
}

Result<std::vector<UtilityCurve>> PlanJob::draw_graph(Ledger* ledger, const JobControl& control) {
  for (const std::string& warning : parts_->file.warnings) control.warn(warning);
  for (const std::string& doubt : parts_->examples.doubts) control.warn(doubt);
  if (follows_a_phase()) return std::vector<UtilityCurve>{};
  NF_TRY(const std::optional<UtilitySpend> spend, cost());
  // A graph that is refused adds no dataset.
  if (spend && ledger != nullptr) NF_TRY_VOID(expect_start(parts_->file, ledger));
  NF_TRY(const std::optional<std::uint64_t> exposure, claim(ledger, control));
  UtilityQuestion asked = question();
  asked.exposure = exposure;
  NF_TRY(std::vector<UtilityCurve> curves, utility_graph(asked, ledger, control));
  std::error_code ignored;  // a folder that could not be made is reported when a file is written to it
  std::filesystem::create_directories(parts_->folder, ignored);
  NF_TRY_VOID(write_file(OutputFiles{parts_->folder}.utility_table(), utility_table(curves)));
  return curves;
}

Result<UtilityChoice> PlanJob::choose(const std::vector<UtilityCurve>& curves) const {
  if (follows_a_phase()) return next_choice(parts_->wish.noise, parts_->wish.after->plan);
  return choose_noise(goal(), curves);
}

double PlanJob::spent_before() const {
  if (!follows_a_phase()) return 0;
  const PlanFile& before = parts_->wish.after->plan;
  return before.epsilon_before + before.certified.upper;
}

// The phase's even share of what is left; if others may follow, no more than the closed form takes.
Result<Epsilon> PlanJob::epsilon_of_phase(const UtilityChoice& choice, std::uint64_t phase) const {
  const double by_graph = goal().utility == UtilityData::kBudgeted ? goal().utility_epsilon->value() : 0;
  const double left = parts_->target.value() - by_graph - spent_before();
  if (!(left > 0)) {
    return budget_exhausted(fmt::format("nothing is left of epsilon {:g}: earlier phases spent {:g}",
                                        parts_->target.value(), by_graph + spent_before()));
  }
  const double usual = proactive::epsilon_for(choice.noise.value(), parts_->delta.value());
  return Epsilon::make(
      std::min(left / static_cast<double>(goal().phases - phase + 1), phase < goal().phases ? usual : left));
}

Result<MadePlan> PlanJob::make(const UtilityChoice& choice) const {
  const Training& training = parts_->file.training;
  const std::uint64_t phase = follows_a_phase() ? parts_->wish.after->plan.phase + 1 : 1;
  NF_TRY(const Epsilon epsilon, epsilon_of_phase(choice, phase));
  const ExactQuestion question{
      .rows = parts_->sampler.rows(),
      .epochs = static_cast<double>(parts_->steps.value()) * parts_->sampler.rate().value(),
      .target = {training.privacy.adjacency, epsilon, parts_->delta},
      .draw = training.descent.sampler == SamplerKind::kFixedSize ? Draw::kFixedSize : Draw::kPoisson};
  NF_TRY(const ExactPlan exact, exact_plan(question, choice, training.descent.batch_size, goal().phases));
  NF_TRY(std::optional<ClosedFormPlan> closed, closed_form_of(question, exact));
  NF_TRY(const Rows batch, Rows::make(exact.sizes.largest()));
  NF_TRY(const Steps rounds, Steps::make(exact.sizes.rounds()));
  PlanFile plan{training.name,
                parts_->file.digest(),
                question.rows,
                choice.clip,
                exact.noise,
                batch,
                rounds,
                epsilon,
                parts_->delta,
                {training.privacy.adjacency, training.privacy.unit, exact.event},
                exact.epsilon,
                goal().target_accuracy,
                follows_a_phase() ? "the phase before, with less noise" : in_words(goal().utility),
                phase,
                goal().phases,
                spent_before(),
                follows_a_phase() ? parts_->wish.after->model : "",
                training.privacy.budget,
                ""};
  return MadePlan{std::move(plan), std::move(closed)};
}

Result<BudgetTerms> PlanJob::set_aside_terms(const PlanFile& plan) const {
  const std::string& parent = parts_->file.training.privacy.budget;
  NF_TRY(const Epsilon epsilon, Epsilon::make(plan.certified.upper));
  BudgetTerms terms{fmt::format("{}/plan-{}", parent, to_hex(digest_of(plan)).substr(0, 8)),
                    epsilon,
                    plan.delta,
                    plan.statement.adjacency,
                    plan.statement.unit,
                    Rule::kPlanned,
                    default_failures(Rule::kPlanned)};
  terms.plan = {{kItem, plan.statement.event, Steps::of(1)}};
  terms.parent = parent;
  return terms;
}

Result<std::string> PlanJob::sign(PlanFile& plan, Ledger& ledger, const JobControl& control) {
  NF_TRY(const Sign by_ledger, sign_by(ledger));  // Without a key, nothing is set aside or written.
  if (goal().utility == UtilityData::kProxy && !follows_a_phase()) {
    NF_TRY_VOID(expect_public(ledger, parts_->file, *goal().proxy, "the proxy rows"));
  }
  if (parts_->wish.reserve) {
    const ReserveRequest use = set_aside_use(plan);
    NF_TRY(parts_->file.training.privacy.budget, find_payer(ledger, parts_->file, description_of(parts_->file.training),
                                                            {&use, 1}, parts_->wish.unknown, control));
    NF_TRY(const BudgetTerms terms, set_aside_terms(plan));
    NF_TRY_VOID(ledger.create_budget(terms));
    plan.budget = terms.name;
    plan.item = kItem;
  }
  const std::filesystem::path name = plan.phase == 1 ? kPlanName : fmt::format("plan-{}.json", plan.phase);
  std::error_code ignored;  // a folder that could not be made is reported when a file is written to it
  std::filesystem::create_directories(parts_->folder, ignored);
  std::string path = (parts_->folder / name).string();
  NF_TRY_VOID(write_file(path, to_json(plan, by_ledger)));
  return path;
}

}  // namespace noisefloor
