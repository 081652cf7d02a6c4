// The outline of a CSV file: the names of its columns and the type of each.
//
// Guarantee:     outline_csv reads only names and types. An outline holds neither a bound, nor a value, nor the number
//                of rows, so that a description which is written from it is not made from the data. A type depends on
//                all records: a single cell that is not a number makes a column of texts. Odd records (odd_records.h)
//                decide no type, and are no error.
// Not covered:   the types themselves come from the data. If even those must stay private, write the description by
//                hand.
// Thread safety: pure functions; plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/table/csv.h"

namespace noisefloor {

enum class ColumnType : std::uint8_t {
  kEmpty,  // every cell holds a mark for a missing value
  kWhole,  // whole numbers
  kNumber,
  kText,
};

struct ColumnOutline {
  std::string name;
  ColumnType type = ColumnType::kEmpty;
};

struct CsvOutline {
  CsvFormat format;
  std::vector<ColumnOutline> columns;  // in the order of the file
};

// Texts that usually mark a missing value. Cells that hold one of them decide no type.
[[nodiscard]] const std::vector<std::string>& usual_missing_marks();

// The separator that occurs most often in the first line: one of , ; | and the tab.
[[nodiscard]] Result<char> separator_of(const std::string& path);

// kInputData if the first line looks like a record, that is, if none of its cells is a name.
[[nodiscard]] Result<CsvOutline> outline_csv(const std::string& path);

// The content of a column whose cells are public.
struct PublicColumn {
  double lower = 0;  // bounds of the numbers
  double upper = 0;
  std::vector<std::string> values;  // the texts, sorted; empty if there are more than kMaxPublicValues
};

inline constexpr std::size_t kMaxPublicValues = 100;

// Requires: the file is public. Bounds and values are taken from its records, one column after the other.
[[nodiscard]] Result<std::vector<PublicColumn>> survey_public_csv(const std::string& path, const CsvOutline& outline);

}  // namespace noisefloor
