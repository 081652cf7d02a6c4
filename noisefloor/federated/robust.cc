#include "noisefloor/federated/robust.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "noisefloor/federated/vector_kernels.h"

namespace noisefloor::federated {
namespace {

using internal::FloatRows;

constexpr double kSmoothing = 1e-6;  // of Weiszfeld's weights
constexpr int kWeiszfeldSteps = 8;

bool is_finite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7F800000U;  // all ones: infinite, or NaN
  std::uint32_t odd = 0;
  for (const float value : values)
    odd |= static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent);
  return odd == 0;
}

float middle(const float* sorted, std::size_t n, std::size_t k) {
  const float upper = sorted[n / 2 * internal::kSortedWidth + k];
  if (n % 2 == 1) return upper;
  const float lower = sorted[(n / 2 - 1) * internal::kSortedWidth + k];
  return static_cast<float>((static_cast<double>(lower) + static_cast<double>(upper)) / 2);
}

std::vector<float> median(const FloatRows& rows) {
  std::vector<float> result(rows.front().size());
  internal::for_sorted_columns(rows, [&](std::size_t first, std::size_t count, const float* sorted) {
    for (std::size_t k = 0; k < count; ++k) result[first + k] = middle(sorted, rows.size(), k);
  });
  return result;
}

// By coordinate, the mean without the `trim` smallest and largest values.
std::vector<float> trimmed_mean(const FloatRows& rows, std::size_t trim) {
  std::vector<float> result(rows.front().size());
  const std::size_t kept = rows.size() - 2 * trim;
  internal::for_sorted_columns(rows, [&](std::size_t first, std::size_t count, const float* sorted) {
    std::array<double, internal::kSortedWidth> sums{};
    for (std::size_t place = trim; place < rows.size() - trim; ++place) {
      const float* const row = sorted + place * internal::kSortedWidth;
      for (std::size_t k = 0; k < internal::kSortedWidth; ++k) sums[k] += static_cast<double>(row[k]);
    }
    for (std::size_t k = 0; k < count; ++k) result[first + k] = static_cast<float>(sums[k] / static_cast<double>(kept));
  });
  return result;
}

// By coordinate, the mean of the `kept` values nearest to the median: they stand side by side when sorted.
std::vector<float> mean_around_median(const FloatRows& rows, std::size_t kept) {
  std::vector<float> result(rows.front().size());
  const std::size_t n = rows.size();
  internal::for_sorted_columns(rows, [&](std::size_t first, std::size_t count, const float* sorted) {
    for (std::size_t k = 0; k < count; ++k) {
      const auto at = [&](std::size_t place) {
        return static_cast<double>(sorted[place * internal::kSortedWidth + k]);
      };
      const auto centre = static_cast<double>(middle(sorted, n, k));
      std::size_t begin = 0;
      while (begin + kept < n && at(begin + kept) - centre < centre - at(begin)) ++begin;
      double sum = 0;
      for (std::size_t place = begin; place < begin + kept; ++place) sum += at(place);
      result[first + k] = static_cast<float>(sum / static_cast<double>(kept));
    }
  });
  return result;
}

// Krum's scores among `left`: the sum of the smallest left − liars − 2 squared distances to others of them. Fewer
// neighbours than one are taken as one.
std::vector<double> krum_scores(const std::vector<double>& distances, std::size_t n,
                                const std::vector<std::size_t>& left, std::size_t liars) {
  const std::size_t nearest = left.size() > liars + 3 ? left.size() - liars - 2 : 1;
  std::vector<double> scores;
  std::vector<double> others;
  for (const std::size_t i : left) {
    others.clear();
    for (const std::size_t j : left) {
      if (j != i) others.push_back(distances[i * n + j]);
    }
    const std::size_t taken = std::min(nearest, others.size());
    std::sort(others.begin(), others.end());
    scores.push_back(std::accumulate(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(taken), 0.0));
  }
  return scores;
}

// Places of the rows in the order of their scores; equal ones in the order of the rows, which is that of the clients.
std::vector<std::size_t> by_score(const std::vector<double>& scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  return order;
}

