#include "noisefloor/ledger/ledger_location.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/faulty_vfs.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::expect_good;
using testing::pure;
using testing::request;
using testing::terms;
using testing::value_of;

class LedgerLocationTest : public ::testing::Test {
 protected:
  [[nodiscard]] LedgerLocation here(std::vector<std::string> witnesses = {}) const {
    return {folder_.path("study.ledger"), folder_.path("study.ledger.key"), std::move(witnesses)};
  }
  [[nodiscard]] WantedBudget budget(bool may_be_made) const {
    return {terms("trial", 1, 0, Rule::kBasic), may_be_made, "Ask for it"};
  }
  static AskOutlook outlook(double epsilon) {
    return [epsilon](Ledger* ledger) {
      const ReserveRequest use = request("trial", "key", pure(epsilon));
      return outlook_of({&use, 1}, terms("trial", 1, 0, Rule::kBasic), ledger);
    };
  }
  [[nodiscard]] bool is_empty() const { return std::filesystem::is_empty(folder_.path("")); }

  testing::TemporaryFolder folder_;
};

TEST_F(LedgerLocationTest, MakesNothingForUsesThatAreRefused) {
  expect_error(open_to_pay(here(), budget(true), outlook(2)), ErrorCode::kBudgetExhausted, "");
  EXPECT_TRUE(is_empty());
  const std::string refused =
      expect_error(open_to_pay(here(), budget(false), outlook(0.5)), ErrorCode::kInvalidArgument, "there is no ledger");
  EXPECT_NE(refused.find("Ask for it"), std::string::npos);
  const auto fails = [](Ledger*) -> Result<Outlook> { return invalid_argument("laundered"); };
  expect_error(open_to_pay(here(), budget(true), fails), ErrorCode::kInvalidArgument, "laundered");
  EXPECT_TRUE(is_empty());
  EXPECT_TRUE(value_of(open_to_pay(here(), budget(true), outlook(0.5))).is_new);
  expect_error(open_to_pay(here(), budget(false), outlook(0.5)), ErrorCode::kInvalidArgument, "no such budget");
  EXPECT_FALSE(value_of(open_to_pay(here(), budget(true), outlook(0.5))).is_new);
  EXPECT_TRUE(value_of(outlook_at(here(), outlook(0.5))).fits);
}

// Whoever looks ahead with an analyst's key is told what the analyst would be told.
TEST_F(LedgerLocationTest, LooksAheadAsTheMemberWhoseKeyItHas) {
  const OpenedLedger opened = value_of(open_or_create(here()));
  expect_good(opened.ledger->create_budget(terms("trial", 1, 0, Rule::kBasic)));
  LedgerLocation analyst = here();
  analyst.key_file = folder_.path("ann.key");
  const SigningKey key = SigningKey::generate();
  expect_good(key.save(analyst.key_file));
  NewRole role{"ann", Role::kAnalyst, key.public_key(), {"trial"}};
  role.quota = Quota{Epsilon::of(0.25), Delta::of(0), kLongestPeriod};
  expect_error(outlook_at(analyst, outlook(0.1)), ErrorCode::kInvalidArgument, "not the key of the ledger");
  expect_good(opened.ledger->add_role(role));
  EXPECT_TRUE(value_of(outlook_at(analyst, outlook(0.25))).fits);
  const Outlook refused = value_of(outlook_at(analyst, outlook(0.5)));
  EXPECT_FALSE(refused.fits);
  EXPECT_NE(refused.refusal.find("the quota of the analyst 'ann'"), std::string::npos) << refused.refusal;
  EXPECT_TRUE(value_of(outlook_at(here(), outlook(0.5))).fits) << "the owner has no quota";
  expect_good(opened.ledger->revoke_role("ann", "left"));
  EXPECT_FALSE(outlook_at(analyst, outlook(0.1)).has_value());
  analyst.key_file = folder_.path("missing.key");
  EXPECT_TRUE(value_of(outlook_at(analyst, outlook(0.5))).fits) << "without a key, as whoever owns the ledger";
}

TEST_F(LedgerLocationTest, AWitnessIsMadeWithTheLedgerAndFollowsIt) {
  const std::string witness = folder_.path("elsewhere.witness");
  const OpenedLedger made = value_of(open_or_create(here({witness})));
  EXPECT_EQ(value_of(read_witness(witness)).head.sequence, 0U);
  expect_good(made.ledger->create_budget(terms("trial", 1, 0, Rule::kBasic)));
  EXPECT_EQ(value_of(read_witness(witness)).head.sequence, 1U);
}

// The folder is gone, and the witness is not: no command may begin anew with a full budget.
TEST_F(LedgerLocationTest, ALedgerThatAWitnessKnowsIsNotMadeAnew) {
  const std::string witness = folder_.path("elsewhere.witness");
  expect_good(value_of(open_or_create(here({witness}))).ledger->create_budget(terms("trial", 1, 0, Rule::kBasic)));
  for (const char* beside : {"", "-wal", "-shm", ".fence", ".key"}) {
    std::filesystem::remove(folder_.path("study.ledger") + beside);
  }
  const auto lost = [](const auto& result) {
    return expect_error(result, ErrorCode::kVerificationFailed, "has seen 2 entries of the ledger");
  };
  lost(open_or_create(here({witness})));
  lost(open_to_write(here({witness})));
  lost(open_to_pay(here({witness}), budget(true), outlook(0.5)));
  lost(outlook_at(here({witness}), outlook(0.5)));
  LedgerOptions options;
  options.witness = witness;
  lost(Ledger::create(folder_.path("study.ledger"), SigningKey::generate(), options));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("study.ledger.key")));
}

TEST_F(LedgerLocationTest, EveryWitnessIsAskedAndThatOfAnotherLedgerIsRefused) {
  const std::string first = folder_.path("first.witness");
  const std::string second = folder_.path("second.witness");
  expect_good(value_of(open_or_create(here({first}))).ledger->create_budget(terms("trial", 1, 0, Rule::kBasic)));
  const LedgerLocation other{folder_.path("other.ledger"), folder_.path("other.key"), {second}};
  value_of(open_or_create(other)).ledger.reset();
  expect_error(open_to_write(here({first, second})), ErrorCode::kVerificationFailed, "another ledger");
  expect_error(open_to_write(here({second})), ErrorCode::kVerificationFailed, "another ledger");
  expect_error(open_to_write(here({folder_.path("third.witness")})), ErrorCode::kVerificationFailed,
               "has not seen this ledger");
  expect_good(value_of(open_to_write(here({first})))->create_budget(terms("more", 1, 0, Rule::kBasic)));
  EXPECT_EQ(value_of(read_witness(first)).head.sequence, 2U);
}

TEST_F(LedgerLocationTest, AKeyWithoutItsLedgerIsNotUsedForAnother) {
  expect_good(SigningKey::generate().save(here().key_file));
  expect_error(open_or_create(here()), ErrorCode::kInvalidArgument, "was it lost?");
}

}  // namespace
}  // namespace noisefloor
