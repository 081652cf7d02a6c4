#include "noisefloor/federated/asynchronous.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace noisefloor {
namespace {

template <class Client>
Result<void> check(std::span<Client> clients, const AsynchronousOptions& options) {
  if (clients.empty()) return invalid_argument("there is no client: give at least one");
  if (options.rounds == 0) return invalid_argument("a training needs at least one round");
  for (const Client& client : clients) {
    if (client.steps() != 0 || client.parameters() != clients.front().parameters()) {
      return invalid_argument("all clients must begin with the same weights, and with their first step");
    }
  }
  return success();
}

template <class Client, class Random>
Result<std::vector<float>> train(std::span<Client> clients, Random& random, const AsynchronousOptions& options) {
  NF_TRY_VOID(check(clients, options));
  NF_TRY(ReplayRandom order, ReplayRandom::create(options.order_seed));
  std::vector<float> model = clients.front().parameters();  // the server's model
  std::vector<float> before(model.size());
  std::vector<std::size_t> ready;
  for (std::uint64_t round = 0; round < options.rounds;) {
    ready.clear();
    for (std::size_t i = 0; i < clients.size(); ++i) {
      if (clients[i].steps() < options.rounds && clients[i].steps() <= round + options.lag) ready.push_back(i);
    }
    Client& client = clients[ready[order.next_u64() % ready.size()]];
    before = client.parameters();
    NF_TRY_VOID(client.step(random));
    for (std::size_t i = 0; i < model.size(); ++i) model[i] += client.parameters()[i] - before[i];
    const auto slowest = std::min_element(clients.begin(), clients.end(),
                                          [](const Client& a, const Client& b) { return a.steps() < b.steps(); });
    if (slowest->steps() == round) continue;
    round = slowest->steps();
    for (Client& each : clients) NF_TRY_VOID(each.move_to(model));
    if (options.broadcast) options.broadcast(round, model);
  }
  return model;
}

// Checks that the server asks each client for what it has planned.
Result<void> check_plans(std::span<PlannedClient> clients, const AsynchronousOptions& options) {
  for (std::size_t i = 0; i < clients.size(); ++i) {
    if (clients[i].rounds().value() == options.rounds) continue;
    return invalid_argument(
        fmt::format("client {} has planned {} rounds, and {} are asked for: plan for the same number", i,
                    clients[i].rounds().value(), options.rounds));
  }
  return success();
}

}  // namespace

Result<std::vector<float>> train_asynchronously(std::span<DpSgd> clients, SecureRandom& random,
                                                const AsynchronousOptions& options) {
  return train(clients, random, options);
}

Result<std::vector<float>> train_asynchronously(std::span<DpSgd> clients, ReplayRandom& random,
                                                const AsynchronousOptions& options) {
  return train(clients, random, options);
}

Result<std::vector<float>> train_asynchronously(std::span<PlannedClient> clients, SecureRandom& random,
                                                const AsynchronousOptions& options) {
  NF_TRY_VOID(check_plans(clients, options));
  return train(clients, random, options);
}

Result<std::vector<float>> train_asynchronously(std::span<PlannedClient> clients, ReplayRandom& random,
                                                const AsynchronousOptions& options) {
  NF_TRY_VOID(check_plans(clients, options));
  return train(clients, random, options);
}

}  // namespace noisefloor
