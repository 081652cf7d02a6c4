#include "noisefloor/random/gaussian_vector.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "noisefloor/base/check.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

// The arithmetic is plain C++ that is compiled once for each instruction set. Every operation in it is one that IEEE
// 754 rounds in one way only, and the build forbids contraction (-ffp-contract=off), so all paths give the same bits.
// It has no branches and no calls, and its loops have a constant length: GCC 12 vectorises that at -O2 too.
#define NF_INLINE [[gnu::always_inline]] inline

namespace noisefloor {
namespace {

using internal::GaussianPath;
using internal::kGaussianPairs;

// One block of pairs. Wiped at the end: whoever knows the words can subtract the noise.
struct Block {
  alignas(64) std::array<std::uint32_t, kGaussianPairs> radius_words;
  alignas(64) std::array<std::uint32_t, kGaussianPairs> angle_words;
  alignas(64) std::array<float, kGaussianPairs> half_radius;
  alignas(64) std::array<float, 2 * kGaussianPairs> partial = {};  // outputs of a block that is not full

  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { OPENSSL_cleanse(this, sizeof *this); }
};

NF_INLINE std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
NF_INLINE float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }
NF_INLINE std::int32_t as_signed(std::uint32_t word) { return static_cast<std::int32_t>(word); }
NF_INLINE std::uint32_t as_unsigned(std::int32_t word) { return static_cast<std::uint32_t>(word); }

// All ones if the top bit is set, otherwise 0.
NF_INLINE std::uint32_t top_bit_mask(std::uint32_t word) { return as_unsigned(as_signed(word) >> 31); }

// u1 is near 0 if the top bit of its word is clear and near 1 if it is set. Both ends need relative precision, so what
// is kept is `end`, in (0, 1/2]: u1 itself, or 1 - u1. This is its numerator over 2^32.
NF_INLINE std::int32_t steps_to_end(std::uint32_t radius_word) {
  return as_signed(radius_word ^ top_bit_mask(radius_word));
}

// Words within 2^-12 of an end are too coarse there: they get 64 bits more.
NF_INLINE bool is_coarse(std::uint32_t radius_word) { return steps_to_end(radius_word) < (1 << 20); }

NF_INLINE float plain_end(std::uint32_t radius_word) {
  return (static_cast<float>(steps_to_end(radius_word)) + 0.5F) * 0x1p-32F;
}

float refined_end(std::uint32_t radius_word, std::uint64_t extra) {
  const double steps = static_cast<double>(steps_to_end(radius_word)) * 0x1p64 + static_cast<double>(extra);
  return static_cast<float>((steps + 0.5) * 0x1p-96);
}

// r²/4 = -ln(u1)/2. With u1 = 2^-halvings (1 - gap) and s = gap / (2 - gap), it is halvings ln(2)/2 + atanh(s): two
// terms of one sign, so nothing cancels. s is at most 1/3.
NF_INLINE float quarter_square(std::uint32_t radius_word, float end) {
  const std::uint32_t upper = top_bit_mask(radius_word);
  const std::uint32_t bits = bits_of(end);
  const std::uint32_t halvings = (126U - (bits >> 23)) & ~upper;
  const std::uint32_t lower_gap = bits_of(1.0F - float_of((bits & 0x007fffffU) | 0x3f000000U));
  const float gap = float_of((bits & upper) | (lower_gap & ~upper));
  const float s = gap / (2.0F - gap);
  const float x = s * s;
  // Minimax for (atanh(s)/s - 1)/s²; relative error of atanh(s) 4.6e-9.
  const float q = 0.333332062F + x * (0.200108752F + x * (0.13999106F + x * 0.140147135F));
  return static_cast<float>(as_signed(halvings)) * 0.346573591F + (s + s * (x * q));
}

// Fills half_radius with r²/4. Says whether some words are coarse, which prepare() then refines.
NF_INLINE bool square_radii(Block& block) {
  std::uint32_t coarse = 0;
  for (std::size_t i = 0; i < kGaussianPairs; ++i) {
    const std::uint32_t word = block.radius_words[i];
    coarse |= is_coarse(word) ? 1U : 0U;
    block.half_radius[i] = quarter_square(word, plain_end(word));
  }
  return coarse != 0;
}

// The top bit of an angle word turns the cosine's sign, the next bit exchanges sine and cosine, and the other 30 bits
// are an angle in (-π/4, π/4), in the middle of its step so that the law is symmetric.
template <bool kAdd>
NF_INLINE void outputs(const Block& __restrict block, float twice_sigma, float* __restrict first,
                       float* __restrict second) {
  for (std::size_t i = 0; i < kGaussianPairs; ++i) {
    const std::uint32_t word = block.angle_words[i];
    const float angle = static_cast<float>(as_signed((word << 2) | 2U)) * 3.6572953e-10F;  // π/2 2^-32
    const float x = angle * angle;
    // Minimax; relative errors 3.7e-9 and 1.2e-10.
    const float sine = angle + angle * (x * (-0.166666552F + x * (0.00833219197F + x * -0.000195187909F)));
    const float cosine = 1.0F + x * (-0.5F + x * (0.0416666456F + x * (-0.00138873095F + x * 2.44323273e-05F)));
    const std::uint32_t turned = bits_of(cosine) ^ (word & 0x80000000U);
    const std::uint32_t exchange = (turned ^ bits_of(sine)) & top_bit_mask(word << 1);
    const float radius = twice_sigma * block.half_radius[i];
    const float a = radius * float_of(turned ^ exchange);
    const float b = radius * float_of(bits_of(sine) ^ exchange);
    first[i] = kAdd ? first[i] + a : a;
    second[i] = kAdd ? second[i] + b : b;
  }
}

// The code of one path. `fill` and `add` take 2σ and where the two halves of the outputs go.
struct Kernel {
  bool (*square_radii)(Block& block);
  void (*fill)(const Block& block, float twice_sigma, float* first, float* second);
  void (*add)(const Block& block, float twice_sigma, float* first, float* second);
};

// NOLINTBEGIN(bugprone-macro-parentheses)
#define NF_KERNEL(name, attribute)                                                                      \
  attribute bool square_radii_##name(Block& block) { return square_radii(block); }                      \
  attribute void fill_##name(const Block& __restrict block, float twice_sigma, float* __restrict first, \
                             float* __restrict second) {                                                \
    outputs<false>(block, twice_sigma, first, second);                                                  \
  }                                                                                                     \
  attribute void add_##name(const Block& __restrict block, float twice_sigma, float* __restrict first,  \
                            float* __restrict second) {                                                 \
    outputs<true>(block, twice_sigma, first, second);                                                   \
  }                                                                                                     \
  constexpr Kernel k_##name = {square_radii_##name, fill_##name, add_##name};
