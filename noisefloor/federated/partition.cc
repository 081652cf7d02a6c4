#include "noisefloor/federated/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "noisefloor/federated/draws.h"

namespace noisefloor::federated {
namespace {

using internal::dirichlet;
using Parts = std::vector<std::vector<std::uint64_t>>;

constexpr int kMaxDraws = 1000;

std::vector<std::uint64_t> shuffled(BitStream& stream, std::vector<std::uint64_t> rows) {
  internal::shuffle(stream, std::span(rows));
  return rows;
}

std::vector<std::uint64_t> all(std::uint64_t rows) {
  std::vector<std::uint64_t> numbers(rows);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::vector<std::vector<std::uint64_t>> by_class(std::span<const std::int32_t> labels, std::int32_t classes) {
  std::vector<std::vector<std::uint64_t>> rows(static_cast<std::size_t>(classes));
  for (std::size_t row = 0; row < labels.size(); ++row) rows[static_cast<std::size_t>(labels[row])].push_back(row);
  return rows;
}

// Cuts `rows` by cumulative shares: each row is in exactly one part.
void cut(std::span<const std::uint64_t> rows, std::span<const double> shares, Parts& parts) {
  double sum = 0;
  std::size_t from = 0;
  for (std::size_t site = 0; site < shares.size(); ++site) {
    sum += shares[site];
    const bool last = site + 1 == shares.size();
    const auto to =
        last ? rows.size()
             : std::clamp(static_cast<std::size_t>(std::floor(sum * static_cast<double>(rows.size()) + 1e-6)), from,
                          rows.size());
    parts[site].insert(parts[site].end(), rows.begin() + static_cast<std::ptrdiff_t>(from),
                       rows.begin() + static_cast<std::ptrdiff_t>(to));
    from = to;
  }
}

Parts draw(const PartitionOptions& o, std::uint64_t rows, std::span<const std::int32_t> labels, std::int32_t classes,
           BitStream& stream) {
  Parts parts(o.sites);
  const std::vector<double> even(o.sites, 1.0 / o.sites);
  switch (o.kind) {
    case PartitionKind::kEven:
      cut(shuffled(stream, all(rows)), even, parts);
      break;
    case PartitionKind::kQuantity:
      cut(shuffled(stream, all(rows)), dirichlet(stream, o.alpha, o.sites), parts);
      break;
    case PartitionKind::kDirichlet:
      for (auto& of_class : by_class(labels, classes)) {
        cut(shuffled(stream, std::move(of_class)), dirichlet(stream, o.alpha, o.sites), parts);
      }
      break;
    case PartitionKind::kLabels: {
      std::vector<std::uint64_t> sorted;
      for (auto& of_class : by_class(labels, classes)) {
        const auto mixed = shuffled(stream, std::move(of_class));
        sorted.insert(sorted.end(), mixed.begin(), mixed.end());
      }
      const std::uint64_t pieces = std::uint64_t{o.sites} * o.shards;
      const std::vector<std::uint64_t> order = shuffled(stream, all(pieces));
      for (std::uint64_t piece = 0; piece < pieces; ++piece) {
        const auto from = static_cast<std::ptrdiff_t>(order[piece] * rows / pieces);
        const auto to = static_cast<std::ptrdiff_t>((order[piece] + 1) * rows / pieces);
        auto& part = parts[piece / o.shards];
        part.insert(part.end(), sorted.begin() + from, sorted.begin() + to);
      }
    }
  }
  return parts;
}

}  // namespace

Result<Parts> partition_rows(const PartitionOptions& options, std::uint64_t rows, std::span<const std::int32_t> labels,
                             std::int32_t classes) {
  if (options.sites == 0) return invalid_argument("rows are divided among at least one site");
  if (!(options.alpha > 0 && options.alpha <= 1e6)) {
    return invalid_argument(fmt::format("alpha must be above 0 and at most 1e6, and is {}", options.alpha));
  }
  const bool needs_labels = options.kind == PartitionKind::kDirichlet || options.kind == PartitionKind::kLabels;
  if (needs_labels && (classes < 1 || labels.size() != rows)) {
    return invalid_argument("rows are divided by their classes, and the data have none: divide them by quantity");
  }
  if (options.kind == PartitionKind::kLabels && options.shards == 0) {
    return invalid_argument("each site needs at least one shard");
  }
  const std::uint64_t least = std::max<std::uint64_t>(options.least, 1);
  if (rows / options.sites < least) {
    return invalid_argument(
        fmt::format("{} rows are too few for {} sites with at least {} each", rows, options.sites, least));
  }
  NF_TRY(ReplayRandom random, ReplayRandom::create(options.seed));
  for (int attempt = 0; attempt < kMaxDraws; ++attempt) {
    Parts parts = draw(options, rows, labels, classes, random);
    const bool good = std::all_of(parts.begin(), parts.end(), [&](const auto& part) { return part.size() >= least; });
    if (!good) continue;
    for (auto& part : parts) std::sort(part.begin(), part.end());
    return parts;
  }
  return invalid_argument(
      fmt::format("no draw of {} gave each of {} sites at least {} rows: raise alpha, or ask for "
                  "fewer sites or rows",
                  kMaxDraws, options.sites, least));
}

}  // namespace noisefloor::federated
