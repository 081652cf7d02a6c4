// Attacks on roles: by analysts with their own key and any program, by people with raw SQL, and by clocks. What the
// program refuses is tried first; then the same is written past it, and every reader has to find it.
#include "noisefloor/ledger/roles.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <sqlite3.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "noisefloor/base/hex.h"
#include "noisefloor/event/json.h"
#include "noisefloor/ledger/open_store.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/ledger_place.h"

namespace noisefloor {
namespace {

using testing::Backend;
using testing::expect_clean;
using testing::expect_error;
using testing::expect_good;
using testing::gaussian;
using testing::LedgerPlace;
using testing::pure;
using testing::request;
using testing::terms;
using testing::text_of;
using testing::value_of;

constexpr TimeMs kHour = TimeMs{60} * 60 * 1000;
constexpr TimeMs kDay = 24 * kHour;

SigningKey key_of(std::uint8_t who) { return SigningKey::from_seed({who}); }
SigningKey owner_key() { return key_of(1); }
SigningKey ann_key() { return key_of(2); }
SigningKey bob_key() { return key_of(3); }

// A ledger with the budgets "trial" (with the part "team"), "other" and "rho", keys of ann and bob, and a clock that
// tests set.
class RolesTest : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (!place_.is_there()) GTEST_SKIP() << "no PostgreSQL server: run through ctest";
    owner_ = value_of(Ledger::create(place_.location(), owner_key(), options()));
    expect_good(owner_->create_budget(terms("trial", 8, 0, Rule::kBasic)));
    expect_good(owner_->create_budget(terms("team", 2, 0, Rule::kBasic, "trial")));
    expect_good(owner_->create_budget(terms("other", 8, 0, Rule::kBasic)));
    expect_good(owner_->create_budget(terms("rho", 4, 1e-6, Rule::kZcdp)));
  }

  [[nodiscard]] LedgerOptions options() {
    LedgerOptions made;
    made.clock = [this] { return now_; };
    return made;
  }
  [[nodiscard]] Result<std::unique_ptr<Ledger>> open(SigningKey key) {
    return Ledger::open(place_.location(), std::move(key), options());
  }
  static NewRole analyst(const std::string& name, const SigningKey& key, std::vector<std::string> budgets) {
    return {name, Role::kAnalyst, key.public_key(), std::move(budgets)};
  }
  void add(const NewRole& role) { expect_good(owner_->add_role(role)); }
  void add_ann(std::vector<std::string> budgets = {"trial"}) { add(analyst("ann", ann_key(), std::move(budgets))); }
  static Result<std::uint64_t> spend(Ledger& ledger, const std::string& budget, const std::string& key,
                                     double epsilon) {
    NF_TRY(const Reservation made, ledger.reserve(request(budget, key, pure(epsilon))));
    return made.sequence();
  }
  [[nodiscard]] std::uint64_t entries() { return value_of(owner_->witness()).head.sequence + 1; }

  // Writes an entry past every rule, with the head signed by `key`, and with what else `before_commit` does.
  void forge(const std::vector<std::pair<EntryBody, std::string>>& bodies, const SigningKey& key) {
    const auto store = value_of(open_store(place_.location(), {}));
    const auto transaction = value_of(store->begin(LedgerStore::Mode::kWrite));
    const Head head = *value_of(transaction->head());
    Digest hash = head.hash;
    std::uint64_t sequence = head.sequence;
    for (const auto& [body, by] : bodies) {
      const std::string text = to_json(Entry{++sequence, now_, body, by});
      hash = chain_hash(hash, text);
      expect_good(transaction->append({sequence, text, hash}));
    }
    expect_good(transaction->set_head(sign_head(key, head.ledger, head.epoch, sequence, hash)));
    expect_good(transaction->commit());
  }
  ReserveEntry use(const std::string& budget, const std::string& key, double epsilon, double charged) {
    return {budget, key, blake2b(key), to_json(pure(epsilon)), "", std::nullopt, {{charged}, 0}, blake2b("lock"), {}};
  }
  // Expects that readers, writers and verification refuse the ledger for this reason.
  void expect_found(const std::string& part) {
    expect_error(Ledger::open_to_read(place_.location(), options()), ErrorCode::kVerificationFailed, part);
    expect_error(owner_->reserve(request("trial", "more", pure(0.125))), ErrorCode::kVerificationFailed, part);
    const VerifyReport report = value_of(verify_ledger(place_.location(), {}));
    EXPECT_FALSE(report.findings.empty());
  }
  void sql(std::string text) {
    const bool file = GetParam() == Backend::kSqlite;
    for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at)) {
      text.replace(at, 1, file ? "" : "noisefloor_ledger.");
    }
    if (file) {
      sqlite3* db = nullptr;
      ASSERT_EQ(sqlite3_open(place_.location().c_str(), &db), SQLITE_OK);
      EXPECT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db) << text;
      sqlite3_close(db);
      return;
    }
    PGconn* connection = PQconnectdb(place_.location().c_str());
    PGresult* result = PQexec(connection, text.c_str());
    EXPECT_EQ(PQresultStatus(result), PGRES_COMMAND_OK) << PQerrorMessage(connection) << text;
    PQclear(result);
    PQfinish(connection);
  }
  void drop_triggers() {
    sql(GetParam() == Backend::kSqlite ? "DROP TRIGGER signatures_do_not_change; DROP TRIGGER signatures_do_not_go"
                                       : "DROP TRIGGER signatures_do_not_change ON noisefloor_ledger.signatures");
  }

  LedgerPlace place_{GetParam()};
  TimeMs now_ = 1'800'000'000'000;
  std::unique_ptr<Ledger> owner_;
};

INSTANTIATE_TEST_SUITE_P(Sqlite, RolesTest, ::testing::Values(Backend::kSqlite));
INSTANTIATE_TEST_SUITE_P(Postgres, RolesTest, ::testing::Values(Backend::kPostgres));

