// Every message of the protocol, as bytes and back. The format is docs/formats/secagg.md.
//
// Guarantee:     one text for one message: parsing and writing again gives the same bytes. The size of what is read is
//                bounded by the configuration and the roster, never by the message: no length in it is believed.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "noisefloor/crypto/aead.h"
#include "noisefloor/crypto/mask.h"
#include "noisefloor/crypto/shamir.h"
#include "noisefloor/crypto/share_check.h"
#include "noisefloor/crypto/signing.h"
#include "noisefloor/secagg/config.h"

namespace noisefloor::secagg {

using Message = std::vector<std::uint8_t>;

enum class MessageType : std::uint8_t {
  kInvitation = 0,      // server → client: the configuration, signed
  kAdvertisement = 1,   // client → server: two public keys, signed
  kRoster = 2,          // server → client: who takes part, and the keys of the neighbours with a proof of them
  kShares = 3,          // client → server: sealed shares, one for each neighbour
  kDelivery = 4,        // server → client: the neighbours' shares, and a question about them
  kReceipt = 5,         // client → server: which of them open, and the answer for each
  kSharers = 6,         // server → client: the clients that go on
  kMaskedInput = 7,     // client → server
  kSurvivors = 8,       // server → client: the clients whose input arrived
  kConfirmation = 9,    // client → server: a signature of the survivors (lying server only)
  kConfirmations = 10,  // server → client: the signatures of the committee (lying server only)
  kUnmasking = 11,      // client → server: what removes the masks that are left
};

// Some of the clients of a roster by their place in it, of a registry by their number, or of the neighbours of a client
// by their index.
class ClientSet {
 public:
  explicit ClientSet(std::uint32_t clients) : clients_(clients), bytes_((clients + 7) / 8) {}
  // Nothing unless the size is right and the bits left over are zero.
  [[nodiscard]] static std::optional<ClientSet> parse(Bytes bytes, std::uint32_t clients);

  void insert(std::uint32_t client) {
    bytes_[client / 8] = static_cast<std::uint8_t>(bytes_[client / 8] | 1U << client % 8);
  }
  void erase(std::uint32_t client) {
    bytes_[client / 8] = static_cast<std::uint8_t>(bytes_[client / 8] & ~(1U << client % 8));
  }
  [[nodiscard]] bool contains(std::uint32_t client) const {
    return (std::uint32_t{bytes_[client / 8]} >> client % 8 & 1U) != 0;
  }
  [[nodiscard]] bool contains_all(const ClientSet& other) const;
  [[nodiscard]] std::uint32_t size() const;
  [[nodiscard]] std::uint32_t clients() const { return clients_; }
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  friend bool operator==(const ClientSet&, const ClientSet&) = default;

