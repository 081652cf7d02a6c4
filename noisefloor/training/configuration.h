// The configuration of a run as one JSON object: for the ledger's record and the certificate. Together with the descent
// it also decides which training a checkpoint belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "noisefloor/config/training.h"
#include "noisefloor/training/descent.h"

namespace noisefloor {

struct ConfiguredRun {
  const Training& training;
  std::size_t parameters;
  const Dataset& data;  // the private examples
  Steps steps;
  Noise noise;
  std::optional<std::uint64_t> replay_seed;
};

[[nodiscard]] std::string configuration_of(const ConfiguredRun& run);

}  // namespace noisefloor
