#include "noisefloor/secagg/keys.h"

#include <algorithm>

#include "noisefloor/crypto/hkdf.h"
#include "noisefloor/secagg/wire.h"

namespace noisefloor::secagg {
namespace {

constexpr std::string_view kProtocol = "noisefloor secagg 2 ";

std::vector<std::uint8_t> info(std::string_view label, std::initializer_list<std::uint32_t> numbers) {
  Writer out;
  out.bytes(bytes_of(kProtocol)).bytes(bytes_of(label)).number(std::uint8_t{0});
  for (const std::uint32_t number : numbers) out.number(number);
  return out.take();
}

}  // namespace

std::string labelled(std::string_view label, std::initializer_list<Bytes> parts) {
  Writer out;
  out.bytes(bytes_of(kProtocol)).bytes(bytes_of(label)).number(std::uint8_t{0});
  for (const Bytes part : parts) out.number(std::uint64_t{part.size()}).bytes(part);
  const Bytes text = out.written();
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

Digest labelled_digest(std::string_view label, std::initializer_list<Bytes> parts) {
  return blake2b(labelled(label, parts));
}

Digest context_of(const Digest& config, const Digest& root, Bytes present) {
  return labelled_digest("context", {config, root, present});
}

Digest roster_leaf(Bytes advertisement) { return labelled_digest("roster leaf", {advertisement}); }

Digest graph_seed(const Digest& context) { return labelled_digest("graph", {context}); }

Secret32 channel_key(const Secret32& agreed, const Digest& config) {
  return derive<32>(agreed.bytes(), config, info("channel", {}));
}

Secret32 tag_key(const Secret32& channel, std::uint8_t message_type) {
  return derive<32>(channel.bytes(), {}, info("tag", {message_type}));
}

Secret32 share_key(const Secret32& agreed, const Digest& context, std::uint32_t from, std::uint32_t to) {
  return derive<32>(agreed.bytes(), context, info("share", {from, to}));
}

MaskSeed pair_seed(const Secret32& agreed, const Digest& context, std::uint32_t a, std::uint32_t b) {
  return derive<kMaskSeedBytes>(agreed.bytes(), context, info("pair mask", {std::min(a, b), std::max(a, b)}));
}

MaskSeed own_seed(const Secret32& own, const Digest& context, std::uint32_t client) {
  return derive<kMaskSeedBytes>(own.bytes(), context, info("own mask", {client}));
}

Digest commitment(const Secret32& own, const Digest& context, std::uint32_t client) {
  const Secret32 key = derive<32>(own.bytes(), context, info("commitment", {client}));
  Digest digest;
  std::copy(key.bytes().begin(), key.bytes().end(), digest.begin());
  return digest;
}

MaskPrint print_of(const MaskSeed& pair_seed, const Digest& context) {
  const auto key = derive<16>(pair_seed.bytes(), context, info("print", {}));
  MaskPrint print{};
  std::copy(key.bytes().begin(), key.bytes().end(), print.begin());
  return print;
}

Secret32 challenge_nonce(const Secret32& server, std::uint64_t round) {
  return derive<32>(server.bytes(), {},
                    info("challenge", {static_cast<std::uint32_t>(round), static_cast<std::uint32_t>(round >> 32)}));
}

Digest challenge_commitment(const Digest& nonce) { return labelled_digest("challenge", {nonce}); }

CheckCoefficients challenge_coefficients(const Digest& nonce, const Digest& context) {
  const auto uniform = derive<8 * kCheckParts>(nonce, context, info("share check", {}));
  return check_coefficients(uniform.bytes());
}

Digest epoch_id(const Digest& context) { return labelled_digest("epoch", {context}); }

Secret32 pair_chain(const Secret32& agreed, const Digest& context, std::uint32_t a, std::uint32_t b) {
  return derive<32>(agreed.bytes(), context, info("pair chain", {std::min(a, b), std::max(a, b)}));
}

Secret32 server_chain(const Secret32& channel, const Digest& context, std::uint32_t client) {
  return derive<32>(channel.bytes(), context, info("server chain", {client}));
}

Secret32 next_in_chain(const Secret32& key) { return derive<32>(key.bytes(), {}, info("chain next", {})); }

Secret32 taken_from_chain(const Secret32& key) { return derive<32>(key.bytes(), {}, info("chain round", {})); }

Digest deposit_commitment(const Secret32& secret, const Digest& context, std::uint32_t client) {
  const Secret32 key = derive<32>(secret.bytes(), context, info("deposit commitment", {client}));
  Digest digest;
  std::copy(key.bytes().begin(), key.bytes().end(), digest.begin());
  return digest;
}

MaskSeed deposited(const MaskSeed& seed, const Secret32& secret, const Digest& context, std::uint32_t client,
                   std::uint32_t other) {
  MaskSeed result = derive<kMaskSeedBytes>(secret.bytes(), context, info("deposit", {client, other}));
  for (std::size_t i = 0; i < kMaskSeedBytes; ++i) result.bytes()[i] ^= seed.bytes()[i];
  return result;
}

}  // namespace noisefloor::secagg
