#include "noisefloor/plan/plan_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "noisefloor/event/json.h"

namespace noisefloor {
namespace {

using Json = nlohmann::json;

PlanQuestion question() {
  return {.rows = Rows::of(10'000), .epochs = 5, .delta = Delta::of(1e-5), .epsilon = Epsilon::of(1)};
}

TEST(PlanJson, HasTheWholeAnswer) {
  const PlanAnswer answer = answer_plan(question()).value();
  const Json json = Json::parse(to_json(question(), answer));
  EXPECT_EQ(json["rows"], 10'000);
  EXPECT_EQ(json["adjacency"], "add-remove");
  EXPECT_EQ(json["exact"]["noise_multiplier"], answer.exact.noise.value());
  EXPECT_EQ(parse_event(json["exact"]["event"].dump()).value(), answer.exact.event);
  EXPECT_EQ(json["exact"]["epsilon"]["upper"], answer.exact.epsilon.upper);
  EXPECT_EQ(json["closed_form"]["rounds"], answer.closed_form->plan.setting.sizes.rounds());
  EXPECT_EQ(json["closed_form"]["theorem_b4"]["conditions"].size(), answer.closed_form->verdicts.theorem_b4.size());
  EXPECT_EQ(json["rounds_ratio"], answer.rounds_ratio());
  EXPECT_EQ(json["noise_ratio"], answer.noise_ratio());
  EXPECT_FALSE(json.contains("as_given"));
}

TEST(PlanJson, SaysWhyThereIsNoClosedForm) {
  PlanQuestion fixed = question();
  fixed.draw = Draw::kFixedSize;
  fixed.batch = Rows::of(100);
  EXPECT_TRUE(Json::parse(to_json(fixed, answer_plan(fixed).value()))["closed_form"].is_null());
  const PlanQuestion hard{
      .rows = Rows::of(1000), .epochs = 500, .delta = Delta::of(1e-3), .epsilon = Epsilon::of(0.05)};
  EXPECT_TRUE(Json::parse(to_json(hard, answer_plan(hard).value()))["closed_form"].contains("error"));
}

TEST(PlanJson, WritesALineForEachPlanInTables) {
  PlanQuestion asked = question();
  asked.rows = Rows::of(1000);
  const std::vector<TradeOff> curves = plan_trade_offs(asked, *asked.epsilon, 3).value();
  std::size_t plans = 0;
  for (const TradeOff& curve : curves) plans += curve.plans.size();
  const std::string csv = to_csv(curves);
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), plans + 1);
}

}  // namespace
}  // namespace noisefloor
