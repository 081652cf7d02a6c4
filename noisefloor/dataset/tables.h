// What an owner states about the tables of a dataset: where they are, whose rows they hold, and what is public about
// their columns. Queries are understood by this statement alone.
//
// Guarantee:     what is not stated is refused: a table or column that is not named does not exist for a query.
// Thread safety: plain data; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/engine/source.h"

namespace noisefloor {

struct DescribedColumn {
  std::string name;
  engine::Type type = engine::Type::kText;
  // Public bounds of a number, an integer or a date (its days), and the step of a number's grid.
  std::optional<double> lower = {};
  std::optional<double> upper = {};
  std::optional<double> step = {};
  std::optional<std::vector<std::string>> values = {};  // all texts that may be published as group names
  bool public_range = false;                            // all integers or dates within the bounds may be group names
  std::optional<double> missing = {};                   // replaces a missing number
  std::uint64_t max_length = 64;                        // of a text: longer ones are cut before they are group names
};

// The unit of a table is a column of its own, or that of another table to which a column refers.
struct UnitPath {
  std::string column;       // of this table
  std::string table = {};   // empty: the column tells units apart
  std::string refers = {};  // the column of that table, which must be unique there
};

struct DescribedTable {
  std::string name;
  std::string place = {};  // file or table; or like `name`
  bool is_public = false;  // everything in it is public; it has no unit
  std::vector<DescribedColumn> columns = {};
  std::optional<UnitPath> unit = {};  // none: every row is a unit of its own
  bool one_row_per_unit = false;
  std::vector<std::string> unique = {};  // columns whose values differ in all rows
  // How a CSV file is written: as in table/csv.h and table/schema.h.
  char separator = ',';
  bool trim = false;
  std::vector<std::string> missing = {""};          // texts that mark a missing value
  std::uint64_t max_rows = std::uint64_t{1} << 33;  // public: no table is larger; sums are proved not to overflow
  // What one unit may contribute to a query, unless the query says less.
  std::uint64_t max_groups = 4;
  std::uint64_t max_rows_per_group = 4;
  std::optional<std::uint64_t> max_rows_per_unit = {};
};

struct TablesFormat {
  engine::EngineKind engine = engine::EngineKind::kSqlite;
  std::vector<std::string> locations = {};  // as in engine::Source; none: each table is a file
  std::vector<DescribedTable> tables;
};

// Whether the table is a CSV file, which needs no engine to be read.
[[nodiscard]] bool is_csv_file(const TablesFormat& format, const DescribedTable& table);

// What opens an engine on these tables. Paths are relative to `folder`.
[[nodiscard]] engine::Source source_of(const TablesFormat& format, const std::string& folder);

}  // namespace noisefloor
