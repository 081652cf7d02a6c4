#include "noisefloor/summary/ledger_summary.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "noisefloor/base/hex.h"
#include "noisefloor/summary/summary_json.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/summary_reading.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::expect_good;
using testing::expect_says;
using testing::fields_of;
using testing::names_of;
using testing::pure;
using testing::request;
using testing::says;
using testing::value_of;
using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

class LedgerSummaryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ledger_ = value_of(Ledger::create(place_, SigningKey::from_seed({1}), {}));
    expect_good(ledger_->create_budget(testing::terms("trial", 2, 0, Rule::kBasic)));
    expect_good(ledger_->create_budget(testing::terms("other", 1, 0, Rule::kBasic)));
  }
  // Reserves for the purpose "Mean age", and commits an answer that is kept.
  void spend(const std::string& budget, double epsilon) {
    ReserveRequest asked = request(budget, "age", pure(epsilon));
    asked.note.purpose = "Mean age";
    const Reservation reservation = value_of(ledger_->reserve(asked));
    expect_good(ledger_->commit(reservation.sequence(), blake2b("42"), "42"));
  }

  testing::TemporaryFolder folder_;
  std::string place_ = folder_.path("a.ledger");
  std::unique_ptr<Ledger> ledger_;
};

TEST_F(LedgerSummaryTest, ShowsAllBudgets) {
  spend("trial", 0.5);
  const Summary shown = value_of(summary_of_ledger(*ledger_, "a.ledger"));
  expect_says(shown, "Ledger a.ledger\n");
  expect_says(shown, " 25.0 %  epsilon 2, delta 0, basic\n");
  expect_says(shown, " 0.0 %  epsilon 1, delta 0, basic\n");
  const Json fields = fields_of(shown);
  EXPECT_EQ(names_of(fields), (Names{"entries", "budgets"}));
  EXPECT_EQ(fields["entries"], 5);
  ASSERT_EQ(fields["budgets"].size(), 2U);
  EXPECT_EQ(fields["budgets"][0]["uses"]["committed"], 1);
  EXPECT_EQ(fields["budgets"][1]["name"], "other");
}

TEST_F(LedgerSummaryTest, HistoryIsOfOneBudgetOrOfAll) {
  const Summary empty = value_of(summary_of_history(*ledger_, "", "1.2.3"));
  expect_says(empty, "History\nNothing was spent yet.\n");
  EXPECT_EQ(fields_of(empty)["records"], Json::array());
  spend("trial", 0.5);
  const Summary all = value_of(summary_of_history(*ledger_, "", "1.2.3"));
  expect_says(all, "trial  epsilon so far 0.5, left 1.5  key age  purpose Mean age\n");
  expect_says(all, "     3  ");
  EXPECT_EQ(fields_of(all)["records"][0]["accounting"]["version"], "1.2.3");
  ReserveRequest piped = request("trial", "height", pure(0.25));
  piped.note.pipeline = "weekly";
  EXPECT_TRUE(ledger_->reserve(piped).has_value());
  const Summary more = value_of(summary_of_history(*ledger_, "trial", "1.2.3"));
  expect_says(more, "left 1.25  key height  pipeline weekly\n");
  EXPECT_EQ(fields_of(more)["records"][0]["key"], "age");
  EXPECT_EQ(fields_of(more)["records"][0]["purpose"], "Mean age");
  EXPECT_EQ(fields_of(more)["records"][1]["pipeline"], "weekly");
  const Summary other = value_of(summary_of_history(*ledger_, "other", "1.2.3"));
  expect_says(other, "History of other\n");
  EXPECT_EQ(fields_of(other)["records"].size(), 0U);
  expect_error(summary_of_history(*ledger_, "nobody", "1.2.3"), ErrorCode::kInvalidArgument, "'trial'");
}

