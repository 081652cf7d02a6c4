// Rows are recognised whether they come as a CSV file, as a table of several, or in a database.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>

#include "noisefloor/dataset/inspection.h"
#include "noisefloor/dataset/records.h"
#include "noisefloor/dataset/registry.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/replay_engine.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::value_of;

class TablesRowsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ledger_ = value_of(Ledger::create(folder_.path("a.ledger"), SigningKey::from_seed({1}), {}));
    testing::ReplayEngine random(1);
    std::string visits = "vid,pid,cost\n";
    std::string table = "CREATE TABLE visits(vid INTEGER, pid TEXT, cost REAL);";
    std::string patients = "pid,age\n";
    table += "CREATE TABLE patients(pid TEXT, age INTEGER);";
    for (int i = 0; i < 400; ++i) {
      const std::uint64_t cost = random() % 100'000;
      visits += fmt::format("{},p{},{}.{:02}\n", i + 1, i % 60, cost / 100, cost % 100);
      table += fmt::format("INSERT INTO visits VALUES({},'p{}',{}.{:02});", i + 1, i % 60, cost / 100, cost % 100);
    }
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t age = random() % 90;
      patients += fmt::format("p{},{}\n", i, age);
      table += fmt::format("INSERT INTO patients VALUES('p{}',{});", i, age);
    }
    std::ofstream(folder_.path("visits.csv")) << visits;
    std::ofstream(folder_.path("patients.csv")) << patients;
    std::ofstream(folder_.path("drugs.csv")) << "code,class\n1,a\n2,b\n";
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(folder_.path("hospital.db").c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, table.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
  }

  [[nodiscard]] static DatasetDescription csv(const std::string& name) {
    CsvTable table;
    table.schema.outcome = LabelColumn{"cost", {"0", "1"}};
    return with_budget({.name = name, .format = table, .files = TextFile{"visits.csv"}});
  }
  [[nodiscard]] static DatasetDescription tables(const std::string& name, bool database, bool public_visits = false) {
    TablesFormat format;
    DescribedTable visits{.name = "visits", .place = database ? "visits" : "visits.csv", .is_public = public_visits};
    visits.columns = {{.name = "cost", .type = engine::Type::kNumber}};
    visits.unit = UnitPath{"pid"};
    DescribedTable patients{.name = "patients", .place = database ? "patients" : "patients.csv"};
    patients.columns = {{.name = "age", .type = engine::Type::kInteger}};
    patients.unit = UnitPath{"pid"};
    format.tables = {visits, patients};
    if (database) {
      format.locations = {"hospital.db"};
    } else {
      DescribedTable drugs{.name = "drugs", .place = "drugs.csv", .is_public = true};
      drugs.columns = {{.name = "class"}};
      format.tables.push_back(drugs);
    }
    return with_budget({.name = name, .format = format, .files = TextFile{}, .unit = {PrivacyUnit::kPerson, "pid", 1}});
  }
  [[nodiscard]] static DatasetDescription with_budget(DatasetDescription description) {
    description.budget = DatasetBudget{description.name, Epsilon::of(1), Delta::of(0)};
    return description;
  }
  [[nodiscard]] DatasetOutcome add(const DatasetDescription& description) const {
    return value_of(add_dataset(*ledger_, description, folder_.path("")));
  }
  void expect_owner(const DatasetDescription& description, const std::string& owner) const {
    const DatasetOutcome outcome = add(description);
    const auto* conflict = std::get_if<DatasetConflict>(&outcome);
    ASSERT_NE(conflict, nullptr);
    EXPECT_EQ(conflict->owner, owner);
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<Ledger> ledger_;
};

TEST_F(TablesRowsTest, ACsvFileIsKnownWhenItComesBackAsATable) {
  ASSERT_TRUE(granted(add(csv("visits"))).has_value());
  expect_owner(tables("hospital", false), "visits");
  expect_owner(tables("hospital", true), "visits");
}

TEST_F(TablesRowsTest, ATableIsKnownWhenItComesBackAsACsvFile) {
  ASSERT_TRUE(granted(add(tables("hospital", false))).has_value());
  expect_owner(csv("visits"), "hospital");
}

TEST_F(TablesRowsTest, ADatabaseIsKnownWhenItComesBackAsFiles) {
  ASSERT_TRUE(granted(add(tables("hospital", true))).has_value());
  expect_owner(csv("visits"), "hospital");
  expect_owner(tables("other", false), "hospital");
  // The files are the database's rows to the last one.
  const Secret32 key;
  EXPECT_EQ(value_of(sketch_rows(key, tables("a", false), folder_.path(""))).fingerprint,
            value_of(sketch_rows(key, tables("b", true), folder_.path(""))).fingerprint);
}

TEST_F(TablesRowsTest, PublicTablesBelongToNobody) {
  ASSERT_TRUE(granted(add(tables("hospital", false))).has_value());
  TablesFormat drugs;
  drugs.tables = {{.name = "codes", .place = "drugs.csv", .columns = {{.name = "class"}}}};
  EXPECT_TRUE(granted(add(with_budget({.name = "drugs", .format = drugs, .files = TextFile{}}))).has_value());
}

TEST_F(TablesRowsTest, PrivateRowsDoNotBecomePublicByADescription) {
  ASSERT_TRUE(granted(add(csv("visits"))).has_value());
  for (const char* name : {"visits", "hospital"}) {
    expect_error(claim_dataset(*ledger_, tables(name, true, true), folder_.path("")), ErrorCode::kBudgetExhausted,
                 "declares public holds rows of the private dataset 'visits'");
    expect_error(add_dataset(*ledger_, tables(name, false, true), folder_.path("")), ErrorCode::kBudgetExhausted,
                 "declares public");
  }
}

TEST_F(TablesRowsTest, TheSameRowsWithoutUnitsAreRefused) {
  ASSERT_TRUE(granted(add(tables("hospital", true))).has_value());
  DatasetDescription rows = tables("hospital", true);
  rows.unit = {};
  const DatasetOutcome outcome = value_of(claim_dataset(*ledger_, rows, folder_.path("")));
  const auto* conflict = std::get_if<DatasetConflict>(&outcome);
  ASSERT_NE(conflict, nullptr);
  EXPECT_EQ(conflict->kind, DatasetConflict::Kind::kOtherPerson);
}

TEST_F(TablesRowsTest, AnInspectionCountsRowsThatAreNobodys) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(folder_.path("hospital.db").c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "UPDATE visits SET pid = NULL WHERE vid <= 2", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  const RowInspection found = value_of(inspect_rows({tables("hospital", true), folder_.path("")}));
  EXPECT_EQ(found.records, 460U);
  EXPECT_EQ(found.nulls, 2U);
  ASSERT_EQ(found.first.size(), 2U);
  EXPECT_NE(found.first[0].find("has no 'pid'"), std::string::npos) << found.first[0];
}

}  // namespace
}  // namespace noisefloor
