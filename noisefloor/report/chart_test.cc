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

TEST(Chart, SeveralSeriesAreNamed) {
  const std::string svg = to_svg(two_lines());
  EXPECT_EQ(count(svg, "C = 0.1"), 1U);
  EXPECT_EQ(count(svg, "C = 0.2"), 1U);
  EXPECT_EQ(count(svg, "<path"), 4U) << "a band and a line each";
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Chart, OneSeriesNeedsNoLegend) {
  Chart chart = two_lines();
  chart.series.pop_back();
  const std::string svg = to_svg(chart);
  EXPECT_EQ(count(svg, "C = 0.1"), 0U);
  EXPECT_EQ(to_csv(chart, "sigma", "ratio"), "sigma,ratio_lower,ratio_upper\n1,0.5,0.5\n2,0.7,0.9\n");
}

TEST(Chart, TablesNameTheSeries) {
  EXPECT_EQ(to_csv(two_lines(), "sigma", "ratio"),
            "series,sigma,ratio_lower,ratio_upper\nC = 0.1,1,0.5,0.5\nC = 0.1,2,0.7,0.9\nC = 0.2,1,0.4,0.4\nC = "
            "0.2,3,0.1,0.2\n");
}

}  // namespace
}  // namespace noisefloor
