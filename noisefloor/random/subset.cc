#include "noisefloor/random/subset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "noisefloor/random/uniform.h"
#include "noisefloor/random/wide_real.h"

namespace noisefloor {
namespace {

using internal::WideReal;

constexpr double kSmallRate = 1.0 / 16;
constexpr std::uint32_t kStretch = 1024;  // indices in a stretch
constexpr std::uint32_t kMaxStretches =
    1024;  // the table of stretches ends here; beyond, the draw starts again from there

// first · ratio^i for i < count.
std::vector<WideReal> geometric(const WideReal& first, const WideReal& ratio, std::uint32_t count) {
  std::vector<WideReal> p;
  WideReal term = first;
  for (std::uint32_t i = 0; i < count; ++i) {
    p.push_back(term);
    term *= ratio;
  }
  return p;
}

}  // namespace

Result<std::vector<std::uint64_t>> uniform_subset(BitStream& stream, std::uint64_t size, std::uint64_t population) {
  if (size > population) {
    return invalid_argument(fmt::format("a subset of {} does not fit in a population of {}", size, population));
  }
  // Floyd's algorithm: one draw for each element of the subset.
  std::unordered_set<std::uint64_t> chosen;
  chosen.reserve(size);
  for (std::uint64_t top = population - size; top < population; ++top) {
    const std::uint64_t index = uniform_below(stream, top + 1);
    if (!chosen.insert(index).second) chosen.insert(top);
  }
  std::vector<std::uint64_t> sorted(chosen.begin(), chosen.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

PoissonSubsampler::PoissonSubsampler(SamplingRate rate) : rate_(rate) {
  if (rate.value() >= kSmallRate) return;
  const WideReal q = rate.value();
  std::vector<WideReal> places = geometric(1, 1 - q, kStretch);
  const WideReal sum = std::accumulate(places.begin(), places.end(), WideReal(0));
  for (WideReal& place : places) place /= sum;
  const WideReal choice_in_stretch = q * sum;
  gaps_ = Gaps{internal::AliasTable({geometric(choice_in_stretch, 1 - choice_in_stretch, kMaxStretches)}),
               internal::AliasTable({std::move(places)})};
}

std::uint64_t PoissonSubsampler::gap(BitStream& stream, std::uint64_t limit) const {
  std::uint64_t stretches = 0;
  for (;;) {
    const std::uint32_t drawn = gaps_->stretches.sample(stream).outcome;
    stretches += drawn;
    if (stretches > limit / kStretch) return limit;
    if (drawn < kMaxStretches) break;
  }
  const std::uint64_t before = stretches * kStretch;
  const std::uint64_t place = gaps_->places.sample(stream).outcome;
  return place >= limit - before ? limit : before + place;
}

std::vector<std::uint64_t> PoissonSubsampler::sample(BitStream& stream, std::uint64_t population) const {
  std::vector<std::uint64_t> chosen;
  const double expected = static_cast<double>(population) * rate_.value();
  chosen.reserve(static_cast<std::size_t>(expected + 6 * std::sqrt(expected) + 16));
  if (gaps_) {
    for (std::uint64_t next = 0; next < population; ++next) {
      const std::uint64_t skipped = gap(stream, population - next);
      if (skipped == population - next) break;
      next += skipped;
      chosen.push_back(next);
    }
    return chosen;
  }
  // A rate of 2^-4 or more has no bits below 2^-57, so that rate · 2^64 is a whole number (1 is taken apart).
  const bool all = rate_.value() == 1;
  const auto threshold = all ? 0 : static_cast<std::uint64_t>(std::ldexp(rate_.value(), 64));
  for (std::uint64_t index = 0; index < population; ++index) {
    if (all || stream.next_u64() < threshold) chosen.push_back(index);
  }
  return chosen;
}

}  // namespace noisefloor
