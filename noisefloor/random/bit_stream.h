// The only source of randomness in the project: a stream of uniform bits from AES-256 in counter mode.
//
// SecureRandom   keyed by the kernel (getrandom). Every sampler and mechanism that promises privacy takes this one.
// ReplayRandom   keyed by a seed that the caller gives, so that a run can be repeated. Whoever knows the seed can
//                subtract the noise, so there is no privacy. It is a separate type, and so is what mechanisms release
//                with it (mechanisms/release.h): it cannot stand in for the secure one by mistake.
//
// Guarantee:     outputs are indistinguishable from uniform bits under the assumption that AES-256 is a good cipher.
//                After each buffer the key is replaced by fresh output and the old key is gone, so a later look into
//                memory does not reveal earlier buffers. Memory is wiped on destruction and kept out of core dumps
//                where the kernel can.
// Fork:          a forked child of a process that holds a SecureRandom gets a stream of its own: the kernel wipes the
//                state in the child (MADV_WIPEONFORK), and the wiped stream seeds itself anew before its next output.
//                A ReplayRandom repeats in the child, as a replay should.
// Not covered:   a virtual machine that is restored from a snapshot repeats its stream.
// Thread safety: none. Give each thread a stream of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "noisefloor/base/result.h"

namespace noisefloor {

// What samplers draw from. Not constructible by itself: it is either a SecureRandom or a ReplayRandom.
class BitStream {
 public:
  static constexpr std::size_t kKeyBytes = 32;
  static constexpr std::size_t kBufferBytes = 16384;

  BitStream(const BitStream&) = delete;
  BitStream& operator=(const BitStream&) = delete;
  BitStream(BitStream&&) noexcept = default;
  BitStream& operator=(BitStream&&) noexcept = default;
  ~BitStream() = default;

  [[nodiscard]] std::uint64_t next_u64() { return next<std::uint64_t>(); }
  [[nodiscard]] std::uint32_t next_u32() { return next<std::uint32_t>(); }

  // Fills `out` with random bytes.
  void fill(std::span<std::byte> out);

 protected:
  // What the stream's output depends on, alone on its pages. `remaining` counts the unread bytes at the end of
  // `buffer`; a wiped state reads as 0 bytes remaining and not seeded.
  struct State {
    std::array<std::byte, kKeyBytes> key;
    std::uint64_t seeded;
    std::uint64_t remaining;
    std::uint64_t buffers;  // filled so far
    alignas(64) std::array<std::byte, kBufferBytes> buffer;
  };
  struct Unmap {
    void operator()(State* state) const;
  };
  using StatePtr = std::unique_ptr<State, Unmap>;

  enum class OnFork : std::uint8_t { kReseed, kRepeat };

  explicit BitStream(StatePtr state) : state_(std::move(state)) {}

  [[nodiscard]] static Result<StatePtr> allocate(OnFork on_fork);

  State& state() { return *state_; }
  [[nodiscard]] const State& state() const { return *state_; }
  // Encrypts a new buffer and replaces the key. Seeds from the kernel first if the state was wiped.
  void refill();

 private:
  template <class Word>
  Word next() {
    if (state_->remaining < sizeof(Word)) refill();
    Word word;
    std::memcpy(&word, state_->buffer.data() + (kBufferBytes - state_->remaining), sizeof word);
    state_->remaining -= sizeof word;
    return word;
  }

  StatePtr state_;
};

class SecureRandom final : public BitStream {
 public:
  // Fails only if the kernel cannot give entropy or fork-safe memory.
  [[nodiscard]] static Result<SecureRandom> create();

 private:
  explicit SecureRandom(StatePtr state) : BitStream(std::move(state)) {}
};

class ReplayRandom final : public BitStream {
 public:
  // The same seed gives the same stream on every machine and in every version. With a position() it continues from
  // there.
  [[nodiscard]] static Result<ReplayRandom> create(std::uint64_t seed, std::uint64_t position = 0);

  // How far the stream was read.
  [[nodiscard]] std::uint64_t position() const { return state().buffers * kBufferBytes - state().remaining; }

 private:
  explicit ReplayRandom(StatePtr state) : BitStream(std::move(state)) {}
};

}  // namespace noisefloor
