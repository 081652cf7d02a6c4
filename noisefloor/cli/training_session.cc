#include "noisefloor/cli/training_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/options.h"
#include "version.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;

// --- Stopping ----------------------------------------------------------------------------------------------------------

// The first Ctrl-C asks for the model so far; the second one ends the process.
std::atomic<bool> stop_asked = false;

void ask_to_stop(int signal) {
  stop_asked = true;
  (void)std::signal(signal, SIG_DFL);
}

// --- Progress ------------------------------------------------------------------------------------------------------------

std::string shown_time(double seconds) {
  const auto whole = static_cast<long>(std::ceil(seconds));
  return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                       : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

// Public examples that are looked at now and then, if there are any: those for validation, or else those for tests.
struct Watched {
  const char* name;
  Dataset examples;
};

struct WatchedQuality {
  const char* name;
  Quality quality;
};
using PublicQuality = std::optional<WatchedQuality>;

std::string as_text(const TrainingProgress& p, const PublicQuality& watched) {
  const std::string epsilon = std::isfinite(p.epsilon) ? fmt::format("epsilon {:.4f}", p.epsilon) : "not private";
  return fmt::format("step {}/{} ({} %), {}{}, {:.0f} examples/s, {} left", p.steps, p.planned,
                     100 * p.steps / p.planned,
                     watched ? fmt::format("{} loss {:.4f}, ", watched->name, watched->quality.loss) : "", epsilon,
                     p.examples_per_second, shown_time(p.seconds_left));
}

Json as_json(const TrainingProgress& p, const PublicQuality& watched) {
  Json json{{"step", p.steps},
            {"epsilon", std::isfinite(p.epsilon) ? Json(p.epsilon) : Json(nullptr)},
            {"clip_norm", p.clip_norm},
            {"examples_per_second", std::round(p.examples_per_second)},
            {"seconds", p.seconds}};
  if (!watched) return json;
  const std::string name = watched->name;
  json[name + "_loss"] = watched->quality.loss;
  if (watched->quality.accuracy) json[name + "_accuracy"] = *watched->quality.accuracy;
  return json;
}

// Enough to see where it goes, and few enough not to slow it down.
constexpr std::size_t kMostWatched = 1000;

Result<std::optional<Watched>> watched_of(const TrainingExamples& examples) {
  const std::optional<Dataset>& shown = examples.validation ? examples.validation : examples.test;
  if (!shown) return std::optional<Watched>{};
  std::vector<std::uint64_t> rows(std::min(kMostWatched, shown->rows));
  std::iota(rows.begin(), rows.end(), 0);
  NF_TRY(Dataset some, shown->take(rows));
  return std::optional(Watched{examples.validation ? "validation" : "test", std::move(some)});
}

// Looks at them for a twentieth of the time at most.
class Watcher {
 public:
  explicit Watcher(std::optional<Watched> watched) : watched_(std::move(watched)) {}
  PublicQuality look(TrainableModel& model, const std::vector<float>& weights, const TrainingProgress& p) {
    if (!watched_ || (p.steps < p.planned && p.seconds < next_)) return {};
    const auto start = std::chrono::steady_clock::now();
    PublicQuality found = WatchedQuality{watched_->name, model.quality(weights, watched_->examples)};
    next_ = p.seconds + 20 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return found;
  }

 private:
  std::optional<Watched> watched_;
  double next_ = 0;
};

// One line that is written over on a terminal; elsewhere a line now and then.
class ProgressLine {
 public:
  ProgressLine(std::string title, bool quiet)
      : title_(std::move(title)), quiet_(quiet), terminal_(::isatty(STDERR_FILENO) == 1) {}
  void show(const TrainingProgress& p, const PublicQuality& watched) {
    if (quiet_) return;
    const bool last = p.steps == p.planned;
    if (terminal_) {
      fmt::print(stderr, "\r\x1b[K{}{}{}", title_, as_text(p, watched), last ? "\n" : "");
    } else if (last || p.seconds >= next_) {
      fmt::print(stderr, "{}{}\n", title_, as_text(p, watched));
      next_ = p.seconds + 10;
    }
  }

 private:
  std::string title_;
  bool quiet_;
  bool terminal_;
  double next_ = 0;
};

// --- Plans -----------------------------------------------------------------------------------------------------------------

Json clip_json(const ClipRule::Kind& clip) {
  if (const auto* flat = std::get_if<FlatClip>(&clip)) return {{"clipping", "flat"}, {"norm", flat->norm.value()}};
  if (const auto* automatic = std::get_if<AutomaticClip>(&clip)) {
    return {{"clipping", "automatic"}, {"norm", automatic->norm.value()}, {"gamma", automatic->gamma}};
  }
  Json norms = Json::array();
  for (const ClipNorm& norm : std::get<GroupClip>(clip).norms) norms.push_back(norm.value());
  return {{"clipping", "per-layer"}, {"norms", norms}};
}

// For the ledger's record; and what a checkpoint is of, beside the descent.
std::string configuration_of(const TrainingSession& session, const RunRequest& request) {
  const TrainingDescent& descent = session.training().descent;
  Json json{{"model", session.training().model.name},
            {"parameters", session.model->parameters()},
            {"rows", session.examples->train.rows},
            {"sampler", descent.sampler == SamplerKind::kFixedSize ? "fixed-size" : "poisson"},
            {"batch_size", descent.batch_size.value()},
            {"steps", session.steps.value()},
            {"noise", request.noise.multiplier ? (descent.discrete_noise ? "discrete" : "gaussian") : "none"},
            {"optimizer", name_of(descent.optimizer.kind)},
            {"momentum", descent.optimizer.momentum},
            {"betas", {descent.optimizer.beta1, descent.optimizer.beta2}},
            {"alpha", descent.optimizer.alpha},
            {"weight_decay", descent.optimizer.weight_decay},
            {"learning_rate", descent.learning_rate.initial},
            {"schedule", name_of(descent.learning_rate.decay)},
            {"decay", descent.learning_rate.beta},
            {"warm_up", descent.learning_rate.warm_up},
            {"averaging", descent.averaging},
            {"copies", descent.augmentation.copies},
            {"shift", descent.augmentation.shift},
            {"mirror", descent.augmentation.mirror}};
  if (request.noise.multiplier) json["noise_multiplier"] = request.noise.multiplier->value();
  if (descent.clip) json["clip"] = clip_json(*descent.clip);
  if (descent.adaptive) {
    json["adaptive"] = {{"quantile", descent.adaptive->quantile},
                        {"rate", descent.adaptive->rate},
                        {"count_noise_share", descent.adaptive->count_noise_share}};
  }
  if (request.replay_seed) json["replay_seed"] = *request.replay_seed;
  return json.dump();
}

Result<std::vector<float>> first_weights(const TrainingSession& session, BitStream& stream) {
  const std::optional<std::string>& path = session.training().model.start_from;
  if (!path) return session.model->initial_weights(stream);
  return load_weights(session.file->resolve(*path), *session.model);
}

// A descent before its first step, and what it draws from.
struct Descent {
  SecureRandom secure;
  std::optional<ReplayRandom> replay;
  DpSgd sgd;
};

Result<Descent> begin_descent(TrainingSession& session, const RunRequest& request) {
  NF_TRY(SecureRandom secure, SecureRandom::create());
  std::optional<ReplayRandom> replay;
  const bool alone = request.workers == nullptr || request.workers->size() == 1;
  if (request.replay_seed || !request.noise.multiplier) {
    if (!alone && request.from) {
      return invalid_argument("workers with repeatable noise cannot go on from a checkpoint: it has the place of one");
    }
    // Workers with the same noise would add it up, not share it.
    const std::uint64_t rank = alone ? 0 : request.workers->rank();
    const std::uint64_t position = request.from ? request.from->noise_position : 0;
    NF_TRY(ReplayRandom made, ReplayRandom::create(request.replay_seed.value_or(0) ^ (rank << 48U), position));
    replay.emplace(std::move(made));
  }
  NF_TRY(std::vector<float> initial,
         first_weights(session, replay && !request.from ? static_cast<BitStream&>(*replay) : secure));
  NF_TRY(DpSgd sgd, descent_of(session.training().descent, request.noise, session.sampler, session.steps,
                               *session.model, std::move(initial), alone ? nullptr : request.workers->group()));
  (void)std::signal(SIGINT, ask_to_stop);
  (void)std::signal(SIGTERM, ask_to_stop);
  return Descent{std::move(secure), std::move(replay), std::move(sgd)};
}

}  // namespace

