// What does not fit in private rows: exact facts, for the custodian who mends them. Every other way to read private
// rows keeps silent about it (table/odd_records.h).
//
// Not private:   the number of records, the number of those that do not fit, and the lines of the first of them are
//                told without noise, and no epsilon covers that. Whoever shows them says so first.
// Guarantee:     no cell is told. A ledger that knows the rows, under whatever name, has it on record.
// Thread safety: pure functions except for reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/dataset/paying.h"

namespace noisefloor {

struct RowInspection {
  static constexpr std::size_t kMostTold = 20;

  std::optional<std::size_t> records;   // nothing for a text, of which every part fits
  std::size_t nulls = 0;                // records that do not fit, and contribute nothing
  std::vector<std::string> first = {};  // the first kMostTold of them: file, line and remedy
};

// Reads all rows. This is the one place through which such facts leave: call record_inspection() before it, where there
// is a ledger.
[[nodiscard]] Result<RowInspection> inspect_rows(const DescribedRows& rows);

// Records that these rows are looked at without noise, as an exposure of the private dataset that they belong to, which
// all later certificates of it name. Returns the entry; nothing if the ledger knows no private dataset with these rows.
[[nodiscard]] Result<std::optional<std::uint64_t>> record_inspection(Ledger& ledger, const DescribedRows& rows);

}  // namespace noisefloor
