// What the planner knows about a dataset: its described tables, whom it protects, and between which data sets.
//
// Guarantee:     a query is understood by this statement and its own text alone. A table or column that is not stated
//                does not exist: queries that name it are refused with one text, whether the engine has it or not.
// Requires:      that all tables of a dataset share one space of units: two rows belong to the same unit if, and only
//                if, their unit columns hold the same value.
// Thread safety: plain data; pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/dataset/tables.h"

namespace noisefloor::query {

struct DescribedTables {
  std::string dataset;
  TablesFormat tables;
  PrivacyUnit unit = PrivacyUnit::kPerson;
  Adjacency adjacency = Adjacency::kAddRemove;
};

// Finds a table by its name, exactly or else without regard to case. Null if there is none.
[[nodiscard]] const DescribedTable* find_table(const DescribedTables& policy, std::string_view name);
[[nodiscard]] const DescribedColumn* find_column(const DescribedTable& table, std::string_view name);

// The columns that lead from a table to the column that tells units apart: visits.pid; or lines.vid, visits.pid.
struct UnitStep {
  const DescribedTable* table;
  std::string column;  // of that table
  std::string refers;  // the column of the next table that it refers to; empty in the last step
};
// Empty for a table whose rows are units of their own. Refuses paths that do not end, or that contradict the dataset.
[[nodiscard]] Result<std::vector<UnitStep>> unit_path(const DescribedTables& policy, const DescribedTable& table);

// What is wrong with a description, if anything: unknown columns in paths and keys, bounds that are no interval.
[[nodiscard]] Result<void> check_policy(const DescribedTables& policy);

}  // namespace noisefloor::query
