// AES in counter mode on vectors of one, two or four blocks; included by one file for each instruction set.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "noisefloor/crypto/mask_kernels.h"

namespace noisefloor::internal {

// NOLINTBEGIN(modernize-avoid-c-arrays, modernize-loop-convert): arrays of vectors that compilers keep in registers.

// Isa: a vector type V of kBlocks blocks, and the operations below on it. It is local to its file, and so are the
// instances that are made from it here.
template <class Isa>
struct MaskLoops {
  using V = typename Isa::V;
  static constexpr std::size_t kVectorBytes = 16 * Isa::kBlocks;
  static constexpr std::size_t kInFlight = 8;  // hides the latency of one round: 4 cycles, two a cycle
  static constexpr std::size_t kStepBlocks = kInFlight * Isa::kBlocks;
  static constexpr std::size_t kStepBytes = kInFlight * kVectorBytes;

  template <int RoundConstant>
  static __m128i next_round_key(__m128i key) {
    const __m128i word = _mm_shuffle_epi32(_mm_aeskeygenassist_si128(key, RoundConstant), 0xff);
    key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
    key = _mm_xor_si128(key, _mm_slli_si128(key, 8));  // prefix sums of the four words
    return _mm_xor_si128(key, word);
  }

  static void expand_key(const std::uint8_t* key, ExpandedKey& into) {
    __m128i round = _mm_loadu_si128(reinterpret_cast<const __m128i*>(key));
    auto* out = reinterpret_cast<__m128i*>(into.rounds.data());
    _mm_store_si128(out++, round);
    _mm_store_si128(out++, round = next_round_key<0x01>(round));
    _mm_store_si128(out++, round = next_round_key<0x02>(round));
    _mm_store_si128(out++, round = next_round_key<0x04>(round));
    _mm_store_si128(out++, round = next_round_key<0x08>(round));
    _mm_store_si128(out++, round = next_round_key<0x10>(round));
    _mm_store_si128(out++, round = next_round_key<0x20>(round));
    _mm_store_si128(out++, round = next_round_key<0x40>(round));
    _mm_store_si128(out++, round = next_round_key<0x80>(round));
    _mm_store_si128(out++, round = next_round_key<0x1b>(round));
    _mm_store_si128(out, next_round_key<0x36>(round));
  }

  template <int Lane, bool Subtract>
  static void add(const Keystream& stream, std::uint8_t* accumulator, std::size_t blocks) {
    V keys[11];
    for (std::size_t i = 0; i < 11; ++i) {
      keys[i] = Isa::broadcast(_mm_load_si128(reinterpret_cast<const __m128i*>(&stream.key->rounds[i])));
    }
    // nonce ‖ counter, the counter as a little-endian word: its bytes are turned around before use.
    alignas(16) std::uint8_t start[16];
    std::memcpy(start, stream.seed + 16, 12);
    std::memcpy(start + 12, &stream.first_block, 4);
    V counters = Isa::first_counters(_mm_load_si128(reinterpret_cast<const __m128i*>(start)));
    const V step = Isa::broadcast(_mm_set_epi32(Isa::kBlocks, 0, 0, 0));
    const V turn = Isa::broadcast(_mm_set_epi8(12, 13, 14, 15, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));

    const auto run = [&](std::uint8_t * at) __attribute__((always_inline)) {
      V state[kInFlight];
#pragma GCC unroll 8
      for (std::size_t i = 0; i < kInFlight; ++i) {
        state[i] = Isa::exclusive_or(Isa::shuffle(counters, turn), keys[0]);
        counters = Isa::template plus<32>(counters, step);
      }
#pragma GCC unroll 9
      for (int round = 1; round < 10; ++round) {
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kInFlight; ++i) state[i] = Isa::encrypt(state[i], keys[round]);
      }
#pragma GCC unroll 8
      for (std::size_t i = 0; i < kInFlight; ++i) {
        const V mask = Isa::encrypt_last(state[i], keys[10]);
        const V old = Isa::load(at + i * kVectorBytes);
        Isa::store(at + i * kVectorBytes,
                   Subtract ? Isa::template minus<Lane>(old, mask) : Isa::template plus<Lane>(old, mask));
      }
    };
    for (; blocks >= kStepBlocks; blocks -= kStepBlocks, accumulator += kStepBytes) run(accumulator);
    if (blocks > 0) {
      std::uint8_t rest[kStepBytes] = {};
      std::memcpy(rest, accumulator, 16 * blocks);
      run(rest);
      std::memcpy(accumulator, rest, 16 * blocks);
    }
    wipe({reinterpret_cast<std::uint8_t*>(keys), sizeof keys});
  }

  static constexpr MaskKernels kTable = {
      expand_key, {{{add<16, false>, add<32, false>, add<64, false>}, {add<16, true>, add<32, true>, add<64, true>}}}};
};

// NOLINTEND(modernize-avoid-c-arrays, modernize-loop-convert)

}  // namespace noisefloor::internal
