#include "noisefloor/report/epsilon_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "noisefloor/report/html.h"

namespace noisefloor {

const std::array<EpsilonBand, 4>& epsilon_bands() {
  static constexpr std::array<EpsilonBand, 4> kBands{{
      {1, "strong", "Strong privacy, usually at a noticeable cost in accuracy: what highly sensitive data ask for."},
      {10, "practical",
       "The practical range: most models that are trained with differential privacy are here, with a workable balance "
       "of "
       "privacy and accuracy."},
      {100, "weak",
       "Weak protection: finding out who was in the data is harder than without any, but the bound itself promises "
       "little."},
      {std::numeric_limits<double>::infinity(), "none",
       "Next to no protection: at this size the bound does not exclude any realistic attack."},
  }};
  return kBands;
}

const EpsilonBand& band_of(double epsilon) {
  const auto& bands = epsilon_bands();
  return *std::find_if(bands.begin(), bands.end() - 1, [&](const EpsilonBand& band) { return epsilon <= band.up_to; });
}

const std::array<TypicalEpsilon, 5>& typical_epsilons() {
  static constexpr std::array<TypicalEpsilon, 5> kTypical{{
      {"Medical records", 0.1, 1, "highly sensitive, often few people, strict law"},
      {"Research data sets", 0.1, 3, "published for good: they must stand up to what will be known later"},
      {"Recommendation telemetry", 1, 8, "less sensitive, many people, often a budget for each day"},
      {"Credit scoring models", 3, 10, "regulated; the outputs of the model are seen, not its data"},
      {"Census statistics", 1, 20, "public aggregates, a great many of them from one data set"},
  }};
  return kTypical;
}

namespace {

constexpr double kLow = 0.1;
constexpr double kHigh = 1000;
constexpr double kScaleTop = 54;
constexpr double kRow = 38;

}  // namespace

std::string epsilon_scale_svg(double epsilon, const std::string& id, ChartSize size, const std::string& description) {
  const bool wide = size == ChartSize::kWide;
  const double width = wide ? 520 : 312;
  const double left = 8;
  const double right = width - 8;
  const auto& typical = typical_epsilons();
  const double bottom = kScaleTop + kRow * static_cast<double>(typical.size()) + 6;
  const double height = bottom + 50;
  const auto x = [&](double value) {
    const double share = std::log(std::clamp(value, kLow, kHigh) / kLow) / std::log(kHigh / kLow);
    return left + share * (right - left);
  };
  std::string svg =
      fmt::format(R"(<svg class="chart scale {0}" viewBox="0 0 {1} {2}" role="img" aria-labelledby="{3}-t {3}-d">)"
                  R"(<title id="{3}-t">Where this epsilon stands</title><desc id="{3}-d">{4}</desc>)",
                  wide ? "wide" : "narrow", width, height, escaped(id), escaped(description));
  double from = kLow;
  int shade = 1;
  for (const EpsilonBand& band : epsilon_bands()) {
    const double to = std::min(band.up_to, kHigh);
    svg += fmt::format(R"(<rect class="shade-{}" x="{:.1f}" y="28" width="{:.1f}" height="{:.1f}"/>)"
                       R"(<text class="axis" x="{:.1f}" y="46" text-anchor="middle">{}</text>)",
                       shade++, x(from), x(to) - x(from), bottom - 28, (x(from) + x(to)) / 2, band.name);
    from = to;
  }
  // This ε is marked at the top, and on the bar of each row, where there is no text.
  const double at = x(epsilon);
  double y = kScaleTop;
  for (const TypicalEpsilon& t : typical) {
    const bool on_the_right = x(t.low) > left + 0.4 * (right - left);  // its name would not fit otherwise
    svg += fmt::format(R"(<text class="tick" x="{:.1f}" y="{:.1f}"{}>{}</text>)"
                       R"(<rect class="typical" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="8" rx="4"/>)"
                       R"(<path class="here" d="M{:.1f} {:.1f}v14"/>)",
                       on_the_right ? x(t.high) : x(t.low), y + 16, on_the_right ? R"( text-anchor="end")" : "",
                       t.application, x(t.low), y + 22, x(t.high) - x(t.low), at, y + 19);
    y += kRow;
  }
  for (const double tick : {0.1, 1.0, 10.0, 100.0, 1000.0}) {
    const char* anchor = tick == kLow ? "start" : tick == kHigh ? "end" : "middle";
    svg += fmt::format(R"(<text class="tick" x="{:.1f}" y="{:.1f}" text-anchor="{}">{:g}</text>)", x(tick), bottom + 17,
                       anchor, tick);
  }
  const char* anchor = at > right - 60 ? "end" : at < left + 60 ? "start" : "middle";
  svg += fmt::format(
      R"(<path class="here-mark" d="M{0:.1f} 26l-5.5-8h11z"/><text class="here-name" x="{0:.1f}" y="13" text-anchor="{1}">)"
      R"(this: ε ≤ {2}</text>)",
      at, anchor, shown_at_least(epsilon, 3));
  return svg +
         fmt::format(
             R"(<text class="axis" x="{:.1f}" y="{:.1f}" text-anchor="middle">ε, on a logarithmic scale</text></svg>)",
             width / 2, height - 8);
}

}  // namespace noisefloor
