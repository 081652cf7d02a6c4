#include "noisefloor/table/number_column.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "noisefloor/base/spelling.h"
#include "noisefloor/table/cells.h"
#include "noisefloor/table/header_check.h"

namespace noisefloor {

Result<NumericColumn> find_numeric_column(const Schema& schema, const std::string& name) {
  std::vector<std::string_view> known;
  for (const FeatureColumn& feature : schema.features) {
    const auto* column = std::get_if<NumericColumn>(&feature);
    if (column == nullptr) continue;
    if (column->name == name) return *column;
    known.push_back(column->name);
  }
  if (const auto* target = std::get_if<TargetColumn>(&schema.outcome)) {
    if (target->name == name) return NumericColumn{target->name, target->lower, target->upper};
    known.push_back(target->name);
  }
  const std::string_view meant = nearest_name(name, known);
  if (!meant.empty()) {
    return invalid_argument(one_line(fmt::format("there is no numeric column '{}'; did you mean '{}'?", name, meant)));
  }
  return invalid_argument(one_line(fmt::format("there is no numeric column '{}'; {}", name,
                                               known.empty() ? "the description states bounds for none"
                                                             : fmt::format("there are: {}", fmt::join(known, ", ")))));
}

Result<void> for_each_number(ByteSource source, const Schema& schema, const CsvFormat& format,
                             const NumericColumn& column, const TakeNumber& take) {
  NF_TRY(CsvReader reader, CsvReader::open(std::move(source), format));
  NF_TRY_VOID(internal::check_header(reader, schema));
  NF_TRY(const std::size_t cell, internal::cell_of(reader, column.name));
  std::optional<std::size_t> person;
  if (schema.person) {
    NF_TRY(person, internal::cell_of(reader, schema.person->name));
  }
  bool any = false;
  while (true) {
    NF_TRY(const bool found, reader.next());
    if (!found) break;
    any = true;
    NF_TRY(const double value, internal::number_in(reader, schema, column, reader.cells()[cell]));
    std::string_view id;
    if (person) {
      NF_TRY(id, internal::person_in(reader, schema, reader.cells()[*person]));
    }
    NF_TRY_VOID(take(value, id));
  }
  // Whether the chosen records are none depends on the data, and must not show.
  return any || format.only ? success() : Result<void>(reader.error("the table holds no records"));
}

}  // namespace noisefloor
