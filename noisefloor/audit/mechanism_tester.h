// Tests any mechanism as a black box: runs it on neighbouring inputs, searches for the event that tells them apart
// best, and counts that event in fresh runs.
//
//   const BlackBox count = [&](World world, BitStream& stream) { return noisy_count(rows_of(world), stream); };
//   NF_TRY(const TestedMechanism tested, test_mechanism(count, {PrivacyLoss::of(1), Delta::of(0)}, {}, random));
//   if (tested.refuted) …   // tested.event says which event is too likely
//
// Implements:    search and count on separate runs (Ding et al. 2018); thresholds of a classifier as events (Bichsel et
//                al. 2021, DP-Sniper).
// Guarantee:     if the mechanism is (ε, δ)-DP for the two inputs, `refuted` is true with probability at most
//                `significance`, and `at_least` is above ε no more often.
// What it finds: events of one number of the output (a coordinate, how many there are, their sum, extremes and where
//                they are, the lowest bits of a double, what is not a number), above or below a threshold or equal to a
//                value, and mixtures of these numbers.
// Not covered:   events that are rarer than about 100 in the runs, and other neighbours than those that are given:
//                choose the worst, such as nobody and somebody at a bound.
// Thread safety: pure function; the mechanism is called by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "noisefloor/audit/two_worlds.h"
#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor::audit {

enum class World : std::uint8_t { kWithout, kWith };

// One run on one of two neighbouring inputs: any numbers, and not always as many.
using BlackBox = std::function<Result<std::vector<double>>(World world, BitStream& stream)>;

struct MechanismClaim {
  PrivacyLoss epsilon;
  Delta delta;
};

struct TesterOptions {
  std::size_t search_runs = 20'000;  // in each world
  std::size_t count_runs = 100'000;  // likewise
  Significance significance = Significance::of(1e-6);
};

struct TestedMechanism {
  bool refuted = false;
  double at_least = 0;  // ε, at this significance
  std::string event;    // "number 0 above 3.25"
  World likelier = World::kWith;
  GuessCounts counts;  // of the event: `found` in the likelier world
};

// Ends with the first error of the mechanism.
[[nodiscard]] Result<TestedMechanism> test_mechanism(const BlackBox& mechanism, const MechanismClaim& claim,
                                                     const TesterOptions& options, BitStream& stream);

}  // namespace noisefloor::audit
