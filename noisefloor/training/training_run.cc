#include "noisefloor/training/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/event/json.h"
#include "noisefloor/release/paid_statement.h"
#include "noisefloor/training/model_release.h"

namespace noisefloor {
namespace {

using Clock = std::chrono::steady_clock;

DpStatement statement_of(const DpSgd& sgd, Steps steps) {
  return {sgd.sampler().adjacency(), sgd.unit(), sgd.event(steps)};
}

// `first`: steps that were made before this run.
TrainingProgress progress_of(const RunTerms& terms, const DpSgd& sgd, std::uint64_t first, double seconds) {
  TrainingProgress progress;
  progress.steps = sgd.steps();
  progress.planned = terms.steps.value();
  progress.clip_norm = sgd.clip_norm();
  progress.seconds = seconds;
  const auto done = static_cast<double>(sgd.steps() - first);
  const double per_step = done > 0 ? seconds / done : 0;
  progress.seconds_left = per_step * static_cast<double>(terms.steps.value() - sgd.steps());
  progress.examples_per_second =
      per_step > 0 ? static_cast<double>(sgd.sampler().expected_batch().value()) / per_step : 0;
  if (const auto steps = Steps::make(sgd.steps())) {
    const auto epsilon = certified_epsilon(statement_of(sgd, steps.value()), terms.delta);
    progress.epsilon = epsilon ? epsilon.value().upper : HUGE_VAL;
  }
  return progress;
}

// Identifies the training that a checkpoint belongs to: everything that decides how the training continues.
std::string digest_of(const RunTerms& terms, const DpSgd& sgd) {
  return to_hex(blake2b(fmt::format("{}\n{}\n{}\n{}", terms.name, to_json(statement_of(sgd, terms.steps)),
                                    sgd.description(), terms.configuration)));
}

// Makes steps until all are made or someone wants to stop. `paid` is the ledger data that a checkpoint needs.
template <class Random>
Result<void> descend(const RunTerms& terms, DpSgd& sgd, Random& random, const TrainingHooks& hooks,
                     const Checkpoint& paid) {
  if (hooks.begin) NF_TRY_VOID(hooks.begin());
  const Clock::time_point start = Clock::now();
  Clock::time_point told = start;
  Clock::time_point saved = start;
  const std::uint64_t first = sgd.steps();
  const auto tell = [&](Clock::time_point now) {
    if (!hooks.progress) return;
    hooks.progress(progress_of(terms, sgd, first, std::chrono::duration<double>(now - start).count()));
  };
  const auto save = [&] {
    if (!hooks.checkpoint) return;
    Checkpoint checkpoint = paid;
    checkpoint.state = sgd.state();
    if constexpr (std::is_same_v<Random, ReplayRandom>) checkpoint.noise_position = random.position();
    hooks.checkpoint(checkpoint);
  };
  while (sgd.steps() < terms.steps.value()) {
    NF_TRY_VOID(sgd.step(random));
    if (hooks.stepped) NF_TRY_VOID(hooks.stepped(sgd));
    const Clock::time_point now = Clock::now();
    if (now - told >= hooks.interval && sgd.steps() < terms.steps.value()) {
      tell(now);
      told = now;
    }
    if (hooks.stop && hooks.stop()) {
      save();
      break;
    }
    if (now - saved >= hooks.checkpoint_interval && sgd.steps() < terms.steps.value()) {
      save();
      saved = Clock::now();
    }
  }
  tell(Clock::now());
  const std::vector<float>& weights = sgd.result();
  if (!std::all_of(weights.begin(), weights.end(), [](float x) { return std::isfinite(x); })) {
    return invalid_argument(fmt::format(
        "the training diverged: after {} steps weights are not finite. Take a smaller learning rate", sgd.steps()));
  }
  if (hooks.finished) NF_TRY_VOID(hooks.finished(sgd));
  return success();
}

Result<Draft> draft_of(const RunTerms& terms, const DpSgd& sgd, const NameWeights& name_weights,
                       const DpStatement& statement) {
  TensorFile file{name_weights(sgd.result()), {}};
  NF_TRY(const Interval epsilon, certified_epsilon(statement, terms.delta));
  Certificate certificate{ReleaseKind::kModel,
                          terms.name,
                          statement,
                          terms.delta,
                          epsilon,
                          certified_curve(statement),
                          sgd.steps(),
                          sgd.replayed(),
                          terms.configuration,
                          terms.data,
                          digest_of(file.tensors),
                          terms.program_version,
                          {},
                          terms.start,
                          terms.public_data};
  return Draft{std::move(certificate), [file = std::move(file)](const std::string& text) mutable {
                 file.metadata[kCertificateKey] = text;
                 return to_safetensors(file);
               }};
}

// Moves the descent to the checkpoint.
Result<Checkpoint> begin_from(const RunTerms& terms, DpSgd& sgd) {
  if (sgd.steps() != 0) return invalid_argument("a training begins with the first step");
  Checkpoint paid{terms.name, digest_of(terms, sgd), {}, {}, {}, 0};
  if (!terms.from) return paid;
  if (terms.from->plan != paid.plan) {
    return invalid_argument(fmt::format("the checkpoint belongs to another training, or to {} with other settings",
                                        shown(terms.from->name)));
  }
  if (terms.from->state.steps >= terms.steps.value()) {
    return invalid_argument(fmt::format("the checkpoint has already made all of its {} steps", terms.steps.value()));
  }
  paid.ledger = terms.from->ledger;
  paid.reservations = terms.from->reservations;
  NF_TRY_VOID(sgd.restore(terms.from->state));
  return paid;
}

// Refuses a checkpoint whose steps this ledger does not know, or that neither whoever reserved them nor an owner has
// signed: weights of another origin would be a way around the ledger. Whoever continues signs for the whole, and hence
// needs the right to.
Result<void> expect_charged(const Checkpoint& checkpoint, Ledger& ledger, const std::string& budget) {
  NF_TRY(const PublicKey own, ledger.signer());
  return ledger.read([&](const LedgerState& state) -> Result<void> {
    const std::uint64_t now = state.next_sequence();
    if (!checkpoint.signer || state.find_member(*checkpoint.signer) == nullptr) {
      return invalid_argument(
          "the checkpoint is not signed with the key of this ledger: it was altered, or belongs to another ledger or "
          "to version 0.1. Train from the beginning");
    }
    for (const auto& [who, key] :
         {std::pair("the checkpoint", *checkpoint.signer), std::pair("its continuation", own)}) {
      const auto signer = state.signer_of(who, key, checkpoint.reservations, now);
      if (!signer.has_value()) {
        return invalid_argument(signer.error().message + ". Ask that member or an owner to continue it");
      }
    }
    const bool known =
        checkpoint.ledger == to_hex(state.genesis().ledger) &&
        std::all_of(checkpoint.reservations.begin(), checkpoint.reservations.end(), [&](std::uint64_t sequence) {
          const LedgerState::Spend* spend = state.find_spend(sequence);
          return spend != nullptr && spend->status != SpendStatus::kAborted &&
                 state.budgets()[spend->budget].terms->name == budget;
        });
    if (known && !checkpoint.reservations.empty()) return success();
    return invalid_argument("the checkpoint's steps were charged to another ledger or another budget: use that one");
  });
}

}  // namespace

Result<Released> train_privately(const RunTerms& terms, DpSgd& sgd, SecureRandom& random, Ledger& ledger,
                                 const NameWeights& name_weights, const TrainingHooks& hooks, Outlet& outlet) {
  NF_TRY(Checkpoint paid, begin_from(terms, sgd));
  if (terms.from) NF_TRY_VOID(expect_charged(*terms.from, ledger, terms.budget));
  NF_TRY(const Steps steps_left, Steps::make(terms.steps.value() - sgd.steps()));
  ReleaseRequest request{{terms.budget, terms.key, statement_of(sgd, steps_left)}, paid.reservations};
  request.reader = read_model_release;
  request.spend.delta = terms.delta;
  request.spend.item = terms.item;
  request.spend.blocks = terms.blocks;
  request.spend.note = {terms.name, "training", {"dp-sgd"}, terms.configuration};
  request.spend.use = UseKind::kTraining;
  return release_by(request, ledger, outlet, [&](const CertifiedSpend& spend) -> Result<Draft> {
    paid.ledger = to_hex(spend.ledger);
    paid.reservations = spend.reservations;
    NF_TRY_VOID(descend(terms, sgd, random, hooks, paid));
    NF_TRY(const DpStatement statement, paid_statement(ledger, spend.budget, spend.reservations, terms.start));
    return draft_of(terms, sgd, name_weights, statement);
  });
}

Result<void> descend_as_part(const RunTerms& terms, DpSgd& sgd, SecureRandom& random, const TrainingHooks& hooks) {
  NF_TRY(const Checkpoint start, begin_from(terms, sgd));
  return descend(terms, sgd, random, hooks, start);
}

Result<void> descend_as_part(const RunTerms& terms, DpSgd& sgd, ReplayRandom& random, const TrainingHooks& hooks) {
  NF_TRY(const Checkpoint start, begin_from(terms, sgd));
  return descend(terms, sgd, random, hooks, start);
}

Result<Released> train_without_privacy(const RunTerms& terms, DpSgd& sgd, ReplayRandom& random,
                                       const NameWeights& name_weights, const TrainingHooks& hooks, Outlet& outlet) {
  NF_TRY(const Checkpoint paid, begin_from(terms, sgd));
  if (terms.from && random.position() != terms.from->noise_position) {
    return invalid_argument("repeatable noise must continue from the position at which the checkpoint was made");
  }
  NF_TRY_VOID(outlet.prepare());
  NF_TRY(const std::optional<std::string> earlier, outlet.kept());
  if (earlier) return invalid_argument(fmt::format("{} is there already: choose another folder", shown(outlet.name())));
  NF_TRY_VOID(descend(terms, sgd, random, hooks, paid));
  NF_TRY(const Steps made_steps, Steps::make(sgd.steps()));
  NF_TRY(Draft draft, draft_of(terms, sgd, name_weights, statement_of(sgd, made_steps)));
  if (hooks.made) NF_TRY_VOID(hooks.made(draft.certificate.released));
  Released made{seal(std::move(draft), {}, {}), false};
  NF_TRY_VOID(outlet.publish(made.release));
  return made;
}

}  // namespace noisefloor
