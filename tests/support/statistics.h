// Statistical tests against exact probabilities.
//
// Every test that uses this states the defect it detects and holds a mutant (wrong scale, no noise, …) that must be
// rejected, at the same number of draws. Draws come from a replayed stream with a fixed seed, so a test gives the same
// verdict every time; α = 1e-6 is the chance that a correct sampler would have been rejected when the seed was chosen.
#pragma once

#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace noisefloor::testing {

inline constexpr double kAlpha = 1e-6;

// Pearson's test: whether `counts` of `draws` draws agree with `probability` of each outcome. Outcomes that are
// expected fewer than 10 times are pooled, with everything outside [first, last].
inline double chi_square_p_value(const std::map<std::int64_t, std::uint64_t>& counts, std::uint64_t draws,
                                 std::int64_t first, std::int64_t last,
                                 const std::function<double(std::int64_t)>& probability) {
  double statistic = 0;
  double cells = 0;
  double pooled_expected = static_cast<double>(draws);
  double pooled_count = static_cast<double>(draws);
  for (std::int64_t x = first; x <= last; ++x) {
    const double expected = probability(x) * static_cast<double>(draws);
    if (expected < 10) continue;
    const auto found = counts.find(x);
    const double count = found == counts.end() ? 0 : static_cast<double>(found->second);
    statistic += (count - expected) * (count - expected) / expected;
    pooled_expected -= expected;
    pooled_count -= count;
    ++cells;
  }
  if (pooled_expected > 1) {
    statistic += (pooled_count - pooled_expected) * (pooled_count - pooled_expected) / pooled_expected;
    ++cells;
  } else if (pooled_count > 30) {
    return 0;  // outcomes that should hardly ever happen
  }
  if (cells < 2) return 1;
  return boost::math::cdf(boost::math::complement(boost::math::chi_squared(cells - 1), statistic));
}

// The p-value of `draws` draws of an integer sampler against its exact law on [first, last].
inline double p_value_of_sampler(std::uint64_t draws, const std::function<std::int64_t()>& sampler, std::int64_t first,
                                 std::int64_t last, const std::function<double(std::int64_t)>& probability) {
  std::map<std::int64_t, std::uint64_t> counts;
  for (std::uint64_t i = 0; i < draws; ++i) ++counts[sampler()];
  return chi_square_p_value(counts, draws, first, last, probability);
}

// The p-value (two-sided, normal approximation) of `hits` successes in `draws` coins of the given probability.
inline double coin_p_value(std::uint64_t hits, std::uint64_t draws, double probability) {
  const double n = static_cast<double>(draws);
  const double z = (static_cast<double>(hits) - n * probability) / std::sqrt(n * probability * (1 - probability));
  return std::erfc(std::fabs(z) / std::sqrt(2.0));
}

}  // namespace noisefloor::testing
