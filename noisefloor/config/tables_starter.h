// The description of several tables, with blanks to fill in: for a database, or for CSV and Parquet files.
//
// Guarantee:     the text depends on the catalogue and the names alone: no row of a database is read, and of a CSV file
//                nothing but the types of its columns is told (table/outline.h). Bounds are blanks (blank.h), so that
//                the description cannot be used before a person has filled them in. No password is written.
// Errors:        as write_starter (starter.h).
// Thread safety: pure functions, except write_tables_starter, which writes a file.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/dataset/tables.h"

namespace noisefloor {

// Whether these places make a description of tables: a database (….db, ….sqlite, ….duckdb, postgresql://… or
// host=… dbname=…), a Parquet file, or several files. A single CSV file is described as data to learn from, and can be
// queried too.
[[nodiscard]] bool are_tables(const std::vector<std::string>& places);

[[nodiscard]] std::string starter_tables(const std::string& name, const TablesFormat& source,
                                         const std::vector<engine::CatalogueTable>& catalogue);

struct TablesStarterRequest {
  std::vector<std::string> places;
  std::string name = {};     // of the dataset; made from the first place if empty
  std::string folder = ".";  // for the file: it is made where it is missing
};

struct TablesStarterFile {
  std::string description;  // its path
  std::size_t tables = 0;
  std::size_t columns = 0;
};

// Writes NAME.toml.
[[nodiscard]] Result<TablesStarterFile> write_tables_starter(const TablesStarterRequest& request);

}  // namespace noisefloor
