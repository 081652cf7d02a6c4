#include "noisefloor/summary/answer_summary.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "noisefloor/statistics/choice_questions.h"
#include "noisefloor/statistics/count_questions.h"
#include "noisefloor/statistics/number_questions.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/summary_reading.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_good;
using testing::fields_of;
using testing::value_of;
using Json = nlohmann::ordered_json;

Question laplace() {
  return value_of(
      laplace_question(342, value_of(Sensitivity::of_scalar({}, 1)), Epsilon::of(0.5), Confidence::of(0.95)));
}

Answer replayed(const Question& question) {
  ReplayRandom random = value_of(ReplayRandom::create(7));
  return value_of(answer_of(question, {"1.0"}, random));
}

TEST(AnswerSummary, ShowsTheNumberItsIntervalAndThatReplaysAreNotPrivate) {
  const Summary summary = summary_of(replayed(laplace()), "epsilon 0.5, delta 0");
  const Json fields = fields_of(summary);
  EXPECT_EQ(fields["mechanism"], "laplace");
  EXPECT_EQ(fields["private"], false);
  EXPECT_LT(fields["interval"]["lower"].get<double>(), fields["value"].get<double>());
  EXPECT_GT(fields["interval"]["upper"].get<double>(), fields["value"].get<double>());
  EXPECT_NE(summary.as_text().find("NOT PRIVATE"), std::string::npos);
  EXPECT_NE(summary.as_text().find("epsilon 0.5, delta 0"), std::string::npos);
}

TEST(AnswerSummary, ShowsTablesRowByRow) {
  const Question histogram = value_of(
      histogram_question({{"low", "high"}, {12, 7}}, {{}, Epsilon::of(1), Delta::of(0), 1, Confidence::of(0.95)}));
  const Summary summary = summary_of(replayed(histogram), "epsilon 1, delta 0");
  EXPECT_NE(summary.as_text().find("  low "), std::string::npos) << summary.as_text();
  EXPECT_NE(summary.as_text().find("  high"), std::string::npos) << summary.as_text();
}

class PaidAnswerTest : public ::testing::Test {
 protected:
  PaidAnswerTest() : ledger_(value_of(Ledger::create(folder_.path("l"), SigningKey::from_seed({1}), {}))) {
    expect_good(ledger_->create_budget(testing::terms("trial", 1, 0, Rule::kBasic)));
  }
  [[nodiscard]] Summary look(const Question& question) {
    const AnswerRequest request{"trial", "key", {"1.0"}};
    const ReserveRequest spend = value_of(spend_of(request, question, ledger_.get()));
    const BudgetTerms terms = *value_of(ledger_->budget("trial")).terms;
    return value_of(outlook_summary(question, request,
                                    value_of(outlook_of({&spend, 1}, terms, ledger_.get(), Repeats::kMustBeAnswered))));
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<Ledger> ledger_;
};

TEST_F(PaidAnswerTest, HoldsTheCertifiedDocumentAndSaysWhatPaid) {
  LedgerOutlet outlet;
  const AnswerRequest request{"trial", "key", {"1.0"}};
  const ReleasedAnswer first = value_of(release_answer(request, laplace(), *ledger_, outlet));
  const Summary summary = summary_of(first, "epsilon 0.5, delta 0");
  EXPECT_EQ(fields_of(summary), Json::parse(first.release.bytes)) << "the document, and nothing else";
  EXPECT_NE(summary.as_text().find("of the budget 'trial'"), std::string::npos) << summary.as_text();
  const Summary again = summary_of(value_of(release_answer(request, laplace(), *ledger_, outlet)), "");
  EXPECT_EQ(again.as_text().rfind("Answered before: nothing was spent", 0), 0U) << again.as_text();
}

TEST_F(PaidAnswerTest, AnOutlookThatDoesNotFitFails) {
  const Summary fits = look(laplace());
  EXPECT_FALSE(fits.failure());
  EXPECT_EQ(fields_of(fits)["fits"], true);
  ASSERT_TRUE(ledger_->reserve(testing::request("trial", "other", testing::pure(0.9))).has_value());
  const Summary refused = look(laplace());
  EXPECT_EQ(refused.failure(), ErrorCode::kBudgetExhausted);
  EXPECT_EQ(fields_of(refused)["fits"], false);
  EXPECT_NE(refused.as_text().find("NO: the budget 'trial' does not allow this"), std::string::npos)
      << refused.as_text();
}

}  // namespace
}  // namespace noisefloor
