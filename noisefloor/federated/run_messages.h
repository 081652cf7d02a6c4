// Messages between the coordinator of a run and its sites, as bytes and back.
//
// Key:           (run, epoch, round, stage, client) and the direction. The same key has the same bytes, always: what a
//                site sends under one key it sends again byte by byte, or never again.
// Guarantee:     one text for one message: parsing and writing again gives the same bytes. A message has exactly the
//                size that its kind and the run's public numbers give it; no length in it is believed, and nothing is
//                allocated for a message of another size. Versions, kinds and values that are not known are refused.
//                Every message is signed by its sender over all of its bytes, with the run's digest in them.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "noisefloor/crypto/hash.h"
#include "noisefloor/crypto/signing.h"

namespace noisefloor::federated {

enum class RunMessageKind : std::uint8_t {
  kInvitation = 1,  // coordinator → site: work on this model
  kUpload = 2,      // site → coordinator: its lanes (upload.h)
  kReceipt = 3,     // coordinator → site: the upload is on the disk
  kDecline = 4,     // site → coordinator: not this round, or never again, for this reason
  kFinish = 5,      // coordinator → site: the run has ended
};

// Why a site does not take part.
enum class DeclineReason : std::uint8_t {
  kBudget = 1,         // its budget does not allow for this round, nor for later ones
  kResting = 2,        // it took part too recently
  kSpent = 3,          // it has paid for this round and lost what it would have sent
  kOtherStory = 4,     // another invitation came for this round before
  kRestored = 5,       // its own store is older than what the coordinator has heard: it was restored from an old copy
  kLedger = 6,         // its ledger cannot be asked now
  kWork = 7,           // its own descent failed
  kTooManyRounds = 8,  // its policy allows for fewer rounds
  kCoordinatorRestored = 9,  // the coordinator has forgotten what it gave a receipt for
};
[[nodiscard]] std::string_view name_of(DeclineReason reason);
// Whether the site will decline all later rounds as well.
[[nodiscard]] bool is_final(DeclineReason reason);

struct MessageKey {
  Digest run{};
  std::uint32_t epoch = 0;
  std::uint64_t round = 0;
  std::uint8_t stage = 0;
  std::uint32_t client = 0;
  friend bool operator==(const MessageKey&, const MessageKey&) = default;
};

// The public numbers that decide how long messages are.
struct MessageSizes {
  std::uint64_t broadcast_bytes = 0;  // the model, and the control of SCAFFOLD
  std::uint64_t lanes = 0;
  friend bool operator==(const MessageSizes&, const MessageSizes&) = default;
};

struct Invitation {
  MessageKey key;
  std::uint64_t last_heard = 0;  // the last round of which the coordinator has anything from this site; 0: none
  std::uint64_t counted = 0;     // the last round in which this site's upload was applied; 0: none
  std::vector<std::uint8_t> broadcast;
};
struct Upload {
  MessageKey key;
  std::vector<float> lanes;
};
struct Receipt {
  MessageKey key;
  Digest upload{};  // digest of the message that was received
};
struct Decline {
  MessageKey key;
  DeclineReason reason{};
};
struct Finish {
  MessageKey key;
  bool complete = false;      // all rounds counted
  std::uint64_t counted = 0;  // as in Invitation
  Digest broadcast{};         // digest of the last model
};

using RunBytes = std::vector<std::uint8_t>;
[[nodiscard]] RunBytes to_bytes(const Invitation& message, const SigningKey& signer);
[[nodiscard]] RunBytes to_bytes(const Upload& message, const SigningKey& signer);
[[nodiscard]] RunBytes to_bytes(const Receipt& message, const SigningKey& signer);
[[nodiscard]] RunBytes to_bytes(const Decline& message, const SigningKey& signer);
[[nodiscard]] RunBytes to_bytes(const Finish& message, const SigningKey& signer);

// What can be read without knowing whether it is authentic.
struct RunEnvelope {
  RunMessageKind kind;
  MessageKey key;
  std::span<const std::uint8_t> body;
  std::span<const std::uint8_t> whole;
};
// Nothing unless this is a message of a known version and kind, with the size that it must have.
[[nodiscard]] std::optional<RunEnvelope> parse_envelope(std::span<const std::uint8_t> bytes, const MessageSizes& sizes);
[[nodiscard]] bool is_authentic(const RunEnvelope& envelope, const PublicKey& sender);

// Nothing unless the envelope is of this kind. The envelope's bytes must live meanwhile.
[[nodiscard]] std::optional<Invitation> parse_invitation(const RunEnvelope& envelope);
[[nodiscard]] std::optional<Upload> parse_upload(const RunEnvelope& envelope);
[[nodiscard]] std::optional<Receipt> parse_receipt(const RunEnvelope& envelope);
[[nodiscard]] std::optional<Decline> parse_decline(const RunEnvelope& envelope);
[[nodiscard]] std::optional<Finish> parse_finish(const RunEnvelope& envelope);

[[nodiscard]] Digest digest_of(std::span<const std::uint8_t> bytes);

}  // namespace noisefloor::federated
