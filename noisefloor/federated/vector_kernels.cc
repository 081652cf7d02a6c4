#include "noisefloor/federated/vector_kernels.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace noisefloor::federated::internal {
namespace {

// Compiled for wider registers too where the machine has them; the arithmetic is the same.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define NF_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define NF_WIDE
#endif

constexpr std::size_t kLanes = 16;
constexpr std::size_t kStretch = 1024;  // floats that are summed in float

// Σ (a[k] − b[k])² over a stretch of whole lanes.
NF_WIDE double stretch_distance(const float* a, const float* b, std::size_t count) {
  std::array<float, kLanes> sums{};
  for (std::size_t k = 0; k < count; k += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      const float difference = a[k + l] - b[k + l];
      sums[l] += difference * difference;
    }
  }
  double sum = 0;
  for (const float lane : sums) sum += lane;
  return sum;
}

NF_WIDE void add_scaled(const float* row, float weight, std::size_t count, float* out) {
  for (std::size_t k = 0; k < count; ++k) out[k] += weight * row[k];
}

using Comparisons = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// Batcher's merge exchange for any n (Knuth, The Art of Computer Programming 3, 5.2.2, Algorithm M).
Comparisons sorting_network(std::size_t n) {
  Comparisons network;
  std::size_t top = 1;
  while (top * 2 < n) top *= 2;
  for (std::size_t p = top; p > 0 && n > 1; p /= 2) {
    std::size_t q = top;
    std::size_t r = 0;
    std::size_t d = p;
    for (;;) {
      for (std::size_t i = 0; i + d < n; ++i) {
        if ((i & p) == r) network.emplace_back(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i + d));
      }
      if (q == p) break;
      d = q - p;
      q /= 2;
      r = p;
    }
  }
  return network;
}

NF_WIDE void sort_lanes(float* block, const std::pair<std::uint32_t, std::uint32_t>* network, std::size_t comparisons) {
  for (std::size_t c = 0; c < comparisons; ++c) {
    float* const low = block + network[c].first * kSortedWidth;
    float* const high = block + network[c].second * kSortedWidth;
    for (std::size_t k = 0; k < kSortedWidth; ++k) {
      const float a = low[k];
      const float b = high[k];
      low[k] = b < a ? b : a;
      high[k] = b < a ? a : b;
    }
  }
}

}  // namespace

double squared_distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  const std::size_t whole = a.size() / kLanes * kLanes;
  for (std::size_t first = 0; first < whole; first += kStretch) {
    sum += stretch_distance(a.data() + first, b.data() + first, std::min(kStretch, whole - first));
  }
  for (std::size_t k = whole; k < a.size(); ++k) {
    const float difference = a[k] - b[k];
    sum += static_cast<double>(difference * difference);
  }
  return sum;
}

std::vector<double> squared_distances(const FloatRows& rows) {
  const std::size_t n = rows.size();
  std::vector<double> result(n * n);
  const std::size_t dimension = n == 0 ? 0 : rows.front().size();
  // One stretch of all rows stays in the cache while all pairs are visited.
  for (std::size_t first = 0; first < dimension; first += kStretch) {
    const std::size_t count = std::min(kStretch, dimension - first);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i + 1; j < n; ++j) {
        result[i * n + j] += squared_distance(rows[i].subspan(first, count), rows[j].subspan(first, count));
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) result[i * n + j] = result[j * n + i];
  }
  return result;
}

void weighted_sum(const FloatRows& rows, std::span<const float> weights, std::span<float> out) {
  std::fill(out.begin(), out.end(), 0.0F);
  for (std::size_t first = 0; first < out.size(); first += kStretch) {
    const std::size_t count = std::min(kStretch, out.size() - first);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      add_scaled(rows[i].data() + first, weights[i], count, out.data() + first);
    }
  }
}

void for_sorted_columns(const FloatRows& rows,
                        const std::function<void(std::size_t, std::size_t, const float*)>& take) {
  const std::size_t dimension = rows.empty() ? 0 : rows.front().size();
  const Comparisons network = sorting_network(rows.size());
  std::vector<float> block(rows.size() * kSortedWidth);
  for (std::size_t first = 0; first < dimension; first += kSortedWidth) {
    const std::size_t count = std::min(kSortedWidth, dimension - first);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      float* const to = block.data() + i * kSortedWidth;
      std::copy_n(rows[i].data() + first, count, to);
      std::fill(to + count, to + kSortedWidth, 0.0F);
    }
    sort_lanes(block.data(), network.data(), network.size());
    take(first, count, block.data());
  }
}

}  // namespace noisefloor::federated::internal
