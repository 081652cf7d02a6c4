#include "noisefloor/dataset/inspection.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "noisefloor/dataset/registry.h"
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

// The attack: a description with other classes and another name asks for exact counts, for free and without a trace.
TEST(Inspection, IsOnRecordWhereTheLedgerKnowsTheRows) {
  const testing::TemporaryFolder folder;
  const auto ledger = value_of(Ledger::create(folder.path("l.ledger"), SigningKey::generate(), {}));
  CsvTable table;
  table.schema.features = {NumericColumn{.name = "age", .lower = 0, .upper = 100}};
  table.schema.outcome = LabelColumn{"sick", {"no", "yes"}};
  DescribedRows rows{{.name = "patients",
                      .format = table,
                      .files = TextFile{"patients.csv"},
                      .budget = DatasetBudget{"patients", Epsilon::of(1), Delta::of(0)}},
                     folder.path("")};
  std::string text = "id,age,sick\n";
  for (int i = 0; i < 100; ++i) text += fmt::format("{},{},{}\n", i, 20 + i % 50, i % 3 == 0 ? "yes" : "no");
  std::ofstream(folder.path("patients.csv")) << text;
  EXPECT_EQ(value_of(record_inspection(*ledger, rows)), std::nullopt) << "the ledger does not know these rows";
  ASSERT_TRUE(granted(value_of(add_dataset(*ledger, rows.description, rows.folder))).has_value());
  const std::optional<std::uint64_t> first = value_of(record_inspection(*ledger, rows));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(value_of(record_inspection(*ledger, rows)), first) << "the same look is one entry";
  rows.description.name = "others";
  std::get<LabelColumn>(std::get<CsvTable>(rows.description.format).schema.outcome).classes = {"no", "perhaps"};
  const std::optional<std::uint64_t> second = value_of(record_inspection(*ledger, rows));
  ASSERT_TRUE(second.has_value());
  EXPECT_NE(second, first);
  testing::expect_good(ledger->read([&](const LedgerState& state) -> Result<void> {
    EXPECT_EQ(state.exposures_of("patients", UINT64_MAX).size(), 2U);
    return success();
  }));
}

}  // namespace
}  // namespace noisefloor
