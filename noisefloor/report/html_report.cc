#include "noisefloor/report/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "noisefloor/report/epsilon_scale.h"
#include "noisefloor/report/html.h"
#include "noisefloor/report/html_pieces.h"
#include "noisefloor/report/style.h"

namespace noisefloor {
namespace {

using internal::factor;
using internal::figures_html;
using internal::is_private;
using internal::one_in;
using internal::paragraph;
using internal::percent;
using internal::reading_html;
using internal::scrolled;
using internal::table_html;
using internal::this_noun;

constexpr const char* kPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

// --- Verdict ---------------------------------------------------------------------------------------------------------

// Enough digits to distinguish the bounds, within reason.
int digits_of(const HtmlReport::Promise& promise) {
  const double width = promise.epsilon_upper - promise.epsilon_lower;
  if (!(width > 0)) return 6;
  return std::clamp(static_cast<int>(std::ceil(-std::log10(width / promise.epsilon_upper))) + 2, 4, 6);
}

struct Badge {
  const char* state;  // its class in the style sheet
  std::string text;
};

Badge badge_of(const HtmlReport& report) {
  if (!is_private(report)) return {"bad", "NOT PRIVATE"};
  const double epsilon = report.promise.epsilon_upper;
  const EpsilonBand& band = band_of(epsilon);
  const std::string privacy = fmt::format("{} privacy", std::string(band.name) == "none" ? "next to no" : band.name);
  if (report.signer_unknown) return {"careful", "Signer unknown · claims " + privacy};
  const bool weak = epsilon > 10;
  return {weak ? "careful" : "good",
          fmt::format("✓ {} · {}", report.certificate_alone ? "Certificate verified" : "Verified", privacy)};
}

std::string fact(const std::string& name, const std::string& value, const std::string& note) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd>{}</div>\n", escaped(name), escaped(value),
                     note.empty() ? "" : "<dd>" + escaped(note) + "</dd>");
}

std::string facts_html(const HtmlReport& report) {
  const HtmlReport::Promise& p = report.promise;
  std::string html = "<dl class=\"facts\">\n";
  html += fact("Protects", "one " + p.unit,
               p.unit == "row" ? "one record; a person with several is protected for each separately" : "");
  html += fact("Neighbours",
               p.exchanged ? fmt::format("one {} is replaced by another", p.unit)
                           : fmt::format("one {} is added or removed", p.unit),
               p.exchanged ? "replace-one" : "add-remove");
  for (const HtmlReport::Fact& result : report.results) html += fact(result.name, result.value, result.note);
  return html + "</dl>\n";
}

std::string checks_html(const HtmlReport& report) {
  if (report.checks.empty()) return "";
  std::string html = "<ul class=\"checks\">\n";
  for (const HtmlReport::Check& check : report.checks) {
    html += fmt::format(
        "<li><svg viewBox=\"0 0 20 20\" role=\"img\" aria-label=\"{}\">{}</svg><span><strong>{}</strong> "
        "{}</span></li>\n",
        check.done ? "verified" : "not looked at",
        check.done ? R"(<path class="tick-mark" d="M4 10.5l4 4 8-9"/>)"
                   : R"(<path class="open-mark" d="M10 3.5a6.5 6.5 0 1 1-.01 0z"/>)",
        escaped(check.what), escaped(check.result));
  }
  return html + "</ul>\n";
}

std::string merit_html(const HtmlReport& report) {
  const HtmlReport::Promise& p = report.promise;
  if (!is_private(report)) {
    return "<div class=\"figure-of-merit\"><p class=\"big\">ε = ∞</p><p>There is no bound.</p></div>\n";
  }
  const int digits = digits_of(p);
  std::string html =
      fmt::format("<div class=\"figure-of-merit\"><p class=\"big\">ε ≤ {}</p>\n<p>certified: {} to {}</p>\n",
                  shown_at_least(p.epsilon_upper, 3), shown_at_most(p.epsilon_lower, digits),
                  shown_at_least(p.epsilon_upper, digits));
  if (p.measured) {
    html += fmt::format("<p>measured by an audit: ε ≥ {} ({} confidence)</p>\n", shown_at_most(*p.measured, 3),
                        percent(p.confidence));
  }
  html += p.delta > 0 ? fmt::format("<p>δ = {} ({})</p>", shown_power(p.delta), one_in(p.delta))
                      : std::string("<p>δ = 0: without exception</p>");
  return html + "</div>\n";
}

