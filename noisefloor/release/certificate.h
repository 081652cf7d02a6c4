// What a model promises, in a form that anyone can recompute: the events that made it, their certified ε, and which
// weights they are.
//
// Guarantee:     epsilon follows from the statement alone (certified_epsilon), here and for whoever reads it. The digest is that of the
//                model's tensors, so a certificate is not about other weights.
// Thread safety: plain data; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/numerics/interval.h"
#include "noisefloor/sgd/safetensors.h"

namespace noisefloor {

inline constexpr int kCertificateVersion = 1;

struct Certificate {
  std::string name;
  DpStatement statement;  // of all that was drawn for it
  Delta delta;
  Interval epsilon;  // certified, at delta; infinite if there is no privacy
  std::uint64_t steps = 0;
  std::string budget;                       // that was charged; empty without a ledger
  std::vector<std::uint64_t> reservations;  // there: more than one if it went on from a checkpoint
  Digest weights{};
  std::string program_version;
};

// Fails if no accountant understands the statement.
[[nodiscard]] Result<Interval> certified_epsilon(const DpStatement& statement, Delta delta);

// Of names, shapes and values.
[[nodiscard]] Digest digest_of(const std::vector<NamedTensor>& tensors);

// One JSON object; infinite ε is null.
[[nodiscard]] std::string to_json(const Certificate& certificate);

}  // namespace noisefloor
