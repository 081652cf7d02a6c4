// One client in one round: bytes in, bytes out; no clock, no input or output.
//
//   join → advertisement() ─► server ─► receive(roster) ─► shares ─► server ─► receive(delivery) ─► masked input ─► …
//
// Guarantee:     whatever the server sends, it learns no more about this client's input than the sum of at least
//                `minimum_cohort` inputs, among them those of all honest clients that it says survived, except with the
//                probability that the policy accepts (parameters.h); given that no more clients of the registry are
//                corrupt than the policy says.
//                With a curious server this holds if the server follows the protocol, with a lying one in any case
//                (docs/secagg.md). A neighbour's shares leave this client once, one of the two kinds. A
//                neighbour whose shares do not open is reported; the round goes on without one of the two. Secrets, the
//                input and the last answer are wiped when the client is destroyed or the round is aborted.
// Implements:    Bonawitz et al. 2017, "Practical Secure Aggregation for Privacy-Preserving Machine Learning", on the
//                sparse graph of Bell et al. 2020.
// Requires:      registry, signing key and stream outlive the client; the stream is a SecureRandom except in
//                simulations.
// Messages:      a message that is not authentic is turned away and changes nothing. One that is authentic and wrong is
//                the server's fault: the round is aborted, with a reason. The same message again gets the same answer,
//                byte by byte.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/key_agreement.h"
#include "noisefloor/crypto/signing.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/secagg/abort.h"
#include "noisefloor/secagg/config.h"
#include "noisefloor/secagg/epoch.h"
#include "noisefloor/secagg/messages.h"

namespace noisefloor::secagg {

// The conditions that a client insists on, whatever it is told.
struct Policy {
  ThreatModel threat = ThreatModel::kLyingServer;  // the weakest that it accepts
  double corrupt = 0.1;                            // share of the registry that may be corrupt
  double drop = 0.2;
  double security_bits = 40;             // that are left after the server's tries
  double grinding_bits = kGrindingBits;  // a lying server may have tried 2^this many rosters
  std::uint32_t minimum_cohort = 3;
  std::optional<std::uint64_t> last_round;  // rounds up to this one are old
  std::optional<PublicKey> server = {};     // the key with which the server signs invitations, known from elsewhere
  // The least noise multiplier of the sum; none: the client needs no noise. Where there is noise, the configuration has
  // to count at least `corrupt` of all clients as colluders, who may leave theirs out.
  std::optional<NoiseMultiplier> noise = {};
  // The most rounds that follow on one key agreement (epoch.h); 0: every round agrees on fresh keys.
  std::uint64_t epoch_rounds = 0;
};

class Graph;

class Client {
 public:
  // Refused, with the reason in the message, if the configuration does not keep the policy. The caller has seen to it
  // that the configuration is the server's; accept() does it by the server's signature. A stream that can be replayed
  // is refused unless the configuration says that the round is, and a secure one if it does.
  [[nodiscard]] static Result<Client> join(const RoundConfig& config, const Registry& registry, std::uint32_t number,
                                           const SigningKey& key, const Policy& policy, SecureRandom& stream);
  [[nodiscard]] static Result<Client> join(const RoundConfig& config, const Registry& registry, std::uint32_t number,
                                           const SigningKey& key, const Policy& policy, ReplayRandom& stream);

  Client(Client&&) noexcept = default;
  Client& operator=(Client&&) noexcept = default;
  ~Client() { wipe_private(); }

  // The same for an invitation as it arrives. Refused unless the policy names the server's key, and it signed this.
  template <class Stream>
  [[nodiscard]] static Result<Client> accept(Bytes invitation, const Registry& registry, std::uint32_t number,
                                             const SigningKey& key, const Policy& policy, Stream& stream) {
    NF_TRY(const RoundConfig config, invited_to(invitation, policy));
    return join(config, registry, number, key, policy, stream);
  }
  // The configuration of an invitation that the server signed whose key the policy names.
  [[nodiscard]] static Result<RoundConfig> invited_to(Bytes invitation, const Policy& policy);

  // A further round of an epoch: `epoch` gives its keys away and goes on. Refused, without a change to the epoch, as
  // join() refuses, and unless the policy allows for that many rounds and the configuration names this epoch.
  [[nodiscard]] static Result<Client> resume(const RoundConfig& config, const Registry& registry, ClientEpoch& epoch,
                                             const SigningKey& key, const Policy& policy, SecureRandom& stream);
  [[nodiscard]] static Result<Client> resume(const RoundConfig& config, const Registry& registry, ClientEpoch& epoch,
                                             const SigningKey& key, const Policy& policy, ReplayRandom& stream);

