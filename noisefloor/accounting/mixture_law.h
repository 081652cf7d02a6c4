// Laws of mixtures (loss_law.h): one Gaussian answer to which a unit contributes a random multiple, and one of several
// mechanisms that is chosen at random and named in the answer.
//
// Guarantee:     as loss_law.h says. That mixtures of Gaussians on a line are the worst of all with these norms:
//                docs/proofs/streams_and_samples.md.
//
// Internal to accounting/.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "noisefloor/accounting/loss_law.h"

namespace noisefloor::internal {

struct MixturePart {
  double probability;
  double distance;  // in standard deviations of the noise; 0 or above
};

enum class MixtureSide : std::uint8_t {
  kRemove,   // Σ p_i N(a_i, 1) against N(0, 1)
  kAdd,      // N(0, 1) against Σ p_i N(a_i, 1)
  kReplace,  // Σ p_i N(a_i, 1) against Σ p_i N(−a_i, 1)
};

// Requires probabilities that add up to 1 up to 2^-50, and a distance above 0 that has one above 0.
[[nodiscard]] std::unique_ptr<LossLaw> gaussian_mixture_law(std::vector<MixturePart> parts, MixtureSide side);

// One of these laws with its probability; which one is part of the outcome. Probabilities as above.
struct WeightedLaw {
  double probability;
  std::shared_ptr<const LossLaw> law;
};
[[nodiscard]] std::unique_ptr<LossLaw> either_law(std::vector<WeightedLaw> laws);

}  // namespace noisefloor::internal