// --- What a member may do --------------------------------------------------------------------------------------------

TEST_P(RolesTest, AnAnalystSpendsWithinWhatWasGiven) {
  add_ann({"trial", "rho"});
  const auto ann = value_of(open(ann_key()));
  Reservation first = value_of(ann->reserve(request("trial", "a", pure(0.5))));
  expect_good(ann->commit(first.sequence(), blake2b("x"), "x"));
  EXPECT_EQ(value_of(ann->reserve(request("trial", "a", pure(0.5)))).earlier_answer(), "x");
  value_of(ann->reserve(request("team", "b", pure(0.5))));  // a part of what was given
  value_of(ann->reserve(request("rho", "c", gaussian(20))));
  expect_good(ann->abort(value_of(ann->reserve(request("trial", "d", pure(0.5))))));
  const std::uint64_t before = entries();
  expect_error(ann->reserve(request("other", "e", pure(0.5))), ErrorCode::kInvalidArgument, "was not given");
  expect_error(ann->create_budget(terms("mine", 1, 0, Rule::kBasic)), ErrorCode::kInvalidArgument, "nothing else");
  expect_error(ann->create_budget(terms("mine", 1, 0, Rule::kBasic, "trial")), ErrorCode::kInvalidArgument, "else");
  expect_error(ann->rehearse(terms("mine", 1, 0, Rule::kBasic)), ErrorCode::kInvalidArgument, "nothing else");
  expect_error(ann->rehearse(request("other", "e", pure(0.5))), ErrorCode::kInvalidArgument, "was not given");
  expect_error(ann->add_role(analyst("eve", bob_key(), {"trial"})), ErrorCode::kInvalidArgument, "nothing else");
  expect_error(ann->revoke_role("ann", "x"), ErrorCode::kInvalidArgument, "nothing else");
  expect_error(ann->adopt("mine"), ErrorCode::kInvalidArgument, "nothing else");
  expect_error(ann->reserve(request("trial", "f", pure(7))), ErrorCode::kBudgetExhausted, "does not allow");
  now_ -= kDay;
  expect_error(ann->set_clock("mine"), ErrorCode::kInvalidArgument, "nothing else");
  now_ += kDay;
  EXPECT_EQ(entries(), before);
  expect_clean(place_.location());
}

TEST_P(RolesTest, APartGivenDoesNotOpenTheWhole) {
  add_ann({"team"});
  const auto ann = value_of(open(ann_key()));
  value_of(ann->reserve(request("team", "a", pure(0.5))));
  expect_error(ann->reserve(request("trial", "b", pure(0.5))), ErrorCode::kInvalidArgument, "was not given");
}

TEST_P(RolesTest, OnlyWhoeverReservedOrAnOwnerSettles) {
  add_ann();
  add(analyst("bob", bob_key(), {"trial"}));
  const auto ann = value_of(open(ann_key()));
  const auto bob = value_of(open(bob_key()));
  const std::uint64_t anns = value_of(spend(*ann, "trial", "a", 0.5));
  const std::uint64_t owners = value_of(spend(*owner_, "trial", "o", 0.5));
  expect_error(bob->commit(anns, blake2b("x")), ErrorCode::kInvalidArgument, "made by the analyst 'ann'");
  expect_error(bob->commit(owners, blake2b("x")), ErrorCode::kInvalidArgument, "made by the owner 'owner'");
  expect_error(bob->abort(value_of(ann->reserve(request("trial", "b", pure(0.5))))), ErrorCode::kInvalidArgument,
               "made by the analyst 'ann'");
  expect_good(owner_->commit(anns, blake2b("x")));
  expect_clean(place_.location());
}

TEST_P(RolesTest, KindsOfUseAreKept) {
  NewRole role = analyst("ann", ann_key(), {"trial"});
  role.uses = {UseKind::kUtilityGraph, UseKind::kStatistic, UseKind::kStatistic};
  add(role);
  const auto ann = value_of(open(ann_key()));
  ReserveRequest asked = request("trial", "a", pure(0.5));
  expect_error(ann->reserve(asked), ErrorCode::kInvalidArgument, "of no stated kind");
  asked.use = UseKind::kTraining;
  expect_error(ann->reserve(asked), ErrorCode::kInvalidArgument, "may use budgets for statistic, utility graph");
  asked.use = UseKind::kStatistic;
  const std::uint64_t sequence = value_of(ann->reserve(asked)).sequence();
  expect_good(owner_->read([&](const LedgerState& state) -> Result<void> {
    EXPECT_EQ(state.find_spend(sequence)->use, UseKind::kStatistic);
    return success();
  }));
}

TEST_P(RolesTest, AuditorsAndStrangersWriteNothing) {
  add({"eve", Role::kAuditor, key_of(9).public_key()});
  expect_error(open(key_of(9)), ErrorCode::kInvalidArgument, "reads, and writes nothing");
  expect_error(open(key_of(8)), ErrorCode::kInvalidArgument, "this is not the key");
  value_of(Ledger::open_to_read(place_.location(), options()));
}

TEST_P(RolesTest, NamesAndKeysAreNeverUsedTwice) {
  add_ann();
  expect_good(owner_->revoke_role("ann", "left"));
  expect_error(owner_->add_role(analyst("ann", bob_key(), {"trial"})), ErrorCode::kInvalidArgument, "another name");
  expect_error(owner_->add_role(analyst("anna", ann_key(), {"trial"})), ErrorCode::kInvalidArgument, "key of its own");
  expect_error(owner_->add_role(analyst("owner", bob_key(), {"trial"})), ErrorCode::kInvalidArgument, "another name");
  expect_error(owner_->add_role(analyst("me", owner_key(), {"trial"})), ErrorCode::kInvalidArgument, "key of its own");
  expect_error(owner_->revoke_role("ann", "again"), ErrorCode::kInvalidArgument, "already");
  expect_error(owner_->revoke_role("nobody", "x"), ErrorCode::kInvalidArgument, "there are: 'owner', 'ann'");
}

