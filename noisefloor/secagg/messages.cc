#include "noisefloor/secagg/messages.h"

#include <algorithm>
#include <bit>

#include "noisefloor/secagg/keys.h"
#include "noisefloor/secagg/wire.h"

namespace noisefloor::secagg {
namespace {

constexpr std::array<std::uint8_t, 3> kMagic = {'N', 'S', 2};  // the last is the version

bool has_tag(MessageType type) { return type != MessageType::kInvitation && type != MessageType::kAdvertisement; }

Writer begin(MessageType type, std::uint32_t client, std::size_t body_bytes) {
  Writer out(kHeaderBytes + body_bytes + kTagBytes);
  out.bytes(kMagic).number(static_cast<std::uint8_t>(type)).number(client);
  return out;
}

Message finish(Writer out, MessageType type, const Secret32& channel) {
  const Tag tag = one_time_tag(tag_key(channel, static_cast<std::uint8_t>(type)), out.written());
  return out.bytes(tag).take();
}

void write(Writer& out, const Advertisement& entry) {
  out.number(entry.client).bytes(entry.channel_key).bytes(entry.mask_key).bytes(entry.signature);
}

Advertisement read_advertisement(Reader& in) {
  return {in.number<std::uint32_t>(), in.array<32>(), in.array<32>(), in.array<64>()};
}

std::vector<SealedShares> read_sealed(Reader& in, std::size_t count) {
  std::vector<SealedShares> sealed(count);
  for (SealedShares& each : sealed) each = in.array<kSealedBytes>();
  return sealed;
}

}  // namespace

std::optional<ClientSet> ClientSet::parse(Bytes bytes, std::uint32_t clients) {
  ClientSet set(clients);
  if (bytes.size() != set.bytes_.size()) return std::nullopt;
  if (clients % 8 != 0 && bytes.back() >> clients % 8 != 0) return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), set.bytes_.begin());
  return set;
}

bool ClientSet::contains_all(const ClientSet& other) const {
  return clients_ == other.clients_ && std::equal(bytes_.begin(), bytes_.end(), other.bytes_.begin(),
                                                  [](std::uint8_t a, std::uint8_t b) { return (b & ~a) == 0; });
}

std::uint32_t ClientSet::size() const {
  std::uint32_t count = 0;
  for (const std::uint8_t byte : bytes_) count += static_cast<std::uint32_t>(std::popcount(byte));
  return count;
}

std::optional<Envelope> parse_envelope(Bytes message) {
  Reader in(message);
  const auto magic = in.array<kMagic.size()>();
  const auto type = in.number<std::uint8_t>();
  const auto client = in.number<std::uint32_t>();
  if (message.size() < kHeaderBytes || magic != kMagic || type > static_cast<std::uint8_t>(MessageType::kUnmasking)) {
    return std::nullopt;
  }
  Envelope envelope{static_cast<MessageType>(type), client, message.subspan(kHeaderBytes), message, {}};
  if (has_tag(envelope.type)) {
    if (envelope.body.size() < kTagBytes) return std::nullopt;
    envelope.body = envelope.body.first(envelope.body.size() - kTagBytes);
    envelope.tagged = message.first(message.size() - kTagBytes);
    envelope.tag = message.last(kTagBytes);
  }
  return envelope;
}

bool is_authentic(const Envelope& envelope, const Secret32& channel) {
  const Secret32 key = tag_key(channel, static_cast<std::uint8_t>(envelope.type));
  return equal_in_constant_time(one_time_tag(key, envelope.tagged), envelope.tag);
}

std::string signed_invitation(const RoundConfig& config) { return labelled("invitation", {digest_of(config)}); }

Message invitation(const RoundConfig& config, const SigningKey& server) {
  Writer out = begin(MessageType::kInvitation, 0, kConfigBytes + 64);
  return out.bytes(to_bytes(config)).bytes(server.sign(signed_invitation(config))).take();
}

std::optional<Invitation> parse_invitation(const Envelope& envelope) {
  Reader in(envelope.body);
  const std::optional<RoundConfig> config = parse_config(in.bytes(kConfigBytes));
  const Signature signature = in.array<64>();
  if (!in.done() || !config.has_value() || envelope.client != 0) return std::nullopt;
  return Invitation{*config, signature};
}

std::string signed_keys(const Digest& config, const Advertisement& advertisement) {
  Writer number;
  number.number(advertisement.client);
  return labelled("keys", {config, number.written(), advertisement.channel_key, advertisement.mask_key});
}

std::vector<std::uint8_t> to_bytes(const Advertisement& advertisement) {
  Writer out(kAdvertisementBytes);
  write(out, advertisement);
  return out.take();
}

Message to_message(const Advertisement& advertisement) {
  Writer out = begin(MessageType::kAdvertisement, advertisement.client, kAdvertisementBytes);
  write(out, advertisement);
  return out.take();
}

