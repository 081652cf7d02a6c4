#include "noisefloor/event/dp_event.h"

#include <gtest/gtest.h>

namespace noisefloor {
namespace {

DpEvent gaussian(NoiseMultiplier z) { return GaussianEvent{z}; }

DpStatement row_statement(Adjacency adjacency, DpEvent event) {
  return {adjacency, PrivacyUnit::kRow, std::move(event)};
}

TEST(DpEvent, ComparesDeeply) {
  const DpEvent a = PoissonSampledEvent{SamplingRate::of(0.1), gaussian(NoiseMultiplier::of(1))};
  const DpEvent b = PoissonSampledEvent{SamplingRate::of(0.1), gaussian(NoiseMultiplier::of(1))};
  const DpEvent c = PoissonSampledEvent{SamplingRate::of(0.1), gaussian(NoiseMultiplier::of(2))};
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_NE(a, gaussian(NoiseMultiplier::of(1)));
}

TEST(DpEvent, KeepsAllPartsInOrderWhenComposed) {
  const DpEvent one = gaussian(NoiseMultiplier::of(1));
  const DpEvent two = ExponentialEvent{Epsilon::of(2)};
  const DpStatement both =
      compose({row_statement(Adjacency::kAddRemove, one), row_statement(Adjacency::kAddRemove, two)}).value();
  const DpEvent expected = ComposedEvent{{one, two}};
  EXPECT_EQ(both.event, expected);
  EXPECT_EQ(compose({row_statement(Adjacency::kReplaceOne, one)}).value().event, one);
}

TEST(DpEvent, RefusesToComposeDifferentNeighbours) {
  const DpEvent event = gaussian(NoiseMultiplier::of(1));
  auto mixed = compose({row_statement(Adjacency::kAddRemove, event), row_statement(Adjacency::kReplaceOne, event)});
  ASSERT_FALSE(mixed.has_value());
  EXPECT_EQ(mixed.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(
      compose({{Adjacency::kAddRemove, PrivacyUnit::kRow, event}, {Adjacency::kAddRemove, PrivacyUnit::kPerson, event}})
          .has_value());
  EXPECT_FALSE(compose({}).has_value());
}

TEST(DpEvent, FindsNonPrivatePartsAtAnyDepth) {
  const DpEvent leak = NonPrivateEvent{"test"};
  EXPECT_TRUE(contains<NonPrivateEvent>(leak));
  EXPECT_TRUE(contains<NonPrivateEvent>(
      ComposedEvent{{gaussian(NoiseMultiplier::of(1)),
                     SelfComposedEvent{Steps::of(3), PoissonSampledEvent{SamplingRate::of(0.5), leak}}}}));
  EXPECT_FALSE(contains<NonPrivateEvent>(SelfComposedEvent{Steps::of(3), gaussian(NoiseMultiplier::of(1))}));
  EXPECT_FALSE(contains<NonPrivateEvent>(ComposedEvent{{}}));
}

}  // namespace
}  // namespace noisefloor
