#include "noisefloor/federated/attacks.h"

#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <limits>

#include "noisefloor/random/gaussian_vector.h"

namespace noisefloor::federated {
namespace {

struct Moments {
  std::vector<double> mean;
  std::vector<double> deviation;
};

Moments moments_of(const std::vector<std::vector<float>>& rows) {
  Moments moments{std::vector<double>(rows.front().size()), std::vector<double>(rows.front().size())};
  const auto n = static_cast<double>(rows.size());
  for (const auto& row : rows) {
    for (std::size_t k = 0; k < row.size(); ++k) moments.mean[k] += static_cast<double>(row[k]) / n;
  }
  for (const auto& row : rows) {
    for (std::size_t k = 0; k < row.size(); ++k) {
      const double difference = static_cast<double>(row[k]) - moments.mean[k];
      moments.deviation[k] += difference * difference / n;
    }
  }
  for (double& value : moments.deviation) value = std::sqrt(value);
  return moments;
}

}  // namespace

std::string_view name_of(Attack attack) {
  for (const auto& [name, value] : kAttacks) {
    if (value == attack) return name;
  }
  return "unknown";
}

double little_is_enough_z(std::uint32_t clients, std::uint32_t liars) {
  const double honest = clients - liars;
  const double supporters = std::floor(clients / 2.0 + 1) - liars;
  const double probability = (honest - supporters) / honest;
  if (!(probability > 0 && probability < 1)) return 0;
  return std::sqrt(2.0) * boost::math::erf_inv(2 * probability - 1);
}

std::vector<std::vector<float>> attack_with(Attack attack, double strength,
                                            const std::vector<std::vector<float>>& honest, std::uint32_t liars,
                                            BitStream& stream, std::span<const float> earlier) {
  const Moments moments = moments_of(honest);
  const std::size_t dimension = moments.mean.size();
  std::vector<std::vector<float>> sent(liars, std::vector<float>(dimension));
  for (std::uint32_t liar = 0; liar < liars; ++liar) {
    std::vector<float>& vector = sent[liar];
    if (attack == Attack::kGaussian) fill_gaussian(stream, vector, static_cast<float>(strength));
    for (std::size_t k = 0; k < dimension; ++k) {
      const double mean = moments.mean[k];
      switch (attack) {
        case Attack::kSignFlip:
        case Attack::kInnerProduct:
          vector[k] = static_cast<float>(-strength * mean);
          break;
        case Attack::kLittleIsEnough:
        case Attack::kCopies:
          vector[k] = static_cast<float>(mean - strength * moments.deviation[k]);
          break;
        case Attack::kHugeCoordinate:
          vector[k] = static_cast<float>(k == 0 ? strength : mean);
          break;
        case Attack::kNaN:
          vector[k] = k == 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(mean);
          break;
        case Attack::kReplay:
          vector[k] = earlier.empty() ? 0.0F : earlier[k];
          break;
        case Attack::kNone:
        case Attack::kLabelFlip:
          vector[k] = honest[liar % honest.size()][k];
          break;
        case Attack::kGaussian:
        case Attack::kZero:
          break;
      }
    }
  }
  return sent;
}

}  // namespace noisefloor::federated
