// Reads the records of a dataset in the form that the ledger remembers: one pass over the files, whatever the schema.
//
// A record of a CSV file is its cells by the names of their columns, in any order, without surrounding spaces, and with
// numbers in one form (1, 1.0 and +1e0 are the same). A record of a LIBSVM file is its label and its pairs, a record of
// a text is its line, and a record of an IDX file is its image and its label, to the byte. So a copy that is
// compressed, shuffled, quoted or separated differently, or read by another schema, has the same records.
//
// An odd record of a CSV file (table/odd_records.h) is its line. A record of a table in a database is that of a CSV
// file with the same columns and cells, so that rows are known in whichever form they come back. A dataset of tables
// has the records of all tables that are not public.
//
// Guarantee:     memory does not grow with the number of rows. Errors are about the file as a whole: they name no line,
//                and show nothing of its content and no count. That a file holds a record at all is taken as public.
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/secret.h"
#include "noisefloor/dataset/description.h"
#include "noisefloor/ledger/dataset_outcome.h"
#include "noisefloor/ledger/row_sketch.h"

namespace noisefloor {

// Resolves a path that a file states against the folder of that file.
[[nodiscard]] std::string resolved(const std::string& folder, const std::string& path);

// The sketch of all rows in the files of a description in `folder`. Refused if there are no rows.
[[nodiscard]] Result<RowSketch> sketch_rows(const Secret32& key, const DatasetDescription& description,
                                            const std::string& folder);

// The sketch of the tables that a description of tables declares public. It may have no rows.
[[nodiscard]] Result<RowSketch> sketch_public_tables(const Secret32& key, const DatasetDescription& description,
                                                     const std::string& folder);

// The sketch of the rows of each chosen block, without their dates too where blocks are by date, and of the whole
// dataset: all rows of the file, or of all chosen batches. In one pass; blocks may be empty. Requires chosen blocks.
struct SketchedBlocks {
  RowSketch all;
  std::vector<BlockRows> blocks;
};
[[nodiscard]] Result<SketchedBlocks> sketch_blocks(const Secret32& key, const DatasetDescription& description,
                                                   const std::string& folder);

// A cell in one form: without spaces around it, and with a number as the shortest text that reads back as that number.
// `room` holds the text if it is not a part of the cell.
[[nodiscard]] std::string_view canonical_cell(std::string_view cell, std::string& room);

}  // namespace noisefloor
