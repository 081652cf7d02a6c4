#include "noisefloor/mechanisms/randomized_response.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "noisefloor/mechanisms/dimension.h"
#include "noisefloor/random/bernoulli_exp.h"
#include "noisefloor/random/uniform.h"

namespace noisefloor {
namespace {

constexpr double kMinEpsilon = 0x1p-60;
constexpr double kMaxEpsilon = 700;

}  // namespace

Result<RandomizedResponse> RandomizedResponse::create(Epsilon epsilon, Categories categories, PrivacyUnit unit) {
  if (epsilon.value() < kMinEpsilon || epsilon.value() > kMaxEpsilon) {
    return invalid_argument(fmt::format("randomized response takes an epsilon from {:.3g} to {}; got {}", kMinEpsilon,
                                        kMaxEpsilon, epsilon.value()));
  }
  return RandomizedResponse(epsilon, categories, unit);
}

RandomizedResponse::RandomizedResponse(Epsilon epsilon, Categories categories, PrivacyUnit unit)
    : epsilon_(epsilon),
      categories_(categories),
      statement_{Adjacency::kReplaceOne, unit, RandomizedResponseEvent{epsilon, categories}} {
  int exponent = 0;
  numerator_ = static_cast<std::uint64_t>(std::ldexp(std::frexp(epsilon.value(), &exponent), 53));
  exponent -= 53;  // from −113 to −43 in the range of ε
  denominator_ = Uint128{1} << -exponent;
}

Result<std::uint64_t> RandomizedResponse::respond(std::uint64_t truth, BitStream& stream) const {
  if (truth >= categories_.value()) {
    return invalid_argument(fmt::format("the categories are 0 to {}; an answer lies outside", categories_.value() - 1));
  }
  // A uniform category is kept if it is the truth, and with probability e^-ε if it is another.
  for (;;) {
    const std::uint64_t candidate = uniform_below(stream, categories_.value());
    if (candidate == truth || bernoulli_exp<Uint128>(stream, numerator_, denominator_)) return candidate;
  }
}

double RandomizedResponse::truth_probability() const {
  return 1 / (1 + static_cast<double>(categories_.value() - 1) * std::exp(-epsilon_.value()));
}

Result<RandomizedResponse::Estimate> RandomizedResponse::estimate(std::span<const std::uint64_t> report_counts) const {
  NF_TRY(const Dimension dimension, Dimension::make(categories_.value()));
  NF_TRY_VOID(check_answer_size(dimension, report_counts.size()));
  const double n = std::accumulate(report_counts.begin(), report_counts.end(), 0.0,
                                   [](double sum, std::uint64_t count) { return sum + static_cast<double>(count); });
  const double p = truth_probability();
  const double q = (1 - p) / static_cast<double>(categories_.value() - 1);
  Estimate estimate{{}, std::sqrt(n * std::max(p * (1 - p), q * (1 - q))) / (p - q)};
  for (std::uint64_t count : report_counts) estimate.counts.push_back((static_cast<double>(count) - n * q) / (p - q));
  return estimate;
}

}  // namespace noisefloor
