#include "noisefloor/engine/csv_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "noisefloor/base/text.h"
#include "noisefloor/table/csv.h"

namespace noisefloor::engine {

Result<void> for_each_csv_row(const std::string& path, const std::vector<SourceColumn>& columns,
                              const std::function<Result<void>(std::span<const Value>)>& take) {
  const OddRecords odd = OddRecords::become_null();
  CsvFormat format;
  if (path.ends_with(".tsv") || path.ends_with(".tsv.gz")) format.separator = '\t';
  NF_TRY(ByteSource source, ByteSource::open(path));
  NF_TRY(CsvReader reader, CsvReader::open(std::move(source), format, odd));
  std::vector<std::size_t> places;
  for (const SourceColumn& column : columns) {
    const auto at = std::ranges::find(reader.header(), column.name);
    if (at == reader.header().end()) {
      return input_data_error(fmt::format("{} has no column {}: its first line must name all columns of the table",
                                          one_line(path), shown(column.name)));
    }
    places.push_back(static_cast<std::size_t>(at - reader.header().begin()));
  }
  std::vector<Value> row(columns.size());
  for (;;) {
    NF_TRY(const CsvReader::Found found, reader.next(odd));
    if (found == CsvReader::Found::kEnd) return success();
    if (found == CsvReader::Found::kOdd) continue;
    for (std::size_t i = 0; i < places.size(); ++i) row[i] = parse_cell(columns[i].type, reader.cells()[places[i]]);
    NF_TRY_VOID(take(row));
  }
}

}  // namespace noisefloor::engine
