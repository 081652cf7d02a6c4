// Derives every digest and key of the protocol, each with a label of its own.
//
// Guarantee:     no two derivations share an input: labels differ, and parts of variable length carry their length.
// Thread safety: pure functions.
//
// Internal to secagg/.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "noisefloor/crypto/hash.h"
#include "noisefloor/crypto/mask.h"
#include "noisefloor/crypto/secret.h"
#include "noisefloor/crypto/share_check.h"

namespace noisefloor::secagg {

// The bytes that this protocol and version hashes or signs under `label`.
[[nodiscard]] std::string labelled(std::string_view label, std::initializer_list<Bytes> parts);
[[nodiscard]] Digest labelled_digest(std::string_view label, std::initializer_list<Bytes> parts);

// A digest of the configuration and the roster (who is in it, and the root of its tree), on which all who share a view
// of the round agree.
[[nodiscard]] Digest context_of(const Digest& config, const Digest& root, Bytes present);
// The leaf of a client with its advertisement as bytes; without any for a client that is not in the roster.
[[nodiscard]] Digest roster_leaf(Bytes advertisement);
[[nodiscard]] Digest graph_seed(const Digest& context);

// `agreed` is the secret on which two X25519 keys agree; numbers are those of clients.
[[nodiscard]] Secret32 channel_key(const Secret32& agreed, const Digest& config);
[[nodiscard]] Secret32 tag_key(const Secret32& channel, std::uint8_t message_type);
[[nodiscard]] Secret32 share_key(const Secret32& agreed, const Digest& context, std::uint32_t from, std::uint32_t to);
// The same for (a, b) and (b, a).
[[nodiscard]] MaskSeed pair_seed(const Secret32& agreed, const Digest& context, std::uint32_t a, std::uint32_t b);
// `own` is the secret of a client's own mask.
[[nodiscard]] MaskSeed own_seed(const Secret32& own, const Digest& context, std::uint32_t client);
[[nodiscard]] Digest commitment(const Secret32& own, const Digest& context, std::uint32_t client);

// What a client says of the mask that it shares with another, so that it cannot name another one later. It tells
// nothing of the mask to those who do not know the seed.
using MaskPrint = std::array<std::uint8_t, 16>;
[[nodiscard]] MaskPrint print_of(const MaskSeed& pair_seed, const Digest& context);

// The server's question about shares, before and after it is disclosed.
[[nodiscard]] Secret32 challenge_nonce(const Secret32& server, std::uint64_t round);
[[nodiscard]] Digest challenge_commitment(const Digest& nonce);
[[nodiscard]] CheckCoefficients challenge_coefficients(const Digest& nonce, const Digest& context);

// --- Epochs (epoch.h) ------------------------------------------------------------------------------------------------

[[nodiscard]] Digest epoch_id(const Digest& context);
// The first keys of the chains: between two clients, and between a client and the server.
[[nodiscard]] Secret32 pair_chain(const Secret32& agreed, const Digest& context, std::uint32_t a, std::uint32_t b);
[[nodiscard]] Secret32 server_chain(const Secret32& channel, const Digest& context, std::uint32_t client);
[[nodiscard]] Secret32 next_in_chain(const Secret32& key);
[[nodiscard]] Secret32 taken_from_chain(const Secret32& key);

// In a round of an epoch the seeds of a client's masks are deposited under a secret of the round, whose shares take the
// place of those of the mask key.
[[nodiscard]] Digest deposit_commitment(const Secret32& secret, const Digest& context, std::uint32_t client);
// Hides the seed of the mask shared with `other`, or shows a hidden one.
[[nodiscard]] MaskSeed deposited(const MaskSeed& seed, const Secret32& secret, const Digest& context,
                                 std::uint32_t client, std::uint32_t other);

}  // namespace noisefloor::secagg
