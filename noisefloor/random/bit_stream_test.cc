#include "noisefloor/random/bit_stream.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <concepts>
#include <set>
#include <thread>
#include <vector>

namespace noisefloor {
namespace {

std::vector<std::uint64_t> words(BitStream& stream, int count) {
  std::vector<std::uint64_t> out;
  for (int i = 0; i < count; ++i) out.push_back(stream.next_u64());
  return out;
}

// The child's next words, sent through a pipe. `raw` skips the C library's fork handlers.
std::vector<std::uint64_t> words_of_child(BitStream& stream, int count, bool raw) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const long child = raw ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
  if (child == 0) {
    const std::vector<std::uint64_t> out = words(stream, count);
    const auto size = out.size() * sizeof(out[0]);
    _exit(write(ends[1], out.data(), size) == static_cast<ssize_t>(size) ? 0 : 1);
  }
  std::vector<std::uint64_t> out(static_cast<std::size_t>(count));
  EXPECT_EQ(read(ends[0], out.data(), out.size() * sizeof(out[0])), static_cast<ssize_t>(out.size() * sizeof(out[0])));
  int status = 0;
  EXPECT_EQ(waitpid(static_cast<pid_t>(child), &status, 0), child);
  EXPECT_EQ(status, 0);
  close(ends[0]);
  close(ends[1]);
  return out;
}

TEST(BitStream, SecureAndReplayAreDifferentTypes) {
  static_assert(!std::convertible_to<ReplayRandom&, SecureRandom&>);
  static_assert(!std::convertible_to<SecureRandom&, ReplayRandom&>);
  static_assert(!std::constructible_from<SecureRandom, std::uint64_t>, "a secure stream takes no seed");
  static_assert(!std::copyable<SecureRandom> && !std::copyable<ReplayRandom>, "a copied stream would repeat its noise");
}

// Expected words: bytes 32 to 63 of `openssl enc -aes-256-ctr` over zeros with key 01 00 … 00 and iv 0. (The first 32
// bytes are the next key.)
TEST(BitStream, ReplayIsStableAcrossVersions) {
  ReplayRandom stream = ReplayRandom::create(1).value();
  EXPECT_EQ(stream.next_u64(), 0xb51fe57a43c06515U);
  EXPECT_EQ(stream.next_u64(), 0xe41c51cc943d6ce0U);
  EXPECT_EQ(stream.next_u64(), 0x36b6ad5635c7a934U);
  EXPECT_EQ(stream.next_u64(), 0x85ed13a04297f142U);
}

TEST(BitStream, ReplayRepeatsAndSeedsDiffer) {
  ReplayRandom a = ReplayRandom::create(7).value();
  ReplayRandom b = ReplayRandom::create(7).value();
  ReplayRandom c = ReplayRandom::create(8).value();
  const auto first = words(a, 10000);
  EXPECT_EQ(first, words(b, 10000));
  EXPECT_NE(first, words(c, 10000));
}

TEST(BitStream, WordsAndBytesComeFromOneStreamWithoutRepeats) {
  ReplayRandom a = ReplayRandom::create(3).value();
  ReplayRandom b = ReplayRandom::create(3).value();
  std::vector<std::byte> bytes(3 * BitStream::kBufferBytes);
  a.fill(bytes);
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, sizeof word);
    ASSERT_EQ(word, b.next_u64()) << i;
  }
  std::set<std::uint64_t> distinct;
  for (std::uint64_t word : words(a, 100000)) distinct.insert(word);
  EXPECT_EQ(distinct.size(), 100000U);  // a repeat among 1e5 of 2^64 has probability 3e-10
}

