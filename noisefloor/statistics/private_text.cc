#include "noisefloor/statistics/private_text.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "noisefloor/base/text.h"

namespace noisefloor {

Result<double> parse_private_number(std::string_view what, const std::string& text) {
  const std::optional<double> value = parse_finite(text);
  if (!value)
    return invalid_argument(fmt::format("{} must be a finite number (it is private and not shown here)", what));
  return *value;
}

Result<std::int64_t> parse_private_integer(std::string_view what, const std::string& text) {
  Result<std::int64_t> value = parse_integer(what, text);
  if (!value.has_value()) {
    return invalid_argument(
        fmt::format("{} must be a whole number of at most 64 bits (it is private and not shown here)", what));
  }
  return value;
}

Result<NamedNumbers> parse_named_numbers(std::string_view what, const std::string& text) {
  NamedNumbers parsed;
  for (const std::string_view part : split_list(text)) {
    const std::size_t equals = part.rfind('=');
    const std::string_view number = equals == std::string_view::npos ? part : part.substr(equals + 1);
    const std::optional<double> value = parse_finite(number);
    if (!value) {
      return invalid_argument(fmt::format("{} must be numbers; write them as 12,7 or as a=12,b=7", what));
    }
    parsed.numbers.push_back(*value);
    parsed.names.push_back(equals == std::string_view::npos ? std::to_string(parsed.numbers.size() - 1)
                                                            : std::string(part.substr(0, equals)));
  }
  return parsed;
}

Result<NamedCounts> parse_named_counts(std::string_view what, const std::string& text, Counts kind) {
  NF_TRY(NamedNumbers parsed, parse_named_numbers(what, text));
  NamedCounts counts{std::move(parsed.names), {}};
  for (double number : parsed.numbers) {
    if (number != std::floor(number) || std::fabs(number) > 0x1p53 || (number < 0 && kind == Counts::kFromZero)) {
      return invalid_argument(
          fmt::format("{} must be whole numbers{}", what, kind == Counts::kMayBeNegative ? "" : ", 0 or above"));
    }
    counts.counts.push_back(static_cast<std::int64_t>(number));
  }
  return counts;
}

Result<GaussianCalibration> parse_calibration(std::string_view what, const std::string& text) {
  for (const auto calibration : {GaussianCalibration::kAnalytic, GaussianCalibration::kClassical,
                                 GaussianCalibration::kClassicalBeyondItsProof}) {
    if (name_of(calibration) == text) return calibration;
  }
  return invalid_argument(
      fmt::format("{} must be analytic, classical or classical-beyond-its-proof; got '{:.40}'", what, text));
}

}  // namespace noisefloor
