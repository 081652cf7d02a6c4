// Combines the vectors of many clients so that a few liars among them cannot move the result far.
//
// Rules:         kMean             the mean: one liar moves it anywhere. For comparison
//                kNormBound        each vector is shortened to a public norm, or to the median norm; then the mean
//                kMedian           by coordinate; the mean of the two in the middle for an even number
//                kTrimmedMean      by coordinate, without the `liars` largest and smallest
//                kKrum             the vector whose n − f − 2 nearest others are nearest
//                kMultiKrum        the mean of the n − f best by that score
//                kBulyan           n − 2f vectors by repeated Krum; then by coordinate the mean of those nearest to
//                                  their median, n − 4f of them
//                kGeometricMedian  the point with the least sum of distances (smoothed Weiszfeld, at most 8 steps from
//                                  the median by coordinate)
//                kCentredClipping  one step from the last round's result, each difference shortened to a public radius
// Guarantee:     a vector with a number that is NaN or infinite is left out before anything else, and counts as one of
//                the f liars. The result does not depend on the order of the vectors; clients with equal scores are
//                taken by their numbers. check_robust() refuses a rule for which n clients are too few, so that no run
//                finds out in its last round.
// Implements:    Yin et al. 2018 (median, trimmed mean); Blanchard et al. 2017 (Krum); El Mhamdi et al. 2018 (Bulyan);
//                Pillutla et al. 2022 (geometric median); Karimireddy et al. 2021 (centred clipping).
// Not covered:   Krum and Bulyan prefer clients that agree with each other. Liars that send equal copies look agreed,
//                and where honest clients have different data, an honest one may look like a liar. With noise in the
//                vectors, distances are mostly noise: prefer kNormBound, kMedian, or the median of group sums.
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor::federated {

enum class RobustRule : std::uint8_t {
  kMean,
  kNormBound,
  kMedian,
  kTrimmedMean,
  kKrum,
  kMultiKrum,
  kBulyan,
  kGeometricMedian,
  kCentredClipping
};

// The names that users write.
inline constexpr std::array<std::pair<std::string_view, RobustRule>, 9> kRobustRules{
    {{"mean", RobustRule::kMean},
     {"norm-bound", RobustRule::kNormBound},
     {"median", RobustRule::kMedian},
     {"trimmed-mean", RobustRule::kTrimmedMean},
     {"krum", RobustRule::kKrum},
     {"multi-krum", RobustRule::kMultiKrum},
     {"bulyan", RobustRule::kBulyan},
     {"geometric-median", RobustRule::kGeometricMedian},
     {"centred-clipping", RobustRule::kCentredClipping}}};
[[nodiscard]] std::string_view name_of(RobustRule rule);

struct RobustOptions {
  RobustRule rule = RobustRule::kMean;
  std::uint32_t liars = 0;       // f: at most so many clients lie
  std::optional<double> norm{};  // kNormBound: the public bound, none for the median norm; kCentredClipping: the radius
  friend bool operator==(const RobustOptions&, const RobustOptions&) = default;
};

// Fails unless the rule stands f liars among n clients: 2f < n for most, n ≥ 2f + 3 for Krum, n ≥ 4f + 3 for Bulyan.
[[nodiscard]] Result<void> check_robust(const RobustOptions& options, std::uint64_t clients);

struct ClientVector {
  std::uint32_t client;
  std::span<const float> values;
};

struct Combined {
  std::vector<float> value;
  std::vector<std::uint32_t> left_out;  // clients whose vectors have a number that is not finite, ascending
  std::vector<std::uint32_t> chosen;    // by Krum, multi-Krum and Bulyan; ascending. All others for the other rules
};

// `centre` is the last round's result, for kCentredClipping (empty: zeros). Fails if vectors have different sizes, if a
// client is there twice, if more than `liars` vectors are not finite, or if the others are too few (check_robust).
[[nodiscard]] Result<Combined> combine_robustly(const RobustOptions& options, std::vector<ClientVector> vectors,
                                                std::span<const float> centre = {});

}  // namespace noisefloor::federated
