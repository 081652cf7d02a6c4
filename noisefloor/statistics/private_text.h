// Private numbers from text.
//
// Guarantee:     errors name the argument and the form that it must have. They show no number, which is private, and do
//                not say which part of a list is wrong.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "noisefloor/base/result.h"
#include "noisefloor/statistics/choice_questions.h"
#include "noisefloor/statistics/count_questions.h"
#include "noisefloor/statistics/number_questions.h"

namespace noisefloor {

// In all of these `what` names the argument in errors.
[[nodiscard]] Result<double> parse_private_number(std::string_view what, const std::string& text);
[[nodiscard]] Result<std::int64_t> parse_private_integer(std::string_view what, const std::string& text);

// "low=12000,high=35" or "12000,35": names are optional.
[[nodiscard]] Result<NamedNumbers> parse_named_numbers(std::string_view what, const std::string& text);

// The same with whole numbers.
enum class Counts : std::uint8_t { kFromZero, kMayBeNegative };
[[nodiscard]] Result<NamedCounts> parse_named_counts(std::string_view what, const std::string& text,
                                                     Counts counts = Counts::kFromZero);

// "analytic", "classical" or "classical-beyond-its-proof"; this one is public, and shown.
[[nodiscard]] Result<GaussianCalibration> parse_calibration(std::string_view what, const std::string& text);

}  // namespace noisefloor
