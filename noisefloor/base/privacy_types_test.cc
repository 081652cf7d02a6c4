#include "noisefloor/base/privacy_types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <concepts>
#include <limits>

namespace noisefloor {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class T>
class RealQuantity : public testing::Test {};
using RealQuantities = testing::Types<Epsilon, PrivacyLoss, Delta, Rho, NoiseMultiplier, NoiseScale, SamplingRate,
                                      L1Sensitivity, L2Sensitivity, LInfSensitivity, ClipNorm, Confidence>;
TYPED_TEST_SUITE(RealQuantity, RealQuantities);

TYPED_TEST(RealQuantity, RejectsWhatIsNeverInRangeAndNamesIt) {
  for (double bad : {kNan, -kNan, kInf, -kInf, -1.0, -1e-300, -std::numeric_limits<double>::denorm_min()}) {
    auto result = TypeParam::make(bad);
    ASSERT_FALSE(result.has_value()) << bad;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(result.error().message.find(TypeParam::name), std::string::npos) << result.error().message;
  }
}

TYPED_TEST(RealQuantity, KeepsTheValueItWasGiven) {
  EXPECT_EQ(TypeParam::make(0.3).value().value(), 0.3);
  EXPECT_EQ(TypeParam::of(0.25).value(), 0.25);
  EXPECT_LT(TypeParam::of(0.25), TypeParam::of(0.5));
}

TYPED_TEST(RealQuantity, DoesNotConvertFromOrToPlainNumbers) {
  static_assert(!std::convertible_to<double, TypeParam>);
  static_assert(!std::convertible_to<TypeParam, double>);
  static_assert(!std::constructible_from<TypeParam, double>);
}

TEST(PrivacyTypes, MessagesNameTheQuantityTheRuleAndTheValue) {
  EXPECT_EQ(Epsilon::make(-1).error().message, "epsilon must be a finite number above 0; got -1");
  EXPECT_EQ(Delta::make(1).error().message, "delta must be 0 or above and below 1; got 1");
  EXPECT_EQ(SamplingRate::make(kNan).error().message, "sampling rate must be above 0 and at most 1; got nan");
  EXPECT_EQ(Categories::make(1).error().message, "number of categories must be a whole number, 2 or above; got 1");
}

TEST(PrivacyTypes, EdgesOfEachRange) {
  EXPECT_FALSE(Epsilon::make(0).has_value());
  EXPECT_FALSE(Epsilon::make(-0.0).has_value());
  EXPECT_TRUE(Epsilon::make(5e-324).has_value());
  EXPECT_TRUE(PrivacyLoss::make(0).has_value());
  EXPECT_TRUE(Delta::make(0).has_value());
  EXPECT_FALSE(Delta::make(1).has_value());
  EXPECT_TRUE(Delta::make(std::nextafter(1.0, 0.0)).has_value());
  EXPECT_FALSE(SamplingRate::make(0).has_value());
  EXPECT_TRUE(SamplingRate::make(1).has_value());
  EXPECT_FALSE(SamplingRate::make(std::nextafter(1.0, 2.0)).has_value());
  EXPECT_FALSE(Confidence::make(0).has_value());
  EXPECT_FALSE(Confidence::make(1).has_value());
  EXPECT_FALSE(Rows::make(0).has_value());
  EXPECT_TRUE(Rows::make(1).has_value());
  EXPECT_FALSE(Categories::make(1).has_value());
}

TEST(PrivacyTypes, EnumerationsRoundTripThroughTheirNames) {
  for (Adjacency a : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    EXPECT_EQ(parse_adjacency(name_of(a)).value(), a);
  }
  for (PrivacyUnit u : {PrivacyUnit::kRow, PrivacyUnit::kPerson}) {
    EXPECT_EQ(parse_privacy_unit(name_of(u)).value(), u);
  }
  EXPECT_EQ(parse_adjacency("bounded").error().message, "adjacency must be add-remove or replace-one; got 'bounded'");
  EXPECT_EQ(parse_privacy_unit("household").error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace noisefloor
