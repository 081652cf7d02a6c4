// Whose signatures a reader believes: keys that the reader got from somewhere else than the release itself.
//
// A signature proves that the holder of a key has signed, and not who that is. Whoever forges a certificate can sign it
// with a key of their own; only a reader who knows the right key notices.
//
// Format of a file of signers, one a line: the public key in 64 hexadecimal digits, then a name; lines that are empty
// or begin with # are skipped.
//
//   # who may sign for the registry
//   3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29 Cancer registry, north
//
// Thread safety: pure functions; plain data.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/signing.h"

namespace noisefloor {

struct Signer {
  PublicKey key;
  std::string name;  // may be empty
  friend bool operator==(const Signer&, const Signer&) = default;
};

// kInvalidArgument unless the text is 64 hexadecimal digits.
[[nodiscard]] Result<PublicKey> parse_public_key(std::string_view text);

// kInputData with the line that is wrong, or if there is no signer in it.
[[nodiscard]] Result<std::vector<Signer>> parse_signers(std::string_view text);
[[nodiscard]] Result<std::vector<Signer>> read_signers(const std::string& path);

// Each word is a public key, or the path of a file of signers.
[[nodiscard]] Result<std::vector<Signer>> signers_named(std::span<const std::string> words);

// Returns nullptr if the key is none of them.
[[nodiscard]] const Signer* find_signer(std::span<const Signer> signers, const PublicKey& key);

}  // namespace noisefloor
