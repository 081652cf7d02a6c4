// What liars send in place of their updates, for tests and simulations of robust rules.
//
// Implements:    sign flip −k·mean; Gaussian noise; inner-product manipulation −ε·mean (Xie et al. 2020); a little is
//                enough, mean − z·sd (Baruch et al. 2019); one huge coordinate; NaN; zeros (a free rider); an old
//                update again; equal copies near the mean, which agree with each other more than honest clients do.
// Requires:      liars that know all honest vectors and work together: the worst case.
// Thread safety: that of the stream.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/random/bit_stream.h"

namespace noisefloor::federated {

enum class Attack : std::uint8_t {
  kNone,
  kSignFlip,
  kGaussian,
  kInnerProduct,
  kLittleIsEnough,
  kHugeCoordinate,
  kNaN,
  kZero,
  kReplay,
  kCopies,
  kLabelFlip  // on the data: flip_label()
};
// The names that users write.
inline constexpr std::array<std::pair<std::string_view, Attack>, 11> kAttacks{
    {{"none", Attack::kNone},
     {"sign-flip", Attack::kSignFlip},
     {"gaussian", Attack::kGaussian},
     {"inner-product", Attack::kInnerProduct},
     {"little-is-enough", Attack::kLittleIsEnough},
     {"huge-coordinate", Attack::kHugeCoordinate},
     {"nan", Attack::kNaN},
     {"zero", Attack::kZero},
     {"replay", Attack::kReplay},
     {"copies", Attack::kCopies},
     {"label-flip", Attack::kLabelFlip}}};
[[nodiscard]] std::string_view name_of(Attack attack);

// The z at which "a little is enough" hides among n clients, of which f lie: Φ⁻¹((n − f − s)/(n − f)) with
// s = ⌊n/2 + 1⌋ − f; 0 if that is no probability.
[[nodiscard]] double little_is_enough_z(std::uint32_t clients, std::uint32_t liars);

// The vectors that `liars` clients send. `strength` is k, the standard deviation, ε, z or the size of the coordinate.
// `earlier` is what liars sent once, for kReplay; zeros if it is empty.
[[nodiscard]] std::vector<std::vector<float>> attack_with(Attack attack, double strength,
                                                          const std::vector<std::vector<float>>& honest,
                                                          std::uint32_t liars, BitStream& stream,
                                                          std::span<const float> earlier = {});

// y → classes − 1 − y.
[[nodiscard]] constexpr std::uint32_t flip_label(std::uint32_t label, std::uint32_t classes) {
  return classes - 1 - label;
}

}  // namespace noisefloor::federated
