#include "noisefloor/crypto/mask_kernels_x86.h"

namespace noisefloor::internal {
namespace {

struct Isa {
  using V = __m128i;
  static constexpr int kBlocks = 1;
  static V broadcast(__m128i block) { return block; }
  static V first_counters(__m128i block) { return block; }
  static V load(const std::uint8_t* at) { return _mm_loadu_si128(reinterpret_cast<const V*>(at)); }
  static void store(std::uint8_t* at, V v) { _mm_storeu_si128(reinterpret_cast<V*>(at), v); }
  static V exclusive_or(V a, V b) { return _mm_xor_si128(a, b); }
  static V shuffle(V a, V order) { return _mm_shuffle_epi8(a, order); }
  static V encrypt(V state, V key) { return _mm_aesenc_si128(state, key); }
  static V encrypt_last(V state, V key) { return _mm_aesenclast_si128(state, key); }
  template <int Lane>
  static V plus(V a, V b) {
    if constexpr (Lane == 16) return _mm_add_epi16(a, b);
    if constexpr (Lane == 32) return _mm_add_epi32(a, b);
    if constexpr (Lane == 64) return _mm_add_epi64(a, b);
  }
  template <int Lane>
  static V minus(V a, V b) {
    if constexpr (Lane == 16) return _mm_sub_epi16(a, b);
    if constexpr (Lane == 32) return _mm_sub_epi32(a, b);
    if constexpr (Lane == 64) return _mm_sub_epi64(a, b);
  }
};

}  // namespace

const MaskKernels mask_kernels_aesni = MaskLoops<Isa>::kTable;

}  // namespace noisefloor::internal
