#include "noisefloor/report/html_report.h"

#include <gtest/gtest.h>

#include <limits>

namespace noisefloor {
namespace {

Chart line(const std::string& text) {
  Chart chart;
  chart.title = text + " title";
  chart.subtitle = text;
  chart.x_label = text;
  chart.y_label = text;
  chart.diagonal = text;
  chart.series = {{text + "-a", {{0, 0.5, 0.5}, {1, 0.7, 0.9}}}, {text + "-b", {{0, 0.4, 0.4}, {1, 0.1, 0.2}}}};
  chart.level = {0.3, text};
  chart.spot = {1, 0.8, text};
  return chart;
}

// A report with `text` in every field that can hold a text.
HtmlReport full(const std::string& text) {
  HtmlReport report;
  report.name = text;
  report.promise = {2.9961, 2.99961, 1e-5, text, false};
  report.checks = {{text, text}, {text, text, false}};
  report.warnings = {text};
  report.results = {{text, text, text}};
  report.budget = HtmlReport::Budget{text, 4, 1e-5, 0.25, 3, 0.5, text};
  report.privacy = {{"curve", line(text), text}};
  report.utility = {{"utility-curve", line(text), text}};
  report.training = {{"training-curve", line(text), text}};
  report.odds = HtmlReport::Odds{0.41, {{0.01, 0.123}}, {{0.5, 0.9526}}};
  report.results_tables = {{text, {text, text}, {{text, text}}}};
  report.parameters = {{text, {}, {{text, text}}}};
  report.not_covered = {text};
  report.commands = {{text, text}};
  report.program = text;
  return report;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(HtmlReport, BeginsWithTheVerdict) {
  const std::string html = to_html(full("plain"));
  std::size_t last = 0;
  for (const char* mark :
       {"<h1", "id=\"budget\"", "id=\"privacy\"", "id=\"utility\"", "id=\"training\"", "id=\"reading\"",
        "id=\"parameters\"", "id=\"not-covered\"", "id=\"reproduce\"", "<footer"}) {
    const std::size_t at = html.find(mark);
    ASSERT_NE(at, std::string::npos) << mark;
    EXPECT_GT(at, last) << mark;
    last = at;
  }
  EXPECT_NE(html.find("ε ≤ 3<"), std::string::npos) << "rounded up";
  EXPECT_NE(html.find("certified: 2.9961 to 2.9997"), std::string::npos);
  EXPECT_NE(html.find("1 in 100,000"), std::string::npos);
}

TEST(HtmlReport, LetsNoTextBecomeMarkup) {
  const std::string evil = R"(</style></title><x-evil onload="y" a='b'>&amp;)";
  const std::string html = to_html(full(evil));
  EXPECT_EQ(html.find("<x-evil"), std::string::npos);
  EXPECT_EQ(html.find("onload=\"y"), std::string::npos);
  EXPECT_EQ(html.find("a='b'"), std::string::npos);
  EXPECT_EQ(count(html, "</style>"), 1U);
  EXPECT_EQ(count(html, "</title>"), 1U + 3 * 2 + 2) << "of the page, of each chart in two sizes, of the scale";
  EXPECT_GT(count(html, "&lt;x-evil onload=&quot;y&quot; a=&#39;b&#39;&gt;&amp;amp;"), 30U);
  // Ids of parts and charts are fixed by the program, and each occurs once.
  EXPECT_EQ(count(html, "id=\"curve-wide-t\""), 1U);
}

TEST(HtmlReport, NeedsNothingButItself) {
  const std::string html = to_html(full("plain"));
  for (const char* mark :
       {"http:", "https:", "<script", "<link", "<img", "<iframe", "url(", "@import", " src=", "javascript:"}) {
    EXPECT_EQ(html.find(mark), std::string::npos) << mark;
  }
  EXPECT_NE(html.find("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'"),
            std::string::npos);
  EXPECT_LT(html.size(), 200'000U);
}

TEST(HtmlReport, SaysIfThereIsNoPrivacy) {
  HtmlReport report = full("plain");
  report.promise.epsilon_lower = report.promise.epsilon_upper = std::numeric_limits<double>::infinity();
  report.privacy.clear();
  report.odds.reset();
  const std::string html = to_html(report);
  EXPECT_NE(html.find("<p class=\"badge\">NOT PRIVATE</p>"), std::string::npos);
  EXPECT_NE(html.find("ε = ∞"), std::string::npos);
  EXPECT_EQ(html.find("Verified"), std::string::npos);
  EXPECT_EQ(html.find("id=\"privacy\""), std::string::npos) << "a part without content";
  EXPECT_NE(promise_in_words(report).find("must not be handed on"), std::string::npos);
}

TEST(HtmlReport, MakesThePromiseInOneSentence) {
  HtmlReport report = full("row");
  EXPECT_EQ(promise_in_words(report),
            "Nothing that anyone can find out from this model becomes more than 20.1 times as likely because one row "
            "was in the data or was not, except with a chance of at most 1 in 100,000.");
  report.promise = {9.9, 9.95, 0, "person", true};
  report.noun = "3 private models";
  report.several = true;
  EXPECT_EQ(promise_in_words(report),
            "Nothing that anyone can find out from these 3 private models becomes more than 21,000 times as likely "
            "because one person "
            "in the data was this person and not another one.");
  report.promise.epsilon_upper = 50;
  EXPECT_NE(promise_in_words(report).find("more than a million (5.2e+21) times"), std::string::npos);
}

TEST(HtmlReport, ShowsWeakPromisesAsWeak) {
  HtmlReport report = full("plain");
  EXPECT_NE(to_html(report).find("hero good"), std::string::npos);
  EXPECT_NE(to_html(report).find("practical privacy"), std::string::npos);
  report.promise.epsilon_upper = 10.01;
  EXPECT_NE(to_html(report).find("hero careful"), std::string::npos);
  EXPECT_NE(to_html(report).find("weak privacy"), std::string::npos);
}

TEST(HtmlReport, ShowsABudgetThatAddsUp) {
  const std::string html = to_html(full("plain"));
  EXPECT_NE(
      html.find("aria-label=\"Of epsilon 4: spent before 0.25, spent by this model 3, spent since 0.5, left 0.25.\""),
      std::string::npos);
  EXPECT_NE(html.find("class=\"part-own\" x=\"62.50\" width=\"750.00\""), std::string::npos);
  HtmlReport report = full("plain");
  report.budget.reset();
  report.no_budget = "Nothing was charged.";
  EXPECT_NE(to_html(report).find("Nothing was charged."), std::string::npos);
}

// Spent amounts round up and the remainder rounds down.
TEST(HtmlReport, RoundsTheBudgetToTheSafeSide) {
  HtmlReport report = full("plain");
  report.budget = HtmlReport::Budget{"b", 3, 1e-5, 0, 2.00011, 0, ""};
  const std::string html = to_html(report);
  EXPECT_NE(html.find("spent by this model 2.001"), std::string::npos);
  EXPECT_NE(html.find("left 0.9998"), std::string::npos);
}

TEST(HtmlReport, ShowsOddsAsBounds) {
  const std::string html = to_html(full("plain"));
  EXPECT_NE(html.find("<td>50 %</td><td>70.5 %</td>"), std::string::npos);
  EXPECT_NE(html.find("<td>1 %</td><td>12.3 %</td>"), std::string::npos);
  EXPECT_NE(html.find("<td>50 %</td><td>95.3 %</td>"), std::string::npos) << "95.26 rounds up";
}

}  // namespace
}  // namespace noisefloor
