#include "noisefloor/secagg/simulation.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace noisefloor::secagg {

namespace {

Cohort draw_cohort(std::uint32_t clients, BitStream& stream, bool replayed) {
  Cohort cohort;
  cohort.replayed = replayed;
  for (std::uint32_t i = 0; i < clients; ++i) {
    std::array<std::uint8_t, 32> seed;
    stream.fill(std::as_writable_bytes(std::span(seed)));
    cohort.keys.push_back(SigningKey::from_seed(seed));
    cohort.registry.push_back(cohort.keys.back().public_key());
    wipe(seed);
  }
  stream.fill(std::as_writable_bytes(cohort.server.bytes()));
  return cohort;
}

}  // namespace

Cohort Cohort::draw(std::uint32_t clients, SecureRandom& stream) { return draw_cohort(clients, stream, false); }
Cohort Cohort::draw(std::uint32_t clients, ReplayRandom& stream) { return draw_cohort(clients, stream, true); }

RoundConfig Cohort::config(std::uint64_t round, const Topology& topology, ThreatModel threat,
                           std::uint32_t minimum_cohort, std::uint64_t dimension, unsigned bits) const {
  RoundConfig config;
  config.round = round;
  config.registry = digest_of(registry);
  const AgreementKey key(server.clone());
  config.server = key.public_key();
  config.challenge = Server::challenge(key, round);
  config.replayed = replayed;
  config.threat = threat;
  config.clients = static_cast<std::uint32_t>(registry.size());
  config.degree = topology.degree;
  config.threshold = topology.threshold;
  config.minimum_cohort = minimum_cohort;
  config.minimum_roster =
      std::min(config.clients, std::max({topology.minimum_roster, minimum_cohort, topology.threshold + 1}));
  config.dimension = dimension;
  config.bits = static_cast<std::uint8_t>(bits);
  return config;
}

void Network::arrange(std::vector<std::uint32_t>& /*clients*/) {}

std::vector<Message> Network::to_server(std::uint32_t /*client*/, Message message) {
  std::vector<Message> arriving;
  arriving.push_back(std::move(message));
  return arriving;
}

std::vector<Message> Network::to_client(std::uint32_t client, Message message) {
  return Network::to_server(client, std::move(message));
}

std::vector<Message> RecordingNetwork::to_server(std::uint32_t client, Message message) {
  const std::optional<Envelope> envelope = parse_envelope(message);
  const auto silent = silent_from_.find(client);
  if (!envelope.has_value() || (silent != silent_from_.end() && envelope->type >= silent->second)) return {};
  sent_[{client, envelope->type}] = message;
  return Network::to_server(client, std::move(message));
}

const Message* RecordingNetwork::sent(std::uint32_t client, MessageType type) const {
  const auto found = sent_.find({client, type});
  return found == sent_.end() ? nullptr : &found->second;
}

Result<RoundOutcome> play_round(Server& server, std::vector<Client>& clients,
                                const std::function<LaneVector(std::uint32_t)>& input, Network& network) {
  std::vector<std::uint32_t> listening(clients.size());
  std::iota(listening.begin(), listening.end(), 0U);
  const auto send = [&](std::uint32_t client, Message message) {
    for (const Message& arriving : network.to_server(client, std::move(message))) {
      static_cast<void>(server.receive(arriving));  // a message that is turned away changes nothing
    }
  };
  network.arrange(listening);
  for (const std::uint32_t i : listening) send(i, clients[i].advertisement());
  RoundOutcome outcome;
  while (server.close().has_value() && server.stage() != Stage::kDone) {
    if (server.stage() > Stage::kMaskedInputs) outcome.survivors = server.survivors();
    listening = server.recipients();
    network.arrange(listening);
    for (const std::uint32_t i : listening) {
      if (server.stage() == Stage::kMaskedInputs && !clients[i].aborted().has_value()) {
        NF_TRY_VOID(clients[i].set_input(input(i)));
      }
      NF_TRY(Message message, server.message_for(i));
      for (const Message& arriving : network.to_client(i, std::move(message))) {
        auto answer = clients[i].receive(arriving);
        if (answer.has_value()) send(i, std::move(answer).value());
      }
    }
  }
  for (std::uint32_t i = 0; i < clients.size(); ++i) {
    if (clients[i].aborted().has_value()) outcome.client_aborts.emplace(i, *clients[i].aborted());
  }
  outcome.aborted = server.aborted();
  outcome.disputes = server.disputes();
  outcome.culprits = server.culprits();
  if (!outcome.aborted.has_value()) outcome.sum = server.sum();
  return outcome;
}

namespace {

template <class Stream>
Result<RoundOutcome> simulate(const Cohort& cohort, const RoundConfig& config, const Policy& policy,
                              const std::function<LaneVector(std::uint32_t)>& input, Stream& stream, Network& network) {
  NF_TRY(Server server, Server::create(config, cohort.registry, AgreementKey(cohort.server.clone())));
  std::vector<Client> clients;
  for (std::uint32_t i = 0; i < config.clients; ++i) {
    NF_TRY(Client client, Client::join(config, cohort.registry, i, cohort.keys[i], policy, stream));
    clients.push_back(std::move(client));
  }
  return play_round(server, clients, input, network);
}

}  // namespace

Result<RoundOutcome> simulate_round(const Cohort& cohort, const RoundConfig& config, const Policy& policy,
                                    const std::function<LaneVector(std::uint32_t)>& input, SecureRandom& stream,
                                    Network& network) {
  return simulate(cohort, config, policy, input, stream, network);
}

Result<RoundOutcome> simulate_round(const Cohort& cohort, const RoundConfig& config, const Policy& policy,
                                    const std::function<LaneVector(std::uint32_t)>& input, ReplayRandom& stream,
                                    Network& network) {
  return simulate(cohort, config, policy, input, stream, network);
}

}  // namespace noisefloor::secagg
