// Comma-separated values by RFC 4180, record by record.
//
// Guarantee:     a record is what stands in the file, or an error: nothing is guessed, skipped or repaired. Every
//                record has as many cells as the header. Memory is bounded by the longest record that the format
//                allows. Errors name file, line and what was expected, and no text of the file: not even a name in its
//                header, which in a file without one is the first record. At most they say that a quote is followed by
//                one of the usual separators. For rows that are private next(odd) has no errors about records, and
//                open(…, odd) has one text for every header that cannot be read.
// Odd records:   a record that is not one by RFC 4180, or has another number of cells than the header, is the rest of
//                its first line: reading goes on with the next line. So in a file whose records each are well-formed,
//                as every program writes them that quotes its cells, one record that is exchanged for any line changes
//                that record alone, except where its quote opens a cell that later lines close with as many cells as
//                the header has.
// Implements:    RFC 4180: cells in quotes may hold separators, quotes (doubled) and line breaks; lines end with LF or
//                CRLF, the last one with or without. A byte order mark of UTF-8 at the start is dropped.
// Thread safety: a reader is used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/table/byte_source.h"
#include "noisefloor/table/odd_records.h"

namespace noisefloor {

inline constexpr std::size_t kMaxRecordBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxOddLine = std::size_t{64} << 10;

// Which records are read: a public rule for the cell of one column. All others are passed over, as if they were not
// there.
struct RecordFilter {
  std::string column;
  std::function<bool(std::string_view cell)> takes;
};

struct CsvFormat {
  char separator = ',';
  bool trim = false;  // drops spaces and tabs around cells that are not in quotes
  std::size_t max_record_bytes = kMaxRecordBytes;
  std::shared_ptr<const RecordFilter> only = {};  // none: all records
};

// The separators that tables usually have.
inline constexpr std::string_view kUsualSeparators = ",;\t|";

// The setting in a description of the data: separator = ";" under [data].
[[nodiscard]] std::string separator_setting(char separator);

class CsvReader {
 public:
  // Reads the header. Its names are distinct.
  [[nodiscard]] static Result<CsvReader> open(ByteSource source, const CsvFormat& format = {});
  // The same for rows of which odd records are treated like this.
  [[nodiscard]] static Result<CsvReader> open(ByteSource source, const CsvFormat& format, const OddRecords& odd);

  [[nodiscard]] const std::vector<std::string>& header() const { return header_; }

  [[nodiscard]] const CsvFormat& format() const { return format_; }

  // The file as errors name it.
  [[nodiscard]] const std::string& name() const { return window_.name(); }

  // Goes to the next record that the format's filter takes. False at the end.
  [[nodiscard]] Result<bool> next();

  enum class Found : std::uint8_t { kEnd, kRecord, kOdd };
  // Goes to the next record, which may be odd: then it has no cells.
  [[nodiscard]] Result<Found> next(const OddRecords& odd);

  // The line of the odd record that next() found last, up to kMaxOddLine bytes of it.
  [[nodiscard]] const std::string& odd_line() const { return odd_line_; }

  // The cells of the record, without quotes. They are valid until next().
  [[nodiscard]] std::span<const std::string_view> cells() const { return cells_; }

  // "FILE:LINE: what", for the line where the record begins.
  [[nodiscard]] Error error(std::string_view what) const { return error_at_line(window_.name(), record_line_, what); }

 private:
  struct RawCell {
    std::size_t begin;
    std::size_t end;
    bool quoted;
    bool doubled;  // holds quotes that stand for one each
  };
  enum class State : std::uint8_t { kCellStart, kPlain, kQuoted, kQuote, kReturn, kDone };

  CsvReader(ByteSource source, const CsvFormat& format);

  [[nodiscard]] static Result<CsvReader> open_header(ByteSource source, const CsvFormat& format);
  // Finds the column that the filter looks at.
  [[nodiscard]] Result<void> find_filtered();
  [[nodiscard]] Result<void> skip_byte_order_mark();
  [[nodiscard]] Result<bool> read_record();
  [[nodiscard]] Result<void> pass_line();
  [[nodiscard]] Result<void> scan();
  [[nodiscard]] Result<void> scan_special(char c);
  [[nodiscard]] Result<void> scan_end();
  void begin_cell(std::size_t begin, bool quoted) { raw_.push_back({begin, begin, quoted, false}); }
  void end_cell(std::size_t end) { raw_.back().end = end; }
  void end_record(std::size_t length);
  void unquote();
  [[nodiscard]] Error stray_quote(char c) const;
  [[nodiscard]] Error error_here(std::string_view what) const { return error_at_line(window_.name(), line_, what); }

  Window window_;
  CsvFormat format_;
  std::vector<std::string> header_;
  std::size_t filtered_ = 0;  // the cell that the filter looks at

  // The record, as places in the window.
  State state_ = State::kCellStart;
  std::size_t at_ = 0;
  std::size_t length_ = 0;
  std::uint64_t line_ = 1;
  std::uint64_t record_line_ = 1;
  std::uint64_t quote_line_ = 1;
  std::vector<RawCell> raw_;
  std::vector<std::string_view> cells_;
  bool malformed_ = false;  // whether the last error is about the record, and not about the file
  std::string odd_line_;
};

}  // namespace noisefloor