TEST_P(RolesTest, RefusesRolesThatMakeNoSense) {
  const auto refused = [&](NewRole role, const std::string& part, ErrorCode code = ErrorCode::kInvalidArgument) {
    expect_error(owner_->add_role(role), code, part);
  };
  refused(analyst("ann", ann_key(), {}), "budgets");
  refused(analyst("ann", ann_key(), {"nothing"}), "there is no budget");
  refused(analyst("ann", ann_key(), {"trial", "trial"}), "twice");
  refused({"ann", Role::kOwner, ann_key().public_key(), {"trial"}}, "are for analysts");
  NewRole weak = analyst("ann", ann_key(), {"trial"});
  weak.key = {1};  // under this key anyone can sign
  refused(weak, "no public key");
  NewRole late = analyst("ann", ann_key(), {"trial"});
  late.until = now_;
  refused(late, "before it begins");
  NewRole quota = analyst("ann", ann_key(), {"trial", "rho"});
  quota.quota = Quota{Epsilon::of(1), Delta::of(0), kDay};
  refused(quota, "does not suit the budget 'rho'");
  quota.quota = Quota{Epsilon::of(1), Delta::of(1e-6), kHour - 1};
  refused(quota, "at least 1h");
  BudgetTerms planned = terms("plan", 1, 1e-6, Rule::kPlanned);
  planned.plan = {{"item", pure(0.5), Steps::of(1)}};
  expect_good(owner_->create_budget(planned));
  quota.budgets = {"plan"};
  quota.quota = Quota{Epsilon::of(1), Delta::of(1e-6), kDay};
  refused(quota, "without a quota");
  const std::uint64_t before = entries();
  EXPECT_EQ(before, 6U);
}

TEST_P(RolesTest, TheLastOwnerStays) {
  expect_error(owner_->revoke_role("owner", "x"), ErrorCode::kInvalidArgument, "needs an owner");
  add({"second", Role::kOwner, bob_key().public_key()});
  const auto second = value_of(open(bob_key()));
  expect_good(second->revoke_role("owner", "the key was lost"));
  expect_error(owner_->create_budget(terms("x", 1, 0, Rule::kBasic)), ErrorCode::kInvalidArgument, "was revoked");
  expect_error(open(owner_key()), ErrorCode::kInvalidArgument, "was revoked");
  expect_error(second->revoke_role("second", "x"), ErrorCode::kInvalidArgument, "needs an owner");
  expect_good(second->add_role(analyst("ann", ann_key(), {"trial"})));
  value_of(value_of(open(ann_key()))->reserve(request("trial", "a", pure(0.5))));
  // A reader rehearses although the first owner is gone.
  value_of(value_of(Ledger::open_to_read(place_.location(), options()))->rehearse(request("trial", "b", pure(0.5))));
  expect_clean(place_.location());
}

TEST_P(RolesTest, ARevokedAnalystWritesNothing) {
  add_ann();
  const auto ann = value_of(open(ann_key()));
  const std::uint64_t open_one = value_of(spend(*ann, "trial", "a", 0.5));
  expect_good(owner_->revoke_role("ann", "left the team"));
  expect_error(ann->reserve(request("trial", "b", pure(0.5))), ErrorCode::kInvalidArgument, "left the team");
  expect_error(ann->commit(open_one, blake2b("x")), ErrorCode::kInvalidArgument, "was revoked");
  expect_error(open(ann_key()), ErrorCode::kInvalidArgument, "was revoked");
  expect_good(owner_->commit(open_one, blake2b("x")));
  expect_clean(place_.location());
}

TEST_P(RolesTest, ARoleEndsAndNoClockReopensIt) {
  NewRole role = analyst("ann", ann_key(), {"trial"});
  role.until = now_ + kDay;
  add(role);
  const auto ann = value_of(open(ann_key()));
  now_ += kDay - 1;
  value_of(ann->reserve(request("trial", "a", pure(0.5))));
  now_ += 1;
  expect_error(ann->reserve(request("trial", "b", pure(0.5))), ErrorCode::kInvalidArgument, "ended at");
  value_of(owner_->reserve(request("trial", "o", pure(0.5))));  // the ledger knows the time
  now_ -= kDay;
  expect_error(ann->reserve(request("trial", "b", pure(0.5))), ErrorCode::kIo, "set it right");
  value_of(owner_->set_clock("it was ahead"));
  expect_error(ann->reserve(request("trial", "b", pure(0.5))), ErrorCode::kInvalidArgument, "stays over");
  expect_clean(place_.location());
}

// --- Quotas ----------------------------------------------------------------------------------------------------------

TEST_P(RolesTest, AQuotaHoldsInEachPeriod) {
  NewRole role = analyst("ann", ann_key(), {"trial"});
  role.quota = Quota{Epsilon::of(1), Delta::of(0), kDay};
  const TimeMs begun = now_;
  add(role);
  const auto ann = value_of(open(ann_key()));
  value_of(spend(*ann, "trial", "a", 0.75));
  const std::string message = expect_error(spend(*ann, "trial", "b", 0.5), ErrorCode::kBudgetExhausted, "the quota of");
  EXPECT_NE(message.find(show_time(begun + kDay)), std::string::npos) << message;
  value_of(spend(*ann, "trial", "c", 0.25));
  // Another budget has a quota of its own, and the owner has none.
  value_of(spend(*ann, "team", "d", 1));
  value_of(spend(*owner_, "trial", "o", 1.5));
  now_ = begun + kDay - 1;
  expect_error(spend(*ann, "trial", "e", 1e-9), ErrorCode::kBudgetExhausted, "the quota of");
  now_ = begun + kDay;
  value_of(spend(*ann, "trial", "f", 1));
  // Two periods around a boundary: each has its own account, also for whoever opens the ledger again.
  const auto again = value_of(open(ann_key()));
  expect_error(spend(*again, "trial", "g", 1e-9), ErrorCode::kBudgetExhausted, "the quota of");
  expect_clean(place_.location());
}

