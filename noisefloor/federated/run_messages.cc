#include "noisefloor/federated/run_messages.h"

#include <algorithm>
#include <string>

#include "noisefloor/federated/body_bytes.h"

namespace noisefloor::federated {
namespace {

using internal::BodyReader;
using internal::BodyWriter;

constexpr std::array<std::uint8_t, 4> kVersion{'N', 'F', 'R', '1'};
constexpr std::size_t kHeaderBytes = 4 + 1 + 32 + 4 + 8 + 1 + 4;
constexpr std::size_t kSignatureBytes = 64;
constexpr std::string_view kLabel = "noisefloor federated message 1\n";

std::string signed_text(std::span<const std::uint8_t> bytes) {
  std::string text(kLabel);
  text.append(bytes.begin(), bytes.end());
  return text;
}

BodyWriter begin(RunMessageKind kind, const MessageKey& key) {
  BodyWriter writer;
  writer.bytes(kVersion).number(static_cast<std::uint8_t>(kind)).bytes(key.run).number(key.epoch).number(key.round);
  writer.number(key.stage).number(key.client);
  return writer;
}

RunBytes sign(BodyWriter& writer, const SigningKey& signer) {
  RunBytes bytes = writer.take();
  const Signature signature = signer.sign(signed_text(bytes));
  bytes.insert(bytes.end(), signature.begin(), signature.end());
  return bytes;
}

std::optional<std::uint64_t> body_size(RunMessageKind kind, const MessageSizes& sizes) {
  switch (kind) {
    case RunMessageKind::kInvitation:
      return 8 + 8 + sizes.broadcast_bytes;
    case RunMessageKind::kUpload:
      return 4 * sizes.lanes;
    case RunMessageKind::kReceipt:
      return kDigestBytes;
    case RunMessageKind::kDecline:
      return 1;
    case RunMessageKind::kFinish:
      return 1 + 8 + kDigestBytes;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(DeclineReason reason) {
  switch (reason) {
    case DeclineReason::kBudget:
      return "budget";
    case DeclineReason::kResting:
      return "resting";
    case DeclineReason::kSpent:
      return "spent";
    case DeclineReason::kOtherStory:
      return "other-story";
    case DeclineReason::kRestored:
      return "restored";
    case DeclineReason::kLedger:
      return "ledger";
    case DeclineReason::kWork:
      return "work";
    case DeclineReason::kTooManyRounds:
      return "too-many-rounds";
    case DeclineReason::kCoordinatorRestored:
      return "coordinator-restored";
  }
  return "unknown";
}

bool is_final(DeclineReason reason) {
  return reason == DeclineReason::kBudget || reason == DeclineReason::kOtherStory ||
         reason == DeclineReason::kRestored || reason == DeclineReason::kTooManyRounds ||
         reason == DeclineReason::kCoordinatorRestored;
}

RunBytes to_bytes(const Invitation& message, const SigningKey& signer) {
  BodyWriter writer = begin(RunMessageKind::kInvitation, message.key);
  writer.number(message.last_heard).number(message.counted).bytes(message.broadcast);
  return sign(writer, signer);
}

RunBytes to_bytes(const Upload& message, const SigningKey& signer) {
  BodyWriter writer = begin(RunMessageKind::kUpload, message.key);
  writer.floats(message.lanes);
  return sign(writer, signer);
}

RunBytes to_bytes(const Receipt& message, const SigningKey& signer) {
  BodyWriter writer = begin(RunMessageKind::kReceipt, message.key);
  writer.bytes(message.upload);
  return sign(writer, signer);
}

RunBytes to_bytes(const Decline& message, const SigningKey& signer) {
  BodyWriter writer = begin(RunMessageKind::kDecline, message.key);
  writer.number(static_cast<std::uint8_t>(message.reason));
  return sign(writer, signer);
}

RunBytes to_bytes(const Finish& message, const SigningKey& signer) {
  BodyWriter writer = begin(RunMessageKind::kFinish, message.key);
  writer.number(static_cast<std::uint8_t>(message.complete ? 1 : 0)).number(message.counted).bytes(message.broadcast);
  return sign(writer, signer);
}

std::optional<RunEnvelope> parse_envelope(std::span<const std::uint8_t> bytes, const MessageSizes& sizes) {
  if (bytes.size() < kHeaderBytes + kSignatureBytes) return std::nullopt;
  BodyReader reader(bytes.first(kHeaderBytes));
  if (reader.array<4>() != kVersion) return std::nullopt;
  const auto kind = static_cast<RunMessageKind>(reader.number<std::uint8_t>());
  const std::optional<std::uint64_t> size = body_size(kind, sizes);
  if (!size || bytes.size() - kHeaderBytes - kSignatureBytes != *size) return std::nullopt;
  RunEnvelope envelope{kind, {}, bytes.subspan(kHeaderBytes, *size), bytes};
  envelope.key.run = reader.array<32>();
  envelope.key.epoch = reader.number<std::uint32_t>();
  envelope.key.round = reader.number<std::uint64_t>();
  envelope.key.stage = reader.number<std::uint8_t>();
  envelope.key.client = reader.number<std::uint32_t>();
  return envelope;
}

bool is_authentic(const RunEnvelope& envelope, const PublicKey& sender) {
  Signature signature{};
  const auto tail = envelope.whole.last(kSignatureBytes);
  std::copy(tail.begin(), tail.end(), signature.begin());
  return verify_signature(sender, signed_text(envelope.whole.first(envelope.whole.size() - kSignatureBytes)),
                          signature);
}

std::optional<Invitation> parse_invitation(const RunEnvelope& envelope) {
  if (envelope.kind != RunMessageKind::kInvitation) return std::nullopt;
  BodyReader reader(envelope.body);
  Invitation message{envelope.key, reader.number<std::uint64_t>(), reader.number<std::uint64_t>(), {}};
  const auto broadcast = reader.bytes(reader.left());
  message.broadcast.assign(broadcast.begin(), broadcast.end());
  return message;
}

std::optional<Upload> parse_upload(const RunEnvelope& envelope) {
  if (envelope.kind != RunMessageKind::kUpload) return std::nullopt;
  BodyReader reader(envelope.body);
  return Upload{envelope.key, reader.floats(envelope.body.size() / 4)};
}

std::optional<Receipt> parse_receipt(const RunEnvelope& envelope) {
  if (envelope.kind != RunMessageKind::kReceipt) return std::nullopt;
  return Receipt{envelope.key, BodyReader(envelope.body).array<kDigestBytes>()};
}

std::optional<Decline> parse_decline(const RunEnvelope& envelope) {
  if (envelope.kind != RunMessageKind::kDecline) return std::nullopt;
  const std::uint8_t reason = envelope.body.front();
  if (reason < 1 || reason > static_cast<std::uint8_t>(DeclineReason::kCoordinatorRestored)) return std::nullopt;
  return Decline{envelope.key, static_cast<DeclineReason>(reason)};
}

std::optional<Finish> parse_finish(const RunEnvelope& envelope) {
  if (envelope.kind != RunMessageKind::kFinish || envelope.body.front() > 1) return std::nullopt;
  BodyReader reader(envelope.body);
  const bool complete = reader.number<std::uint8_t>() == 1;
  const auto counted = reader.number<std::uint64_t>();
  return Finish{envelope.key, complete, counted, reader.array<kDigestBytes>()};
}

Digest digest_of(std::span<const std::uint8_t> bytes) {
  return blake2b({reinterpret_cast<const char*>(bytes.data()), bytes.size()});  // NOLINT: bytes are bytes
}

}  // namespace noisefloor::federated
