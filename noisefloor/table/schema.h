// What is public about the columns of a private table, and reading the table by it.
//
// Guarantee:     what an example looks like depends on its own record and the schema alone: bounds, categories and
//                classes are stated and never taken from the data. Numbers beyond their bounds are clamped and
//                categories that are not listed have a place. A record that does not fit is a null record where rows
//                are private, as they are unless the caller says otherwise (odd_records.h), and a table without
//                records is a table. For public rows errors name file, line and column, and no cell. Of the file's
//                first line errors show at most a name that differs from a column of the schema in case alone or,
//                where the line names at least half of the schema's columns and so is a header, in a few letters.
// Requires:      that the schema was not made by looking at the private table.
// Thread safety: pure functions; plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/table/csv.h"
#include "noisefloor/table/dataset.h"
#include "noisefloor/table/odd_records.h"
#include "noisefloor/table/scaling.h"

namespace noisefloor {

// One feature.
struct NumericColumn {
  std::string name;
  double lower = 0;
  double upper = 0;
  std::optional<double> missing = std::nullopt;  // replaces a missing value; none: such a record does not fit
  Scaling scaling = Scaling::kSymmetric;
};

// How to encode a text that is not among a column's values.
enum class Unlisted : std::uint8_t {
  kZeros,  // 0 in all features of the column
  kOther,  // 1 in a feature of its own, the last one of the column
};

// One feature for each value: 1 if the cell holds it, otherwise 0.
struct CategoricalColumn {
  std::string name;
  std::vector<std::string> values;
  Unlisted unlisted = Unlisted::kZeros;
};

using FeatureColumn = std::variant<NumericColumn, CategoricalColumn>;

// The class of an example is its text's place in `classes`. A record with another text does not fit.
struct LabelColumn {
  std::string name;
  std::vector<std::string> classes;
};

// A number to predict. A record without it does not fit.
struct TargetColumn {
  std::string name;
  double lower = 0;
  double upper = 0;
};

// The column that says whose record it is. Its texts are compared exactly and shown to nobody. A record without one is
// nobody's (kNobody): a null record that takes part in nothing.
struct PersonColumn {
  std::string name;
  std::size_t rows_each = 1;  // Dataset::rows_per_person
};

struct Schema {
  std::vector<FeatureColumn> features;  // in the order of the features of an example, which need not be the file's
  std::variant<LabelColumn, TargetColumn> outcome;
  std::vector<std::string> missing = {""};  // texts that mark a missing number, such as "?"
  bool outcome_may_lack = false;          // for predictions: a table without its column has class 0, or the lower bound
  std::optional<std::string> group = {};  // the column that says whose suggestion an example is (Dataset::groups)
  // Set if whole people are protected (Dataset::people). Predictions do not need it: with outcome_may_lack it is left
  // out.
  std::optional<PersonColumn> person = {};

  // Features of one example.
  [[nodiscard]] std::size_t dimension() const;
};

// Fails with kInvalidArgument for a schema that has no meaning: no features, bounds that are not lower < upper, a
// constant for missing values that is out of bounds, a text or a column that is listed twice, fewer than 2 classes, a
// person's column that is also a feature or the outcome, 0 rows of a person.
[[nodiscard]] Result<void> check_schema(const Schema& schema);

// Every record of a CSV file with a header, plain or compressed with gzip. Columns that the schema does not name are
// left out. A public table without records is an error.
[[nodiscard]] Result<Dataset> read_csv(const std::string& path, const Schema& schema, const CsvFormat& format = {},
                                       const OddRecords& odd = OddRecords::become_null());
[[nodiscard]] Result<Dataset> read_csv(ByteSource source, const Schema& schema, const CsvFormat& format = {},
                                       const OddRecords& odd = OddRecords::become_null());

// Whether the first line of the file names the columns of the schema, as read_csv checks it. Nothing else is read.
[[nodiscard]] Result<void> check_csv_header(const std::string& path, const Schema& schema, const CsvFormat& format = {},
                                            const OddRecords& odd = OddRecords::become_null());

}  // namespace noisefloor
