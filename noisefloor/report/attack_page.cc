#include "noisefloor/report/attack_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "noisefloor/audit/certified_curve.h"
#include "noisefloor/report/html.h"
#include "noisefloor/report/html_pieces.h"
#include "noisefloor/report/style.h"

namespace noisefloor {
namespace {

using internal::paragraph;

constexpr double kLeastRate = 1e-4;
constexpr int kPointsOfACurve = 80;

// Rates from 10⁻⁴ to 1, evenly on a logarithmic axis.
double rate_at(int i) { return std::pow(10.0, -4 + 4.0 * i / (kPointsOfACurve - 1)); }

Chart::Series series_of(const MembershipFinding& finding) {
  const audit::Roc& roc = finding.result.together;
  Chart::Series series{std::string(audit::name_of(finding.attack)), {}};
  // A rate that fewer than 10 of the others decide says nothing.
  const double least = std::max(kLeastRate, 10.0 / static_cast<double>(roc.others()));
  std::size_t at = 0;
  for (int i = 0; i < kPointsOfACurve; ++i) {
    const double rate = rate_at(i);
    if (rate < least) continue;
    while (at + 1 < roc.curve().size() && roc.curve()[at + 1].false_alarms <= rate) ++at;
    const double found = std::max(kLeastRate, roc.curve()[at].found);
    series.points.push_back({rate, found, found});
  }
  return series;
}

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string found_text(const std::optional<audit::FoundAt>& found) {
  if (!found) return "too few rows";
  return fmt::format("{} ({} to {})", percent(found->found), percent(found->between.lower),
                     percent(found->between.upper));
}

HtmlReport::Table table_of(const AttackedModels& attacked) {
  HtmlReport::Table table{fmt::format("{}: accuracy {} on members, {} on others", name_of(attacked),
                                      percent(attacked.accuracy_of_members), percent(attacked.accuracy_of_others)),
                          {"attack", "AUC", "found at 1 % false alarms", "found at 0.1 %"},
                          {}};
  for (const MembershipFinding& finding : attacked.findings) {
    const auto [least, most] = std::minmax_element(finding.result.auc.begin(), finding.result.auc.end());
    table.rows.push_back({std::string(audit::name_of(finding.attack)),
                          fmt::format("{:.3f} ({:.3f} to {:.3f})", finding.result.median_auc, *least, *most),
                          found_text(finding.at_hundredth), found_text(finding.at_thousandth)});
  }
  table.rows.push_back({"what epsilon allows at most", fmt::format("{:.3f}", attacked.most_auc), "", ""});
  return table;
}

std::string head_of(const std::string& title, const std::string& lead, const std::string& warning) {
  return fmt::format(
             "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
             "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src "
             "data:; base-uri 'none'; form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width, "
             "initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>{0}</title>\n<style>{1}"
             "</style>\n</head>\n<body>\n<main id=\"main\" class=\"page\">\n<section class=\"part\">\n<h1>{0}</h1>\n",
             escaped(title), kReportStyle) +
         paragraph("warning", warning) + paragraph("lead", lead) + "</section>\n";
}

std::string foot_of(const std::string& program) {
  return fmt::format(
      "</main>\n<footer><div class=\"page\"><p>Written by {}. This file needs no network and runs no "
      "script.</p></div></footer>\n</body>\n</html>\n",
      escaped(program));
}

std::string base64(const std::string& bytes) {
  constexpr const char* letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      word = word << 8U | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k > bytes.size() ? '=' : letters[word >> (18 - 6 * k) & 63U];
    }
  }
  return text;
}

}  // namespace

std::string name_of(const AttackedModels& attacked) {
  if (attacked.finished) return "the finished model";
  return std::isfinite(attacked.epsilon) ? fmt::format("epsilon {:.3g}", attacked.epsilon) : std::string("no noise");
}

