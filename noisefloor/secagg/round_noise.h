// The noise of a round, made from its signed configuration: clients and whoever states what the sum costs read the same
// numbers.
//
// Guarantee:     there is a statement only for rounds that are not replayed, for at least as many survivors as the
//                round's minimum cohort, which the server and every client enforce before anything is unmasked.
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "noisefloor/base/result.h"
#include "noisefloor/secagg/config.h"
#include "noisefloor/secagg/distributed_noise.h"

namespace noisefloor::secagg {

// The encoding of a configuration with noise. Refused without noise, and if the bits are too few for it.
[[nodiscard]] Result<DistributedNoise> noise_of(const RoundConfig& config);

// What the sum of a round with this many survivors reveals (server.h: Server::survivors). Refused without noise, for
// replayed rounds, and below the minimum cohort.
[[nodiscard]] Result<DpStatement> statement_of(const RoundConfig& config, std::uint32_t survivors);

// Noise as it is planned, before there is a configuration: how fine the sum can be, and how much more one client moves
// it than its clip norm says, because vectors are rounded to few bits.
struct NoisePlan {
  DistributedNoiseOptions options;
  double granularity;
  double inflation;               // sensitivity over clip norm: 1 without rounding
  std::uint32_t bits_for_little;  // the fewest bits with which the inflation is at most kLittleInflation; 0: none
};
inline constexpr double kLittleInflation = 1.02;
[[nodiscard]] Result<NoisePlan> plan_noise(const DistributedNoiseOptions& options);

}  // namespace noisefloor::secagg
