#include "noisefloor/report/bar_chart.h"

#include <gtest/gtest.h>

namespace noisefloor {
namespace {

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

TEST(BarChart, DrawsABarAndAnIntervalForEachGroup) {
  const BarChart chart{"count", "", {{"ICU", 120, Interval{110, 130}}, {"Ward", -5, Interval{-15, 5}}, {"None"}}};
  for (const ChartSize size : {ChartSize::kWide, ChartSize::kNarrow}) {
    const std::string svg = to_inline_svg(chart, "answer-1", size, "Counts by department");
    EXPECT_EQ(count(svg, "class=\"band-1\""), 2U) << svg;
    EXPECT_EQ(count(svg, "class=\"line-2\""), 2U) << svg;
    EXPECT_NE(svg.find("Counts by department"), std::string::npos);
    EXPECT_EQ(svg.find("nan"), std::string::npos) << svg;
  }
}

// The bar of 100 ends where the tick of 100 is, and that of 50 in the middle.
TEST(BarChart, IsToScale) {
  const std::string svg = to_inline_svg({"c", "", {{"a", 100}, {"b", 50}}}, "x", ChartSize::kWide, "d");
  EXPECT_NE(svg.find("x=\"170.0\" y=\"18.0\" width=\"300.0\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("x=\"170.0\" y=\"48.0\" width=\"150.0\""), std::string::npos) << svg;
}

TEST(BarChart, EscapesWhatItIsGiven) {
  const std::string svg = to_inline_svg({"c", "", {{"<script>alert(1)</script>", 1}}}, "x", ChartSize::kWide, "a<b");
  EXPECT_EQ(svg.find("<script>"), std::string::npos);
  EXPECT_EQ(svg.find("a<b"), std::string::npos);
}

TEST(BarChart, DrawsZeros) {
  const std::string svg = to_inline_svg({"c", "", {{"a", 0.0, Interval{0, 0}}}}, "x", ChartSize::kWide, "d");
  EXPECT_EQ(svg.find("nan"), std::string::npos) << svg;
  EXPECT_EQ(svg.find("inf"), std::string::npos) << svg;
}

}  // namespace
}  // namespace noisefloor
