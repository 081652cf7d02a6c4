#include "noisefloor/report/bar_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/report/html.h"

namespace noisefloor {
namespace {

struct Sheet {
  double width;
  double left;
  double right;
  std::size_t letters;  // of a label
};
constexpr Sheet kWideSheet{560, 170, 90, 22};
constexpr Sheet kNarrowSheet{340, 104, 70, 13};
constexpr double kBarRow = 30;
constexpr double kBarTop = 12;
constexpr double kBarBottom = 34;

// The first letters of a label, without cutting one in two.
std::string short_label(const std::string& label, std::size_t letters) {
  std::size_t bytes = 0;
  std::size_t count = 0;
  while (bytes < label.size()) {
    std::size_t next = bytes + 1;
    while (next < label.size() && (static_cast<unsigned char>(label[next]) & 0xC0) == 0x80) ++next;
    if (++count > letters) return label.substr(0, bytes) + "…";
    bytes = next;
  }
  return label;
}

struct BarSpan {
  double low = 0;
  double high = 0;
};

BarSpan bar_span(const BarChart& chart) {
  BarSpan span;
  for (const BarChart::Bar& bar : chart.bars) {
    for (const double x : {bar.value.value_or(0), bar.range ? bar.range->lower : 0, bar.range ? bar.range->upper : 0}) {
      span.low = std::min(span.low, x);
      span.high = std::max(span.high, x);
    }
  }
  if (!(span.high > span.low)) span.high = span.low + 1;
  return span;
}

// Steps of 1, 2 or 5 times a power of ten: at most five ticks.
double tick_step(const BarSpan& span) {
  const double rough = (span.high - span.low) / 4;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::string to_inline_svg(const BarChart& chart, const std::string& id, ChartSize size,
                          const std::string& description) {
  const bool wide = size == ChartSize::kWide;
  const Sheet& sheet = wide ? kWideSheet : kNarrowSheet;
  const std::size_t rows = std::min(chart.bars.size(), kMostBars);
  const double bottom = kBarTop + kBarRow * static_cast<double>(rows);
  const BarSpan span = bar_span(chart);
  const double room = sheet.width - sheet.left - sheet.right;
  const auto at = [&](double x) { return sheet.left + room * (x - span.low) / (span.high - span.low); };
  std::string svg =
      fmt::format(R"(<svg class="chart {0}" viewBox="0 0 {1:g} {2:g}" role="img" aria-labelledby="{3}-{0}-name">)"
                  "\n<title id=\"{3}-{0}-name\">{4}</title>\n",
                  wide ? "wide" : "narrow", sheet.width, bottom + kBarBottom, id, escaped(description));
  const double step = tick_step(span);
  for (double tick = std::ceil(span.low / step) * step; tick <= span.high + step * 1e-9; tick += step) {
    const double x = at(tick);
    svg +=
        fmt::format(R"(<path class="grid" d="M{0:.1f} {1:g}V{2:g}"/><text x="{0:.1f}" y="{3:g}" text-anchor="middle">)"
                    "{4}</text>\n",
                    x, kBarTop, bottom, bottom + 20, shown_near(std::abs(tick) < step / 2 ? 0 : tick, 4));
  }
  for (std::size_t i = 0; i < rows; ++i) {
    const BarChart::Bar& bar = chart.bars[i];
    const double middle = kBarTop + kBarRow * (static_cast<double>(i) + 0.5);
    svg += fmt::format(R"(<text class="axis" x="{:g}" y="{:.1f}" text-anchor="end">{}</text>)", sheet.left - 10,
                       middle + 4, escaped(short_label(bar.label, sheet.letters)));
    if (bar.value) {
      const double from = at(std::min(0.0, *bar.value));
      const double to = at(std::max(0.0, *bar.value));
      svg += fmt::format(R"(<rect class="band-1" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:g}"/>)", from,
                         middle - 9, std::max(to - from, 1.0), 18.0);
      if (bar.range) {
        svg += fmt::format(
            R"(<path class="line-2" d="M{0:.1f} {2:.1f}H{1:.1f}M{0:.1f} {3:.1f}V{4:.1f}M{1:.1f} {3:.1f}V{4:.1f}"/>)",
            at(bar.range->lower), at(bar.range->upper), middle, middle - 5, middle + 5);
      }
      svg += fmt::format(R"(<text x="{:g}" y="{:.1f}" text-anchor="end">{}</text>)", sheet.width - 4, middle + 4,
                         shown_near(*bar.value, 5));
    }
    svg += '\n';
  }
  svg += fmt::format(R"(<path class="frame" d="M{0:.1f} {1:g}V{2:g}"/>)", at(0), kBarTop, bottom);
  return svg + "</svg>\n";
}

}  // namespace noisefloor
