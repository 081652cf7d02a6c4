// Checks whether a schema fits rows that are public: bounds in the wrong units and misspelt categories are silent
// mistakes, because values beyond their bounds are clamped and texts that are not listed have a place (schema.h).
//
// Guarantee:     this code looks only at the rows that PublicRows names. Its findings depend only on them and on the
//                schema.
// Requires:      those rows are public: test or validation rows that the owner declared so. Never call this on private
//                rows: counts, and above all the texts that warnings show, would leak them.
// Thread safety: pure functions; plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/table/csv.h"
#include "noisefloor/table/schema.h"

namespace noisefloor {

// Rows of a CSV file that are public. A caller who makes one of these states that they are.
struct PublicRows {
  std::string path;
  CsvFormat format = {};
  std::optional<std::vector<std::uint64_t>> rows = {};  // numbers of records from 0, increasing; none: all records
};

// What the public rows hold in a column of numbers. Cells without a number count as neither below nor above.
struct NumericFit {
  std::string column;
  double lower = 0;
  double upper = 0;
  std::size_t below = 0;  // rows
  std::size_t above = 0;
};

// What the public rows hold in a column of texts.
struct CategoricalFit {
  std::string column;
  std::size_t unlisted = 0;  // rows with a text that the column's values do not list
  // Such texts, and how many rows hold each; the first kMostTexts texts of the file.
  std::map<std::string, std::size_t> unlisted_in = {};
  std::vector<std::string> absent = {};  // values that no row holds

  static constexpr std::size_t kMostTexts = 1000;
};

struct Fit {
  std::size_t rows = 0;
  std::vector<NumericFit> numeric;  // the target too, if there is one
  std::vector<CategoricalFit> categorical;
};

// Fails as read_csv() does if the file is not a table with the schema's columns. The outcome may be missing. Where only
// some rows of the file are public, others may be odd (odd_records.h), and no error says where.
[[nodiscard]] Result<Fit> fit_of(const PublicRows& rows, const Schema& schema);

// Sentences for the owner of the data, each with the column and what to look at: bounds that clamp nearly all rows,
// values that no row holds while many rows hold a text that is spelt almost alike, and columns where hardly any text is
// listed.
[[nodiscard]] std::vector<std::string> warnings_of(const Fit& fit);

}  // namespace noisefloor
