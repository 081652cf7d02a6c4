#include "noisefloor/ledger/outlook.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/ledger_pieces.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::expect_good;
using testing::pure;
using testing::request;
using testing::value_of;

class OutlookTest : public ::testing::Test {
 protected:
  OutlookTest() : ledger_(value_of(Ledger::create(folder_.path("ledger"), SigningKey::generate(), {}))) {}

  static BudgetTerms terms() { return testing::terms("b", 3, 1e-5, Rule::kBasic); }
  static std::vector<ReserveRequest> uses(std::initializer_list<double> epsilons) {
    std::vector<ReserveRequest> made;
    for (const double epsilon : epsilons) made.push_back(request("b", std::to_string(made.size()), pure(epsilon)));
    return made;
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<Ledger> ledger_;
};

TEST_F(OutlookTest, PredictsWhatAReservationWouldGet) {
  expect_good(ledger_->create_budget(terms()));
  ASSERT_TRUE(ledger_->reserve(request("b", "before", pure(1))).has_value());
  for (const auto& epsilons : std::vector<std::vector<double>>{{1}, {2}, {2.01}, {1, 1}, {1, 1, 0.01}, {0.5, 2}}) {
    std::vector<ReserveRequest> made;
    for (const double epsilon : epsilons) {
      made.push_back(request("b", std::to_string(made.size()), pure(epsilon)));
    }
    const bool fits = value_of(outlook_of(made, terms(), ledger_.get())).fits;
    // Compares with the reply of the ledger itself, in a ledger of its own.
    testing::TemporaryFolder other_folder;
    const auto other = value_of(Ledger::create(other_folder.path("l"), SigningKey::generate(), {}));
    expect_good(other->create_budget(terms()));
    ASSERT_TRUE(other->reserve(request("b", "before", pure(1))).has_value());
    bool granted = true;
    for (const ReserveRequest& use : made) granted = granted && other->reserve(use).has_value();
    EXPECT_EQ(fits, granted) << epsilons.size() << " uses, the first of " << epsilons.front();
  }
  EXPECT_NEAR(value_of(ledger_->budget("b")).account.spent_share(), 1.0 / 3, 1e-9) << "looking spends nothing";
}

TEST_F(OutlookTest, TriesAMissingBudgetAsItWouldBeCreated) {
  for (Ledger* ledger : {static_cast<Ledger*>(nullptr), ledger_.get()}) {
    const Outlook good = value_of(outlook_of(uses({1, 2}), terms(), ledger));
    EXPECT_TRUE(good.fits);
    EXPECT_FALSE(good.budget_is_there);
    const Outlook bad = value_of(outlook_of(uses({1, 2, 1}), terms(), ledger));
    EXPECT_FALSE(bad.fits);
    EXPECT_NE(bad.refusal.find("Nothing was spent"), std::string::npos) << bad.refusal;
    expect_error(expect_fits(bad), ErrorCode::kBudgetExhausted, "'b'");
  }
}

TEST_F(OutlookTest, ChargesNothingMoreForAKnownKey) {
  expect_good(ledger_->create_budget(terms()));
  const auto asked = uses({2.5, 0.4});
  ASSERT_TRUE(ledger_->reserve(asked[0]).has_value());
  const Outlook half = value_of(outlook_of(asked, terms(), ledger_.get()));
  EXPECT_TRUE(half.fits);
  EXPECT_FALSE(half.asked_before);
  const std::uint64_t last = value_of(ledger_->reserve(asked[1])).sequence();
  const Outlook both = value_of(outlook_of(asked, terms(), ledger_.get()));
  EXPECT_TRUE(both.asked_before);
  EXPECT_EQ(both.reservation, last);
}

// Noise may have been drawn for a key that is open: reserving refuses it, and so does the outlook.
TEST_F(OutlookTest, RefusesAKeyThatIsOpenOrStandsForAnotherRequest) {
  expect_good(ledger_->create_budget(terms()));
  const auto asked = uses({1});
  ASSERT_TRUE(ledger_->reserve(asked[0]).has_value());
  const auto strict = [&](const std::vector<ReserveRequest>& made) {
    return outlook_of(made, terms(), ledger_.get(), Repeats::kMustBeAnswered);
  };
  const Outlook open = value_of(strict(asked));
  EXPECT_FALSE(open.fits);
  expect_error(ledger_->reserve(asked[0]), ErrorCode::kBudgetExhausted, open.refusal);
  expect_error(strict(uses({0.5})), ErrorCode::kInvalidArgument, "another request");
  EXPECT_TRUE(value_of(outlook_of(asked, terms(), ledger_.get())).fits) << "a job may go on from what was left behind";
}

TEST_F(OutlookTest, KnowsTheTimesOfABudgetAndDatasetsThatWereRetired) {
  BudgetTerms over = terms();
  over.until = 1;
  expect_good(ledger_->create_budget(over));
  const Outlook late = value_of(outlook_of(uses({1}), over, ledger_.get()));
  EXPECT_FALSE(late.fits);
  EXPECT_NE(late.refusal.find("not open"), std::string::npos) << late.refusal;
  RowSketcher rows(value_of(ledger_->row_key()));
  rows.add_record("a record");
  BudgetTerms owned = testing::terms("owned", 3, 1e-5, Rule::kBasic);
  ASSERT_TRUE(granted(value_of(ledger_->add_dataset({"d", {}, owned}, std::move(rows).finish()))).has_value());
  const ReserveRequest use = request("owned", "k", pure(1));
  EXPECT_TRUE(value_of(outlook_of({&use, 1}, owned, ledger_.get())).fits);
  expect_good(ledger_->retire_dataset("d", "consent expired"));
  const Outlook retired = value_of(outlook_of({&use, 1}, owned, ledger_.get()));
  EXPECT_FALSE(retired.fits);
  EXPECT_NE(retired.refusal.find("consent expired"), std::string::npos) << retired.refusal;
}

TEST_F(OutlookTest, RefusesOtherNeighbours) {
  ReserveRequest use = request("b", "k", pure(1));
  use.statement.adjacency = Adjacency::kReplaceOne;
  expect_error(outlook_of({&use, 1}, terms(), nullptr), ErrorCode::kInvalidArgument, "replace-one");
}

}  // namespace
}  // namespace noisefloor
