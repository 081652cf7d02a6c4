#include "noisefloor/secagg/share_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "noisefloor/random/bit_stream.h"
#include "noisefloor/random/uniform.h"

namespace noisefloor::secagg {
namespace {

// A shared secret, some of whose shares are changed.
class Dealt {
 public:
  Dealt(std::uint64_t seed, std::uint32_t threshold, std::uint32_t count)
      : threshold_(threshold), stream_(ReplayRandom::create(seed).value()) {
    stream_.fill(std::as_writable_bytes(secret.bytes()));
    for (std::uint32_t i = 0; i < count; ++i) points_.push_back(3 * i + 1);
    shares_ = share_secret(secret, threshold, points_, [this](std::span<std::uint8_t> out) {
                stream_.fill(std::as_writable_bytes(out));
              }).value();
  }

  // Changes `parts` of the five values.
  void spoil(std::size_t index, std::size_t parts = kShareParts) {
    for (std::size_t part = 0; part < parts; ++part) shares_[index].bytes()[8 * part] ^= 1U;
  }
  // Replaces shares by those of another polynomial through the same others: lies that agree with one another.
  void conspire(const std::vector<std::size_t>& indices) {
    const Dealt other(99, threshold_, static_cast<std::uint32_t>(shares_.size()));
    for (const std::size_t i : indices) {
      std::copy_n(other.shares_[i].bytes().begin(), kShareBytes, shares_[i].bytes().begin());
    }
  }
  [[nodiscard]] std::optional<DecodedSecret> decode() const {
    return decode_shares(held(), threshold_, [this](const Secret32& found) { return is(found); });
  }
  [[nodiscard]] std::vector<HeldShare> held() const {
    std::vector<HeldShare> held;
    for (std::size_t i = 0; i < shares_.size(); ++i) held.push_back({points_[i], shares_[i].bytes()});
    return held;
  }
  [[nodiscard]] bool is(const Secret32& found) const { return equal_in_constant_time(found.bytes(), secret.bytes()); }

  Secret32 secret;

 private:
  std::uint32_t threshold_;
  ReplayRandom stream_;
  std::vector<std::uint32_t> points_;
  std::vector<ShareBytes> shares_;
};

void expect_found(const Dealt& dealt, const std::vector<std::size_t>& wrong) {
  const auto decoded = dealt.decode();
  ASSERT_TRUE(decoded.has_value());
  EXPECT_TRUE(dealt.is(decoded->secret));
  EXPECT_EQ(decoded->wrong, wrong);
}

TEST(ShareDecoder, FindsEveryNumberOfWrongSharesUpToHalfOfTheSpareOnes) {
  for (const auto& [threshold, count] :
       std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 5}, {3, 9}, {21, 44}, {31, 66}}) {
    for (std::size_t errors = 0; errors <= (count - threshold) / 2; ++errors) {
      Dealt dealt(count + errors, threshold, count);
      ReplayRandom dice = ReplayRandom::create(1000 * count + errors).value();
      std::vector<std::size_t> wrong;
      while (wrong.size() < errors) {
        const std::size_t index = uniform_below(dice, count);
        if (std::find(wrong.begin(), wrong.end(), index) != wrong.end()) continue;
        wrong.push_back(index);
        dealt.spoil(index, 1 + uniform_below(dice, kShareParts));
      }
      std::sort(wrong.begin(), wrong.end());
      expect_found(dealt, wrong);
    }
  }
}

// The old rule tried a threshold of shares in a row: with two wrong ones this far apart, no such row is all right.
TEST(ShareDecoder, FindsTwoWrongSharesWhereNoThresholdInARowIsRight) {
  constexpr std::size_t count = 36;
  constexpr std::uint32_t threshold = 21;
  Dealt dealt(5, threshold, count);
  const std::vector<std::size_t> wrong = {9, 27};
  for (const std::size_t index : wrong) dealt.spoil(index);
  const std::vector<HeldShare> held = dealt.held();
  for (std::size_t first = 0; first < count; ++first) {
    std::vector<HeldShare> row;
    for (std::size_t i = 0; i < threshold; ++i) row.push_back(held[(first + i) % count]);
    const auto secret = recover_secret(row, threshold);
    EXPECT_FALSE(secret.has_value() && dealt.is(secret.value())) << first;
  }
  expect_found(dealt, wrong);
}

