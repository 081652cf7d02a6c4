// What a query measures, on neighbouring databases: one unit moves it by no more than its plan states, and rows of
// nobody do not move it. The cases' queries, and arbitrary ones, on arbitrary rows. Mutants show that each fault is
// seen.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/query_cases.h"
#include "tests/support/query_neighbours.h"
#include "tests/support/random_query.h"

namespace noisefloor::query {
namespace {

using namespace noisefloor::testing;  // NOLINT(google-build-using-namespace)
using engine::Measured;

const std::vector<QueryCase>& cases() {
  static const auto* const all = new std::vector<QueryCase>(read_all_query_cases(NOISEFLOOR_QUERY_CASES));
  return *all;
}

// The policies of all files, each with the name of its first case.
const std::vector<const QueryCase*>& policies() {
  static const auto* const list = [] {
    auto* found = new std::vector<const QueryCase*>;
    std::string last;
    for (const QueryCase& each : cases()) {
      std::string text = each.file;
      for (const DescribedTable& table : each.policy.tables.tables) {
        text += fmt::format(" {} {}", table.name, table.max_groups);
        for (const DescribedColumn& column : table.columns) text += " " + column.name;
      }
      if (text != last) found->push_back(&each);
      last = text;
    }
    return found;
  }();
  return *list;
}

// A fault that somebody could make: changes a plan, or couples units with each other. `change` says whether the plan
// has what the fault is about.
struct Mutant {
  std::string_view name;
  std::function<bool(Plan&)> change = [](Plan&) { return true; };
  bool couples_units = false;
};

struct Question {
  const DescribedTables* policy;
  std::string text;
  PlanOptions options = {};
};

std::optional<Plan> planned(const Question& question, Adjacency adjacency, const Mutant* mutant, std::uint64_t seed) {
  DescribedTables policy = *question.policy;
  policy.adjacency = adjacency;
  Result<Plan> plan = plan_query(policy, question.text, question.options);
  if (!plan) return std::nullopt;
  Choices choices(seed);
  for (std::uint8_t& byte : plan.value().measurement.order_key.bytes())
    byte = static_cast<std::uint8_t>(choices.below(256));
  if (mutant != nullptr && !mutant->change(plan.value())) return std::nullopt;
  return std::move(plan).value();
}

// A database, and what remains of it without one unit, another one, and the rows of nobody.
class World {
 public:
  World(const DescribedTables& policy, std::uint64_t seed) : policy_(policy) {
    RandomRows random(policy, seed);
    all_ = std::make_unique<Data>(random.tables(6, 20));
    const Owners owners(policy, all_->tables());
    const std::vector<Owners::Unit> units = owners.all();
    Choices choices(seed);
    one_ = units.at(choices.below(std::min<std::size_t>(units.size(), 3)));
    const Owners::Unit other = units.at(choices.below(units.size()));
    without_one_ = std::make_unique<Data>(without(all_->tables(), owners, one_));
    if (other != one_) without_other_ = std::make_unique<Data>(without(all_->tables(), owners, other));
    without_nobody_ = std::make_unique<Data>(without_rows_of_nobody(policy, all_->tables(), owners));
  }

  // What is wrong, if anything. Notes which kinds of quantities reach what is stated.
  std::string violation(const Question& question, const Mutant* mutant, std::uint64_t seed,
                        std::map<Quantity::Kind, std::size_t>* reached = nullptr) {
    const std::optional<Plan> plan = planned(question, Adjacency::kAddRemove, mutant, seed);
    if (!plan) return "";
    const bool couples = mutant != nullptr && mutant->couples_units;
    const Measured all = measured(*all_, question, mutant, seed, couples);
    const Measured less = measured(*without_one_, question, mutant, seed, couples);
    const Comparison removed = Comparing(*plan, all, less).result();
    for (std::size_t i = 0; reached != nullptr && i < removed.reached.size(); ++i) {
      if (removed.reached[i]) ++(*reached)[plan->quantities[i].kind];
    }
    if (!removed.violation.empty()) return "one unit less: " + removed.violation;
    if (!same_measured(all, measured(*without_nobody_, question, mutant, seed, false))) return "rows of nobody count";
    if (without_other_ == nullptr) return "";
    const std::optional<Plan> replacing = planned(question, Adjacency::kReplaceOne, mutant, seed);
    if (!replacing) return "";
    const Measured other = measured(*without_other_, question, mutant, seed, couples);
    const Comparison replaced = Comparing(*replacing, less, other).result();
    return replaced.violation.empty() ? "" : "another unit: " + replaced.violation;
  }

