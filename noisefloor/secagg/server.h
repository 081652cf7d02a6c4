// The server of one round: bytes in, bytes out; no clock, no input or output.
//
// Messages of clients come in any order (`receive`). The caller decides when to wait no longer (`close`); then there is
// a message for each client that is still there (`message_for`), until the round is done or aborted.
//
// Guarantee:     the sum is exactly that of the inputs of survivors(), modulo 2^bits, provided that their senders
//                masked them as the protocol says; wrong shares are found by what their owners committed to, and never
//                give a wrong sum. A client whose shares do not open for its neighbours, or lie on no polynomial, is
//                left out before anyone masks anything, and the round goes on. So it does with wrong shares later on,
//                as long as (shares − threshold)/2 of a secret's shares or fewer are wrong. disputes() and culprits()
//                say who sent what does not fit. A round below a threshold or the minimum cohort is aborted before any
//                share of it is asked for. Each client's message counts once; one that is turned away changes nothing.
//                Late inputs are not added, and stay hidden: the secret of their own mask is never asked for.
// Memory:        one vector; beside it about 200 bytes for each pair of neighbours. Inputs are added as they come,
//                masks in tiles.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/key_agreement.h"
#include "noisefloor/secagg/abort.h"
#include "noisefloor/secagg/config.h"
#include "noisefloor/secagg/epoch.h"
#include "noisefloor/secagg/lane_vector.h"
#include "noisefloor/secagg/messages.h"
#include "noisefloor/secagg/roster_tree.h"

namespace noisefloor::secagg {

// The messages that the server waits for.
enum class Stage : std::uint8_t {
  kAdvertisements,
  kShares,
  kReceipts,
  kMaskedInputs,
  kConfirmations,
  kUnmaskings,
  kDone,
  kAborted
};
[[nodiscard]] std::string_view name_of(Stage stage);

// A share that does not open, or is not on the polynomial of the others: its holder says so falsely or changed it, or
// its owner dealt it wrong. At least one of the two does not follow the protocol.
struct Dispute {
  std::uint32_t holder;  // numbers in the registry
  std::uint32_t owner;
  friend bool operator==(const Dispute&, const Dispute&) = default;
};

class Server {
 public:
  // What a configuration commits to in its field `challenge`. Rounds of one key have numbers of their own.
  [[nodiscard]] static Digest challenge(const AgreementKey& key, std::uint64_t round);

  // Requires (refused otherwise): the configuration names `key`, its challenge, and `registry`.
  [[nodiscard]] static Result<Server> create(const RoundConfig& config, const Registry& registry, AgreementKey key);

  // A further round of an epoch, which begins with the shares. Refused, without a change to the epoch, as create()
  // refuses, and unless the configuration names this epoch and a number that follows.
  [[nodiscard]] static Result<Server> resume(const RoundConfig& config, const Registry& registry, AgreementKey key,
                                             ServerEpoch& epoch);

  // An epoch that begins with this round, which has to be one with fresh keys and on a complete graph; once the roster
  // is made, and until the round is aborted. It can be taken once.
  [[nodiscard]] Result<ServerEpoch> epoch();

  [[nodiscard]] Stage stage() const { return stage_; }

  // One message of a client. An error says why it was turned away.
  [[nodiscard]] Result<void> receive(Bytes message);

  // Continues to the next stage with the messages that have arrived. An error says why the round is aborted.
  [[nodiscard]] Result<void> close();

  // The clients that are still there, and the messages for them.
  [[nodiscard]] std::vector<std::uint32_t> recipients() const;
  [[nodiscard]] Result<Message> message_for(std::uint32_t client) const;
  // How many messages of this stage have arrived.
  [[nodiscard]] std::uint32_t arrived() const { return arrived_; }

  // Requires: the stage is kDone (checked).
  [[nodiscard]] const LaneVector& sum() const;
  // The clients whose inputs are in the sum; after the masked inputs are closed (checked).
  [[nodiscard]] std::vector<std::uint32_t> survivors() const;
  [[nodiscard]] std::optional<AbortReason> aborted() const { return aborted_; }

  // After the receipts are closed, and more after the unmaskings, also if that aborted the round: every share that did
  // not fit. Here and below: if, of the neighbours that answered for a secret, no more than (answers − threshold)/2 are
  // corrupt.
  [[nodiscard]] const std::vector<Dispute>& disputes() const { return disputes_; }
  // The clients that did not follow the protocol, ascending: those in dispute with a fatal number of neighbours
  // (parameters.h), who cannot all be corrupt; those whose shares lie on no polynomial, or all agree on another secret
  // than they committed to; and those that contradict what they said before about a mask.
  [[nodiscard]] std::vector<std::uint32_t> culprits() const;

