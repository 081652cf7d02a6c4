#include <fmt/format.h>

#include "noisefloor/config/pipeline_check_run.h"
#include "noisefloor/config/training_sections.h"

namespace noisefloor::internal {
namespace {

constexpr double kLargeDelta = 1e-3;

}  // namespace

BudgetKeys read_budget_section(const toml::table& table, BudgetOf owner, Findings& findings) {
  SectionReader reader(table, "[budget]", findings);
  BudgetKeys keys;
  reader.text("name", keys.name);
  reader.quantity("epsilon", keys.epsilon);
  reader.quantity("delta", keys.delta);
  reader.choice("adjacency", names_of<Adjacency>(Adjacency::kAddRemove, Adjacency::kReplaceOne), keys.adjacency);
  if (owner == BudgetOf::kDataset) {  // its budget cannot be planned: nobody knows its uses yet
    reader.choice("rule", names_of<Rule>(Rule::kBasic, Rule::kRdp, Rule::kZcdp, Rule::kApproxDp), keys.rule);
  }
  reader.finish();
  if (!keys.epsilon.stated()) {
    reader.missing("epsilon_missing", "epsilon",
                   "add epsilon = …, the most that all uses of this budget may cost together");
  }
  if (!keys.delta.stated()) reader.missing("delta_missing", "delta", "add delta = …, well below 1/rows");
  check_size(keys.epsilon, findings);
  if (keys.delta.has() && keys.delta.value->value() >= kLargeDelta) {
    findings.warning("delta_large", keys.delta.place,
                     fmt::format("delta = {:g} allows publishing one record in {:.0f} outright",
                                 keys.delta.value->value(), 1 / keys.delta.value->value()),
                     "choose a delta well below 1/rows: 1e-5 for some ten thousand rows");
  }
  return keys;
}

BudgetKeys budget_of(const DataSection& data) {
  const DatasetBudget& budget = *data.data.dataset->budget;
  const Place place = data.dataset_place;
  return {{budget.name, place},
          {budget.epsilon, place},
          {budget.delta, place},
          {budget.adjacency, place},
          {budget.rule, place}};
}

}  // namespace noisefloor::internal
