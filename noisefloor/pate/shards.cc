#include "noisefloor/pate/shards.h"

#include <cstring>
#include <limits>
#include <unordered_map>
#include <utility>

#include "noisefloor/base/wide_int.h"

namespace noisefloor {
namespace {

// The unit that a row belongs to. Persons and rows have numbers of their own.
std::uint64_t unit_of(const Dataset& data, std::uint64_t row) { return data.people.empty() ? row : data.people[row]; }

bool is_nobodys(const Dataset& data, std::uint64_t row) { return !data.people.empty() && data.people[row] == kNobody; }

std::size_t shard_of(std::uint64_t unit, std::size_t shards, const ShortKey& key) {
  std::array<char, sizeof unit> bytes{};
  std::memcpy(bytes.data(), &unit, sizeof unit);
  const ShortHash hash = short_hash(key, {bytes.data(), bytes.size()});
  std::uint64_t uniform = 0;
  std::memcpy(&uniform, hash.data(), sizeof uniform);
  return static_cast<std::size_t>((static_cast<Uint128>(uniform) * shards) >> 64);
}

}  // namespace

std::vector<Shard> divide_into_shards(const Dataset& data, std::size_t shards, const ShortKey& key) {
  std::vector<Shard> divided(shards);
  for (std::uint64_t row = 0; row < data.rows; ++row) {
    if (!is_nobodys(data, row)) divided[shard_of(unit_of(data, row), shards, key)].push_back(row);
  }
  return divided;
}

Result<void> expect_disjoint(const Dataset& data, std::span<const Shard> shards) {
  std::unordered_map<std::uint64_t, std::size_t> place;
  std::vector<bool> seen(data.rows);
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    for (const std::uint64_t row : shards[shard]) {
      if (row >= data.rows || seen[row] || is_nobodys(data, row)) {
        return internal_error("a row is with two teachers, or is nobody's: nothing was asked");
      }
      seen[row] = true;
      if (place.try_emplace(unit_of(data, row), shard).first->second != shard) {
        return internal_error("one person's rows are with two teachers: nothing was asked");
      }
    }
  }
  return success();
}

Result<Dataset> rows_of_teacher(const Dataset& data, const Shard& shard) {
  NF_TRY(Dataset rows, data.take(data.without_nulls(shard)));
  rows.people.clear();
  rows.rows_per_person = 0;
  rows.groups.clear();
  rows.nulls.clear();
  return rows;
}

}  // namespace noisefloor
