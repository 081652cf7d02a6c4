#include "noisefloor/statistics/private_text.h"

#include <gtest/gtest.h>

#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

TEST(PrivateText, ReadsNumbersWithAndWithoutNames) {
  const NamedNumbers named = parse_named_numbers("scores", "low=1.5,high=-2").value();
  EXPECT_EQ(named.names, (std::vector<std::string>{"low", "high"}));
  EXPECT_EQ(named.numbers, (std::vector<double>{1.5, -2}));
  EXPECT_EQ(parse_named_numbers("scores", "7,8").value().names, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(parse_named_counts("counts", "a=3,b=0").value().counts, (std::vector<std::int64_t>{3, 0}));
  EXPECT_EQ(parse_named_counts("values", "3,-1", Counts::kMayBeNegative).value().counts[1], -1);
  EXPECT_EQ(parse_private_number("value", "72.5").value(), 72.5);
  EXPECT_EQ(parse_private_integer("value", "-5").value(), -5);
}

TEST(PrivateText, NamesThePartThatIsWrongAndNoNumber) {
  expect_invalid(parse_named_numbers("scores", "a=987,b=9 87").error(), "scores must be numbers");
  expect_invalid(parse_named_counts("counts", "987,987.5").error(), "counts must be whole numbers, 0 or above");
  expect_invalid(parse_named_counts("counts", "-987").error(), "counts must be whole numbers");
  expect_invalid(parse_private_number("value", "987x").error(), "value must be a finite number");
  expect_invalid(parse_private_integer("value", "98.7e3x").error(), "value must be a whole number");
}

TEST(PrivateText, KnowsEveryCalibration) {
  for (const auto calibration : {GaussianCalibration::kAnalytic, GaussianCalibration::kClassical,
                                 GaussianCalibration::kClassicalBeyondItsProof}) {
    EXPECT_EQ(parse_calibration("calibration", std::string(name_of(calibration))).value(), calibration);
  }
  expect_invalid(parse_calibration("calibration", "exact").error(), "got 'exact'");
}

}  // namespace
}  // namespace noisefloor
