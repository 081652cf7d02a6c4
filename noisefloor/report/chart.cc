#include "noisefloor/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "noisefloor/report/html.h"

namespace noisefloor {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 440;
constexpr double kLeft = 76;
constexpr double kMargin = 24;
constexpr double kLegend = 150;  // width on the right, for several series
constexpr double kTop = 64;
constexpr double kBottom = 60;

// Colour-blind readers can tell these apart, and so can readers of a print, by their darkness.
struct Colour {
  const char* line;
  const char* band;
};
constexpr std::array<Colour, 8> kColours{{{"#1f5a99", "#2f6fb3"},
                                          {"#b5460f", "#d95f0e"},
                                          {"#1b7a4b", "#2ca25f"},
                                          {"#7a3b93", "#9e5fb8"},
                                          {"#8a6d00", "#c09a00"},
                                          {"#a3195b", "#c9307a"},
                                          {"#444444", "#777777"},
                                          {"#0b7285", "#1098ad"}}};

// Steps of 1, 2 or 5 times a power of ten, close to the wanted number.
std::vector<double> linear_ticks(double low, double high, int wanted) {
  const double rough = (high - low) / wanted;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> ticks;
  const auto first = static_cast<long>(std::ceil(low / step - 1e-9));
  const auto last = static_cast<long>(std::floor(high / step + 1e-9));
  for (long k = first; k <= last; ++k) ticks.push_back(static_cast<double>(k) * step);
  return ticks;
}

// Powers of ten, and also 2 and 5 times each if there are few.
std::vector<double> logarithmic_ticks(double low, double high, int wanted) {
  const auto first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  const auto last = static_cast<int>(std::ceil(std::log10(high) - 1e-9));
  const bool finely = 3 * (last - first) <= wanted + 2;
  const int every = std::max(1, (last - first + wanted - 1) / wanted);
  std::vector<double> ticks;
  for (int k = first; k <= last; ++k) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * std::pow(10.0, k);
      const bool shown = factor == 1 ? (finely || (k - last) % every == 0) : finely;
      if (shown && tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push_back(tick);
    }
  }
  return ticks;
}

// Maps a number to its place in the picture.
struct Axis {
  double low;
  double high;
  bool logarithmic;
  double begin;
  double end;

  [[nodiscard]] std::vector<double> ticks(int wanted) const {
    return logarithmic ? logarithmic_ticks(low, high, wanted) : linear_ticks(low, high, wanted);
  }
  [[nodiscard]] double operator()(double value) const {
    const auto scaled = [&](double v) { return logarithmic ? std::log(v) : v; };
    return begin + (scaled(value) - scaled(low)) / (scaled(high) - scaled(low)) * (end - begin);
  }
};

// The least and the greatest value that is drawn.
struct Range {
  double low_x;
  double high_x;
  double low_y;
  double high_y;
};

Range range_of(const Chart& chart) {
  const Chart::Point first = chart.series.front().points.front();
  Range range{first.x, first.x, chart.from_zero ? 0 : first.lower, first.upper};
  const auto take = [&](double lower, double upper) {
    range.low_y = std::min(range.low_y, lower);
    range.high_y = std::max(range.high_y, upper);
  };
  for (const Chart::Series& series : chart.series) {
    for (const Chart::Point& p : series.points) {
      range.low_x = std::min(range.low_x, p.x);
      range.high_x = std::max(range.high_x, p.x);
      take(p.lower, p.upper);
    }
  }
  if (chart.level) take(chart.level->y, chart.level->y);
  if (chart.spot) take(chart.spot->y, chart.spot->y);
  if (!(range.high_y > range.low_y)) range.high_y = range.low_y + 1;
  return range;
}

std::string drawn(const Chart::Series& series, const Colour& colour, const Axis& x, const Axis& y, bool marks) {
  std::string band = "M";
  std::string line = "M";
  for (const Chart::Point& p : series.points) {
    band += fmt::format("{:.2f},{:.2f} ", x(p.x), y(p.upper));
    line += fmt::format("{:.2f},{:.2f} ", x(p.x), y((p.lower + p.upper) / 2));
  }
  for (std::size_t i = series.points.size(); i-- > 0;) {
    band += fmt::format("{:.2f},{:.2f} ", x(series.points[i].x), y(series.points[i].lower));
  }
  std::string svg = fmt::format(
      "<path d=\"{}Z\" fill=\"{}\" fill-opacity=\"0.22\"/>\n"
      "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
      band, colour.band, line, colour.line);
  if (!marks) return svg;
  for (const Chart::Point& p : series.points) {
    svg += fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"4\" fill=\"{}\"/>\n", x(p.x),
                       y((p.lower + p.upper) / 2), colour.line);
  }
  return svg;
}

}  // namespace