bool stop_was_asked() { return stop_asked; }

Result<TrainingSession> begin_session(const TrainingFile& file, const TrainingExamples& examples, std::size_t threads) {
  NF_TRY(std::unique_ptr<TrainableModel> model, bind_model(file.training, examples.train, threads));
  Result<BatchSampler> made = sampler_of(file.training, examples.train.rows);
  if (!made.has_value()) {
    const Error& error = made.error();
    return Error{error.code, fmt::format("{}:{}: {}", file.location, file.training.descent.batch_line, error.message)};
  }
  BatchSampler sampler = std::move(made).value();
  NF_TRY(const Steps steps, steps_of(file.training.descent, sampler));
  return TrainingSession{&file, &examples, std::move(model), std::move(sampler), steps};
}

namespace {

TrainingPlan plan_of(const TrainingSession& session, const RunRequest& request) {
  return {session.training().name,
          session.steps,
          request.delta,
          PrivacyUnit::kRow,
          session.training().privacy.budget,
          request.key,
          configuration_of(session, request),
          NOISEFLOOR_VERSION,
          request.from,
          request.item,
          kDataDeclaration};
}

// What people see of a run while it goes on.
class Watch {
 public:
  Watch(TrainingSession& session, const RunRequest& request, const DpSgd& sgd, std::optional<Watched> watched)
      : session_(&session), sgd_(&sgd), line_(request.title, request.quiet), watcher_(std::move(watched)) {}

