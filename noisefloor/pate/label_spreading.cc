#include "noisefloor/pate/label_spreading.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <thread>
#include <utility>

#include "noisefloor/random/bit_stream.h"

namespace noisefloor {
namespace {

// Directions are found on so many examples at most, evenly spaced.
constexpr std::size_t kMostForDirections = 2000;
constexpr int kRefinements = 6;
constexpr std::size_t kSpare = 8;  // directions beyond those wanted, so that the last ones are found well, too

// Calls work(first, last) for parts of 0 … count − 1. What a part does must not depend on how they are cut.
void in_parts(std::size_t count, std::size_t threads, const std::function<void(std::size_t, std::size_t)>& work) {
  threads = std::clamp<std::size_t>(threads, 1, std::max<std::size_t>(1, count));
  std::vector<std::thread> team;
  for (std::size_t i = 1; i < threads; ++i) {
    team.emplace_back([&, i] { work(count * i / threads, count * (i + 1) / threads); });
  }
  work(0, count / threads);
  for (std::thread& one : team) one.join();
}

// Eight sums at once: the compiler makes vector instructions of it, and the order is the same everywhere.
float dot(const float* a, const float* b, std::size_t size) {
  float sums[8] = {};  // NOLINT(modernize-avoid-c-arrays)
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    for (std::size_t j = 0; j < 8; ++j) sums[j] += a[i + j] * b[i + j];
  }
  float rest = 0;
  for (; i < size; ++i) rest += a[i] * b[i];
  return rest + ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// NaN and infinite distances cannot be put in order: they count as far.
float finite(float distance) { return std::isfinite(distance) ? distance : std::numeric_limits<float>::max(); }

void add_scaled(float* to, const float* from, float factor, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) to[i] += factor * from[i];
}

// Makes rows orthogonal and of norm 1 (Gram-Schmidt, twice); rows that are nothing but others become 0.
void orthonormalize(std::vector<float>& rows, std::size_t count, std::size_t width) {
  for (std::size_t i = 0; i < count; ++i) {
    float* row = rows.data() + i * width;
    const float before = std::sqrt(dot(row, row, width));
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t j = 0; j < i; ++j) {
        const float* other = rows.data() + j * width;
        add_scaled(row, other, -dot(row, other, width), width);
      }
    }
    const float norm = std::sqrt(dot(row, row, width));
    const float factor = norm > 1e-5F * before && norm > 0 ? 1 / norm : 0;
    for (std::size_t k = 0; k < width; ++k) row[k] *= factor;
  }
}

struct Neighbour {
  std::uint32_t example;
  float weight;
};

// The graph as lists, symmetric: an edge if either is among the other's nearest.
using Graph = std::vector<std::vector<Neighbour>>;

Graph graph_of(std::span<const float> coordinates, std::size_t examples, std::size_t neighbours, std::size_t threads,
               std::vector<float>* reaches = nullptr) {
  const std::size_t width = coordinates.size() / examples;
  neighbours = std::min(neighbours, examples - 1);
  std::vector<float> norms(examples);
  for (std::size_t i = 0; i < examples; ++i) {
    norms[i] = dot(coordinates.data() + i * width, coordinates.data() + i * width, width);
  }
  std::vector<std::vector<std::pair<float, std::uint32_t>>> nearest(examples);
  in_parts(examples, threads, [&](std::size_t first, std::size_t last) {
    std::vector<std::pair<float, std::uint32_t>> distances(examples);
    for (std::size_t i = first; i < last; ++i) {
      for (std::size_t j = 0; j < examples; ++j) {
        const float product = dot(coordinates.data() + i * width, coordinates.data() + j * width, width);
        distances[j] = {finite(std::max(0.0F, norms[i] + norms[j] - 2 * product)), static_cast<std::uint32_t>(j)};
      }
      distances[i].first = std::numeric_limits<float>::infinity();
      std::partial_sort(distances.begin(), distances.begin() + static_cast<std::ptrdiff_t>(neighbours),
                        distances.end());
      nearest[i].assign(distances.begin(), distances.begin() + static_cast<std::ptrdiff_t>(neighbours));
    }
  });
  // Distances count relative to how dense it is around both ends.
  std::vector<float> reach(examples, 1);
  for (std::size_t i = 0; i < examples && neighbours > 0; ++i) {
    reach[i] = std::max(std::sqrt(nearest[i].back().first), 1e-12F);
  }
  if (reaches != nullptr) *reaches = reach;
  Graph graph(examples);
  for (std::size_t i = 0; i < examples; ++i) {
    for (const auto& [distance, j] : nearest[i]) {
      const float weight = std::exp(-distance / (reach[i] * reach[j]));
      const auto is_mutual =
          std::any_of(nearest[j].begin(), nearest[j].end(), [&](const auto& of_j) { return of_j.second == i; });
      graph[i].push_back({j, weight});
      if (!is_mutual) graph[j].push_back({static_cast<std::uint32_t>(i), weight});
    }
  }
  return graph;
}