TEST_F(LedgerSummaryTest, HistoryShowsThatTheClockWasSetBack) {
  TimeMs now = 4'000'000'000'000;
  LedgerOptions options;
  options.clock = [&] { return now; };
  ledger_ = value_of(Ledger::open(place_, SigningKey::from_seed({1}), options));
  BudgetTerms march = testing::terms("march", 1, 0, Rule::kBasic);
  march.until = now;
  expect_good(ledger_->create_budget(march));
  spend("trial", 0.5);
  now -= 10'000'000;
  const TimeMs before = value_of(ledger_->set_clock("the clock jumped"));
  const Summary set = value_of(summary_of_clock(*ledger_, "a.ledger", before));
  expect_says(set, "Ledger a.ledger goes on from the present time\n");
  expect_says(set, "2096-10-02T04:20:00.000Z; the entry before it says 2096-10-02T07:06:40.000Z\n");
  expect_says(set, "stay closed  march\n");
  EXPECT_EQ(fields_of(set)["stay_closed"], Json::array({"march"}));
  const Summary history = value_of(summary_of_history(*ledger_, "", "1.2.3"));
  expect_says(history, "clock      set back from 2096-10-02T07:06:40.000Z: the clock jumped\n");
  EXPECT_EQ(fields_of(history)["clock"][0]["reason"], "the clock jumped");
  EXPECT_EQ(fields_of(history)["clock"][0]["sequence"], 6);
  const LedgerState::Budget closed = value_of(ledger_->budget("march"));
  EXPECT_EQ(budget_json(closed)["closed_by"], 6);
}

TEST_F(LedgerSummaryTest, HistoryShowsAdoptionsAndWitnesses) {
  expect_good(ledger_->add_witness(folder_.path("w")));
  expect_good(ledger_->adopt("moved"));
  expect_says(value_of(summary_of_witnesses(*ledger_, "a.ledger")), "Every writer asks each of them first");
  expect_says(value_of(summary_of_ledger(*ledger_, "a.ledger")), "witness  ");
  expect_good(ledger_->drop_witness(folder_.path("w"), "host is gone"));
  expect_says(value_of(summary_of_witnesses(*ledger_, "a.ledger")), "No place is asked");
  const Summary history = value_of(summary_of_history(*ledger_, "", "1.2.3"));
  expect_says(history, "/w is asked from here on\n");
  expect_says(history, "adopt      moved\n");
  expect_says(history, "/w is dropped: host is gone\n");
  const Json guards = fields_of(history)["guards"];
  ASSERT_EQ(guards.size(), 3U);
  EXPECT_EQ(guards[1]["kind"], "adopt");
  EXPECT_TRUE(guards[1]["missing"].is_null());
}

TEST_F(LedgerSummaryTest, AVerifiedLedgerSaysHowFarThatGoes) {
  spend("trial", 0.5);
  const VerifyReport found = value_of(verify_ledger(place_, {}));
  const Summary alone = summary_of(found, {"a.ledger", 0.25, false});
  EXPECT_FALSE(alone.failure().has_value());
  expect_says(alone, "Ledger a.ledger: VERIFIED\n");
  expect_says(alone, "5 in 0.25 s\n");
  expect_says(alone, "1 stored answers checked\n");
  expect_says(alone, "only a witness can tell.\n");
  const Json fields = fields_of(alone);
  EXPECT_EQ(names_of(fields), (Names{"verified", "entries", "charges", "recomputed", "answers", "public_key", "head",
                                     "findings", "budgets", "seconds"}));
  EXPECT_EQ(fields["verified"], true);
  EXPECT_EQ(fields["head"]["sequence"], 4);
  EXPECT_EQ(fields["budgets"].size(), 2U);
  expect_says(summary_of(found, {"a.ledger", 0.25, false, "compare with one"}),
              "only a witness can tell: compare with one.\n");
  const Summary witnessed = summary_of(found, {"a.ledger", 0.25, true, "compare with one"});
  expect_says(witnessed, "and the witnesses saw this history.\n");
  EXPECT_FALSE(says(witnessed, "compare with one"));
}

