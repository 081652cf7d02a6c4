// Attacks on datasets in the ledger: they are renamed, changed, united, declared public, retired, restored and raced
// for.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/faulty_vfs.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/ledger_place.h"
#include "tests/support/replay_engine.h"

namespace noisefloor {
namespace {

using testing::expect_clean;
using testing::expect_error;
using testing::expect_good;
using testing::LedgerPlace;
using testing::pure;
using testing::request;
using testing::terms;
using testing::text_of;
using testing::value_of;
using Kind = DatasetConflict::Kind;
using Rows = std::vector<std::string>;

constexpr std::array<std::uint8_t, 32> kSeed{4, 2};

Rows people(std::size_t count, std::uint64_t seed) {
  testing::ReplayEngine random(seed);
  Rows rows;
  for (std::size_t i = 0; i < count; ++i) rows.push_back(std::to_string(random()));
  return rows;
}

Rows joined(Rows a, const Rows& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

RowSketch sketch(const Ledger& ledger, const Rows& rows) {
  RowSketcher sketcher(value_of(ledger.row_key()));
  for (const std::string& row : rows) sketcher.add_record(row);
  return std::move(sketcher).finish();
}

class LedgerWithDatasets {
 protected:
  explicit LedgerWithDatasets(testing::Setting setting) : place_(setting) {
    if (place_.is_there()) {
      ledger_ = testing::new_ledger(path(), SigningKey::from_seed(kSeed), {}, setting.by_member);
    }
  }

  [[nodiscard]] const std::string& path() const { return place_.location(); }
  [[nodiscard]] std::unique_ptr<Ledger> open() const {
    return value_of(Ledger::open(path(), SigningKey::from_seed(kSeed), {}));
  }

  Result<DatasetOutcome> add(const std::string& name, const Rows& rows, const std::string& same_as = {}) {
    NewDataset dataset{name, blake2b(name), std::nullopt, same_as};
    if (same_as.empty()) dataset.budget = terms(name, 1, 0, Rule::kBasic);
    return ledger_->add_dataset(dataset, sketch(*ledger_, rows));
  }
  Result<DatasetOutcome> add_public(const std::string& name, const Rows& rows) {
    return ledger_->add_dataset({name, blake2b(name), std::nullopt}, sketch(*ledger_, rows));
  }
  Result<DatasetOutcome> claim(const std::string& name, const Rows& rows, bool is_public = false) {
    return ledger_->claim_dataset({name, blake2b(name), is_public}, sketch(*ledger_, rows));
  }
  [[nodiscard]] std::uint64_t entries() {
    std::uint64_t count = 0;
    expect_good(ledger_->read([&](const LedgerState& state) -> Result<void> {
      count = state.next_sequence() - (state.members().size() - 1);  // without the entry of a role
      return success();
    }));
    return count;
  }

  LedgerPlace place_;
  std::unique_ptr<Ledger> ledger_;
};

class DatasetsTest : public ::testing::TestWithParam<testing::Setting>, protected LedgerWithDatasets {
 protected:
  DatasetsTest() : LedgerWithDatasets(GetParam()) {}
  void SetUp() override {
    if (!place_.is_there()) GTEST_SKIP() << "no PostgreSQL server: run through ctest";
  }
};
INSTANTIATE_TEST_SUITE_P(Sqlite, DatasetsTest, ::testing::Values(testing::kAsOwner, testing::kAsMember));
INSTANTIATE_TEST_SUITE_P(Postgres, DatasetsTest,
                         ::testing::Values(testing::kAsOwnerOnPostgres, testing::kAsMemberOnPostgres));

// Attacks on the file.
class DatasetFilesTest : public ::testing::Test, protected LedgerWithDatasets {
 protected:
  DatasetFilesTest() : LedgerWithDatasets(testing::kAsOwner) {}
};

DatasetGrant expect_granted(const Result<DatasetOutcome>& outcome) {
  EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
  if (!outcome.has_value()) return {};
  const auto* conflict = std::get_if<DatasetConflict>(&outcome.value());
  EXPECT_EQ(conflict, nullptr) << to_error(*conflict).message;
  return conflict == nullptr ? std::get<DatasetGrant>(outcome.value()) : DatasetGrant{};
}

void expect_conflict(const Result<DatasetOutcome>& outcome, Kind kind, const std::string& owner) {
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  const auto* conflict = std::get_if<DatasetConflict>(&outcome.value());
  ASSERT_NE(conflict, nullptr) << "the ledger granted what it should refuse";
  EXPECT_EQ(conflict->kind, kind) << to_error(*conflict).message;
  EXPECT_EQ(conflict->owner, owner);
  EXPECT_FALSE(granted(outcome.value()).has_value());
}

// If persons could be told apart by another column later (a number of the row, say), the guarantee would protect rows
// and say "person".
TEST_P(DatasetsTest, WhoseRowsTheyAreDoesNotChange) {
  const RowSketch rows = sketch(*ledger_, people(200, 1));
  const Digest digest = blake2b("a");
  const NewDataset patients{"patients", digest, terms("patients", 1, 0, Rule::kBasic), "", "patient"};
  (void)expect_granted(ledger_->add_dataset(patients, rows));
  (void)expect_granted(ledger_->add_dataset({"copy", digest, std::nullopt, "patients", "patient"}, rows));
  const std::uint64_t before = entries();
  for (const auto& [dataset, person] :
       {std::pair("patients", "visit"), std::pair("patients", ""), std::pair("copy", "id")}) {
    expect_conflict(ledger_->claim_dataset({dataset, digest, false, person}, rows), Kind::kOtherPerson, "");
  }
  EXPECT_EQ(entries(), before);
  (void)expect_granted(open()->claim_dataset({"patients", digest, false, "patient"}, rows));
  (void)expect_granted(open()->claim_dataset({"copy", digest, false, "patient"}, rows));
  const DatasetConflict rows_alone{.kind = Kind::kOtherPerson, .dataset = "visits"};
  EXPECT_NE(to_error(rows_alone).message.find("protects single rows of 'visits'"), std::string::npos);
  const DatasetConflict other{.kind = Kind::kOtherPerson, .dataset = "patients", .person = "patient"};
  EXPECT_NE(to_error(other).message.find("told apart by the column 'patient'"), std::string::npos);
}

TEST_P(DatasetsTest, ADeclaredCopyProtectsWhatTheBudgetCounts) {
  const RowSketch rows = sketch(*ledger_, people(200, 1));
  const Digest digest = blake2b("a");
  const NewDataset patients{"patients", digest, terms("patients", 1, 0, Rule::kBasic), "", "patient"};
  (void)expect_granted(ledger_->add_dataset(patients, rows));
  const RowSketch other_rows = sketch(*ledger_, people(200, 2));
  (void)expect_granted(
      ledger_->add_dataset({"visits", digest, terms("visits", 1, 0, Rule::kBasic), "", ""}, other_rows));
  const std::uint64_t before = entries();
  for (const char* const person : {"", "id"}) {
    expect_conflict(ledger_->add_dataset({"copy", digest, std::nullopt, "patients", person}, rows), Kind::kOtherPerson,
                    "");
  }
  expect_conflict(ledger_->add_dataset({"copy", digest, std::nullopt, "visits", "id"}, other_rows), Kind::kOtherPerson,
                  "");
  EXPECT_EQ(entries(), before);
  (void)expect_granted(ledger_->add_dataset({"copy", digest, std::nullopt, "patients", "patient"}, rows));
  (void)expect_granted(ledger_->add_dataset({"other copy", digest, std::nullopt, "visits", ""}, other_rows));
}

TEST_P(DatasetsTest, SpendsFromTheBudgetOfTheDataset) {
  const Rows rows = people(200, 1);
  const DatasetGrant added = expect_granted(add("patients", rows));
  EXPECT_TRUE(added.new_budget);
  const std::uint64_t before = entries();
  const DatasetGrant claimed = expect_granted(claim("patients", rows));
  EXPECT_EQ(claimed.budget, "patients");
  EXPECT_FALSE(claimed.new_rows);
  EXPECT_EQ(entries(), before);
  EXPECT_TRUE(ledger_->reserve(request(claimed.budget, "k", pure(0.5))).has_value());
  expect_clean(path());
}

TEST_P(DatasetsTest, RefusesAnUnknownDataset) {
  expect_conflict(claim("patients", people(200, 1)), Kind::kUnknown, "");
  EXPECT_EQ(entries(), 1U);
}

TEST_P(DatasetsTest, RefusesARenamedCopyAndWritesNothing) {
  const Rows rows = people(2'000, 1);
  expect_granted(add("patients", rows));
  const std::uint64_t before = entries();
  Rows copy(rows.rbegin(), rows.rend());
  expect_conflict(add("copy", copy), Kind::kOtherDataset, "patients");
  expect_conflict(add("fewer", Rows(rows.begin(), rows.begin() + 1'000)), Kind::kOtherDataset, "patients");
  expect_conflict(add("more", joined(rows, people(2'000, 2))), Kind::kOtherDataset, "patients");
  expect_conflict(add("half", joined(Rows(rows.begin(), rows.begin() + 1'000), people(1'000, 3))), Kind::kOtherDataset,
                  "patients");
  EXPECT_EQ(entries(), before);
  EXPECT_EQ(value_of(ledger_->budget("patients")).terms->name, "patients");
  expect_error(ledger_->budget("copy"), ErrorCode::kInvalidArgument, "there is no budget");
  expect_granted(add("others", people(2'000, 4)));
  expect_clean(path());
}

TEST_P(DatasetsTest, LetsADeclaredCopyShareTheBudget) {
  const Rows rows = people(500, 1);
  expect_granted(add("patients", rows));
  const DatasetGrant alias = expect_granted(add("copy", rows, "patients"));
  EXPECT_EQ(alias.budget, "patients");
  EXPECT_FALSE(alias.new_budget);
  const Reservation first =
      value_of(ledger_->reserve(request(expect_granted(claim("patients", rows)).budget, "1", pure(0.6))));
  EXPECT_GT(first.sequence(), 0U);
  expect_error(ledger_->reserve(request(expect_granted(claim("copy", rows)).budget, "2", pure(0.6))),
               ErrorCode::kBudgetExhausted, "does not allow");
  // The refusal of a third name tells the owner, not the copy.
  expect_conflict(add("third", rows), Kind::kOtherDataset, "patients");
}

TEST_P(DatasetsTest, TreatsAUnionAsRowsOfBothDatasets) {
  const Rows a = people(1'000, 1);
  const Rows b = people(1'000, 2);
  expect_granted(add("a", a));
  expect_granted(add("b", b));
  expect_conflict(add("union", joined(a, b)), Kind::kOtherDataset, "a");
  expect_conflict(add("union", joined(a, b), "a"), Kind::kOtherDataset, "b");
  expect_conflict(claim("a", joined(a, b)), Kind::kOtherDataset, "b");
}

TEST_P(DatasetsTest, RemembersNewRowsOfADataset) {
  const Rows first = people(1'000, 1);
  const Rows second = people(1'000, 2);
  expect_granted(add("patients", first));
  EXPECT_TRUE(expect_granted(claim("patients", second)).new_rows);
  EXPECT_FALSE(expect_granted(claim("patients", second)).new_rows);
  expect_conflict(add("copy", second), Kind::kOtherDataset, "patients");
  expect_conflict(add("copy", first), Kind::kOtherDataset, "patients");
  expect_clean(path());
}

TEST_P(DatasetsTest, RefusesPrivateRowsDeclaredPublic) {
  const Rows rows = people(1'000, 1);
  expect_granted(add("patients", rows));
  expect_conflict(add_public("open", rows), Kind::kDeclaredPublic, "patients");
  expect_conflict(claim("patients", rows, true), Kind::kNotPublic, "");
  const Rows reference = people(1'000, 2);
  EXPECT_EQ(expect_granted(add_public("reference", reference)).budget, "");
  EXPECT_EQ(expect_granted(claim("reference", reference, true)).budget, "");
  expect_conflict(claim("reference", rows, true), Kind::kDeclaredPublic, "patients");
  // To declare the rows public first and private later does not help.
  expect_granted(add("later", reference));
  expect_conflict(claim("reference", reference, true), Kind::kDeclaredPublic, "later");
}

TEST_P(DatasetsTest, RefusesUsesOfARetiredDatasetAndSaysWhy) {
  const Rows rows = people(1'000, 1);
  expect_granted(add("patients", rows));
  expect_granted(add("copy", rows, "patients"));
  expect_good(ledger_->create_budget(terms("part", 0.25, 0, Rule::kBasic, "patients")));
  expect_good(ledger_->retire_dataset("patients", "consent expired"));
  for (const char* budget : {"patients", "part"}) {
    const std::string message =
        expect_error(ledger_->reserve(request(budget, "k", pure(0.1))), ErrorCode::kBudgetExhausted, "consent expired");
    EXPECT_EQ(message.find("would fit"), std::string::npos) << message;
  }
  expect_conflict(claim("patients", rows), Kind::kRetired, "patients");
  expect_conflict(claim("copy", rows), Kind::kRetired, "patients");
  expect_conflict(add("again", rows), Kind::kRetired, "patients");
  expect_error(add("again", rows, "patients"), ErrorCode::kBudgetExhausted, "consent expired");
  expect_error(add("patients", rows), ErrorCode::kInvalidArgument, "already");
  expect_error(ledger_->retire_dataset("patients", "twice"), ErrorCode::kBudgetExhausted, "consent expired");
  expect_error(ledger_->create_budget(terms("late part", 0.25, 0, Rule::kBasic, "patients")),
               ErrorCode::kBudgetExhausted, "consent expired");
  expect_clean(path());
}

TEST_P(DatasetsTest, RetiresASharedNameAlone) {
  const Rows rows = people(1'000, 1);
  expect_granted(add("patients", rows));
  expect_granted(add("copy", rows, "patients"));
  expect_good(ledger_->retire_dataset("copy", "no longer used"));
  expect_conflict(claim("copy", rows), Kind::kRetired, "copy");
  expect_granted(claim("patients", rows));
}

TEST_P(DatasetsTest, GivesAnExistingBudgetToADataset) {
  expect_good(ledger_->create_budget(terms("trial", 1, 0, Rule::kBasic)));
  ASSERT_TRUE(ledger_->reserve(request("trial", "k", pure(0.9))).has_value());
  const Rows rows = people(1'000, 1);
  const DatasetGrant grant = expect_granted(add("trial", rows));
  EXPECT_FALSE(grant.new_budget);
  expect_error(ledger_->reserve(request("trial", "2", pure(0.5))), ErrorCode::kBudgetExhausted, "0.1");
  NewDataset other{"other", blake2b("x"), terms("trial", 1, 0, Rule::kBasic)};
  expect_error(ledger_->add_dataset(other, sketch(*ledger_, people(100, 9))), ErrorCode::kInvalidArgument,
               "belongs to the dataset 'trial'");
  expect_good(ledger_->create_budget(terms("small", 0.5, 0, Rule::kBasic)));
  expect_error(ledger_->add_dataset({"small", blake2b("x"), terms("small", 50, 0, Rule::kBasic)},
                                    sketch(*ledger_, people(100, 9))),
               ErrorCode::kInvalidArgument, "has epsilon 0.5");
}

// The whole budget has paid for whatever a part of it pays for.
TEST_P(DatasetsTest, LetsPartsOfOneBudgetUseTheSameRows) {
  const Rows rows = people(1'000, 1);
  expect_granted(add("patients", rows));
  NewDataset team{"team", blake2b("team"), terms("team", 0.25, 0, Rule::kBasic, "patients")};
  EXPECT_EQ(expect_granted(ledger_->add_dataset(team, sketch(*ledger_, rows))).budget, "team");
  expect_error(ledger_->reserve(request("patients", "k", pure(0.8))), ErrorCode::kBudgetExhausted, "0.75");
  expect_clean(path());
}

// A refused dataset must not leave the budget that would have been made for it.
TEST_P(DatasetsTest, WritesNothingForARefusedDataset) {
  expect_granted(add("patients", people(100, 1)));
  const std::uint64_t before = entries();
  NewDataset twice{"patients", blake2b("x"), terms("second", 1, 0, Rule::kBasic)};
  expect_error(ledger_->add_dataset(twice, sketch(*ledger_, people(100, 2))), ErrorCode::kInvalidArgument, "already");
  EXPECT_EQ(entries(), before);
}

TEST_F(DatasetFilesTest, SealsSketchesAndKeepsThemOutOfEntries) {
  const Rows rows = people(1'000, 1);
  const RowSketch plain = sketch(*ledger_, rows);
  expect_granted(add("patients", rows));
  std::string history;
  expect_good(ledger_->history(0, [&](const StoredEntry& entry) -> Result<void> {
    history += entry.text + "\n";
    return success();
  }));
  EXPECT_LT(history.size(), 3'000U);
  ledger_.reset();
  std::string file = testing::content_of(path());
  if (std::filesystem::exists(path() + "-wal")) file += testing::content_of(path() + "-wal");
  const std::string bytes = to_bytes(plain);
  EXPECT_EQ(file.find(bytes.substr(0, 8)), std::string::npos);
  for (const SampledRow& row : plain.sample) {
    const std::string hash(reinterpret_cast<const char*>(&row.hash), sizeof row.hash);
    ASSERT_EQ(file.find(hash), std::string::npos);
  }
}

TEST_F(DatasetFilesTest, FindsAlteredOrMissingSketchesAndGrantsNothing) {
  expect_granted(add("patients", people(1'000, 1)));
  ledger_.reset();
  const auto execute = [&](const char* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  };
  const auto finding = [&] { return text_of(value_of(verify_ledger(path(), {}))); };
  execute("CREATE TABLE saved AS SELECT * FROM sketches; UPDATE sketches SET sketch = zeroblob(1000)");
  EXPECT_NE(finding().find("was altered"), std::string::npos) << finding();
  ledger_ = open();
  expect_error(add("copy", people(1'000, 1'000)), ErrorCode::kVerificationFailed, "was altered");
  ledger_.reset();
  execute("DELETE FROM sketches");
  EXPECT_NE(finding().find("is gone"), std::string::npos) << finding();
  ledger_ = open();
  expect_error(add("copy", people(1'000, 1'000)), ErrorCode::kVerificationFailed, "is gone");
  ledger_.reset();
  // Makes the store look like version 1, which has no sketches.
  execute("INSERT INTO sketches SELECT * FROM saved; DROP TABLE saved; PRAGMA user_version = 1");
  ledger_ = open();
  expect_error(add("copy", people(1'000, 1'000)), ErrorCode::kVerificationFailed, "is gone");
  ledger_.reset();
  execute("PRAGMA user_version = 2; INSERT INTO sketches VALUES (0, x'00')");
  EXPECT_NE(finding().find("no entry of a dataset"), std::string::npos) << finding();
  execute("DELETE FROM sketches WHERE entry = 0");
  expect_clean(path());
}

TEST_F(DatasetFilesTest, RemembersDatasetsInARestoredLedger) {
  const std::string copy = place_.path("backup");
  ledger_.reset();
  std::filesystem::copy_file(path(), copy);
  ledger_ = open();
  const Rows rows = people(1'000, 1);
  expect_granted(add("patients", rows));
  ledger_.reset();
  std::filesystem::remove(path() + "-wal");
  std::filesystem::remove(path() + "-shm");
  std::filesystem::copy_file(copy, path(), std::filesystem::copy_options::overwrite_existing);
  ledger_ = open();
  expect_error(add("copy", rows), ErrorCode::kVerificationFailed, "rolled back");
}

TEST_P(DatasetsTest, GrantsTheRowsToOneOfTwoProcesses) {
  const Rows rows = people(2'000, 1);
  ledger_.reset();
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ledger_ = open();
      Rows own = rows;
      std::shuffle(own.begin(), own.end(), testing::ReplayEngine(static_cast<std::uint64_t>(i)));
      const Result<DatasetOutcome> outcome = add("name " + std::to_string(i), own);
      ::_exit(!outcome.has_value() ? 2 : std::holds_alternative<DatasetGrant>(outcome.value()) ? 0 : 1);
    }
    children.push_back(child);
  }
  int won = 0;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 2);
    won += WEXITSTATUS(status) == 0 ? 1 : 0;
  }
  EXPECT_EQ(won, 1);
  expect_clean(path());
}

TEST_P(DatasetsTest, RefusesDatasetsWithoutTheKey) {
  const auto looking = value_of(Ledger::open_to_read(path(), {}));
  EXPECT_FALSE(looking->row_key().has_value());
  expect_error(looking->claim_dataset({"x", blake2b("x")}, sketch(*ledger_, people(10, 1))),
               ErrorCode::kInvalidArgument, "reading only");
}

TEST(DatasetEntries, HaveOneTextEach) {
  Digest digest;
  digest.fill(0xab);
  const std::vector<Entry> entries{
      {1, 5, DatasetEntry{"a \"b\"", digest, "budget", "", "", digest, digest}},
      {1, 5, DatasetEntry{"a", digest, "budget", "b", "patient \"id\"", digest, digest}},
      {1, 5, DatasetEntry{"a", digest, "", "", "", digest, digest}},
      {1, 5, ContentEntry{"a", digest, digest, digest}},
      {1, 5, RetireEntry{"a", "consent expired"}},
  };
  for (const Entry& entry : entries) {
    const std::string text = to_json(entry);
    EXPECT_EQ(to_json(value_of(parse_entry(text))), text);
    for (std::size_t at = 0; at < text.size(); ++at) {
      for (const std::string& changed :
           {text.substr(0, at) + " " + text.substr(at), text.substr(0, at) + text.substr(at + 1)}) {
        const Result<Entry> read = parse_entry(changed);
        if (read.has_value()) {
          ASSERT_EQ(to_json(read.value()), changed);
        }
      }
    }
  }
  EXPECT_EQ(to_json(entries[4]),
            R"({"sequence":1,"time":5,"entry":"retire","dataset":"a","reason":"consent expired"})");
}

}  // namespace
}  // namespace noisefloor
