#include "noisefloor/federated/row_noise.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "noisefloor/base/check.h"
#include "noisefloor/base/rounding.h"

namespace noisefloor::federated {
namespace {

constexpr std::int64_t kModulus = std::int64_t{1} << RowNoise::kLaneBits;
constexpr std::int64_t kHalf = kModulus / 2;

std::int64_t centred(std::int64_t value) {
  const std::int64_t rest = ((value % kModulus) + kModulus) % kModulus;
  return rest >= kHalf ? rest - kModulus : rest;
}

double honest(const RowNoiseOptions& options) { return options.minimum_survivors - options.colluders; }

// Whether the longest sum of all rows, and the noise of all sites, stay within the lanes.
bool fits(const RowNoiseOptions& options, const GradientGrid& grid) {
  const double share = options.noise.value() * grid.bound() / std::sqrt(honest(options));
  const double noise = 12 * share * std::sqrt(static_cast<double>(options.sites));
  return static_cast<double>(options.rows) * grid.bound() + noise < static_cast<double>(kHalf);
}

}  // namespace

Result<RowNoise> RowNoise::create(const RowNoiseOptions& options) {
  if (options.colluders >= options.minimum_survivors) {
    return invalid_argument(fmt::format("of at least {} survivors, {} collude: nobody's noise could be relied on",
                                        options.minimum_survivors, options.colluders));
  }
  if (options.minimum_survivors > options.sites) {
    return invalid_argument(
        fmt::format("at least {} sites are to survive, and there are {}", options.minimum_survivors, options.sites));
  }
  if (options.rows == 0) return invalid_argument("state how many rows all sites have together");
  NF_TRY(const L2Sensitivity clip, L2Sensitivity::make(options.clip.value()));
  std::optional<GradientGrid> grid;
  for (int bits = kLaneBits - 2; bits >= kLeastBits && !grid; --bits) {
    NF_TRY(const GradientGrid one, GradientGrid::create(clip, options.parameters, bits));
    if (fits(options, one)) grid = one;
  }
  if (!grid) {
    return invalid_argument(
        fmt::format("lanes of {} bits are too few for sums of {} rows with noise multiplier {}: take fewer rows",
                    kLaneBits, options.rows, options.noise.value()));
  }
  const double share = divided_up(times_up(options.noise.value(), grid->bound()), std::sqrt(honest(options)));
  NF_TRY(const NoiseScale sigma, NoiseScale::make(share * (1 + 1e-12)));
  NF_TRY(DiscreteGaussian law, DiscreteGaussian::create(sigma));
  return RowNoise(options, *grid, std::move(law));
}

void RowNoise::add_share(BitStream& stream, std::span<std::int64_t> sum) const {
  NF_CHECK(sum.size() == options_.parameters, "a sum of the model's size");
  std::vector<std::int64_t> noise(sum.size());
  share_.fill(stream, noise);
  for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += noise[k];
}

std::vector<float> RowNoise::lanes_of(std::span<const std::int64_t> sum) const {
  std::vector<float> lanes;
  lanes.reserve(sum.size());
  for (const std::int64_t value : sum) lanes.push_back(static_cast<float>(centred(value)) * kLaneUnit);
  return lanes;
}

std::vector<double> RowNoise::decode(std::span<const double> lanes) const {
  std::vector<double> sum;
  sum.reserve(lanes.size());
  for (const double lane : lanes) {
    const auto steps = static_cast<std::int64_t>(std::llround(lane / static_cast<double>(kLaneUnit)));
    sum.push_back(static_cast<double>(centred(steps)) * grid_.step());
  }
  return sum;
}

Result<DpEvent> RowNoise::event(std::uint32_t survivors) const {
  if (survivors < options_.minimum_survivors) {
    return invalid_argument(
        fmt::format("{} survivors are fewer than {}: nothing may be opened", survivors, options_.minimum_survivors));
  }
  NF_TRY(const Contributors shares, Contributors::make(survivors - options_.colluders));
  NF_TRY(const Dimension dimension, Dimension::make(options_.parameters));
  NF_TRY(const L2Sensitivity l2, L2Sensitivity::make(grid_.bound()));
  NF_TRY(const L1Sensitivity l1,
         L1Sensitivity::make(times_up(grid_.bound(), sqrt_up(static_cast<double>(options_.parameters)))));
  return DpEvent(DiscreteGaussianEvent{share_.sigma(), shares, l1, l2, dimension});
}

}  // namespace noisefloor::federated
