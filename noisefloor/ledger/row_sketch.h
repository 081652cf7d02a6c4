// A sketch of a dataset's rows: the ledger keeps it to recognise the rows under another name.
//
// A sketch holds a fingerprint of all rows, whatever their order; a sample of rows by their keyed hashes (bottom-k: the
// k lowest ones, each with how often it occurs); and, for a table, a fingerprint of every column. Making one takes a
// single pass, and memory that does not grow with the number of rows.
//
// Guarantee:     (1) Equal rows in any order have equal fingerprints; other rows have another one except with
//                probability 2⁻¹²⁸. (2) A row in the sample has its exact count, because a hash below the final
//                threshold is never evicted. Whether a row is sampled depends on its content and the key alone, so that
//                the samples of two datasets can be compared. (3) To someone without the key a sketch's hashes look
//                random. Its counts do not: whoever keeps a sketch seals it (ledger.h does).
// Requires:      a key that is kept secret, and the same key for all sketches that are to be compared.
// Thread safety: pure functions; a sketcher is used by one thread at a time.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/base/wide_int.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/crypto/secret.h"
#include "noisefloor/crypto/short_hash.h"

namespace noisefloor {

// The most distinct rows that a sample holds. docs/formats/dataset.md reports what samples of this size were measured
// to find.
inline constexpr std::size_t kSketchRows = 8192;
inline constexpr std::size_t kSketchColumns = 256;

struct SampledRow {
  std::uint64_t hash;
  std::uint8_t count;  // 255: as many or more
  friend bool operator==(const SampledRow&, const SampledRow&) = default;
};

struct ColumnPrint {
  ShortHash content;  // of all values, whatever their order
  // Values repeat, and their counts differ as those of a sample do. Columns that two tables have in common by design
  // (numbers from 1 to n, days of a year, the same quota for each site) are not like that.
  bool uneven;
  // NOLINTNEXTLINE(modernize-use-nullptr, readability-implicit-bool-conversion)
  friend auto operator<=>(const ColumnPrint&, const ColumnPrint&) = default;
};

struct RowSketch {
  std::uint64_t rows = 0;
  Digest fingerprint{};
  bool whole = true;                 // the sample has every distinct row
  std::vector<SampledRow> sample;    // by increasing hash
  std::vector<ColumnPrint> columns;  // increasing; of columns with at least kColumnValues different values
  friend bool operator==(const RowSketch&, const RowSketch&) = default;
};

// Columns with fewer different values could be equal by chance.
inline constexpr std::size_t kColumnValues = 8;

class RowSketcher {
 public:
  explicit RowSketcher(const Secret32& key, std::size_t sample = kSketchRows);

  // Adds one record as it stands.
  void add_record(std::string_view record);
  // Names the columns of a table, before its first row. Only letters and digits of a name count, and the order of the
  // columns does not. A dataset of several tables calls this for each of them: a record does not depend on which table
  // it is in.
  void set_columns(std::span<const std::string> names);
  // The places of these columns among those that were set, by the letters and digits of their names: another file of
  // the table may have them in another order. kInputData if they are not the same.
  [[nodiscard]] Result<std::vector<std::size_t>> places_of(std::span<const std::string> names) const;
  // Adds one row of the table that was set last. Requires as many cells as columns.
  void add_row(std::span<const std::string_view> cells);

  [[nodiscard]] RowSketch finish() &&;

 private:
  using Wide = Uint128;
  struct CountedValue {
    std::uint64_t hash;
    std::uint64_t count;
  };
  struct Column {
    Wide name;  // odd
    Wide sum = 0;
    std::vector<CountedValue> values = {};  // those with the lowest hashes, by increasing hash, with their exact counts
  };

  void add(const ShortHash& hash);
  [[nodiscard]] static bool is_uneven(const Column& column);
  static void count_value(Column& column, std::uint64_t hash);

  ShortKey record_key_;
  ShortKey cell_key_;
  Secret32 fingerprint_key_;
  std::size_t size_;
  std::uint64_t rows_ = 0;
  Wide sum_ = 0;
  std::vector<Column> columns_;
  std::size_t first_column_ = 0;  // of the table that was set last
  bool evicted_ = false;
  std::priority_queue<std::uint64_t> highest_;
  std::unordered_map<std::uint64_t, std::uint8_t> counts_;
};

// How alike two datasets are, from their sketches.
struct Similarity {
  bool same = false;  // the same rows
  // How many rows occur once in their dataset, among those that both samples can judge: in the first, in the second, in
  // both.
  std::size_t first = 0;
  std::size_t second = 0;
  std::size_t both = 0;
  // The `both` to expect of two samples without a common record: rows of few possible values coincide.
  double by_chance = 0;
  // The columns of the table that has fewer, and how many of them have equal content in the other one.
  std::size_t columns = 0;
  std::size_t common_columns = 0;
  // The same for uneven columns alone.
  std::size_t uneven_columns = 0;
  std::size_t common_uneven_columns = 0;

  // The share of the smaller dataset that is in the other one, beyond chance, in [0, 1]; 0 if too few rows can be
  // judged.
  [[nodiscard]] double share() const;
  // Whether they hold the same records, as far as a budget is concerned.
  [[nodiscard]] bool is_shared() const;
};

[[nodiscard]] Similarity compare(const RowSketch& a, const RowSketch& b);

// The bytes always have the same length, so that they do not show the number of rows.
[[nodiscard]] std::string to_bytes(const RowSketch& sketch);
// Returns nothing if to_bytes() would not have written these bytes.
[[nodiscard]] std::optional<RowSketch> parse_sketch(std::string_view bytes);

}  // namespace noisefloor
