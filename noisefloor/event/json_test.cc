#include "noisefloor/event/json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "tests/support/arbitrary_event.h"

namespace noisefloor {
namespace {

std::string error_of(std::string_view json) {
  auto result = parse_event(json);
  if (result.has_value()) return "";
  EXPECT_EQ(result.error().code, ErrorCode::kInputData);
  return result.error().message;
}

RC_GTEST_PROP(EventJson, ReadsBackWhatItWrites, ()) {
  const DpStatement statement = testing::draw_statement();
  const std::string json = to_json(statement);
  const auto back = parse_statement(json);
  RC_ASSERT(back.has_value());
  RC_ASSERT(back.value() == statement);
  RC_ASSERT(to_json(back.value()) == json);
}

RC_GTEST_PROP(EventJson, NeverReadsAChangedByteAsTheSameEvent, ()) {
  const DpEvent event = testing::draw_event(3);
  std::string json = to_json(event);
  const auto at = *rc::gen::inRange<std::size_t>(0, json.size());
  const char replacement = *rc::gen::inRange<char>(32, 127);
  if (json[at] == replacement) return;
  json[at] = replacement;
  const auto back = parse_event(json);
  // A changed digit in the last place may denote the same double; everything else must differ or be refused.
  if (back.has_value() && back.value() == event) RC_ASSERT(to_json(back.value()) != json);
}

// The format is read by programs that were built before this one: these lines never change.
TEST(EventJson, KeepsGoldenLines) {
  EXPECT_EQ(to_json(DpEvent(GaussianEvent{NoiseMultiplier::of(1.1)})), R"({"kind":"gaussian","noise_multiplier":1.1})");
  EXPECT_EQ(to_json(DpEvent(LaplaceEvent{NoiseMultiplier::of(2)})), R"({"kind":"laplace","noise_multiplier":2.0})");
  EXPECT_EQ(
      to_json(DpEvent(DiscreteGaussianEvent{NoiseScale::of(8.5), Contributors::of(3), L1Sensitivity::of(2),
                                            L2Sensitivity::of(1.5), Dimension::of(4)})),
      R"({"kind":"discrete_gaussian","sigma":8.5,"summands":3,"l1_sensitivity":2.0,"l2_sensitivity":1.5,"dimension":4})");
  EXPECT_EQ(to_json(DpEvent(DiscreteLaplaceEvent{NoiseScale::of(2), L1Sensitivity::of(1)})),
            R"({"kind":"discrete_laplace","scale":2.0,"l1_sensitivity":1.0})");
  EXPECT_EQ(to_json(DpEvent(
                SkellamEvent{NoiseVariance::of(100), L1Sensitivity::of(1), L2Sensitivity::of(1), Dimension::of(1)})),
            R"({"kind":"skellam","variance":100.0,"l1_sensitivity":1.0,"l2_sensitivity":1.0,"dimension":1})");
  EXPECT_EQ(to_json(DpEvent(RandomizedResponseEvent{Epsilon::of(1), Categories::of(5)})),
            R"({"kind":"randomized_response","epsilon":1.0,"categories":5})");
  EXPECT_EQ(to_json(DpEvent(ExponentialEvent{Epsilon::of(1)})), R"({"kind":"exponential","epsilon":1.0})");
  EXPECT_EQ(to_json(DpEvent(PermuteAndFlipEvent{Epsilon::of(1)})), R"({"kind":"permute_and_flip","epsilon":1.0})");
  EXPECT_EQ(to_json(DpEvent(EpsilonDeltaEvent{PrivacyLoss::of(0.5), Delta::of(1e-9)})),
            R"({"kind":"epsilon_delta","epsilon":0.5,"delta":1e-09})");
  EXPECT_EQ(to_json(DpEvent(ZcdpEvent{Rho::of(0.5), Delta::of(0)})), R"({"kind":"zcdp","rho":0.5,"delta":0.0})");
  EXPECT_EQ(to_json(DpEvent(ZeroCostEvent{})), R"({"kind":"zero_cost"})");
  EXPECT_EQ(to_json(DpEvent(NonPrivateEvent{"replay"})), R"({"kind":"non_private","reason":"replay"})");
  EXPECT_EQ(to_json(DpEvent(TreeAggregationEvent{NoiseMultiplier::of(3), Steps::of(1000)})),
            R"({"kind":"tree_aggregation","noise_multiplier":3.0,"steps":1000})");
  EXPECT_EQ(to_json(DpEvent(FixedSizeSampledEvent{Rows::of(10), Rows::of(100), ZeroCostEvent{}})),
            R"({"kind":"fixed_size_sampled","sample_size":10,"population":100,"event":{"kind":"zero_cost"}})");
  EXPECT_EQ(to_json(DpEvent(ShuffledEvent{Rows::of(1000), ZeroCostEvent{}})),
            R"({"kind":"shuffled","reports":1000,"event":{"kind":"zero_cost"}})");
  EXPECT_EQ(
      to_json(DpStatement{
          Adjacency::kAddRemove, PrivacyUnit::kRow,
          ComposedEvent{{SelfComposedEvent{
              Steps::of(100), PoissonSampledEvent{SamplingRate::of(0.01), GaussianEvent{NoiseMultiplier::of(1)}}}}}}),
      R"({"noisefloor_event":1,"adjacency":"add-remove","unit":"row","event":{"kind":"composed","events":)"
      R"([{"kind":"self_composed","count":100,"event":{"kind":"poisson_sampled","sampling_rate":0.01,)"
      R"("event":{"kind":"gaussian","noise_multiplier":1.0}}}]}})");
}

TEST(EventJson, KeepsGoldenLinesOfStreamsAndSamples) {
  constexpr auto z = NoiseMultiplier::of(2);
  EXPECT_EQ(to_json(DpEvent(TreeRestartsEvent{z, {Steps::of(100), Steps::of(50)}, Steps::of(2)})),
            R"({"kind":"tree_restarts","noise_multiplier":2.0,"steps":[100,50],"participations":2})");
  EXPECT_EQ(to_json(DpEvent(MatrixFactorizationEvent{z, {1, 0.5, -0.25}, Steps::of(9), Steps::of(3), Steps::of(2)})),
            R"({"kind":"matrix_factorization","noise_multiplier":2.0,"coefficients":[1.0,0.5,-0.25],"steps":9,)"
            R"("min_separation":3,"participations":2})");
  EXPECT_EQ(to_json(DpEvent(SampledFactorizationEvent{z, {1, 0.5}, Steps::of(9), Steps::of(3), SamplingRate::of(0.1)})),
            R"({"kind":"sampled_matrix_factorization","noise_multiplier":2.0,"coefficients":[1.0,0.5],"steps":9,)"
            R"("groups":3,"sampling_rate":0.1})");
  EXPECT_EQ(
      to_json(DpEvent(GaussianMixtureEvent{z, {0, 1.5}, {0.75, 0.25}})),
      R"({"kind":"gaussian_mixture","noise_multiplier":2.0,"sensitivities":[0.0,1.5],"probabilities":[0.75,0.25]})");
  EXPECT_EQ(to_json(DpEvent(BallsInBinsEvent{z, Steps::of(10), Steps::of(3)})),
            R"({"kind":"balls_in_bins","noise_multiplier":2.0,"bins":10,"epochs":3})");
  EXPECT_EQ(to_json(DpEvent(
                TruncatedPoissonSampledEvent{SamplingRate::of(0.25), Rows::of(20), Rows::of(40), ZeroCostEvent{}})),
            R"({"kind":"truncated_poisson_sampled","sampling_rate":0.25,"max_batch":20,"population":40,)"
            R"("event":{"kind":"zero_cost"}})");
  EXPECT_EQ(to_json(DpEvent(SampledWithReplacementEvent{Rows::of(20), Rows::of(10), ZeroCostEvent{}})),
            R"({"kind":"sampled_with_replacement","sample_size":20,"population":10,"event":{"kind":"zero_cost"}})");
  EXPECT_EQ(to_json(DpEvent(GroupEvent{Rows::of(3), ZeroCostEvent{}})),
            R"({"kind":"group","size":3,"event":{"kind":"zero_cost"}})");
}

TEST(EventJson, RefusesUnknownThings) {
  EXPECT_EQ(error_of(R"({"kind":"telepathy"})"), "not a valid event: unknown kind 'telepathy'");
  EXPECT_EQ(error_of("{\"kind\":\"\\u001b[2J\"}"), "not a valid event: unknown kind '\\u{1b}[2J'");
  EXPECT_EQ(error_of(R"({"kind":"gaussian","noise_multiplier":1,"extra":0})"),
            "not a valid event: gaussian has an unknown field");
  EXPECT_EQ(error_of(R"({"kind":"gaussian"})"), R"(not a valid event: gaussian needs a field "noise_multiplier")");
  EXPECT_EQ(error_of(R"({"kind":"gaussian","noise_multiplier":1,"noise_multiplier":9})"),
            "not a valid event: a field is given twice");
  EXPECT_EQ(error_of(R"({"kind":"gaussian","noise_multiplier":"1"})"),
            "not a valid event: noise_multiplier must be a number");
}

TEST(EventJson, RefusesNumbersOutOfRange) {
  for (const char* bad : {"0", "-1", "1e400", "null", "true", "[]", "NaN", "Infinity", "-0.0"}) {
    EXPECT_NE(error_of(R"({"kind":"gaussian","noise_multiplier":)" + std::string(bad) + "}"), "") << bad;
  }
  for (const char* bad : {"0", "-1", "1.5", "1e3", "18446744073709551616"}) {
    EXPECT_NE(error_of(R"({"kind":"self_composed","event":{"kind":"zero_cost"},"count":)" + std::string(bad) + "}"), "")
        << bad;
  }
  EXPECT_NE(error_of(R"({"kind":"fixed_size_sampled","sample_size":11,"population":10,"event":{"kind":"zero_cost"}})"),
            "");
}

// If such a number were read as 0, it would claim a delta of 0.
TEST(EventJson, RefusesANumberTooSmallForADouble) {
  const auto with_delta = [](const std::string& delta) {
    return error_of(R"({"kind":"epsilon_delta","epsilon":1,"delta":)" + delta + "}");
  };
  EXPECT_EQ(with_delta("1e-400"), "not a valid event: the number '1e-400' is too small for this program");
  EXPECT_NE(with_delta("0." + std::string(400, '0') + "1"), "");
  EXPECT_EQ(with_delta("5e-324"), "");
  EXPECT_EQ(with_delta("0e5"), "");
  EXPECT_EQ(with_delta("0.0"), "");
}

TEST(EventJson, RefusesGarbage) {
  for (const char* bad : {"", "{", "[]", "null", "\"gaussian\"", "{}", R"({"kind":1})", "{\"kind\":\"zero_cost\"} x",
                          "{\"kind\":\"zero_cost\",}", "// comment\n{\"kind\":\"zero_cost\"}"}) {
    EXPECT_NE(error_of(bad), "") << bad;
  }
}

TEST(EventJson, BoundsTheDepth) {
  const auto nested = [](std::size_t levels) {
    std::string json;
    for (std::size_t i = 1; i < levels; ++i) json += R"({"kind":"composed","events":[)";
    json += R"({"kind":"zero_cost"})";
    for (std::size_t i = 1; i < levels; ++i) json += "]}";
    return json;
  };
  EXPECT_EQ(error_of(nested(kMaxEventDepth)), "");
  EXPECT_EQ(error_of(nested(kMaxEventDepth + 1)), "not a valid event: nested deeper than 64 levels");
  EXPECT_EQ(error_of(nested(1'000'000)), "not a valid event: nested deeper than 64 levels");
  EXPECT_NE(error_of(std::string(1'000'000, '[')), "");
}

TEST(EventJson, NamesVersionAdjacencyAndUnitInStatements) {
  const std::string event = R"("event":{"kind":"zero_cost"}})";
  EXPECT_TRUE(
      parse_statement(R"({"noisefloor_event":1,"adjacency":"replace-one","unit":"person",)" + event).has_value());
  for (const char* bad : {R"({"noisefloor_event":2,"adjacency":"replace-one","unit":"person",)",
                          R"({"noisefloor_event":"1","adjacency":"replace-one","unit":"person",)",
                          R"({"adjacency":"replace-one","unit":"person",)", R"({"noisefloor_event":1,"unit":"person",)",
                          R"({"noisefloor_event":1,"adjacency":"near","unit":"person",)",
                          R"({"noisefloor_event":1,"adjacency":"replace-one",)",
                          R"({"noisefloor_event":1,"adjacency":"replace-one","unit":"person","x":1,)"}) {
    auto result = parse_statement(bad + event);
    ASSERT_FALSE(result.has_value()) << bad;
    EXPECT_EQ(result.error().code, ErrorCode::kInputData);
  }
}

}  // namespace
}  // namespace noisefloor
