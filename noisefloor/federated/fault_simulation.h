// A whole run in one process and one thread, on a network and disks that fail: the coordinator and the sites are the
// machines of a real run (coordinator.h, site.h).
//
// Internal to federated/.
//
// Faults:        messages are dropped, repeated, delayed past others, changed by a bit or cut off; paths are cut in one
//                direction for a while; a process is killed before its write, after it, or between two messages; a
//                write fails; a site is restored from an old copy of its disk; two processes have one site's key; a
//                budget ends in the middle of the run; sites lie (NaN, numbers no sum can hold, a second story, wrong
//                length) or never answer.
// Invariants:    checked after every step; the first one that does not hold ends the simulation, with words:
//                  spent      no upload leaves before its budget granted the round, and only once for a round
//                  story      two different uploads of one site for one round never leave
//                  receipt    what a receipt was sent for is among the survivors of its round
//                  once       what is accepted for a round and site never changes
//                  cohort     a round that counts has its minimum cohort
//                  replay     the model is what the accepted uploads of the survivors make of the one before
//                  one model  all sites of a round worked on the same broadcast
//                  growth     rounds only grow, whatever was restarted
//                  ending     after the last fault the run ends within a bounded time
// Guarantee:     the same seed and options give the same run, byte by byte (digest).
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/federated/coordinator.h"
#include "noisefloor/federated/site.h"

namespace noisefloor::federated::internal {

enum class Liar : std::uint8_t { kHonest, kNaN, kHuge, kSecondStory, kWrongLength, kSilent };

struct FaultRates {
  double drop = 0;
  double duplicate = 0;
  double delay = 0;
  double bit_flip = 0;
  double truncate = 0;
  double cut = 0;  // a path, in one direction
  double kill_before_write = 0;
  double kill_after_write = 0;
  double kill_between_messages = 0;
  double write_error = 0;
  double restore = 0;  // of a site that restarts, from an old copy of its disk
};

struct FaultOptions {
  std::uint64_t seed = 0;
  std::uint32_t sites = 4;
  std::uint64_t rounds = 3;
  std::uint64_t spare = 4;
  std::uint32_t minimum_cohort = 2;
  std::size_t parameters = 3;
  StrategyKind strategy = StrategyKind::kFedAvg;
  RobustOptions robust = {};
  OutboxPolicy outbox = OutboxPolicy::kKeep;
  FaultRates rates = {};
  std::uint64_t faults_until_ms = 30'000;
  std::vector<Liar> liars = {};                      // by site; honest where there is none
  std::optional<std::uint64_t> budget = {};          // rounds that each site can pay
  bool twin = false;                                 // two processes have the key of site 0
  bool grant_again = false;                          // a planted bug: budgets grant a round again
  bool acknowledge_before_durable = false;           // the planted bug
  std::optional<std::set<std::uint64_t>> only = {};  // of all faults, by their numbers, only these happen
};

struct FaultReport {
  std::optional<std::string> violation;
  RunState state = RunState::kRunning;
  std::uint64_t counted = 0;
  std::uint64_t rounds = 0;
  std::vector<float> model;
  std::vector<RoundRecord> records;
  std::vector<std::uint64_t> faults;  // numbers of those that happened
  std::uint64_t steps = 0;
  std::uint64_t messages = 0;
  std::uint64_t restarts = 0;
  std::uint64_t ended_ms = 0;  // when the coordinator said that the run had ended
  Digest digest{};             // of all messages, in their order
};

[[nodiscard]] FaultReport simulate_faults(const FaultOptions& options);

// The rates that the tests use for a seed: some faults are frequent, others absent, so that seeds differ.
[[nodiscard]] FaultOptions faults_for_seed(std::uint64_t seed);

// A smaller list of faults with which the simulation still fails: none of it can be left out by itself. Requires that
// it fails (checked).
[[nodiscard]] std::set<std::uint64_t> shrink_faults(const FaultOptions& options);

}  // namespace noisefloor::federated::internal
