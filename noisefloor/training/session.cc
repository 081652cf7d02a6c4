#include "noisefloor/training/session.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "noisefloor/audit/woven_canaries.h"
#include "noisefloor/base/file.h"
#include "noisefloor/training/configuration.h"
#include "noisefloor/training/exposing.h"
#include "noisefloor/training/start_point.h"
#include "noisefloor/training/watch.h"

namespace noisefloor {
namespace {

Result<std::vector<float>> first_weights(const TrainingSession& session, BitStream& stream) {
  if (!session.start) return session.model->initial_weights(stream);
  return weights_in(*session.start, *session.model);
}

// A descent before its first step, and its source of noise.
struct Descent {
  SecureRandom secure;
  std::optional<ReplayRandom> replay;
  std::unique_ptr<audit::WovenCanaries> canaries;  // null without an audit
  DpSgd sgd;
};

// The model's part of weights that may have those of canaries behind them.
std::span<const float> weights_of_model(const TrainingSession& session, std::span<const float> weights) {
  return weights.first(session.model->parameters());
}

enum class Canaries : std::uint8_t { kIfAsked, kNone };

Result<std::unique_ptr<audit::WovenCanaries>> canaries_of(TrainingSession& session, const RunRequest& request,
                                                          SecureRandom& random) {
  const std::optional<TrainingAudit>& wanted = session.training().audit;
  if (!wanted || !request.charged()) return std::unique_ptr<audit::WovenCanaries>();
  if (!request.team.alone()) {
    return invalid_argument("canaries are for a training with one worker: leave out [audit], or train with one worker");
  }
  if (request.from) {
    return invalid_argument(
        "a training with [audit] continues from no checkpoint, because the coins of its canaries are kept nowhere: "
        "train from the beginning, or leave out [audit]");
  }
  return audit::WovenCanaries::create(*session.model, session.sampler, {.canaries = wanted->canaries}, random);
}

// Private rows are looked at without noise only if the ledger has recorded it.
Result<void> expect_recorded(const TrainingSession& session, const RunRequest& request) {
  if (request.charged() || request.public_rows || request.exposure) return success();
  if (learns_from_public_rows(session.training())) return success();
  return invalid_argument(
      "a training without noise, or with noise that can be repeated, looks at rows that are not declared public: their "
      "ledger has to record it first; or declare them public (public = true under [data])");
}

Result<Descent> begin_descent(TrainingSession& session, const RunRequest& request, Canaries canaries) {
  if (request.charged()) NF_TRY_VOID(expect_small_delta(request.delta, session.sampler));
  NF_TRY(SecureRandom secure, SecureRandom::create());
  std::optional<ReplayRandom> replay;
  if (!request.charged()) {
    if (!request.team.alone() && request.from) {
      return invalid_argument(
          "several workers with repeatable noise cannot continue from a checkpoint, which holds the noise position of "
          "one worker: use one worker");
    }
    // Workers with the same noise would add it up instead of sharing it.
    const std::uint64_t rank = request.team.rank();
    const std::uint64_t position = request.from ? request.from->noise_position : 0;
    NF_TRY(ReplayRandom made, ReplayRandom::create(request.replay_seed.value_or(0) ^ (rank << 48U), position));
    replay.emplace(std::move(made));
  }
  NF_TRY(std::vector<float> initial,
         first_weights(session, replay && !request.from ? static_cast<BitStream&>(*replay) : secure));
  std::unique_ptr<audit::WovenCanaries> woven;
  if (canaries == Canaries::kIfAsked) {
    NF_TRY(woven, canaries_of(session, request, secure));
  }
  if (woven) initial = woven->extended(std::move(initial));
  NF_TRY(DpSgd sgd, descent_of(session.training().descent, request.noise, woven ? woven->sampler() : session.sampler,
                               session.steps, woven ? woven->source() : *session.model, std::move(initial),
                               request.team.alone() ? nullptr : request.team.group()));
  return Descent{std::move(secure), std::move(replay), std::move(woven), std::move(sgd)};
}

RunTerms terms_of(const TrainingSession& session, const RunRequest& request, std::optional<StartPoint> start = {}) {
  return {session.training().name,
          session.steps,
          request.delta,
          session.training().privacy.budget,
          request.key,
          configuration_of(session, request.noise, request.replay_seed),
          session.version,
          request.from,
          request.item,
          data_declaration(session),
          std::move(start),
          description_of(session.training()).is_public(),
          description_of(session.training()).chosen};
}

// A run with canaries writes no checkpoints: their coins are kept nowhere.
TrainingHooks hooks_of(const RunRequest& request, const JobControl& control, RunWatch& watch, const Sign& sign = {},
                       bool canaries = false) {
  TrainingHooks hooks;
  hooks.begin = [&request, &watch]() -> Result<void> {
    if (!request.files.folder.empty()) watch.write_to(request.files.metrics());
    return request.team.begin();
  };
  hooks.progress = [&watch](const TrainingProgress& progress) { watch.show(progress); };
  hooks.stop = [&request, &control] { return request.team.stop(control.stop_asked()); };
  if (request.checkpoint_seconds > 0 && !request.files.folder.empty() && !canaries) {
    hooks.checkpoint_interval = std::chrono::milliseconds(static_cast<long>(1000 * request.checkpoint_seconds));
    hooks.checkpoint = [&request, &control, sign](const Checkpoint& checkpoint) {
      const Result<void> written = write_file(request.files.checkpoint(), to_bytes(checkpoint, sign));
      if (!written.has_value()) {  // The run is paid for, so it continues.
        control.warn(fmt::format("no checkpoint: {}", written.error().message));
      } else if (control.observer != nullptr) {
        control.observer->checkpoint(request.files.checkpoint());
      }
    };
  }
  return hooks;
}

void begin_run(const RunRequest& request, const JobControl& control) {
  if (control.observer != nullptr) control.observer->begin(request.title);
}

// What the canaries of a run have found, once it has ended.
struct Audited {
  std::optional<DpEvent> event;
  audit::RunFindings findings;
  audit::RunJudgement judgement;
};

// Lets canaries look at each step, and judges their findings before anything is sealed.
void audit_by(audit::WovenCanaries& canaries, Adjacency adjacency, Delta delta, TrainingHooks& hooks,
              Audited& audited) {
  hooks.stepped = [&canaries](const DpSgd& sgd) { return canaries.look(sgd); };
  hooks.finished = [&canaries, &audited, adjacency, delta](const DpSgd& sgd) -> Result<void> {
    NF_TRY(const Steps made, Steps::make(sgd.steps()));
    audited.event = sgd.event(made);
    NF_TRY(audited.findings, canaries.findings());
    NF_TRY(audited.judgement, audit::judge(audited.findings, *audited.event, adjacency, delta));
    return audit::expect_unrefuted(audited.judgement);
  };
}

// Signs the audit and writes it beside the model.
Result<audit::SignedAudit> keep_audit(const Audited& audited, const Sealed& model, const Sign& sign,
                                      const OutputFiles& files) {
  audit::AuditDocument document =
      audit::audit_of(model.certificate, model.signed_certificate, *audited.event, audited.findings);
  NF_TRY_VOID(write_file(files.audit(), audit::to_json(document, audited.judgement, sign)));
  return audit::SignedAudit{std::move(document), audited.judgement, sign("").first};
}

// The audit of a model that was made before.
Result<audit::SignedAudit> kept_audit(const Sealed& model, const OutputFiles& files) {
  constexpr std::size_t most = std::size_t{1} << 20;
  NF_TRY(const std::string text, read_file(files.audit(), most));
  NF_TRY(audit::SignedAudit kept, audit::parse_audit(text));
  NF_TRY(const SignedCertificate certificate, parse_certificate(model.signed_certificate));
  NF_TRY_VOID(audit::expect_about(kept, certificate, model.signed_certificate));
  return kept;
}

// Tells the observer of a run that never began about the checkpoint of an earlier run that was cut short.
void tell_of_checkpoint(const RunRequest& request, const DpSgd& sgd, const JobControl& control) {
  std::error_code ignored;
  if (sgd.steps() == 0 && control.observer != nullptr && std::filesystem::exists(request.files.checkpoint(), ignored)) {
    control.observer->earlier_checkpoint(request.files.checkpoint());
  }
}

Result<std::optional<std::string>> start_bytes(const TrainingFile& file) {
  if (!file.training.model.start_from) return std::optional<std::string>();
  NF_TRY(std::string bytes, read_file(file.resolve(*file.training.model.start_from), kMaxModelBytes));
  return std::optional(std::move(bytes));
}

}  // namespace

std::string configuration_of(const TrainingSession& session, const Noise& noise,
                             std::optional<std::uint64_t> replay_seed) {
  return configuration_of({session.training(), session.model->parameters(), session.count,
                           session.examples->train.rows_per_person, session.steps, noise, replay_seed});
}

std::string data_declaration(const TrainingSession& session) {
  return fmt::format("{}; {}", data_declaration(session.training()), in_words(session.count, session.sampler.unit()));
}

Result<TrainingSession> begin_session(const TrainingFile& file, const TrainingExamples& examples,
                                      const Machine& machine) {
  NF_TRY(std::unique_ptr<TrainableModel> model, bind_model(file.training, examples.train, machine));
  NF_TRY(const PublicCount count, public_count_of(file.training, examples.train));
  Result<BatchSampler> made = sampler_of(file.training, count, examples.train);
  if (!made.has_value()) {
    const Error& error = made.error();
    return Error{error.code, fmt::format("{}:{}: {}", file.location, file.training.descent.batch_line, error.message)};
  }
  BatchSampler sampler = std::move(made).value();
  NF_TRY(const Steps steps, steps_of(file.training.descent, sampler));
  NF_TRY(std::optional<std::string> start, start_bytes(file));
  return TrainingSession{&file, &examples,       std::move(model), count, std::move(sampler),
                         steps, machine.version, std::move(start)};
}

Result<void> expect_start(const TrainingFile& file, Ledger* ledger) {
  NF_TRY(const std::optional<std::string> bytes, start_bytes(file));
  if (!bytes) return success();
  NF_TRY_VOID(start_point_of(*bytes, file.training.model.start_is_public, ledger, file.training.privacy.budget));
  return success();
}

Result<std::optional<StartPoint>> start_of(const TrainingSession& session, Ledger* ledger) {
  if (!session.start) return std::optional<StartPoint>{};
  const Training& training = session.training();
  NF_TRY(StartPoint start,
         start_point_of(*session.start, training.model.start_is_public, ledger, training.privacy.budget));
  return std::optional(std::move(start));
}

Result<RunResult> run_training(TrainingSession& session, const RunRequest& request, Ledger* ledger,
                               const JobControl& control) {
  if (request.charged() && ledger == nullptr) {
    return invalid_argument("a private training must be charged to a ledger: give one");
  }
  NF_TRY_VOID(expect_recorded(session, request));
  if (measures_private_rows(session.training()) && !request.evaluation) {
    return invalid_argument(
        "quality would be measured on private rows that were kept for tests: their ledger has to record it");
  }
  NF_TRY(Descent descent, begin_descent(session, request, Canaries::kIfAsked));
  auto& [secure, replay, canaries, sgd] = descent;
  std::optional<StartPoint> start;
  Sign sign;
  if (request.charged()) {
    NF_TRY(start, start_of(session, ledger));
    NF_TRY(sign, sign_by(*ledger));
  }
  const NewFolders folders(request.files.folder);
  FileOutlet outlet(request.files.model(), request.files.certificate());
  NF_TRY(std::optional<Watched> watched, watched_of(*session.examples));
  RunWatch watch(*session.model, sgd, control, std::move(watched));
  TrainingHooks hooks = hooks_of(request, control, watch, sign, canaries != nullptr);
  Audited audited;
  if (canaries) audit_by(*canaries, session.sampler.adjacency(), request.delta, hooks, audited);
  const auto record_evaluation = [&]() -> Result<void> {
    if (request.evaluation && ledger != nullptr) NF_TRY_VOID(ledger->expose(*request.evaluation));
    return success();
  };
  hooks.begin = [&, begin = std::move(hooks.begin)]() -> Result<void> {
    NF_TRY_VOID(record_evaluation());
    return begin();
  };
  if (request.exposure && ledger != nullptr) {
    hooks.made = [&](const Digest& model) { return ledger->keep_exposed(*request.exposure, model); };
  }
  const RunTerms terms = terms_of(session, request, std::move(start));
  const NameWeights names = [&](std::span<const float> weights) {
    return session.model->name_weights(weights_of_model(session, weights));
  };
  begin_run(request, control);
  Result<Released> trained = replay ? train_without_privacy(terms, sgd, *replay, names, hooks, outlet)
                                    : train_privately(terms, sgd, secure, *ledger, names, hooks, outlet);
  if (!trained.has_value()) {
    tell_of_checkpoint(request, sgd, control);
    folders.remove_empty();
    return std::move(trained).error();
  }
  Released made = std::move(trained).value();
  if (made.again) NF_TRY_VOID(record_evaluation());  // the caller measures it again
  NF_TRY(const TensorFile file, parse_safetensors(made.release.bytes));
  NF_TRY(std::vector<float> weights, session.model->take_weights(file));
  if (made.release.certificate.steps == session.steps.value()) {  // A finished run needs no checkpoint.
    std::error_code ignored;
    std::filesystem::remove(request.files.checkpoint(), ignored);
  }
  RunResult result{std::move(made.release),         {}, made.again, std::move(weights), watch.last().seconds,
                   watch.last().examples_per_second};
  if (canaries) {
    // The model exists and is paid for, so a failure to write the audit beside it is not an error.
    Result<audit::SignedAudit> kept =
        made.again ? kept_audit(result.model, request.files) : keep_audit(audited, result.model, sign, request.files);
    if (kept.has_value()) {
      result.audit = std::move(kept).value();
    } else {
      control.warn(fmt::format("no audit: {}", kept.error().message));
    }
  }
  return result;
}

Result<DpStatement> statement_of(TrainingSession& session, const RunRequest& request) {
  RunRequest alone = request;
  alone.team = {};
  NF_TRY(const Descent descent, begin_descent(session, alone, Canaries::kNone));
  const std::uint64_t before = request.from ? request.from->state.steps : 0;
  if (before >= session.steps.value())
    return invalid_argument("the checkpoint has already made all steps: nothing is left to train");
  NF_TRY(const Steps left, Steps::make(session.steps.value() - before));
  return DpStatement{session.training().privacy.adjacency, descent.sgd.unit(), descent.sgd.event(left)};
}

Result<std::vector<float>> run_as_part(TrainingSession& session, const RunRequest& request, const JobControl& control) {
  NF_TRY_VOID(expect_recorded(session, request));
  NF_TRY(Descent descent, begin_descent(session, request, Canaries::kNone));
  auto& [secure, replay, canaries, sgd] = descent;
  RunWatch watch(*session.model, sgd, control, {});
  const TrainingHooks hooks = hooks_of(request, control, watch);
  const RunTerms terms = terms_of(session, request);
  begin_run(request, control);
  NF_TRY_VOID(replay ? descend_as_part(terms, sgd, *replay, hooks) : descend_as_part(terms, sgd, secure, hooks));
  if (sgd.steps() < session.steps.value()) {
    return invalid_argument("the training was stopped before its end; its cost stays spent");
  }
  return sgd.result();
}

Result<std::uint64_t> follow_training(TrainingSession& session, const RunRequest& request, const JobControl& control) {
  NF_TRY(Descent descent, begin_descent(session, request, Canaries::kNone));
  auto& [secure, replay, canaries, sgd] = descent;
  if (request.from) NF_TRY_VOID(sgd.restore(request.from->state));
  NF_TRY_VOID(replay ? request.team.follow(sgd, *replay, session.steps.value(), control.stop)
                     : request.team.follow(sgd, secure, session.steps.value(), control.stop));
  return sgd.steps();
}

}  // namespace noisefloor