TEST(BitStream, OddSizesLoseNothing) {
  ReplayRandom a = ReplayRandom::create(3).value();
  ReplayRandom b = ReplayRandom::create(3).value();
  std::vector<std::byte> whole(100000);
  a.fill(whole);
  std::vector<std::byte> pieces;
  for (std::size_t size = 1; pieces.size() < whole.size(); size = size % 97 + 1) {
    std::vector<std::byte> piece(std::min(size, whole.size() - pieces.size()));
    b.fill(piece);
    pieces.insert(pieces.end(), piece.begin(), piece.end());
  }
  EXPECT_EQ(whole, pieces);
}

TEST(BitStream, AReplayContinuesFromAnyPosition) {
  ReplayRandom whole = ReplayRandom::create(11).value();
  EXPECT_EQ(whole.position(), 0U);
  EXPECT_EQ(ReplayRandom::create(11, 0).value().next_u64(), ReplayRandom::create(11).value().next_u64());
  std::array<std::byte, 4093> odd{};
  for (int i = 0; i < 30; ++i) {
    whole.fill(odd);
    ReplayRandom rest = ReplayRandom::create(11, whole.position()).value();
    ASSERT_EQ(rest.position(), whole.position());
    for (int k = 0; k < 5000; ++k) ASSERT_EQ(rest.next_u64(), whole.next_u64());
  }
  EXPECT_FALSE(ReplayRandom::create(11, 5).has_value()) << "keys are never read";
}

TEST(BitStream, SecureStreamsDiffer) {
  SecureRandom a = SecureRandom::create().value();
  SecureRandom b = SecureRandom::create().value();
  EXPECT_NE(words(a, 4), words(b, 4));
}

TEST(BitStream, AForkedChildGetsAStreamOfItsOwn) {
  SecureRandom stream = SecureRandom::create().value();
  [[maybe_unused]] auto warm = stream.next_u64();
  for (bool raw : {false, true}) {
    const auto child = words_of_child(stream, 8, raw);
    const auto sibling = words_of_child(stream, 8, raw);
    const auto parent = words(stream, 8);
    EXPECT_NE(child, parent);
    EXPECT_NE(child, sibling);
    EXPECT_NE(child, std::vector<std::uint64_t>(8, 0));
  }
}

// The mutant of the test above: a stream that is not wiped does repeat in the child.
TEST(BitStream, AReplayRepeatsInTheChild) {
  ReplayRandom stream = ReplayRandom::create(5).value();
  [[maybe_unused]] auto warm = stream.next_u64();
  const auto child = words_of_child(stream, 8, false);
  EXPECT_EQ(child, words(stream, 8));
}

TEST(BitStream, MovingKeepsTheStream) {
  ReplayRandom a = ReplayRandom::create(11).value();
  ReplayRandom b = ReplayRandom::create(11).value();
  [[maybe_unused]] auto first = a.next_u64();
  [[maybe_unused]] auto same = b.next_u64();
  ReplayRandom moved = std::move(a);
  EXPECT_EQ(words(moved, 5000), words(b, 5000));
}

// α = 1e-6 a position (two-sided, 64 positions); detects a bit that is stuck or off by 0.25 %.
TEST(BitStream, EveryBitIsBalanced) {
  SecureRandom stream = SecureRandom::create().value();
  constexpr int n = 1 << 20;
  std::array<int, 64> ones{};
  for (int i = 0; i < n; ++i) {
    const std::uint64_t word = stream.next_u64();
    for (std::size_t bit = 0; bit < 64; ++bit) ones[bit] += static_cast<int>(word >> bit & 1);
  }
  for (int count : ones) EXPECT_NEAR(count, n / 2, 5.6 * 512);  // 5.6 standard deviations: 64 · 2e-8
}

TEST(BitStream, StreamsOfThreadsAreIndependentObjects) {
  std::vector<std::uint64_t> firsts(8);
  std::vector<std::thread> threads;
  for (auto& first : firsts) {
    threads.emplace_back([&first] { first = SecureRandom::create().value().next_u64(); });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(std::set<std::uint64_t>(firsts.begin(), firsts.end()).size(), firsts.size());
}

}  // namespace
}  // namespace noisefloor