std::string to_svg(const Chart& chart) {
  const Range range = range_of(chart);
  const double right = chart.series.size() > 1 ? kLegend : kMargin;
  const Axis x{range.low_x, range.high_x, chart.log_x, kLeft, kWidth - right};
  const double above = chart.log_y ? 0 : 0.04 * (range.high_y - range.low_y);
  const Axis y{range.low_y, range.high_y + above, chart.log_y, kHeight - kBottom, kTop};

  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
      "font-family=\"system-ui, sans-serif\" font-size=\"13\">\n<title>{2}</title>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
      "<text x=\"{3}\" y=\"26\" font-size=\"17\" font-weight=\"600\" fill=\"#1b1b1b\">{2}</text>\n"
      "<text x=\"{3}\" y=\"46\" fill=\"#595959\">{4}</text>\n",
      kWidth, kHeight, escaped(chart.title), kLeft, escaped(chart.subtitle));
  for (double tick : y.ticks(6)) {
    svg += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.2f}\" y2=\"{2:.2f}\" stroke=\"#e3e3e3\"/>"
        "<text x=\"{3}\" y=\"{4:.2f}\" text-anchor=\"end\" fill=\"#404040\">{5:.6g}</text>\n",
        kLeft, kWidth - right, y(tick), kLeft - 8, y(tick) + 4, tick);
  }
  for (double tick : x.ticks(chart.log_x ? 8 : 6)) {
    svg += fmt::format(
        "<line x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#e3e3e3\"/>"
        "<text x=\"{0:.2f}\" y=\"{3}\" text-anchor=\"middle\" fill=\"#404040\">{4:.6g}</text>\n",
        x(tick), kTop, kHeight - kBottom, kHeight - kBottom + 18, tick);
  }
  if (!chart.diagonal.empty()) {
    svg += fmt::format(
        "<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" stroke=\"#8a8a8a\" stroke-dasharray=\"5 4\"/>"
        "<text x=\"{:.2f}\" y=\"{:.2f}\" fill=\"#595959\">{}</text>\n",
        x(0), y(1), x(1), y(0), x(0.52), y(0.54), escaped(chart.diagonal));
  }
  if (chart.level) {
    svg += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.2f}\" y2=\"{2:.2f}\" stroke=\"#8a8a8a\" stroke-dasharray=\"5 4\"/>"
        "<text x=\"{3}\" y=\"{4:.2f}\" fill=\"#595959\">{5}</text>\n",
        kLeft, kWidth - right, y(chart.level->y), kLeft + 8, y(chart.level->y) - 6, escaped(chart.level->label));
  }
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Colour& colour = kColours[i % kColours.size()];
    svg += drawn(chart.series[i], colour, x, y, chart.marks);
    if (chart.series.size() == 1) continue;
    const double row = kTop + 10 + 20 * static_cast<double>(i);
    svg += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\" stroke=\"{3}\" stroke-width=\"3\"/>"
        "<text x=\"{4}\" y=\"{5}\" fill=\"#1b1b1b\">{6}</text>\n",
        kWidth - kLegend + 12, kWidth - kLegend + 32, row, colour.line, kWidth - kLegend + 38, row + 4,
        escaped(chart.series[i].name));
  }
  svg += fmt::format(
      "<text x=\"{0:.1f}\" y=\"{1}\" text-anchor=\"middle\" fill=\"#1b1b1b\">{2}</text>\n"
      "<text transform=\"translate(20 {3:.1f}) rotate(-90)\" text-anchor=\"middle\" "
      "fill=\"#1b1b1b\">{4}</text>\n</svg>\n",
      (kLeft + kWidth - right) / 2, kHeight - 16, escaped(chart.x_label), (kTop + kHeight - kBottom) / 2,
      escaped(chart.y_label));
  return svg;
}

