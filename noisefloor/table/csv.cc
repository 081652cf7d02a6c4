#include "noisefloor/table/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace noisefloor {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kNul = "a NUL byte; save the table as UTF-8 text";
constexpr std::string_view kStrayQuote =
    "a quote inside a cell; put the whole cell in quotes and double the ones that it holds";
constexpr std::string_view kStrayReturn =
    "a carriage return that no line feed follows; end lines with LF or CRLF (if all of them end with CR alone, "
    "`tr '\\r' '\\n' <old.csv >new.csv` mends that), and put cells that hold line breaks in quotes";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::string separator_setting(char separator) {
  return fmt::format("separator = \"{}\" under [data]", separator == '\t' ? "\\t" : std::string(1, separator));
}

CsvReader::CsvReader(ByteSource source, const CsvFormat& format) : window_(std::move(source)), format_(format) {}

Result<CsvReader> CsvReader::open_header(ByteSource source, const CsvFormat& format) {
  if (std::string_view("\"\r\n\0", 4).find(format.separator) != std::string_view::npos) {
    return invalid_argument("the separator of a CSV file must be neither a quote nor a line break nor NUL");
  }
  CsvReader reader(std::move(source), format);
  NF_TRY_VOID(reader.skip_byte_order_mark());
  NF_TRY(const bool found, reader.read_record());
  if (!found) return reader.error("the file is empty; its first line must name the columns");
  std::map<std::string_view, std::size_t> places;
  for (std::string_view name : reader.cells_) {
    const auto [place, is_new] = places.emplace(name, places.size() + 1);
    if (!is_new) {
      return reader.error(fmt::format(
          "columns {} and {} have the same name; the first line must name each column once. If the file has "
          "no such line, add one",
          place->second, places.size() + 1));
    }
  }
  reader.header_.assign(reader.cells_.begin(), reader.cells_.end());
  return reader;
}

Result<void> CsvReader::find_filtered() {
  if (!format_.only) return success();
  const auto place = std::find(header_.begin(), header_.end(), format_.only->column);
  if (place == header_.end()) {
    return error(
        "the first line does not name the column of the dates that divide the rows into blocks; correct the file, or "
        "column = \"…\" under [blocks]");
  }
  filtered_ = static_cast<std::size_t>(place - header_.begin());
  return success();
}

Result<CsvReader> CsvReader::open(ByteSource source, const CsvFormat& format) {
  NF_TRY(CsvReader reader, open_header(std::move(source), format));
  NF_TRY_VOID(reader.find_filtered());
  return reader;
}

Result<CsvReader> CsvReader::open(ByteSource source, const CsvFormat& format, const OddRecords& odd) {
  const std::string name = source.name();
  Result<CsvReader> opened = open_header(std::move(source), format);
  if (opened.has_value()) {
    NF_TRY_VOID(opened.value().find_filtered());
    return opened;
  }
  return odd.about_file(opened.error(), name,
                        "the first line cannot be read as the names of the columns; save the table as UTF-8 text with "
                        "such a line, which names each column once");
}

Result<bool> CsvReader::next() {
  while (true) {
    NF_TRY(const bool found, read_record());
    if (!found || !format_.only || format_.only->takes(cells_[filtered_])) return found;
  }
}

Result<CsvReader::Found> CsvReader::next(const OddRecords& odd) {
  while (true) {
    const Result<bool> found = next();
    if (found.has_value()) return found.value() ? Found::kRecord : Found::kEnd;
    if (!malformed_) return found.error();
    NF_TRY_VOID(odd.meet(found.error()));
    NF_TRY_VOID(pass_line());
    // A filter cannot read what the record is, and passes over it.
    if (!format_.only) return Found::kOdd;
  }
}

// Goes back to the beginning of the record, and passes over its first line.
Result<void> CsvReader::pass_line() {
  odd_line_.clear();
  cells_.clear();
  raw_.clear();
  length_ = 0;
  line_ = record_line_ + 1;
  while (true) {
    const std::string_view text = window_.text();
    const std::size_t end = text.find('\n');
    odd_line_ += text.substr(0, std::min(end, kMaxOddLine - odd_line_.size()));
    if (end != std::string_view::npos) {
      window_.drop(end + 1);
      return success();
    }
    window_.drop(text.size());
    NF_TRY(const bool more, window_.more());
    if (!more) return success();
  }
}

Result<void> CsvReader::skip_byte_order_mark() {
  while (window_.text().size() < kByteOrderMark.size()) {
    NF_TRY(const bool more, window_.more());
    if (!more) return success();
  }
  if (window_.text().starts_with(kByteOrderMark)) window_.drop(kByteOrderMark.size());
  return success();
}