std::optional<Advertisement> parse_advertisement(const Envelope& envelope) {
  Reader in(envelope.body);
  const Advertisement advertisement = read_advertisement(in);
  if (!in.done() || advertisement.client != envelope.client) return std::nullopt;
  return advertisement;
}

Message roster_message(std::uint32_t to, const RosterPart& roster, const Secret32& channel) {
  Writer out = begin(MessageType::kRoster, to,
                     32 + roster.present.bytes().size() + kKeysBytes * roster.neighbours.size() + roster.proof.size());
  out.bytes(roster.root).bytes(roster.present.bytes());
  for (const Advertisement& each : roster.neighbours) {
    out.bytes(each.channel_key).bytes(each.mask_key).bytes(each.signature);
  }
  return finish(std::move(out.bytes(roster.proof)), MessageType::kRoster, channel);
}

std::optional<RosterPart> parse_roster(Bytes body, std::uint32_t registry) {
  Reader in(body);
  const Digest root = in.array<32>();
  std::optional<ClientSet> present = ClientSet::parse(in.bytes((registry + 7) / 8), registry);
  if (!present.has_value()) return std::nullopt;
  return RosterPart{root, *std::move(present)};
}

bool parse_neighbours(Bytes body, const std::vector<std::uint32_t>& numbers, RosterPart& roster) {
  Reader in(body);
  in.bytes(32 + roster.present.bytes().size());
  roster.neighbours.clear();
  for (const std::uint32_t number : numbers) {
    roster.neighbours.push_back({number, in.array<32>(), in.array<32>(), in.array<64>()});
  }
  roster.proof = in.bytes(in.left());
  return in.done();
}

Message shares_message(std::uint32_t from, const std::vector<SealedShares>& sealed, const Secret32& channel) {
  Writer out = begin(MessageType::kShares, from, kSealedBytes * sealed.size());
  for (const SealedShares& each : sealed) out.bytes(each);
  return finish(std::move(out), MessageType::kShares, channel);
}

Message shares_message(std::uint32_t from, const Deposit& deposit, const std::vector<SealedShares>& sealed,
                       const Secret32& channel) {
  Writer out = begin(MessageType::kShares, from, 32 + (kMaskSeedBytes + kSealedBytes) * sealed.size());
  out.bytes(deposit.commitment);
  for (const Bytes seed : deposit.seeds) out.bytes(seed);
  for (const SealedShares& each : sealed) out.bytes(each);
  return finish(std::move(out), MessageType::kShares, channel);
}

std::optional<Deposit> take_deposit(Bytes& body, std::size_t neighbours) {
  Reader in(body);
  Deposit deposit;
  deposit.commitment = in.array<32>();
  for (std::size_t i = 0; i < neighbours; ++i) deposit.seeds.push_back(in.bytes(kMaskSeedBytes));
  body = in.bytes(in.left());
  return in.done() ? std::optional(std::move(deposit)) : std::nullopt;
}

std::optional<std::vector<SealedShares>> parse_shares(Bytes body, std::size_t neighbours) {
  if (body.size() != kSealedBytes * neighbours) return std::nullopt;
  Reader in(body);
  return read_sealed(in, neighbours);
}

Message delivery_message(std::uint32_t to, const Delivery& delivery, const Secret32& channel) {
  Writer out =
      begin(MessageType::kDelivery, to, 32 + delivery.sharing.bytes().size() + kSealedBytes * delivery.sealed.size());
  out.bytes(delivery.nonce).bytes(delivery.sharing.bytes());
  for (const SealedShares& each : delivery.sealed) out.bytes(each);
  return finish(std::move(out), MessageType::kDelivery, channel);
}

std::optional<Delivery> parse_delivery(Bytes body, std::uint32_t neighbours) {
  Reader in(body);
  const Digest nonce = in.array<32>();
  std::optional<ClientSet> sharing = ClientSet::parse(in.bytes((neighbours + 7) / 8), neighbours);
  if (!sharing.has_value()) return std::nullopt;
  const std::size_t count = sharing->size();
  if (in.left() != kSealedBytes * count) return std::nullopt;
  Delivery delivery{nonce, *std::move(sharing), read_sealed(in, count)};
  return in.done() ? std::optional(std::move(delivery)) : std::nullopt;
}

Message receipt_message(std::uint32_t from, const Receipt& receipt, const Secret32& channel) {
  Writer out = begin(MessageType::kReceipt, from, receipt.opened.bytes().size() + kCheckBytes * receipt.answers.size());
  out.bytes(receipt.opened.bytes());
  for (const std::uint64_t answer : receipt.answers) out.number(answer);
  return finish(std::move(out), MessageType::kReceipt, channel);
}

