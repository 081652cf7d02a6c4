#include "noisefloor/dataset/description.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace noisefloor {
namespace {

DatasetDescription patients() {
  CsvTable table;
  table.schema.features = {NumericColumn{"age", 0, 120}, CategoricalColumn{"sex", {"f", "m"}}};
  table.schema.outcome = LabelColumn{"ill", {"no", "yes"}};
  return {.name = "patients",
          .format = table,
          .files = TextFile{"patients.csv"},
          .budget = DatasetBudget{"patients", Epsilon::of(3), Delta::of(1e-6)}};
}

TEST(DatasetDescription, KeepsItsDigestWhenAFileMoves) {
  DatasetDescription moved = patients();
  moved.files = TextFile{"elsewhere/p.csv.gz"};
  EXPECT_EQ(digest_of(moved), digest_of(patients()));
}

TEST(DatasetDescription, ChangesItsDigestWithEveryStatement) {
  using Change = std::function<void(DatasetDescription&)>;
  const auto schema = [](DatasetDescription& d) -> Schema& { return std::get<CsvTable>(d.format).schema; };
  const std::vector<Change> changes{
      [](DatasetDescription& d) { d.name = "other"; },
      [](DatasetDescription& d) { d.rows = 0; },
      [](DatasetDescription& d) { d.rows = 20'000; },
      [](DatasetDescription& d) { d.budget.reset(); },
      [](DatasetDescription& d) { d.budget->name = "b"; },
      [](DatasetDescription& d) { d.budget->epsilon = Epsilon::of(3.5); },
      [](DatasetDescription& d) { d.budget->delta = Delta::of(1e-7); },
      [](DatasetDescription& d) { d.budget->rule = Rule::kRdp; },
      [](DatasetDescription& d) { d.budget->adjacency = Adjacency::kReplaceOne; },
      [](DatasetDescription& d) { d.unit.unit = PrivacyUnit::kPerson; },
      [](DatasetDescription& d) { d.unit.person = "id"; },
      [](DatasetDescription& d) { d.unit.rows_per_person = 2; },
      [&](DatasetDescription& d) { schema(d).missing = {"?"}; },
      [&](DatasetDescription& d) { schema(d).group = "g"; },
      [&](DatasetDescription& d) { schema(d).features.pop_back(); },
      [&](DatasetDescription& d) { std::get<NumericColumn>(schema(d).features[0]).upper = 121; },
      [&](DatasetDescription& d) { std::get<NumericColumn>(schema(d).features[0]).missing = 0; },
      [&](DatasetDescription& d) {
        std::get<CategoricalColumn>(schema(d).features[1]).values = {"f", "m", "x"};
      },
      [&](DatasetDescription& d) { std::get<CategoricalColumn>(schema(d).features[1]).unlisted = Unlisted::kOther; },
      [&](DatasetDescription& d) {
        schema(d).outcome = TargetColumn{"ill", 0, 1};
      },
      [](DatasetDescription& d) { std::get<CsvTable>(d.format).format.separator = ';'; },
      [](DatasetDescription& d) { d.format = IdxFormat{10}; },
      [](DatasetDescription& d) {
        d.format = TextFormat{8, std::nullopt, ""};
      },
      [](DatasetDescription& d) {
        d.format = LibsvmOptions{4, {"-1", "1"}, 0, 1};
      },
  };
  std::vector<Digest> seen{digest_of(patients())};
  for (const Change& change : changes) {
    DatasetDescription changed = patients();
    change(changed);
    const Digest digest = digest_of(changed);
    for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_NE(digest, seen[i]) << seen.size() << " equals " << i;
    seen.push_back(digest);
  }
}

TEST(DatasetDescription, StatesItsBudgetForItsUnit) {
  DatasetDescription description = patients();
  description.unit = {PrivacyUnit::kPerson, "id", 5};
  const BudgetTerms terms = terms_of(description);
  EXPECT_EQ(terms.name, "patients");
  EXPECT_EQ(terms.unit, PrivacyUnit::kPerson);
  EXPECT_EQ(terms.epsilon, Epsilon::of(3));
}

}  // namespace
}  // namespace noisefloor
