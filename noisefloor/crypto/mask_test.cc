#include "noisefloor/crypto/mask.h"

#include <gtest/gtest.h>

#include <cstring>

#include "noisefloor/crypto/mask_kernels.h"
#include "noisefloor/crypto/test_bytes.h"

namespace noisefloor {
namespace {

using testing::bytes_of_hex;

std::vector<MaskPath> paths() {
  std::vector<MaskPath> result;
  for (const MaskPath path : {MaskPath::kPortable, MaskPath::kAesNi, MaskPath::kVaes256, MaskPath::kVaes512}) {
    if (is_supported(path)) result.push_back(path);
  }
  return result;
}

std::string keystream(MaskPath path, std::string_view key, std::string_view nonce, std::uint32_t first,
                      std::size_t blocks) {
  std::vector<std::uint8_t> seed = bytes_of_hex(key);
  const std::vector<std::uint8_t> rest = bytes_of_hex(nonce);
  seed.insert(seed.end(), rest.begin(), rest.end());
  const internal::MaskKernels& kernels = internal::mask_kernels_for(path);
  internal::ExpandedKey expanded{};
  kernels.expand(seed.data(), expanded);
  std::vector<std::uint8_t> out(16 * blocks);
  kernels.add[0][0]({seed.data(), &expanded, first}, out.data(), blocks);
  return to_hex(out);
}

TEST(Mask, GivesKnownBlocks) {
  for (const MaskPath path : paths()) {
    // SP 800-38A, F.5.1: the four output blocks.
    EXPECT_EQ(keystream(path, "2b7e151628aed2a6abf7158809cf4f3c", "f0f1f2f3f4f5f6f7f8f9fafb", 0xfcfdfeff, 4),
              "ec8cdf7398607cb0f2d21675ea9ea1e4362b7c3c6773516318a077d7fc5073ae"
              "6a2cc3787889374fbeb4c81b17ba6c44e89c399ff0f198c6d40a31db156cabfe");
    // FIPS 197, C.1.
    EXPECT_EQ(keystream(path, "000102030405060708090a0b0c0d0e0f", "00112233445566778899aabb", 0xccddeeff, 1),
              "69c4e0d86a7b0430d8cdb78070b4c55a");
  }
}

std::vector<Mask> some_masks(std::size_t count) {
  std::vector<Mask> masks(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < kMaskSeedBytes; ++k)
      masks[i].seed.bytes()[k] = static_cast<std::uint8_t>(31 * i + 7 * k + i * k);
    masks[i].subtract = i % 3 == 1;
  }
  return masks;
}

// The expected result of apply_masks, lane by lane, from whole keystreams of OpenSSL.
template <class Lane>
std::vector<std::uint8_t> expected(const std::vector<Mask>& masks, std::vector<std::uint8_t> accumulator) {
  const std::size_t blocks = (accumulator.size() + 15) / 16;
  for (const Mask& mask : masks) {
    std::vector<std::uint8_t> stream(16 * blocks);
    const internal::Keystream from{mask.seed.bytes().data(), nullptr, 0};
    internal::mask_kernels_for(MaskPath::kPortable).add[0][0](from, stream.data(), blocks);
    for (std::size_t at = 0; at < accumulator.size(); at += sizeof(Lane)) {
      Lane a;
      Lane m;
      std::memcpy(&a, accumulator.data() + at, sizeof a);
      std::memcpy(&m, stream.data() + at, sizeof m);
      a = static_cast<Lane>(mask.subtract ? a - m : a + m);
      std::memcpy(accumulator.data() + at, &a, sizeof a);
    }
  }
  return accumulator;
}

// Checks every path, at sizes around blocks, steps and tiles.
TEST(Mask, GivesTheSameBitsOnAllPaths) {
  for (const std::size_t count : {1U, 2U, 5U, 33U}) {
    const std::vector<Mask> masks = some_masks(count);
    for (const std::size_t size :
         {8U, 16U, 24U, 120U, 128U, 136U, 256U, 264U, 512U, 520U, 16376U, 16384U, 16392U, 40000U}) {
      std::vector<std::uint8_t> start(size);
      for (std::size_t i = 0; i < size; ++i) start[i] = static_cast<std::uint8_t>(i * i + i);
      for (const LaneBits lanes : {LaneBits::k16, LaneBits::k32, LaneBits::k64}) {
        const auto want = lanes == LaneBits::k16   ? expected<std::uint16_t>(masks, start)
                          : lanes == LaneBits::k32 ? expected<std::uint32_t>(masks, start)
                                                   : expected<std::uint64_t>(masks, start);
        for (const MaskPath path : paths()) {
          auto got = start;
          apply_masks(masks, lanes, got, path);
          ASSERT_EQ(got, want) << count << " " << size << " " << static_cast<int>(path);
        }
        auto got = start;
        apply_masks(masks, lanes, got);
        ASSERT_EQ(got, want);
      }
    }
  }
}

TEST(Mask, AppliesMoreMasksThanOneBatch) {
  const std::vector<Mask> masks = some_masks(2500);
  std::vector<std::uint8_t> got(200);
  apply_masks(masks, LaneBits::k32, got);
  EXPECT_EQ(got, expected<std::uint32_t>(masks, std::vector<std::uint8_t>(200)));
}

TEST(Mask, CancelsInPairs) {
  std::vector<Mask> masks = some_masks(2);
  masks[1].seed = masks[0].seed.clone();
  masks[1].subtract = !masks[0].subtract;
  for (const LaneBits lanes : {LaneBits::k16, LaneBits::k32, LaneBits::k64}) {
    std::vector<std::uint8_t> accumulator(1000, 9);
    apply_masks(std::span(masks).first(1), lanes, accumulator);
    EXPECT_NE(accumulator, std::vector<std::uint8_t>(1000, 9));
    apply_masks(std::span(masks).last(1), lanes, accumulator);
    EXPECT_EQ(accumulator, std::vector<std::uint8_t>(1000, 9));
  }
}

TEST(Mask, TakesOddSizesOfTheSmallestLane) {
  const std::vector<Mask> masks = some_masks(3);
  std::vector<std::uint8_t> whole(100);
  apply_masks(masks, LaneBits::k16, whole);
  for (std::size_t size = 0; size <= 100; size += 2) {
    std::vector<std::uint8_t> part(size);
    apply_masks(masks, LaneBits::k16, part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin()));
  }
}

}  // namespace
}  // namespace noisefloor