TEST_F(LedgerSummaryTest, ALedgerWithFindingsFails) {
  VerifyOptions options;
  options.key = SigningKey::from_seed({2}).public_key();
  VerifyReport found = value_of(verify_ledger(place_, options));
  ASSERT_FALSE(found.findings.empty());
  found.findings.push_back({1, "the total was changed"});
  const Summary false_one = summary_of(found, {"a.ledger", 0.25, true});
  EXPECT_EQ(false_one.failure(), ErrorCode::kVerificationFailed);
  expect_says(false_one, "Ledger a.ledger: NOT TRUE\n");
  expect_says(false_one, "entry 1  the total was changed\n");
  expect_says(false_one, "spend nothing from it");
  EXPECT_FALSE(says(false_one, "witnesses saw"));
  const Json fields = fields_of(false_one);
  EXPECT_EQ(fields["verified"], false);
  EXPECT_EQ(fields["findings"].size(), found.findings.size());
  EXPECT_EQ(fields["findings"].back(), (Json{{"entry", 1}, {"what", "the total was changed"}}));
}

TEST_F(LedgerSummaryTest, TheAuditDocumentHoldsRecordsAndTheSignedHead) {
  spend("trial", 0.5);
  const AuditDocument document = value_of(audit_document(*ledger_, "a.ledger", "trial", "1.2.3"));
  EXPECT_EQ(document.records, 1U);
  const Json read = Json::parse(document.text);
  EXPECT_EQ(names_of(read), (Names{"noisefloor_audit", "ledger", "budgets", "records", "head"}));
  ASSERT_EQ(read["budgets"].size(), 1U);
  EXPECT_EQ(read["budgets"][0]["name"], "trial");
  EXPECT_EQ(read["records"][0]["release"], to_hex(blake2b("42")));
  EXPECT_TRUE(parse_witness(read["head"].dump() + "\n").has_value());
  EXPECT_EQ(fields_of(summary_of(document)), read);
  const Summary written = summary_of_written(document, "audit.json");
  expect_says(written, "Audit records\n  written  1 records to audit.json\n");
  EXPECT_EQ(fields_of(written), (Json{{"records", 1}, {"output", "audit.json"}}));
  EXPECT_EQ(Json::parse(value_of(audit_document(*ledger_, "a.ledger", "", "1.2.3")).text)["budgets"].size(), 2U);
  expect_error(audit_document(*ledger_, "a.ledger", "nobody", "1.2.3"), ErrorCode::kInvalidArgument, "'trial'");
}

TEST_F(LedgerSummaryTest, ShowsNoPassword) {
  const std::string place = "postgresql://eve:s3cret@host/db?password=s3cret";
  const Witness head = value_of(ledger_->witness());
  Summary made("Made");
  add_ledger(made, {place, "a.key", true});
  for (const Summary& summary :
       {value_of(summary_of_ledger(*ledger_, place)), summary_of(VerifyReport{}, VerifiedLedger{place, 0.25, false}),
        summary_of(value_of(audit_document(*ledger_, place, "", "1.2.3"))), summary_of_adoption(place, head),
        value_of(summary_of_clock(*ledger_, place, 0)), made}) {
    EXPECT_FALSE(says(summary, "s3cret")) << summary.as_text();
    EXPECT_EQ(summary.as_json().find("s3cret"), std::string::npos) << summary.as_json();
  }
  EXPECT_EQ(fields_of(made)["ledger"], "postgresql://eve@host/db");
}

TEST_F(LedgerSummaryTest, AWitnessAndAnAdoptionSayWhereTheHistoryEnds) {
  const Witness head = value_of(ledger_->witness());
  const Summary witness = summary_of(head, "monday.witness");
  expect_says(witness, "written to  monday.witness\n");
  expect_says(witness, "entry       2\n");
  EXPECT_EQ(fields_of(witness)["output"], "monday.witness");
  EXPECT_TRUE(parse_witness(fields_of(witness)["witness"].dump() + "\n").has_value());
  const Summary adopted = summary_of_adoption("a.ledger", head);
  expect_says(adopted, "Ledger a.ledger goes on here\n");
  expect_says(adopted, "Every other copy must be retired");
  EXPECT_EQ(fields_of(adopted), (Json{{"epoch", head.head.epoch}, {"sequence", 2}}));
}

}  // namespace
}  // namespace noisefloor
