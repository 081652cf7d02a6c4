// The numbers of one column of a dataset, for mechanisms.
//
// Guarantee:     where the dataset is about persons, each person gives at most rows_per_person numbers, chosen at
//                random among that person's own; which ones does not depend on anybody else. Rows are private: no
//                record is an error (table/number_column.h).
// Records without a number (an odd record, a cell that is no number, a missing value) are mapped by a public rule.
//                Where the description states a constant for missing values, it is that. Else
//                  add-remove    the record is not there: a unit adds at most its numbers, and fewer if some are none.
//                                This is within every bound for adding and removing units.
//                  replace-one   it is the lower bound of the column: every row (or person, who has one row each: see
//                                statistics/column_questions.h) gives exactly one number within the bounds, so that
//                                exchanging one exchanges one number and their number stays as it was. If the record
//                                gave nothing instead, a sum over [100, 110] could move by 110, and not by 10.
//                Records that are nobody's give nothing: they belong to no person, under both relations.
// Thread safety: pure functions; the source of randomness is used by one thread at a time.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/dataset/paying.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/table/schema.h"

namespace noisefloor {

// The column as the description states it. kInvalidArgument for data that are no table, and for a column without
// bounds.
[[nodiscard]] Result<NumericColumn> find_column(const DatasetDescription& description, const std::string& name);

[[nodiscard]] Result<std::vector<double>> read_column(const DescribedRows& rows, const NumericColumn& column,
                                                      SecureRandom& random);

}  // namespace noisefloor
