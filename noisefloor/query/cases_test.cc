// Runs all cases of noisefloor/query/cases: each query becomes the plan that its file states, or is refused as it says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/query/planner.h"
#include "tests/support/query_cases.h"

namespace noisefloor::query {
namespace {

using noisefloor::testing::QueryCase;

std::string decimal(Uint128 n) {
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(n % 10)));
    n /= 10;
  } while (n != 0);
  return digits;
}

std::string joined(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ", ")); }

std::string_view name_of(Quantity::Kind kind) {
  static constexpr std::string_view names[] = {"count", "units", "distinct", "sum", "quantile"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view name_of(Derived::Kind kind) {
  static constexpr std::string_view names[] = {"mean", "var_pop", "var_samp", "stddev_pop", "stddev_samp"};
  return names[static_cast<std::size_t>(kind)];
}

// What the plan says about a fact, in the form of the case files.
std::string fact_of(const Plan& plan, const std::string& name) {
  std::vector<std::string> parts;
  if (name == "keys") {
    for (const KeyColumn& key : plan.keys) parts.push_back(key.label + (key.is_public ? " public" : " private"));
  } else if (name == "private") {
    return plan.private_keys ? "yes" : "no";
  } else if (name == "groups") {
    return plan.measurement.listed.has_value() ? fmt::format("{}", plan.measurement.listed->size()) : "unknown";
  } else if (name == "most groups") {
    return fmt::format("{}", plan.max_groups);
  } else if (name == "l1") {
    for (const Quantity& each : plan.quantities)
      parts.push_back(fmt::format("{} {}", name_of(each.kind), decimal(each.l1)));
  } else if (name == "l2") {
    for (const Quantity& each : plan.quantities) parts.push_back(fmt::format("{} {:.6g}", name_of(each.kind), each.l2));
  } else if (name == "each group") {
    for (const Quantity& each : plan.quantities)
      parts.push_back(fmt::format("{} {}", name_of(each.kind), each.per_group));
  } else if (name == "step") {
    for (const Quantity& each : plan.quantities) parts.push_back(fmt::format("{:g}", each.step));
  } else if (name == "levels") {
    for (const Quantity& each : plan.quantities) parts.push_back(fmt::format("{:g}", each.level));
  } else if (name == "labels") {
    for (const Quantity& each : plan.quantities) parts.push_back(each.label);
  } else if (name == "hidden") {
    for (const Quantity& each : plan.quantities)
      if (each.hidden) parts.push_back(each.label);
  } else if (name == "derived") {
    for (const Derived& each : plan.derived) parts.push_back(std::string(name_of(each.kind)));
  } else if (name == "outputs") {
    for (const OutputColumn& each : plan.outputs) parts.push_back(each.name);
  } else if (name == "groupings") {
    for (const auto& each : plan.groupings) parts.push_back(fmt::format("[{}]", fmt::join(each, " ")));
  } else if (name == "bounded by") {
    const engine::Bounding& b = plan.measurement.bounding;
    if (b.max_groups.has_value()) parts.push_back(fmt::format("groups {}", *b.max_groups));
    if (b.max_rows_per_group.has_value()) parts.push_back(fmt::format("rows of a group {}", *b.max_rows_per_group));
    if (b.max_rows.has_value()) parts.push_back(fmt::format("rows {}", *b.max_rows));
    if (plan.measurement.one_row_per_unit) parts.emplace_back("one row a unit");
    if (!plan.measurement.unit.has_value()) parts.emplace_back("rows are units");
  } else if (name == "after noise") {
    if (plan.having.has_value()) parts.emplace_back("having");
    if (!plan.order.empty()) parts.emplace_back("order");
    if (plan.limit.has_value()) parts.push_back(fmt::format("limit {}", *plan.limit));
    if (plan.offset != 0) parts.push_back(fmt::format("offset {}", plan.offset));
  } else if (name == "explain") {
    return plan.explain ? "yes" : "no";
  } else {
    ADD_FAILURE() << "a plan has no fact '" << name << "'";
  }
  return parts.empty() ? "none" : joined(parts);
}

class Cases : public ::testing::Test {
 protected:
  static const std::vector<QueryCase>& all() {
    static const auto* const cases =
        new std::vector<QueryCase>(noisefloor::testing::read_all_query_cases(NOISEFLOOR_QUERY_CASES));
    return *cases;
  }
};

TEST_F(Cases, BecomeWhatTheirFilesState) {
  std::map<std::string, std::string> canonical;  // by file and name
  EXPECT_GT(all().size(), 40U);
  for (const QueryCase& each : all()) {
    SCOPED_TRACE(fmt::format("{}:{}: {}\n{}", each.file, each.line, each.name, each.text));
    ASSERT_FALSE(each.facts.empty()) << "state plan: or refused:";
    const Result<Plan> plan = plan_query(each.policy, each.text, each.options);
    if (each.facts[0].first == "refused") {
      EXPECT_FALSE(plan.has_value()) << "it was understood: " << plan.value().canonical;
      if (plan.has_value()) continue;
      EXPECT_NE(plan.error().message.find(each.facts[0].second), std::string::npos) << plan.error().message;
      EXPECT_EQ(plan.error().message.find('\n'), std::string::npos) << plan.error().message;
      continue;
    }
    EXPECT_TRUE(plan.has_value()) << plan.error().message;
    if (!plan.has_value()) continue;
    canonical[each.file + ":" + each.name] = plan.value().canonical;
    for (const auto& [name, value] : each.facts) {
      if (name == "plan") continue;
      if (name == "note") {
        const std::string notes = joined(plan.value().notes);
        EXPECT_NE(notes.find(value), std::string::npos) << notes;
      } else if (name == "same as" || name == "differs from") {
        const auto other = canonical.find(each.file + ":" + value);
        ASSERT_NE(other, canonical.end()) << "there is no case '" << value << "' above";
        if (name == "same as")
          EXPECT_EQ(plan.value().canonical, other->second);
        else
          EXPECT_NE(plan.value().canonical, other->second);
      } else {
        EXPECT_EQ(fact_of(plan.value(), name), value) << "the fact '" << name << "' of " << plan.value().canonical;
      }
    }
  }
}

TEST_F(Cases, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const QueryCase& each : all())
    EXPECT_TRUE(names.insert(each.file + ":" + each.name).second) << each.file << ": " << each.name;
}

}  // namespace
}  // namespace noisefloor::query
