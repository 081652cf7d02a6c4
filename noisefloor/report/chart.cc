#include "noisefloor/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace noisefloor {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 440;
constexpr double kLeft = 76;
constexpr double kMargin = 24;
constexpr double kLegend = 150;  // on the right, for several series
constexpr double kTop = 64;
constexpr double kBottom = 60;

// Told apart also by people who see few colours, and by their darkness in print.
struct Colour {
  const char* line;
  const char* band;
};
constexpr std::array<Colour, 7> kColours{{{"#1f5a99", "#2f6fb3"},
                                          {"#b5460f", "#d95f0e"},
                                          {"#1b7a4b", "#2ca25f"},
                                          {"#7a3b93", "#9e5fb8"},
                                          {"#8a6d00", "#c09a00"},
                                          {"#a3195b", "#c9307a"},
                                          {"#444444", "#777777"}}};

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

// Round steps of 1, 2 or 5 times a power of ten: about six of them.
std::vector<double> linear_ticks(double low, double high) {
  const double rough = (high - low) / 6;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> ticks;
  for (auto k = static_cast<long>(std::ceil(low / step - 1e-9)); static_cast<double>(k) * step <= high * (1 + 1e-9);
       ++k) {
    ticks.push_back(static_cast<double>(k) * step);
  }
  return ticks;
}

std::vector<double> decade_ticks(double low, double high) {
  const auto first = static_cast<int>(std::ceil(std::log10(low) - 1e-9));
  const auto last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
  const int every = std::max(1, (last - first + 7) / 8);
  std::vector<double> ticks;
  for (int k = first; k <= last; k += every) ticks.push_back(std::pow(10.0, k));
  return ticks;
}

// From a number to its place in the picture.
struct Axis {
  double low;
  double high;
  bool logarithmic;
  double begin;
  double end;

  [[nodiscard]] double operator()(double value) const {
    const auto scaled = [&](double v) { return logarithmic ? std::log(v) : v; };
    return begin + (scaled(value) - scaled(low)) / (scaled(high) - scaled(low)) * (end - begin);
  }
};

}  // namespace

namespace {

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
  Chart::Point low = chart.series.front().points.front();
  Chart::Point high = low;
  if (chart.from_zero) low.lower = 0;
  for (const Chart::Series& series : chart.series) {
    for (const Chart::Point& p : series.points) {
      low = {std::min(low.x, p.x), std::min(low.lower, p.lower), 0};
      high = {std::max(high.x, p.x), 0, std::max(high.upper, p.upper)};
    }
  }
  if (chart.level) {
    low.lower = std::min(low.lower, chart.level->y);
    high.upper = std::max(high.upper, chart.level->y);
  }
  if (!(high.upper > low.lower)) high.upper = low.lower + 1;
  const double right = chart.series.size() > 1 ? kLegend : kMargin;
  const Axis x{low.x, high.x, chart.log_x, kLeft, kWidth - right};
  const Axis y{low.lower, high.upper + 0.04 * (high.upper - low.lower), false, kHeight - kBottom, kTop};

  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
      "font-family=\"system-ui, sans-serif\" font-size=\"13\">\n<title>{2}</title>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
      "<text x=\"{3}\" y=\"26\" font-size=\"17\" font-weight=\"600\" fill=\"#1b1b1b\">{2}</text>\n"
      "<text x=\"{3}\" y=\"46\" fill=\"#595959\">{4}</text>\n",
      kWidth, kHeight, escaped(chart.title), kLeft, escaped(chart.subtitle));
  for (double tick : linear_ticks(y.low, y.high)) {
    svg += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.2f}\" y2=\"{2:.2f}\" stroke=\"#e3e3e3\"/>"
        "<text x=\"{3}\" y=\"{4:.2f}\" text-anchor=\"end\" fill=\"#404040\">{5:.6g}</text>\n",
        kLeft, kWidth - right, y(tick), kLeft - 8, y(tick) + 4, tick);
  }
  for (double tick : chart.log_x ? decade_ticks(x.low, x.high) : linear_ticks(x.low, x.high)) {
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
