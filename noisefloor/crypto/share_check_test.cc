#include "noisefloor/crypto/share_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

#include "noisefloor/crypto/field61.h"

namespace noisefloor {
namespace {

// Bytes that look uniform and are repeatable.
FillUniform replay(std::uint64_t seed) {
  return [counter = seed * 0x632be59bd9b4e019U](std::span<std::uint8_t> out) mutable {
    for (std::uint8_t& byte : out) {
      std::uint64_t x = counter += 0x9e3779b97f4a7c15U;
      x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
      x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
      byte = static_cast<std::uint8_t>(x >> 33);
    }
  };
}

CheckCoefficients coefficients(std::uint64_t seed) {
  std::array<std::uint8_t, 8 * kCheckParts> uniform{};
  replay(seed)(uniform);
  return check_coefficients(uniform);
}

struct Dealt {
  std::vector<std::uint32_t> points;
  std::vector<ShareBytes> first;
  std::vector<ShareBytes> second;
  std::vector<Blinding> blinding;

  [[nodiscard]] std::vector<std::uint64_t> answers(const CheckCoefficients& by) const {
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i < points.size(); ++i) {
      values.push_back(check_value(first[i].bytes(), second[i].bytes(), blinding[i].bytes(), by));
    }
    return values;
  }
};

Dealt deal(std::uint64_t seed, std::uint32_t threshold, std::uint32_t holders, std::uint8_t secret = 7) {
  Dealt dealt;
  dealt.points.resize(holders);
  std::iota(dealt.points.begin(), dealt.points.end(), 1U);
  Secret32 one;
  one.bytes()[0] = secret;
  dealt.first = share_secret(one, threshold, dealt.points, replay(seed)).value();
  dealt.second = share_secret(Secret32(), threshold, dealt.points, replay(seed + 1)).value();
  dealt.blinding = draw_blinding(threshold, dealt.points, replay(seed + 2)).value();
  return dealt;
}

// Whether values at the points 1, 2, … are those of a polynomial of this degree: its differences vanish.
bool are_of_degree(std::vector<std::uint64_t> values, std::size_t degree) {
  for (std::size_t turn = 0; turn <= degree; ++turn) {
    for (std::size_t i = 0; i + 1 < values.size(); ++i) values[i] = field61::subtract(values[i + 1], values[i]);
    values.pop_back();
  }
  return std::all_of(values.begin(), values.end(), [](std::uint64_t value) { return value == 0; });
}

TEST(ShareCheck, AnswersOfAnHonestDealerLieOnAPolynomial) {
  for (const std::uint32_t threshold : {1U, 2U, 5U, 9U}) {
    const Dealt dealt = deal(threshold, threshold, 12);
    EXPECT_TRUE(are_of_degree(dealt.answers(coefficients(3)), threshold - 1));
  }
}

TEST(ShareCheck, FindsEveryShareThatIsOffThePolynomial) {
  for (std::size_t part = 0; part < kShareParts; ++part) {
    for (const bool second : {false, true}) {
      Dealt dealt = deal(1, 5, 12);
      (second ? dealt.second : dealt.first)[3].bytes()[8 * part] ^= 1;
      EXPECT_FALSE(are_of_degree(dealt.answers(coefficients(4)), 4)) << part << second;
    }
  }
  Dealt dealt = deal(1, 5, 12);
  dealt.blinding[3].bytes()[0] ^= 1;
  EXPECT_FALSE(are_of_degree(dealt.answers(coefficients(4)), 4));
  // Two errors that cancel for one combination do not for another.
  dealt = deal(1, 5, 12);
  dealt.first[3].bytes()[0] ^= 1;
  dealt.second[3].bytes()[0] ^= 1;
  EXPECT_FALSE(are_of_degree(dealt.answers(coefficients(5)), 4));
}

// What the collector sees for two secrets has the same law: the combined polynomial is uniform. Counts the low bits of
// all answers over many dealings; α = 1e-6 for 2^8 cells of about 47 each; without blinding the first answer of a
// threshold of 1 is the secret's own combination, and all dealings fall into one cell.
TEST(ShareCheck, AnswersSayNothingOfTheSecret) {
  for (const auto secret : {std::uint8_t{0}, std::uint8_t{200}}) {
    std::map<std::uint64_t, int> cells;
    std::map<std::uint64_t, int> unblinded;
    for (std::uint64_t seed = 0; seed < 12'000; ++seed) {
      Dealt dealt = deal(10 * seed, 1, 1, secret);
      ++cells[dealt.answers(coefficients(6))[0] & 0xff];
      dealt.blinding[0] = Blinding();
      ++unblinded[dealt.answers(coefficients(6))[0] & 0xff];
    }
    double chi_square = 0;
    for (std::uint64_t cell = 0; cell < 256; ++cell) chi_square += std::pow(cells[cell] - 46.875, 2) / 46.875;
    EXPECT_LT(chi_square, 255 + 5.5 * std::sqrt(2 * 255.0));
    EXPECT_EQ(unblinded.size(), 1U);
  }
}

TEST(ShareCheck, RefusesOddNumbers) {
  std::array<std::uint8_t, kCheckBytes> bytes{};
  EXPECT_TRUE(is_check_value(bytes));
  bytes.fill(0xff);
  EXPECT_FALSE(is_check_value(bytes));
  std::memcpy(bytes.data(), &field61::kPrime, 8);
  EXPECT_FALSE(is_check_value(bytes));
  EXPECT_FALSE(is_check_value(Bytes(bytes).first(7)));
  std::array<std::uint8_t, 8 * kCheckParts> largest{};
  largest.fill(0xff);
  for (const std::uint64_t each : check_coefficients(largest)) EXPECT_LT(each, field61::kPrime);
  const std::vector<std::uint32_t> twice = {1, 1};
  EXPECT_FALSE(draw_blinding(1, twice, replay(1)).has_value());
}

}  // namespace
}  // namespace noisefloor
