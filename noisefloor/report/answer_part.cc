#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/base/file.h"
#include "noisefloor/release/answer_road.h"
#include "noisefloor/report/html.h"
#include "noisefloor/report/report_parts.h"

namespace noisefloor::internal {
namespace {

constexpr std::size_t kMostTables = 12;
constexpr std::size_t kMostRows = 1'000;

bool is_missing(const AnswerColumn& column, std::size_t row) {
  return std::binary_search(column.missing.begin(), column.missing.end(), row);
}

std::optional<double> number_in(const AnswerColumn& column, std::size_t row) {
  if (is_missing(column, row)) return std::nullopt;
  if (const auto* numbers = std::get_if<AnswerColumn::Numbers>(&column.cells)) return (*numbers)[row];
  if (const auto* integers = std::get_if<AnswerColumn::Integers>(&column.cells)) {
    return static_cast<double>((*integers)[row]);
  }
  return std::nullopt;
}

std::string text_in(const AnswerColumn& column, std::size_t row) {
  if (is_missing(column, row)) return "(none)";
  if (const auto* texts = std::get_if<AnswerColumn::Texts>(&column.cells)) return (*texts)[row];
  if (const auto* truths = std::get_if<AnswerColumn::Truths>(&column.cells)) return (*truths)[row] ? "true" : "false";
  return shown_near(*number_in(column, row), 6);
}

// A column is drawn if noise moved it; the others name the groups.
bool is_drawn(const AnswerColumn& column) { return !column.ranges.empty(); }

std::string label_of(const AnswerTable& table, std::size_t row) {
  std::string label;
  for (const AnswerColumn& column : table.columns) {
    if (!is_drawn(column)) label += (label.empty() ? "" : ", ") + text_in(column, row);
  }
  return label.empty() ? "all" : label;
}

HtmlReport::Table rows_of(const AnswerTable& table, const std::string& caption) {
  HtmlReport::Table shown{caption, {}, {}};
  for (const AnswerColumn& column : table.columns) {
    shown.head.push_back(column.name);
    if (is_drawn(column)) shown.head.push_back(fmt::format("{:g} % interval", 100 * column.confidence->value()));
  }
  for (std::size_t row = 0; row < std::min(table.rows(), kMostRows); ++row) {
    std::vector<std::string> cells;
    for (const AnswerColumn& column : table.columns) {
      cells.push_back(text_in(column, row));
      if (!is_drawn(column)) continue;
      const Interval& range = column.ranges[row];
      cells.push_back(is_missing(column, row)
                          ? ""
                          : fmt::format("{} to {}", shown_at_most(range.lower, 6), shown_at_least(range.upper, 6)));
    }
    shown.rows.push_back(std::move(cells));
  }
  return shown;
}

void add_table(HtmlReport& page, const std::string& name, const AnswerTable& table) {
  for (const AnswerColumn& column : table.columns) {
    if (!is_drawn(column) || table.rows() == 0) continue;
    BarChart chart{column.name,
                   fmt::format("with the range that holds the true number with probability {:g} %",
                               100 * column.confidence->value()),
                   {}};
    for (std::size_t row = 0; row < std::min(table.rows(), kMostBars); ++row) {
      const Interval& range = column.ranges[row];
      const bool finite = std::isfinite(range.lower) && std::isfinite(range.upper);
      const std::optional<double> number = number_in(column, row);
      chart.bars.push_back(
          {label_of(table, row), number, finite && number ? std::optional<Interval>(range) : std::nullopt});
    }
    page.answers.push_back({fmt::format("answer-{}", page.answers.size() + 1), std::move(chart)});
  }
  const std::string left_out =
      table.rows() > kMostRows ? fmt::format(" (the first {} of {} rows)", kMostRows, table.rows()) : std::string();
  page.answer_tables.push_back(rows_of(table, name + left_out));
}

}  // namespace

Result<void> add_answer(HtmlReport& page, const Verdict& verdict) {
  if (verdict.certificate().kind != ReleaseKind::kAnswer || !verdict.release.has_content) return success();
  NF_TRY(std::string bytes, read_file(verdict.file, kMaxReleaseBytes));
  NF_TRY(const std::optional<Answer> answer,
         read_answer({std::move(bytes), verdict.certificate(), verdict.release.certificate_text}));
  if (!answer) return success();
  std::size_t tables = 0;
  for (const AnswerValue& value : answer->content.values) {
    const auto* table = std::get_if<AnswerTable>(&value.value);
    // What later questions are answered from is for programs.
    if (table == nullptr || table->columns.empty() || value.name.starts_with("groups")) continue;
    if (++tables <= kMostTables) add_table(page, value.name, *table);
  }
  return success();
}

}  // namespace noisefloor::internal
