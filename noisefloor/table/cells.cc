#include "noisefloor/table/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace noisefloor::internal {

Result<std::size_t> cell_of(const CsvReader& reader, const std::string& name) {
  const auto& header = reader.header();
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) {
    return error_at_line(
        reader.name(), 1,
        fmt::format("the first line names no column '{}'; add it, or take it out of the schema", name));
  }
  return static_cast<std::size_t>(found - header.begin());
}

bool is_missing(const Schema& schema, std::string_view cell) {
  return std::find(schema.missing.begin(), schema.missing.end(), cell) != schema.missing.end();
}

Result<double> number_in(const CsvReader& reader, const Schema& schema, const NumericColumn& column,
                         std::string_view cell) {
  const bool missing = is_missing(schema, cell);
  const std::optional<double> value = missing ? column.missing : parse_decimal(cell);
  if (value) return *value;
  if (missing) {
    return reader.error(
        fmt::format("column '{}' must hold a decimal number, and this record has none; add missing = … to its "
                    "[[data.column]], a number within the bounds that stands for missing values",
                    column.name));
  }
  return reader.error(fmt::format(
      "column '{}' must hold a decimal number, such as -1.5; if a text marks missing values, list it in "
      "missing = [\"\", \"?\"] under [data]; if the column holds texts, give its [[data.column]] values = […]",
      column.name));
}

Result<std::string_view> person_in(const CsvReader& reader, const Schema& schema, std::string_view cell) {
  if (!cell.empty() && !is_missing(schema, cell)) return cell;
  return reader.error(
      fmt::format("column '{}' must say in every record whose it is, and this one has no id: give it one, or leave "
                  "the record out; person in [data] names the column",
                  schema.person->name));
}

}  // namespace noisefloor::internal
