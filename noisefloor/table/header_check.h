// Checks whether a file's first line names the columns of a schema, and finds what is wrong if it does not.
//
// Guarantee: the error shows names of the schema, which is public, and of the file's first line at most what schema.h
// states.
//
// Internal to table/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/table/csv.h"
#include "noisefloor/table/schema.h"

namespace noisefloor::internal {

// The names of the schema's columns: features, outcome, group.
[[nodiscard]] std::vector<std::string_view> column_names(const Schema& schema);

// Fails with a remedy if a feature column is missing, or the outcome is missing where it must be there: another
// separator, no header, a misspelt name, or a column that does not exist.
[[nodiscard]] Result<void> check_header(const CsvReader& reader, const Schema& schema);

}  // namespace noisefloor::internal
