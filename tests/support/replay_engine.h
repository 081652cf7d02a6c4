// Repeatable numbers for tests, in the form that std::shuffle takes.
#pragma once

#include <cstdint>
#include <limits>

#include "noisefloor/random/bit_stream.h"

namespace noisefloor::testing {

class ReplayEngine {
 public:
  using result_type = std::uint64_t;
  explicit ReplayEngine(std::uint64_t seed) : random_(ReplayRandom::create(seed).value()) {}
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  result_type operator()() { return random_.next_u64(); }

 private:
  ReplayRandom random_;
};

}  // namespace noisefloor::testing
