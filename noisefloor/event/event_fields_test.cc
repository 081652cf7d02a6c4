#include "noisefloor/event/event_fields.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "noisefloor/event/json.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

constexpr auto kZ = NoiseMultiplier::of(1);

DpEvent factorization(std::vector<double> coefficients, Steps steps = Steps::of(4)) {
  return MatrixFactorizationEvent{kZ, std::move(coefficients), steps, Steps::of(2), Steps::of(2)};
}
DpEvent mixture(std::vector<double> sensitivities, std::vector<double> probabilities) {
  return GaussianMixtureEvent{kZ, std::move(sensitivities), std::move(probabilities)};
}

TEST(EventFields, AcceptsWhatAgrees) {
  EXPECT_TRUE(check_fields(factorization({1, -0.5, 0, 2})).has_value());
  EXPECT_TRUE(check_fields(mixture({0, 1, 2}, {0.81, 0.18, 0.01})).has_value());
  EXPECT_TRUE(check_fields(mixture({0}, {1})).has_value());
  EXPECT_TRUE(check_fields(SampledFactorizationEvent{kZ, {1, 1}, Steps::of(9), Steps::of(2), SamplingRate::of(0.1)})
                  .has_value());
  EXPECT_TRUE(check_fields(ZeroCostEvent{}).has_value());
}

TEST(EventFields, RefusesCoefficientsThatNoMatrixHas) {
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    expect_invalid(check_fields(factorization({1, bad})).error(), "coefficients must be finite");
  }
  expect_invalid(check_fields(factorization({})).error(), "empty");
  expect_invalid(check_fields(factorization({0, 1})).error(), "first of the coefficients");
  expect_invalid(check_fields(factorization({-1})).error(), "first of the coefficients");
  expect_invalid(check_fields(factorization({1, 1, 1, 1, 1})).error(), "5 coefficients for 4 steps");
  expect_invalid(check_fields(factorization(std::vector<double>(kMaxListLength + 1, 1.0), Steps::of(100'000))).error(),
                 "at most 65536");
  expect_invalid(
      check_fields(SampledFactorizationEvent{kZ, {1, 1, 1}, Steps::of(9), Steps::of(2), SamplingRate::of(0.1)}).error(),
      "3 coefficients for 2 groups");
}

TEST(EventFields, RefusesProbabilitiesThatAreNone) {
  expect_invalid(check_fields(mixture({0, 1}, {0.9, 0.1001})).error(), "add up to");
  expect_invalid(check_fields(mixture({1}, {0.1})).error(), "needs an entry with the sensitivity 0");
  expect_invalid(check_fields(mixture({0, 1}, {1.5, -0.5})).error(), "from 0 to 1");
  expect_invalid(check_fields(mixture({0, 1}, {std::nan(""), 1})).error(), "from 0 to 1");
  expect_invalid(check_fields(mixture({0, -1}, {0.5, 0.5})).error(), "sensitivities must be finite");
  expect_invalid(check_fields(mixture({0, HUGE_VAL}, {0.5, 0.5})).error(), "sensitivities must be finite");
  expect_invalid(check_fields(mixture({0, 1}, {1})).error(), "each needs the other");
  expect_invalid(check_fields(mixture({}, {})).error(), "empty");
}

TEST(EventFields, RefusesSizesThatContradictEachOther) {
  expect_invalid(check_fields(FixedSizeSampledEvent{Rows::of(2), Rows::of(1), ZeroCostEvent{}}).error(), "sample_size");
  expect_invalid(
      check_fields(TruncatedPoissonSampledEvent{SamplingRate::of(0.5), Rows::of(2), Rows::of(1), ZeroCostEvent{}})
          .error(),
      "max_batch");
  expect_invalid(check_fields(TreeRestartsEvent{kZ, {}, Steps::of(1)}).error(), "steps is empty");
}

// Readers have the same rules, and say that it is the event that is wrong.
TEST(EventFields, AreCheckedByReaders) {
  const auto error = [](const char* json) {
    const auto read = parse_event(json);
    return read.has_value() ? "" : read.error().message;
  };
  EXPECT_EQ(error(R"({"kind":"gaussian_mixture","noise_multiplier":1,"sensitivities":[0,1],"probabilities":[1,0]})"),
            "");
  EXPECT_EQ(error(R"({"kind":"tree_restarts","noise_multiplier":1,"steps":[],"participations":1})"),
            "not a valid event: steps is empty; it needs one entry at least");
  for (const char* bad :
       {R"({"kind":"tree_restarts","noise_multiplier":1,"steps":[1,0],"participations":1})",
        R"({"kind":"tree_restarts","noise_multiplier":1,"steps":[1.0],"participations":1})",
        R"({"kind":"tree_restarts","noise_multiplier":1,"steps":7,"participations":1})",
        R"({"kind":"gaussian_mixture","noise_multiplier":1,"sensitivities":["1"],"probabilities":[1]})",
        R"({"kind":"gaussian_mixture","noise_multiplier":1,"sensitivities":[1],"probabilities":[1e-400,1]})",
        R"({"kind":"group","size":0,"event":{"kind":"zero_cost"}})",
        R"({"kind":"balls_in_bins","noise_multiplier":1,"bins":0,"epochs":1})",
        R"({"kind":"truncated_poisson_sampled","sampling_rate":0.1,"max_batch":9,"population":8,)"
        R"("event":{"kind":"zero_cost"}})"}) {
    EXPECT_NE(error(bad).find("not a valid event"), std::string::npos) << bad;
  }
}

}  // namespace
}  // namespace noisefloor