// W becomes D^(−½) W D^(−½).
void normalize(Graph& graph) {
  std::vector<float> scale(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    float sum = 0;
    for (const Neighbour& one : graph[i]) sum += one.weight;
    scale[i] = sum > 0 ? 1 / std::sqrt(sum) : 0;
  }
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (Neighbour& one : graph[i]) one.weight *= scale[i] * scale[one.example];
  }
}

Result<void> check(std::size_t examples, std::int32_t classes, std::span<const GivenLabel> given,
                   const SpreadingOptions& options) {
  if (examples == 0 || given.empty()) return invalid_argument("there are no labels to spread");
  if (!(options.smoothing > 0 && options.smoothing < 1) || options.neighbours == 0) {
    return invalid_argument("smoothing must be above 0 and below 1, and there must be at least 1 neighbour");
  }
  for (const GivenLabel& one : given) {
    if (one.example >= examples || one.label < 0 || one.label >= classes) {
      return invalid_argument(fmt::format("label {} of example {}: there are {} examples and {} classes", one.label,
                                          one.example, examples, classes));
    }
  }
  return success();
}

}  // namespace

namespace {

// One over the root mean square of the deviations of each channel.
std::vector<float> channel_scales(const Dataset& data, const std::vector<float>& mean) {
  const std::size_t width = data.width();
  const std::size_t channels = data.shape.size() == 3 ? data.shape.front() : width;
  const std::size_t each = width / channels;
  std::vector<double> squares(channels);
  for (std::size_t i = 0; i < data.rows; ++i) {
    const auto example = data.example(i);
    for (std::size_t k = 0; k < width; ++k) {
      const double deviation = static_cast<double>(example[k]) - static_cast<double>(mean[k]);
      squares[k / each] += deviation * deviation;
    }
  }
  std::vector<float> scales(width);
  for (std::size_t k = 0; k < width; ++k) {
    const double square = squares[k / each] / (static_cast<double>(data.rows) * static_cast<double>(each));
    // What roundings leave of a constant is nothing.
    const double least = 1e-12 * static_cast<double>(mean[k]) * static_cast<double>(mean[k]);
    scales[k] = square > least && square > 0 ? static_cast<float>(1 / std::sqrt(square)) : 0;
  }
  return scales;
}

}  // namespace

