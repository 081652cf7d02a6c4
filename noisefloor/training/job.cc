#include "noisefloor/training/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/training/configuration.h"
#include "noisefloor/training/exposing.h"

namespace noisefloor {
namespace {

Result<void> expect_nothing_beside_the_plan(const TrainingWish& wish) {
  if (!wish.noise.epsilon && !wish.noise.delta && !wish.noise.multiplier && !wish.replay_seed && wish.key.empty()) {
    return success();
  }
  return invalid_argument("a noise, delta, key or seed beside a plan would deviate from the plan: leave it out");
}

Result<void> check_wish(const TrainingWish& wish) {
  if (wish.plan) NF_TRY_VOID(expect_nothing_beside_the_plan(wish));
  if (wish.checkpoint_seconds >= 0 && wish.checkpoint_seconds <= 1e9) return success();
  return invalid_argument(fmt::format("the seconds between checkpoints must be from 0, for none, to 1e9; {} was given",
                                      wish.checkpoint_seconds));
}

RunRequest request_of(const TrainingWish& wish, const Training& training) {
  RunRequest request{.files = {wish.folder.empty() ? std::filesystem::path(training.name) : wish.folder},
                     .key = wish.key.empty() ? training.name : wish.key,
                     .noise = {},
                     .delta = wish.noise.delta.value_or(training.privacy.target_delta),
                     .replay_seed = wish.replay_seed,
                     .from = wish.from,
                     .checkpoint_seconds = wish.checkpoint_seconds};
  if (wish.from && wish.key.empty()) request.key += fmt::format("-from-step-{}", wish.from->state.steps);
  if (wish.plan) {
    request.key = key_of(wish.plan->plan);
    request.item = wish.plan->plan.item;
    request.delta = wish.plan->plan.delta;
  }
  return request;
}

// A statement of everything that workers must have in common. It stays among them.
Result<std::string> joint_statement(const TrainingFile& file, const Dataset& data, const TrainingWish& wish,
                                    const std::string& version) {
  const auto digest = [](const auto& numbers) {
    return to_hex(blake2b({reinterpret_cast<const char*>(numbers.data()),  // NOLINT: as bytes
                           numbers.size() * sizeof(numbers[0])}));
  };
  const auto number = [](const auto& value) { return value ? fmt::format("{}", value->value()) : ""; };
  std::string start;
  if (file.training.model.start_from) {
    NF_TRY(start, read_file(file.resolve(*file.training.model.start_from), kMaxModelBytes));
  }
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", version, file.digest(), digest(start),
                     digest(data.features), digest(data.labels), digest(data.targets),
                     digest(data.people) + digest(data.nulls), data.rows, number(wish.noise.epsilon),
                     number(wish.noise.multiplier), number(wish.noise.delta),
                     wish.replay_seed ? fmt::format("{}", *wish.replay_seed) : "",
                     wish.plan ? to_hex(digest_of(wish.plan->plan)) : "");
}

}  // namespace

Result<TrainingJob> TrainingJob::prepare(TrainingFile file, TrainingWish wish, const Means& means) {
  NF_TRY_VOID(check_wish(wish));
  NF_TRY_VOID(require_backend(file.training, file.location, means.machine.torch));
  DatasetDescription dataset = description_of(file.training);
  if (wish.plan) {
    follow_plan(wish.plan->plan, file.training);
    wish.noise = {{}, wish.plan->plan.delta, wish.plan->plan.noise};
  }
  RunRequest request = request_of(wish, file.training);
  NF_TRY(TrainingExamples examples, read_examples(file, means.machine.threads));
  if (wish.plan) {
    NF_TRY(const PublicCount count, public_count_of(file.training, examples.train));
    NF_TRY_VOID(expect_rows(wish.plan->plan, count.units));
  }
  auto parts = std::make_unique<Parts>(Parts{std::move(file), std::move(examples), wish.plan, std::nullopt,
                                             std::move(request), wish.unknown, std::move(dataset)});
  Machine machine = means.machine;
  if (means.meet) {
    NF_TRY(parts->request.team, means.meet());
    const WorkerTeam& team = parts->request.team;
    if (team.group() != nullptr) {
      NF_TRY(const std::string statement, joint_statement(parts->file, parts->examples.train, wish, machine.version));
      NF_TRY_VOID(team.expect_same(statement));
    }
    if (means.share_threads) machine.threads = std::max<std::size_t>(1, machine.threads / team.on_this_machine());
  }
  NF_TRY(parts->session, begin_session(parts->file, parts->examples, machine));
  TrainingSession& session = *parts->session;
  NF_TRY(parts->request.noise,
         noise_of(wish.noise, session.training(), session.sampler, session.steps, *session.model));
  return TrainingJob(std::move(parts));
}

bool TrainingJob::needs_ledger() const {
  return parts_->request.charged() || !learns_from_public_rows(parts_->file.training);
}

// Everything that distinguishes this run from others.
std::string TrainingJob::settings() const {
  const TrainingSession& session = *parts_->session;
  return configuration_of(session, parts_->request.noise, parts_->request.replay_seed);
}

