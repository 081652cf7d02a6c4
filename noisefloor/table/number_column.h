// One numeric column of a CSV table by its schema: number by number, with the id of the person whose record it is.
//
// Guarantee:     what a number is depends on its own record and the schema alone: a missing value is the constant that
//                the schema states for it. Numbers are as they stand, not clamped. Memory does not grow with the table.
//                Errors are those of read_csv (schema.h): they name file, line and column, and no cell.
// Thread safety: pure functions.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "noisefloor/base/result.h"
#include "noisefloor/table/csv.h"
#include "noisefloor/table/schema.h"

namespace noisefloor {

// The column as the schema states it; a target is a column without a constant for missing values. kInvalidArgument with
// the numeric columns that there are.
[[nodiscard]] Result<NumericColumn> find_numeric_column(const Schema& schema, const std::string& name);

// The person is empty where the schema has none.
using TakeNumber = std::function<Result<void>(double value, std::string_view person)>;
[[nodiscard]] Result<void> for_each_number(ByteSource source, const Schema& schema, const CsvFormat& format,
                                           const NumericColumn& column, const TakeNumber& take);

}  // namespace noisefloor
