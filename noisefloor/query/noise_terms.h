// What an analyst states about noise: how much an answer may cost, and what its errors count.
//
// Thread safety: plain data; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"

namespace noisefloor::query {

enum class NoiseKind : std::uint8_t {
  kAuto,  // whichever gives the smaller errors, by the certified accountant
  kLaplace,
  kGaussian,  // needs a delta
};

[[nodiscard]] std::string_view name_of(NoiseKind kind);  // "auto", "laplace", "gaussian"
[[nodiscard]] Result<NoiseKind> parse_noise_kind(std::string_view text);

struct NoiseTerms {
  Epsilon epsilon;  // of all statements together
  Delta delta = Delta::of(0);
  NoiseKind noise = NoiseKind::kAuto;
  Confidence confidence = Confidence::of(0.95);
  // How much the variance of each column of numbers counts, in the order of the lists; empty: all alike.
  std::vector<double> weights = {};
  // The share of a statement's ε that chooses which private groups are named, beside the numbers.
  std::optional<double> key_share = {};
};

inline constexpr double kUsualKeyShare = 0.2;

}  // namespace noisefloor::query
