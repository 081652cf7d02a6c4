#include "noisefloor/crypto/shamir.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "noisefloor/crypto/test_bytes.h"

namespace noisefloor {
namespace {

// Makes bytes that look uniform and are repeatable: tags of a counter.
FillUniform replay(std::uint64_t seed) {
  return [seed, counter = std::uint64_t{0}](std::span<std::uint8_t> out) mutable {
    for (std::uint8_t& byte : out) {
      counter += 0x9e3779b97f4a7c15U;
      std::uint64_t x = counter ^ seed;
      x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
      x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
      byte = static_cast<std::uint8_t>(x >> 33);
    }
  };
}

Secret32 some_secret(std::uint64_t seed) {
  Secret32 secret;
  replay(seed ^ 0xffff)(secret.bytes());
  return secret;
}

std::vector<std::uint32_t> first_points(std::uint32_t count) {
  std::vector<std::uint32_t> points(count);
  std::iota(points.begin(), points.end(), 1U);
  return points;
}

std::vector<HeldShare> held(const std::vector<ShareBytes>& shares, const std::vector<std::uint32_t>& points) {
  std::vector<HeldShare> result;
  for (const std::uint32_t point : points) result.push_back({point, shares[point - 1].bytes()});
  return result;
}

TEST(Shamir, GivesTheSecretBackFromAnyThresholdOfShares) {
  for (const auto& [threshold, points] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{
           {1, 1}, {1, 5}, {2, 3}, {3, 5}, {5, 5}, {31, 66}, {124, 194}}) {
    const Secret32 secret = some_secret(threshold);
    const auto shares = share_secret(secret, threshold, first_points(points), replay(points)).value();
    std::vector<std::uint32_t> all = first_points(points);
    for (int turn = 0; turn < 5; ++turn) {
      std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(points / 3 + 1) % points, all.end());
      const std::vector<std::uint32_t> chosen(all.begin(), all.begin() + threshold);
      const Secret32 back = recover_secret(held(shares, chosen), threshold).value();
      EXPECT_TRUE(equal_in_constant_time(back.bytes(), secret.bytes()));
    }
  }
}

TEST(Shamir, GivesExtremeSecretsBack) {
  for (const std::uint8_t fill : {std::uint8_t{0}, std::uint8_t{0xff}}) {
    Secret32 secret;
    std::fill(secret.bytes().begin(), secret.bytes().end(), fill);
    const auto shares = share_secret(secret, 3, first_points(4), replay(1)).value();
    const Secret32 back = recover_secret(held(shares, {4, 1, 3}), 3).value();
    EXPECT_TRUE(equal_in_constant_time(back.bytes(), secret.bytes()));
  }
}

// Computed by hand: with threshold 2 and the coefficient 5, the share at x is part + 5x.
TEST(Shamir, SharesValuesOfThePolynomial) {
  Secret32 secret;
  secret.bytes()[0] = 3;
  const FillUniform fives = [](std::span<std::uint8_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = i % 8 == 0 ? 5 : 0;
  };
  const auto shares = share_secret(secret, 2, first_points(2), fives).value();
  EXPECT_EQ(to_hex(shares[0].bytes()).substr(0, 32), "08000000000000000500000000000000");
  EXPECT_EQ(to_hex(shares[1].bytes()).substr(0, 32), "0d000000000000000a00000000000000");
}

TEST(Shamir, GivesNothingFromTooFewShares) {
  const auto shares = share_secret(some_secret(1), 3, first_points(5), replay(2)).value();
  EXPECT_FALSE(recover_secret(held(shares, {1, 2}), 3).has_value());
  // A wrong threshold gives something else than the secret, or nothing.
  const auto wrong = recover_secret(held(shares, {1, 2}), 2);
  EXPECT_TRUE(!wrong.has_value() || !equal_in_constant_time(wrong.value().bytes(), some_secret(1).bytes()));
}

TEST(Shamir, RefusesWrongSharesOrGivesAnotherSecret) {
  const Secret32 secret = some_secret(3);
  const auto shares = share_secret(secret, 3, first_points(5), replay(4)).value();
  EXPECT_FALSE(recover_secret(held(shares, {1, 2, 2}), 3).has_value());
  EXPECT_FALSE(recover_secret(held(shares, {1, 2, 3, 4}), 3).has_value());
  auto bad = held(shares, {1, 2, 3});
  bad[0].point = 0;
  EXPECT_FALSE(recover_secret(bad, 3).has_value());
  bad[0].point = kMaxPoint + 1;
  EXPECT_FALSE(recover_secret(bad, 3).has_value());
  bad[0].point = 4;  // the point of another share
  const auto moved = recover_secret(bad, 3);
  EXPECT_TRUE(!moved.has_value() || !equal_in_constant_time(moved.value().bytes(), secret.bytes()));
  for (std::size_t i = 0; i < kShareBytes; ++i) {
    ShareBytes changed = shares[1].clone();
    changed.bytes()[i] ^= 1U;
    auto mixed = held(shares, {1, 2, 3});
    mixed[1].bytes = changed.bytes();
    const auto other = recover_secret(mixed, 3);
    EXPECT_TRUE(!other.has_value() || !equal_in_constant_time(other.value().bytes(), secret.bytes())) << i;
  }
}

TEST(Shamir, ChecksTheFormOfShares) {
  ShareBytes share;
  EXPECT_TRUE(is_share(share.bytes()));
  EXPECT_FALSE(is_share(share.bytes().first<kShareBytes - 1>()));
  for (std::size_t part = 0; part < kShareParts; ++part) {
    for (const std::uint64_t value : {(1ULL << 61) - 1, 1ULL << 61, 1ULL << 63, ~0ULL, (1ULL << 61) - 2}) {
      ShareBytes changed;
      std::memcpy(changed.bytes().data() + 8 * part, &value, sizeof value);
      EXPECT_EQ(is_share(changed.bytes()), value == (1ULL << 61) - 2) << value;
    }
  }
}

TEST(Shamir, ChecksItsLimits) {
  const Secret32 secret = some_secret(5);
  for (const auto& [threshold, points] : std::vector<std::pair<std::uint32_t, std::vector<std::uint32_t>>>{
           {0, {1}}, {2, {1}}, {1, {}}, {1, {0}}, {1, {kMaxPoint + 1}}, {2, {3, 4, 3}}}) {
    EXPECT_EQ(share_secret(secret, threshold, points, replay(1)).error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(Shamir, WorksWithAnyDistinctPoints) {
  const Secret32 secret = some_secret(6);
  const std::vector<std::uint32_t> points = {kMaxPoint, 17, 1, 4096};
  const auto shares = share_secret(secret, 3, points, replay(1)).value();
  std::vector<HeldShare> chosen;
  for (const std::size_t i : {3U, 0U, 2U}) chosen.push_back({points[i], shares[i].bytes()});
  EXPECT_TRUE(equal_in_constant_time(recover_secret(chosen, 3).value().bytes(), secret.bytes()));
}

}  // namespace
}  // namespace noisefloor
