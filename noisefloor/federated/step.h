// The interface between a machine that decides (coordinator.h, site.h) and what drives it: a program with a network and
// a disk, the simulator, or a fuzzer.
//
//   (state, message | wake-up, random) → (state, writes, messages, wake-ups)
//
// Requires:      of every driver:
//                (1) All writes of one step are one transaction. No message of the step leaves before it is durable.
//                (2) If the transaction fails, or cannot be known to have succeeded, the machine is destroyed, and
//                    another one recovers from what is on the disk.
//                (3) Messages may be lost, repeated, changed, delayed and reordered. Wake-ups come at or after their
//                    time, and are lost with the machine.
// Guarantee:     of every machine: it reads no clock, no file and no network, and draws from the given stream alone. So
//                the same inputs give the same outputs, byte by byte.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace noisefloor::federated {

// The coordinator's place among addresses; sites have their numbers in the roster.
inline constexpr std::uint32_t kCoordinator = 0xFFFF'FFFF;

struct Outgoing {
  std::uint32_t to;
  std::vector<std::uint8_t> bytes;
};

// Puts a value under a key, or erases it.
struct Write {
  std::string key;
  std::optional<std::vector<std::uint8_t>> value;
};

// Asks to be woken with this tag.
struct Wake {
  std::uint64_t after_ms;
  std::uint64_t tag;
};

struct Effects {
  std::vector<Write> writes;
  std::vector<Outgoing> messages;
  std::vector<Wake> wakes;
};

// What is on the disk of one machine.
using Stored = std::map<std::string, std::vector<std::uint8_t>>;

}  // namespace noisefloor::federated