  Result<void> write_to(const std::string& path) {
    metrics_.open(path, std::ios::app);
    if (metrics_) return success();
    return io_error(fmt::format("{} could not be written", noisefloor::shown(path)));
  }
  void show(const TrainingProgress& progress) {
    last_ = progress;
    const PublicQuality quality = watcher_.look(*session_->model, sgd_->result(), progress);
    line_.show(progress, quality);
    if (!metrics_.is_open()) return;
    metrics_ << as_json(progress, quality).dump() << std::endl;  // NOLINT: flushed, so that it can be followed
  }
  [[nodiscard]] const TrainingProgress& last() const { return last_; }

 private:
  TrainingSession* session_;
  const DpSgd* sgd_;
  ProgressLine line_;
  Watcher watcher_;
  std::ofstream metrics_;
  TrainingProgress last_;
};

}  // namespace

Result<RunResult> run_training(TrainingSession& session, const RunRequest& request, Ledger* ledger) {
  NF_TRY(Descent descent, begin_descent(session, request));
  auto& [secure, replay, sgd] = descent;
  FileOutlet outlet(request.files.model(), request.files.certificate());
  NF_TRY_VOID(outlet.prepare());
  NF_TRY(std::optional<Watched> watched, watched_of(*session.examples));
  Watch watch(session, request, sgd, std::move(watched));
  NF_TRY_VOID(watch.write_to(request.files.metrics()));

  const TrainingPlan plan = plan_of(session, request);
  TrainingHooks hooks;
  hooks.progress = [&](const TrainingProgress& progress) { watch.show(progress); };
  hooks.stop = [] { return stop_asked.load(); };
  if (request.workers != nullptr) {
    hooks.begin = [&] { return request.workers->begin(); };
    hooks.stop = [&] { return request.workers->stop(stop_asked); };
  }
  if (request.checkpoint_seconds > 0) {
    hooks.checkpoint_interval = std::chrono::milliseconds(static_cast<long>(1000 * request.checkpoint_seconds));
    hooks.checkpoint = [&](const Checkpoint& checkpoint) {
      const Result<void> written = write_file(request.files.checkpoint(), to_bytes(checkpoint));
      // What is paid for goes on.
      if (!written.has_value()) fmt::print(stderr, "warning: no checkpoint: {}\n", written.error().message);
    };
  }
  const NameWeights names = [&](std::span<const float> weights) { return session.model->name_weights(weights); };
  Result<Released> trained = replay ? train_without_privacy(plan, sgd, *replay, names, hooks, outlet)
                                    : train_privately(plan, sgd, secure, *ledger, names, hooks, outlet);
  std::error_code ignored;
  if (!trained.has_value()) {
    Error error = std::move(trained).error();
    if (sgd.steps() == 0 && std::filesystem::exists(request.files.checkpoint(), ignored)) {
      error.message += fmt::format(". A run that was cut short left a checkpoint: go on from it with --resume {}",
                                   noisefloor::shown(request.files.checkpoint()));
    }
    return error;
  }
  Released made = std::move(trained).value();
  NF_TRY(const TensorFile file, parse_safetensors(made.release.bytes));
  NF_TRY(std::vector<float> weights, session.model->take_weights(file));
  // What is finished needs none.
  if (made.release.certificate.steps == session.steps.value()) {
    std::filesystem::remove(request.files.checkpoint(), ignored);
  }
  return RunResult{std::move(made.release), made.again, std::move(weights), watch.last().seconds,
                   watch.last().examples_per_second};
}