Result<bool> CsvReader::read_record() {
  window_.drop(length_);
  length_ = 0;
  at_ = 0;
  state_ = State::kCellStart;
  record_line_ = line_;
  malformed_ = true;
  raw_.clear();
  while (state_ != State::kDone) {
    NF_TRY_VOID(scan());
    if (at_ > format_.max_record_bytes) {
      return error(fmt::format("a record of more than {} bytes; is there a quote that is never closed?",
                               format_.max_record_bytes));
    }
    if (state_ == State::kDone) break;
    const Result<bool> more = window_.more();
    malformed_ = more.has_value();
    if (!more.has_value()) return more.error();
    if (more.value()) continue;
    if (at_ == 0) return false;
    NF_TRY_VOID(scan_end());
  }
  // Before quotes are removed, which changes the bytes: pass_line() must find them as they were.
  if (!header_.empty() && raw_.size() != header_.size()) {
    return error(
        fmt::format("expected {} cells, as in the first line; put cells with separators in quotes, and leave no "
                    "line empty",
                    header_.size()));
  }
  unquote();
  return true;
}

// Scans the part of the record that is in the window, and stops at its end or at the end of the window.
Result<void> CsvReader::scan() {
  const std::string_view text = window_.text();
  const char separator = format_.separator;
  while (at_ < text.size() && state_ != State::kDone) {
    if (state_ == State::kCellStart && text[at_] != '"') {
      begin_cell(at_, false);
      state_ = State::kPlain;
    }
    // Skips the long stretches within a cell, where nothing happens.
    std::size_t at = at_;
    if (state_ == State::kPlain) {
      const auto plain = [&](char c) { return c != separator && c != '\n' && c != '\r' && c != '"' && c != '\0'; };
      while (at < text.size() && plain(text[at])) ++at;
    } else if (state_ == State::kQuoted) {
      while (at < text.size() && text[at] != '"' && text[at] != '\n' && text[at] != '\0') ++at;
    }
    at_ = at;
    if (at_ == text.size()) break;
    if (state_ == State::kPlain && text[at_] == separator) {
      end_cell(at_);
      state_ = State::kCellStart;
    } else {
      NF_TRY_VOID(scan_special(text[at_]));
    }
    ++at_;
  }
  return success();
}

// Handles one character that may change the state.
Result<void> CsvReader::scan_special(char c) {
  if (c == '\0') return error_here(kNul);
  switch (state_) {
    case State::kCellStart:
      begin_cell(at_ + 1, true);
      quote_line_ = line_;
      state_ = State::kQuoted;
      return success();
    case State::kPlain:
      break;
    case State::kQuoted:
      if (c == '\n') ++line_;
      if (c == '"') {
        end_cell(at_);
        state_ = State::kQuote;
      }
      return success();
    case State::kQuote:
      // The quote before this character closes the cell, unless it is the first of two.
      if (c == '"') {
        raw_.back().doubled = true;
        state_ = State::kQuoted;
        return success();
      }
      if (c != format_.separator && c != '\r' && c != '\n') return stray_quote(c);
      break;
    case State::kReturn:
      if (c != '\n') return error_here(kStrayReturn);
      end_record(at_ + 1);
      return success();
    case State::kDone:
      return success();
  }
  // This is a cell without quotes, or the end of one with quotes.
  if (c == '"') return error_here(kStrayQuote);
  const bool ends = c == format_.separator || c == '\r' || c == '\n';
  if (!ends) return success();
  if (state_ == State::kPlain) end_cell(at_);
  if (c == format_.separator) state_ = State::kCellStart;
  if (c == '\r') state_ = State::kReturn;
  if (c == '\n') end_record(at_ + 1);
  return success();
}

// The error for a closing quote that is followed by the character `c`.
Error CsvReader::stray_quote(char c) const {
  if (kUsualSeparators.find(c) == std::string_view::npos) return error_here(kStrayQuote);
  return error_here(
      fmt::format("{}; or, if this file has another separator, set {}", kStrayQuote, separator_setting(c)));
}

// The file ends within the record.
Result<void> CsvReader::scan_end() {
  if (state_ == State::kQuoted) {
    return error_at_line(window_.name(), quote_line_, "a quote that is never closed; double the quotes within cells");
  }
  if (state_ == State::kReturn) return error_here(kStrayReturn);
  if (state_ == State::kCellStart) begin_cell(at_, false);
  if (state_ == State::kPlain) end_cell(at_);
  end_record(at_);
  return success();
}

void CsvReader::end_record(std::size_t length) {
  length_ = length;
  ++line_;
  state_ = State::kDone;
}

// Removes quotes from cells. Doubled quotes become single ones in place.
void CsvReader::unquote() {
  char* base = window_.bytes().data();
  cells_.clear();
  for (const RawCell& cell : raw_) {
    char* const begin = base + cell.begin;
    char* end = base + cell.end;
    if (cell.doubled) {
      char* out = begin;
      for (const char* in = begin; in != end; ++in) {
        *out++ = *in;
        if (*in == '"') ++in;
      }
      end = out;
    }
    const std::string_view text(begin, static_cast<std::size_t>(end - begin));
    cells_.push_back(format_.trim && !cell.quoted ? trimmed(text) : text);
  }
}

}  // namespace noisefloor
