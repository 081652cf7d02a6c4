#include "noisefloor/random/bit_stream.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "noisefloor/base/check.h"

namespace noisefloor {
namespace {

static_assert(std::endian::native == std::endian::little, "replayed streams are defined on little-endian machines");

bool fill_from_kernel(std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = getrandom(out.data(), out.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};

unsigned char* bytes(std::byte* p) { return reinterpret_cast<unsigned char*>(p); }

// Overwrites `out` by AES-256-CTR keystream under `key`, counter from 0. Each key is used for one call only.
void keystream(const std::byte* key, std::span<std::byte> out) {
  // One context a thread. It is reset after use, so that no key outlives the call.
  thread_local const std::unique_ptr<EVP_CIPHER_CTX, FreeCipher> context(EVP_CIPHER_CTX_new());
  static const EVP_CIPHER* cipher = EVP_CIPHER_fetch(nullptr, "AES-256-CTR", nullptr);
  NF_CHECK(context != nullptr && cipher != nullptr, "OpenSSL offers no AES-256-CTR");
  const std::array<unsigned char, 16> counter{};
  std::fill(out.begin(), out.end(), std::byte{0});
  int written = 0;
  const bool done = EVP_EncryptInit_ex2(context.get(), cipher, reinterpret_cast<const unsigned char*>(key),
                                        counter.data(), nullptr) == 1 &&
                    EVP_EncryptUpdate(context.get(), bytes(out.data()), &written, bytes(out.data()),
                                      static_cast<int>(out.size())) == 1;
  NF_CHECK(done && static_cast<std::size_t>(written) == out.size(), "AES-256-CTR failed");
  EVP_CIPHER_CTX_reset(context.get());
}

}  // namespace

void BitStream::Unmap::operator()(State* state) const {
  OPENSSL_cleanse(state, sizeof(State));
  munmap(state, sizeof(State));
}

Result<BitStream::StatePtr> BitStream::allocate(OnFork on_fork) {
  void* memory = mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return internal_error("no memory for a random stream");
  StatePtr state(static_cast<State*>(memory));
  madvise(memory, sizeof(State), MADV_DONTDUMP);
  if (on_fork == OnFork::kReseed && madvise(memory, sizeof(State), MADV_WIPEONFORK) != 0) {
    return internal_error(
        "the kernel cannot wipe memory on fork (Linux 4.14 or newer is needed); no secure randomness");
  }
  return state;
}

void BitStream::refill() {
  State& s = *state_;
  if (s.seeded == 0) {
    NF_CHECK(fill_from_kernel(s.key), "the kernel gives no entropy");
    s.seeded = 1;
  }
  keystream(s.key.data(), s.buffer);
  std::memcpy(s.key.data(), s.buffer.data(), kKeyBytes);
  OPENSSL_cleanse(s.buffer.data(), kKeyBytes);
  s.remaining = kBufferBytes - kKeyBytes;
  ++s.buffers;
}

void BitStream::fill(std::span<std::byte> out) {
  State& s = *state_;
  while (!out.empty()) {
    if (s.remaining == 0) refill();
    const std::size_t count = std::min<std::size_t>(out.size(), s.remaining);
    std::memcpy(out.data(), s.buffer.data() + (kBufferBytes - s.remaining), count);
    s.remaining -= count;
    out = out.subspan(count);
  }
}

Result<SecureRandom> SecureRandom::create() {
  NF_TRY(StatePtr state, allocate(OnFork::kReseed));
  SecureRandom random(std::move(state));
  if (!fill_from_kernel(random.state().key)) return internal_error("the kernel gives no entropy (getrandom failed)");
  random.state().seeded = 1;
  return random;
}

Result<ReplayRandom> ReplayRandom::create(std::uint64_t seed, std::uint64_t position) {
  NF_TRY(StatePtr state, allocate(OnFork::kRepeat));
  ReplayRandom random(std::move(state));
  std::memcpy(random.state().key.data(), &seed, sizeof seed);
  random.state().seeded = 1;
  const std::uint64_t used = position % kBufferBytes;
  if (used > 0 && used < kKeyBytes) return invalid_argument(fmt::format("{} is no position of a stream", position));
  for (std::uint64_t read = 0; read < position; read += kBufferBytes) random.refill();
  if (position > 0) random.state().remaining = used == 0 ? 0 : kBufferBytes - used;
  return random;
}

}  // namespace noisefloor