std::optional<Receipt> parse_receipt(Bytes body, std::uint32_t neighbours) {
  Reader in(body);
  std::optional<ClientSet> opened = ClientSet::parse(in.bytes((neighbours + 7) / 8), neighbours);
  if (!opened.has_value()) return std::nullopt;
  const std::size_t count = opened->size();
  if (in.left() != kCheckBytes * count) return std::nullopt;
  Receipt receipt{*std::move(opened)};
  for (std::size_t i = 0; i < count; ++i) {
    const Bytes answer = in.bytes(kCheckBytes);
    if (!is_check_value(answer)) return std::nullopt;
    receipt.answers.push_back(Reader(answer).number<std::uint64_t>());
  }
  return receipt;
}

Message sharers_message(std::uint32_t to, const ClientSet& sharers, const Secret32& channel) {
  Writer out = begin(MessageType::kSharers, to, sharers.bytes().size());
  return finish(std::move(out.bytes(sharers.bytes())), MessageType::kSharers, channel);
}

Message masked_input_message(std::uint32_t from, const Digest& commitment, Bytes prints, const LaneVector& masked,
                             const Secret32& channel) {
  const std::size_t packed = packed_bytes(masked.dimension(), masked.bits());
  Writer out = begin(MessageType::kMaskedInput, from, commitment.size() + prints.size() + packed);
  masked.pack(out.bytes(commitment).bytes(prints).room(packed));
  return finish(std::move(out), MessageType::kMaskedInput, channel);
}

std::optional<MaskedInput> parse_masked_input(Bytes body, const RoundConfig& config, std::size_t neighbours) {
  Reader in(body);
  const Digest commitment = in.array<32>();
  const Bytes prints = in.bytes(kPrintBytes * neighbours);
  const Bytes packed = in.bytes(in.left());
  if (!in.done() || !is_packed(packed, config.dimension, config.bits)) return std::nullopt;
  return MaskedInput{commitment, prints, packed};
}

Message survivors_message(std::uint32_t to, const ClientSet& survivors, const Secret32& channel) {
  Writer out = begin(MessageType::kSurvivors, to, survivors.bytes().size());
  return finish(std::move(out.bytes(survivors.bytes())), MessageType::kSurvivors, channel);
}

std::string signed_survivors(const Digest& context, const ClientSet& sharing, const ClientSet& survivors) {
  return labelled("survivors", {context, sharing.bytes(), survivors.bytes()});
}

Message confirmation_message(std::uint32_t from, const Signature& signature, const Secret32& channel) {
  Writer out = begin(MessageType::kConfirmation, from, signature.size());
  return finish(std::move(out.bytes(signature)), MessageType::kConfirmation, channel);
}

std::optional<Signature> parse_confirmation(Bytes body) {
  Reader in(body);
  const Signature signature = in.array<64>();
  if (!in.done()) return std::nullopt;
  return signature;
}

Message confirmations_message(std::uint32_t to, const std::vector<Confirmation>& confirmations,
                              const Secret32& channel) {
  Writer out = begin(MessageType::kConfirmations, to, (4 + 64) * confirmations.size());
  for (const Confirmation& each : confirmations) out.number(each.place).bytes(each.signature);
  return finish(std::move(out), MessageType::kConfirmations, channel);
}

std::optional<std::vector<Confirmation>> parse_confirmations(Bytes body, const std::vector<std::uint32_t>& committee) {
  constexpr std::size_t each_bytes = 4 + 64;
  if (body.size() % each_bytes != 0 || body.size() / each_bytes > committee.size()) return std::nullopt;
  Reader in(body);
  std::vector<Confirmation> confirmations;
  while (in.left() > 0) {
    const Confirmation each{in.number<std::uint32_t>(), in.array<64>()};
    if (!std::binary_search(committee.begin(), committee.end(), each.place)) return std::nullopt;
    if (!confirmations.empty() && confirmations.back().place >= each.place) return std::nullopt;
    confirmations.push_back(each);
  }
  return confirmations;
}

Message unmasking_message(std::uint32_t from, const Unmasking& unmasking, const Secret32& channel) {
  Writer out = begin(MessageType::kUnmasking, from,
                     kShareBytes * unmasking.shares.size() + kMaskSeedBytes * unmasking.seeds.size());
  for (const Bytes share : unmasking.shares) out.bytes(share);
  for (const Bytes seed : unmasking.seeds) out.bytes(seed);
  return finish(std::move(out), MessageType::kUnmasking, channel);
}

std::optional<Unmasking> parse_unmasking(Bytes body, std::size_t shares, std::size_t seeds) {
  if (body.size() != kShareBytes * shares + kMaskSeedBytes * seeds) return std::nullopt;
  Reader in(body);
  Unmasking unmasking;
  for (std::size_t i = 0; i < shares; ++i) {
    unmasking.shares.push_back(in.bytes(kShareBytes));
    if (!is_share(unmasking.shares.back())) return std::nullopt;
  }
  for (std::size_t i = 0; i < seeds; ++i) unmasking.seeds.push_back(in.bytes(kMaskSeedBytes));
  return unmasking;
}

}  // namespace noisefloor::secagg
