// Examples in the LIBSVM (svmlight) text format: a label, then index:value pairs with indices from 1, increasing.
// Features that are not listed are 0. Text after a '#' is a comment.
//
// Guarantee:     an example depends only on its own line and the options. Values beyond the bounds are clamped, never
//                refused. A line that is no example is a null record where rows are private, as they are unless the
//                caller says otherwise (odd_records.h), and a file without examples is a file. For public rows errors
//                name file, line and what was expected, and nothing that the file holds.
// Requires:      options that were not made by looking at the private data.
// Thread safety: pure functions; plain data.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/table/byte_source.h"
#include "noisefloor/table/dataset.h"
#include "noisefloor/table/odd_records.h"
#include "noisefloor/table/scaling.h"

namespace noisefloor {

struct LibsvmOptions {
  std::size_t dimension = 0;
  // The class of an example is its label's place here. Numbers are compared as numbers: "1" is also "+1" and "1.0".
  std::vector<std::string> classes;
  // Bounds of every value, including those that are not listed.
  double lower = 0;
  double upper = 0;
  Scaling scaling = Scaling::kNone;
  // Then divides each example by its own Euclidean norm; an example of zeros stays as it is. Norms are 1 up to the
  // rounding of floats.
  bool normalise = false;
  std::size_t max_line_bytes = std::size_t{16} << 20;
};

// Plain, or compressed with gzip. A public file without examples is an error.
[[nodiscard]] Result<Dataset> read_libsvm(const std::string& path, const LibsvmOptions& options,
                                          const OddRecords& odd = OddRecords::become_null());
[[nodiscard]] Result<Dataset> read_libsvm(ByteSource source, const LibsvmOptions& options,
                                          const OddRecords& odd = OddRecords::become_null());

}  // namespace noisefloor
