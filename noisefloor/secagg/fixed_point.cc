#include "noisefloor/secagg/fixed_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "noisefloor/base/check.h"
#include "noisefloor/base/wide_int.h"

namespace noisefloor::secagg {

std::int64_t round_at_random(BitStream& stream, double value) {
  const double below = std::floor(value);
  const double uniform = static_cast<double>(stream.next_u64() >> 11) * 0x1p-53;
  return static_cast<std::int64_t>(below) + (uniform < value - below ? 1 : 0);
}

Result<FixedPoint> FixedPoint::create(const FixedPointOptions& options) {
  if (!(options.bound > 0 && options.step > 0 && std::isfinite(options.bound) && std::isfinite(options.step))) {
    return invalid_argument(
        fmt::format("bound and step must be finite and above 0; got {} and {}", options.bound, options.step));
  }
  if (options.dimension < 1 || options.dimension >= kMaxDimension || options.clients < 1) {
    return invalid_argument(fmt::format("a sum needs coordinates, up to {}, and clients; got {} and {}",
                                        kMaxDimension - 1, options.dimension, options.clients));
  }
  // |w·x / step| ≤ w·bound / step, rounded up at most; two units of the last place for the three roundings of the
  // quotient.
  const double weight = std::max(options.max_weight, 1U);
  const double most = std::ceil(weight * options.bound / options.step * (1 + 0x1p-51)) + 1;
  if (!(most < 0x1p62))
    return invalid_argument(fmt::format("a bound of {} steps is too much", options.bound / options.step));
  const auto largest = std::max(static_cast<std::uint64_t>(most), std::uint64_t{options.max_weight});
  const Uint128 sum = Uint128{largest} * options.clients;
  if (sum >> 63 != 0) {
    return invalid_argument(fmt::format("sums of {} clients with {} steps each do not fit 64 bits; take a coarser step",
                                        options.clients, largest));
  }
  const auto bits = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(sum)) + 1);
  return FixedPoint(options, bits);
}

LaneVector FixedPoint::encode(BitStream& stream, std::span<const double> values, std::uint32_t weight) const {
  NF_CHECK(values.size() == options_.dimension, "a vector of the dimension");
  weight = is_weighted() ? std::min(weight, options_.max_weight) : 1;
  LaneVector encoded(dimension(), bits_);
  for (std::uint64_t i = 0; i < options_.dimension; ++i) {
    const double clipped = std::isnan(values[i]) ? 0 : std::clamp(values[i], -options_.bound, options_.bound);
    encoded.set(i, static_cast<std::uint64_t>(round_at_random(stream, weight * clipped / options_.step)));
  }
  if (is_weighted()) encoded.set(options_.dimension, weight);
  return encoded;
}

FixedPoint::Sum FixedPoint::decode(const LaneVector& sum) const {
  NF_CHECK(sum.bits() == bits_ && sum.dimension() == dimension(), "a sum of encoded vectors");
  Sum decoded{std::vector<double>(options_.dimension), is_weighted() ? sum.get(options_.dimension) : 0};
  for (std::uint64_t i = 0; i < options_.dimension; ++i) {
    decoded.values[i] = static_cast<double>(sum.get_signed(i)) * options_.step;
  }
  return decoded;
}

}  // namespace noisefloor::secagg