namespace {

// The room that a page has for a chart.
struct Frame {
  double width;
  double height;
  double left;
  double right;
  double top;
  double bottom;
  int ticks_x;
  int ticks_y;
};
constexpr Frame kWideFrame{520, 300, 52, 24, 34, 52, 6, 5};
constexpr Frame kNarrowFrame{312, 250, 46, 22, 34, 52, 4, 4};

std::string tick_text(double tick, const Axis& axis) {
  const double exponent = std::log10(std::abs(tick));
  if (axis.logarithmic && std::abs(exponent - std::round(exponent)) < 1e-9 && std::abs(exponent) > 3.5) {
    return "10" + superscript(static_cast<int>(std::round(exponent)));
  }
  if (std::abs(tick) < 1e-12 * std::max(std::abs(axis.low), std::abs(axis.high))) return "0";
  std::string text = fmt::format("{:.6g}", tick);
  if (text.front() == '-') text.replace(0, 1, "−");
  return text;
}

std::string grid_of(const Frame& frame, const Axis& x, const Axis& y) {
  std::string svg;
  for (const double tick : y.ticks(frame.ticks_y)) {
    svg += fmt::format(
        R"(<path class="grid" d="M{} {:.1f}H{}"/><text class="tick" x="{}" y="{:.1f}" text-anchor="end">{}</text>)",
        frame.left, y(tick), frame.width - frame.right, frame.left - 8, y(tick) + 4, tick_text(tick, y));
  }
  for (const double tick : x.ticks(frame.ticks_x)) {
    svg += fmt::format(
        R"(<path class="grid" d="M{0:.1f} {1}V{2}"/><text class="tick" x="{0:.1f}" y="{3}" text-anchor="middle">{4}</text>)",
        x(tick), frame.top, frame.height - frame.bottom, frame.height - frame.bottom + 18, tick_text(tick, x));
  }
  return svg + fmt::format(R"(<path class="frame" d="M{0} {1}V{2}H{3}"/>)", frame.left, frame.top,
                           frame.height - frame.bottom, frame.width - frame.right);
}

std::string inline_series(const Chart& chart, std::size_t i, const Axis& x, const Axis& y) {
  const std::vector<Chart::Point>& points = chart.series[i].points;
  const std::size_t colour = i % kChartColours + 1;
  std::string line;
  std::string back;
  bool has_band = false;
  for (const Chart::Point& p : points) {
    line += fmt::format("{:.1f} {:.1f} ", x(p.x), y((p.lower + p.upper) / 2));
    has_band |= std::abs(y(p.upper) - y(p.lower)) > 1;
  }
  std::string svg;
  if (has_band) {
    for (const Chart::Point& p : points) back += fmt::format("{:.1f} {:.1f} ", x(p.x), y(p.upper));
    for (std::size_t k = points.size(); k-- > 0;) {
      back += fmt::format("{:.1f} {:.1f} ", x(points[k].x), y(points[k].lower));
    }
    svg += fmt::format(R"(<path class="band-{}" d="M{}Z"/>)", colour, back);
  }
  svg += fmt::format(R"(<path class="line-{}" d="M{}"/>)", colour, line);
  if (!chart.marks) return svg;
  for (const Chart::Point& p : points) {
    svg += fmt::format(R"(<circle class="dot-{}" cx="{:.1f}" cy="{:.1f}" r="3.5"/>)", colour, x(p.x),
                       y((p.lower + p.upper) / 2));
  }
  return svg;
}

}  // namespace

std::string to_inline_svg(const Chart& chart, const std::string& id, ChartSize size, const std::string& description) {
  const Frame& frame = size == ChartSize::kWide ? kWideFrame : kNarrowFrame;
  const Range range = range_of(chart);
  const double room = chart.log_y ? 0 : 0.06 * (range.high_y - range.low_y);
  const Axis x{range.low_x, range.high_x, chart.log_x, frame.left, frame.width - frame.right};
  const Axis y{chart.from_zero ? range.low_y : range.low_y - room, range.high_y + room, chart.log_y,
               frame.height - frame.bottom, frame.top};
  std::string svg = fmt::format(
      R"(<svg class="chart {0}" viewBox="0 0 {1} {2}" role="img" aria-labelledby="{3}-t {3}-d"><title id="{3}-t">{4}</title>)"
      R"(<desc id="{3}-d">{5}</desc>)",
      size == ChartSize::kWide ? "wide" : "narrow", frame.width, frame.height, escaped(id), escaped(chart.title),
      escaped(description));
  svg += grid_of(frame, x, y);
  if (!chart.diagonal.empty()) {
    svg += fmt::format(R"(<path class="reference" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>)", x(0), y(1), x(1), y(0));
  }
  if (chart.level) {
    svg += fmt::format(R"(<path class="reference" d="M{} {:.1f}H{}"/>)", frame.left, y(chart.level->y),
                       frame.width - frame.right);
  }
  for (std::size_t i = 0; i < chart.series.size(); ++i) svg += inline_series(chart, i, x, y);
  if (chart.spot) {
    svg += fmt::format(R"(<circle class="spot" cx="{:.1f}" cy="{:.1f}" r="5.5"/>)", x(chart.spot->x), y(chart.spot->y));
  }
  return svg + fmt::format(R"(<text class="axis" x="4" y="16">{}</text>)"
                           R"(<text class="axis" x="{:.1f}" y="{}" text-anchor="middle">{}</text></svg>)",
                           escaped(chart.y_label), (frame.left + frame.width - frame.right) / 2, frame.height - 8,
                           escaped(chart.x_label));
}

std::string to_csv(const Chart& chart, const std::string& x_name, const std::string& y_name) {
  const bool several = chart.series.size() > 1;
  std::string csv = fmt::format("{0}{1},{2}_lower,{2}_upper\n", several ? "series," : "", x_name, y_name);
  for (const Chart::Series& series : chart.series) {
    for (const Chart::Point& p : series.points) {
      csv += fmt::format("{}{},{},{}\n", several ? series.name + "," : "", p.x, p.lower, p.upper);
    }
  }
  return csv;
}

}  // namespace noisefloor
