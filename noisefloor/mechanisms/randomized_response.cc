#include "noisefloor/mechanisms/randomized_response.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "noisefloor/base/rounding.h"
#include "noisefloor/mechanisms/dimension.h"
#include "noisefloor/random/exact_choice.h"
#include "noisefloor/random/uniform.h"

namespace noisefloor {
namespace {

constexpr double kMinEpsilon = 0x1p-60;
constexpr double kMaxEpsilon = 700;
constexpr std::uint64_t kMaxCategories = std::uint64_t{1} << 52;

}  // namespace

Result<RandomizedResponse> RandomizedResponse::create(Epsilon epsilon, Categories categories, PrivacyUnit unit) {
  if (epsilon.value() < kMinEpsilon || epsilon.value() > kMaxEpsilon) {
    return invalid_argument(fmt::format("randomized response takes an epsilon from {:.3g} to {}; got {}", kMinEpsilon,
                                        kMaxEpsilon, epsilon.value()));
  }
  if (categories.value() > kMaxCategories) {
    return invalid_argument(
        fmt::format("randomized response takes at most {} categories; got {}", kMaxCategories, categories.value()));
  }
  return RandomizedResponse(epsilon, categories, unit);
}

RandomizedResponse::RandomizedResponse(Epsilon epsilon, Categories categories, PrivacyUnit unit)
    : epsilon_(epsilon),
      categories_(categories),
      statement_{Adjacency::kReplaceOne, unit, RandomizedResponseEvent{epsilon, categories}} {
  const auto [mantissa, exponent] = binary_fraction(epsilon.value());  // the exponent is from −113 to 9
  numerator_ = Uint128{mantissa} << std::max(exponent, 0);
  denominator_ = Uint128{1} << std::max(-exponent, 0);
}

Result<std::uint64_t> RandomizedResponse::respond(std::uint64_t truth, BitStream& stream) const {
  if (truth >= categories_.value()) {
    return invalid_argument(fmt::format("the categories are 0 to {}; an answer lies outside", categories_.value() - 1));
  }
  // One of the others, drawn in any case, so that time does not tell whether the report is the truth.
  const std::uint64_t draw = uniform_below(stream, categories_.value() - 1);
  const std::uint64_t other = draw < truth ? draw : draw + 1;
  // The truth, with weight 1, or one of the others, with weight e^-ε each.
  const std::array<ExpWeight, 2> weights = {ExpWeight{1, 0}, ExpWeight{categories_.value() - 1, numerator_}};
  return exact_choice(stream, weights, denominator_) == 0 ? truth : other;
}

double RandomizedResponse::truth_probability() const {
  return 1 / (1 + static_cast<double>(categories_.value() - 1) * std::exp(-epsilon_.value()));
}

Result<RandomizedResponse::Estimate> RandomizedResponse::estimate(std::span<const std::uint64_t> report_counts) const {
  NF_TRY(const Dimension dimension, Dimension::make(categories_.value()));
  NF_TRY_VOID(check_answer_size(dimension, report_counts.size()));
  const double n = std::accumulate(report_counts.begin(), report_counts.end(), 0.0,
                                   [](double sum, std::uint64_t count) { return sum + static_cast<double>(count); });
  // Probabilities of the truth and of each other category, and their difference, without cancellation.
  const double p = truth_probability();
  const double q = std::exp(-epsilon_.value()) * p;
  const double gap = -std::expm1(-epsilon_.value()) * p;
  const double not_p = static_cast<double>(categories_.value() - 1) * q;
  Estimate estimate{{}, std::sqrt(n * std::max(p * not_p, q * (1 - q))) / gap};
  estimate.counts.reserve(report_counts.size());
  for (std::uint64_t count : report_counts) estimate.counts.push_back((static_cast<double>(count) - n * q) / gap);
  return estimate;
}

}  // namespace noisefloor