  // The rows that are left when as many are left out as the violation allows.
  std::string smallest(const Question& question, std::uint64_t seed) const {
    TextTables rows = all_->tables();
    const std::optional<Plan> plan = planned(question, Adjacency::kAddRemove, nullptr, seed);
    const auto is_wrong = [&](const TextTables& tables) {
      const Owners owners(policy_, tables);
      Data all(tables);
      Data less(without(tables, owners, one_));
      return !Comparing(*plan, all.measure(plan->measurement), less.measure(plan->measurement))
                  .result()
                  .violation.empty();
    };
    if (!is_wrong(rows)) return "";
    for (TextTable& table : rows) {
      for (std::size_t row = table.rows.size(); row-- > 0;) {
        const std::vector<std::string> kept = table.rows[row];
        table.rows.erase(table.rows.begin() + static_cast<std::ptrdiff_t>(row));
        if (!is_wrong(rows)) table.rows.insert(table.rows.begin() + static_cast<std::ptrdiff_t>(row), kept);
      }
    }
    std::string text;
    for (const TextTable& table : rows) text += table.rows.empty() ? "" : table.name + "\n" + csv_of(table);
    return text;
  }

 private:
  static Measured measured(Data& data, const Question& question, const Mutant* mutant, std::uint64_t seed,
                           bool couples) {
    // The order of one unit's rows must not depend on how many rows others have.
    const std::uint64_t key = couples ? seed + data.rows() : seed;
    return data.measure(planned(question, Adjacency::kAddRemove, mutant, key)->measurement);
  }

