#include "noisefloor/dataset/inspection.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/ledger_pieces.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::value_of;

TEST(Inspection, TellsTheCustodianWhatDoesNotFit) {
  const testing::TemporaryFolder folder;
  CsvTable table;
  table.schema.features = {NumericColumn{.name = "age", .lower = 0, .upper = 100}};
  table.schema.outcome = LabelColumn{"sick", {"0", "1"}};
  DescribedRows rows{{.name = "patients",
                      .format = table,
                      .files = TextFile{"patients.csv"},
                      .unit = {PrivacyUnit::kPerson, "id", 2},
                      .budget = DatasetBudget{"patients", Epsilon::of(1), Delta::of(0)}},
                     folder.path("")};
  std::string text = "id,age,sick\na,1,0\na,987,0\n,3,1\nb,x987,0\nb,4,9\n7\n";
  for (int i = 0; i < 30; ++i) text += "c,,1\n";
  std::ofstream(folder.path("patients.csv")) << text;
  const RowInspection found = value_of(inspect_rows(rows));
  EXPECT_EQ(found.records, 36U);
  EXPECT_EQ(found.nulls, 34U);
  ASSERT_EQ(found.first.size(), RowInspection::kMostTold);
  const std::vector<std::string> expected{":4: column 'id' must say", ":5: column 'age' must hold a decimal number",
                                          ":6: label column 'sick' must hold one of the 2 classes",
                                          ":7: expected 3 cells", ":8: column 'age' must hold a decimal number"};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NE(found.first[i].find(expected[i]), std::string::npos) << found.first[i];
    EXPECT_EQ(found.first[i].find("987"), std::string::npos) << "no cell is told: " << found.first[i];
  }
  rows.description.files = TextFile{"nothing.csv"};
  testing::expect_error(inspect_rows(rows), ErrorCode::kIo, "nothing.csv");
}

}  // namespace
}  // namespace noisefloor
