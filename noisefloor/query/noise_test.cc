// Noise on queries: what is paid for, once; the stated laws; what may depend on the data, and what may not.
#include "noisefloor/query/noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/engine/reference_engine.h"
#include "noisefloor/query/planner.h"
#include "noisefloor/query/shown_table.h"
#include "tests/support/statistics.h"

namespace noisefloor::query {
namespace {

using engine::Type;

DescribedTables policy(Adjacency adjacency = Adjacency::kAddRemove) {
  DescribedTable visits{.name = "visits"};
  visits.unit = UnitPath{"pid"};
  visits.max_groups = 3;
  visits.max_rows_per_group = 2;
  visits.columns = {{.name = "pid", .type = Type::kInteger},
                    {.name = "dept", .type = Type::kText, .values = std::vector<std::string>{"A", "B", "C", "D"}},
                    {.name = "ward", .type = Type::kText},
                    {.name = "age", .type = Type::kInteger, .lower = 0, .upper = 100},
                    {.name = "cost", .type = Type::kNumber, .lower = 0, .upper = 5000, .step = 0.01, .missing = 0}};
  DescribedTable rows{.name = "persons"};
  rows.unit = UnitPath{"pid"};
  rows.one_row_per_unit = true;
  rows.columns = {{.name = "pid", .type = Type::kInteger}, {.name = "city", .type = Type::kText}};
  return {"clinic", {.tables = {visits, rows}}, PrivacyUnit::kPerson, adjacency};
}

// 60 persons with a visit in A and one in B; the first 5 of them also in the ward "small", all others in "large".
engine::ReferenceEngine tables(int persons = 60) {
  engine::ReferenceTable visits{"visits",
                                {{"pid", Type::kInteger},
                                 {"dept", Type::kText},
                                 {"ward", Type::kText},
                                 {"age", Type::kInteger},
                                 {"cost", Type::kNumber}},
                                {}};
  engine::ReferenceTable all{"persons", {{"pid", Type::kInteger}, {"city", Type::kText}}, {}};
  for (std::int64_t pid = 0; pid < persons; ++pid) {
    const std::string ward = pid < 5 ? "small" : "large";
    visits.rows.push_back({pid, std::string("A"), ward, std::int64_t{40}, 100.0});
    visits.rows.push_back({pid, std::string("B"), ward, std::int64_t{40}, 300.0});
    all.rows.push_back({pid, std::string("town")});
  }
  return engine::ReferenceEngine({visits, all});
}

Plan planned(const std::string& text, const DescribedTables& about = policy()) {
  Result<Plan> plan = plan_query(about, text, {});
  EXPECT_TRUE(plan.has_value()) << text << "\n" << plan.error().message;
  return std::move(plan).value();
}

Plans plans_of(const std::vector<std::string>& texts, const DescribedTables& about = policy()) {
  auto plans = std::make_shared<std::vector<Plan>>();
  for (const std::string& text : texts) plans->push_back(planned(text, about));
  return plans;
}

NoiseTerms terms(double epsilon, double delta = 0, NoiseKind kind = NoiseKind::kAuto) {
  NoiseTerms made{Epsilon::make(epsilon).value(), Delta::make(delta).value(), kind};
  return made;
}

double certified(const NoiseSplit& split) {
  return pld_epsilon(split.statement.event, split.statement.adjacency, split.delta).value().upper;
}

const char* const kQueries[] = {"SELECT count(*) FROM visits",
                                "SELECT dept, count(*), avg(cost), sum(cost) FROM visits GROUP BY dept",
                                "SELECT ward, count(*) FROM visits GROUP BY ward",
                                "SELECT ward, count(DISTINCT pid), avg(age) FROM visits GROUP BY ward",
                                "SELECT DISTINCT ward FROM visits",
                                "SELECT median(age) FROM visits",
                                "SELECT dept, min(age), max(age), count(*) FROM visits GROUP BY dept",
                                "SELECT dept, var_samp(age), stddev(age) FROM visits GROUP BY dept",
                                "SELECT dept, count(*) FROM visits GROUP BY dept HAVING avg(cost) > 50",
                                "SELECT city, count(*) FROM persons GROUP BY city",
                                "SELECT count(DISTINCT ward) FROM visits"};

TEST(NoiseSplit, CostsAtMostWhatWasAskedForAndUsesIt) {
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    const DescribedTables about = policy(adjacency);
    for (const char* const text : kQueries) {
      const Plan plan = planned(text, about);
      for (const double epsilon : {0.1, 1.0}) {
        for (const double delta : {0.0, 1e-6}) {
          SCOPED_TRACE(std::string(text) + " " + std::to_string(epsilon) + " " + std::to_string(delta));
          const Result<NoiseSplit> split = split_budget({&plan, 1}, terms(epsilon, delta));
          if (plan.private_keys && delta == 0) {
            ASSERT_FALSE(split.has_value());
            EXPECT_NE(split.error().message.find("delta above 0"), std::string::npos) << split.error().message;
            continue;
          }
          ASSERT_TRUE(split.has_value()) << split.error().message;
          EXPECT_EQ(split.value().statement.adjacency, adjacency);
          EXPECT_LE(certified(split.value()), epsilon);
          EXPECT_GT(certified(split.value()), 0.6 * epsilon);
        }
      }
    }
  }
}

// Without private names and Gaussian noise nothing needs a δ.
TEST(NoiseSplit, SpendsNoDeltaThatItDoesNotNeed) {
  const Plan one = planned("SELECT count(*) FROM visits");
  EXPECT_EQ(split_budget({&one, 1}, terms(1, 1e-6)).value().delta.value(), 0);
  const Plan many = planned("SELECT ward, count(*) FROM visits GROUP BY ward");
  EXPECT_EQ(split_budget({&many, 1}, terms(1, 1e-6)).value().delta.value(), 1e-6);
}

// The kind with the smaller error is taken; one person moves few numbers: Laplace, many: Gaussian.
TEST(NoiseSplit, TakesTheKindWithTheSmallerError) {
  DescribedTables about = policy();
  about.tables.tables[0].max_groups = 1;
  const Plan few = planned("SELECT dept, count(*) FROM visits GROUP BY dept", about);
  const NoiseSplit laplace = split_budget({&few, 1}, terms(1, 1e-6)).value();
  EXPECT_EQ(laplace.noise, NoiseKind::kLaplace);
  EXPECT_LT(*laplace.laplace_error, *laplace.gaussian_error);
  about.tables.tables[0].max_groups = 40;
  const Plan many = planned(
      "SELECT age, count(*), sum(cost) FROM visits WHERE age IN (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20) "
      "GROUP BY age",
      about);
  const NoiseSplit gaussian = split_budget({&many, 1}, terms(1, 1e-6)).value();
  EXPECT_EQ(gaussian.noise, NoiseKind::kGaussian);
  EXPECT_LT(*gaussian.gaussian_error, *gaussian.laplace_error);
  EXPECT_EQ(split_budget({&many, 1}, terms(1, 1e-6, NoiseKind::kLaplace)).value().noise, NoiseKind::kLaplace);
  EXPECT_FALSE(split_budget({&many, 1}, terms(1, 0, NoiseKind::kGaussian)).has_value());
}

// The crossing is where it was computed to be: 8.9 numbers of one group at (1, 1e-6).
TEST(NoiseSplit, ChangesKindWhereTheLawsCross) {
  DescribedTables about = policy();
  about.tables.tables[0].max_rows_per_group = 1;
  for (const auto& [groups, kind] : {std::pair(8U, NoiseKind::kLaplace), std::pair(10U, NoiseKind::kGaussian)}) {
    about.tables.tables[0].max_groups = groups;
    const Plan plan = planned(
        "SELECT age, count(*) FROM visits WHERE age BETWEEN 1 AND 50 AND age IN "
        "(1,2,3,4,5,6,7,8,9,10,11,12) GROUP BY age",
        about);
    EXPECT_EQ(plan.max_groups, groups);
    EXPECT_EQ(split_budget({&plan, 1}, terms(1, 1e-6)).value().noise, kind) << groups;
  }
}

// An average is a sum and a count, each paid for once: the count that the query asks for anyway is the same one, and
// nothing is free. (Charging both as one, or the count twice, are the defects that this finds.)
TEST(NoiseSplit, ChargesAverageForItsSumAndItsCountOnce) {
  const Plan mean = planned("SELECT dept, avg(cost) FROM visits GROUP BY dept");
  const Plan both = planned("SELECT dept, avg(cost), count(*) FROM visits GROUP BY dept");
  ASSERT_EQ(mean.quantities.size(), 2U);
  ASSERT_EQ(both.quantities.size(), 2U);
  const NoiseSplit split = split_budget({&mean, 1}, terms(1)).value();
  double sum = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    sum += static_cast<double>(mean.quantities[i].l1) / split.plans[0].quantities[i].scale;
  }
  EXPECT_NEAR(sum, 1, 1e-9);
  const NoiseSplit shared = split_budget({&both, 1}, terms(1)).value();
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(split.plans[0].quantities[i].scale, shared.plans[0].quantities[i].scale);
  }
}

