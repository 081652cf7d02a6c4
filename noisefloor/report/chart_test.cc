#include "noisefloor/report/chart.h"

#include <gtest/gtest.h>

namespace noisefloor {
namespace {

Chart two_lines() {
  Chart chart;
  chart.title = "a < b";
  chart.x_label = "x";
  chart.y_label = "y";
  chart.series = {{"C = 0.1", {{1, 0.5, 0.5}, {2, 0.7, 0.9}}}, {"C = 0.2", {{1, 0.4, 0.4}, {3, 0.1, 0.2}}}};
  return chart;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(Chart, NamesSeveralSeries) {
  const std::string svg = to_svg(two_lines());
  EXPECT_EQ(count(svg, "C = 0.1"), 1U);
  EXPECT_EQ(count(svg, "C = 0.2"), 1U);
  EXPECT_EQ(count(svg, "<path"), 4U) << "a band and a line each";
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Chart, HasNoLegendForOneSeries) {
  Chart chart = two_lines();
  chart.series.pop_back();
  const std::string svg = to_svg(chart);
  EXPECT_EQ(count(svg, "C = 0.1"), 0U);
  EXPECT_EQ(to_csv(chart, "sigma", "ratio"), "sigma,ratio_lower,ratio_upper\n1,0.5,0.5\n2,0.7,0.9\n");
}

TEST(Chart, NamesTheSeriesInTables) {
  EXPECT_EQ(to_csv(two_lines(), "sigma", "ratio"),
            "series,sigma,ratio_lower,ratio_upper\nC = 0.1,1,0.5,0.5\nC = 0.1,2,0.7,0.9\nC = 0.2,1,0.4,0.4\nC = "
            "0.2,3,0.1,0.2\n");
}

TEST(Chart, TakesColoursFromThePageAndHasANameForScreenReaders) {
  Chart chart = two_lines();
  chart.level = {0.3, "a level"};
  chart.spot = {2, 0.8, "a spot"};
  for (const ChartSize size : {ChartSize::kWide, ChartSize::kNarrow}) {
    const std::string svg = to_inline_svg(chart, "p", size, "falls & rises");
    EXPECT_EQ(count(svg, "fill=\""), 0U);
    EXPECT_EQ(count(svg, "stroke=\""), 0U);
    EXPECT_EQ(count(svg, "http"), 0U) << "a page needs no namespace";
    EXPECT_EQ(count(svg, "class=\"line-"), 2U);
    EXPECT_EQ(count(svg, "class=\"axis\""), 2U);
    EXPECT_EQ(count(svg, "class=\"spot\""), 1U);
    EXPECT_EQ(count(svg, "class=\"reference\""), 1U);
    EXPECT_NE(svg.find("aria-labelledby=\"p-t p-d\"><title id=\"p-t\">a &lt; b</title>"), std::string::npos) << svg;
    EXPECT_NE(svg.find("<desc id=\"p-d\">falls &amp; rises</desc>"), std::string::npos) << svg;
    EXPECT_EQ(svg.find("nan"), std::string::npos);
  }
}

// The numbers at the ticks of an axis, in the order in which they are drawn.
std::vector<std::string> ticks_of(const Chart& chart, const std::string& anchor) {
  const std::string svg = to_inline_svg(chart, "p", ChartSize::kWide, "");
  std::vector<std::string> ticks;
  const std::string end = "text-anchor=\"" + anchor + "\">";
  for (std::size_t at = svg.find("class=\"tick\""); at != std::string::npos; at = svg.find("class=\"tick\"", at + 1)) {
    const std::size_t text = svg.find("text-anchor", at);
    if (svg.compare(text, end.size(), end) == 0) {
      ticks.push_back(svg.substr(text + end.size(), svg.find('<', text) - text - end.size()));
    }
  }
  return ticks;
}

TEST(Chart, HasFewAndRoundTicks) {
  Chart chart = two_lines();
  chart.log_x = true;
  chart.series = {{"", {{1e-10, 0, 0.2}, {1e-2, 0, 1}}}};
  EXPECT_EQ(ticks_of(chart, "middle"), (std::vector<std::string>{"10⁻¹⁰", "10⁻⁸", "10⁻⁶", "10⁻⁴", "0.01"}));
  chart.series = {{"", {{1, 0, 0.2}, {8, 0, 1}}}};
  EXPECT_EQ(ticks_of(chart, "middle"), (std::vector<std::string>{"1", "2", "5"}));
  chart.log_x = false;
  chart.series = {{"", {{0, -0.5, 0.2}, {300, 0, 1}}}};
  EXPECT_EQ(ticks_of(chart, "middle"), (std::vector<std::string>{"0", "50", "100", "150", "200", "250", "300"}));
  EXPECT_EQ(ticks_of(chart, "end"), (std::vector<std::string>{"−0.5", "0", "0.5", "1"}));
}

}  // namespace
}  // namespace noisefloor
