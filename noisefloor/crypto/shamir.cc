#include "noisefloor/crypto/shamir.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "noisefloor/crypto/field61.h"

namespace noisefloor {
namespace {

using field61::add;
using field61::inverse;
using field61::kPrime;
using field61::multiply;

constexpr std::size_t kPartBytes = 7;

using Parts = std::array<std::uint64_t, kShareParts>;

Parts parts_of(const Secret32& secret) {
  std::array<std::uint8_t, kPartBytes * kShareParts> padded{};
  std::copy(secret.bytes().begin(), secret.bytes().end(), padded.begin());
  Parts parts{};
  for (std::size_t i = 0; i < kShareParts; ++i) std::memcpy(&parts[i], padded.data() + kPartBytes * i, kPartBytes);
  wipe(padded);
  return parts;
}

void wipe_words(std::span<std::uint64_t> words) {
  wipe({reinterpret_cast<std::uint8_t*>(words.data()), words.size_bytes()});
}

// Draws uniform coefficients below the prime: 61 bits, drawn again if they are the prime (probability 2^-61).
void fill_uniform(std::span<std::uint64_t> out, const FillUniform& uniform) {
  uniform({reinterpret_cast<std::uint8_t*>(out.data()), out.size_bytes()});
  for (std::uint64_t& x : out) {
    x &= kPrime;
    while (x == kPrime) {
      uniform({reinterpret_cast<std::uint8_t*>(&x), sizeof x});
      x &= kPrime;
    }
  }
}

bool are_points(std::vector<std::uint32_t> points) {
  std::sort(points.begin(), points.end());
  return (points.empty() || (points.front() >= 1 && points.back() <= kMaxPoint)) &&
         std::adjacent_find(points.begin(), points.end()) == points.end();
}

Result<void> check_holders(std::uint32_t threshold, std::span<const std::uint32_t> points) {
  if (threshold < 1 || threshold > points.size()) {
    return invalid_argument(
        fmt::format("a secret cannot be shared among {} holders with threshold {}", points.size(), threshold));
  }
  if (!are_points({points.begin(), points.end()})) {
    return invalid_argument(fmt::format("points of shares must be distinct and from 1 to {}", kMaxPoint));
  }
  return success();
}

Parts values_of(Bytes share) {
  Parts parts{};
  std::memcpy(parts.data(), share.data(), kShareBytes);
  return parts;
}

}  // namespace

bool is_share(Bytes bytes) {
  if (bytes.size() != kShareBytes) return false;
  Parts parts = values_of(bytes);
  std::uint64_t above = 0;
  for (const std::uint64_t part : parts) above |= part >> 61 | (kPrime - 1 - (part & kPrime)) >> 63;
  wipe_words(parts);
  return above == 0;
}

Result<std::vector<ShareBytes>> share_secret(const Secret32& secret, std::uint32_t threshold,
                                             std::span<const std::uint32_t> points, const FillUniform& uniform) {
  NF_TRY_VOID(check_holders(threshold, points));
  Parts constants = parts_of(secret);
  // Coefficients of the powers 1, …, threshold − 1; those of the five polynomials side by side.
  std::vector<std::uint64_t> coefficients((threshold - 1) * kShareParts);
  fill_uniform(coefficients, uniform);
  std::vector<ShareBytes> shares(points.size());
  Parts values{};
  for (std::size_t k = 0; k < points.size(); ++k) {
    values = {};
    for (std::size_t power = threshold - 1; power > 0; --power) {
      const std::uint64_t* row = coefficients.data() + (power - 1) * kShareParts;
      for (std::size_t i = 0; i < kShareParts; ++i) values[i] = multiply(add(values[i], row[i]), points[k]);
    }
    for (std::size_t i = 0; i < kShareParts; ++i) values[i] = add(values[i], constants[i]);
    std::memcpy(shares[k].bytes().data(), values.data(), kShareBytes);
  }
  wipe_words(coefficients);
  wipe_words(constants);
  wipe_words(values);
  return shares;
}

Result<std::vector<std::uint64_t>> uniform_polynomial(std::uint32_t threshold, std::span<const std::uint32_t> points,
                                                      const FillUniform& uniform) {
  NF_TRY_VOID(check_holders(threshold, points));
  std::vector<std::uint64_t> coefficients(threshold);
  fill_uniform(coefficients, uniform);
  std::vector<std::uint64_t> values(points.size());
  for (std::size_t k = 0; k < points.size(); ++k) {
    for (std::size_t power = threshold; power-- > 0;) {
      values[k] = add(multiply(values[k], points[k]), coefficients[power]);
    }
  }
  wipe_words(coefficients);
  return values;
}

Result<Secret32> recover_secret(std::span<const HeldShare> shares, std::uint32_t threshold) {
  const auto refused = [](std::string_view why) {
    return Error{ErrorCode::kProtocol, fmt::format("the shares give no secret: {}", why)};
  };
  if (threshold < 1 || shares.size() != threshold) return refused("exactly as many as the threshold are needed");
  std::vector<std::uint32_t> points;
  for (const HeldShare& share : shares) {
    points.push_back(share.point);
    if (!is_share(share.bytes)) return refused("a value is out of range");
  }
  if (!are_points(std::move(points))) return refused("points are out of range or not distinct");
  // Lagrange at 0: the weight of point x is the product over the others y of y/(y − x).
  Parts sums{};
  for (const HeldShare& share : shares) {
    std::uint64_t above = 1;
    std::uint64_t below = 1;
    for (const HeldShare& other : shares) {
      if (other.point == share.point) continue;
      above = multiply(above, other.point);
      below = multiply(below, add(other.point, kPrime - share.point));
    }
    const std::uint64_t weight = multiply(above, inverse(below));
    Parts values = values_of(share.bytes);
    for (std::size_t i = 0; i < kShareParts; ++i) sums[i] = add(sums[i], multiply(weight, values[i]));
    wipe_words(values);
  }
  // The last part holds 4 bytes, the others 7.
  std::uint64_t beyond = sums[kShareParts - 1] >> 32;
  for (const std::uint64_t part : sums) beyond |= part >> 56;
  std::array<std::uint8_t, kPartBytes * kShareParts> padded{};
  for (std::size_t i = 0; i < kShareParts; ++i) std::memcpy(padded.data() + kPartBytes * i, &sums[i], kPartBytes);
  Secret32 secret;
  std::copy_n(padded.begin(), secret.bytes().size(), secret.bytes().begin());
  wipe(padded);
  wipe_words(sums);
  if (beyond != 0) return refused("their result is too long");
  return secret;
}

}  // namespace noisefloor
