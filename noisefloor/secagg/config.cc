#include "noisefloor/secagg/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "noisefloor/secagg/keys.h"
#include "noisefloor/secagg/wire.h"

namespace noisefloor::secagg {
namespace {

Result<void> check_noise(const RoundConfig& config, const NoiseContract& noise) {
  if (noise.colluders >= config.minimum_cohort) {
    return invalid_argument(
        fmt::format("a minimum cohort is above the number of colluders {}, who may leave their "
                    "noise out; got {}",
                    noise.colluders, config.minimum_cohort));
  }
  if (noise.values < 1 || noise.values > kMaxDimension / 2 || std::bit_ceil(noise.values) != config.dimension) {
    return invalid_argument(
        fmt::format("with noise, vectors are padded to the next power of two; got {} numbers in {} "
                    "coordinates",
                    noise.values, config.dimension));
  }
  if (config.bits < 2 || config.bits > 62) {
    return invalid_argument(fmt::format("with noise, a coordinate has 2 to 62 bits; got {}", config.bits));
  }
  return success();
}

void write(Writer& out, const std::optional<NoiseContract>& noise) {
  if (!noise.has_value()) {
    out.room(kNoiseBytes);
    return;
  }
  out.number(static_cast<std::uint8_t>(noise->law == NoiseLaw::kSkellam ? 1 : 2)).number(noise->values);
  out.number(std::bit_cast<std::uint64_t>(noise->clip.value()));
  out.number(std::bit_cast<std::uint64_t>(noise->multiplier.value()));
  out.number(noise->colluders).bytes(noise->rotation);
}

// False if these are not the bytes of a noise contract, or of none.
bool read(Bytes bytes, std::optional<NoiseContract>& noise) {
  Reader in(bytes);
  const auto law = in.number<std::uint8_t>();
  if (law == 0) return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
  const auto values = in.number<std::uint64_t>();
  const auto clip = ClipNorm::make(std::bit_cast<double>(in.number<std::uint64_t>()));
  const auto multiplier = NoiseMultiplier::make(std::bit_cast<double>(in.number<std::uint64_t>()));
  const auto colluders = in.number<std::uint32_t>();
  const Digest rotation = in.array<32>();
  if (law > 2 || !clip.has_value() || !multiplier.has_value() || !in.done()) return false;
  noise = NoiseContract{law == 1 ? NoiseLaw::kSkellam : NoiseLaw::kDiscreteGaussian,
                        values,
                        clip.value(),
                        multiplier.value(),
                        colluders,
                        rotation};
  return true;
}

}  // namespace

Digest digest_of(const Registry& registry) {
  Writer out(32 * registry.size());
  for (const PublicKey& key : registry) out.bytes(key);
  return labelled_digest("registry", {out.written()});
}

Result<void> check_config(const RoundConfig& config) {
  if (config.clients < 2 || config.clients > kMaxClients) {
    return invalid_argument(fmt::format("a round takes 2 to {} clients; got {}", kMaxClients, config.clients));
  }
  if (config.degree >= config.clients || (config.degree % 2 == 1 && config.degree + 1 != config.clients)) {
    return invalid_argument(
        fmt::format("a degree is even and below the number of clients, or one less than it; got {} for {} clients",
                    config.degree, config.clients));
  }
  if (config.threshold < 1 || config.threshold > config.degree) {
    return invalid_argument(
        fmt::format("a threshold is from 1 to the degree {}; got {}", config.degree, config.threshold));
  }
  if (config.minimum_cohort < 2 || config.minimum_cohort > config.clients) {
    return invalid_argument(fmt::format("a minimum cohort is from 2 to the number of clients {}; got {}",
                                        config.clients, config.minimum_cohort));
  }
  if (config.minimum_roster < config.minimum_cohort || config.minimum_roster > config.clients) {
    return invalid_argument(
        fmt::format("a minimum roster is from the minimum cohort {} to the number of clients {}; got {}",
                    config.minimum_cohort, config.clients, config.minimum_roster));
  }
  if (config.dimension < 1 || config.dimension > kMaxDimension) {
    return invalid_argument(fmt::format("a vector has 1 to {} coordinates; got {}", kMaxDimension, config.dimension));
  }
  if (config.bits < 1 || config.bits > kMaxBits) {
    return invalid_argument(fmt::format("a coordinate has 1 to {} bits; got {}", kMaxBits, config.bits));
  }
  return config.noise.has_value() ? check_noise(config, *config.noise) : success();
}

std::vector<std::uint8_t> to_bytes(const RoundConfig& config) {
  Writer out(kConfigBytes);
  out.number(config.round).bytes(config.model).bytes(config.registry).bytes(config.server);
  out.bytes(config.challenge).bytes(config.epoch);
  out.number(static_cast<std::uint8_t>(config.threat)).number(config.clients).number(config.minimum_roster);
  out.number(config.degree);
  out.number(config.threshold).number(config.minimum_cohort).number(config.dimension).number(config.bits);
  out.number(std::uint8_t{config.replayed});
  write(out, config.noise);
  return out.take();
}

std::optional<RoundConfig> parse_config(Bytes bytes) {
  Reader in(bytes);
  RoundConfig config;
  config.round = in.number<std::uint64_t>();
  config.model = in.array<32>();
  config.registry = in.array<32>();
  config.server = in.array<32>();
  config.challenge = in.array<32>();
  config.epoch = in.array<32>();
  const auto threat = in.number<std::uint8_t>();
  config.clients = in.number<std::uint32_t>();
  config.minimum_roster = in.number<std::uint32_t>();
  config.degree = in.number<std::uint32_t>();
  config.threshold = in.number<std::uint32_t>();
  config.minimum_cohort = in.number<std::uint32_t>();
  config.dimension = in.number<std::uint64_t>();
  config.bits = in.number<std::uint8_t>();
  const auto replayed = in.number<std::uint8_t>();
  config.replayed = replayed == 1;
  const Bytes noise = in.bytes(kNoiseBytes);
  if (!in.done() || replayed > 1 || !read(noise, config.noise)) return std::nullopt;
  if (threat > static_cast<std::uint8_t>(ThreatModel::kLyingServer)) return std::nullopt;
  config.threat = static_cast<ThreatModel>(threat);
  if (!check_config(config).has_value()) return std::nullopt;
  return config;
}

Digest digest_of(const RoundConfig& config) { return labelled_digest("configuration", {to_bytes(config)}); }

std::uint32_t degree_among(const RoundConfig& config, std::uint32_t clients) {
  return std::min(config.degree, clients - 1);
}

}  // namespace noisefloor::secagg
