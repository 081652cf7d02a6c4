#include <gtest/gtest.h>
#include <sqlite3.h>

#include "noisefloor/ledger/ledger.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::pure;
using testing::terms;
using testing::value_of;

class KeptAnswers : public ::testing::Test {
 protected:
  void SetUp() override {
    ledger_ = value_of(Ledger::create(folder_.path("a.ledger"), SigningKey::from_seed({1}), {}));
    for (const char* name : {"trial", "other"}) {
      ASSERT_TRUE(ledger_->create_budget(terms(name, 3, 0, Rule::kBasic)).has_value());
    }
    ASSERT_TRUE(ledger_->create_budget(terms("part", 1, 0, Rule::kBasic, "trial")).has_value());
  }
  std::uint64_t release(const std::string& budget, const std::string& key, const std::string& technique,
                        bool commit = true) {
    ReserveRequest request = testing::request(budget, key, pure(0.1));
    request.note = {key, "answer", {technique}, "{\"key\":\"" + key + "\"}"};
    Reservation reservation = value_of(ledger_->reserve(request));
    reservation.begin();
    const std::string bytes = "answer to " + key;
    if (!commit) return reservation.sequence();
    EXPECT_TRUE(ledger_->commit(reservation.sequence(), blake2b(bytes), bytes).has_value());
    return reservation.sequence();
  }
  [[nodiscard]] std::vector<std::string> kept(const std::string& budget) {
    std::vector<std::string> keys;
    EXPECT_TRUE(ledger_
                    ->kept_answers(budget, "query",
                                   [&](const KeptAnswer& one) -> Result<void> {
                                     EXPECT_EQ(one.bytes, "answer to " + one.key);
                                     EXPECT_EQ(one.configuration, "{\"key\":\"" + one.key + "\"}");
                                     keys.push_back(one.budget + "/" + one.key);
                                     return success();
                                   })
                    .has_value());
    return keys;
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<Ledger> ledger_;
};

TEST_F(KeptAnswers, AreThoseThatTheSameBudgetPaidFor) {
  release("trial", "a", "query");
  release("trial", "mean", "mean");
  release("other", "b", "query");
  release("part", "c", "query");
  release("trial", "lost", "query", false);
  EXPECT_EQ(kept("trial"), (std::vector<std::string>{"trial/a", "part/c"}));
  EXPECT_EQ(kept("part"), (std::vector<std::string>{"trial/a", "part/c"}));
  EXPECT_EQ(kept("other"), (std::vector<std::string>{"other/b"}));
  expect_error(ledger_->kept_answers("none", "query", [](const KeptAnswer&) { return success(); }),
               ErrorCode::kInvalidArgument, "none");
}

TEST_F(KeptAnswers, RefusesOneThatWasAltered) {
  release("trial", "a", "query");
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(folder_.path("a.ledger").c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "UPDATE answers SET answer = x'00'", nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(db);
  sqlite3_close(db);
  expect_error(ledger_->kept_answers("trial", "query", [](const KeptAnswer&) { return success(); }),
               ErrorCode::kVerificationFailed, "was altered");
}

}  // namespace
}  // namespace noisefloor