std::vector<std::size_t> everyone(std::size_t n) {
  std::vector<std::size_t> all(n);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::vector<std::size_t> best_by_krum(const FloatRows& rows, std::size_t liars, std::size_t count) {
  const auto distances = internal::squared_distances(rows);
  std::vector<std::size_t> best = by_score(krum_scores(distances, rows.size(), everyone(rows.size()), liars));
  best.resize(count);
  std::sort(best.begin(), best.end());
  return best;
}

std::vector<std::size_t> picks_of_bulyan(const FloatRows& rows, std::size_t liars) {
  const auto distances = internal::squared_distances(rows);
  std::vector<std::size_t> left = everyone(rows.size());
  std::vector<std::size_t> picked;
  while (picked.size() < rows.size() - 2 * liars) {
    const std::size_t best = by_score(krum_scores(distances, rows.size(), left, liars)).front();
    picked.push_back(left[best]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(best));
  }
  std::sort(picked.begin(), picked.end());
  return picked;
}

FloatRows take(const FloatRows& rows, const std::vector<std::size_t>& places) {
  FloatRows taken;
  for (const std::size_t place : places) taken.push_back(rows[place]);
  return taken;
}

// base + Σ weight_i · (row_i − base), in double by coordinate, with the weights as they are.
std::vector<float> pull(const FloatRows& rows, std::span<const double> weights, std::span<const float> base) {
  std::vector<float> result(rows.front().size());
  std::vector<double> block(1024);
  for (std::size_t first = 0; first < result.size(); first += block.size()) {
    const std::size_t count = std::min(block.size(), result.size() - first);
    std::fill(block.begin(), block.end(), 0.0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const float* const row = rows[i].data() + first;
      for (std::size_t k = 0; k < count; ++k) {
        const double from = base.empty() ? 0.0 : static_cast<double>(base[first + k]);
        block[k] += weights[i] * (static_cast<double>(row[k]) - from);
      }
    }
    for (std::size_t k = 0; k < count; ++k) {
      result[first + k] = static_cast<float>((base.empty() ? 0.0 : static_cast<double>(base[first + k])) + block[k]);
    }
  }
  return result;
}

std::vector<float> mean(const FloatRows& rows) {
  return pull(rows, std::vector<double>(rows.size(), 1 / static_cast<double>(rows.size())), {});
}

// The mean over n of the differences from `centre`, each shortened to `radius`, or to their median length.
std::vector<float> clipped(const FloatRows& rows, std::span<const float> centre, std::optional<double> radius) {
  const std::vector<float> zeros(centre.empty() ? rows.front().size() : 0);
  std::vector<double> lengths;
  for (const std::span<const float> row : rows) {
    lengths.push_back(
        std::sqrt(internal::squared_distance(row, centre.empty() ? std::span<const float>(zeros) : centre)));
  }
  if (!radius) {
    std::vector<double> sorted = lengths;
    std::sort(sorted.begin(), sorted.end());
    // The lower one of an even number: half of all must then lie to move it.
    radius = sorted[(sorted.size() - 1) / 2];
  }
  std::vector<double> weights;
  for (const double length : lengths) {
    weights.push_back((length > *radius ? *radius / length : 1.0) / static_cast<double>(rows.size()));
  }
  return pull(rows, weights, centre);
}

std::vector<float> geometric_median(const FloatRows& rows) {
  std::vector<float> z = median(rows);  // not the mean, from which one huge vector could not be left in a few steps
  std::vector<float> next(z.size());
  std::vector<float> weights(rows.size());
  std::vector<double> inverse(rows.size());
  double before = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kWeiszfeldSteps; ++step) {
    double total = 0;
    double objective = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double distance = std::sqrt(internal::squared_distance(rows[i], z));
      objective += std::min(distance, std::numeric_limits<double>::max() / static_cast<double>(rows.size()));
      inverse[i] = 1 / std::max(kSmoothing, distance);
      total += inverse[i];
    }
    if (!(objective < before)) break;  // as near as floats come
    before = objective;
    for (std::size_t i = 0; i < rows.size(); ++i) weights[i] = static_cast<float>(inverse[i] / total);
    internal::weighted_sum(rows, weights, next);
    std::swap(z, next);
  }
  return z;
}

}  // namespace

std::string_view name_of(RobustRule rule) {
  for (const auto& [name, value] : kRobustRules) {
    if (value == rule) return name;
  }
  return "unknown";
}

