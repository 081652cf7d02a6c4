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
  PublicCount count;            // of the private examples
  std::size_t rows_per_person;  // 0 if rows are protected
  Steps steps;
  Noise noise;
  std::optional<std::uint64_t> replay_seed;
};

[[nodiscard]] std::string configuration_of(const ConfiguredRun& run);

}  // namespace noisefloor