// What HAVING alone asks for is noised, and paid for like a column.
TEST(NoiseSplit, ChargesHiddenColumns) {
  const Plan shown = planned("SELECT dept, count(*), avg(cost) FROM visits GROUP BY dept");
  const Plan hidden = planned("SELECT dept, count(*) FROM visits GROUP BY dept HAVING avg(cost) > 50");
  const NoiseSplit a = split_budget({&shown, 1}, terms(1)).value();
  const NoiseSplit b = split_budget({&hidden, 1}, terms(1)).value();
  EXPECT_EQ(a.statement.event, b.statement.event);
}

TEST(NoiseSplit, GivesMoreToWhatWeighsMore) {
  const Plan plan = planned("SELECT sum(cost), sum(age) FROM visits");
  NoiseTerms weighted = terms(1);
  weighted.weights = {1000, 1};
  const NoiseSplit even = split_budget({&plan, 1}, terms(1)).value();
  const NoiseSplit split = split_budget({&plan, 1}, weighted).value();
  const std::size_t cost = plan.quantities[0].label == "sum(cost)" ? 0 : 1;
  EXPECT_LT(split.plans[0].quantities[cost].scale, even.plans[0].quantities[cost].scale);
  EXPECT_GT(split.plans[0].quantities[1 - cost].scale, even.plans[0].quantities[1 - cost].scale);
  weighted.weights = {1};
  EXPECT_FALSE(split_budget({&plan, 1}, weighted).has_value());
  weighted.weights = {1, -1};
  EXPECT_FALSE(split_budget({&plan, 1}, weighted).has_value());
}