 private:
  struct Share {
    std::uint32_t point;
    ShareBytes bytes;
  };
  struct Entry {
    Advertisement keys;
    Secret32 channel;
    std::vector<SealedShares> sealed;  // sealed for its neighbours
    std::optional<Receipt> receipt;
    Digest deposit{};                   // in a round of an epoch: the commitment to the secret of the deposit
    std::vector<MaskSeed> deposited{};  // likewise: hidden seeds, for its neighbours
    Digest commitment{};
    std::vector<std::uint8_t> prints;  // of the masks with its neighbours that go on
    std::optional<Signature> confirmation;
    bool answered = false;                         // its unmasking has arrived
    std::vector<Share> shares;                     // shares of the one secret of this client that is needed
    std::map<std::uint32_t, MaskSeed> seeds = {};  // by place: of the masks that it shares with those who left
  };

  Server(const RoundConfig& config, const Registry& registry, AgreementKey key);

  [[nodiscard]] std::optional<AbortReason> take_advertisement(const Envelope& envelope);
  [[nodiscard]] std::optional<AbortReason> take(const Envelope& envelope);
  [[nodiscard]] std::optional<AbortReason> take_unmasking(std::uint32_t place, Bytes body);
  [[nodiscard]] std::optional<AbortReason> next();
  [[nodiscard]] std::optional<AbortReason> make_roster();
  void draw_graph();
  [[nodiscard]] bool is_resumed() const { return config_.epoch != Digest{}; }
  // Decides who goes on after the receipts: those whose shares are good, and who can open those of all others.
  [[nodiscard]] std::optional<AbortReason> choose_sharers();
  [[nodiscard]] std::set<std::pair<std::uint32_t, std::uint32_t>> check_shares();
  // Whether enough are in `set`: a cohort, and a threshold of neighbours of each client that goes on.
  [[nodiscard]] std::optional<AbortReason> check_enough(const ClientSet& set) const;
  [[nodiscard]] std::size_t count_in(std::uint32_t place, const ClientSet& set) const;
  [[nodiscard]] std::optional<AbortReason> remove_masks();
  // The secret that the shares of this client give. Wrong shares are recorded. Requires a threshold of shares.
  [[nodiscard]] std::optional<Secret32> recover(std::uint32_t place);
  // The seed of the mask that a survivor shares with a neighbour that left; nothing if neither gave it away.
  [[nodiscard]] std::optional<MaskSeed> seed_between(std::uint32_t survivor, std::uint32_t gone,
                                                     const std::optional<Secret32>& gone_key);
  void dispute(std::uint32_t holder, std::uint32_t owner);  // places
  [[nodiscard]] Message roster_for(std::uint32_t place) const;
  [[nodiscard]] std::vector<Confirmation> confirmations() const;
  [[nodiscard]] std::uint32_t fatal_neighbours() const;
  [[nodiscard]] std::optional<std::uint32_t> place_of(std::uint32_t client) const;
  [[nodiscard]] bool is_recipient(std::uint32_t place) const;

  RoundConfig config_;
  Digest config_digest_;
  const Registry* registry_;
  AgreementKey key_;

  Stage stage_ = Stage::kAdvertisements;
  std::uint32_t arrived_ = 0;
  std::optional<AbortReason> aborted_;
  std::map<std::uint32_t, Entry> joining_;  // by number, until the roster is made
  std::vector<Entry> entries_;              // by place in the roster
  std::optional<RosterTree> tree_;
  ClientSet present_;  // by number
  bool began_epoch_ = false;
  Digest nonce_{};  // disclosed when shares are delivered
  Digest context_{};
  std::vector<std::vector<std::uint32_t>> neighbours_;  // neighbours of each place
  std::vector<std::uint32_t> committee_;                // places
  std::uint32_t fatal_ = 0;                             // the number of corrupt neighbours that no honest client has
  std::vector<Dispute> disputes_;
  std::vector<std::uint32_t> exposed_;  // numbers of clients that are culprits by what they sent alone
  ClientSet sharing_;
  ClientSet survivors_;
  LaneVector sum_;
};

}  // namespace noisefloor::secagg
