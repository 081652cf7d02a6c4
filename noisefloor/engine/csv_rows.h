// Internal to engine/: the rows of a CSV file as values of declared types.
//
// Odd records:   a record that is not one by RFC 4180, or has another number of cells than the header, is left out
//                (table/csv.h says where it ends). A cell that does not fit its column is NULL. So no row that is
//                exchanged for another one changes what is read of the others, and no text of the file is in an error.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/evaluate.h"
#include "noisefloor/engine/source.h"

namespace noisefloor::engine {

// Cells are separated by commas; in files whose name ends with .tsv or .tsv.gz, by tabs.
[[nodiscard]] Result<void> for_each_csv_row(const std::string& path, const std::vector<SourceColumn>& columns,
                                            const std::function<Result<void>(std::span<const Value>)>& take);

}  // namespace noisefloor::engine