std::string hero_html(const HtmlReport& report) {
  const Badge badge = badge_of(report);
  std::string html = fmt::format(
      "<section class=\"card hero {}\" aria-labelledby=\"name\">\n<div class=\"hero-grid\">\n<div>\n"
      "<p class=\"badge\">{}</p>\n<h1 id=\"name\">{}</h1>\n",
      badge.state, escaped(badge.text), escaped(report.name));
  html += paragraph("promise", promise_in_words(report));
  for (const std::string& warning : report.warnings) html += paragraph("warning", warning);
  return html + "</div>\n" + merit_html(report) + "</div>\n" + facts_html(report) + checks_html(report) +
         "</section>\n";
}

// --- Budget ----------------------------------------------------------------------------------------------------------

std::string budget_html(const HtmlReport& report) {
  if (!report.budget) return paragraph("card", report.no_budget);
  const HtmlReport::Budget& b = *report.budget;
  struct Amount {
    const char* kind;
    std::string name;
    double epsilon;
    bool always;
  };
  const double left = std::max(0.0, b.epsilon - b.before - b.own - b.after);
  const std::array<Amount, 4> amounts{{{"before", "spent before", b.before, true},
                                       {"own", "spent by " + this_noun(report), b.own, true},
                                       {"after", "spent since", b.after, false},
                                       {"left", "left", left, true}}};
  std::string words;
  std::string bar;
  std::string list;
  double x = 0;
  for (const Amount& amount : amounts) {
    const double share = b.epsilon > 0 ? 1000 * amount.epsilon / b.epsilon : 0;
    bar += fmt::format(R"(<rect class="part-{}" x="{:.2f}" width="{:.2f}" height="10"/>)", amount.kind, x, share);
    x += share;
    if (!amount.always && !(amount.epsilon > 0)) continue;
    // Spent amounts round up, the remainder rounds down.
    const bool is_left = std::string(amount.kind) == "left";
    const double rest = amount.epsilon < 1e-4 * b.epsilon ? 0 : amount.epsilon;
    const std::string text = is_left ? shown_at_most(rest, 4) : shown_at_least(amount.epsilon, 4);
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", amount.name, text);
    list += fmt::format(
        "<li><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\"><rect class=\"part-{0} swatch-{0}\" x=\"1\" y=\"1\" "
        "width=\"12\" "
        "height=\"12\" rx=\"3\"/></svg><strong>ε {1}</strong><span>{2} ({3})</span></li>\n",
        amount.kind, text, escaped(amount.name), percent((is_left ? rest : amount.epsilon) / b.epsilon));
  }
  std::string html = "<div class=\"card keep\">\n";
  html += fmt::format("<h3>{}: ε = {:g} at δ = {}</h3>\n", escaped(b.name), b.epsilon, shown_power(b.delta));
  html += fmt::format(
      "<svg class=\"bar\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\" "
      "style=\"margin-top:14px\">{}</svg>\n<ul class=\"amounts\">\n{}</ul>\n",
      escaped(fmt::format("Of epsilon {:g}: {}.", b.epsilon, words)), bar, list);
  return html + paragraph("sub", b.left_in_words) + "</div>\n";
}

// --- The page --------------------------------------------------------------------------------------------------------

std::string parameters_html(const HtmlReport& report) {
  std::string html;
  for (const HtmlReport::Table& table : report.parameters) {
    html += "<div class=\"card\">" + table_html(table, "names") + "</div>\n";
  }
  return html.empty() ? "" : "<div class=\"columns\">\n" + html + "</div>\n";
}

std::string not_covered_html(const HtmlReport& report) {
  if (report.not_covered.empty()) return "";
  std::string html = "<div class=\"card keep\"><ul class=\"plain\">\n";
  for (const std::string& item : report.not_covered) html += "<li>" + escaped(item) + "</li>\n";
  return html + "</ul></div>\n";
}

std::string commands_html(const HtmlReport& report) {
  if (report.commands.empty()) return "";
  std::string html = "<div class=\"card keep\">\n";
  for (const HtmlReport::Command& c : report.commands) {
    html += fmt::format("<div class=\"command\"><p>{}</p><pre><code class=\"mono\">{}</code></pre></div>\n",
                        escaped(c.purpose), escaped(c.command));
  }
  return html + "</div>\n";
}

std::string utility_html(const HtmlReport& report) {
  std::string html = figures_html(report.utility);
  for (const HtmlReport::Table& table : report.results_tables) {
    html += "<div class=\"card\">" + scrolled(table) + "</div>\n";
  }
  return html.empty() ? "" : "<div class=\"stack\">" + html + "</div>";
}

