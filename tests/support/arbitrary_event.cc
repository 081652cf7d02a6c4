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

// From 1 to `most` numbers of which the first is positive.
std::vector<double> draw_coefficients(std::uint64_t most) {
  std::vector<double> list = {draw<NoiseScale>().value()};
  for (int n = *rc::gen::inRange(0, 4); n > 0 && list.size() < most; --n) {
    list.push_back(*rc::gen::element(-1.0, 0.0, 1.0) * draw<NoiseScale>().value());
  }
  return list;
}

GaussianMixtureEvent draw_mixture() {
  GaussianMixtureEvent mixture{draw<NoiseMultiplier>(), {}, {}};
  double left = 1;
  for (int n = *rc::gen::inRange(0, 4); n > 0; --n) {
    mixture.sensitivities.push_back(draw<PrivacyLoss>().value());
    mixture.probabilities.push_back(left * draw<SamplingRate>().value());
    left -= mixture.probabilities.back();
  }
  mixture.sensitivities.push_back(1);
  mixture.probabilities.push_back(left);
  return mixture;
}

DpEvent draw_stream() {
  switch (*rc::gen::inRange(0, 5)) {
    case 0: {
      std::vector<Steps> trees;
      for (int n = *rc::gen::inRange(1, 4); n > 0; --n) trees.push_back(draw<Steps>());
      return TreeRestartsEvent{draw<NoiseMultiplier>(), std::move(trees), draw<Steps>()};
    }
    case 1: {
      const Steps steps = draw<Steps>();
      return MatrixFactorizationEvent{draw<NoiseMultiplier>(), draw_coefficients(steps.value()), steps, draw<Steps>(),
                                      draw<Steps>()};
    }
    case 2: {
      const Steps steps = draw<Steps>();
      const Steps groups = draw<Steps>();
      return SampledFactorizationEvent{draw<NoiseMultiplier>(),
                                       draw_coefficients(std::min(steps.value(), groups.value())), steps, groups,
                                       draw<SamplingRate>()};
    }
    case 3:
      return draw_mixture();
    default:
      return BallsInBinsEvent{draw<NoiseMultiplier>(), draw<Steps>(), draw<Steps>()};
  }
}

}  // namespace

DpEvent draw_event(int depth) {
  const int leaves = 14;
  switch (*rc::gen::inRange(0, depth > 0 ? leaves + 10 : leaves)) {
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
      return draw_stream();
    case 14:
      return PoissonSampledEvent{draw<SamplingRate>(), draw_event(depth - 1)};
    case 15: {
      const Rows a = draw<Rows>();
      const Rows b = draw<Rows>();
      return FixedSizeSampledEvent{std::min(a, b), std::max(a, b), draw_event(depth - 1)};
    }
    case 16:
      return ShuffledEvent{draw<Rows>(), draw_event(depth - 1)};
    case 17:
      return SelfComposedEvent{draw<Steps>(), draw_event(depth - 1)};
    case 18:
      return RepeatAndSelectEvent{draw<RunShape>(), draw<RunGamma>(), draw_event(depth - 1)};
    case 19:
      return PoissonRepeatAndSelectEvent{draw<MeanRuns>(), draw_event(depth - 1)};
    case 20: {
      const Rows a = draw<Rows>();
      const Rows b = draw<Rows>();
      return TruncatedPoissonSampledEvent{draw<SamplingRate>(), std::min(a, b), std::max(a, b), draw_event(depth - 1)};
    }
    case 21:
      return SampledWithReplacementEvent{draw<Rows>(), draw<Rows>(), draw_event(depth - 1)};
    case 22:
      return GroupEvent{draw<Rows>(), draw_event(depth - 1)};
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
