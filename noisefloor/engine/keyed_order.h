// Internal to engine/: the order in which a unit's groups, rows and values are kept when not all may be.
//
// Guarantee:     a rank depends on the order key, the unit, and the group, row or value alone: on nothing of another
//                unit. To everyone without the key the ranks look uniform and independent, so that nobody can choose
//                rows that are kept. Rows of a unit with equal content differ by their number among these; which of
//                them is kept makes no difference.
// Implements:    SipHash-2-4 with 128 bits, under keys that HKDF derives from the order key, one for each use.
// Thread safety: const after creation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "noisefloor/base/wide_int.h"
#include "noisefloor/crypto/secret.h"
#include "noisefloor/crypto/short_hash.h"
#include "noisefloor/engine/cell.h"

namespace noisefloor::engine {

// Appends the cell in a form in which different sequences of cells are different texts.
void append_cell(std::string& text, const Cell& cell);
void append_null(std::string& text);
void append_integer(std::string& text, std::int64_t value);
void append_text(std::string& text, std::string_view value);

class KeyedOrder {
 public:
  using Tag = ShortHash;
  using Rank = Uint128;

  explicit KeyedOrder(const Secret32& order_key);

  // What stands for a unit. Units of one column have different tags: an integer is its tag, a text is hashed.
  [[nodiscard]] static Tag unit_tag(std::int64_t unit);
  [[nodiscard]] Tag unit_tag(std::string_view unit) const { return short_hash(units_, unit); }
  // What stands for a group, the content of a row, or a value: all are texts of append_….
  [[nodiscard]] Tag tag(std::string_view cells) const { return short_hash(cells_, cells); }

  [[nodiscard]] Rank of_group(const Tag& unit, const Tag& group) const;
  [[nodiscard]] Rank of_row(const Tag& unit, const Tag& group, const Tag& content, std::uint64_t number) const;
  [[nodiscard]] Rank of_value(const Tag& unit, const Tag& group, const Tag& value) const;

 private:
  ShortKey units_;
  ShortKey cells_;
  ShortKey groups_;
  ShortKey rows_;
  ShortKey values_;
};

}  // namespace noisefloor::engine
