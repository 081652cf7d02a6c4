// The plan of a training: a signed list of what the training may do, so that whoever runs it does that and nothing
// else.
//
// Guarantee:     a plan file that parses is undamaged, was signed by the key that it names, and its certified ε was
//                recomputed from its event when it was read. A plan that was set aside in a ledger (`item` is not
//                empty) is paid for by a budget of its own, which allows for this training and no other.
// Format:        docs/formats/plan.md.
// Thread safety: plain data; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/crypto/signing.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/numerics/interval.h"
#include "noisefloor/release/certificate.h"

namespace noisefloor {

struct PlanFile {
  std::string name;
  std::string training;  // digest of the training file, in hex
  Rows rows;
  ClipNorm clip;
  NoiseMultiplier noise;
  Rows batch;
  Steps steps;
  Epsilon epsilon;  // the most that the phase may cost; `certified` is its actual cost
  Delta delta;
  DpStatement statement;
  Interval certified;
  std::optional<double> target_accuracy;
  std::string utility;  // the reason for the choice of clip and noise, in words
  std::uint64_t phase = 1;
  std::uint64_t phases = 1;
  double epsilon_before = 0;  // spent by earlier phases
  std::string start_from;     // the model of the phase before, in its folder; or empty
  std::string budget;         // in the ledger
  std::string item;           // item of a planned budget; empty if nothing was set aside
};

[[nodiscard]] Digest digest_of(const PlanFile& plan);
// Signed with the key of the ledger that will carry it out.
[[nodiscard]] std::string to_json(const PlanFile& plan, const Sign& sign);
[[nodiscard]] std::string to_json(const PlanFile& plan, const SigningKey& key);

struct SignedPlan {
  PlanFile plan;
  PublicKey key;
};
// kInputData if the text is not a plan file; kVerificationFailed if it was changed after it was signed, or its ε does
// not follow from its event.
[[nodiscard]] Result<SignedPlan> parse_plan_file(std::string_view text);

}  // namespace noisefloor
