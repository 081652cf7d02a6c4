// Masks: long uniform vectors from short seeds, added straight into an accumulator of 16-, 32- or 64-bit lanes.
//
// A mask is the keystream of AES-128 in counter mode (SP 800-38A), read as little-endian lanes. Key and nonce come from
// the seed; block i encrypts nonce ‖ i, with i in four bytes, big-endian. Sums are modulo 2^lane, so that they are
// right modulo every smaller power of two as well.
//
// Guarantee:     a mask is indistinguishable from uniform lanes without its seed, given that AES-128 is a good cipher.
//                Nonces are part of the seed, so that an attack on many masks at once gains nothing. All paths give the
//                same bits.
// Requires:      a seed is used for one mask only; at most 2^32 blocks, i.e. 64 GiB (checked); whole lanes (checked).
// Cost:          accumulators go through the cache once, in tiles, for all masks that are given together.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "noisefloor/crypto/secret.h"

namespace noisefloor {

// 16 bytes of key, 12 of nonce.
inline constexpr std::size_t kMaskSeedBytes = 28;
using MaskSeed = Secret<kMaskSeedBytes>;

enum class LaneBits : std::uint8_t { k16 = 16, k32 = 32, k64 = 64 };
[[nodiscard]] constexpr std::size_t bytes_of(LaneBits lanes) { return static_cast<std::size_t>(lanes) / 8; }

struct Mask {
  MaskSeed seed;
  bool subtract;
};

// The instructions that run the cipher.
enum class MaskPath : std::uint8_t { kPortable, kAesNi, kVaes256, kVaes512 };
[[nodiscard]] bool is_supported(MaskPath path);
[[nodiscard]] MaskPath best_mask_path();

// Adds every mask to the accumulator, or subtracts it.
void apply_masks(std::span<const Mask> masks, LaneBits lanes, std::span<std::uint8_t> accumulator);
// Does the same on a given path. Requires: is_supported(path) (checked).
void apply_masks(std::span<const Mask> masks, LaneBits lanes, std::span<std::uint8_t> accumulator, MaskPath path);

}  // namespace noisefloor