// The number of persons that decides whether a group is named is not bought a second time.
TEST(NoiseSplit, TakesTheNumberOfUnitsFromTheChoiceOfGroups) {
  const Plan plan = planned("SELECT ward, count(DISTINCT pid) FROM visits GROUP BY ward");
  const NoiseSplit split = split_budget({&plan, 1}, terms(1, 1e-6)).value();
  ASSERT_EQ(plan.quantities.size(), 1U);
  EXPECT_EQ(split.plans[0].quantities[0].kind, QuantityNoise::Kind::kKeySelection);
  EXPECT_EQ(split.plans[0].event, split.plans[0].keys->event());
}

TEST(Noise, RehearsalsReadNoRows) {
  class Unreadable final : public engine::Engine {
    std::string name() const override { return "unreadable"; }
    Result<std::vector<engine::CatalogueTable>> catalogue() override { return io_error("read"); }
    Result<engine::Measured> measure(const engine::Measurement&) override { return io_error("read"); }
    Result<std::vector<std::string>> explain(const engine::Measurement&) override { return io_error("read"); }
    Result<void> read_rows(const std::string&, const engine::TakeRow&) override { return io_error("read"); }
  };
  for (const char* const text : kQueries) {
    const Question question =
        queries_question(plans_of({text}), terms(1, 1e-6), std::make_shared<Unreadable>()).value();
    EXPECT_TRUE(rehearse(question, {}).has_value()) << text;
    SecureRandom random = SecureRandom::create().value();
    EXPECT_FALSE(answer_of(question, {}, random).has_value());
  }
}