Result<void> check_robust(const RobustOptions& options, std::uint64_t clients) {
  const std::uint64_t f = options.liars;
  std::uint64_t least = 1;
  switch (options.rule) {
    case RobustRule::kMean:
      if (f > 0) return invalid_argument("the mean stands no liars: choose another rule, or 0 liars");
      break;
    case RobustRule::kKrum:
    case RobustRule::kMultiKrum:
      least = 2 * f + 3;
      break;
    case RobustRule::kBulyan:
      least = 4 * f + 3;
      break;
    default:
      least = 2 * f + 1;
  }
  if (clients < least) {
    return invalid_argument(
        fmt::format("{} with {} liars needs at least {} clients, and there are {}: allow for fewer "
                    "liars, or choose another rule",
                    name_of(options.rule), f, least, clients));
  }
  const bool takes_norm = options.rule == RobustRule::kNormBound || options.rule == RobustRule::kCentredClipping;
  if (options.norm && !takes_norm) {
    return invalid_argument(fmt::format("{} takes no norm: leave it out", name_of(options.rule)));
  }
  if (options.norm && !(*options.norm > 0 && std::isfinite(*options.norm))) {
    return invalid_argument(fmt::format("the norm must be a finite number above 0, and is {}", *options.norm));
  }
  if (options.rule == RobustRule::kCentredClipping && !options.norm) {
    return invalid_argument("centred-clipping needs a norm: how far one client may pull from the last result");
  }
  return success();
}

Result<Combined> combine_robustly(const RobustOptions& options, std::vector<ClientVector> vectors,
                                  std::span<const float> centre) {
  if (vectors.empty()) return invalid_argument("there is no vector to combine");
  std::sort(vectors.begin(), vectors.end(),
            [](const ClientVector& a, const ClientVector& b) { return a.client < b.client; });
  const std::size_t dimension = vectors.front().values.size();
  if (!centre.empty() && centre.size() != dimension) {
    return invalid_argument(
        fmt::format("the centre has {} numbers, and the vectors have {}", centre.size(), dimension));
  }
  Combined combined;
  FloatRows rows;
  std::vector<std::uint32_t> clients;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const ClientVector& vector = vectors[i];
    if (i > 0 && vectors[i - 1].client == vector.client) {
      return invalid_argument(fmt::format("client {} is there twice", vector.client));
    }
    if (vector.values.size() != dimension) {
      return invalid_argument(
          fmt::format("client {} has {} numbers where others have {}", vector.client, vector.values.size(), dimension));
    }
    if (is_finite(vector.values)) {
      rows.push_back(vector.values);
      clients.push_back(vector.client);
    } else {
      combined.left_out.push_back(vector.client);
    }
  }
  // With the mean, no liar was allowed for: vectors that are not finite are left out all the same.
  RobustOptions rest = options;
  const auto out = static_cast<std::uint32_t>(combined.left_out.size());
  if (options.rule != RobustRule::kMean && out > options.liars) {
    return Error{ErrorCode::kProtocol, fmt::format("{} vectors hold numbers that are not finite, and {} liars were "
                                                   "allowed for",
                                                   out, options.liars)};
  }
  if (options.rule != RobustRule::kMean) rest.liars -= out;
  NF_TRY_VOID(check_robust(rest, rows.size()));

  const std::size_t f = rest.liars;
  std::vector<std::size_t> chosen = everyone(rows.size());
  switch (options.rule) {
    case RobustRule::kMean:
      combined.value = mean(rows);
      break;
    case RobustRule::kNormBound:
      combined.value = clipped(rows, {}, options.norm);
      break;
    case RobustRule::kMedian:
      combined.value = median(rows);
      break;
    case RobustRule::kTrimmedMean:
      combined.value = trimmed_mean(rows, f);
      break;
    case RobustRule::kKrum:
      chosen = best_by_krum(rows, f, 1);
      combined.value.assign(rows[chosen.front()].begin(), rows[chosen.front()].end());
      break;
    case RobustRule::kMultiKrum:
      chosen = best_by_krum(rows, f, rows.size() - f);
      combined.value = mean(take(rows, chosen));
      break;
    case RobustRule::kBulyan:
      chosen = picks_of_bulyan(rows, f);
      combined.value = mean_around_median(take(rows, chosen), rows.size() - 4 * f);
      break;
    case RobustRule::kGeometricMedian:
      combined.value = geometric_median(rows);
      break;
    case RobustRule::kCentredClipping:
      combined.value = clipped(rows, centre, options.norm);
      break;
  }
  for (const std::size_t place : chosen) combined.chosen.push_back(clients[place]);
  return combined;
}

}  // namespace noisefloor::federated
