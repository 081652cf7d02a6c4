// Line charts as SVG pictures, each line with a band between two bounds.
//
// A chart has two forms: a picture of its own (to_svg), and one inside a page (to_inline_svg), whose style sheet gives
// the colours. Inside a page its only text is numbers and the names of the axes: title, legend and table stand beside
// it as HTML, which wraps.
// Thread safety: pure functions; plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace noisefloor {

struct Chart {
  std::string title;
  std::string subtitle;
  std::string x_label;
  std::string y_label;
  bool log_x = false;
  struct Point {
    double x;
    double lower;
    double upper;
  };
  struct Series {
    std::string name;           // in the legend, if there are several
    std::vector<Point> points;  // in ascending order of x; at least one, all finite, x > 0 if log_x, lower > 0 if log_y
  };
  std::vector<Series> series;  // at least one, with two different x among all of them
  bool from_zero = true;       // whether the y axis begins at 0
  std::string diagonal;        // label of the line from (0, 1) to (1, 0); empty for no line
  bool marks = false;          // a dot at each point
  struct Level {
    double y;
    std::string label;
  };
  std::optional<Level> level = {};  // a horizontal line to compare with
  struct Spot {
    double x;
    double y;
    std::string label;
  };
  std::optional<Spot> spot = {};  // one highlighted point; in pages only
  bool log_y = false;             // not with from_zero
};

[[nodiscard]] std::string to_svg(const Chart& chart);

// A page holds a chart in both sizes and shows the one that fits its width.
enum class ChartSize : std::uint8_t { kWide, kNarrow };

// `id` is unique in its page. The elements have these classes for the style sheet: axis, tick and grid; line-N, band-N
// and dot-N for the series N = 1 … kChartColours, over and over; reference for the diagonal and the level; spot.
inline constexpr std::size_t kChartColours = 6;
[[nodiscard]] std::string to_inline_svg(const Chart& chart, const std::string& id, ChartSize size,
                                        const std::string& description);

// The points as comma-separated values, after a line of names. If there are several series, each line begins with the
// name of its series.
[[nodiscard]] std::string to_csv(const Chart& chart, const std::string& x_name, const std::string& y_name);

}  // namespace noisefloor
