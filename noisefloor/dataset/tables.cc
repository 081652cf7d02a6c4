#include "noisefloor/dataset/tables.h"

namespace noisefloor {

bool is_csv_file(const TablesFormat& format, const DescribedTable& table) {
  return format.locations.empty() && !table.place.ends_with(".parquet");
}

engine::Source source_of(const TablesFormat& format, const std::string& folder) {
  engine::Source source{.engine = format.engine, .locations = format.locations, .tables = {}, .folder = folder};
  for (const DescribedTable& table : format.tables) {
    engine::SourceTable one{table.name, table.place, {}};
    for (const DescribedColumn& column : table.columns) one.columns.push_back({column.name, column.type});
    if (table.unit && table.unit->table.empty()) one.unit = table.unit->column;
    source.tables.push_back(std::move(one));
  }
  return source;
}

}  // namespace noisefloor
