#include "noisefloor/crypto/mask.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "noisefloor/base/check.h"
#include "noisefloor/crypto/mask_kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace noisefloor {
namespace {

using internal::AddKeystream;
using internal::ExpandedKey;

constexpr std::size_t kBlockBytes = 16;
constexpr std::size_t kTileBytes = 16384;
constexpr std::size_t kTileBlocks = kTileBytes / kBlockBytes;
// This many keys are held expanded at a time.
constexpr std::size_t kBatch = 1024;

#if defined(__x86_64__)
bool has_vaes() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  constexpr unsigned vaes_bit = 1U << 9;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ecx & vaes_bit) != 0;
}
#endif

std::size_t index_of(LaneBits lanes) { return lanes == LaneBits::k16 ? 0 : lanes == LaneBits::k32 ? 1 : 2; }

}  // namespace

bool is_supported(MaskPath path) {
#if defined(__x86_64__)
  const auto has_aes = [] {
    return static_cast<bool>(__builtin_cpu_supports("aes")) && static_cast<bool>(__builtin_cpu_supports("ssse3"));
  };
  switch (path) {
    case MaskPath::kPortable:
      return true;
    case MaskPath::kAesNi:
      return has_aes();
    case MaskPath::kVaes256:
      return has_aes() && has_vaes() && static_cast<bool>(__builtin_cpu_supports("avx2"));
    case MaskPath::kVaes512:
      return has_aes() && has_vaes() && static_cast<bool>(__builtin_cpu_supports("avx512f")) &&
             static_cast<bool>(__builtin_cpu_supports("avx512bw"));
  }
  return false;
#else
  return path == MaskPath::kPortable;
#endif
}

MaskPath best_mask_path() {
  static const MaskPath best = [] {
    for (const MaskPath path : {MaskPath::kVaes512, MaskPath::kVaes256, MaskPath::kAesNi}) {
      if (is_supported(path)) return path;
    }
    return MaskPath::kPortable;
  }();
  return best;
}

const internal::MaskKernels& internal::mask_kernels_for(MaskPath path) {
  NF_CHECK(is_supported(path), "the machine has the instruction set");
  switch (path) {
#if defined(__x86_64__)
    case MaskPath::kAesNi:
      return mask_kernels_aesni;
    case MaskPath::kVaes256:
      return mask_kernels_vaes256;
    case MaskPath::kVaes512:
      return mask_kernels_vaes512;
#endif
    default:
      return mask_kernels_portable;
  }
}

void apply_masks(std::span<const Mask> masks, LaneBits lanes, std::span<std::uint8_t> accumulator) {
  apply_masks(masks, lanes, accumulator, best_mask_path());
}

void apply_masks(std::span<const Mask> masks, LaneBits lanes, std::span<std::uint8_t> accumulator, MaskPath path) {
  const internal::MaskKernels& kernels = internal::mask_kernels_for(path);
  NF_CHECK(accumulator.size() % bytes_of(lanes) == 0, "an accumulator holds whole lanes");
  const std::size_t blocks = accumulator.size() / kBlockBytes;
  const std::size_t rest = accumulator.size() % kBlockBytes;
  NF_CHECK(blocks < std::numeric_limits<std::uint32_t>::max(), "a mask has less than 2^32 blocks");
  std::vector<ExpandedKey> keys(std::min(masks.size(), kBatch));
  for (std::size_t first = 0; first < masks.size(); first += kBatch) {
    const std::span<const Mask> batch = masks.subspan(first, std::min(kBatch, masks.size() - first));
    for (std::size_t i = 0; i < batch.size(); ++i) kernels.expand(batch[i].seed.bytes().data(), keys[i]);
    const auto add = [&](std::size_t first_block, std::uint8_t* at, std::size_t count) {
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const AddKeystream kernel = kernels.add[batch[i].subtract ? 1 : 0][index_of(lanes)];
        kernel({batch[i].seed.bytes().data(), &keys[i], static_cast<std::uint32_t>(first_block)}, at, count);
      }
    };
    for (std::size_t block = 0; block < blocks; block += kTileBlocks) {
      add(block, accumulator.data() + kBlockBytes * block, std::min(kTileBlocks, blocks - block));
    }
    if (rest > 0) {
      std::array<std::uint8_t, kBlockBytes> last{};
      std::uint8_t* const at = accumulator.data() + kBlockBytes * blocks;
      std::memcpy(last.data(), at, rest);
      add(blocks, last.data(), 1);
      std::memcpy(at, last.data(), rest);
    }
  }
  wipe({reinterpret_cast<std::uint8_t*>(keys.data()), keys.size() * sizeof(ExpandedKey)});
}

}  // namespace noisefloor
