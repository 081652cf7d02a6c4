#include "noisefloor/crypto/mask_kernels_x86.h"

namespace noisefloor::internal {
namespace {

struct Isa {
  using V = __m512i;
  static constexpr int kBlocks = 4;
  // The masked form, because GCC 12 warns of the undefined operand of the plain one.
  static V broadcast(__m128i block) { return _mm512_maskz_broadcast_i32x4(0xffff, block); }
  static V first_counters(__m128i block) {
    return _mm512_add_epi32(broadcast(block), _mm512_set_epi32(3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0));
  }
  static V load(const std::uint8_t* at) { return _mm512_loadu_si512(reinterpret_cast<const V*>(at)); }
  static void store(std::uint8_t* at, V v) { _mm512_storeu_si512(reinterpret_cast<V*>(at), v); }
  static V exclusive_or(V a, V b) { return _mm512_xor_si512(a, b); }
  static V shuffle(V a, V order) { return _mm512_shuffle_epi8(a, order); }
  static V encrypt(V state, V key) { return _mm512_aesenc_epi128(state, key); }
  static V encrypt_last(V state, V key) { return _mm512_aesenclast_epi128(state, key); }
  template <int Lane>
  static V plus(V a, V b) {
    if constexpr (Lane == 16) return _mm512_add_epi16(a, b);
    if constexpr (Lane == 32) return _mm512_add_epi32(a, b);
    if constexpr (Lane == 64) return _mm512_add_epi64(a, b);
  }
  template <int Lane>
  static V minus(V a, V b) {
    if constexpr (Lane == 16) return _mm512_sub_epi16(a, b);
    if constexpr (Lane == 32) return _mm512_sub_epi32(a, b);
    if constexpr (Lane == 64) return _mm512_sub_epi64(a, b);
  }
};

}  // namespace

const MaskKernels mask_kernels_vaes512 = MaskLoops<Isa>::kTable;

}  // namespace noisefloor::internal
