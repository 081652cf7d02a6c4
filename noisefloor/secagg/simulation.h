// Whole rounds in one process: the clients and the server of a real round, and a network between them that may do
// anything.
//
// Guarantee:     the same stream and network give the same round, byte by byte.
// Requires:      for tests, measurements and demonstrations: all keys are in one place.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/signing.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/secagg/client.h"
#include "noisefloor/secagg/server.h"

namespace noisefloor::secagg {

// Clients and a server, with their long-lived keys.
struct Cohort {
  std::vector<SigningKey> keys;
  Registry registry;
  Secret32 server;
  bool replayed = false;  // drawn from a ReplayRandom: so are rounds by config()

  [[nodiscard]] static Cohort draw(std::uint32_t clients, SecureRandom& stream);
  [[nodiscard]] static Cohort draw(std::uint32_t clients, ReplayRandom& stream);
  // The configuration of a round among them; `model` is left empty. A topology that states no minimum roster gets the
  // smallest possible one.
  [[nodiscard]] RoundConfig config(std::uint64_t round, const Topology& topology, ThreatModel threat,
                                   std::uint32_t minimum_cohort, std::uint64_t dimension, unsigned bits) const;
};

// A network on which everything arrives, in order. Other networks override it.
class Network {
 public:
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  // Decides the order in which clients are heard at a stage.
  virtual void arrange(std::vector<std::uint32_t>& clients);
  // The messages that arrive, in this order, when a message is sent.
  [[nodiscard]] virtual std::vector<Message> to_server(std::uint32_t client, Message message);
  [[nodiscard]] virtual std::vector<Message> to_client(std::uint32_t client, Message message);
};

// Records what was sent to the server; clients fall silent when told to.
class RecordingNetwork : public Network {
 public:
  // The client sends nothing from this kind of message on.
  void silence(std::uint32_t client, MessageType from) { silent_from_[client] = from; }
  [[nodiscard]] std::vector<Message> to_server(std::uint32_t client, Message message) override;

  // The message of this kind that the client sent, if any.
  [[nodiscard]] const Message* sent(std::uint32_t client, MessageType type) const;

 private:
  std::map<std::uint32_t, MessageType> silent_from_;
  std::map<std::pair<std::uint32_t, MessageType>, Message> sent_;
};

struct RoundOutcome {
  std::optional<LaneVector> sum;       // none if the round was aborted
  std::optional<AbortReason> aborted;  // why the server ended the round
  std::vector<std::uint32_t> survivors;
  std::map<std::uint32_t, AbortReason> client_aborts;
  std::vector<Dispute> disputes;
  std::vector<std::uint32_t> culprits;
};

// One round of a server and clients that have joined it, or resumed an epoch; each client at the place of its number.
// `input` gives a client's vector when it is due. Refused if an input has the wrong shape.
[[nodiscard]] Result<RoundOutcome> play_round(Server& server, std::vector<Client>& clients,
                                              const std::function<LaneVector(std::uint32_t)>& input, Network& network);

// The same from the start: everyone joins. Refused if a client cannot.
[[nodiscard]] Result<RoundOutcome> simulate_round(const Cohort& cohort, const RoundConfig& config, const Policy& policy,
                                                  const std::function<LaneVector(std::uint32_t)>& input,
                                                  SecureRandom& stream, Network& network);
[[nodiscard]] Result<RoundOutcome> simulate_round(const Cohort& cohort, const RoundConfig& config, const Policy& policy,
                                                  const std::function<LaneVector(std::uint32_t)>& input,
                                                  ReplayRandom& stream, Network& network);

}  // namespace noisefloor::secagg
