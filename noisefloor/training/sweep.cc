#include "noisefloor/training/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/training/configuration.h"

namespace noisefloor {
namespace {

constexpr std::array<SweepMeasure, 4> kMeasures{{
    {"loss", "loss", [](const Quality& q) -> std::optional<double> { return q.loss; }},
    {"accuracy", "accuracy", [](const Quality& q) { return q.accuracy; }},
    {"f1", "F1", [](const Quality& q) { return q.f1; }},
    {"recall_at_20", "recall@20", [](const Quality& q) { return q.recall_at_20; }},
}};

// Sorts the epsilons. Fails if one is repeated.
Result<void> sort_epsilons(std::vector<double>& epsilons) {
  if (epsilons.empty()) return invalid_argument("a sweep needs an epsilon to train at");
  for (const double epsilon : epsilons) {
    if (epsilon != kNoPrivacy) NF_TRY_VOID(Epsilon::make(epsilon));
  }
  std::sort(epsilons.begin(), epsilons.end());
  const auto twice = std::adjacent_find(epsilons.begin(), epsilons.end());
  if (twice == epsilons.end()) return success();
  return invalid_argument(fmt::format("the epsilon {} is there twice: give each one once", epsilon_text(*twice)));
}

std::size_t count_private(const std::vector<double>& epsilons) {
  return static_cast<std::size_t>(
      std::count_if(epsilons.begin(), epsilons.end(), [](double epsilon) { return epsilon != kNoPrivacy; }));
}

// The delta of each of `count` private runs, so that all of them fit the budget.
Result<Delta> delta_of_run(const TrainingPrivacy& privacy, std::size_t count) {
  const double share = privacy.delta.value() / static_cast<double>(std::max<std::size_t>(count, 1));
  return Delta::make(std::min(privacy.target_delta.value(), share));
}

Result<void> expect_affordable(const std::vector<double>& epsilons, const TrainingPrivacy& privacy) {
  double sum = 0;
  for (const double epsilon : epsilons) sum += epsilon != kNoPrivacy ? epsilon : 0;
  if (sum <= privacy.epsilon.value()) return success();
  return budget_exhausted(
      fmt::format("trainings at these epsilons spend {:g} together, but the budget is {:g}: raise epsilon in [budget], "
                  "take fewer, or repeat the noise from a seed if the data are public. Nothing was spent",
                  sum, privacy.epsilon.value()));
}

}  // namespace

Measure measure_of(const Quality& quality) {
  if (quality.accuracy) return {"accuracy", *quality.accuracy, false};
  return {"loss", quality.loss, true};
}

std::vector<SweepMeasure> measures_of(const std::vector<SweepRun>& runs) {
  std::vector<SweepMeasure> measures;
  std::copy_if(kMeasures.begin(), kMeasures.end(), std::back_inserter(measures), [&](const SweepMeasure& measure) {
    return std::any_of(runs.begin(), runs.end(),
                       [&](const SweepRun& run) { return measure.of(run.quality).has_value(); });
  });
  return measures;
}

double loss_of_utility(const SweepRun& run, const SweepRun& last) {
  const Measure own = measure_of(run.quality);
  const double other = measure_of(last.quality).value;
  if (other == 0) return 0;
  return own.is_loss ? own.value / other - 1 : 1 - own.value / other;
}

std::string epsilon_text(double epsilon) { return epsilon != kNoPrivacy ? fmt::format("{:g}", epsilon) : "inf"; }

std::string sweep_folder_of(double epsilon) {
  return epsilon == kNoPrivacy ? "without-privacy" : "epsilon-" + epsilon_text(epsilon);
}

std::string sweep_table(const std::vector<SweepRun>& runs, Delta delta) {
  const std::vector<SweepMeasure> measures = measures_of(runs);
  const auto number = [](const std::optional<double>& value) { return value ? fmt::format(",{:.6g}", *value) : ","; };
  std::string csv = "epsilon,delta,noise_multiplier,certified_epsilon";
  for (const SweepMeasure& measure : measures) csv += fmt::format(",{}", measure.name);
  csv += ",loss_of_utility,seconds\n";
  for (const SweepRun& run : runs) {
    csv += fmt::format("{},{:g}{}", epsilon_text(run.epsilon), delta.value(),
                       number(run.noise ? std::optional(run.noise->value()) : std::nullopt));
    csv += std::isfinite(run.certified) ? fmt::format(",{:.10g}", run.certified) : ",inf";
    for (const SweepMeasure& measure : measures) csv += number(measure.of(run.quality));
    csv += fmt::format(",{:.6g},{:.3f}\n", loss_of_utility(run, runs.back()), run.seconds);
  }
  return csv;
}

Result<SweepJob> SweepJob::prepare(TrainingFile file, SweepWish wish, const Machine& machine) {
  const Training& training = file.training;
  NF_TRY_VOID(require_backend(training, file.location, machine.torch));
  NF_TRY_VOID(sort_epsilons(wish.epsilons));
  if (!training.descent.clip) return invalid_argument("private runs need clip_norm under [training]");
  if (!wish.replay_seed) NF_TRY_VOID(expect_affordable(wish.epsilons, training.privacy));
  NF_TRY(const Delta delta, delta_of_run(training.privacy, wish.replay_seed ? 0 : count_private(wish.epsilons)));
  NF_TRY(TrainingExamples examples, read_examples(file, machine.threads));
  NF_TRY_VOID(expect_test_examples(examples));
  std::filesystem::path folder = wish.folder.empty() ? std::filesystem::path(training.name + "-sweep") : wish.folder;
  if (wish.key.empty()) wish.key = training.name + "-sweep";
  auto parts = std::make_unique<Parts>(
      Parts{std::move(file), std::move(wish), std::move(examples), std::move(folder), delta, std::nullopt, {}});
  NF_TRY(parts->session, begin_session(parts->file, parts->examples, machine));
  TrainingSession& session = *parts->session;
  for (const double epsilon : parts->wish.epsilons) {
    Noise noise;
    if (epsilon != kNoPrivacy) {
      NF_TRY(const Epsilon target, Epsilon::make(epsilon));
      NF_TRY(noise, noise_of({target, delta, {}}, session.training(), session.sampler, session.steps, *session.model));
    }
    parts->noise.push_back(noise);
  }
  return SweepJob(std::move(parts));
}

bool SweepJob::needs_ledger() const { return charged() || !learns_from_public_rows(parts_->file.training); }

std::optional<Unnoised> SweepJob::unnoised() const {
  std::string what;
  for (std::size_t i = 0; i < parts_->noise.size(); ++i) {
    if (request_of(i).charged()) continue;
    const TrainingSession& session = *parts_->session;
    what += configuration_of(session, parts_->noise[i], parts_->wish.replay_seed) + "\n";
  }
  if (what.empty()) return std::nullopt;
  return Unnoised{ExposureKind::kSweep, std::move(what), parts_->wish.key};
}

std::size_t SweepJob::private_runs() const { return count_private(parts_->wish.epsilons); }

RunRequest SweepJob::request_of(std::size_t run) const {
  const double epsilon = parts_->wish.epsilons[run];
  const std::string name = sweep_folder_of(epsilon);
  return {.files = {parts_->folder / name},
          .key = parts_->wish.key + "/" + name,
          .noise = parts_->noise[run],
          .delta = parts_->delta,
          .replay_seed = parts_->wish.replay_seed,
          .from = {},
          .checkpoint_seconds = 0,
          .title = fmt::format("epsilon {}: ", epsilon_text(epsilon))};
}

Result<std::vector<ReserveRequest>> SweepJob::spends() {
  const TrainingPrivacy& privacy = parts_->file.training.privacy;
  std::vector<ReserveRequest> uses;
  for (std::size_t i = 0; i < parts_->noise.size(); ++i) {
    const RunRequest request = request_of(i);
    if (!request.charged()) continue;
    NF_TRY(DpStatement statement, statement_of(*parts_->session, request));
    uses.push_back({privacy.budget, request.key, std::move(statement), request.delta});
    uses.back().blocks = description_of(parts_->file.training).chosen;
    uses.back().use = UseKind::kTraining;
  }
  return uses;
}

Result<Outlook> SweepJob::outlook(Ledger* ledger) {
  if (!charged()) return Outlook{.fits = true};
  NF_TRY_VOID(start_of(*parts_->session, ledger));
  NF_TRY(std::vector<ReserveRequest> uses, spends());
  const DatasetDescription dataset = description_of(parts_->file.training);
  BudgetTerms if_new = budget_of(parts_->file.training.privacy);
  if_new.blocks = dataset.blocks;
  return outlook_for(dataset.name, std::move(uses), std::move(if_new), ledger);
}

Result<std::vector<SweepRun>> SweepJob::run(Ledger* ledger, const JobControl& control) {
  for (const std::string& warning : parts_->file.warnings) control.warn(warning);
  for (const std::string& doubt : parts_->examples.doubts) control.warn(doubt);
  if (charged() && ledger != nullptr) NF_TRY_VOID(start_of(*parts_->session, ledger));  // if refused, adds no dataset
  NF_TRY(const std::vector<ReserveRequest> uses, spends());
  const RowsWish rows{description_of(parts_->file.training), uses, unnoised(), [&] { return outlook(ledger); },
                      parts_->wish.unknown};
  NF_TRY(ClaimedRows claimed, claim_rows(ledger, parts_->file, rows, control));
  if (charged() && ledger != nullptr) parts_->file.training.privacy.budget = std::move(claimed.budget);
  TrainingSession& session = *parts_->session;
  std::vector<SweepRun> runs;
  for (std::size_t i = 0; i < parts_->noise.size(); ++i) {
    RunRequest request = request_of(i);
    request.exposure = claimed.exposure;
    request.evaluation = claimed.evaluation;
    NF_TRY(const RunResult result, run_training(session, request, ledger, control));
    if (control.stop_asked()) {
      return invalid_argument("the sweep was stopped; finished models are in " + parts_->folder.string());
    }
    runs.push_back({.epsilon = parts_->wish.epsilons[i],
                    .noise = parts_->noise[i].multiplier,
                    .certified = result.model.certificate.epsilon.upper,
                    .quality = session.model->quality(result.weights, *parts_->examples.test),
                    .seconds = result.seconds});
  }
  NF_TRY_VOID(write_file((parts_->folder / kSweepTableName).string(), sweep_table(runs, parts_->delta)));
  return runs;
}

}  // namespace noisefloor
