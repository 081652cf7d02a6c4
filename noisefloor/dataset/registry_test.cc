#include "noisefloor/dataset/registry.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>

#include "tests/support/ledger_pieces.h"
#include "tests/support/replay_engine.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::pure;
using testing::request;
using testing::value_of;

class RegistryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ledger_ = value_of(Ledger::create(folder_.path("a.ledger"), SigningKey::from_seed({1}), {}));
    testing::ReplayEngine random(1);
    std::string rows = "id,age\n";
    for (int i = 0; i < 300; ++i) rows += fmt::format("{},{}\n", random(), random() % 90);
    std::ofstream(folder_.path("patients.csv")) << rows;
    std::ofstream(folder_.path("copy.csv")) << rows;
  }
  [[nodiscard]] DatasetDescription described(const std::string& name, const std::string& file) const {
    CsvTable table;
    table.schema.outcome = LabelColumn{"age", {"0", "1"}};
    return {.name = name,
            .format = table,
            .files = TextFile{file},
            .budget = DatasetBudget{name, Epsilon::of(1), Delta::of(0)}};
  }
  [[nodiscard]] DatasetGrant claim(const DatasetDescription& description) {
    return value_of(granted(value_of(claim_dataset(*ledger_, description, folder_.path("")))));
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<Ledger> ledger_;
};

// The third use is refused under either name.
TEST_F(RegistryTest, SharesOneBudgetBetweenTwoNames) {
  const DatasetDescription patients = described("patients", "patients.csv");
  const DatasetDescription copy = described("copy", "copy.csv");
  ASSERT_TRUE(granted(value_of(add_dataset(*ledger_, patients, folder_.path("")))).has_value());
  const DatasetOutcome refused = value_of(add_dataset(*ledger_, copy, folder_.path("")));
  ASSERT_TRUE(std::holds_alternative<DatasetConflict>(refused));
  EXPECT_EQ(std::get<DatasetConflict>(refused).owner, "patients");
  ASSERT_TRUE(granted(value_of(add_dataset(*ledger_, copy, folder_.path(""), "patients"))).has_value());
  EXPECT_TRUE(ledger_->reserve(request(claim(patients).budget, "1", pure(0.4))).has_value());
  EXPECT_TRUE(ledger_->reserve(request(claim(copy).budget, "2", pure(0.4))).has_value());
  expect_error(ledger_->reserve(request(claim(copy).budget, "3", pure(0.4))), ErrorCode::kBudgetExhausted, "0.2");
}

TEST_F(RegistryTest, ChargesNothingForPublicDataAndSharesNothingWithThem) {
  DatasetDescription description = described("open", "patients.csv");
  description.budget.reset();
  expect_error(add_dataset(*ledger_, description, folder_.path(""), "x"), ErrorCode::kInvalidArgument, "public");
  ASSERT_TRUE(granted(value_of(add_dataset(*ledger_, description, folder_.path("")))).has_value());
  EXPECT_EQ(claim(description).budget, "");
}

}  // namespace
}  // namespace noisefloor
