// Attacks on exposures: they are repeated, retired away, declared public, deleted, and moved to another name of the
// same rows.
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <sqlite3.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/ledger_pieces.h"
#include "tests/support/ledger_place.h"

namespace noisefloor {
namespace {

using testing::Backend;
using testing::expect_clean;
using testing::expect_error;
using testing::expect_good;
using testing::LedgerPlace;
using testing::pure;
using testing::request;
using testing::terms;
using testing::value_of;

constexpr std::array<std::uint8_t, 32> kSeed{4, 2};

class ExposuresTest : public ::testing::TestWithParam<Backend> {
 protected:
  ExposuresTest() : place_(GetParam()) {
    if (!place_.is_there()) return;
    ledger_ = value_of(Ledger::create(place_.location(), SigningKey::from_seed(kSeed), {}));
    add("patients", 1);
    add("others", 2);
    (void)value_of(ledger_->add_dataset({"open", blake2b("open"), std::nullopt}, rows(3)));
  }
  void SetUp() override {
    if (!place_.is_there()) GTEST_SKIP() << "no PostgreSQL server: run through ctest";
  }

  [[nodiscard]] std::unique_ptr<Ledger> open() const {
    return value_of(Ledger::open(place_.location(), SigningKey::from_seed(kSeed), {}));
  }
  [[nodiscard]] RowSketch rows(int first, int count = 200) const {
    RowSketcher sketcher(value_of(ledger_->row_key()));
    for (int i = 0; i < count; ++i) sketcher.add_record(std::to_string(first * 100'000 + i));
    return std::move(sketcher).finish();
  }
  void add(const std::string& name, int first, const std::string& same_as = {}) {
    NewDataset dataset{name, blake2b(name), std::nullopt, same_as};
    if (same_as.empty()) dataset.budget = terms(name, 1, 0, Rule::kBasic);
    ASSERT_TRUE(granted(value_of(ledger_->add_dataset(dataset, rows(first)))).has_value());
  }
  static ExposureEntry exposure(const std::string& dataset, const std::string& key,
                                ExposureKind kind = ExposureKind::kTraining) {
    return {dataset, kind, blake2b(key), key, "a test"};
  }
  [[nodiscard]] std::vector<std::uint64_t> exposures_of(const std::string& budget, std::uint64_t before = UINT64_MAX) {
    std::vector<std::uint64_t> entries;
    expect_good(ledger_->read([&](const LedgerState& state) -> Result<void> {
      for (const LedgerState::Exposure& one : state.exposures_of(budget, before)) entries.push_back(one.entry);
      return success();
    }));
    return entries;
  }
  [[nodiscard]] std::uint64_t entries() {
    std::uint64_t count = 0;
    expect_good(ledger_->read([&](const LedgerState& state) -> Result<void> {
      count = state.next_sequence();
      return success();
    }));
    return count;
  }

  LedgerPlace place_;
  std::unique_ptr<Ledger> ledger_;
};
INSTANTIATE_TEST_SUITE_P(Sqlite, ExposuresTest, ::testing::Values(Backend::kSqlite));
INSTANTIATE_TEST_SUITE_P(Postgres, ExposuresTest, ::testing::Values(Backend::kPostgres));

TEST_P(ExposuresTest, AreKeptOnceCostNothingAndVerify) {
  const std::uint64_t first = value_of(ledger_->expose(exposure("patients", "run-1")));
  const std::uint64_t count = entries();
  EXPECT_EQ(value_of(ledger_->expose(exposure("patients", "run-1"))), first);
  EXPECT_EQ(entries(), count) << "the same exposure was written twice";
  // Any difference makes another one.
  EXPECT_NE(value_of(ledger_->expose(exposure("patients", "run-2"))), first);
  EXPECT_NE(value_of(ledger_->expose(exposure("patients", "run-1", ExposureKind::kSweep))), first);
  EXPECT_NE(value_of(ledger_->expose(exposure("others", "run-1"))), first);
  EXPECT_EQ(exposures_of("patients").size(), 3U);
  EXPECT_EQ(exposures_of("others").size(), 1U);
  EXPECT_EQ(exposures_of("patients", first), std::vector<std::uint64_t>());
  EXPECT_EQ(exposures_of("patients", first + 1), std::vector<std::uint64_t>{first});
  EXPECT_EQ(value_of(ledger_->budget("patients")).account.spent_share(), 0);
  ledger_ = open();
  EXPECT_EQ(exposures_of("patients").size(), 3U) << "they are read back";
  expect_clean(place_.location());
}

// Somebody exposes the rows under another name, or has a part of the budget certified: the same budget pays in the end.
TEST_P(ExposuresTest, BelongToAllThatTheSameBudgetPaysFor) {
  add("copy", 1, "patients");
  BudgetTerms part = terms("part", 0.5, 0, Rule::kBasic, "patients");
  expect_good(ledger_->create_budget(part));
  const std::uint64_t of_copy = value_of(ledger_->expose(exposure("copy", "run")));
  EXPECT_EQ(exposures_of("patients"), std::vector<std::uint64_t>{of_copy});
  EXPECT_EQ(exposures_of("part"), std::vector<std::uint64_t>{of_copy});
  EXPECT_TRUE(exposures_of("others").empty());
}

TEST_P(ExposuresTest, AreOfPrivateDatasetsThatAreOpen) {
  const std::uint64_t before = entries();
  expect_error(ledger_->expose(exposure("nobody", "run")), ErrorCode::kInvalidArgument, "no dataset 'nobody'");
  expect_error(ledger_->expose(exposure("open", "run")), ErrorCode::kInvalidArgument, "is public");
  expect_error(ledger_->expose(exposure("patients", "")), ErrorCode::kInvalidArgument, "the key");
  EXPECT_EQ(entries(), before);
  (void)value_of(ledger_->expose(exposure("patients", "run")));
  add("copy", 1, "patients");
  expect_good(ledger_->retire_dataset("patients", "consent was withdrawn"));
  expect_error(ledger_->expose(exposure("patients", "run-2")), ErrorCode::kBudgetExhausted, "consent was withdrawn");
  expect_error(ledger_->expose(exposure("patients", "run")), ErrorCode::kBudgetExhausted, "consent was withdrawn");
  expect_error(ledger_->expose(exposure("copy", "run-2")), ErrorCode::kBudgetExhausted, "consent was withdrawn");
  EXPECT_EQ(exposures_of("patients").size(), 1U) << "what was seen stays seen";
}

TEST_P(ExposuresTest, RememberTheModelsThatCameOfThem) {
  const Digest model = blake2b("model");
  const std::uint64_t run = value_of(ledger_->expose(exposure("patients", "run")));
  expect_error(ledger_->keep_exposed(run + 1, model), ErrorCode::kInvalidArgument, "no exposure");
  expect_good(ledger_->keep_exposed(run, model));
  const std::uint64_t count = entries();
  expect_good(ledger_->keep_exposed(run, model));
  EXPECT_EQ(entries(), count);
  expect_good(ledger_->keep_exposed(run, blake2b("the same run, on other hardware")));
  ledger_ = open();
  expect_good(ledger_->read([&](const LedgerState& state) -> Result<void> {
    EXPECT_EQ(state.exposure_that_made(blake2b("another")), nullptr);
    const LedgerState::Exposure* const found = state.exposure_that_made(model);
    EXPECT_TRUE(found != nullptr && found->entry == run);
    return success();
  }));
  expect_clean(place_.location());
}

TEST_P(ExposuresTest, FindTheOwnerOfRowsThatAreTakenAsPublic) {
  const std::uint64_t before = entries();
  EXPECT_EQ(value_of(ledger_->private_owner(rows(1))), "patients");
  EXPECT_EQ(value_of(ledger_->private_owner(rows(2, 60))), "others") << "some of the rows";
  EXPECT_EQ(value_of(ledger_->private_owner(rows(3))), std::nullopt) << "rows of a public dataset";
  EXPECT_EQ(value_of(ledger_->private_owner(rows(4))), std::nullopt);
  EXPECT_EQ(entries(), before) << "asking writes nothing";
  expect_good(ledger_->retire_dataset("others", "consent was withdrawn"));
  EXPECT_EQ(value_of(ledger_->private_owner(rows(2))), "others") << "rows of a retired dataset are no more public";
}

// Rules that whoever holds the key could not get around by writing entries with another program.
TEST(ExposureRules, AreTheStatesOwn) {
  LedgerState state;
  const auto apply = [&](EntryBody body) { return state.apply({state.next_sequence(), 1, std::move(body)}); };
  expect_good(apply(GenesisEntry{}));
  expect_good(apply(BudgetEntry{terms("b", 1, 0, Rule::kBasic), {}}));
  expect_good(apply(DatasetEntry{"d", {}, "b", "", "", blake2b("1"), blake2b("1")}));
  expect_good(apply(DatasetEntry{"p", {}, "", "", "", blake2b("2"), blake2b("2")}));
  const ExposureEntry good{"d", ExposureKind::kTraining, blake2b("x"), "run", ""};
  expect_good(apply(good));
  expect_error(apply(good), ErrorCode::kInvalidArgument, "entry 4 has recorded");
  ExposureEntry other = good;
  other.dataset = "p";
  expect_error(apply(other), ErrorCode::kInvalidArgument, "is public");
  other.dataset = "x";
  expect_error(apply(other), ErrorCode::kInvalidArgument, "no dataset");
  expect_error(apply(ExposedEntry{3, blake2b("m")}), ErrorCode::kInvalidArgument, "no exposure 3");
  expect_good(apply(ExposedEntry{4, blake2b("m")}));
  expect_error(apply(ExposedEntry{4, blake2b("m")}), ErrorCode::kInvalidArgument, "has this model");
  expect_good(apply(RetireEntry{"d", "over"}));
  other = good;
  other.key = "run-2";
  expect_error(apply(other), ErrorCode::kBudgetExhausted, "over");
  expect_good(apply(ExposedEntry{4, blake2b("a run that began before")}));
  EXPECT_EQ(state.exposures().size(), 1U);
}

class ExposureFiles : public ::testing::Test {
 protected:
  ExposureFiles() : place_(Backend::kSqlite) {
    auto ledger = value_of(Ledger::create(place_.location(), SigningKey::from_seed(kSeed), {}));
    RowSketcher sketcher(value_of(ledger->row_key()));
    for (int i = 0; i < 100; ++i) sketcher.add_record(std::to_string(i));
    (void)value_of(ledger->add_dataset({"patients", blake2b("p"), terms("patients", 1, 0, Rule::kBasic)},
                                       std::move(sketcher).finish()));
    before_ = place_.path("before");
    ledger.reset();
    std::filesystem::copy_file(place_.location(), before_);
    ledger = open();
    exposure_ = value_of(ledger->expose({"patients", ExposureKind::kTraining, blake2b("x"), "run", ""}));
    (void)value_of(ledger->reserve(request("patients", "use", pure(0.5))));
  }
  [[nodiscard]] std::unique_ptr<Ledger> open() const {
    return value_of(Ledger::open(place_.location(), SigningKey::from_seed(kSeed), {}));
  }
  void execute(const std::string& sql) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(place_.location().c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  [[nodiscard]] static int version_of(const std::string& file) {
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
    int version = 0;
    const auto take = [](void* into, int, char** values, char**) {
      *static_cast<int*>(into) = std::stoi(values[0]);
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(db, "PRAGMA user_version", take, &version, nullptr), SQLITE_OK);
    sqlite3_close(db);
    return version;
  }

  LedgerPlace place_;
  std::string before_;
  std::uint64_t exposure_ = 0;
};

// An older program would not know what the entries mean: it refuses the store by its version.
TEST_F(ExposureFiles, RaiseTheVersionOfTheStore) {
  EXPECT_LT(version_of(before_), 4);
  EXPECT_EQ(version_of(place_.location()), 4);
}

TEST_F(ExposureFiles, CannotBeDeletedOrRewordedWithoutATrace) {
  execute("DROP TRIGGER IF EXISTS entries_do_not_change; DROP TRIGGER IF EXISTS entries_do_not_go");
  execute("UPDATE entries SET text = replace(text, 'training without noise', 'sweep without noise') WHERE sequence = " +
          std::to_string(exposure_));
  EXPECT_FALSE(value_of(verify_ledger(place_.location(), {})).findings.empty());
  execute("DELETE FROM entries WHERE sequence = " + std::to_string(exposure_));
  EXPECT_FALSE(value_of(verify_ledger(place_.location(), {})).findings.empty());
}

// The ledger as it was before the exposure is put back.
TEST_F(ExposureFiles, AreNotForgottenByAnOlderCopy) {
  for (const char* more : {"-wal", "-shm"}) std::filesystem::remove(place_.location() + more);
  std::filesystem::copy_file(before_, place_.location(), std::filesystem::copy_options::overwrite_existing);
  const auto ledger = open();
  EXPECT_FALSE(ledger->reserve(request("patients", "use", pure(0.5))).has_value());
}

}  // namespace
}  // namespace noisefloor