Result<TrainingCost> TrainingJob::cost() {
  const RunRequest& request = parts_->request;
  const TrainingPrivacy& privacy = parts_->file.training.privacy;
  NF_TRY(DpStatement statement, statement_of(*parts_->session, request));
  const std::uint64_t before = request.from ? request.from->state.steps : 0;
  NF_TRY(const Steps steps, Steps::make(parts_->session->steps.value() - before));
  TrainingCost cost{request.charged(),
                    {privacy.budget, request.key, std::move(statement), request.delta, request.item},
                    {HUGE_VAL, HUGE_VAL},
                    request.delta,
                    steps,
                    request.noise,
                    budget_of(privacy)};
  cost.spend.blocks = parts_->dataset.chosen;
  cost.budget.blocks = parts_->dataset.blocks;
  cost.spend.use = UseKind::kTraining;
  if (cost.charged) {
    NF_TRY(cost.epsilon, certified_epsilon(cost.spend.statement, cost.delta));
  }
  return cost;
}

Result<Outlook> TrainingJob::outlook(Ledger* ledger) {
  if (!parts_->request.charged()) return Outlook{.fits = true};
  NF_TRY(const TrainingCost planned, cost());
  if (parts_->plan && ledger != nullptr) NF_TRY_VOID(expect_signer(*parts_->plan, *ledger));
  NF_TRY_VOID(start_of(*parts_->session, ledger));
  return outlook_for(parts_->dataset.name, {planned.spend}, planned.budget, ledger);
}

Result<TrainingOutcome> TrainingJob::run(Ledger* ledger, const JobControl& control, const std::string& command) {
  for (const std::string& warning : parts_->file.warnings) control.warn(warning);
  for (const std::string& doubt : parts_->examples.doubts) control.warn(doubt);
  TrainingSession& session = *parts_->session;
  RunRequest& request = parts_->request;
  if (request.charged() && ledger != nullptr) {
    if (parts_->plan) NF_TRY_VOID(expect_signer(*parts_->plan, *ledger));
    NF_TRY_VOID(start_of(session, ledger));  // a run that is refused adds no dataset
  }
  std::optional<TrainingCost> planned;
  RowsWish rows{.dataset = parts_->dataset, .outlook = [&] { return outlook(ledger); }, .unknown = parts_->unknown};
  if (request.charged()) {
    NF_TRY(planned, cost());
    rows.uses = {&planned->spend, 1};
  } else {
    rows.unnoised = {request.replay_seed ? ExposureKind::kReplay : ExposureKind::kTraining, settings(), request.key};
  }
  NF_TRY(ClaimedRows claimed, claim_rows(ledger, parts_->file, rows, control));
  request.exposure = claimed.exposure;
  request.evaluation = std::move(claimed.evaluation);
  // A plan whose cost was set aside has a budget of its own, which either exists or is lost.
  if (request.charged() && ledger != nullptr && request.item.empty()) {
    parts_->file.training.privacy.budget = std::move(claimed.budget);
  }
  NF_TRY(RunResult run, run_training(session, request, ledger, control));
  TrainingOutcome outcome{std::move(run), {}, {}, false};
  outcome.stopped = outcome.run.model.certificate.steps < session.steps.value();
  std::optional<Quality> test;
  std::optional<Quality> validation;
  const bool private_split = measures_private_rows(parts_->file.training);
  const std::vector<float>& weights = outcome.run.weights;
  if (parts_->examples.validation) validation = session.model->quality(weights, *parts_->examples.validation);
  if (parts_->examples.test) test = session.model->quality(weights, *parts_->examples.test);
  if (parts_->plan) outcome.verdict = verdict_on(parts_->plan->plan, test);
  outcome.notes = RunNotes{.files = request.files,
                           .certificate = outcome.run.model.certificate,
                           .noise = request.noise,
                           .examples = {},
                           .people = {},
                           .parameters = session.model->parameters(),
                           .again = outcome.run.again,
                           .seconds = outcome.run.seconds,
                           .examples_per_second = outcome.run.examples_per_second,
                           .workers = request.team.size(),
                           .validation = validation,
                           .test = test,
                           .private_validation = private_split,
                           .private_test = private_split && !parts_->file.training.data.test,
                           .phase = {},
                           .verdict = outcome.verdict,
                           .command = command};
  if (parts_->plan) outcome.notes.phase = parts_->plan->plan.phase;
  const bool person = session.sampler.unit() == PrivacyUnit::kPerson;
  (person ? outcome.notes.people : outcome.notes.examples) = session.count.units.value();
  // The model exists and is paid for, so a failure to write the notes beside it is not an error.
  const Result<void> written = write_notes(outcome.notes);
  if (!written.has_value()) control.warn(written.error().message);
  return outcome;
}

Result<void> TrainingJob::write_notes(const RunNotes& notes) const {
  NF_TRY_VOID(write_file(parts_->request.files.notes(), to_json(notes)));
  if (!parts_->plan) return success();
  return keep_plan(*parts_->plan, parts_->request.files);
}

Result<std::uint64_t> TrainingJob::follow(const JobControl& control) {
  return follow_training(*parts_->session, parts_->request, control);
}

}  // namespace noisefloor
