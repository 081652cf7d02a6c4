// The records of a dataset as the ledger remembers them: one pass over the files, whatever the schema makes of them.
//
// A record of a CSV file is its cells by the names of their columns, in any order, without surrounding spaces, and with numbers
// in one form (1, 1.0 and +1e0 are the same). A record of LIBSVM is its label and its pairs, of a text its line, and of IDX
// its image and its label, to the byte. So a copy that is compressed, shuffled, quoted or separated otherwise, or read by
// another schema, has the same records.
//
// Guarantee:     memory does not grow with the rows. Errors name the file and a line or byte, and nothing that stands there.
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/secret.h"
#include "noisefloor/dataset/description.h"
#include "noisefloor/ledger/row_sketch.h"

namespace noisefloor {

// A path as it stands in a file, resolved against the folder of that file.
[[nodiscard]] std::string resolved(const std::string& folder, const std::string& path);

// The sketch of all rows in the files of a description that stands in `folder`. Refused where there are none.
[[nodiscard]] Result<RowSketch> sketch_rows(const Secret32& key, const DatasetDescription& description,
                                            const std::string& folder);

// A cell in one form: without spaces around it, and a number as the shortest text that reads back as it. `room` holds the
// text where it is not a part of the cell.
[[nodiscard]] std::string_view canonical_cell(std::string_view cell, std::string& room);

}  // namespace noisefloor
