#include <openssl/evp.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "noisefloor/base/check.h"
#include "noisefloor/crypto/mask_kernels.h"

namespace noisefloor::internal {
namespace {

static_assert(std::endian::native == std::endian::little, "lanes are little-endian");

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};

constexpr std::size_t kPieceBlocks = 256;

template <class Lane, bool Subtract>
void add(const Keystream& stream, std::uint8_t* accumulator, std::size_t blocks) {
  // One context for each thread. It is reset after use, so that no key outlives the call.
  thread_local const std::unique_ptr<EVP_CIPHER_CTX, FreeCipher> context(EVP_CIPHER_CTX_new());
  static const EVP_CIPHER* const cipher = EVP_CIPHER_fetch(nullptr, "AES-128-CTR", nullptr);
  NF_CHECK(context != nullptr && cipher != nullptr, "OpenSSL offers no AES-128-CTR");
  std::array<std::uint8_t, 16> counter;
  std::memcpy(counter.data(), stream.seed + 16, 12);
  for (std::size_t i = 0; i < 4; ++i) counter[12 + i] = static_cast<std::uint8_t>(stream.first_block >> (24 - 8 * i));
  NF_CHECK(EVP_EncryptInit_ex2(context.get(), cipher, stream.seed, counter.data(), nullptr) == 1, "AES-128-CTR failed");
  static constexpr std::array<std::uint8_t, 16 * kPieceBlocks> kZeros{};
  std::array<std::uint8_t, 16 * kPieceBlocks> piece;
  while (blocks > 0) {
    const std::size_t count = std::min(blocks, kPieceBlocks);
    int written = 0;
    const int done =
        EVP_EncryptUpdate(context.get(), piece.data(), &written, kZeros.data(), static_cast<int>(16 * count));
    NF_CHECK(done == 1 && written == static_cast<int>(16 * count), "AES-128-CTR failed");
    for (std::size_t at = 0; at < 16 * count; at += sizeof(Lane)) {
      Lane sum;
      Lane mask;
      std::memcpy(&sum, accumulator + at, sizeof sum);
      std::memcpy(&mask, piece.data() + at, sizeof mask);
      sum = static_cast<Lane>(Subtract ? sum - mask : sum + mask);
      std::memcpy(accumulator + at, &sum, sizeof sum);
    }
    accumulator += 16 * count;
    blocks -= count;
  }
  wipe(piece);
  EVP_CIPHER_CTX_reset(context.get());
}

}  // namespace

const MaskKernels mask_kernels_portable = {
    [](const std::uint8_t* /*key*/, ExpandedKey& /*into*/) {},  // OpenSSL expands the key
    {{{add<std::uint16_t, false>, add<std::uint32_t, false>, add<std::uint64_t, false>},
      {add<std::uint16_t, true>, add<std::uint32_t, true>, add<std::uint64_t, true>}}}};

}  // namespace noisefloor::internal
