#include "noisefloor/crypto/mask_kernels_x86.h"

namespace noisefloor::internal {
namespace {

struct Isa {
  using V = __m256i;
  static constexpr int kBlocks = 2;
  static V broadcast(__m128i block) { return _mm256_broadcastsi128_si256(block); }
  static V first_counters(__m128i block) {
    return _mm256_add_epi32(broadcast(block), _mm256_set_epi32(1, 0, 0, 0, 0, 0, 0, 0));
  }
  static V load(const std::uint8_t* at) { return _mm256_loadu_si256(reinterpret_cast<const V*>(at)); }
  static void store(std::uint8_t* at, V v) { _mm256_storeu_si256(reinterpret_cast<V*>(at), v); }
  static V exclusive_or(V a, V b) { return _mm256_xor_si256(a, b); }
  static V shuffle(V a, V order) { return _mm256_shuffle_epi8(a, order); }
  static V encrypt(V state, V key) { return _mm256_aesenc_epi128(state, key); }
  static V encrypt_last(V state, V key) { return _mm256_aesenclast_epi128(state, key); }
  template <int Lane>
  static V plus(V a, V b) {
    if constexpr (Lane == 16) return _mm256_add_epi16(a, b);
    if constexpr (Lane == 32) return _mm256_add_epi32(a, b);
    if constexpr (Lane == 64) return _mm256_add_epi64(a, b);
  }
  template <int Lane>
  static V minus(V a, V b) {
    if constexpr (Lane == 16) return _mm256_sub_epi16(a, b);
    if constexpr (Lane == 32) return _mm256_sub_epi32(a, b);
    if constexpr (Lane == 64) return _mm256_sub_epi64(a, b);
  }
};

}  // namespace

const MaskKernels mask_kernels_vaes256 = MaskLoops<Isa>::kTable;

}  // namespace noisefloor::internal
