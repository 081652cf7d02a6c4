#include "noisefloor/plan/nearest.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace noisefloor {
namespace {

constexpr int kDigits = 6;

// The nearest text with six digits, or its neighbour on the right side of the value.
std::string shown(double value, bool up) {
  std::string text = fmt::format("{:.{}g}", value, kDigits);
  if (!(value > 0) || !std::isfinite(value)) return text;
  const double near = std::stod(text);
  if (up ? near >= value : near <= value) return text;
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - (kDigits - 1));
  return fmt::format("{:.{}g}", up ? near + unit : near - unit, kDigits);
}

}  // namespace

std::string at_most_shown(double value) { return shown(value, false); }

std::string at_least_shown(double value) { return shown(value, true); }

}  // namespace noisefloor
