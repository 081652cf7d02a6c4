#include "noisefloor/config/tables_starter.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <sstream>

#include "noisefloor/config/dataset_file.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

std::string text_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string replaced(std::string text, std::string_view part, std::string_view other) {
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += other.size()) {
    text.replace(at, part.size(), other);
  }
  return text;
}

TEST(TablesStarter, IsForDatabasesAndForSeveralFiles) {
  for (const char* place : {"a.db", "a.sqlite3", "b.duckdb", "postgresql://h/d", "host=a dbname=b", "c.parquet"}) {
    EXPECT_TRUE(are_tables({place})) << place;
  }
  EXPECT_FALSE(are_tables({"visits.csv"}));
  EXPECT_TRUE(are_tables({"visits.csv", "patients.csv"}));
}

TEST(TablesStarter, DescribesTheTablesOfADatabase) {
  const testing::TemporaryFolder folder;
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(folder.path("Hospital.db").c_str(), &db), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(db,
                   "CREATE TABLE patients(pid INTEGER PRIMARY KEY, age INTEGER, zip TEXT);"
                   "CREATE TABLE visits(vid INTEGER PRIMARY KEY, pid INTEGER REFERENCES patients(pid), cost REAL);"
                   "INSERT INTO patients VALUES(1, 98712, 'secret');",
                   nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_close(db);
  const auto made = write_tables_starter({{folder.path("Hospital.db")}, "", folder.path("")});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made.value().tables, 2U);
  EXPECT_EQ(made.value().columns, 6U);
  const std::string text = text_of(folder.path("hospital.toml"));
  EXPECT_TRUE(holds(text, "engine = \"sqlite\"\nfile = \"Hospital.db\"")) << text;
  EXPECT_TRUE(holds(text, "refers_to = \"patients.pid\"")) << text;
  EXPECT_FALSE(holds(text, "98712")) << text;
  EXPECT_FALSE(holds(text, "secret")) << text;
  // It cannot be used before it is filled in, and can be used then.
  EXPECT_FALSE(read_dataset(text).description.has_value());
  const std::string filled =
      replaced(replaced(replaced(text, "column = \"FILL IN\"", "column = \"pid\""), "lower = \"FILL IN\"", "lower = 0"),
               "upper = \"FILL IN\"", "upper = 9");
  const DatasetText read = read_dataset(filled);
  ASSERT_TRUE(read.description.has_value()) << read.findings.front().message;
  const auto& tables = std::get<TablesFormat>(read.description->format).tables;
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_TRUE(tables[0].one_row_per_unit);
  EXPECT_FALSE(tables[1].one_row_per_unit);
  // Nothing is overwritten.
  EXPECT_FALSE(write_tables_starter({{folder.path("Hospital.db")}, "", folder.path("")}).has_value());
}

TEST(TablesStarter, DescribesSeveralFiles) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.path("patients.csv")) << "pid;age\np1;30\n";
  std::ofstream(folder.path("Visit Costs.csv")) << "pid,cost,day\np1,4.5,2026-01-01\n";
  const auto made = write_tables_starter(
      {{folder.path("patients.csv"), folder.path("Visit Costs.csv")}, "hospital", folder.path("made")});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  const std::string text = text_of(folder.path("made/hospital.toml"));
  EXPECT_TRUE(holds(text, "name = \"visit_costs\"\nfile = \"../Visit Costs.csv\"")) << text;
  EXPECT_TRUE(holds(text, "separator = \";\"")) << text;
  EXPECT_FALSE(holds(text, "4.5")) << text;
}

TEST(TablesStarter, WritesNoPassword) {
  for (const char* place : {"postgresql://me:geheim@host/d", "host=a dbname=b password=geheim"}) {
    const auto made = write_tables_starter({{place}, "", "."});
    ASSERT_FALSE(made.has_value());
    EXPECT_FALSE(holds(made.error().message, "geheim"));
    EXPECT_TRUE(holds(made.error().message, "pgpass"));
  }
}

}  // namespace
}  // namespace noisefloor