PrincipalSpace principal_space(const Dataset& data, std::size_t components, std::size_t threads) {
  const std::size_t width = data.width();
  const std::size_t rows = data.rows;
  if (rows == 0) return {0, std::vector<float>(width), std::vector<float>(width), {}};
  std::vector<double> sums(width);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto example = data.example(i);
    for (std::size_t k = 0; k < width; ++k) sums[k] += static_cast<double>(example[k]);
  }
  std::vector<float> mean(width);
  for (std::size_t k = 0; k < width; ++k) mean[k] = static_cast<float>(sums[k] / static_cast<double>(rows));
  const std::vector<float> scale = channel_scales(data, mean);
  components = std::min({components, width, rows});
  const auto centred = [&](std::size_t row, std::vector<float>& out) {
    const auto example = data.example(row);
    for (std::size_t k = 0; k < width; ++k) out[k] = (example[k] - mean[k]) * scale[k];
  };
  const std::size_t wanted = std::min({components + kSpare, width, rows});
  const std::size_t used = std::min(rows, kMostForDirections);
  std::vector<float> sample(used * width);
  in_parts(used, threads, [&](std::size_t first, std::size_t last) {
    std::vector<float> one(width);
    for (std::size_t i = first; i < last; ++i) {
      centred(i * rows / used, one);
      std::copy(one.begin(), one.end(), sample.begin() + static_cast<std::ptrdiff_t>(i * width));
    }
  });
  // Subspace iteration from directions that are fixed once and for all.
  std::vector<float> directions(wanted * width);
  ReplayRandom random = ReplayRandom::create(1).value();
  for (float& x : directions) x = static_cast<float>(static_cast<std::int32_t>(random.next_u32())) * 0x1p-31F;
  orthonormalize(directions, wanted, width);
  std::vector<float> products(used * wanted);
  for (int pass = 0; pass < kRefinements; ++pass) {
    in_parts(used, threads, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        for (std::size_t c = 0; c < wanted; ++c) {
          products[i * wanted + c] = dot(sample.data() + i * width, directions.data() + c * width, width);
        }
      }
    });
    in_parts(wanted, threads, [&](std::size_t first, std::size_t last) {
      for (std::size_t c = first; c < last; ++c) {
        float* direction = directions.data() + c * width;
        std::fill(direction, direction + width, 0.0F);
        for (std::size_t i = 0; i < used; ++i) {
          add_scaled(direction, sample.data() + i * width, products[i * wanted + c], width);
        }
      }
    });
    orthonormalize(directions, wanted, width);
  }
  directions.resize(components * width);
  return {components, std::move(mean), scale, std::move(directions)};
}

std::vector<float> PrincipalSpace::coordinates(const Dataset& data, std::size_t threads) const {
  const std::size_t width = mean.size();
  std::vector<float> coordinates(data.rows * components);
  in_parts(data.rows, threads, [&](std::size_t first, std::size_t last) {
    std::vector<float> one(width);
    for (std::size_t i = first; i < last; ++i) {
      const auto example = data.example(i);
      for (std::size_t k = 0; k < width; ++k) one[k] = (example[k] - mean[k]) * scale[k];
      for (std::size_t c = 0; c < components; ++c) {
        coordinates[i * components + c] = dot(one.data(), directions.data() + c * width, width);
      }
    }
  });
  return coordinates;
}

std::vector<float> principal_components(const Dataset& data, std::size_t components, std::size_t threads) {
  return principal_space(data, components, threads).coordinates(data, threads);
}

Result<SpreadLabels> spread_labels(std::span<const float> coordinates, std::size_t examples, std::int32_t classes,
                                   std::span<const GivenLabel> given, const SpreadingOptions& options,
                                   std::size_t threads) {
  NF_TRY_VOID(check(examples, classes, given, options));
  const auto width = static_cast<std::size_t>(classes);
  Graph graph = graph_of(coordinates, examples, options.neighbours, threads);
  normalize(graph);
  std::vector<float> start(examples * width);
  for (const GivenLabel& one : given) start[one.example * width + static_cast<std::size_t>(one.label)] += 1;
  std::vector<float> now = start;
  std::vector<float> next(now.size());
  const auto alpha = static_cast<float>(options.smoothing);
  for (std::size_t round = 0; round < options.rounds; ++round) {
    in_parts(examples, threads, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        float* row = next.data() + i * width;
        for (std::size_t j = 0; j < width; ++j) row[j] = (1 - alpha) * start[i * width + j];
        for (const Neighbour& one : graph[i]) {
          add_scaled(row, now.data() + one.example * width, alpha * one.weight, width);
        }
      }
    });
    now.swap(next);
  }
  SpreadLabels spread{std::vector<std::int32_t>(examples, -1), std::move(now)};
  for (std::size_t i = 0; i < examples; ++i) {
    float* row = spread.shares.data() + i * width;
    const float sum = std::accumulate(row, row + width, 0.0F);
    if (!(sum > 0)) continue;
    for (std::size_t j = 0; j < width; ++j) row[j] /= sum;
    spread.labels[i] = static_cast<std::int32_t>(std::max_element(row, row + width) - row);
  }
  return spread;
}

