// The state of an unfinished training: weights, optimizer, sampler and noise, and the reservations that paid for its
// steps.
//
// Guarantee:     a training continues from a checkpoint only if it is the one that the checkpoint belongs to (digest of
//                its plan), on the ledger that was charged, and if the checkpoint is undamaged. It holds no key of
//                secure noise: steps after it are drawn anew, whether or not they were taken before, so continuing is a
//                new spend (training_run.h charges it). Repeatable noise continues from its position, and ends in the
//                same bits as a run that was never interrupted.
//                The checkpoint of a private training is signed with the ledger's key: weights that came from elsewhere
//                are found. It is as private as the model: noisy steps and nothing else.
// Thread safety: plain data; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/signing.h"
#include "noisefloor/release/certificate.h"
#include "noisefloor/sgd/dp_sgd.h"

namespace noisefloor {

struct Checkpoint {
  std::string name;  // name of the training
  std::string plan;  // digest of the plan in hex
  DpSgd::State state;
  std::string ledger;                       // identity of the ledger in hex; empty without one
  std::vector<std::uint64_t> reservations;  // reservations that paid for its steps, the first one first
  std::uint64_t noise_position = 0;         // position of repeatable noise
  std::optional<PublicKey> signer = {};     // the key that signed the file it was read from
};

// A safetensors file, signed if `sign` is not empty.
[[nodiscard]] std::string to_bytes(const Checkpoint& checkpoint, const Sign& sign = {});

// kInputData if the bytes are damaged, not a checkpoint, or do not have the signature that they name.
[[nodiscard]] Result<Checkpoint> parse_checkpoint(std::string_view bytes);

}  // namespace noisefloor
