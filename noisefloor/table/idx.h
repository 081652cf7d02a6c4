// Images and labels as IDX files: the format of MNIST, Fashion-MNIST and their kin.
//
// Guarantee:     the files agree with their headers, to the byte, or there is an error. Memory grows with the bytes
//                that are there, not with what a header claims. Errors name the file, a byte of its header and what
//                was expected, and nothing that the file holds. A label out of range makes its image a null record
//                where rows are private, as they are unless the caller says otherwise (odd_records.h).
// Implements:    IDX with elements of unsigned bytes: N × H × W or N × C × H × W images, N labels.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/table/byte_source.h"
#include "noisefloor/table/dataset.h"
#include "noisefloor/table/odd_records.h"

namespace noisefloor {

// Pixels from 0 to 1, of shape {1, H, W} or {C, H, W}; labels from 0 to classes − 1. Plain, or compressed with gzip.
[[nodiscard]] Result<Dataset> read_idx(const std::string& images_path, const std::string& labels_path,
                                       std::int32_t classes, const OddRecords& odd = OddRecords::become_null());
[[nodiscard]] Result<Dataset> read_idx(ByteSource images, ByteSource labels, std::int32_t classes,
                                       const OddRecords& odd = OddRecords::become_null());
// For predictions: all labels are 0.
[[nodiscard]] Result<Dataset> read_idx_images(const std::string& path, std::int32_t classes);

}  // namespace noisefloor
