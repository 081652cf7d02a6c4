#include "noisefloor/crypto/aead.h"

#include <openssl/evp.h>
#include <sodium.h>

#include <memory>
#include <tuple>

#include "noisefloor/base/check.h"
#include "noisefloor/crypto/sodium_init.h"

namespace noisefloor {
namespace {

static_assert(kTagBytes == crypto_aead_chacha20poly1305_ietf_ABYTES);
static_assert(std::tuple_size_v<Nonce> == crypto_aead_chacha20poly1305_ietf_NPUBBYTES);

struct FreeMac {
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};

}  // namespace

std::vector<std::uint8_t> seal(const Secret32& key, Bytes context, Bytes message, const Nonce& nonce) {
  internal::initialise_sodium();
  std::vector<std::uint8_t> sealed(message.size() + kTagBytes);
  const int failed =
      crypto_aead_chacha20poly1305_ietf_encrypt(sealed.data(), nullptr, message.data(), message.size(), context.data(),
                                                context.size(), nullptr, nonce.data(), key.bytes().data());
  NF_CHECK(failed == 0, "every message can be sealed");
  return sealed;
}

bool open_sealed(const Secret32& key, Bytes context, Bytes sealed, std::span<std::uint8_t> message,
                 const Nonce& nonce) {
  internal::initialise_sodium();
  NF_CHECK(sealed.size() == message.size() + kTagBytes, "a sealed message is longer by its tag");
  return crypto_aead_chacha20poly1305_ietf_decrypt(message.data(), nullptr, nullptr, sealed.data(), sealed.size(),
                                                   context.data(), context.size(), nonce.data(),
                                                   key.bytes().data()) == 0;
}

Tag one_time_tag(const Secret32& key, Bytes message) {
  static EVP_MAC* const poly1305 = EVP_MAC_fetch(nullptr, "POLY1305", nullptr);
  NF_CHECK(poly1305 != nullptr, "OpenSSL offers no Poly1305");
  const std::unique_ptr<EVP_MAC_CTX, FreeMac> context(EVP_MAC_CTX_new(poly1305));
  Tag tag;
  std::size_t written = 0;
  const bool done = context != nullptr &&
                    EVP_MAC_init(context.get(), key.bytes().data(), key.bytes().size(), nullptr) == 1 &&
                    EVP_MAC_update(context.get(), message.data(), message.size()) == 1 &&
                    EVP_MAC_final(context.get(), tag.data(), &written, tag.size()) == 1;
  NF_CHECK(done && written == tag.size(), "Poly1305 failed");
  return tag;
}

}  // namespace noisefloor
