#include "noisefloor/secagg/round_noise.h"

#include <fmt/format.h>

namespace noisefloor::secagg {

Result<DistributedNoise> noise_of(const RoundConfig& config) {
  if (!config.noise.has_value()) return invalid_argument("the round's configuration has no noise");
  const NoiseContract& noise = *config.noise;
  return DistributedNoise::create({.law = noise.law,
                                   .dimension = noise.values,
                                   .clip = noise.clip,
                                   .noise_multiplier = noise.multiplier,
                                   .clients = config.clients,
                                   .minimum_survivors = config.minimum_cohort,
                                   .colluders = noise.colluders,
                                   .bits = config.bits},
                                  noise.rotation);
}

Result<DpStatement> statement_of(const RoundConfig& config, std::uint32_t survivors) {
  NF_TRY_VOID(check_config(config));
  if (config.replayed) {
    return Error{ErrorCode::kProtocol,
                 "the round was replayed: whoever knows the seed can subtract the noise, so there is no statement"};
  }
  NF_TRY(const DistributedNoise noise, noise_of(config));
  return noise.statement(survivors);
}

Result<NoisePlan> plan_noise(const DistributedNoiseOptions& options) {
  const Digest seed{};  // the bounds hold for every rotation
  const auto inflation_of = [](const DistributedNoise& code, const DistributedNoiseOptions& with) {
    return code.l2_sensitivity() * code.granularity() / with.clip.value();
  };
  NF_TRY(const DistributedNoise code, DistributedNoise::create(options, seed));
  NoisePlan plan{options, code.granularity(), inflation_of(code, options), 0};
  DistributedNoiseOptions more = options;
  for (more.bits = options.bits; more.bits <= 62; ++more.bits) {
    const auto finer = DistributedNoise::create(more, seed);
    if (!finer.has_value() || inflation_of(finer.value(), more) > kLittleInflation) continue;
    plan.bits_for_little = more.bits;
    break;
  }
  return plan;
}

}  // namespace noisefloor::secagg
