#include "noisefloor/training/watch.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "noisefloor/base/text.h"
#include "noisefloor/random/subset.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kWatchSeed = 0x7761746368;  // any value: the choice is public

}  // namespace

Result<std::optional<Watched>> watched_of(const TrainingExamples& examples) {
  const std::optional<Dataset>& all = examples.validation ? examples.validation : examples.test;
  if (!all) return std::optional<Watched>{};
  const char* name = examples.validation ? "validation" : "test";
  if (all->rows <= kMostWatched) return std::optional(Watched{name, *all});
  NF_TRY(ReplayRandom random, ReplayRandom::create(kWatchSeed));
  NF_TRY(const std::vector<std::uint64_t> rows, uniform_subset(random, kMostWatched, all->rows));
  NF_TRY(Dataset some, all->take(rows));
  return std::optional(Watched{name, std::move(some)});
}

std::string metrics_line(const TrainingProgress& p, const std::optional<PublicQuality>& quality) {
  Json json{{"step", p.steps},
            {"epsilon", std::isfinite(p.epsilon) ? Json(p.epsilon) : Json(nullptr)},
            {"clip_norm", p.clip_norm},
            {"examples_per_second", std::round(p.examples_per_second)},
            {"seconds", p.seconds}};
  if (quality) {
    const std::string name = quality->examples;
    json[name + "_loss"] = quality->quality.loss;
    if (quality->quality.accuracy) json[name + "_accuracy"] = *quality->quality.accuracy;
  }
  return json.dump();
}

void RunWatch::write_to(const std::string& path) {
  metrics_.open(path, std::ios::app);
  if (!metrics_.is_open()) control_->warn(fmt::format("no metrics: {} could not be written", shown(path)));
}

std::optional<PublicQuality> RunWatch::look(const TrainingProgress& p) {
  if (!watched_ || (p.steps < p.planned && p.seconds < next_)) return {};
  const auto start = std::chrono::steady_clock::now();
  PublicQuality found{watched_->name,
                      model_->quality(std::span(sgd_->result()).first(model_->parameters()), watched_->examples)};
  next_ = p.seconds + 20 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return found;
}

void RunWatch::show(const TrainingProgress& progress) {
  last_ = progress;
  const std::optional<PublicQuality> quality = look(progress);
  if (control_->observer != nullptr) control_->observer->progress(progress, quality);
  if (!metrics_.is_open()) return;
  metrics_ << metrics_line(progress, quality) << std::endl;  // NOLINT: flushed, so that it can be followed
}

}  // namespace noisefloor