// NOLINTEND(bugprone-macro-parentheses)

NF_KERNEL(portable, )
#if defined(__x86_64__)
NF_KERNEL(avx2, __attribute__((target("avx2"))))
NF_KERNEL(avx512, __attribute__((target("avx512f,avx512vl,avx512dq"))))
#endif

const Kernel& kernel_of(GaussianPath path) {
  NF_CHECK(internal::is_supported(path), "this machine does not support the path");
#if defined(__x86_64__)
  if (path == GaussianPath::kAvx512) return k_avx512;
  if (path == GaussianPath::kAvx2) return k_avx2;
#endif
  return k_portable;
}

// std::sqrt may set errno, which keeps GCC from vectorising it.
void take_square_roots(std::array<float, kGaussianPairs>& values) {
#if defined(__x86_64__)
  for (std::size_t i = 0; i < values.size(); i += 4) _mm_store_ps(&values[i], _mm_sqrt_ps(_mm_load_ps(&values[i])));
#else
  for (float& value : values) value = std::sqrt(value);
#endif
}

// Computes half_radius of the first `pairs` words. `extra(i)` gives the further bits of word i, in order of i.
template <class Extra>
void prepare(const Kernel& kernel, Block& block, std::size_t pairs, const Extra& extra) {
  std::fill(block.radius_words.begin() + pairs, block.radius_words.end(), 0x40000000U);
  std::fill(block.angle_words.begin() + pairs, block.angle_words.end(), 0U);
  if (kernel.square_radii(block)) {
    for (std::size_t i = 0; i < pairs; ++i) {
      const std::uint32_t word = block.radius_words[i];
      if (is_coarse(word)) block.half_radius[i] = quarter_square(word, refined_end(word, extra(i)));
    }
  }
  take_square_roots(block.half_radius);
}

