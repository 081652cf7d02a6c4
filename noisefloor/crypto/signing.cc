#include "noisefloor/crypto/signing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/crypto/hkdf.h"
#include "noisefloor/crypto/sodium_init.h"

namespace noisefloor {
namespace {

constexpr std::size_t kSeedBytes = crypto_sign_SEEDBYTES;
using AgreementBytes = std::array<std::uint8_t, crypto_box_PUBLICKEYBYTES>;

const unsigned char* data_of(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

// A file that is closed when this object is destroyed.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

Error file_error(std::string_view what, const std::string& path) {
  return io_error(fmt::format("the key file {} could not be {}: {}", shown(path), what, std::strerror(errno)));
}

}  // namespace

struct SigningKey::Secret {
  std::array<std::uint8_t, crypto_sign_SECRETKEYBYTES> bytes{};

  Secret() { sodium_mlock(bytes.data(), bytes.size()); }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() { sodium_munlock(bytes.data(), bytes.size()); }  // wipes
};

SigningKey::SigningKey(std::unique_ptr<Secret> secret) : secret_(std::move(secret)) {}
SigningKey::SigningKey(SigningKey&& other) noexcept = default;
SigningKey& SigningKey::operator=(SigningKey&& other) noexcept = default;
SigningKey::~SigningKey() = default;

SigningKey SigningKey::generate() {
  internal::initialise_sodium();
  auto secret = std::make_unique<Secret>();
  PublicKey ignored;
  NF_CHECK(crypto_sign_keypair(ignored.data(), secret->bytes.data()) == 0, "Ed25519 keys can always be made");
  return SigningKey(std::move(secret));
}

SigningKey SigningKey::from_seed(const std::array<std::uint8_t, 32>& seed) {
  internal::initialise_sodium();
  auto secret = std::make_unique<Secret>();
  PublicKey ignored;
  NF_CHECK(crypto_sign_seed_keypair(ignored.data(), secret->bytes.data(), seed.data()) == 0,
           "every seed is one of an Ed25519 key");
  return SigningKey(std::move(secret));
}

Result<SigningKey> SigningKey::load(const std::string& path) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return file_error("opened", path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return file_error("read", path);
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return io_error(fmt::format("the key file {} can be read by others. Make it yours alone: chmod 600", shown(path)));
  }
  std::array<char, 2 * kSeedBytes + 2> text{};
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  if (got < 0) return file_error("read", path);
  std::string_view line(text.data(), static_cast<std::size_t>(got));
  if (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  std::array<std::uint8_t, kSeedBytes> seed{};
  Result<SigningKey> key =
      io_error(fmt::format("the key file {} does not hold 64 hexadecimal digits: restore it from a copy", shown(path)));
  if (from_hex(line, seed)) key = from_seed(seed);
  sodium_memzero(text.data(), text.size());
  sodium_memzero(seed.data(), seed.size());
  return key;
}

Result<void> SigningKey::save(const std::string& path) const {
  const File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (file.get() < 0) return file_error("written", path);
  std::string line = to_hex(std::span(secret_->bytes).first(kSeedBytes)) + "\n";  // the seed comes first
  const ssize_t put = ::write(file.get(), line.data(), line.size());
  const bool written = put == static_cast<ssize_t>(line.size()) && ::fsync(file.get()) == 0;
  sodium_memzero(line.data(), line.size());
  if (!written) {
    Error error = file_error("written", path);
    ::unlink(path.c_str());
    return error;
  }
  return success();
}

Signature SigningKey::sign(std::string_view message) const {
  Signature signature;
  const int failed =
      crypto_sign_detached(signature.data(), nullptr, data_of(message), message.size(), secret_->bytes.data());
  NF_CHECK(failed == 0, "a key signs every message");
  return signature;
}

PublicKey SigningKey::public_key() const {
  PublicKey key;
  NF_CHECK(crypto_sign_ed25519_sk_to_pk(key.data(), secret_->bytes.data()) == 0, "every key has a public one");
  return key;
}

Secret32 SigningKey::derive(std::string_view purpose) const {
  constexpr std::string_view salt = "noisefloor signing key: derived keys v1";
  return noisefloor::derive<32>(std::span(secret_->bytes).first(kSeedBytes), {data_of(salt), salt.size()},
                                {data_of(purpose), purpose.size()});
}

bool SigningKey::open(Bytes sealed, std::span<std::uint8_t> message) const {
  static_assert(kSealedForBytes == crypto_box_SEALBYTES);
  NF_CHECK(sealed.size() >= kSealedForBytes && message.size() == sealed.size() - kSealedForBytes,
           "a sealed message has its own size");
  AgreementBytes holder{};
  const PublicKey own = public_key();
  NF_CHECK(crypto_sign_ed25519_pk_to_curve25519(holder.data(), own.data()) == 0, "every own key can be converted");
  Secret32 secret;
  NF_CHECK(crypto_sign_ed25519_sk_to_curve25519(secret.bytes().data(), secret_->bytes.data()) == 0,
           "every own key can be converted");
  return crypto_box_seal_open(message.data(), sealed.data(), sealed.size(), holder.data(), secret.bytes().data()) == 0;
}

Result<void> check_public_key(const PublicKey& key) {
  internal::initialise_sodium();
  AgreementBytes ignored{};
  if (crypto_sign_ed25519_pk_to_curve25519(ignored.data(), key.data()) == 0) return success();
  return invalid_argument(
      fmt::format("{} is no public key of Ed25519: copy it from whoever made the key", to_hex(key)));
}

Result<std::vector<std::uint8_t>> seal_for(const PublicKey& holder, Bytes message) {
  NF_TRY_VOID(check_public_key(holder));
  AgreementBytes key{};
  NF_CHECK(crypto_sign_ed25519_pk_to_curve25519(key.data(), holder.data()) == 0, "it was checked");
  std::vector<std::uint8_t> sealed(message.size() + kSealedForBytes);
  NF_CHECK(crypto_box_seal(sealed.data(), message.data(), message.size(), key.data()) == 0,
           "a checked key seals every message");
  return sealed;
}

bool verify_signature(const PublicKey& key, std::string_view message, const Signature& signature) {
  return crypto_sign_verify_detached(signature.data(), data_of(message), message.size(), key.data()) == 0;
}

}  // namespace noisefloor
