#include "noisefloor/table/outline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/table/byte_source.h"

namespace noisefloor {
namespace {

constexpr std::array<char, 4> kSeparators{',', ';', '\t', '|'};
constexpr std::size_t kMaxFirstLine = std::size_t{1} << 20;

bool is_missing(std::string_view cell) {
  const auto& marks = usual_missing_marks();
  return std::find(marks.begin(), marks.end(), cell) != marks.end();
}

ColumnType type_of(std::string_view cell) {
  const std::optional<double> number = parse_finite(cell);
  if (!number) return ColumnType::kText;
  return std::floor(*number) == *number ? ColumnType::kWhole : ColumnType::kNumber;
}

Result<CsvReader> reader_of(const std::string& path, const CsvFormat& format) {
  NF_TRY(ByteSource source, ByteSource::open(path));
  return CsvReader::open(std::move(source), format, OddRecords::become_null());
}

// Calls `take` with the number of the column and the cell, for each cell that is not missing.
template <class Take>
Result<void> for_each_cell(CsvReader& reader, const Take& take) {
  while (true) {
    NF_TRY(const CsvReader::Found found, reader.next(OddRecords::become_null()));
    if (found == CsvReader::Found::kEnd) return success();
    for (std::size_t i = 0; i < reader.cells().size(); ++i) {
      if (!is_missing(reader.cells()[i])) take(i, reader.cells()[i]);
    }
  }
}

}  // namespace

const std::vector<std::string>& usual_missing_marks() {
  static const std::vector<std::string> marks{"", "?", "NA", "N/A", "NaN", "nan", "null", "NULL"};
  return marks;
}

Result<char> separator_of(const std::string& path) {
  NF_TRY(ByteSource source, ByteSource::open(path));
  Window window(std::move(source));
  std::size_t end = std::string_view::npos;
  while ((end = window.text().find_first_of("\r\n")) == std::string_view::npos &&
         window.text().size() < kMaxFirstLine) {
    NF_TRY(const bool more, window.more());
    if (!more) break;
  }
  std::array<std::size_t, kSeparators.size()> counts{};
  bool quoted = false;
  for (const char c : window.text().substr(0, end)) {
    if (c == '"') quoted = !quoted;
    const auto* const found = std::find(kSeparators.begin(), kSeparators.end(), c);
    if (!quoted && found != kSeparators.end()) ++counts.at(static_cast<std::size_t>(found - kSeparators.begin()));
  }
  return kSeparators.at(static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin()));
}

Result<CsvOutline> outline_csv(const std::string& path) {
  CsvOutline outline;
  NF_TRY(outline.format.separator, separator_of(path));
  outline.format.trim = true;
  NF_TRY(CsvReader reader, reader_of(path, outline.format));
  const auto& header = reader.header();
  if (std::all_of(header.begin(), header.end(),
                  [](const std::string& name) { return is_missing(name) || parse_finite(name).has_value(); })) {
    return reader.error("the first line names no columns: it looks like a record; put the names of the columns there");
  }
  for (const std::string& name : header) outline.columns.push_back({name});
  NF_TRY_VOID(for_each_cell(reader, [&](std::size_t i, std::string_view cell) {
    ColumnType& type = outline.columns[i].type;
    if (type != ColumnType::kText) type = std::max(type, type_of(cell));
  }));
  return outline;
}

Result<std::vector<PublicColumn>> survey_public_csv(const std::string& path, const CsvOutline& outline) {
  NF_TRY(CsvReader reader, reader_of(path, outline.format));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<PublicColumn> columns(outline.columns.size(), PublicColumn{kInfinity, -kInfinity, {}});
  std::vector<std::set<std::string, std::less<>>> texts(columns.size());
  if (reader.header().size() != columns.size()) return reader.error("the file changed while it was read");
  NF_TRY_VOID(for_each_cell(reader, [&](std::size_t i, std::string_view cell) {
    if (outline.columns[i].type == ColumnType::kText) {
      if (texts[i].size() <= kMaxPublicValues && texts[i].find(cell) == texts[i].end()) texts[i].emplace(cell);
    } else if (const std::optional<double> number = parse_finite(cell)) {
      columns[i].lower = std::min(columns[i].lower, *number);
      columns[i].upper = std::max(columns[i].upper, *number);
    }
  }));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (texts[i].size() <= kMaxPublicValues) columns[i].values.assign(texts[i].begin(), texts[i].end());
  }
  return columns;
}

}  // namespace noisefloor