TEST_P(RolesTest, AnAbortGivesBackToTheQuotaOfItsPeriod) {
  NewRole role = analyst("ann", ann_key(), {"trial"});
  role.quota = Quota{Epsilon::of(1), Delta::of(0), kDay};
  add(role);
  const auto ann = value_of(open(ann_key()));
  Reservation first = value_of(ann->reserve(request("trial", "a", pure(1))));
  now_ += kDay;
  value_of(spend(*ann, "trial", "b", 1));
  expect_good(ann->abort(std::move(first)));  // of the period before: this one is still used up
  expect_error(spend(*ann, "trial", "c", 0.5), ErrorCode::kBudgetExhausted, "the quota of");
  now_ += kDay;
  expect_good(ann->abort(value_of(ann->reserve(request("trial", "d", pure(1))))));
  value_of(spend(*ann, "trial", "e", 1));
  expect_error(spend(*ann, "trial", "f", 0.5), ErrorCode::kBudgetExhausted, "the quota of");
  expect_clean(place_.location());
}

TEST_P(RolesTest, SettingTheClockBackRefillsNoQuota) {
  NewRole role = analyst("ann", ann_key(), {"trial"});
  role.quota = Quota{Epsilon::of(1), Delta::of(0), kDay};
  add(role);
  const auto ann = value_of(open(ann_key()));
  value_of(spend(*ann, "trial", "a", 1));
  now_ += kDay;
  value_of(spend(*ann, "trial", "b", 1));
  now_ -= kDay;
  value_of(owner_->set_clock("it was ahead"));
  expect_error(spend(*ann, "trial", "c", 1e-9), ErrorCode::kBudgetExhausted, "the quota of");
  now_ += kDay;
  expect_error(spend(*ann, "trial", "d", 1e-9), ErrorCode::kBudgetExhausted, "the quota of");
  expect_clean(place_.location());
}

// The uses of one period keep the quota by the budget's own rule, not by the sum of their ε.
TEST_P(RolesTest, AQuotaAddsUpByTheRuleOfItsBudget) {
  NewRole role = analyst("ann", ann_key(), {"rho"});
  role.quota = Quota{Epsilon::of(1), Delta::of(1e-6), kDay};
  add(role);
  BudgetTerms quota = terms("rho", 1, 1e-6, Rule::kZcdp);
  quota.rho = value_of(zcdp_budget_of(quota)).value();
  const auto ann = value_of(open(ann_key()));
  const double each = 1.0 / (2 * 40.0 * 40.0);  // ρ of a Gaussian with noise multiplier 40
  const int fit = static_cast<int>(quota.rho / each);
  ASSERT_GT(fit, 3);
  for (int i = 0; i < fit; ++i) value_of(ann->reserve(request("rho", std::to_string(i), gaussian(40))));
  expect_error(ann->reserve(request("rho", "more", gaussian(40))), ErrorCode::kBudgetExhausted, "the quota of");
  expect_clean(place_.location());
}

TEST_P(RolesTest, APlannedPartIsNoWayAroundAQuota) {
  NewRole role = analyst("ann", ann_key(), {"other"});
  role.quota = Quota{Epsilon::of(0.25), Delta::of(0), kDay};
  add(role);
  BudgetTerms planned = terms("plan", 3, 0, Rule::kPlanned, "other");
  planned.plan = {{"item", pure(2), Steps::of(1)}};
  expect_good(owner_->create_budget(planned));
  expect_error(value_of(open(ann_key()))->reserve(request("plan", "a", pure(2), "item")), ErrorCode::kInvalidArgument,
               "without a quota");
}

// --- Keys for rows ---------------------------------------------------------------------------------------------------

TEST_P(RolesTest, MembersRecogniseTheSameRows) {
  const auto sketch = [](const Ledger& ledger, int from) {
    RowSketcher sketcher(value_of(ledger.row_key()));
    for (int i = 0; i < 50; ++i) sketcher.add_record("patient " + std::to_string(from + i));
    return std::move(sketcher).finish();
  };
  NewDataset patients{"patients", blake2b("patients"), terms("patients", 1, 0, Rule::kBasic)};
  EXPECT_TRUE(std::holds_alternative<DatasetGrant>(value_of(owner_->add_dataset(patients, sketch(*owner_, 0)))));
  NewDataset visits{"visits", blake2b("visits"), terms("visits", 1, 0, Rule::kBasic)};
  EXPECT_TRUE(std::holds_alternative<DatasetGrant>(value_of(owner_->add_dataset(visits, sketch(*owner_, 1000)))));
  add_ann({"patients"});
  add({"second", Role::kOwner, bob_key().public_key()});
  add({"eve", Role::kAuditor, key_of(9).public_key()});
  const auto ann = value_of(open(ann_key()));
  const auto second = value_of(open(bob_key()));
  const DatasetUse use{"patients", blake2b("patients")};
  EXPECT_FALSE(std::get<DatasetGrant>(value_of(ann->claim_dataset(use, sketch(*ann, 0)))).new_rows);
  EXPECT_TRUE(std::get<DatasetGrant>(value_of(ann->claim_dataset(use, sketch(*ann, 25)))).new_rows);
  EXPECT_FALSE(std::get<DatasetGrant>(value_of(second->claim_dataset(use, sketch(*second, 25)))).new_rows);
  // Rows of another dataset are recognised, and its budget was not given.
  EXPECT_TRUE(std::holds_alternative<DatasetConflict>(value_of(ann->claim_dataset(use, sketch(*ann, 1000)))));
  expect_error(ann->claim_dataset({"visits", blake2b("visits")}, sketch(*ann, 1025)), ErrorCode::kInvalidArgument,
               "was not given");
  NewDataset more{"more", blake2b("more"), terms("more", 1, 0, Rule::kBasic)};
  expect_error(ann->add_dataset(more, sketch(*ann, 5000)), ErrorCode::kInvalidArgument, "nothing else");
  expect_error(ann->retire_dataset("patients", "mine"), ErrorCode::kInvalidArgument, "nothing else");
  expect_clean(place_.location());
}

