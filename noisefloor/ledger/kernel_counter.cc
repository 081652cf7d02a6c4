#include "noisefloor/ledger/kernel_counter.h"

#include <fmt/format.h>
#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "noisefloor/base/hex.h"

namespace noisefloor {
namespace {

constexpr std::size_t kPayloadBytes = 2 * sizeof(std::uint64_t) + kDigestBytes;

// Possessing the user's keyring is what lets this thread read its keys, whatever session it belongs to.
bool hold_user_keyring() {
  return ::syscall(SYS_keyctl, KEYCTL_LINK, KEY_SPEC_USER_KEYRING, KEY_SPEC_THREAD_KEYRING, 0, 0) == 0;
}

long find_key(const std::string& name) {
  if (!hold_user_keyring()) return -1;
  return ::syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", name.c_str(), 0);
}

}  // namespace

KernelCounter::KernelCounter(const Digest& ledger) : name_("noisefloor:" + to_hex(ledger)), ledger_(ledger) {}

std::optional<Seen> KernelCounter::read() const {
  const long key = find_key(name_);
  if (key < 0) return std::nullopt;
  std::array<std::uint8_t, kPayloadBytes + 1> payload{};
  if (::syscall(SYS_keyctl, KEYCTL_READ, key, payload.data(), payload.size(), 0) != kPayloadBytes) return std::nullopt;
  Seen seen{ledger_, 0, 0, {}};
  std::memcpy(&seen.epoch, payload.data(), sizeof seen.epoch);
  std::memcpy(&seen.sequence, payload.data() + sizeof seen.epoch, sizeof seen.sequence);
  std::memcpy(seen.hash.data(), payload.data() + 2 * sizeof seen.epoch, seen.hash.size());
  return seen;
}

void KernelCounter::advance(const Seen& seen) const {
  const std::optional<Seen> now = read();
  if (!now || is_later(seen, *now)) reset(seen);
}

void KernelCounter::reset(const Seen& seen) const {
  std::array<std::uint8_t, kPayloadBytes> payload{};
  std::memcpy(payload.data(), &seen.epoch, sizeof seen.epoch);
  std::memcpy(payload.data() + sizeof seen.epoch, &seen.sequence, sizeof seen.sequence);
  std::memcpy(payload.data() + 2 * sizeof seen.epoch, seen.hash.data(), seen.hash.size());
  if (!hold_user_keyring()) return;
  static_cast<void>(
      ::syscall(SYS_add_key, "user", name_.c_str(), payload.data(), payload.size(), KEY_SPEC_USER_KEYRING));
}

void KernelCounter::remove() const {
  const long key = find_key(name_);
  if (key >= 0) static_cast<void>(::syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING, 0, 0));
}

}  // namespace noisefloor
