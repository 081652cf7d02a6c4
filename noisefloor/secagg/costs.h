// The cost of a round for each side, before it is run: bytes, masks, key agreements; and seconds, given how fast a
// machine is.
//
// Guarantee:     bytes of messages are exact for the number of clients that take part, except those of the roster's
//                proof and of the seeds of masks with dropouts, which are expected ones on a sparse graph; the server's
//                work is for the expected number of dropouts, all of them after sharing their keys, which is when they
//                cost most.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "noisefloor/base/result.h"
#include "noisefloor/secagg/lane_vector.h"
#include "noisefloor/secagg/parameters.h"
#include "noisefloor/secagg/round_noise.h"

namespace noisefloor::secagg {

// The speed of one core, per second.
struct Rates {
  double mask_bytes = 15e9;
  double tagged_bytes = 6e9;
  double agreements = 20e3;
  double verifications = 12e3;
};

struct SideCost {
  double sent_bytes;
  double received_bytes;
  double mask_bytes;  // bytes of keystream, added to lanes
  double tagged_bytes;
  double agreements;
  double verifications;

  [[nodiscard]] double seconds(const Rates& rates = {}) const;
};

struct RoundCost {
  SideCost client;  // for a client that stays to the end
  SideCost server;
  double neighbour_bytes;  // of what a client receives: keys, proofs and shares of its neighbours
  double payload_bytes;    // a packed vector
  double plain_bytes;      // the same as 32-bit floating-point numbers
};

// Requires a topology for these assumptions, and 1 ≤ bits ≤ kMaxBits.
[[nodiscard]] RoundCost cost_of_round(const Assumptions& assumptions, const Topology& topology, std::uint64_t dimension,
                                      unsigned bits);

// A round as it is planned: its topology, what it will cost, and its noise if there is any.
struct PlannedRound {
  Assumptions assumptions;
  std::uint64_t dimension;
  unsigned bits;
  Topology topology;
  RoundCost cost;
  std::optional<NoisePlan> noise = {};
};

// Noise that is planned with a round: everything else follows from the round's assumptions. As many clients survive as
// do not drop out, and those that are assumed to be corrupt leave their noise out.
struct NoiseWish {
  NoiseMultiplier multiplier;
  NoiseLaw law = NoiseLaw::kSkellam;
};

// Refused where find_topology and plan_noise refuse. Requires 1 ≤ bits ≤ kMaxBits. With noise, vectors are padded to a
// power of two.
[[nodiscard]] Result<PlannedRound> plan_round(const Assumptions& assumptions, std::uint64_t dimension, unsigned bits,
                                              const std::optional<NoiseWish>& noise = {});

}  // namespace noisefloor::secagg
