// Images and labels as IDX files: the format of MNIST, Fashion-MNIST and their kin.
//
// Guarantee:     the files agree with their headers, to the byte, or there is an error. Memory grows with the bytes
//                that are there, not with what a header claims. Errors name file, byte (after unpacking) and what was
//                expected, and nothing that the file holds.
// Implements:    IDX with elements of unsigned bytes: N × H × W or N × C × H × W images, N labels.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/table/byte_source.h"
#include "noisefloor/table/dataset.h"

namespace noisefloor {

// Pixels from 0 to 1, of shape {1, H, W} or {C, H, W}; labels from 0 to classes − 1. Plain, or compressed with gzip.
[[nodiscard]] Result<Dataset> read_idx(const std::string& images_path, const std::string& labels_path,
                                       std::int32_t classes);
[[nodiscard]] Result<Dataset> read_idx(ByteSource images, ByteSource labels, std::int32_t classes);
// For predictions: all labels are 0.
[[nodiscard]] Result<Dataset> read_idx_images(const std::string& path, std::int32_t classes);

}  // namespace noisefloor
