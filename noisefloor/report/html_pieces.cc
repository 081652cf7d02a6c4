#include "noisefloor/report/html_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "noisefloor/report/html.h"

namespace noisefloor::internal {

std::string factor(double value) {
  const std::string text = shown_at_least(value, 3);
  const double rounded = std::strtod(text.c_str(), nullptr);
  return rounded >= 1000 ? shown_count(static_cast<std::uint64_t>(std::llround(rounded))) : text;
}

std::string percent_at_least(double share) { return shown_at_least(std::min(100.0, 100 * share), 3) + " %"; }
std::string percent(double share) { return shown_near(100 * share, 3) + " %"; }

std::string one_in(double delta) {
  if (delta >= 1) return "1 in 1";
  const double count = 1 / delta * (1 + 1e-12);
  return count < 1e15 ? "1 in " + shown_count(static_cast<std::uint64_t>(count)) : fmt::format("{:g}", delta);
}

bool is_private(const HtmlReport& report) { return std::isfinite(report.promise.epsilon_upper); }

std::string this_noun(const HtmlReport& report) { return (report.several ? "these " : "this ") + report.noun; }

std::string paragraph(const char* kind, const std::string& text) {
  return text.empty() ? "" : fmt::format("<p class=\"{}\">{}</p>\n", kind, escaped(text));
}

std::string table_html(const HtmlReport::Table& table, const char* kind) {
  std::string html = fmt::format("<table class=\"{}\"><caption>{}</caption>", kind, escaped(table.caption));
  if (!table.head.empty()) {
    html += "<thead><tr>";
    for (const std::string& cell : table.head) html += fmt::format("<th scope=\"col\">{}</th>", escaped(cell));
    html += "</tr></thead>";
  }
  html += "<tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      html += i == 0 ? fmt::format("<th scope=\"row\">{}</th>", escaped(row[i]))
                     : fmt::format("<td>{}</td>", escaped(row[i]));
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table>\n";
}

std::string scrolled(const HtmlReport::Table& table) {
  return fmt::format("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">{}</div>\n",
                     escaped(table.caption), table_html(table, ""));
}

std::string folded(const HtmlReport::Table& table) {
  return fmt::format("<details><summary aria-label=\"The numbers: {}\">The numbers</summary>\n{}</details>\n",
                     escaped(table.caption), scrolled(table));
}

namespace {

HtmlReport::Table numbers_of(const Chart& chart) {
  HtmlReport::Table table{chart.title, {}, {}};
  const bool several = chart.series.size() > 1;
  bool bounded = false;
  for (const Chart::Series& series : chart.series) {
    for (const Chart::Point& p : series.points) bounded |= p.lower != p.upper;
  }
  if (several) table.head.emplace_back("line");
  table.head.push_back(chart.x_label);
  if (bounded) {
    table.head.push_back(chart.y_label + ", lowest");
    table.head.push_back(chart.y_label + ", highest");
  } else {
    table.head.push_back(chart.y_label);
  }
  for (const Chart::Series& series : chart.series) {
    for (const Chart::Point& p : series.points) {
      std::vector<std::string> row;
      if (several) row.push_back(series.name);
      row.push_back(shown_near(p.x, 4));
      row.push_back(shown_near(p.lower, 6));
      if (bounded) row.push_back(shown_near(p.upper, 6));
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

std::string legend_of(const Chart& chart) {
  std::string items;
  const auto item = [&](const std::string& mark, const std::string& text) {
    items += fmt::format(R"(<li><svg viewBox="0 0 28 12" aria-hidden="true">{}</svg>{}</li>)", mark, escaped(text));
  };
  for (std::size_t i = 0; chart.series.size() > 1 && i < chart.series.size(); ++i) {
    item(fmt::format(R"(<path class="line-{}" d="M2 6H26"/>)", i % kChartColours + 1), chart.series[i].name);
  }
  constexpr const char* kDashes = R"(<path class="reference" d="M1 6H27"/>)";
  if (!chart.diagonal.empty()) item(kDashes, chart.diagonal);
  if (chart.level) item(kDashes, chart.level->label);
  if (chart.spot) item(R"(<circle class="spot" cx="14" cy="6" r="4"/>)", chart.spot->label);
  return items.empty() ? "" : "<ul class=\"legend\">" + items + "</ul>\n";
}

std::string figure_html(const HtmlReport::Figure& figure) {
  return fmt::format(R"(<figure class="card" id="{}"><figcaption><h3>{}</h3>)", escaped(figure.id),
                     escaped(figure.chart.title)) +
         paragraph("sub", figure.chart.subtitle) + "</figcaption>\n" + legend_of(figure.chart) +
         to_inline_svg(figure.chart, figure.id + "-wide", ChartSize::kWide, figure.reading) +
         to_inline_svg(figure.chart, figure.id + "-narrow", ChartSize::kNarrow, figure.reading) + "\n" +
         paragraph("reading", figure.reading) + folded(numbers_of(figure.chart)) + "</figure>\n";
}

}  // namespace

std::string figures_html(const std::vector<HtmlReport::Figure>& figures) {
  if (figures.empty()) return "";
  std::string html = "<div class=\"grid-2\">\n";
  for (const HtmlReport::Figure& figure : figures) html += figure_html(figure);
  return html + "</div>\n";
}

}  // namespace noisefloor::internal
