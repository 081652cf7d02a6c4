// The numbers of one column of a dataset, for mechanisms.
//
// Guarantee:     where the dataset is about persons, each person gives at most rows_per_person numbers, chosen at
//                random among that person's own; which ones does not depend on anybody else. A missing value is the
//                constant that the description states. Errors name file, line and column, and no cell.
// Thread safety: pure functions; the source of randomness is used by one thread at a time.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/dataset/paying.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/table/schema.h"

namespace noisefloor {

inline constexpr std::size_t kMaxNumbers = 200'000'000;

// The column as the description states it. kInvalidArgument for data that are no table, and for a column without
// bounds.
[[nodiscard]] Result<NumericColumn> find_column(const DatasetDescription& description, const std::string& name);

[[nodiscard]] Result<std::vector<double>> read_column(const DescribedRows& rows, const NumericColumn& column,
                                                      SecureRandom& random);

}  // namespace noisefloor