Result<SpreadingGraph> SpreadingGraph::on(std::vector<float> coordinates, std::size_t examples,
                                          const SpreadingOptions& options, std::size_t threads) {
  const std::vector<GivenLabel> any{{0, 0}};
  NF_TRY_VOID(check(examples, 1, any, options));
  SpreadingGraph made;
  Graph graph = graph_of(coordinates, examples, options.neighbours, threads, &made.reach_);
  normalize(graph);
  made.edges_.resize(examples);
  for (std::size_t i = 0; i < examples; ++i) {
    for (const Neighbour& one : graph[i]) made.edges_[i].push_back({one.example, one.weight});
  }
  made.coordinates_ = std::move(coordinates);
  made.examples_ = examples;
  made.options_ = options;
  return made;
}

std::vector<std::uint16_t> SpreadingGraph::classes_from(std::span<const float> points,
                                                        std::span<const std::int32_t> labels,
                                                        std::int32_t classes) const {
  const std::size_t width = coordinates_.size() / examples_;
  const auto count = static_cast<std::size_t>(classes);
  std::vector<float> start(examples_ * count);
  std::vector<float> in_class(count);
  const std::size_t wanted = std::min(options_.neighbours, examples_);
  std::vector<std::pair<float, std::uint32_t>> nearest(examples_);
  for (std::size_t p = 0; p < labels.size(); ++p) {
    if (labels[p] < 0 || labels[p] >= classes) continue;
    const auto label = static_cast<std::size_t>(labels[p]);
    const float* point = points.data() + p * width;
    for (std::size_t j = 0; j < examples_; ++j) {
      const float* other = coordinates_.data() + j * width;
      float distance = 0;
      for (std::size_t k = 0; k < width; ++k) distance += (point[k] - other[k]) * (point[k] - other[k]);
      nearest[j] = {finite(distance), static_cast<std::uint32_t>(j)};
    }
    std::partial_sort(nearest.begin(), nearest.begin() + static_cast<std::ptrdiff_t>(wanted), nearest.end());
    const float reach = std::max(std::sqrt(nearest[wanted - 1].first), 1e-12F);
    float sum = 0;
    for (std::size_t n = 0; n < wanted; ++n) sum += std::exp(-nearest[n].first / (reach * reach_[nearest[n].second]));
    if (!(sum > 0)) continue;
    for (std::size_t n = 0; n < wanted; ++n) {
      const auto& [distance, j] = nearest[n];
      start[j * count + label] += std::exp(-distance / (reach * reach_[j])) / sum;
    }
    in_class[label] += 1;
  }
  for (std::size_t i = 0; i < examples_; ++i) {
    for (std::size_t c = 0; c < count; ++c) start[i * count + c] /= std::max(1.0F, in_class[c]);
  }
  std::vector<float> now = start;
  std::vector<float> next(now.size());
  const auto alpha = static_cast<float>(options_.smoothing);
  for (std::size_t round = 0; round < options_.rounds; ++round) {
    for (std::size_t i = 0; i < examples_; ++i) {
      float* row = next.data() + i * count;
      for (std::size_t c = 0; c < count; ++c) row[c] = (1 - alpha) * start[i * count + c];
      for (const Edge& edge : edges_[i]) {
        add_scaled(row, now.data() + edge.example * count, alpha * edge.weight, count);
      }
    }
    now.swap(next);
  }
  std::vector<std::uint16_t> chosen(examples_);
  for (std::size_t i = 0; i < examples_; ++i) {
    const float* row = now.data() + i * count;
    chosen[i] = static_cast<std::uint16_t>(std::max_element(row, row + count) - row);
  }
  return chosen;
}

}  // namespace noisefloor
