// The tables that queries may name: those of a description of tables, or the one table of a described CSV file.
//
// Guarantee:     a column that the description does not name does not exist for a query. Every value that is returned
//                is in the description or follows from it; no row is read.
// A CSV file is one table. Its name is that of the dataset in small letters, with _ for what is no letter or digit. Its
// numeric columns have their bounds, on a grid of 2^-20 of the larger of them (a power of two, so that whole numbers
// stay whole); columns of texts and the label have their values as public names of groups.
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/dataset/description.h"

namespace noisefloor {

// kInvalidArgument for data that are no tables, and for rows in blocks.
[[nodiscard]] Result<TablesFormat> tables_of(const DatasetDescription& description);

// The files that tables are in, as the description states them; none for PostgreSQL.
[[nodiscard]] std::vector<std::string> files_of(const TablesFormat& format);

// Whether every table and column that is described is there, by the catalogue or the first line of a file; no row is
// read. kInvalidArgument with the nearest name; kIo if the place cannot be reached.
[[nodiscard]] Result<void> check_catalogue(const TablesFormat& format, const std::string& folder);

}  // namespace noisefloor
