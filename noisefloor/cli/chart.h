// A line chart as an SVG picture, with a band between two bounds.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace noisefloor::cli {

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
  std::vector<Point> points;  // by growing x; at least two, all finite, x > 0 if log_x
  bool from_zero = true;      // whether the y axis begins at 0
  std::string diagonal;       // if not empty, what the line from (0, 1) to (1, 0) stands for
  bool marks = false;         // a dot at each point
  struct Level {
    double y;
    std::string label;
  };
  std::optional<Level> level = {};  // a line across, to compare with
};

[[nodiscard]] std::string to_svg(const Chart& chart);

// The points as comma-separated values, with a line of names first.
[[nodiscard]] std::string to_csv(const Chart& chart, const std::string& x_name, const std::string& y_name);

}  // namespace noisefloor::cli
