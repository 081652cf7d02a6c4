#include "noisefloor/training/configuration.h"

#include <nlohmann/json.hpp>

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

Json clip_json(const ClipRule::Kind& clip) {
  if (const auto* flat = std::get_if<FlatClip>(&clip)) return {{"clipping", "flat"}, {"norm", flat->norm.value()}};
  if (const auto* automatic = std::get_if<AutomaticClip>(&clip)) {
    return {{"clipping", "automatic"}, {"norm", automatic->norm.value()}, {"gamma", automatic->gamma}};
  }
  Json norms = Json::array();
  for (const ClipNorm& norm : std::get<GroupClip>(clip).norms) norms.push_back(norm.value());
  return {{"clipping", "per-layer"}, {"norms", norms}};
}

}  // namespace

std::string configuration_of(const ConfiguredRun& run) {
  const TrainingDescent& descent = run.training.descent;
  const bool person = run.rows_per_person > 0;
  Json json{{"model", run.training.model.name},
            {"parameters", run.parameters},
            {person ? "people" : "rows", run.count.units.value()},
            {"unit", name_of(person ? PrivacyUnit::kPerson : PrivacyUnit::kRow)},
            {"sampler", descent.sampler == SamplerKind::kFixedSize ? "fixed-size" : "poisson"},
            {"batch_size", descent.batch_size.value()},
            {"steps", run.steps.value()},
            {"noise", run.noise.multiplier ? (descent.discrete_noise ? "discrete" : "gaussian") : "none"},
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
  if (person) json["rows_per_person"] = run.rows_per_person;
  if (run.noise.multiplier) json["noise_multiplier"] = run.noise.multiplier->value();
  if (descent.clip) json["clip"] = clip_json(*descent.clip);
  if (descent.adaptive) {
    json["adaptive"] = {{"quantile", descent.adaptive->quantile},
                        {"rate", descent.adaptive->rate},
                        {"count_noise_share", descent.adaptive->count_noise_share}};
  }
  if (run.replay_seed) json["replay_seed"] = *run.replay_seed;
  return json.dump();
}

}  // namespace noisefloor