std::string answer_html(const HtmlReport& report) {
  std::string html;
  for (const HtmlReport::Bars& one : report.answers) {
    std::string words = one.chart.title + ":";
    for (const BarChart::Bar& bar : one.chart.bars) {
      words += fmt::format(" {} {};", bar.label, bar.value ? shown_near(*bar.value, 5) : std::string("none"));
    }
    html +=
        "<figure class=\"card\">\n<h3>" + escaped(one.chart.title) + "</h3>\n" + paragraph("sub", one.chart.subtitle);
    for (const ChartSize size : {ChartSize::kWide, ChartSize::kNarrow}) {
      html += to_inline_svg(one.chart, one.id, size, words);
    }
    html += "</figure>\n";
  }
  if (!html.empty()) html = "<div class=\"grid-2\">\n" + html + "</div>\n";
  for (const HtmlReport::Table& table : report.answer_tables) {
    html += "<div class=\"card\">" + scrolled(table) + "</div>\n";
  }
  return html.empty() ? "" : "<div class=\"stack\">" + html + "</div>";
}

// A part of the page, left out if it has no content.
struct Part {
  const char* id;
  std::string heading;
  std::string lead;
  std::string content;
};

std::vector<Part> parts_of(const HtmlReport& report) {
  const std::string epsilon = is_private(report)
                                  ? fmt::format("ε ≤ {}", shown_at_least(report.promise.epsilon_upper, 3))
                                  : std::string("ε = ∞");
  std::vector<Part> parts{
      {"answer", "Answer", "What was released, with the error of its noise. What bounds left out is not in it.",
       answer_html(report)},
      {"budget", "Budget", "Every private use of the data is paid for in ε from one budget, which a ledger keeps.",
       budget_html(report)},
      {"privacy", "Privacy", "What the guarantee says at other δ, and to anyone who tests for one record.",
       figures_html(report.privacy)},
      {"utility", "Utility",
       "What privacy costs in quality, which is measured without noise on the rows that are named.",
       utility_html(report)},
      {"training", "Training", "How the run went, from the log that it wrote.", figures_html(report.training)},
      {"reading", "What " + epsilon + " means",
       "In everyday terms: where the bound stands, and what it leaves to an attacker.", reading_html(report)},
      {"parameters", "Parameters", "Everything that ε follows from, and all other settings.", parameters_html(report)},
      {"not-covered", "Not covered", "What the guarantee does not say.", not_covered_html(report)},
      {"reproduce", "Check and repeat", "Anyone with the files can check what is said here.", commands_html(report)},
  };
  parts.erase(std::remove_if(parts.begin(), parts.end(), [](const Part& part) { return part.content.empty(); }),
              parts.end());
  return parts;
}

}  // namespace

std::string promise_in_words(const HtmlReport& report) {
  const HtmlReport::Promise& p = report.promise;
  if (!is_private(report)) {
    return fmt::format(
        "Nothing is promised to anyone whose data {} came from: {} made for comparison, and must not be "
        "handed on.",
        this_noun(report), report.several ? "they were" : "it was");
  }
  const double times = std::exp(p.epsilon_upper);
  const std::string because = p.exchanged
                                  ? fmt::format("because one {0} in the data was this {0} and not another one", p.unit)
                                  : fmt::format("because one {} was in the data or was not", p.unit);
  const std::string exception =
      p.delta > 0 ? fmt::format(", except with a chance of at most {}", one_in(p.delta)) : std::string();
  return fmt::format("Nothing that anyone can find out from {} becomes more than {} times as likely {}{}.",
                     this_noun(report), times < 1e6 ? factor(times) : "a million (" + shown_at_least(times, 2) + ")",
                     because, exception);
}

std::string to_html(const HtmlReport& report) {
  const std::vector<Part> parts = parts_of(report);
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>Privacy report: "
      "{}</title>\n<style>{}</style>\n</head>\n"
      "<body>\n<a class=\"skip\" href=\"#main\">Skip to the verdict</a>\n<header><div class=\"page\">\n"
      "<p class=\"brand\">Noisefloor <span>privacy report</span></p>\n<nav aria-label=\"Parts of this report\"><ul>\n",
      kPolicy, escaped(report.name), kReportStyle);
  for (const Part& part : parts) {
    html += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", part.id, escaped(part.heading));
  }
  html += "</ul></nav>\n</div></header>\n<main id=\"main\" class=\"page\" tabindex=\"-1\">\n" + hero_html(report);
  for (const Part& part : parts) {
    html +=
        fmt::format(
            "<section class=\"part\" id=\"{0}\" aria-labelledby=\"{0}-heading\">\n<h2 id=\"{0}-heading\">{1}</h2>\n",
            part.id, escaped(part.heading)) +
        paragraph("lead", part.lead) + part.content + "</section>\n";
  }
  return html + fmt::format(
                    "</main>\n<footer><div class=\"page\"><p>Written by {}. This file needs no network and runs no "
                    "script.</p></div></footer>\n</body>\n</html>\n",
                    escaped(report.program));
}

}  // namespace noisefloor
