#include "noisefloor/random/exact_choice.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "noisefloor/base/check.h"
#include "noisefloor/random/uniform.h"
#include "noisefloor/random/wide_real.h"

namespace noisefloor {
namespace {

using internal::WideReal;

constexpr std::size_t kMaxOptions = std::size_t{1} << 24;
constexpr std::uint64_t kMaxMultiplicity = std::uint64_t{1} << 52;
constexpr int kUnitBits = 50;  // bounds are integers in units of 2^-50; their sum stays below 2^127

WideReal wide(Uint128 value) {
  return ldexp(WideReal(static_cast<std::uint64_t>(value >> 64)), 64) + WideReal(static_cast<std::uint64_t>(value));
}

}  // namespace

std::size_t exact_choice(BitStream& stream, std::span<const ExpWeight> options, Uint128 denominator, double margin) {
  NF_CHECK(!options.empty() && options.size() <= kMaxOptions && denominator >= 1, "a choice among 1 to 2^24 options");
  std::vector<double> weights;     // in units, to a relative error of 2^-40: exp of at most 100 or so, else negligible
  std::vector<Uint128> cumulated;  // of the integer bounds
  weights.reserve(options.size());
  cumulated.reserve(options.size());
  Uint128 sum = 0;
  for (const ExpWeight& option : options) {
    NF_CHECK(option.multiplicity >= 1 && option.multiplicity <= kMaxMultiplicity, "a multiplicity from 1 to 2^52");
    const double gamma = static_cast<double>(option.numerator) / static_cast<double>(denominator);
    const double weight = std::ldexp(static_cast<double>(option.multiplicity) * std::exp(-gamma), kUnitBits);
    weights.push_back(weight);
    sum += static_cast<Uint128>(weight * (1 + 0x1p-38)) + 1;
    cumulated.push_back(sum);
  }
  for (;;) {
    const Uint128 point = uniform_below_wide<Uint128>(stream, sum);
    const auto found = std::upper_bound(cumulated.begin(), cumulated.end(), point);
    const auto index = static_cast<std::size_t>(found - cumulated.begin());
    const Uint128 bound = cumulated[index] - (index == 0 ? 0 : cumulated[index - 1]);
    const double ratio = weights[index] / static_cast<double>(bound);
    const std::uint64_t prefix = stream.next_u64();
    const double uniform = std::ldexp(static_cast<double>(prefix), -64);
    if (uniform <= ratio - margin) return index;
    if (uniform >= ratio + margin) continue;
    const WideReal wide_ratio =
        ldexp(options[index].multiplicity * exp(-wide(options[index].numerator) / wide(denominator)), kUnitBits) /
        wide(bound);
    if (internal::decided_at_least(wide_ratio, internal::wide_uniform(stream, prefix, 64), ldexp(WideReal(1), -220))) {
      return index;
    }
  }
}

}  // namespace noisefloor