  // The same for an invitation as it arrives: refused as by the other accept(), before anything is made of it.
  template <class Stream>
  [[nodiscard]] static Result<Client> accept(Bytes invitation, const Registry& registry, ClientEpoch& epoch,
                                             const SigningKey& key, const Policy& policy, Stream& stream) {
    NF_TRY(const RoundConfig config, invited_to(invitation, policy));
    return resume(config, registry, epoch, key, policy, stream);
  }

  // An epoch that begins with this round, which has to be one with fresh keys and on a complete graph; from the answer
  // to the roster on, until the round is aborted. It can be taken once.
  [[nodiscard]] Result<ClientEpoch> epoch();

  // The first message to the server: keys, or in a round of an epoch shares.
  [[nodiscard]] const Message& advertisement() const { return advertisement_; }

  // The input must be given before the delivery is received. It is refused unless it has the configuration's shape.
  [[nodiscard]] Result<void> set_input(LaneVector input);

  // The answer to a message of the server.
  [[nodiscard]] Result<Message> receive(Bytes message);

  [[nodiscard]] std::optional<AbortReason> aborted() const { return aborted_; }
  // Whether the last answer was given.
  [[nodiscard]] bool done() const { return done_; }

 private:
  struct Neighbour {
    Advertisement keys;
    Secret32 agreed;  // from the channel keys
    // Once its shares have opened:
    std::optional<ShareBytes> mask_key_share;
    std::optional<ShareBytes> own_mask_share;
    // Once it goes on: the seed of the mask that is shared with it.
    std::optional<MaskSeed> seed;
  };

  Client(const RoundConfig& config, const Registry& registry, std::uint32_t number, const SigningKey& key,
         const Policy& policy, BitStream& stream);

  [[nodiscard]] static Result<void> check(const RoundConfig& config, const Registry& registry, std::uint32_t number,
                                          const SigningKey& key, const Policy& policy);
  [[nodiscard]] static Result<Client> join_by(const RoundConfig& config, const Registry& registry, std::uint32_t number,
                                              const SigningKey& key, const Policy& policy, BitStream& stream);
  [[nodiscard]] static Result<Client> resume_by(const RoundConfig& config, const Registry& registry, ClientEpoch& epoch,
                                                const SigningKey& key, const Policy& policy, BitStream& stream);

  // Draws the keys of a round that has fresh ones.
  void draw_keys();

  // Each returns the answer, or the reason to abort.
  struct Answer;
  [[nodiscard]] Answer answer(const Envelope& envelope);
  [[nodiscard]] Answer hear_roster(Bytes body);
  [[nodiscard]] Message share_secrets();
  void stand_on(const Graph& graph, const std::vector<std::uint32_t>& numbers);
  [[nodiscard]] Answer open_shares(Bytes body);
  [[nodiscard]] Answer mask_input(Bytes body);
  [[nodiscard]] Answer hear_survivors(Bytes body);
  [[nodiscard]] Answer hear_confirmations(Bytes body);
  [[nodiscard]] Answer unmask() const;
  // How many neighbours are in `set`.
  [[nodiscard]] std::uint32_t neighbours_in(const ClientSet& set) const;
  [[nodiscard]] Error abort(AbortReason reason);
  // Overwrites the input and the last answer, which holds shares, seeds or a masked input.
  void wipe_private();

  RoundConfig config_;
  const Registry* registry_;
  std::uint32_t number_;
  const SigningKey* key_;
  Policy policy_;
  BitStream* stream_;

  std::optional<AgreementKey> channel_keys_;
  std::optional<AgreementKey> mask_keys_;
  ClientSet present_{0};             // by number
  bool began_epoch_ = false;         // epoch() was called
  std::optional<Secret32> deposit_;  // in a round of an epoch: the secret under which the masks' seeds are deposited
  Secret32 own_;                     // the secret of the client's own mask
  Secret32 channel_;                 // shared with the server
  Advertisement advertised_{};
  Message advertisement_;
  std::optional<LaneVector> input_;

  // Indexed by place in the roster.
  Digest context_{};
  std::uint32_t roster_clients_ = 0;
  std::uint32_t place_ = 0;
  std::vector<std::uint32_t> neighbours_;
  std::vector<Neighbour> known_;  // in the same order
  std::vector<std::uint32_t> committee_;
  std::vector<std::uint32_t> committee_numbers_;  // numbers in the registry, in the same order
  std::optional<ClientSet> sharing_;
  std::optional<ClientSet> survivors_;

  MessageType due_ = MessageType::kRoster;
  std::map<MessageType, Digest> answered_;
  Message last_answer_;
  bool done_ = false;
  std::optional<AbortReason> aborted_;
};

}  // namespace noisefloor::secagg