  const DescribedTables& policy_;
  std::unique_ptr<Data> all_;
  std::unique_ptr<Data> without_one_;
  std::unique_ptr<Data> without_other_;
  std::unique_ptr<Data> without_nobody_;
  Owners::Unit one_;
};

struct Tally {
  std::size_t asked = 0;
  std::size_t understood = 0;
  std::map<Quantity::Kind, std::size_t> reached;
};

// Arbitrary queries of every policy in turn. Twenty share a database.
void expect_no_violation(std::uint64_t seed, std::size_t count, Tally& tally) {
  constexpr std::size_t kShared = 20;
  for (std::size_t i = 0; i < count; i += kShared) {
    const DescribedTables& policy = policies()[i / kShared % policies().size()]->policy;
    World world(policy, seed + i);
    for (std::size_t k = i; k < std::min(count, i + kShared); ++k) {
      RandomQueries random(policy, seed + k);
      Question question{&policy, random.query(), {}};
      question.options = random.options();
      ++tally.asked;
      if (!plan_query(policy, question.text, question.options)) continue;
      ++tally.understood;
      const std::string violation = world.violation(question, nullptr, seed + k, &tally.reached);
      ASSERT_EQ(violation, "") << "seed " << seed + k << " on the rows of seed " << seed + i << "\n"
                               << question.text << "\n"
                               << world.smallest(question, seed + k);
    }
  }
}

void expect_tally(const Tally& tally) {
  EXPECT_GT(tally.understood, tally.asked / 2);
  for (const auto kind : {Quantity::Kind::kCount, Quantity::Kind::kUnits, Quantity::Kind::kDistinct,
                          Quantity::Kind::kSum, Quantity::Kind::kQuantile}) {
    const auto at = tally.reached.find(kind);
    EXPECT_GT(at == tally.reached.end() ? 0 : at->second, 0U)
        << "no neighbours reach the bound of kind " << static_cast<int>(kind);
  }
}

TEST(QueryNeighbours, CasesMoveByWhatTheirPlansState) {
  std::map<Quantity::Kind, std::size_t> reached;
  std::size_t understood = 0;
  for (const QueryCase& each : cases()) {
    if (each.facts.at(0).first == "refused") continue;
    ++understood;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      World world(each.policy, seed);
      const Question question{&each.policy, each.text, each.options};
      EXPECT_EQ(world.violation(question, nullptr, seed, &reached), "")
          << each.file << ":" << each.line << ": " << each.name << " on the rows of seed " << seed << "\n"
          << world.smallest(question, seed);
    }
  }
  EXPECT_GT(understood, 30U);
  EXPECT_GT(reached[Quantity::Kind::kCount], understood / 2);
}

TEST(QueryNeighbours, ArbitraryQueriesMoveByWhatTheirPlansState) {
  Tally tally;
  expect_no_violation(1, 800, tally);
  expect_tally(tally);
}

TEST(SlowQueryNeighbours, ArbitraryQueriesMoveByWhatTheirPlansState) {
  Tally tally;
  expect_no_violation(1'000'000, 100'000, tally);
  expect_tally(tally);
}

using engine::Aggregate;
using engine::Bounding;

bool widen(std::optional<std::uint64_t>& bound) {
  if (bound) ++*bound;
  return bound.has_value();
}

// Keeps rows of nobody, as rows of one more unit.
bool keep_nobody(Plan& plan) {
  Measurement& m = plan.measurement;
  if (!m.unit) return false;
  engine::Project project{m.rows, {}};
  for (const NamedColumn& each : engine::columns_of(*m.rows)) {
    Expression value = engine::column(each.name, each.type);
    if (each.name == *m.unit) {
      Expression nobody =
          each.type == Type::kText ? engine::constant(std::string("nobody")) : engine::constant(std::int64_t{-1});
      value = engine::call(Function::kCoalesce, each.type, {std::move(value), std::move(nobody)});
    }
    project.columns.push_back({each.name, std::move(value)});
  }
  m.rows = engine::relation(std::move(project));
  return true;
}

const std::vector<Mutant>& mutants() {
  static const auto* const list = new std::vector<Mutant>{
      {"a unit may be in one group more", [](Plan& plan) { return widen(plan.measurement.bounding.max_groups); }},
      {"a unit may have one row more in a group",
       [](Plan& plan) { return widen(plan.measurement.bounding.max_rows_per_group); }},
      {"a unit may have one row more in all", [](Plan& plan) { return widen(plan.measurement.bounding.max_rows); }},
      {"partials may be one step higher",
       [](Plan& plan) {
         bool any = false;
         for (Aggregate& each : plan.measurement.aggregates) {
           if (each.upper) ++*each.upper, any = true;
         }
         return any;
       }},
      {"partials may be one step lower",
       [](Plan& plan) {
         bool any = false;
         for (Aggregate& each : plan.measurement.aggregates) {
           if (each.lower && *each.lower < 0) --*each.lower, any = true;
         }
         return any;
       }},
      {"partials are not clamped",
       [](Plan& plan) {
         for (Aggregate& each : plan.measurement.aggregates) each.lower.reset(), each.upper.reset();
         return true;
       }},
      {"groups are not bounded",
       [](Plan& plan) {
         plan.measurement.bounding.max_groups.reset();
         return true;
       }},
      {"rows are not of units",
       [](Plan& plan) {
         const bool had = plan.measurement.unit.has_value();
         plan.measurement.unit.reset();
         plan.measurement.bounding = {};
         for (Aggregate& each : plan.measurement.aggregates) {
           if (each.kind == Aggregate::Kind::kUnits) each.kind = Aggregate::Kind::kRows;
         }
         return had;
       }},
      {"rows of nobody are kept", keep_nobody},
      {"the order of a unit's rows depends on others", [](Plan&) { return true; }, true},
      {"l1 is understated by one step",
       [](Plan& plan) {
         for (Quantity& each : plan.quantities) each.l1 -= each.kind == Quantity::Kind::kQuantile ? 0 : 1;
         return true;
       }},
      {"l2 is understated by a hundredth",
       [](Plan& plan) {
         for (Quantity& each : plan.quantities) each.l2 *= 0.99;
         return true;
       }},
      {"ranks are understated",
       [](Plan& plan) {
         bool any = false;
         for (Quantity& each : plan.quantities) {
           any = any || each.kind == Quantity::Kind::kQuantile;
           --each.per_group;
         }
         return any;
       }},
      {"one group less is stated",
       [](Plan& plan) {
         if (!plan.private_keys) return false;
         --plan.max_groups;
         return true;
       }},
  };
  return *list;
}

TEST(QueryNeighbours, EveryMutantIsFound) {
  for (const Mutant& mutant : mutants()) {
    std::size_t found = 0;
    for (std::uint64_t seed = 1; seed <= 8 && found < 2; ++seed) {
      for (const QueryCase& each : cases()) {
        if (each.facts.at(0).first == "refused") continue;
        World world(each.policy, seed);
        if (!world.violation({&each.policy, each.text, each.options}, &mutant, seed).empty() && ++found == 2) break;
      }
    }
    EXPECT_EQ(found, 2U) << mutant.name;
  }
}

}  // namespace
}  // namespace noisefloor::query
