#include "noisefloor/training/plan_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "noisefloor/release/certificate.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

PlanFile a_plan() {
  const DpStatement statement{
      Adjacency::kAddRemove, PrivacyUnit::kRow,
      SelfComposedEvent{Steps::of(100),
                        PoissonSampledEvent{SamplingRate::of(0.01), GaussianEvent{NoiseMultiplier::of(2.0)}}}};
  return {"toy",
          "00ff",
          Rows::of(10'000),
          ClipNorm::of(0.1),
          NoiseMultiplier::of(2.0),
          Rows::of(100),
          Steps::of(100),
          Epsilon::of(1.0),
          Delta::of(1e-5),
          statement,
          certified_epsilon(statement, Delta::of(1e-5)).value(),
          0.9,
          "a utility graph of proxy data",
          1,
          2,
          0,
          "",
          "toy",
          ""};
}

TEST(PlanFile, RoundTripsThroughJson) {
  const SigningKey key = SigningKey::from_seed({1, 2, 3});
  const PlanFile plan = a_plan();
  const SignedPlan read = parse_plan_file(to_json(plan, key)).value();
  EXPECT_EQ(digest_of(read.plan), digest_of(plan));
  EXPECT_EQ(read.key, key.public_key());
  EXPECT_EQ(read.plan.statement, plan.statement);
  EXPECT_EQ(read.plan.target_accuracy, plan.target_accuracy);
}

TEST(PlanFile, FindsAnyFieldThatWasChangedRemovedOrAdded) {
  const Json good = Json::parse(to_json(a_plan(), SigningKey::generate()));
  for (const auto& [name, value] : good.items()) {
    Json changed = good;
    if (value.is_number_integer()) {
      changed[name] = value.get<std::int64_t>() + 1;
    } else if (value.is_number()) {
      changed[name] = value.get<double>() * 1.01 + 1;
    } else if (value.is_string()) {
      changed[name] = value.get<std::string>() + "0";
    } else if (name == "statement") {
      changed[name]["event"]["count"] = 99;
    } else {
      changed[name] = nullptr;
    }
    EXPECT_FALSE(parse_plan_file(changed.dump()).has_value()) << name;
    Json without = good;
    without.erase(name);
    EXPECT_FALSE(parse_plan_file(without.dump()).has_value()) << name;
  }
  Json more = good;
  more["note"] = "x";
  EXPECT_EQ(parse_plan_file(more.dump()).error().code, ErrorCode::kVerificationFailed);
  for (const char* text : {"", "{", "[]", "3", "{\"format\":\"noisefloor-plan/2\"}"}) {
    EXPECT_EQ(parse_plan_file(text).error().code, ErrorCode::kInputData) << text;
  }
}

// The holder of the key can sign a false ε: the reader recomputes it.
TEST(PlanFile, FindsAnEpsilonThatIsNotThatOfTheEvent) {
  PlanFile plan = a_plan();
  plan.certified.upper *= 0.99;
  const auto read = parse_plan_file(to_json(plan, SigningKey::generate()));
  EXPECT_EQ(read.error().code, ErrorCode::kVerificationFailed);
  PlanFile over = a_plan();
  over.epsilon = Epsilon::make(over.certified.upper * 0.99).value();
  EXPECT_EQ(parse_plan_file(to_json(over, SigningKey::generate())).error().code, ErrorCode::kVerificationFailed);
}

}  // namespace
}  // namespace noisefloor
