#include "noisefloor/summary/verdict_summary.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/summary_reading.h"
#include "tests/support/toy_run.h"

namespace noisefloor {
namespace {

using testing::expect_good;
using testing::expect_says;
using testing::fields_of;
using testing::names_of;
using testing::says;
using testing::value_of;
using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

class VerdictSummaryTest : public ::testing::Test {
 protected:
  Verdict verdict_on(const std::string& name, std::optional<double> noise = 20.0) {
    (void)runs_.train(name, noise);
    return value_of(verify_file(runs_.path(name + "/model.safetensors")));
  }

  testing::ToyRuns runs_;
};

TEST_F(VerdictSummaryTest, SaysThatTheLedgerWasNotAsked) {
  const Verdict verdict = verdict_on("run");
  const Summary plain = summary_of({verdict}, {"run", "a.ledger"});
  expect_says(plain, verdict.file + ": what its certificate says is true\n");
  expect_says(plain, "claim        epsilon ");
  expect_says(plain, "ledger       NOT LOOKED AT\n");
  expect_says(plain, "data         that there are 100 rows\n");
  expect_says(summary_of({verdict}, {"run", "a.ledger", "ask it"}), "NOT LOOKED AT: ask it\n");
  const Json fields = fields_of(plain);
  EXPECT_EQ(names_of(fields), (Names{"file", "verdict", "what", "name", "private", "epsilon", "delta", "signer",
                                     "ledger_checked", "not_covered"}));
  EXPECT_EQ(fields["signer"]["known"], false);
  expect_says(plain, "signature    valid, by an UNKNOWN key: " + fields["signer"]["key"].get<std::string>() + "\n");
  VerifiedPath told{"run", "a.ledger"};
  told.signer_remedy = "Name it";
  expect_says(summary_of({verdict}, told), ". Name it\n");
  EXPECT_EQ(fields["name"], "toy");
  EXPECT_EQ(fields["ledger_checked"], false);
  EXPECT_EQ(fields["epsilon"]["upper"], verdict.certificate().epsilon.upper);
}

TEST_F(VerdictSummaryTest, SaysWhoHasPaid) {
  Verdict verdict = verdict_on("run");
  expect_good(verify_payment(verdict, runs_.ledger(), LedgerIs::kNamed));
  const Summary paid = summary_of({verdict}, {"run", "a.ledger", "ask it"});
  expect_says(paid, "a.ledger has paid for it, from the budget 'trial', and has the digest of this file\n");
  EXPECT_FALSE(says(paid, "ask it"));
  expect_says(paid, "valid, by the ledger that you named: ");
  EXPECT_EQ(fields_of(paid)["signer"]["known"], true);
  EXPECT_EQ(fields_of(paid)["ledger_checked"], true);
}

TEST_F(VerdictSummaryTest, WithoutPrivacyThereIsNoClaim) {
  const Summary plain = summary_of({verdict_on("plain", std::nullopt)}, {"plain", "a.ledger", "ask it"});
  expect_says(plain, "NOT PRIVATE");
  expect_says(plain, "none: nothing was charged for it\n");
  EXPECT_FALSE(says(plain, "  claim "));
  const Json fields = fields_of(plain);
  EXPECT_EQ(fields["private"], false);
  EXPECT_TRUE(fields["signer"].is_null());
  EXPECT_EQ(fields["epsilon"]["upper"], "infinite");
}

TEST_F(VerdictSummaryTest, OfSeveralEachLimitIsSaidOnce) {
  const std::vector<Verdict> verdicts{verdict_on("first"), verdict_on("second")};
  const Summary both = summary_of(verdicts, {"sweep", "a.ledger"});
  expect_says(both, "sweep: what the certificates of its 2 models say is true\n");
  for (const Verdict& verdict : verdicts) expect_says(both, verdict.file + "\n");
  const std::string text = both.as_text();
  const std::string limit = "that there are 100 rows\n";
  const std::size_t first = text.find(limit);
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find(limit, first + 1), std::string::npos) << text;
  const Json fields = fields_of(both);
  EXPECT_EQ(names_of(fields), (Names{"folder", "verdict", "verdicts"}));
  ASSERT_EQ(fields["verdicts"].size(), 2U);
  EXPECT_EQ(fields["verdicts"][1]["file"], verdicts[1].file);
}

}  // namespace
}  // namespace noisefloor