// --- Past the program: with an own key and any code ------------------------------------------------------------------

TEST_P(RolesTest, FindsABudgetThatAnAnalystMinted) {
  add_ann();
  forge({{BudgetEntry{terms("gift", 9, 0, Rule::kBasic), {}}, "ann"}}, ann_key());
  expect_found("nothing else");
}
TEST_P(RolesTest, FindsAnAnalystWhoWritesAsOwner) {
  add_ann();
  forge({{BudgetEntry{terms("gift", 9, 0, Rule::kBasic), {}}, ""}}, ann_key());
  expect_found("is not signed by the author of the last entry, 'owner'");
}
TEST_P(RolesTest, FindsAnOwnersEntryBeforeAnAnalystsOwn) {
  add_ann();
  // In one transaction: there is no signature under the forged entry at all.
  forge({{BudgetEntry{terms("gift", 9, 0, Rule::kBasic), {}}, ""}, {use("trial", "a", 0.5, 0.5), "ann"}}, ann_key());
  expect_found("the signature of 'owner' for entry 6 is gone");
}
TEST_P(RolesTest, FindsAnOwnersEntryUnderAnotherSignature) {
  add_ann();
  forge({{BudgetEntry{terms("gift", 9, 0, Rule::kBasic), {}}, ""}}, ann_key());  // keeps ann's signature for it
  forge({{use("trial", "a", 0.5, 0.5), "ann"}}, ann_key());
  expect_found("entry 6 is not signed by 'owner'");
}
TEST_P(RolesTest, FindsAReplayedSignature) {
  add_ann();
  forge({{BudgetEntry{terms("gift", 9, 0, Rule::kBasic), {}}, ""}}, ann_key());
  drop_triggers();
  sql("UPDATE @signatures SET signature = (SELECT signature FROM @signatures WHERE sequence = 5) WHERE sequence = 6");
  forge({{use("trial", "a", 0.5, 0.5), "ann"}}, ann_key());
  expect_found("entry 6 is not signed by 'owner'");
}
TEST_P(RolesTest, FindsASignatureThatIsGone) {
  add_ann();
  const auto ann = value_of(open(ann_key()));
  value_of(spend(*ann, "trial", "a", 0.5));
  drop_triggers();
  expect_clean(place_.location());
  sql("DELETE FROM @signatures WHERE sequence = 5");
  const VerifyReport report = value_of(verify_ledger(place_.location(), {}));
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings.front().entry, 5U) << text_of(report);
  expect_error(Ledger::open_to_read(place_.location(), options()), ErrorCode::kVerificationFailed, "is gone");
}
TEST_P(RolesTest, FindsARoleThatAnAnalystWidened) {
  add_ann();
  RoleEntry role{"eve", Role::kAnalyst, bob_key().public_key(), {"other"}};
  role.row_keys.emplace();
  forge({{role, "ann"}}, ann_key());
  expect_found("nothing else");
}
TEST_P(RolesTest, FindsAnAnalystWhoReservesElsewhere) {
  add_ann({"team"});
  forge({{use("trial", "a", 0.5, 0.5), "ann"}}, ann_key());
  expect_found("was not given");
}
TEST_P(RolesTest, FindsAnAnalystWhoPaysTooLittle) {
  add_ann();
  forge({{use("trial", "a", 0.5, 0.25), "ann"}}, ann_key());
  expect_found("charged less than its event costs");
}
TEST_P(RolesTest, FindsAnAnalystBeyondTheQuota) {
  NewRole role = analyst("ann", ann_key(), {"trial"});
  role.quota = Quota{Epsilon::of(1), Delta::of(0), kDay};
  add(role);
  forge({{use("trial", "a", 0.75, 0.75), "ann"}, {use("trial", "b", 0.75, 0.75), "ann"}}, ann_key());
  expect_found("the quota of");
}
TEST_P(RolesTest, FindsAnotherKindOfUse) {
  NewRole role = analyst("ann", ann_key(), {"trial"});
  role.uses = {UseKind::kStatistic};
  add(role);
  ReserveEntry other = use("trial", "a", 0.5, 0.5);
  other.use = UseKind::kOther;
  forge({{other, "ann"}}, ann_key());
  expect_found("this use is other");
}
TEST_P(RolesTest, FindsAnEntryAfterTheEndOfARole) {
  NewRole role = analyst("ann", ann_key(), {"trial"});
  role.until = now_ + kDay;
  add(role);
  now_ += kDay;
  forge({{use("trial", "a", 0.5, 0.5), "ann"}}, ann_key());
  expect_found("ended at");
}
TEST_P(RolesTest, FindsAnEntryAfterARevocation) {
  add_ann();
  expect_good(owner_->revoke_role("ann", "left"));
  forge({{use("trial", "a", 0.5, 0.5), "ann"}}, ann_key());
  expect_found("was revoked");
}
TEST_P(RolesTest, FindsWhoSettlesForOthers) {
  add_ann();
  const std::uint64_t owners = value_of(spend(*owner_, "trial", "o", 0.5));
  forge({{CommitEntry{owners, blake2b("x"), {}, false}, "ann"}}, ann_key());
  expect_found("made by the owner 'owner'");
}
TEST_P(RolesTest, FindsEntriesOfNobodyAndOfAuditors) {
  add({"eve", Role::kAuditor, key_of(9).public_key()});
  forge({{use("trial", "a", 0.5, 0.5), "eve"}}, key_of(9));
  expect_found("writes nothing");
}
TEST_P(RolesTest, FindsEntriesOfNobody) {
  forge({{use("trial", "a", 0.5, 0.5), "nobody"}}, key_of(9));
  expect_found("there is no member 'nobody'");
}
TEST_P(RolesTest, FindsARevokedFirstOwner) {
  add({"second", Role::kOwner, bob_key().public_key()});
  expect_good(value_of(open(bob_key()))->revoke_role("owner", "stolen"));
  forge({{BudgetEntry{terms("gift", 9, 0, Rule::kBasic), {}}, ""}}, owner_key());
  expect_error(Ledger::open_to_read(place_.location(), options()), ErrorCode::kVerificationFailed, "was revoked");
}

