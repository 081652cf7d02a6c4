// Internal to engine/: a table of a source as it stands in an engine.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/relation.h"
#include "noisefloor/engine/source.h"

namespace noisefloor::engine {

struct PlacedColumn {
  std::string name;
  Type type = Type::kText;
  std::string held = {};    // the engine's own type of the column, where it has one
  bool never_null = false;  // the engine itself sees to it
};

struct PlacedTable {
  std::string name;  // in queries
  std::string from;  // what stands after FROM
  std::vector<PlacedColumn> columns;
  // Whether every cell is a value of its type already, because this program wrote the table.
  bool is_fitted = false;
};

// kInvalidArgument if there is no such table, or it has no such column of that type.
[[nodiscard]] Result<const PlacedTable*> find_table(const std::vector<PlacedTable>& tables, const Scan& scan);
[[nodiscard]] const PlacedColumn& find_column(const PlacedTable& table, const std::string& name);

// "name" or "schema"."name" of a place such as schema.name; of the table's name if the place is empty.
[[nodiscard]] std::string quoted_place(const SourceTable& table);

// Whether tables are files, and which.
[[nodiscard]] bool is_file(const Source& source);
[[nodiscard]] std::string path_of(const Source& source, const SourceTable& table);
[[nodiscard]] bool is_parquet(const std::string& path);

}  // namespace noisefloor::engine
