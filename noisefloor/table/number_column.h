// One numeric column of a CSV table by its schema: number by number, with the id of the person whose record it is.
//
// Guarantee:     what a number is depends on its own record and the schema alone: a cell without a number is the
//                constant that the schema states for missing values, or nothing. Numbers are as they stand, not
//                clamped. Memory does not grow with the table. Rows are private: no record is an error, and those about
//                the file are read_csv's (schema.h, odd_records.h).
// People:        where the schema has a person, records without one are nobody's and are passed over. So all that a
//                person has in the table is what comes with that person's id.
// Thread safety: pure functions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "noisefloor/base/result.h"
#include "noisefloor/table/csv.h"
#include "noisefloor/table/schema.h"

namespace noisefloor {

// The column as the schema states it; a target is a column without a constant for missing values. kInvalidArgument with
// the numeric columns that there are.
[[nodiscard]] Result<NumericColumn> find_numeric_column(const Schema& schema, const std::string& name);

// The value is empty for a record that has none, and the person where the schema has none.
using TakeNumber = std::function<Result<void>(std::optional<double> value, std::string_view person)>;
[[nodiscard]] Result<void> for_each_number(ByteSource source, const Schema& schema, const CsvFormat& format,
                                           const NumericColumn& column, const TakeNumber& take);

}  // namespace noisefloor