TEST(ShareDecoder, FindsConspiringSharesUpToHalfOfTheSpareOnes) {
  Dealt dealt(6, 10, 20);
  dealt.conspire({0, 4, 5, 11, 19});
  expect_found(dealt, {0, 4, 5, 11, 19});
}

// Two shares to spare tell of one wrong share only; combinations find two.
TEST(ShareDecoder, TriesCombinationsBeyondThat) {
  Dealt dealt(7, 34, 36);
  for (const std::size_t index : {3U, 20U}) dealt.spoil(index);
  expect_found(dealt, {3, 20});
}

TEST(ShareDecoder, NeverGivesAWrongSecret) {
  for (std::size_t errors = 0; errors <= 12; ++errors) {
    Dealt dealt(8 + errors, 8, 12);
    for (std::size_t i = 0; i < errors; ++i) dealt.spoil(i);
    const auto decoded = dealt.decode();
    EXPECT_EQ(decoded.has_value(), errors <= 4) << errors;
    EXPECT_TRUE(!decoded.has_value() || dealt.is(decoded->secret));
  }
  Dealt all(9, 8, 12);
  std::vector<std::size_t> everyone;
  for (std::size_t i = 0; i < 12; ++i) everyone.push_back(i);
  all.conspire(everyone);
  EXPECT_TRUE(are_consistent(all.held(), 8));
  EXPECT_FALSE(all.decode().has_value());
}

TEST(ShareDecoder, NeedsAThreshold) {
  const Dealt dealt(10, 5, 5);
  expect_found(dealt, {});
  const std::vector<HeldShare> held = dealt.held();
  EXPECT_FALSE(decode_shares(std::span(held).first(4), 5, [](const Secret32&) { return true; }).has_value());
}

TEST(ShareDecoder, TellsSharesThatDoNotFit) {
  Dealt dealt(11, 4, 9);
  EXPECT_TRUE(are_consistent(dealt.held(), 4));
  dealt.spoil(8, 1);
  EXPECT_FALSE(are_consistent(dealt.held(), 4));
}

// Values of one polynomial, up to (values − threshold)/2 of them wrong: exactly these are found, and one more is not
// mistaken for a polynomial.
TEST(ShareDecoder, FindsWrongValuesOfOnePolynomial) {
  ReplayRandom stream = ReplayRandom::create(31).value();
  const FillUniform uniform = [&](std::span<std::uint8_t> out) { stream.fill(std::as_writable_bytes(out)); };
  std::vector<std::uint32_t> points;
  for (std::uint32_t i = 0; i < 24; ++i) points.push_back(3 * i + 2);
  for (const std::uint32_t threshold : {1U, 7U, 13U, 24U}) {
    const std::vector<std::uint64_t> right = uniform_polynomial(threshold, points, uniform).value();
    for (std::size_t errors = 0; 2 * errors <= points.size() - threshold; ++errors) {
      std::vector<std::uint64_t> values = right;
      std::vector<std::size_t> expected;
      for (std::size_t i = 0; i < errors; ++i) {
        values[2 * i] ^= 1;
        expected.push_back(2 * i);
      }
      EXPECT_EQ(wrong_values(points, values, threshold), expected) << threshold << " " << errors;
    }
    std::vector<std::uint64_t> junk(points.size());
    for (std::uint64_t& each : junk) each = stream.next_u64() >> 4;
    EXPECT_EQ(wrong_values(points, junk, threshold).has_value(), threshold == 24);
  }
  EXPECT_FALSE(wrong_values(points, std::vector<std::uint64_t>(24), 25).has_value());
}

}  // namespace
}  // namespace noisefloor::secagg