Result<DpEvent> event_of(TrainingSession& session, const RunRequest& request) {
  NF_TRY(const Descent descent, begin_descent(session, request));
  return descent.sgd.event(session.steps);
}

Result<std::vector<float>> run_as_part(TrainingSession& session, const RunRequest& request) {
  NF_TRY(Descent descent, begin_descent(session, request));
  Watch watch(session, request, descent.sgd, {});
  TrainingHooks hooks;
  hooks.progress = [&](const TrainingProgress& progress) { watch.show(progress); };
  hooks.stop = [] { return stop_asked.load(); };
  auto& [secure, replay, sgd] = descent;
  const TrainingPlan plan = plan_of(session, request);
  NF_TRY_VOID(replay ? descend_as_part(plan, sgd, *replay, hooks) : descend_as_part(plan, sgd, secure, hooks));
  if (stop_asked) return invalid_argument("stopped before its end: what was paid for it stays spent");
  return sgd.result();
}

Result<std::uint64_t> follow_training(TrainingSession& session, const RunRequest& request) {
  NF_TRY(Descent descent, begin_descent(session, request));
  auto& [secure, replay, sgd] = descent;
  if (request.from) NF_TRY_VOID(sgd.restore(request.from->state));
  NF_TRY_VOID(replay ? request.workers->follow(sgd, *replay, session.steps.value(), stop_was_asked)
                     : request.workers->follow(sgd, secure, session.steps.value(), stop_was_asked));
  return sgd.steps();
}

Result<void> ensure_budget(Ledger& ledger, const TrainingPrivacy& privacy) {
  bool known = false;
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    known = state.find(privacy.budget) != nullptr;
    return success();
  }));
  if (known) return success();
  return ledger.create_budget({privacy.budget, privacy.epsilon, privacy.delta, privacy.adjacency, PrivacyUnit::kRow,
                               Rule::kBasic, default_failures(Rule::kBasic)});
}

Result<std::uint64_t> parse_seed(const std::string& text) { return parse_count("--replay-seed", text); }

Result<std::size_t> parse_threads(const std::string& text) {
  if (text.empty()) return std::max<std::size_t>(1, std::thread::hardware_concurrency());
  NF_TRY(const std::uint64_t count, parse_count("--threads", text));
  if (count < 1 || count > 1024) return invalid_argument(fmt::format("--threads must be 1 to 1024; got {}", count));
  return static_cast<std::size_t>(count);
}

}  // namespace noisefloor::cli
