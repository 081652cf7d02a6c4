// Richer kinds of events against an independent program: scripts/golden_events computes the values from first
//                                                        principles
// (quadrature, enumeration, whole-number binomials), without any code of the accountant.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/accounting/calibrate.h"
#include "noisefloor/accounting/pld.h"
#include "noisefloor/event/json.h"

namespace noisefloor {
namespace {

constexpr std::string_view kMixture =
    R"({"kind":"gaussian_mixture","noise_multiplier":1,"sensitivities":[0,1,2],"probabilities":[0.9,0.07,0.03]})";
constexpr std::string_view kGroup = R"({"kind":"group","size":3,"event":{"kind":"poisson_sampled","sampling_rate":0.1,)"
                                    R"("event":{"kind":"gaussian","noise_multiplier":2}}})";
constexpr std::string_view kSampledFactorization =
    R"({"kind":"sampled_matrix_factorization","noise_multiplier":1,"coefficients":[1,0.5],"steps":3,"groups":2,)"
    R"("sampling_rate":0.1})";
constexpr std::string_view kFactorization =
    R"({"kind":"matrix_factorization","noise_multiplier":4,"coefficients":[1,0.6,0.3],"steps":7,"min_separation":2,)"
    R"("participations":3})";
constexpr std::string_view kTrees =
    R"({"kind":"tree_restarts","noise_multiplier":8,"steps":[5,3,9],"participations":2})";
constexpr std::string_view kTruncated =
    R"({"kind":"truncated_poisson_sampled","sampling_rate":0.1,"max_batch":5,"population":20,)"
    R"("event":{"kind":"gaussian","noise_multiplier":1}})";
constexpr std::string_view kWithReplacement = R"({"kind":"sampled_with_replacement","sample_size":3,"population":10,)"
                                              R"("event":{"kind":"gaussian","noise_multiplier":1}})";
constexpr std::string_view kTwoBins = R"({"kind":"balls_in_bins","noise_multiplier":1,"bins":2,"epochs":1})";
constexpr std::string_view kThreeEpochs = R"({"kind":"balls_in_bins","noise_multiplier":2,"bins":2,"epochs":3})";
constexpr std::string_view kThreeBins = R"({"kind":"balls_in_bins","noise_multiplier":2,"bins":3,"epochs":1})";

std::string twice(std::string_view event) {
  return R"({"kind":"self_composed","count":2,"event":)" + std::string(event) + "}";
}

struct Golden {
  std::string event;
  Adjacency adjacency;
  double delta;
  double epsilon;
  bool is_reached = true;  // else it is that of a pair which dominates the event
};

std::vector<Golden> golden() {
  constexpr auto add_remove = Adjacency::kAddRemove;
  constexpr auto replace_one = Adjacency::kReplaceOne;
  return {{std::string(kMixture), add_remove, 1e-4, 3.473642122},
          {twice(kMixture), add_remove, 1e-4, 3.97526},
          {std::string(kMixture), replace_one, 1e-4, 3.578531053},
          {twice(kMixture), replace_one, 1e-4, 4.1249494},
          {std::string(kGroup), add_remove, 1e-5, 1.284504201},
          {std::string(kGroup), replace_one, 1e-5, 1.567415593},
          {std::string(kSampledFactorization), add_remove, 1e-4, 1.632002},
          {std::string(kSampledFactorization), replace_one, 1e-4, 1.790385},
          {std::string(kFactorization), add_remove, 1e-6, 2.699914865},
          {std::string(kFactorization), replace_one, 1e-6, 5.893902659},
          {std::string(kTrees), add_remove, 1e-6, 1.435667541},
          {std::string(kTrees), replace_one, 1e-6, 1.83598136},
          {std::string(kTruncated), add_remove, 1e-5, 4.616062999, false},
          {std::string(kTruncated), replace_one, 1e-5, 4.721422084, false},
          {std::string(kWithReplacement), replace_one, 1e-5, 9.445835993, false},
          {std::string(kTwoBins), add_remove, 1e-3, 2.495791994},
          {std::string(kThreeEpochs), add_remove, 1e-5, 3.04225925},
          {std::string(kThreeBins), add_remove, 1e-4, 0.987651196}};
}

// What the quadrature of two steps is wrong by.
constexpr double kError = 2e-5;

TEST(EventGolden, IntervalsHoldValuesOfAnIndependentProgram) {
  for (const Golden& one : golden()) {
    const Result<DpEvent> event = parse_event(one.event);
    ASSERT_TRUE(event.has_value()) << one.event << event.error().message;
    const Result<Interval> found = pld_epsilon(event.value(), one.adjacency, Delta::make(one.delta).value());
    ASSERT_TRUE(found.has_value()) << one.event << found.error().message;
    SCOPED_TRACE(one.event + " [" + std::to_string(found.value().lower) + ", " + std::to_string(found.value().upper) +
                 "] " + std::to_string(one.epsilon));
    EXPECT_LE(found.value().lower, one.epsilon * (1 + kError));
    EXPECT_GE(found.value().upper, one.epsilon * (1 - kError));
    EXPECT_LE(found.value().upper, one.epsilon * (1 + 2e-4));
    if (one.is_reached) {
      EXPECT_GE(found.value().lower, one.epsilon * (1 - 2e-4));
    }
    // The value tells a claim that is one percent too low.
    EXPECT_LT(0.99 * found.value().upper, one.epsilon);
  }
}

// The least noise of each kind, by the same events: ε stays at the target, and falls short of it with less noise.
TEST(EventGolden, EachKindIsCalibrated) {
  for (const Golden& one : golden()) {
    const std::string marker = R"("noise_multiplier":)";
    const auto with = [&](NoiseMultiplier z) {
      std::string text = one.event;
      const std::size_t at = text.find(marker) + marker.size();
      text.replace(at, text.find_first_of(",}", at) - at, std::to_string(z.value() + 0));
      return parse_event(text).value();
    };
    if (!one.is_reached) continue;
    const Target target{one.adjacency, Epsilon::make(one.epsilon).value(), Delta::make(one.delta).value()};
    const auto found = calibrate_noise(target, with);
    ASSERT_TRUE(found.has_value()) << one.event << found.error().message;
    EXPECT_LE(found.value().epsilon.upper, one.epsilon) << one.event;
    const double stated = std::stod(one.event.substr(one.event.find(marker) + marker.size()));
    EXPECT_NEAR(found.value().value.value(), stated, 2e-3 * stated) << one.event;
  }
}

}  // namespace
}  // namespace noisefloor
