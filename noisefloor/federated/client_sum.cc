#include "noisefloor/federated/client_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "noisefloor/base/check.h"
#include "noisefloor/random/gaussian_vector.h"

namespace noisefloor::federated {
namespace {

double count_noise(const ClientSumOptions& options) {
  return options.adaptive->count_noise > 0 ? options.adaptive->count_noise : options.denominator / 20;
}

constexpr double kRoundingMargin = 1e-6;  // of norms and factors in floating point, generously

}  // namespace

Result<void> check_client_sum(const ClientSumOptions& options) {
  if (!(options.denominator > 0 && std::isfinite(options.denominator))) {
    return invalid_argument(fmt::format(
        "the fixed denominator must be above 0, and is {}: state the expected number of clients", options.denominator));
  }
  if (!(options.clip.value() < static_cast<double>(ExactSum::kBound) && options.clip.value() > 1e-6)) {
    return invalid_argument(fmt::format("the clip norm must be above 1e-6 and below {}, and is {}", ExactSum::kBound,
                                        options.clip.value()));
  }
  if (!options.adaptive) return success();
  const ClientAdaptiveClip& adaptive = *options.adaptive;
  if (!(adaptive.quantile > 0 && adaptive.quantile < 1)) {
    return invalid_argument(fmt::format("the quantile must be above 0 and below 1, and is {}", adaptive.quantile));
  }
  if (!(adaptive.rate > 0 && adaptive.rate <= 2)) {
    return invalid_argument(
        fmt::format("the rate of the clip norm must be above 0 and at most 2, and is {}", adaptive.rate));
  }
  if (!(adaptive.count_noise >= 0 && std::isfinite(adaptive.count_noise))) {
    return invalid_argument(fmt::format("the count's noise must be 0 or above, and is {}", adaptive.count_noise));
  }
  if (options.noise && !(options.noise->value() < 2 * count_noise(options))) {
    return invalid_argument(
        fmt::format("noise multiplier {} is not below twice the count's noise {}: expect more "
                    "clients in a round, or give the count more noise",
                    options.noise->value(), count_noise(options)));
  }
  return success();
}

double multiplier_on_sum(const ClientSumOptions& options) {
  const double z = options.noise->value();
  if (!options.adaptive) return z;
  const double count = 2 * count_noise(options);
  return z / std::sqrt(1 - z / count * (z / count)) * (1 + 1e-12);
}

DpEvent client_event(const ClientSumOptions& options) {
  if (!options.noise) return NonPrivateEvent{"no noise is added to the sum over clients"};
  return GaussianEvent{*options.noise};
}

ClientSum::ClientSum(const ClientSumOptions& options, std::size_t dimension, ClipNorm clip)
    : options_(options), clip_(clip), sum_(dimension) {}

void ClientSum::add(std::span<const float> vector) {
  double squares = 0;
  for (const float value : vector) squares += static_cast<double>(value) * static_cast<double>(value);
  if (!std::isfinite(squares)) {  // zeros, which are within the norm
    ++unclipped_;
    sum_.add(std::vector<float>(vector.size()));
    return;
  }
  const double norm = std::sqrt(squares);
  if (norm <= clip_.value()) ++unclipped_;
  // Rounding to steps moves a vector by at most half a step in each coordinate.
  const double rounding = std::sqrt(static_cast<double>(vector.size())) * ExactSum::kStep / 2;
  const double allowed = std::max(0.0, clip_.value() * (1 - kRoundingMargin) - rounding);
  const double factor = norm > allowed ? allowed / norm : 1;
  std::vector<float> shortened;
  shortened.reserve(vector.size());
  for (const float value : vector) shortened.push_back(static_cast<float>(factor * static_cast<double>(value)));
  sum_.add(shortened);
}

ClientSum::Released ClientSum::finish(BitStream& stream) {
  NF_CHECK(!finished_, "a sum is released once");
  finished_ = true;
  Released released{sum_.value(), clip_};
  if (options_.noise) {
    std::vector<float> noise(released.mean.size());
    // Upward, so that no rounding makes the noise smaller than stated.
    const auto sigma = static_cast<float>(multiplier_on_sum(options_) * clip_.value() * (1 + kRoundingMargin));
    fill_gaussian(stream, noise, sigma);
    for (std::size_t k = 0; k < noise.size(); ++k) released.mean[k] += static_cast<double>(noise[k]);
  }
  for (double& value : released.mean) value /= options_.denominator;
  if (options_.adaptive) {
    std::array<float, 1> noise{0};
    if (options_.noise) fill_gaussian(stream, noise, static_cast<float>(count_noise(options_) * (1 + kRoundingMargin)));
    // The count enters less half of all, so that one client moves it by one half: that is the 2 in 2 σ_b.
    const double centred = static_cast<double>(unclipped_) - 0.5 * sum_.vectors() + static_cast<double>(noise[0]);
    const double share = centred / options_.denominator + 0.5;
    const double moved = clip_.value() * std::exp(-options_.adaptive->rate * (share - options_.adaptive->quantile));
    const double top = static_cast<double>(ExactSum::kBound) / 2;
    released.next_clip = ClipNorm::make(std::clamp(moved, 2e-6, top)).value();
  }
  return released;
}

}  // namespace noisefloor::federated
