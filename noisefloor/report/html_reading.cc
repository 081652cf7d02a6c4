#include <fmt/format.h>

#include <cstdlib>

#include "noisefloor/report/epsilon_scale.h"
#include "noisefloor/report/html.h"
#include "noisefloor/report/html_pieces.h"

namespace noisefloor::internal {
namespace {

std::string scale_html(const HtmlReport& report) {
  const double epsilon = report.promise.epsilon_upper;
  const EpsilonBand& band = band_of(epsilon);
  std::string among;
  HtmlReport::Table table{"Typical values of ε", {"application", "ε", "why"}, {}};
  for (const TypicalEpsilon& t : typical_epsilons()) {
    // The rounded value that the page shows.
    const double shown = std::strtod(shown_at_least(epsilon, 3).c_str(), nullptr);
    if (shown >= t.low && shown <= t.high) among += (among.empty() ? "" : ", ") + std::string(t.application);
    table.rows.push_back({t.application, fmt::format("{:g} to {:g}", t.low, t.high), t.why});
  }
  const std::string stands =
      fmt::format("On a scale of strong (up to 1), practical (up to 10), weak (up to 100) and none, ε ≤ {} is {}. {}",
                  shown_at_least(epsilon, 3), band.name,
                  among.empty() ? "It is outside the ranges that are typical of the applications below."
                                : "It is within what is typical of: " + among + ".");
  return "<div class=\"card keep\"><h3>Where it stands</h3>\n" + paragraph("reading", band.meaning) +
         epsilon_scale_svg(epsilon, "scale-wide", ChartSize::kWide, stands) +
         epsilon_scale_svg(epsilon, "scale-narrow", ChartSize::kNarrow, stands) + paragraph("reading", stands) +
         paragraph("sub", "Two ε compare only where the same unit is protected against the same change.") +
         folded(table) + "</div>\n";
}

std::string odds_html(const HtmlReport& report) {
  if (!report.odds) return "";
  const HtmlReport::Promise& p = report.promise;
  const std::string without = "without " + this_noun(report);
  const std::string member = p.exchanged ? fmt::format("which of two {}s was used", p.unit)
                                         : fmt::format("whether one {} was in the data", p.unit);
  std::string rows;
  const auto row = [&](const std::string& what, const std::string& before, const std::string& after) {
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n", escaped(what), before, after);
  };
  row("Guesses right, on even odds", "50 %", percent_at_least((1 + report.odds->advantage) / 2));
  for (const auto& [alarms, found] : report.odds->found) {
    row(fmt::format("Members found, with {} false alarms", percent(alarms)), percent(alarms), percent_at_least(found));
  }
  for (const auto& [before, after] : report.odds->beliefs) {
    row(fmt::format("Belief in a membership that was held {} likely*", percent(before)), percent(before),
        percent_at_least(after));
  }
  return fmt::format(
             "<div class=\"card keep\"><h3>What an attacker can still do</h3>\n"
             "<p class=\"reading\">Someone who knows everything else, and every detail of how it was made, tries to "
             "find "
             "out {}. No "
             "method does better than this:</p>\n"
             "<table class=\"odds\" style=\"margin-top:10px\"><thead><tr><th scope=\"col\">attempt</th><th "
             "scope=\"col\">{}</th><th scope=\"col\">with, at most</th></tr></thead><tbody>\n{}</tbody></table>\n",
             escaped(member), escaped(without), rows) +
         paragraph("sub", p.delta > 0
                              ? fmt::format("* except with a chance of {}. The other rows hold without exception.",
                                            one_in(p.delta))
                              : "* without exception.") +
         paragraph("sub",
                   "Bounds from the certified trade-off curve and (ε, δ); real attacks know less and reach less.") +
         "</div>\n";
}

}  // namespace

std::string reading_html(const HtmlReport& report) {
  if (!is_private(report)) {
    return paragraph("card",
                     "Without a bound there is nothing to read: someone who knows the rest of the data may find out "
                     "whether any one record was among them, and what it said.");
  }
  return "<div class=\"grid-2\">\n" + scale_html(report) + odds_html(report) + "</div>\n";
}

}  // namespace noisefloor::internal
