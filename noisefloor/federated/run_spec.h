// The public numbers of a run on which its coordinator and all sites agree: what the manifest says, as machines need
// it.
//
// Thread safety: plain data; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/crypto/signing.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/federated/client_sum.h"
#include "noisefloor/federated/robust.h"
#include "noisefloor/federated/row_noise.h"
#include "noisefloor/federated/run_messages.h"
#include "noisefloor/federated/strategy.h"
#include "noisefloor/federated/upload.h"

namespace noisefloor::federated {

struct RunSpec {
  Digest run{};             // digest of the manifest
  std::uint32_t epoch = 1;  // counts changes of who is a member
  PublicKey coordinator{};
  std::vector<PublicKey> sites;  // each at the place of its number

  StrategyOptions strategy;
  UploadOptions upload;
  RobustOptions robust;

  std::uint64_t rounds = 1;  // that count
  std::uint64_t spare = 0;   // further ones that may break
  std::uint32_t minimum_cohort = 1;
  std::uint64_t rest = 0;  // rounds from one in which a site takes part to the next one; 0 and 1: none are left out

  // Central noise: each round's sites are drawn with this probability, each by its own coin (none: all), and the
  // coordinator adds noise to the sum.
  std::optional<SamplingRate> sampling = {};
  std::optional<ClientSumOptions> central = {};
  // Noise for rows inside the sum: lanes are those of row_noise.h, of gradients with the sign turned.
  std::optional<RowNoiseOptions> row_noise = {};
  // What each round costs a site; none if the coordinator's ledger pays (central), or nobody does.
  std::optional<DpStatement> site_cost = {};

  std::uint64_t round_limit_ms = 60'000;  // a round waits no longer
  std::uint64_t resend_ms = 5'000;        // after which an unanswered message is sent again
};

// Fails for a run that could not end well: sizes that differ, rules that need more clients than the minimum cohort, a
// fixed denominator without central noise, and the like.
[[nodiscard]] Result<void> check_spec(const RunSpec& spec);

[[nodiscard]] MessageSizes sizes_of(const RunSpec& spec);

// What a round costs the coordinator's ledger: the event of a sample of sites, with noise on their sum. Nothing unless
// noise is central.
[[nodiscard]] std::optional<DpStatement> central_cost(const RunSpec& spec);

}  // namespace noisefloor::federated
