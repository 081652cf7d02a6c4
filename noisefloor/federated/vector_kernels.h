// Loops over many long vectors that the robust rules share.
//
// Determinism:   the same numbers give the same bits on every machine: sums have a fixed number of lanes, and no
//                multiplication is fused with an addition.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace noisefloor::federated::internal {

using FloatRows = std::vector<std::span<const float>>;

// ‖a − b‖², of differences rounded to float; summed in float over short stretches, then in double. May be infinite.
[[nodiscard]] double squared_distance(std::span<const float> a, std::span<const float> b);

// All squared distances between rows: [i · n + j].
[[nodiscard]] std::vector<double> squared_distances(const FloatRows& rows);

// out[k] = Σ weights[i] · rows[i][k].
void weighted_sum(const FloatRows& rows, std::span<const float> weights, std::span<float> out);

// Calls `take` with blocks of coordinates, sorted by themselves: sorted[place · width + k] is the place-th smallest
// value of coordinate first + k, for k < width.
inline constexpr std::size_t kSortedWidth = 32;
void for_sorted_columns(const FloatRows& rows,
                        const std::function<void(std::size_t first, std::size_t count, const float* sorted)>& take);

}  // namespace noisefloor::federated::internal