TEST(Noise, AnswersHoldAllThatWasBoughtAndSayWhatTheyCost) {
  const auto engine = std::make_shared<engine::ReferenceEngine>(tables().tables());
  for (const char* const text : kQueries) {
    SCOPED_TRACE(text);
    const Plans plans = plans_of({text, "SELECT count(*) FROM visits"});
    const Question question = queries_question(plans, terms(5, 1e-6), engine).value();
    SecureRandom random = SecureRandom::create().value();
    const Result<Answer> answer = answer_of(question, {"1.0", AnswerDataset{"clinic", ""}}, random);
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    ASSERT_TRUE(check_answer(answer.value()).has_value()) << check_answer(answer.value()).error().message;
    EXPECT_EQ(parse_answer(to_json(answer.value())).value().statement, question.statement);
    const AnswerValue* const bought = find_value(answer.value(), "noised 1");
    ASSERT_NE(bought, nullptr);
    const auto& table = std::get<AnswerTable>(bought->value);
    EXPECT_EQ(table.columns.size(), (*plans)[0].keys.size() + (*plans)[0].quantities.size());
  }
}

// Public names: the same rows in the same order, whoever is there.
TEST(Noise, PublicGroupsDoNotDependOnRows) {
  const Plan plan = planned("SELECT dept, count(*) FROM visits GROUP BY dept ORDER BY dept");
  for (const int persons : {0, 1, 60}) {
    engine::ReferenceEngine engine = tables(persons);
    const UnnoisedAnswer answer = answer_without_noise({&plan, 1}, terms(1), engine, {}).value();
    const auto& names = std::get<AnswerColumn::Texts>(answer.tables[0].columns[0].cells);
    EXPECT_EQ(names, (AnswerColumn::Texts{"A", "B", "C", "D"}));
    const auto& counts = std::get<AnswerColumn::Integers>(answer.tables[0].columns[1].cells);
    EXPECT_EQ(counts, (AnswerColumn::Integers{persons, persons, 0, 0}));
  }
}

TEST(Noise, SmallPrivateGroupsAreNotNamed) {
  const Plan plan = planned("SELECT ward, count(*) FROM visits GROUP BY ward");
  engine::ReferenceEngine engine = tables(4000);
  const NoiseSplit split = split_budget({&plan, 1}, terms(1, 1e-6)).value();
  SecureRandom random = SecureRandom::create().value();
  const NoisedGroups noised = measure_with_noise(plan, split.plans[0], engine, random).value();
  ASSERT_EQ(noised.groups.size(), 1U);
  EXPECT_EQ(noised.groups[0].keys[0], engine::Cell(std::string("large")));
}

// Where every row is a unit of its own, rows are counted for the choice of groups.
TEST(Noise, NamesGroupsOfRowsThatAreUnits) {
  DescribedTables about = policy();
  about.unit = PrivacyUnit::kRow;
  for (DescribedTable& table : about.tables.tables) table.unit.reset();
  about.tables.tables[1].one_row_per_unit = false;
  const Plan plan = planned("SELECT ward, sum(age) FROM visits GROUP BY ward", about);
  engine::ReferenceEngine engine = tables(4000);
  const UnnoisedAnswer answer = answer_without_noise({&plan, 1}, terms(1, 1e-6), engine, {}).value();
  ASSERT_EQ(answer.tables[0].rows(), 1U);
  EXPECT_EQ(std::get<AnswerColumn::Numbers>(answer.tables[0].columns[1].cells)[0], 3995 * 80.0);
}

