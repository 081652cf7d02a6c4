#include "noisefloor/dataset/described_tables.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/ledger_pieces.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_error;

DatasetDescription a_csv() {
  CsvTable csv;
  csv.format.separator = ';';
  csv.schema.missing = {"", "?"};
  csv.schema.features = {NumericColumn{.name = "age", .lower = 0, .upper = 120, .missing = 40},
                         NumericColumn{.name = "dose", .lower = -0.25, .upper = 0.5},
                         CategoricalColumn{.name = "sex", .values = {"F", "M"}}};
  csv.schema.outcome = LabelColumn{"ill", {"no", "yes"}};
  return {.name = "Visits 2026",
          .format = csv,
          .files = TextFile{"visits.csv.gz"},
          .unit = {PrivacyUnit::kPerson, "patient", 3},
          .budget = DatasetBudget{"visits", Epsilon::of(1), Delta::of(0)}};
}

TEST(DescribedTables, ACsvFileIsOneTable) {
  const TablesFormat format = tables_of(a_csv()).value();
  ASSERT_EQ(format.tables.size(), 1U);
  const DescribedTable& table = format.tables[0];
  EXPECT_EQ(table.name, "visits_2026");
  EXPECT_EQ(table.place, "visits.csv.gz");
  EXPECT_TRUE(is_csv_file(format, table));
  EXPECT_EQ(table.separator, ';');
  EXPECT_EQ(table.missing, (std::vector<std::string>{"", "?"}));
  EXPECT_EQ(table.unit->column, "patient");
  EXPECT_EQ(table.max_rows_per_unit, 3U);
  EXPECT_EQ(table.max_groups, 3U);
  ASSERT_EQ(table.columns.size(), 5U);
  EXPECT_EQ(table.columns[0].missing, 40);
  // Whole numbers are on the grid, and the larger bound has 2^20 steps.
  EXPECT_EQ(table.columns[0].step, 128.0 / (1 << 20));
  EXPECT_EQ(table.columns[1].step, 0.5 / (1 << 20));
  EXPECT_EQ(table.columns[2].values, (std::vector<std::string>{"F", "M"}));
  EXPECT_EQ(table.columns[3].name, "ill");
  EXPECT_EQ(table.columns[4].name, "patient");
  EXPECT_FALSE(table.columns[4].values.has_value());
}

TEST(DescribedTables, RowsAreUnitsOfTheirOwn) {
  DatasetDescription rows = a_csv();
  rows.unit = {};
  const TablesFormat format = tables_of(rows).value();
  EXPECT_FALSE(format.tables[0].unit.has_value());
  EXPECT_EQ(format.tables[0].columns.size(), 4U);
}

TEST(DescribedTables, LargeNumbersHaveWholeSteps) {
  DatasetDescription rows = a_csv();
  std::get<NumericColumn>(std::get<CsvTable>(rows.format).schema.features[0]).upper = 1e12;
  EXPECT_EQ(tables_of(rows).value().tables[0].columns[0].step, 1.0);
}

TEST(DescribedTables, RefusesWhatIsNoTable) {
  DatasetDescription text = a_csv();
  text.format = LibsvmOptions{};
  expect_error(tables_of(text), ErrorCode::kInvalidArgument, "holds no tables");
  DatasetDescription blocks = a_csv();
  blocks.blocks = BlockTerms{BlockKind::kDate, "day", BlockPeriod::kMonth, 1};
  expect_error(tables_of(blocks), ErrorCode::kInvalidArgument, "reads all rows");
}

TEST(DescribedTables, LooksForColumnsInTheFirstLineOfAFile) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.path("visits.csv")) << "Age;sex\n1;F\n";
  TablesFormat format;
  format.tables = {{.name = "visits", .place = "visits.csv", .columns = {{.name = "age"}, {.name = "sex"}}}};
  format.tables[0].separator = ';';
  EXPECT_TRUE(check_catalogue(format, folder.path("")).has_value());
  format.tables[0].unit = UnitPath{"sexx"};
  expect_error(check_catalogue(format, folder.path("")), ErrorCode::kInvalidArgument, "did you mean 'sex'?");
}

TEST(DescribedTables, ASourceHasTheUnitsOwnColumnAlone) {
  TablesFormat format{.engine = engine::EngineKind::kPostgresql, .locations = {"host=a", "host=b"}, .tables = {}};
  format.tables = {{.name = "visits", .place = "s.visits", .columns = {{.name = "age"}}, .unit = UnitPath{"pid"}},
                   {.name = "items", .place = "items", .unit = UnitPath{"vid", "visits", "vid"}}};
  const engine::Source source = source_of(format, "/data");
  EXPECT_EQ(source.folder, "/data");
  EXPECT_EQ(source.tables[0].unit, "pid");
  EXPECT_EQ(source.tables[0].place, "s.visits");
  EXPECT_EQ(source.tables[1].unit, "");
  EXPECT_TRUE(files_of(format).empty());
}

}  // namespace
}  // namespace noisefloor
