// What the cells of a record say by the schema, or the error with its remedy. Internal to table/.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "noisefloor/base/result.h"
#include "noisefloor/table/csv.h"
#include "noisefloor/table/schema.h"

namespace noisefloor::internal {

// The place of a column in the file.
[[nodiscard]] Result<std::size_t> cell_of(const CsvReader& reader, const std::string& name);

// Whether the text marks a missing value.
[[nodiscard]] bool is_missing(const Schema& schema, std::string_view cell);

// The number in a cell, or the constant that stands for a missing one. An error does not fit the schema
// (odd_records.h).
[[nodiscard]] Result<double> number_in(const CsvReader& reader, const Schema& schema, const NumericColumn& column,
                                       std::string_view cell);

// The id in a cell. Records without an id might all be one person's, or a person's of other records: no bound holds for
// them, so that they are nobody's.
[[nodiscard]] Result<std::string_view> person_in(const CsvReader& reader, const Schema& schema, std::string_view cell);

}  // namespace noisefloor::internal
