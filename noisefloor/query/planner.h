// From the text of a query to a plan: what is measured, how far one unit moves it, and what follows from the noised
// numbers. No table is read.
//
//   NF_TRY(const Plan plan, plan_query(policy, "SELECT dept, count(*) FROM visits GROUP BY dept", {}));
//
// Guarantee:     the plan, its canonical text and every refusal are functions of the policy, the text and the options.
//                Text of the query never becomes SQL: names are looked up, and constants are values. What is not
//                understood is refused with one line that states the reason and the remedy. Integer arithmetic is
//                proved to stay within 64 bits, and sums below 2^63, from public bounds alone.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/query/plan.h"
#include "noisefloor/query/policy.h"

namespace noisefloor::query {

// What an analyst states beside the query. It may only tighten what the owner's policy allows.
struct PlanOptions {
  std::optional<std::uint64_t> max_groups = {};
  std::optional<std::uint64_t> max_rows_per_group = {};
  std::optional<std::uint64_t> max_rows_per_unit = {};
  // Bounds of a column, as "cost" or "visits.cost", or of a column of a subquery by its name there.
  std::map<std::string, std::pair<double, double>> bounds = {};
};

[[nodiscard]] Result<Plan> plan_query(const DescribedTables& policy, std::string_view statement,
                                      const PlanOptions& options);

}  // namespace noisefloor::query
