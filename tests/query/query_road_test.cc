// The whole road of queries on neighbouring databases: every byte that is not a noised number is the same.
// Explanations, costs, refusals, the rows of answers with public names, their columns and notes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "noisefloor/event/json.h"
#include "noisefloor/query/ask.h"
#include "noisefloor/query/noise.h"
#include "tests/support/query_cases.h"
#include "tests/support/query_neighbours.h"
#include "tests/support/query_rows.h"
#include "tests/support/random_query.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor::query {
namespace {

using namespace noisefloor::testing;  // NOLINT(google-build-using-namespace)
using engine::EngineKind;

const std::vector<QueryCase>& cases() {
  static const auto* const all = new std::vector<QueryCase>(read_all_query_cases(NOISEFLOOR_QUERY_CASES));
  return *all;
}

NoiseTerms terms() {
  NoiseTerms terms{.epsilon = Epsilon::of(1)};
  terms.delta = Delta::of(1e-6);
  return terms;
}

// What an answer shows beside its numbers. Where names are public and nothing follows from numbers, also its rows.
std::string shown_beside_numbers(const Plan& plan, const UnnoisedAnswer& answer) {
  std::string text = fmt::format("{} {:.17g} {:.17g}", to_json(answer.split.statement.event),
                                 answer.split.epsilon.lower, answer.split.epsilon.upper);
  const AnswerTable& table = answer.tables.at(0);
  const bool fixed = !plan.private_keys && !plan.having && !plan.limit && plan.offset == 0 && plan.order.empty();
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    text += "\n" + table.columns[i].name;
    if (!fixed) continue;
    text += fmt::format(" {} rows", table.rows());
    const auto& value = plan.outputs.at(i).value;
    if (value.function != Function::kColumn || !value.name.starts_with("k")) continue;
    if (const auto* words = std::get_if<std::vector<std::string>>(&table.columns[i].cells)) {
      text += fmt::format(" {}", fmt::join(*words, " "));
    } else if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&table.columns[i].cells)) {
      text += fmt::format(" {}", fmt::join(*whole, " "));
    }
  }
  return text;
}

// Measures and answers on both sides of neighbours; counts what could be asked.
void expect_same_bytes(const DescribedTables& policy, const std::string& text, const PlanOptions& options,
                       const std::vector<TextTables>& sides, std::size_t& asked) {
  std::vector<std::string> shown;
  for (const TextTables& tables : sides) {
    Result<Plan> plan = plan_query(policy, text, options);
    if (!plan) return;
    std::vector<engine::ReferenceTable> references;
    for (const TextTable& table : tables) references.push_back(reference_of(table));
    engine::ReferenceEngine engine(std::move(references));
    const std::span<const Plan> one(&plan.value(), 1);
    const Result<UnnoisedAnswer> answer = answer_without_noise(one, terms(), engine, {.order = 1});
    shown.push_back(answer ? shown_beside_numbers(plan.value(), answer.value()) : answer.error().message);
    if (answer && &tables == &sides.front()) ++asked;
  }
  for (const std::string& each : shown) EXPECT_EQ(each, shown.front()) << text;
}

std::vector<TextTables> neighbours(const DescribedTables& policy, std::uint64_t seed) {
  RandomRows random(policy, seed);
  const TextTables all = random.tables(6, 20);
  const Owners owners(policy, all);
  const auto units = owners.all();
  TextTables nothing =
      kept_rows(all, [&](const TextTable& table, std::size_t) { return find_table(policy, table.name)->is_public; });
  return {all, without(all, owners, units.front()), std::move(nothing)};
}

TEST(QueryRoad, AnswersDifferInNumbersAlone) {
  std::size_t asked = 0;
  for (std::size_t i = 0; i < cases().size(); i += 9) {
    const QueryCase& each = cases()[i];
    expect_same_bytes(each.policy, each.text, each.options, neighbours(each.policy, 1), asked);
  }
  EXPECT_GT(asked, 4U);
}

