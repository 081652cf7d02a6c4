// The first two files for someone with a table: a dataset description and a training file, with blanks to fill in.
//
// Guarantee:     the texts depend on the outline and the names alone. They state a bound or a value only if the caller
//                passes what it read from a public file; everything else is a blank (blank.h), so that neither file can
//                be used before a person has filled it in.
// Errors:        write_starter refuses to overwrite a file (kInvalidArgument), and passes on what is wrong with the
//                table.
// Thread safety: pure functions, except write_starter, which writes files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/table/outline.h"

namespace noisefloor {

struct StarterNames {
  std::string dataset;      // what people call the data
  std::string table;        // the path of the CSV file, as the description has it
  std::string description;  // the path of the description, as the training file has it
};

// `known` has one entry for each column, if the table is public.
[[nodiscard]] std::string starter_description(const StarterNames& names, const CsvOutline& outline,
                                              const std::optional<std::vector<PublicColumn>>& known);

[[nodiscard]] std::string starter_training(const StarterNames& names);

// A name for the dataset from the path of its table: "data/Visits 2024.csv.gz" gives "visits-2024".
[[nodiscard]] std::string starter_name(const std::string& table);

struct StarterRequest {
  std::string table;         // the path of the CSV file
  std::string name = {};     // of the dataset; starter_name(table) if empty
  std::string folder = ".";  // for the two files: it is made where it is missing
  bool is_public = false;    // the table is public, and fills the blanks
};

struct StarterFiles {
  std::string description;  // their paths
  std::string training;
  std::size_t columns = 0;
};

// Writes NAME.toml and NAME-training.toml.
[[nodiscard]] Result<StarterFiles> write_starter(const StarterRequest& request);

}  // namespace noisefloor
