// The loops of mask.h, one table for each instruction set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "noisefloor/crypto/mask.h"

namespace noisefloor::internal {

struct alignas(16) ExpandedKey {
  std::array<std::array<std::uint8_t, 16>, 11> rounds;
};

struct Keystream {
  const std::uint8_t* seed;  // kMaskSeedBytes of them
  const ExpandedKey* key;    // the key that `expand` made from the seed
  std::uint32_t first_block;
};

// Adds the keystream to the lanes of `blocks` blocks, or subtracts it.
using AddKeystream = void (*)(const Keystream& stream, std::uint8_t* accumulator, std::size_t blocks);

struct MaskKernels {
  void (*expand)(const std::uint8_t* key, ExpandedKey& into);
  std::array<std::array<AddKeystream, 3>, 2> add;  // [subtract][16, 32, 64 bits]
};

extern const MaskKernels mask_kernels_portable;
extern const MaskKernels mask_kernels_aesni;
extern const MaskKernels mask_kernels_vaes256;
extern const MaskKernels mask_kernels_vaes512;

[[nodiscard]] const MaskKernels& mask_kernels_for(MaskPath path);

}  // namespace noisefloor::internal