template <bool kAdd>
void run(const Kernel& kernel, BitStream& stream, std::span<float> out, float sigma) {
  NF_CHECK(sigma >= 0 && sigma <= std::numeric_limits<float>::max(), "sigma must be a finite number, 0 or above");
  const auto write = kAdd ? kernel.add : kernel.fill;
  Block block;
  while (!out.empty()) {
    const std::size_t count = std::min(out.size(), 2 * kGaussianPairs);
    const std::size_t pairs = (count + 1) / 2;
    const auto first = out.first(pairs);
    const auto second = out.subspan(pairs, count - pairs);
    stream.fill(std::as_writable_bytes(std::span(block.radius_words).first(pairs)));
    stream.fill(std::as_writable_bytes(std::span(block.angle_words).first(pairs)));
    prepare(kernel, block, pairs, [&stream](std::size_t) { return stream.next_u64(); });
    if (count == 2 * kGaussianPairs) {
      write(block, 2.0F * sigma, first.data(), second.data());
    } else {
      float* const a = block.partial.data();
      float* const b = a + kGaussianPairs;
      if (kAdd) {
        std::copy(first.begin(), first.end(), a);
        std::copy(second.begin(), second.end(), b);
      }
      write(block, 2.0F * sigma, a, b);
      std::copy_n(a, first.size(), first.begin());
      std::copy_n(b, second.size(), second.begin());
    }
    out = out.subspan(count);
  }
}

GaussianPath best_path() {
  static const GaussianPath path = internal::is_supported(GaussianPath::kAvx512) ? GaussianPath::kAvx512
                                   : internal::is_supported(GaussianPath::kAvx2) ? GaussianPath::kAvx2
                                                                                 : GaussianPath::kPortable;
  return path;
}

}  // namespace

namespace internal {

bool is_supported(GaussianPath path) {
#if defined(__x86_64__)
  if (path == GaussianPath::kAvx2) return static_cast<bool>(__builtin_cpu_supports("avx2"));
  if (path == GaussianPath::kAvx512) {
    return static_cast<bool>(__builtin_cpu_supports("avx512f")) &&
           static_cast<bool>(__builtin_cpu_supports("avx512vl")) &&
           static_cast<bool>(__builtin_cpu_supports("avx512dq"));
  }
#endif
  return path == GaussianPath::kPortable;
}

void fill_gaussian(GaussianPath path, BitStream& stream, std::span<float> out, float sigma) {
  run<false>(kernel_of(path), stream, out, sigma);
}

void add_gaussian(GaussianPath path, BitStream& stream, std::span<float> inout, float sigma) {
  run<true>(kernel_of(path), stream, inout, sigma);
}

void gaussian_from_words(GaussianPath path, std::span<const std::uint32_t> radius_words,
                         std::span<const std::uint32_t> angle_words, std::span<const std::uint64_t> extra,
                         std::span<float> first, std::span<float> second) {
  const std::size_t pairs = radius_words.size();
  NF_CHECK(angle_words.size() == pairs && extra.size() == pairs && first.size() == pairs && second.size() == pairs,
           "one of each for a pair");
  const Kernel& kernel = kernel_of(path);
  Block block;
  for (std::size_t at = 0; at < pairs; at += kGaussianPairs) {
    const std::size_t count = std::min(kGaussianPairs, pairs - at);
    std::copy_n(radius_words.data() + at, count, block.radius_words.data());
    std::copy_n(angle_words.data() + at, count, block.angle_words.data());
    prepare(kernel, block, count, [&](std::size_t i) { return extra[at + i]; });
    kernel.fill(block, 2.0F, block.partial.data(), block.partial.data() + kGaussianPairs);
    std::copy_n(block.partial.data(), count, first.data() + at);
    std::copy_n(block.partial.data() + kGaussianPairs, count, second.data() + at);
  }
}

}  // namespace internal

void fill_gaussian(BitStream& stream, std::span<float> out, float sigma) {
  internal::fill_gaussian(best_path(), stream, out, sigma);
}

void add_gaussian(BitStream& stream, std::span<float> inout, float sigma) {
  internal::add_gaussian(best_path(), stream, inout, sigma);
}

}  // namespace noisefloor
