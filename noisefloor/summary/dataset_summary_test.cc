#include "noisefloor/summary/dataset_summary.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "noisefloor/dataset/registry.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/summary_reading.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::expect_good;
using testing::expect_says;
using testing::fields_of;
using testing::names_of;
using testing::says;
using testing::value_of;
using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

class DatasetSummaryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ledger_ = value_of(Ledger::create(folder_.path("a.ledger"), SigningKey::from_seed({1}), {}));
    write("patients.csv", 1);
    write("open.csv", 7);
  }
  void write(const std::string& name, int step) const {
    std::string rows = "id,age\n";
    for (int i = 0; i < 300; ++i) {
      rows += std::to_string(step * 1'000'000 + i) + "," + std::to_string(i % 90) + "\n";
    }
    std::ofstream(folder_.path(name)) << rows;
  }
  DatasetGrant add(const std::string& name, bool is_public, const std::string& file, const std::string& same_as = {}) {
    CsvTable table;
    table.schema.outcome = LabelColumn{"age", {"0", "1"}};
    DatasetDescription description{.name = name, .format = table, .files = TextFile{file}};
    if (!is_public) description.budget = DatasetBudget{name, Epsilon::of(1), Delta::of(0)};
    return value_of(granted(value_of(add_dataset(*ledger_, description, folder_.path(""), same_as))));
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<Ledger> ledger_;
};

TEST_F(DatasetSummaryTest, AnAddedDatasetSaysWhatPaysForIt) {
  const DatasetGrant grant = add("patients", false, "patients.csv");
  const Summary added = value_of(summary_of_added(*ledger_, grant, {"a.ledger", "a.ledger.key", true}));
  expect_says(added, "Dataset patients\n");
  expect_says(added, "  use       budget 'patients'\n");
  expect_says(added, "  total     epsilon 1, delta 0, add-remove of one row\n");
  expect_says(added, "  left      epsilon 1 and delta 0\n");
  expect_says(added, "  contents  1 seen\n");
  expect_says(added, "A new ledger 'a.ledger' with the key 'a.ledger.key'");
  expect_says(added, "Everything that uses these rows spends from this budget, under any name.\n");
  const Json fields = fields_of(added);
  EXPECT_EQ(names_of(fields), (Names{"dataset", "ledger", "new_ledger", "new_budget"}));
  EXPECT_EQ(names_of(fields["dataset"]),
            (Names{"name", "public", "description", "contents_seen", "retired", "budget"}));
  EXPECT_EQ(fields["dataset"]["budget"]["left"], "epsilon 1 and delta 0");
  EXPECT_EQ(fields["new_budget"], true);
}

TEST_F(DatasetSummaryTest, SharedRowsSaySo) {
  (void)add("patients", false, "patients.csv");
  const DatasetGrant grant = add("copy", false, "patients.csv", "patients");
  const Summary added = value_of(summary_of_added(*ledger_, grant, {"a.ledger", "a.ledger.key", false}));
  expect_says(added, "  rows      shared with 'patients'\n");
  expect_says(added, "  use       budget 'patients'\n");
  EXPECT_FALSE(says(added, "Everything that uses these rows"));
  const Json fields = fields_of(added);
  EXPECT_EQ(fields["dataset"]["same_as"], "patients");
  EXPECT_EQ(fields["dataset"]["budget"]["name"], "patients");
  EXPECT_EQ(fields["new_budget"], false);
}

TEST_F(DatasetSummaryTest, NamesWhatHasLookedAtTheRowsWithoutNoise) {
  (void)add("patients", false, "patients.csv");
  (void)add("copy", false, "patients.csv", "patients");
  const std::uint64_t entry =
      value_of(ledger_->expose({"copy", ExposureKind::kTraining, blake2b("x"), "without-noise", ""}));
  for (const char* name : {"patients", "copy"}) {
    const Summary shown = value_of(summary_of_dataset(*ledger_, name));
    expect_says(shown, "  exposed   training without noise, 'without-noise' (entry " + std::to_string(entry) + ", ");
    const Json exposures = fields_of(shown)["dataset"]["exposures"];
    ASSERT_EQ(exposures.size(), 1U);
    EXPECT_EQ(exposures[0]["kind"], "training without noise");
  }
}

TEST_F(DatasetSummaryTest, ARetiredDatasetHasNothingLeft) {
  (void)add("patients", false, "patients.csv");
  expect_good(ledger_->retire_dataset("patients", "consent expired"));
  const Summary retired = value_of(summary_of_retired(*ledger_, "patients"));
  expect_says(retired, "Dataset patients is retired\n");
  expect_says(retired, "retired: consent expired\n");
  EXPECT_FALSE(says(retired, "  left "));
  EXPECT_EQ(fields_of(retired)["dataset"]["retired"], "consent expired");
  expect_error(summary_of_retired(*ledger_, "others"), ErrorCode::kInvalidArgument, "'patients'");
}

TEST_F(DatasetSummaryTest, ListsAll) {
  const Summary none = value_of(summary_of_datasets(*ledger_, "a.ledger"));
  expect_says(none, "Datasets of a.ledger\nThere are none: `dataset add` adds one.\n");
  EXPECT_EQ(fields_of(none)["datasets"], Json::array());
  (void)add("patients", false, "patients.csv");
  (void)add("open", true, "open.csv");
  const Summary both = value_of(summary_of_datasets(*ledger_, "a.ledger"));
  expect_says(both, "  patients  budget 'patients'\n");
  expect_says(both, "  open      public: costs nothing\n");
  EXPECT_FALSE(says(both, "There are none"));
  const Json fields = fields_of(both);
  ASSERT_EQ(fields["datasets"].size(), 2U);
  EXPECT_EQ(fields["datasets"][1]["public"], true);
  EXPECT_FALSE(fields["datasets"][1].contains("budget"));
}

TEST_F(DatasetSummaryTest, OneThatIsUnknownIsRefusedWithTheNamesThereAre) {
  (void)add("patients", false, "patients.csv");
  EXPECT_EQ(fields_of(value_of(summary_of_dataset(*ledger_, "patients")))["dataset"]["name"], "patients");
  expect_error(summary_of_dataset(*ledger_, "others"), ErrorCode::kInvalidArgument, "'patients'");
}

}  // namespace
}  // namespace noisefloor
