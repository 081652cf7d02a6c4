// Blocks: the parts of a growing dataset that each have a budget of their own, by the dates of the rows or by batches
// of arrival.
//
// Guarantee:     every row belongs to at most one block, which depends on that row and public terms alone (the text of
//                its date, or the batch that it arrived in). A use that touches the blocks B1..Bn spends its whole
//                charge from each of them, and from no other. So all uses together are (ε, δ)-DP for every row, with
//                the ε and δ of the budget, over all time: adding or removing a row changes one block; the uses that do
//                not touch it draw the same whatever the row is, given the answers before; the others passed that
//                block's filter (account.h), however they were chosen. docs/proofs/blocks.md has the argument. The
//                promise does not depend on any clock: a clock decides only how early the parts of a block are
//                unlocked.
//                A list of blocks has one text: canonical_blocks() sorts it and unites what overlaps or adjoins.
// Implements:    parallel composition (McSherry 2009) with a filter for each block (Rogers et al. 2016; Lécuyer et al.
//                2019, block composition).
// Refused:       persons (their rows may lie in many blocks, and nothing here counts those), and exchanging rows where
//                blocks are by date: it may move a row to another block, which is a removal there and an addition here.
//                Batches under replace-one are fine: a row is exchanged in its place, and its batch stays the same.
// Errors:        kInvalidArgument with the text that is no block, and the form that is expected.
// Thread safety: plain data; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor {

enum class BlockKind : std::uint8_t { kDate, kBatch };
enum class BlockPeriod : std::uint8_t { kDay, kWeek, kMonth, kQuarter, kYear };

[[nodiscard]] std::string_view name_of(BlockKind kind);      // "date", "batch"
[[nodiscard]] std::string_view name_of(BlockPeriod period);  // "day", "week", "month", "quarter", "year"
[[nodiscard]] Result<BlockKind> parse_block_kind(std::string_view text);
[[nodiscard]] Result<BlockPeriod> parse_block_period(std::string_view text);

// How a budget's rows are divided. It never changes: with another rule old rows would be in new blocks.
struct BlockTerms {
  BlockKind by = BlockKind::kDate;
  std::string column = {};  // of the dates; empty for batches
  BlockPeriod period = BlockPeriod::kMonth;
  // 1/unlock of a block's budget is there from its beginning (or arrival), and as much again with each period after.
  std::uint32_t unlock = 1;
  friend bool operator==(const BlockTerms&, const BlockTerms&) = default;
};

inline constexpr std::uint32_t kMaxUnlock = 60;
// The most blocks that one use may touch: a year of days, and some.
inline constexpr std::size_t kMaxBlocksOfUse = 400;

// "blocks by month of the column 'visit_date'", "blocks by batch".
[[nodiscard]] std::string in_words(const BlockTerms& terms);

[[nodiscard]] Result<void> check_block_terms(const BlockTerms& terms);

// Blocks by date are named "2026-03-05", "2026-W10" (weeks by ISO 8601), "2026-03", "2026-Q1" or "2026", for the years
// 1 to 9999; "2026-01..2026-03" is a range with both ends. Batches are named by letters, digits, '.', '_' and '-'.

// Reads names and ranges in any order, and returns their canonical form. Refused if there are none, or more than
// kMaxBlocksOfUse blocks.
[[nodiscard]] Result<std::vector<std::string>> canonical_blocks(const BlockTerms& terms,
                                                                std::span<const std::string> ranges);
// The same of a list with commas: "2026-01..2026-03,2026-06".
[[nodiscard]] Result<std::vector<std::string>> parse_blocks(const BlockTerms& terms, std::string_view text);
// The names of all blocks of a canonical list, in order. Refused if the list is not canonical.
[[nodiscard]] Result<std::vector<std::string>> blocks_in(const BlockTerms& terms, std::span<const std::string> list);
// Checks the name of one block.
[[nodiscard]] Result<void> check_block(const BlockTerms& terms, const std::string& name);

// Milliseconds since 1970 at which a block by date begins, UTC. Requires a name that check_block accepts.
[[nodiscard]] Result<std::int64_t> begin_of_block(const BlockTerms& terms, const std::string& name);

// The block of a row with this date: "2026-03-05", also with a time ("2026-03-05T23:30", seconds, a fraction, Z or
// +01:00, or a space for T). Without a zone it is UTC. Empty for any other text: the row is in no block.
[[nodiscard]] std::optional<std::string> block_of_date(BlockPeriod period, std::string_view cell);

// How many of the `unlock` parts are there at this time; 0 before the block begins.
[[nodiscard]] std::uint32_t unlocked_parts(const BlockTerms& terms, std::int64_t begin, std::int64_t now);
// When so many parts are there.
[[nodiscard]] std::int64_t unlock_time(const BlockTerms& terms, std::int64_t begin, std::uint32_t parts);
// When the next part is unlocked; nothing if all are.
[[nodiscard]] std::optional<std::int64_t> next_unlock(const BlockTerms& terms, std::int64_t begin, std::int64_t now);

}  // namespace noisefloor