 private:
  std::uint32_t clients_;
  std::vector<std::uint8_t> bytes_;
};

// --- What every message has: who it is from (or for), and a tag that proves it, except in the first two kinds. -------

struct Envelope {
  MessageType type;
  std::uint32_t client;  // the sender, or the recipient
  Bytes body;
  Bytes tagged;  // the bytes that the tag authenticates
  Bytes tag;     // empty if there is none
};
inline constexpr std::size_t kHeaderBytes = 8;
// Takes any bytes.
[[nodiscard]] std::optional<Envelope> parse_envelope(Bytes message);
[[nodiscard]] bool is_authentic(const Envelope& envelope, const Secret32& channel);

// --- Messages. `channel` is the key shared by client and server. -----------------------------------------------------

// The server signs its invitation with a long-lived key, which clients know from elsewhere.
struct Invitation {
  RoundConfig config;
  Signature signature;  // signature of signed_invitation
};
[[nodiscard]] std::string signed_invitation(const RoundConfig& config);
[[nodiscard]] Message invitation(const RoundConfig& config, const SigningKey& server);
[[nodiscard]] std::optional<Invitation> parse_invitation(const Envelope& envelope);

struct Advertisement {
  std::uint32_t client;
  AgreementPublicKey channel_key;
  AgreementPublicKey mask_key;
  Signature signature;  // signature of signed_keys
  friend bool operator==(const Advertisement&, const Advertisement&) = default;
};
inline constexpr std::size_t kKeysBytes = 32 + 32 + 64;  // without the number
inline constexpr std::size_t kAdvertisementBytes = 4 + kKeysBytes;
[[nodiscard]] std::string signed_keys(const Digest& config, const Advertisement& advertisement);
[[nodiscard]] std::vector<std::uint8_t> to_bytes(const Advertisement& advertisement);
[[nodiscard]] Message to_message(const Advertisement& advertisement);
[[nodiscard]] std::optional<Advertisement> parse_advertisement(const Envelope& envelope);

// Everyone's root and set are the same; the keys are those of the neighbours of whoever it is for.
struct RosterPart {
  Digest root;                              // of the tree of all keys (roster_tree.h)
  ClientSet present;                        // by number in the registry
  std::vector<Advertisement> neighbours{};  // by ascending place
  Bytes proof{};                            // of the neighbours' leaves and one's own: hashes
};
[[nodiscard]] Message roster_message(std::uint32_t to, const RosterPart& roster, const Secret32& channel);
// Nothing of the neighbours: who they are follows from the rest.
[[nodiscard]] std::optional<RosterPart> parse_roster(Bytes body, std::uint32_t registry);
// Reads the neighbours, whose numbers these are. The proof is the rest.
[[nodiscard]] bool parse_neighbours(Bytes body, const std::vector<std::uint32_t>& numbers, RosterPart& roster);

// Shares of a mask key and of an own mask's secret, and a blinding value (crypto/share_check.h), sealed for one
// neighbour.
inline constexpr std::size_t kBoxBytes = 2 * kShareBytes + kCheckBytes;
inline constexpr std::size_t kSealedBytes = kBoxBytes + kTagBytes;
using SealedShares = std::array<std::uint8_t, kSealedBytes>;
// One for each neighbour, in the neighbours' order.
[[nodiscard]] Message shares_message(std::uint32_t from, const std::vector<SealedShares>& sealed,
                                     const Secret32& channel);
[[nodiscard]] std::optional<std::vector<SealedShares>> parse_shares(Bytes body, std::size_t neighbours);

// The same in a round of an epoch, which has no mask keys: the seeds of the masks are deposited under a secret, and
// its shares take the place of those of a mask key.
struct Deposit {
  Digest commitment{};       // to the secret
  std::vector<Bytes> seeds;  // hidden, one for each neighbour, in order
};
[[nodiscard]] Message shares_message(std::uint32_t from, const Deposit& deposit,
                                     const std::vector<SealedShares>& sealed, const Secret32& channel);
// Reads the deposit and leaves the shares in `body`.
[[nodiscard]] std::optional<Deposit> take_deposit(Bytes& body, std::size_t neighbours);

struct Delivery {
  Digest nonce;                      // the challenge that the configuration commits to
  ClientSet sharing;                 // the neighbours that sent shares, by index
  std::vector<SealedShares> sealed;  // from each of them, in order
};
[[nodiscard]] Message delivery_message(std::uint32_t to, const Delivery& delivery, const Secret32& channel);
[[nodiscard]] std::optional<Delivery> parse_delivery(Bytes body, std::uint32_t neighbours);

struct Receipt {
  ClientSet opened;                      // the neighbours whose shares open, by index
  std::vector<std::uint64_t> answers{};  // the check value for each of them, in order
};
[[nodiscard]] Message receipt_message(std::uint32_t from, const Receipt& receipt, const Secret32& channel);
[[nodiscard]] std::optional<Receipt> parse_receipt(Bytes body, std::uint32_t neighbours);

// The body is a ClientSet, by place.
[[nodiscard]] Message sharers_message(std::uint32_t to, const ClientSet& sharers, const Secret32& channel);

struct MaskedInput {
  Digest commitment;  // to the secret of the own mask
  Bytes prints;       // kPrintBytes for the mask with each neighbour that goes on, in order
  Bytes packed;
};
inline constexpr std::size_t kPrintBytes = 16;
[[nodiscard]] Message masked_input_message(std::uint32_t from, const Digest& commitment, Bytes prints,
                                           const LaneVector& masked, const Secret32& channel);
// `neighbours` is how many of them go on.
[[nodiscard]] std::optional<MaskedInput> parse_masked_input(Bytes body, const RoundConfig& config,
                                                            std::size_t neighbours);

[[nodiscard]] Message survivors_message(std::uint32_t to, const ClientSet& survivors, const Secret32& channel);
// The body is a ClientSet, by place.

// The text that a client signs: who sent shares, and who survived.
[[nodiscard]] std::string signed_survivors(const Digest& context, const ClientSet& sharing, const ClientSet& survivors);
[[nodiscard]] Message confirmation_message(std::uint32_t from, const Signature& signature, const Secret32& channel);
[[nodiscard]] std::optional<Signature> parse_confirmation(Bytes body);

struct Confirmation {
  std::uint32_t place;  // place in the roster
  Signature signature;
};
[[nodiscard]] Message confirmations_message(std::uint32_t to, const std::vector<Confirmation>& confirmations,
                                            const Secret32& channel);
// In ascending order of places, all of them in the committee.
[[nodiscard]] std::optional<std::vector<Confirmation>> parse_confirmations(Bytes body,
                                                                           const std::vector<std::uint32_t>& committee);

struct Unmasking {
  std::vector<Bytes> shares;  // for each neighbour that went on: of its own mask's secret if it survived, else of the
                              // secret of its mask key
  std::vector<Bytes> seeds;   // for each of the latter: the seed of the mask that is shared with it
};
[[nodiscard]] Message unmasking_message(std::uint32_t from, const Unmasking& unmasking, const Secret32& channel);
// Shares have the right form. They are part of `body`.
[[nodiscard]] std::optional<Unmasking> parse_unmasking(Bytes body, std::size_t shares, std::size_t seeds);

}  // namespace noisefloor::secagg
