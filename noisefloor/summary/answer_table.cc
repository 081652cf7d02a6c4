#include "noisefloor/summary/answer_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "noisefloor/summary/summary.h"

namespace noisefloor {
namespace {

bool is_missing(const AnswerColumn& column, std::size_t row) {
  return std::binary_search(column.missing.begin(), column.missing.end(), row);
}

struct Cell {
  std::string operator()(double value) const { return shown(value); }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
};

std::string cell(const AnswerColumn& column, std::size_t row) {
  if (is_missing(column, row)) return "";
  return std::visit([&](const auto& cells) { return Cell{}(cells[row]); }, column.cells);
}

bool is_number(const AnswerColumn& column) {
  return std::holds_alternative<AnswerColumn::Numbers>(column.cells) ||
         std::holds_alternative<AnswerColumn::Integers>(column.cells);
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// An end of an interval, rounded outwards to about as many digits as it is wide.
std::string end_of(double end, const Interval& range, bool upper) {
  const double width = range.upper - range.lower;
  if (!std::isfinite(end) || !(width > 0) || !std::isfinite(width)) return shown(end);
  const double unit = std::pow(10, std::floor(std::log10(width)) - 2);
  const double steps = end / unit;
  return shown((upper ? std::ceil(steps) : std::floor(steps)) * unit);
}

struct TextColumn {
  std::string name;
  std::vector<std::string> cells;
  bool right = false;
};

std::vector<TextColumn> text_columns(const AnswerTable& table) {
  std::vector<TextColumn> columns;
  for (const AnswerColumn& column : table.columns) {
    TextColumn text{column.name, {}, is_number(column)};
    for (std::size_t row = 0; row < table.rows(); ++row) text.cells.push_back(cell(column, row));
    columns.push_back(std::move(text));
    if (column.ranges.empty()) continue;
    TextColumn range{fmt::format("{} % interval", shown(100 * column.confidence->value())), {}, false};
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const Interval& one = column.ranges[row];
      const bool none = is_missing(column, row) || !(one.lower < one.upper);
      range.cells.push_back(
          none ? "" : fmt::format("{} to {}", end_of(one.lower, one, false), end_of(one.upper, one, true)));
    }
    columns.push_back(std::move(range));
  }
  return columns;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string csv_number(const AnswerColumn& column, std::size_t row) {
  if (is_missing(column, row)) return "";
  if (const auto* numbers = std::get_if<AnswerColumn::Numbers>(&column.cells))
    return fmt::format("{}", (*numbers)[row]);
  return csv_cell(cell(column, row));
}

}  // namespace

std::string table_text(const AnswerTable& table) {
  const std::vector<TextColumn> columns = text_columns(table);
  std::vector<std::size_t> widths;
  for (const TextColumn& column : columns) {
    std::size_t width = width_of(column.name);
    for (const std::string& text : column.cells) width = std::max(width, width_of(text));
    widths.push_back(width);
  }
  const auto padded = [&](const std::string& text, std::size_t i, bool right) {
    const std::string blanks(widths[i] - width_of(text), ' ');
    return right ? blanks + text : text + blanks;
  };
  const auto line = [&](const auto& cell_at) {
    std::string out;
    for (std::size_t i = 0; i < columns.size(); ++i) out += (i == 0 ? "  " : "  ") + cell_at(i);
    while (out.ends_with(' ')) out.pop_back();
    return out + "\n";
  };
  std::string out = line([&](std::size_t i) { return padded(columns[i].name, i, columns[i].right); });
  out += line([&](std::size_t i) { return std::string(widths[i], '-'); });
  for (std::size_t row = 0; row < table.rows(); ++row) {
    out += line([&](std::size_t i) { return padded(columns[i].cells[row], i, columns[i].right); });
  }
  if (table.rows() == 0) out += "  (no rows)\n";
  return out;
}

std::string table_csv(const AnswerTable& table) {
  std::string out;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const AnswerColumn& column = table.columns[i];
    out += (i == 0 ? "" : ",") + csv_cell(column.name);
    if (!column.ranges.empty()) out += "," + csv_cell(column.name + "_lower") + "," + csv_cell(column.name + "_upper");
  }
  out += "\n";
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const AnswerColumn& column = table.columns[i];
      out += (i == 0 ? "" : ",") + csv_number(column, row);
      if (column.ranges.empty()) continue;
      const bool none = is_missing(column, row);
      out += none ? ",," : fmt::format(",{},{}", column.ranges[row].lower, column.ranges[row].upper);
    }
    out += "\n";
  }
  return out;
}

}  // namespace noisefloor
