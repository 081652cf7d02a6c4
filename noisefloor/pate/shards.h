// Divides private rows among teachers, so that nobody's data reach two of them.
//
// Guarantee:     each unit (a person where the data say who is whose, else a row) goes to one shard with all of its
//                rows. Which one is uniform, independent of the data and of all other units, and known to nobody
//                without the key. So two neighbouring datasets can be compared with all common units in the same
//                shards, and a unit that is added, removed or exchanged in one of them: one teacher differs, and one
//                vote. (Shards of fixed sizes would not do: under add-remove one row more moves others.)
// Requires:      a key that was drawn for this division. Teachers share nothing else that was learned from the rows.
// Sizes:         are binomial; a shard may be empty. They are private.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/short_hash.h"
#include "noisefloor/table/dataset.h"

namespace noisefloor {

using Shard = std::vector<std::uint64_t>;  // numbers of rows, ascending

// Rows of nobody, which take part in nothing, are in no shard. Null records are in the shard of their unit.
[[nodiscard]] std::vector<Shard> divide_into_shards(const Dataset& data, std::size_t shards, const ShortKey& key);

// kInternal unless no unit has rows in two shards, and no row is in one twice.
[[nodiscard]] Result<void> expect_disjoint(const Dataset& data, std::span<const Shard> shards);

// What a teacher sees of its shard: features and labels of the records that are not null.
[[nodiscard]] Result<Dataset> rows_of_teacher(const Dataset& data, const Shard& shard);

}  // namespace noisefloor
