// Asynchronous DP-SGD: clients with data of their own train one model through a server that trusts no clock.
//
// A client works on the last model that the server has broadcast and on its own updates since then, and sends each
// noisy update. The server adds updates in the order in which they arrive, and broadcasts once it has round k of all
// clients. A client may be ahead of the last broadcast by at most `lag` rounds.
//
// Guarantee:     a client sends only what its DpSgd releases, whatever order updates arrive in: each client's cost is
//                its own event(), and nothing else of its data leaves it.
// Implements:    van Dijk et al. 2024 (Proactive DP), Algorithms 2 to 4, Υ(k, i) = (k ≥ i − lag). The order of arrivals
//                is drawn from a public seed.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/federated/planned_client.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/sgd/dp_sgd.h"

namespace noisefloor {

struct AsynchronousOptions {
  std::uint64_t rounds;  // rounds of each client
  std::uint64_t lag = 1;
  std::uint64_t order_seed = 0;
  std::function<void(std::uint64_t round, std::span<const float> model)> broadcast = {};
};

// The model after all clients have made their rounds. Clients are descents that have made no step, all from the same
// weights (refused otherwise); their learning rate decides how far each update goes.
[[nodiscard]] Result<std::vector<float>> train_asynchronously(std::span<DpSgd> clients, SecureRandom& random,
                                                              const AsynchronousOptions& options);
[[nodiscard]] Result<std::vector<float>> train_asynchronously(std::span<DpSgd> clients, ReplayRandom& random,
                                                              const AsynchronousOptions& options);
// The same among clients that have plans. Refused before anything is drawn, unless every client has planned exactly
// these rounds.
[[nodiscard]] Result<std::vector<float>> train_asynchronously(std::span<PlannedClient> clients, SecureRandom& random,
                                                              const AsynchronousOptions& options);
[[nodiscard]] Result<std::vector<float>> train_asynchronously(std::span<PlannedClient> clients, ReplayRandom& random,
                                                              const AsynchronousOptions& options);

}  // namespace noisefloor
