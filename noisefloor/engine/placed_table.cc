#include "noisefloor/engine/placed_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "noisefloor/base/check.h"
#include "noisefloor/base/text.h"
#include "noisefloor/engine/sql_dialect.h"

namespace noisefloor::engine {

Result<const PlacedTable*> find_table(const std::vector<PlacedTable>& tables, const Scan& scan) {
  const auto table = std::ranges::find(tables, scan.table, &PlacedTable::name);
  if (table == tables.end()) {
    return invalid_argument(fmt::format("the source has no table {}: name it in the dataset", shown(scan.table)));
  }
  for (const NamedColumn& column : scan.columns) {
    const auto at = std::ranges::find(table->columns, column.name, &PlacedColumn::name);
    if (at == table->columns.end() || at->type != column.type) {
      return invalid_argument(fmt::format("the table {} of the source has no column {} of the type {}",
                                          shown(scan.table), shown(column.name), name_of(column.type)));
    }
  }
  return &*table;
}

const PlacedColumn& find_column(const PlacedTable& table, const std::string& name) {
  const auto at = std::ranges::find(table.columns, name, &PlacedColumn::name);
  NF_CHECK(at != table.columns.end(), "find_table() has found all columns");
  return *at;
}

std::string quoted_place(const SourceTable& table) {
  const std::string& place = table.place.empty() ? table.name : table.place;
  const std::size_t dot = place.find('.');
  if (dot == std::string::npos) return quoted_name(place);
  return quoted_name(place.substr(0, dot)) + "." + quoted_name(place.substr(dot + 1));
}

bool is_file(const Source& source) { return source.locations.empty() && source.engine != EngineKind::kPostgresql; }

std::string path_of(const Source& source, const SourceTable& table) {
  const std::filesystem::path place = table.place.empty() ? table.name : table.place;
  return place.is_absolute() || source.folder.empty() ? place.string() : (source.folder / place).string();
}

bool is_parquet(const std::string& path) { return path.ends_with(".parquet"); }

}  // namespace noisefloor::engine
