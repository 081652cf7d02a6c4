#include "noisefloor/summary/audit_summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "noisefloor/report/attack_page.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

MembershipOutcome attacked(bool public_rows) {
  std::vector<double> members;
  std::vector<double> others;
  for (int i = 0; i < 2000; ++i) {
    members.push_back(i + 200);
    others.push_back(i);
  }
  audit::Roc roc = audit::Roc::make(members, others).value();
  AttackedModels models;
  models.findings.push_back({audit::Attack::kRmia,
                             {{0.6, 0.7}, 0.65, audit::Roc::make(members, others).value()},
                             roc.found_at(0.01, Confidence::of(0.95)).value(),
                             {}});
  MembershipOutcome made;
  made.name = "toy";
  made.public_rows = public_rows;
  if (!public_rows) made.exposure = 7;
  made.attacked.push_back(std::move(models));
  return made;
}

// What comes out of private rows says whom it is for, in every form.
TEST(AuditSummary, SaysWhomAttacksOnPrivateRowsAreFor) {
  const Summary open = summary_of(attacked(true), "page", "figures");
  EXPECT_EQ(open.as_text().find("custodian"), std::string::npos);
  EXPECT_EQ(to_json(attacked(true)).find("custodian"), std::string::npos);
  const Summary closed = summary_of(attacked(false), "page", "figures");
  EXPECT_NE(closed.as_text().find(kForTheCustodian), std::string::npos);
  EXPECT_NE(closed.as_text().find("entry 7"), std::string::npos);
  EXPECT_TRUE(Json::parse(closed.as_json()).contains("for_the_custodian_only"));
  const Json json = Json::parse(to_json(attacked(false)));
  EXPECT_EQ(json["exposure"], 7);
  EXPECT_EQ(json["attacked"][0]["attacks"][0]["auc"], 0.65);
  EXPECT_TRUE(json["attacked"][0]["attacks"][0]["at_0.1_percent"].is_null());
  EXPECT_TRUE(json["attacked"][0]["epsilon"].is_null());
}

TEST(AuditSummary, ShowsBothSidesOfEpsilon) {
  const DpEvent event = SelfComposedEvent{Steps::of(20), GaussianEvent{NoiseMultiplier::of(5)}};
  ReplayRandom random = ReplayRandom::create(1).value();
  const audit::RunFindings found = audit::audit_event(event, Adjacency::kAddRemove, {.canaries = 1000}, random).value();
  const audit::RunJudgement judged = audit::judge(found, event, Adjacency::kAddRemove, Delta::of(1e-5)).value();
  Summary summary("Trained toy");
  audit::AuditDocument document{
      "toy", {}, {Adjacency::kAddRemove, PrivacyUnit::kRow, event}, Delta::of(1e-5), judged.certified.upper,
      found, "1"};
  add_audit(summary, {document, judged, {}});
  EXPECT_NE(summary.as_text().find("certified ≤"), std::string::npos) << summary.as_text();
  EXPECT_NE(summary.as_text().find("measured ≥"), std::string::npos);
  const Json json = Json::parse(summary.as_json());
  EXPECT_EQ(json["audit"]["canaries"], 1000);
  EXPECT_EQ(json["audit"]["refuted"], false);
  EXPECT_LE(json["audit"]["measured"].get<double>(), json["audit"]["certified"].get<double>());
}

}  // namespace
}  // namespace noisefloor