Chart roc_chart(const AttackedModels& attacked, double delta) {
  Chart chart;
  chart.title = "ROC curves: " + name_of(attacked);
  chart.subtitle = "both axes are logarithmic: the left end is what matters";
  chart.x_label = "false alarms";
  chart.y_label = "members found";
  chart.log_x = true;
  chart.log_y = true;
  chart.from_zero = false;
  for (const MembershipFinding& finding : attacked.findings) {
    Chart::Series series = series_of(finding);
    if (series.points.size() > 1) chart.series.push_back(std::move(series));
  }
  Chart::Series guessing{"guessing", {{kLeastRate, kLeastRate, kLeastRate}, {1, 1, 1}}};
  chart.series.push_back(std::move(guessing));
  if (!attacked.event) return chart;
  const Result<Delta> at = Delta::make(delta);
  if (!at.has_value()) return chart;
  const auto curve = audit::CertifiedCurve::create(*attacked.event, Adjacency::kAddRemove, at.value());
  if (!curve.has_value()) return chart;
  Chart::Series limit{"what epsilon allows", {}};
  for (int i = 0; i < kPointsOfACurve; ++i) {
    const double found = std::max(kLeastRate, 1 - curve.value().missed(rate_at(i)));
    limit.points.push_back({rate_at(i), found, found});
  }
  chart.series.push_back(std::move(limit));
  return chart;
}

std::string membership_page(const MembershipOutcome& outcome, const std::string& program) {
  std::string html = head_of(
      "Attacks on membership: " + outcome.name,
      fmt::format(
          "{} models, each trained on a random half of {} rows; {} of them are attacked, each by all others. An "
          "AUC of 0.5 is guessing. AUCs are medians over the targets, with the least and the greatest; other "
          "intervals have 95 % confidence. What attacks do not find may be there all the same.",
          outcome.models, shown_count(outcome.pool), outcome.targets),
      outcome.public_rows ? "" : kForTheCustodian);
  int number = 0;
  for (const AttackedModels& attacked : outcome.attacked) {
    const Chart chart = roc_chart(attacked, outcome.delta);
    const std::string id = fmt::format("roc-{}", ++number);
    html += fmt::format("<section class=\"part\">\n<h2>{}</h2>\n<div class=\"card\">{}</div>\n",
                        escaped(name_of(attacked)), internal::scrolled(table_of(attacked)));
    html += "<figure class=\"card\">\n<h3>" + escaped(chart.title) + "</h3>\n" + paragraph("sub", chart.subtitle);
    std::string words = "Curves:";
    for (const Chart::Series& series : chart.series) words += " " + series.name + ";";
    for (const ChartSize size : {ChartSize::kWide, ChartSize::kNarrow}) {
      html += to_inline_svg(chart, id + (size == ChartSize::kWide ? "" : "-narrow"), size, words);
    }
    html += "<ul class=\"plain\">\n";
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      html += fmt::format(
          "<li><svg viewBox=\"0 0 24 8\" width=\"24\" height=\"8\" aria-hidden=\"true\"><path class=\"line-{}\" d=\"M0 "
          "4H24\"/></svg> {}</li>\n",
          i % kChartColours + 1, escaped(chart.series[i].name));
    }
    html += "</ul></figure>\n</section>\n";
  }
  return html + foot_of(program);
}

std::string to_html(const PicturesPage& page, const std::string& program) {
  std::string html = head_of(page.title, page.lead, page.warning);
  for (const PicturesPage::Row& row : page.rows) {
    html += fmt::format("<section class=\"part\">\n<h2>{}</h2>\n{}<div class=\"card\">\n", escaped(row.name),
                        paragraph("lead", row.note));
    for (const auto& [caption, png] : row.pictures) {
      html += fmt::format(
          "<figure style=\"display:inline-block;margin:6px\"><img alt=\"{0}\" width=\"112\" height=\"112\" "
          "style=\"image-rendering:pixelated\" "
          "src=\"data:image/png;base64,{1}\"><figcaption>{0}</figcaption></figure>\n",
          escaped(caption), base64(png));
    }
    html += "</div></section>\n";
  }
  return html + foot_of(program);
}

}  // namespace noisefloor