// --- The chain of authority, from outside ----------------------------------------------------------------------------

TEST_P(RolesTest, ManyAuthorsVerify) {
  add_ann();
  add(analyst("bob", bob_key(), {"trial"}));
  const auto ann = value_of(open(ann_key()));
  const auto bob = value_of(open(bob_key()));
  for (int i = 0; i < 5; ++i) {
    value_of(spend(*ann, "trial", "a" + std::to_string(i), 0.125));
    value_of(spend(*bob, "trial", "b" + std::to_string(i), 0.125));
    value_of(spend(*owner_, "trial", "o" + std::to_string(i), 0.125));
  }
  value_of(Ledger::open_to_read(place_.location(), options()));
  const VerifyReport report = value_of(verify_ledger(place_.location(), {{}, owner_key().public_key(), {}}));
  EXPECT_TRUE(report.findings.empty()) << text_of(report);
  EXPECT_EQ(report.signatures, 17U);  // of the two transactions with roles, and of those after them
  EXPECT_EQ(report.state.last_author().name, "owner");
}

TEST_P(RolesTest, AWitnessOfAMembersHeadHolds) {
  add_ann();
  const auto ann = value_of(open(ann_key()));
  value_of(spend(*ann, "trial", "a", 0.5));
  const std::string path = place_.path("witness.json");
  expect_good(write_witness(path, value_of(ann->witness())));
  EXPECT_EQ(value_of(read_witness(path)).signer, ann_key().public_key());
  expect_clean(place_.location(), {path});
  LedgerOptions checked = options();
  checked.witness = path;
  const auto owner = value_of(Ledger::open(place_.location(), owner_key(), checked));
  value_of(spend(*owner, "trial", "b", 0.5));
  EXPECT_EQ(value_of(read_witness(path)).signer, std::nullopt);
  expect_clean(place_.location(), {path});
  // Whoever signs a witness belongs to the ledger.
  Witness foreign = value_of(read_witness(path));
  foreign.signer = key_of(9).public_key();
  foreign.head =
      sign_head(key_of(9), foreign.head.ledger, foreign.head.epoch, foreign.head.sequence, foreign.head.hash);
  expect_good(write_witness(path, foreign));
  expect_error(owner->reserve(request("trial", "c", pure(0.5))), ErrorCode::kVerificationFailed,
               "nobody of this ledger");
  const VerifyReport report = value_of(verify_ledger(place_.location(), {{path}, {}, {}}));
  EXPECT_NE(text_of(report).find("nobody of this ledger"), std::string::npos) << text_of(report);
}

TEST_P(RolesTest, TheFirstRoleRaisesTheVersion) {
  const auto version = [&] {
    const auto store = value_of(open_store(place_.location(), {.read_only = true}));
    std::uint64_t kept = 0;
    expect_good(value_of(store->begin(LedgerStore::Mode::kRead))
                    ->signatures(0, INT64_MAX, [&](std::uint64_t, const Signature&) -> Result<void> {
                      ++kept;
                      return success();
                    }));
    return kept;
  };
  ReserveRequest asked = request("trial", "a", pure(0.125));
  asked.use = UseKind::kOther;
  const std::uint64_t early = value_of(owner_->reserve(asked)).sequence();
  EXPECT_EQ(version(), 0U);
  EXPECT_FALSE(std::get<ReserveEntry>(value_of(owner_->entry(early)).body).use)
      << "a ledger without roles stays readable for older programs";
  add_ann();
  EXPECT_EQ(version(), 1U);
  asked.key = "b";
  const std::uint64_t later = value_of(owner_->reserve(asked)).sequence();
  EXPECT_EQ(std::get<ReserveEntry>(value_of(owner_->entry(later)).body).use, UseKind::kOther);
  EXPECT_EQ(version(), 2U);
}

// --- Texts -----------------------------------------------------------------------------------------------------------

TEST(RoleEntryText, HasOneFormAndNoOther) {
  RoleEntry role{"ann \"a\"", Role::kAnalyst, ann_key().public_key(), {"trial", "te\\am"}};
  role.uses = {UseKind::kTraining, UseKind::kUtilityGraph};
  role.quota = Quota{Epsilon::of(0.5), Delta::of(1e-7), kDay};
  role.until = 5;
  role.row_keys.emplace().fill(7);
  ReserveEntry use{"b", "k", {}, to_json(pure(0.5)), "", {}, {{0.5}, 0}, {}, {}, {}, UseKind::kStatistic};
  for (const EntryBody& body : std::vector<EntryBody>{role, RoleEntry{"o", Role::kOwner, {}, {}, {}, {}, {}, {}},
                                                      RevokeEntry{"ann", "left \"us\""}, use}) {
    for (const char* by : {"", "ann \"a\""}) {
      const std::string text = to_json(Entry{3, 4, body, by});
      const Result<Entry> read = parse_entry(text);
      ASSERT_TRUE(read.has_value()) << text;
      EXPECT_EQ(to_json(read.value()), text);
      EXPECT_EQ(read.value().by, by);
    }
  }
  const std::string good = to_json(Entry{3, 4, role, ""});
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"training\",\"utility graph\"", "\"utility graph\",\"training\""},
           {"\"training\",\"utility graph\"", "\"training\",\"training\""},
           {"\"uses\":[\"training\",\"utility graph\"]", "\"uses\":[]"},
           {"\"role\":\"analyst\"", "\"role\":\"king\""},
           {"}", ",\"by\":\"owner\"}"},
           {"}", ",\"by\":\"\"}"}}) {
    std::string bad = good;
    const std::size_t at = to.find("by") != std::string::npos ? bad.rfind(from) : bad.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    EXPECT_FALSE(parse_entry(bad.replace(at, from.size(), to)).has_value()) << bad;
  }
}