// Each interval holds what there is without noise, at its rate and not much more often. α = testing::kAlpha.
TEST(Noise, IntervalsCoverAtTheirRate) {
  using noisefloor::testing::coin_p_value;
  struct Case {
    const char* text;
    NoiseTerms asked;
    bool exact;  // the interval is that of one law
  };
  const std::vector<Case> cases = {
      {"SELECT dept, count(*) FROM visits GROUP BY dept", terms(0.5), true},
      {"SELECT dept, sum(cost) FROM visits GROUP BY dept", terms(0.5), true},
      {"SELECT dept, count(*) FROM visits GROUP BY dept", terms(0.5, 1e-6, NoiseKind::kGaussian), true},
      {"SELECT dept, count(*) FROM visits GROUP BY ROLLUP (dept)", terms(0.5), true},
      {"SELECT dept, avg(cost) FROM visits GROUP BY dept", terms(2), false},
      {"SELECT dept, stddev(age) FROM visits GROUP BY dept", terms(20), false},
      {"SELECT dept, 100 * count(*) / (1 + count(*)) FROM visits GROUP BY dept", terms(2), false}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.text);
    NoiseTerms asked = one.asked;
    asked.confidence = Confidence::of(0.8);
    const Plan plan = planned(one.text);
    engine::ReferenceEngine engine = tables(200);
    const NoiseSplit split = split_budget({&plan, 1}, asked).value();
    const UnnoisedAnswer exact = answer_without_noise({&plan, 1}, asked, engine, {}).value();
    const auto cell = [](const AnswerColumn& column, std::size_t row) {
      if (const auto* numbers = std::get_if<AnswerColumn::Numbers>(&column.cells)) return (*numbers)[row];
      return static_cast<double>(std::get<AnswerColumn::Integers>(column.cells)[row]);
    };
    ReplayRandom random = ReplayRandom::create(20).value();
    std::uint64_t covered = 0;
    std::uint64_t narrow = 0;  // by intervals of half their width: the mutant
    constexpr std::uint64_t all = 1500;
    for (std::size_t i = 0; i < all; ++i) {
      const AnswerTable table =
          shown_table(plan, measure_with_noise(plan, split.plans[0], engine, random).value(), asked.confidence);
      const std::size_t row = i % 2;  // departments with rows
      const AnswerColumn& column = table.columns[1];
      const double truth = cell(exact.tables[0].columns[1], row);
      ASSERT_EQ(column.ranges.size(), table.rows());
      const Interval range = column.ranges[row];
      const double middle = (range.lower + range.upper) / 2;
      const double half = (range.upper - range.lower) / 4;
      covered += range.lower <= truth && truth <= range.upper ? 1U : 0U;
      narrow += std::abs(truth - middle) <= half ? 1U : 0U;
    }
    // The rate is at least 0.8, and about that for single laws.
    EXPECT_TRUE(static_cast<double>(covered) > 0.8 * all ||
                coin_p_value(covered, all, 0.8) > noisefloor::testing::kAlpha)
        << covered;
    if (one.exact) {
      EXPECT_LT(static_cast<double>(covered), 0.87 * all);
      EXPECT_LT(coin_p_value(narrow, all, 0.8), noisefloor::testing::kAlpha) << narrow;
    }
  }
}

TEST(ShownTable, FollowsHavingOrderLimitAndOffset) {
  engine::ReferenceEngine engine = tables(60);
  const auto names = [&](const std::string& text) {
    const Plan plan = planned(text);
    const UnnoisedAnswer answer = answer_without_noise({&plan, 1}, terms(1), engine, {}).value();
    return std::get<AnswerColumn::Texts>(answer.tables[0].columns[0].cells);
  };
  const std::string base = "SELECT dept, avg(cost) FROM visits GROUP BY dept ";
  EXPECT_EQ(names(base + "HAVING count(*) > 10 ORDER BY 2 DESC"), (AnswerColumn::Texts{"B", "A"}));
  EXPECT_EQ(names(base + "ORDER BY count(*) DESC, dept DESC LIMIT 3"), (AnswerColumn::Texts{"B", "A", "D"}));
  EXPECT_EQ(names(base + "ORDER BY dept OFFSET 3"), (AnswerColumn::Texts{"D"}));
  EXPECT_EQ(names(base + "HAVING count(*) > 100000"), AnswerColumn::Texts{});
}

TEST(ShownTable, DerivesMeansAndVariances) {
  engine::ReferenceEngine engine = tables(60);
  const Plan plan = planned("SELECT avg(cost), var_pop(cost), stddev_samp(age), sum(cost) + 1 AS more FROM visits");
  const UnnoisedAnswer answer = answer_without_noise({&plan, 1}, terms(1), engine, {}).value();
  const auto number = [&](std::size_t column) {
    return std::get<AnswerColumn::Numbers>(answer.tables[0].columns[column].cells)[0];
  };
  EXPECT_NEAR(number(0), 200, 1e-9);
  EXPECT_NEAR(number(1), 10000, 1);
  EXPECT_NEAR(number(2), 0, 1e-9);
  EXPECT_NEAR(number(3), 60 * 400 + 1, 1e-6);
  EXPECT_EQ(answer.tables[0].columns[3].name, "more");
}

}  // namespace
}  // namespace noisefloor::query
