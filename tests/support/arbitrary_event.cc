#include "tests/support/arbitrary_event.h"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace noisefloor::testing {
namespace {

// A valid quantity of type Q, spread over many orders of magnitude.
template <class Q>
rc::Gen<Q> arbitrary_quantity() {
  if constexpr (std::is_same_v<typename Q::Value, double>) {
    auto number =
        rc::gen::map(rc::gen::pair(rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 53), rc::gen::inRange(-60, 60)),
                     [](auto p) { return std::ldexp(static_cast<double>(p.first), p.second - 53); });
    return rc::gen::map(rc::gen::suchThat(number, [](double v) { return Q::make(v).has_value(); }),
                        [](double v) { return Q::make(v).value(); });
  } else {
    return rc::gen::map(rc::gen::inRange<std::uint64_t>(2, std::numeric_limits<std::uint64_t>::max()),
                        [](std::uint64_t v) { return Q::make(v).value(); });
  }
}

template <class Q>
Q draw() {
  return *arbitrary_quantity<Q>();
}

}  // namespace

DpEvent draw_event(int depth) {
  const int leaves = 13;
  switch (*rc::gen::inRange(0, depth > 0 ? leaves + 7 : leaves)) {
    case 0:
      return GaussianEvent{draw<NoiseMultiplier>()};
    case 1:
      return LaplaceEvent{draw<NoiseMultiplier>()};
    case 2:
      return DiscreteGaussianEvent{draw<NoiseScale>(), draw<Contributors>(), draw<L1Sensitivity>(),
                                   draw<L2Sensitivity>(), draw<Dimension>()};
    case 3:
      return DiscreteLaplaceEvent{draw<NoiseScale>(), draw<L1Sensitivity>()};
    case 4:
      return SkellamEvent{draw<NoiseVariance>(), draw<L1Sensitivity>(), draw<L2Sensitivity>(), draw<Dimension>()};
    case 5:
      return RandomizedResponseEvent{draw<Epsilon>(), draw<Categories>()};
    case 6:
      return ExponentialEvent{draw<Epsilon>()};
    case 7:
      return PermuteAndFlipEvent{draw<Epsilon>()};
    case 8:
      return EpsilonDeltaEvent{draw<PrivacyLoss>(), draw<Delta>()};
    case 9:
      return ZcdpEvent{draw<Rho>(), draw<Delta>()};
    case 10:
      return ZeroCostEvent{};
    case 11:
      return NonPrivateEvent{*rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127))};
    case 12:
      return TreeAggregationEvent{draw<NoiseMultiplier>(), draw<Steps>()};
    case 13:
      return PoissonSampledEvent{draw<SamplingRate>(), draw_event(depth - 1)};
    case 14: {
      const Rows a = draw<Rows>();
      const Rows b = draw<Rows>();
      return FixedSizeSampledEvent{std::min(a, b), std::max(a, b), draw_event(depth - 1)};
    }
    case 15:
      return ShuffledEvent{draw<Rows>(), draw_event(depth - 1)};
    case 16:
      return SelfComposedEvent{draw<Steps>(), draw_event(depth - 1)};
    case 17:
      return RepeatAndSelectEvent{draw<RunShape>(), draw<RunGamma>(), draw_event(depth - 1)};
    case 18:
      return PoissonRepeatAndSelectEvent{draw<MeanRuns>(), draw_event(depth - 1)};
    default: {
      std::vector<DpEvent> events;
      for (int n = *rc::gen::inRange(0, 4); n > 0; --n) events.push_back(draw_event(depth - 1));
      return ComposedEvent{std::move(events)};
    }
  }
}

DpStatement draw_statement() {
  return {*rc::gen::element(Adjacency::kAddRemove, Adjacency::kReplaceOne),
          *rc::gen::element(PrivacyUnit::kRow, PrivacyUnit::kPerson), draw_event(4)};
}

}  // namespace noisefloor::testing