TEST(QueryRoad, AnswersOfArbitraryQueriesDifferInNumbersAlone) {
  std::size_t asked = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const DescribedTables& policy = cases()[seed % cases().size()].policy;
    RandomQueries random(policy, seed);
    const std::string text = random.query();
    expect_same_bytes(policy, text, random.options(), neighbours(policy, seed), asked);
  }
  EXPECT_GT(asked, 4U);
}

// A file of a clinic, with or without the visits of one person, and its description.
DescribedRows clinic(const std::string& folder, EngineKind kind, bool with_seventeen) {
  std::filesystem::create_directories(folder);
  std::ofstream visits(folder + "/visits.csv");
  visits << "pid,dept,ward,cost\n";
  for (int i = 0; i < 60; ++i) {
    visits << i / 3 << "," << (i % 2 == 0 ? "ICU" : "ER") << ",w" << i % 4 << "," << i << "\n";
  }
  if (with_seventeen) visits << "1700,A,alone,abc\n1700,A,alone,99999\n,A,nobody,1\n";
  DescribedTable table{.name = "visits", .place = "visits.csv"};
  table.unit = UnitPath{.column = "pid"};
  table.max_groups = 2;
  table.max_rows_per_group = 2;
  table.columns = {{.name = "pid", .type = Type::kInteger},
                   {.name = "dept", .type = Type::kText, .values = std::vector<std::string>{"ICU", "ER", "A"}},
                   {.name = "ward", .type = Type::kText},
                   {.name = "cost", .type = Type::kNumber, .lower = 0, .upper = 5000, .step = 0.01}};
  DatasetDescription description{
      .name = "clinic", .format = TablesFormat{.engine = kind, .tables = {table}}, .files = TextFile{}};
  description.unit = {.unit = PrivacyUnit::kPerson, .person = "pid"};
  description.budget = {.name = "clinic", .epsilon = Epsilon::of(3), .delta = Delta::of(1e-5)};
  return {std::move(description), folder};
}

TEST(QueryRoad, ExplanationsCostsAndRefusalsAreTheSameOnNeighbours) {
  const std::vector<std::string> statements = {
      "SELECT dept, count(*), sum(cost) FROM visits GROUP BY dept",
      "SELECT ward, count(DISTINCT pid) FROM visits GROUP BY ward",
      "SELECT median(cost), min(cost) FROM visits",
      "SELECT dept, avg(cost) FROM visits WHERE ward = 'alone' GROUP BY dept HAVING count(*) > 3 ORDER BY 2 LIMIT 1",
      "SELECT count(*) FROM visits WHERE pid = 1700",
      "SELECT sum(1 / (cost - 99999)) FROM visits",
      "SELECT * FROM visits",
      "SELECT count(*) FROM nowhere",
      "SELECT count(*) FROM visits WHERE cost > 'abc'",
  };
  for (const EngineKind kind : {EngineKind::kSqlite, EngineKind::kDuckdb}) {
    std::size_t understood = 0;
    for (const std::string& statement : statements) {
      std::vector<std::string> texts;
      for (const bool with_seventeen : {true, false}) {
        const TemporaryFolder folder;
        const DescribedRows rows = clinic(folder.path("clinic"), kind, with_seventeen);
        const Result<std::string> text = explanation(rows, {&statement, 1}, {.noise = terms()}, nullptr);
        std::string shown = text ? text.value() : text.error().message;
        if (text) {
          ++understood;
          const Result<Forecast> cost = forecast(rows, {&statement, 1}, {.noise = terms()}, nullptr);
          ASSERT_TRUE(cost.has_value()) << cost.error().message;
          shown += to_json(cost.value().question->statement.event);
        }
        for (std::size_t at; (at = shown.find(folder.path(""))) != std::string::npos;) {
          shown.replace(at, folder.path("").size(), "FOLDER/");
        }
        texts.push_back(shown);
      }
      EXPECT_EQ(texts[0], texts[1]) << statement;
      EXPECT_EQ(texts[0].find("99999.0"), std::string::npos) << "no value of a row";
    }
    EXPECT_EQ(understood, 10U);
  }
}

}  // namespace
}  // namespace noisefloor::query