TEST(Periods, AreReadAndShown) {
  EXPECT_EQ(value_of(parse_period("30d")), 30 * kDay);
  EXPECT_EQ(value_of(parse_period("12h")), 12 * kHour);
  EXPECT_EQ(value_of(parse_period("2w")), 14 * kDay);
  for (const char* bad : {"", "d", "30", "0d", "-1d", "1.5d", "30m", "99999999999w", "30 d"}) {
    expect_error(parse_period(bad), ErrorCode::kInvalidArgument, "a period is");
  }
  EXPECT_EQ(show_period(30 * kDay), "30d");
  EXPECT_EQ(show_period(12 * kHour), "12h");
}

// --- PostgreSQL: a restricted role of the database -------------------------------------------------------------------

class PostgresRolesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!place_.is_there()) GTEST_SKIP() << "no PostgreSQL server: run through ctest";
    // Roles belong to the whole server, and tests run at the same time.
    role_ = "ann_" + std::to_string(::getpid());
    other_ = "eve_" + std::to_string(::getpid());
    as("postgres", "CREATE ROLE " + role_ + " LOGIN; CREATE ROLE " + other_ + " LOGIN");
    owner_ = value_of(Ledger::create(place_.location(), owner_key(), {}));
    expect_good(owner_->create_budget(terms("trial", 8, 0, Rule::kBasic)));
    NewRole ann{"ann", Role::kAnalyst, ann_key().public_key(), {"trial"}};
    ann.database_role = role_;
    expect_good(owner_->add_role(ann));
  }
  void TearDown() override {
    if (!place_.is_there()) return;
    owner_.reset();
    as("postgres", "DROP OWNED BY " + role_ + ", " + other_ + "; DROP ROLE " + role_ + ", " + other_);
  }
  // Runs SQL as a role of the database; the message of its error, or nothing.
  std::string run(const std::string& role, const std::string& text) {
    PGconn* connection = PQconnectdb(place_.location_as(role).c_str());
    PGresult* result = PQexec(connection, text.c_str());
    const ExecStatusType status = PQresultStatus(result);
    std::string error = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? "" : PQerrorMessage(connection);
    PQclear(result);
    PQfinish(connection);
    return error;
  }
  void as(const std::string& role, const std::string& text) { EXPECT_EQ(run(role, text), "") << text; }
  void refused(const std::string& text, const std::string& why = "permission denied") {
    EXPECT_NE(run(role_, text).find(why), std::string::npos) << text << ": " << run(role_, text);
  }

  LedgerPlace place_{Backend::kPostgres};
  std::string role_;
  std::string other_;
  std::unique_ptr<Ledger> owner_;
};

TEST_F(PostgresRolesTest, AMemberSpendsWithTheRightsOfItsRole) {
  const auto ann = value_of(Ledger::open(place_.location_as(role_), ann_key(), {}));
  const Reservation made = value_of(ann->reserve(request("trial", "a", pure(0.5))));
  expect_good(ann->commit(made.sequence(), blake2b("x"), "x"));
  expect_error(ann->create_budget(terms("mine", 1, 0, Rule::kBasic)), ErrorCode::kInvalidArgument, "nothing else");
  expect_clean(place_.location());
  // Somebody who has another member's key writes with that member's rights to the database only.
  const auto thief = value_of(Ledger::open(place_.location_as(role_), owner_key(), {}));
  expect_error(thief->create_budget(terms("gift", 1, 0, Rule::kBasic)), ErrorCode::kIo, "for the member ann only");
  expect_clean(place_.location());
}

