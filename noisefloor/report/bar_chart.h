// Bars with intervals as an SVG picture inside a page: one row for each group, its number, and the range that holds the
// true one.
//
// Thread safety: pure functions; plain data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "noisefloor/numerics/interval.h"
#include "noisefloor/report/chart.h"

namespace noisefloor {

struct BarChart {
  std::string title;
  std::string subtitle;
  struct Bar {
    std::string label;
    std::optional<double> value = {};    // none: the group has none
    std::optional<Interval> range = {};  // finite
  };
  std::vector<Bar> bars;  // at least one
};

// More rows than this are left to the table beside the picture.
inline constexpr std::size_t kMostBars = 40;

// `id` is unique in its page. The classes are those of chart.h: band-1 for bars, line-2 for intervals.
[[nodiscard]] std::string to_inline_svg(const BarChart& chart, const std::string& id, ChartSize size,
                                        const std::string& description);

}  // namespace noisefloor
