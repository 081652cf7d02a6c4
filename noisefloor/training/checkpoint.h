// A training in the middle: weights, optimizer, sampler and noise, and what of the ledger they were paid with.
//
// Guarantee:     a checkpoint goes on only in the training it is of (digest of its plan), on the ledger it was charged to, and
//                undamaged. It holds no key of secure noise: steps after it are drawn anew, whether or not they were taken
//                before, so going on from it is a new spend (training_run.h charges it). Repeatable noise goes on from its
//                position, and ends in the same bits as a run that was never interrupted.
// Not covered:   a person who writes a checkpoint of their own. It is as private as the model: noisy steps and nothing else.
// Thread safety: plain data; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/sgd/dp_sgd.h"

namespace noisefloor {

struct Checkpoint {
  std::string name;  // of the training
  std::string plan;  // its digest in hex
  DpSgd::State state;
  std::string ledger;                       // its identity in hex; empty without a ledger
  std::vector<std::uint64_t> reservations;  // that its steps were paid with, the first one first
  std::uint64_t noise_position = 0;         // of repeatable noise
};

// A safetensors file.
[[nodiscard]] std::string to_bytes(const Checkpoint& checkpoint);

// kInputData if it is damaged, or no checkpoint.
[[nodiscard]] Result<Checkpoint> parse_checkpoint(std::string_view bytes);

}  // namespace noisefloor