TEST_F(PostgresRolesTest, RawSqlDoesNotGetPastTheRole) {
  const auto ann = value_of(Ledger::open(place_.location_as(role_), ann_key(), {}));
  value_of(ann->reserve(request("trial", "a", pure(0.5))));
  const std::string s = "noisefloor_ledger.";
  for (const char* table : {"entries", "signatures", "answers", "sketches", "members", "format"}) {
    // PostgreSQL only warns that nothing was granted: what follows shows that nothing was.
    static_cast<void>(run(role_, "GRANT ALL ON " + s + table + " TO " + role_ + ", " + other_));
    refused("DELETE FROM " + s + table);
    refused("TRUNCATE " + s + table);
    refused("DROP TABLE " + s + table, "must be owner");
    refused("ALTER TABLE " + s + table + " DISABLE TRIGGER ALL", "must be owner");
    refused("ALTER TABLE " + s + table + " ADD COLUMN x int", "must be owner");
  }
  refused("UPDATE " + s + "entries SET text = ''");
  refused("UPDATE " + s + "signatures SET signature = ''");
  refused("UPDATE " + s + "answers SET answer = ''");
  refused("UPDATE " + s + "format SET version = 1");
  refused("UPDATE " + s + "members SET member = 'owner'");
  refused("INSERT INTO " + s + "members VALUES ('" + other_ + "', 'owner')");
  refused("DELETE FROM " + s + "head");
  refused("TRUNCATE " + s + "head");
  refused("DROP TRIGGER entries_are_by_their_author ON " + s + "entries", "must be owner");
  refused("DROP SCHEMA noisefloor_ledger CASCADE", "must be owner");
  refused("CREATE TABLE " + s + "x (y int)");
  refused("CREATE OR REPLACE FUNCTION " + s + "is_owner() RETURNS boolean LANGUAGE sql AS 'SELECT true'");
  refused("SET ROLE postgres");
  refused("SET SESSION AUTHORIZATION postgres");
  refused("UPDATE " + s + "head SET sequence = sequence - 1", "moves forward only");
  refused("UPDATE " + s + "head SET signature = signature", "moves forward only");
  refused("UPDATE " + s + "head SET epoch = epoch - 1, sequence = sequence + 1", "moves forward only");
  const auto insert = [&](const std::string& text) {
    return "INSERT INTO " + s + "entries VALUES (99, '" + text + "', '')";
  };
  refused(insert(R"({"sequence":99,"time":1,"entry":"revoke","name":"x","reason":"y"})"), "for the member ann only");
  refused(insert(R"({"sequence":99,"time":1,"entry":"revoke","name":"x","reason":"y","by":"bob"})"), "ann only");
  refused(insert(R"({"sequence":99,"time":1,"entry":"revoke","name":"x","reason":",\"by\":\"ann"})"), "ann only");
  refused(insert(R"({"sequence":99,"time":1,"entry":"revoke","name":"x","reason":"y","by":"ann"})"), "not that of");
  // It granted itself nothing, and nothing was changed.
  refused("DELETE FROM " + s + "entries");
  expect_clean(place_.location());
}

// Such a role can write entries by its own member that break a rule. Everyone finds them.
TEST_F(PostgresRolesTest, AnOverspendByRawSqlIsFound) {
  const Head head = value_of(owner_->witness()).head;
  const TimeMs now =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  const std::string text = to_json(
      Entry{head.sequence + 1, now, ReserveEntry{"trial", "a", {}, to_json(pure(9)), "", {}, {{9}, 0}, {}, {}}, "ann"});
  const Digest hash = chain_hash(head.hash, text);
  const Head next = sign_head(ann_key(), head.ledger, head.epoch, head.sequence + 1, hash);
  const auto hex = [](std::span<const std::uint8_t> bytes) { return "'\\x" + to_hex(bytes) + "'"; };
  as(role_, "INSERT INTO noisefloor_ledger.entries VALUES (" + std::to_string(next.sequence) + ", '" + text + "', " +
                hex(hash) + "); UPDATE noisefloor_ledger.head SET sequence = " + std::to_string(next.sequence) +
                ", hash = " + hex(hash) + ", signature = " + hex(next.signature) +
                "; INSERT INTO noisefloor_ledger.signatures VALUES (" + std::to_string(next.sequence) + ", " +
                hex(next.signature) + ")");
  expect_error(Ledger::open_to_read(place_.location(), {}), ErrorCode::kVerificationFailed, "breaks a rule");
  expect_error(owner_->reserve(request("trial", "b", pure(0.5))), ErrorCode::kVerificationFailed, "breaks a rule");
}

TEST_F(PostgresRolesTest, AuditorsReadAndStrangersDoNot) {
  EXPECT_NE(run(other_, "SELECT * FROM noisefloor_ledger.entries").find("permission denied"), std::string::npos);
  NewRole eve{"eve", Role::kAuditor, key_of(9).public_key()};
  eve.database_role = other_;
  expect_good(owner_->add_role(eve));
  value_of(Ledger::open_to_read(place_.location_as(other_), {}));
  expect_clean(place_.location_as(other_));
  for (const char* table : {"entries", "head", "signatures", "answers", "sketches", "members", "format"}) {
    EXPECT_NE(run(other_, std::string("INSERT INTO noisefloor_ledger.") + table + " DEFAULT VALUES").find("denied"),
              std::string::npos)
        << table;
  }
}

TEST_F(PostgresRolesTest, ARevocationTakesTheRights) {
  expect_good(owner_->revoke_role("ann", "left"));
  EXPECT_NE(run(role_, "SELECT * FROM noisefloor_ledger.entries").find("permission denied"), std::string::npos);
}

TEST_F(PostgresRolesTest, RefusesRolesThatGetPastAnyRule) {
  NewRole bob{"bob", Role::kAnalyst, bob_key().public_key(), {"trial"}};
  bob.database_role = "postgres";
  expect_error(owner_->add_role(bob), ErrorCode::kInvalidArgument, "gets past any rule");
  bob.database_role = "nobody_of_this_name";
  expect_error(owner_->add_role(bob), ErrorCode::kInvalidArgument, "CREATE ROLE");
  bob.database_role = role_;
  expect_error(owner_->add_role(bob), ErrorCode::kInvalidArgument, "writes for the member 'ann' already");
  bob.database_role = other_ + "\"; DROP SCHEMA noisefloor_ledger CASCADE; --";
  expect_error(owner_->add_role(bob), ErrorCode::kInvalidArgument, "CREATE ROLE");
  // Nothing of a refused role was written.
  bob.database_role = "";
  expect_good(owner_->add_role(bob));
  expect_clean(place_.location());
}

TEST(DatabaseRoles, AFileHasNone) {
  const LedgerPlace place(Backend::kSqlite);
  const auto owner = value_of(Ledger::create(place.location(), owner_key(), {}));
  NewRole eve{"eve", Role::kAuditor, key_of(9).public_key()};
  eve.database_role = "eve";
  expect_error(owner->add_role(eve), ErrorCode::kInvalidArgument, "only a ledger in PostgreSQL");
  expect_clean(place.location());
}

}  // namespace
}  // namespace noisefloor
