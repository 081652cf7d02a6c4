#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "noisefloor/event/json.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/release/answer_road.h"
#include "noisefloor/release/verify_release.h"
#include "noisefloor/statistics/choice_questions.h"
#include "noisefloor/statistics/count_questions.h"
#include "noisefloor/statistics/number_questions.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_good;
using testing::expect_invalid;
using testing::value_of;

constexpr Epsilon kEpsilon = Epsilon::of(1);
constexpr Delta kDelta = Delta::of(1e-6);
constexpr Confidence kConfidence = Confidence::of(0.95);
const Neighbours kRows{};
const Neighbours kExchanged{Adjacency::kReplaceOne};

Sensitivity unit_change() { return value_of(Sensitivity::of_scalar(kRows, 1)); }
Bounds ages() { return value_of(Bounds::make(0, 100)); }
EachNumber each_of(std::vector<double> numbers) {
  return [numbers = std::move(numbers)](const std::function<Result<void>(double)>& take) -> Result<void> {
    for (const double number : numbers) NF_TRY_VOID(take(number));
    return success();
  };
}
SelectionQuery choose(std::uint64_t top, SelectionRule rule = SelectionRule::kNoisyMax) {
  return {{rule, false}, unit_change(), kEpsilon, top, kConfidence};
}

// One question of every kind. Private values begin with the digits 987.
std::vector<Question> every_question() {
  const BoundedQuery laplace{kRows, ages(), kEpsilon};
  const BoundedQuery gaussian{kExchanged, ages(), kEpsilon, kDelta};
  std::vector<Question> all;
  all.push_back(value_of(laplace_question(9871, unit_change(), kEpsilon, kConfidence)));
  all.push_back(
      value_of(gaussian_question(9871, unit_change(), kEpsilon, kDelta, GaussianCalibration::kAnalytic, kConfidence)));
  all.push_back(value_of(geometric_question(9871, unit_change(), kEpsilon, kConfidence)));
  all.push_back(value_of(sum_question(each_of({98.71, 98.72}), laplace)));
  all.push_back(value_of(sum_question(each_of({98.71, 98.72}), gaussian)));
  all.push_back(value_of(mean_question({98.71, 98.72}, laplace)));
  all.push_back(value_of(mean_question({98.71, 98.72}, gaussian)));
  all.push_back(value_of(quantile_question({98.71, 98.72}, 0.5, laplace)));
  for (const auto rule : {SelectionRule::kExponential, SelectionRule::kPermuteAndFlip, SelectionRule::kNoisyMax}) {
    all.push_back(value_of(selection_question({{"a", "b", "c"}, {9871, 9872, 9873}}, choose(2, rule))));
  }
  all.push_back(value_of(threshold_question({{"a", "b"}, {9871, 9872}}, unit_change(), kEpsilon, {30, 1, false})));
  all.push_back(value_of(response_question(1, Categories::of(5), PrivacyUnit::kPerson, kEpsilon)));
  all.push_back(value_of(histogram_question({{"low", "high"}, {9871, 9872}}, {kRows, kEpsilon})));
  all.push_back(value_of(histogram_question({{"low", "high"}, {9871, 9872}}, {kRows, kEpsilon, kDelta})));
  all.push_back(value_of(partition_question({{"secret987", "flu"}, {1, 9871}}, {kEpsilon, kDelta})));
  all.push_back(value_of(running_total_question({9871, -9872}, {kRows, Steps::of(8), kEpsilon})));
  return all;
}

Answer drawn(const Question& question) {
  SecureRandom random = value_of(SecureRandom::create());
  return value_of(answer_of(question, {"1.2.3"}, random));
}

TEST(Questions, GiveAnswersThatStateWhatTheyDidAndCanBeWritten) {
  std::set<std::string> mechanisms;
  for (const Question& question : every_question()) {
    SCOPED_TRACE(question.mechanism);
    mechanisms.insert(question.mechanism);
    const Answer answer = drawn(question);
    expect_good(check_answer(answer));
    EXPECT_EQ(answer.statement, question.statement);
    EXPECT_FALSE(contains<NonPrivateEvent>(answer.statement.event));
    EXPECT_EQ(to_json(value_of(parse_answer(to_json(answer)))), to_json(answer));
    expect_good(rehearse(question, {"1.2.3"}));
    // Drawing leaves the question as it was: a second draw is independent and as good.
    expect_good(check_answer(drawn(question)));
  }
  EXPECT_EQ(mechanisms.size(), 14U);
}

TEST(Questions, RepeatReplayedAnswersAndSayThatTheyAreNotPrivate) {
  for (const Question& question : every_question()) {
    SCOPED_TRACE(question.mechanism);
    const auto replayed = [&] {
      ReplayRandom random = value_of(ReplayRandom::create(7));
      return value_of(answer_of(question, {"1.2.3"}, random));
    };
    EXPECT_EQ(to_json(replayed()), to_json(replayed()));
    EXPECT_TRUE(replayed().replayed);
    EXPECT_TRUE(contains<NonPrivateEvent>(replayed().statement.event));
  }
}

// The configuration goes to the ledger and to the certificate, which anybody may read.
TEST(Questions, HaveConfigurationsWithoutPrivateValues) {
  for (const Question& question : every_question()) {
    EXPECT_EQ(question.configuration.find("987"), std::string::npos) << question.configuration;
    EXPECT_EQ(question.configuration.find("98.7"), std::string::npos) << question.configuration;
    EXPECT_EQ(nlohmann::ordered_json::parse(question.configuration).dump(), question.configuration);
    EXPECT_EQ(question.former_configuration, R"({"mechanism":")" + question.mechanism + R"("})");
  }
}

// A group whose name must stay private leaves no trace, not even a digest with which guesses could be compared.
TEST(Questions, KeepNoTraceOfTheNamesOfGroups) {
  const PartitionQuery query{kEpsilon, kDelta};
  const Question rare = value_of(partition_question({{"kuru", "flu"}, {1, 900}}, query));
  const Question common = value_of(partition_question({{"flu"}, {900}}, query));
  EXPECT_EQ(rare.configuration, common.configuration);
  EXPECT_EQ(rare.statement, common.statement);
}

TEST(Questions, DifferIfTheirParametersDiffer) {
  const BoundedQuery query{kRows, ages(), kEpsilon};
  BoundedQuery wider = query;
  wider.bounds = value_of(Bounds::make(-10, 110));
  EXPECT_NE(value_of(quantile_question({1}, 0.5, query)).configuration,
            value_of(quantile_question({1}, 0.9, query)).configuration);
  EXPECT_NE(value_of(quantile_question({1}, 0.5, query)).configuration,
            value_of(quantile_question({1}, 0.5, wider)).configuration);
  EXPECT_NE(value_of(histogram_question({{"a"}, {1}}, {kRows, kEpsilon})).configuration,
            value_of(histogram_question({{"b"}, {1}}, {kRows, kEpsilon})).configuration);
  EXPECT_NE(value_of(selection_question({{"ab", "c"}, {1, 2}}, choose(1))).configuration,
            value_of(selection_question({{"a", "bc"}, {1, 2}}, choose(1))).configuration);
  // Other data are the same question.
  EXPECT_EQ(value_of(quantile_question({1}, 0.5, query)).configuration,
            value_of(quantile_question({2, 3}, 0.5, query)).configuration);
}

TEST(Questions, GiveANumberItsGridAndItsInterval) {
  const Answer answer = drawn(value_of(laplace_question(342, unit_change(), Epsilon::of(0.5), kConfidence)));
  const AnswerValue& value = *find_value(answer, "value");
  const double released = std::get<double>(value.value);
  EXPECT_NEAR(released, 342, 2 * 40);  // beyond 40 scales: probability e^-40
  EXPECT_EQ(released, std::round(released / *value.grid) * *value.grid);
  EXPECT_NEAR(value.error_bars->range.upper - released, 2 * std::log(20), 1e-6);
  EXPECT_EQ(std::get<double>(find_fact(answer, "scale")->value), 2.0);
  EXPECT_EQ(answer.asked->epsilon, Epsilon::of(0.5));
}

TEST(Questions, HideAPrivateNumberOfRowsInTheIntervalOfAMean) {
  const std::vector<double> numbers(1000, 50.0);
  const Answer private_rows = drawn(value_of(mean_question(numbers, {kRows, ages(), kEpsilon})));
  EXPECT_FALSE(find_value(private_rows, "value")->error_bars);
  EXPECT_TRUE(private_rows.content.facts.empty());
  const Answer public_rows = drawn(value_of(mean_question(numbers, {kExchanged, ages(), kEpsilon})));
  EXPECT_TRUE(find_value(public_rows, "value")->error_bars);
  EXPECT_EQ(std::get<std::int64_t>(find_fact(public_rows, "rows")->value), 1000);
}

TEST(Questions, SayThatCalibrationsBeyondTheirProofAreNotProved) {
  const auto ask = [](GaussianCalibration calibration) {
    return gaussian_question(1, unit_change(), Epsilon::of(2), Delta::of(1e-5), calibration, kConfidence);
  };
  EXPECT_TRUE(drawn(value_of(ask(GaussianCalibration::kAnalytic))).asked->proved);
  EXPECT_FALSE(drawn(value_of(ask(GaussianCalibration::kClassicalBeyondItsProof))).asked->proved);
  EXPECT_FALSE(ask(GaussianCalibration::kClassical).has_value()) << "epsilon 2 is beyond its proof";
}

TEST(Questions, NameTheirChoices) {
  const Answer chosen = drawn(value_of(selection_question({{"a", "b", "c"}, {0, 1e6, 2e6}}, choose(2))));
  const auto& table = std::get<AnswerTable>(find_value(chosen, "chosen")->value);
  EXPECT_EQ(std::get<AnswerColumn::Texts>(table.find("name")->cells), (AnswerColumn::Texts{"c", "b"}));
  EXPECT_EQ(std::get<AnswerColumn::Integers>(table.find("index")->cells), (AnswerColumn::Integers{2, 1}));
  const Answer replies =
      drawn(value_of(threshold_question({{"x", "y", "z"}, {-1e6, 1e6, 1e6}}, unit_change(), kEpsilon, {0, 1, false})));
  const auto& said = std::get<AnswerTable>(find_value(replies, "replies")->value);
  EXPECT_EQ(std::get<AnswerColumn::Truths>(said.find("above")->cells), (AnswerColumn::Truths{false, true}))
      << "it stops after the first that is above";
  const Answer kept = drawn(value_of(partition_question({{"kuru", "flu"}, {0, 9000}}, {kEpsilon, kDelta})));
  const auto& names = std::get<AnswerTable>(find_value(kept, "kept")->value);
  EXPECT_EQ(std::get<AnswerColumn::Texts>(names.columns[0].cells), (AnswerColumn::Texts{"flu"}));
}

TEST(Questions, GiveEachCountARange) {
  const Answer answer = drawn(value_of(histogram_question({{"low", "high"}, {100, 0}}, {kRows, kEpsilon})));
  const auto& table = std::get<AnswerTable>(find_value(answer, "counts")->value);
  const AnswerColumn& values = *table.find("value");
  ASSERT_EQ(values.ranges.size(), 2U);
  EXPECT_NEAR((values.ranges[0].upper - values.ranges[0].lower) / 2, 3, 1e-9);
  const Answer totals = drawn(value_of(running_total_question({1, 2, 3}, {kRows, Steps::of(4), kEpsilon})));
  EXPECT_EQ(std::get<AnswerTable>(find_value(totals, "totals")->value).rows(), 3U);
  // A stream that has no values yet.
  const Question nothing = value_of(running_total_question({}, {kRows, Steps::of(4), kEpsilon}));
  expect_good(check_answer(drawn(nothing)));
  expect_good(rehearse(nothing, {"1"}));
}

TEST(Questions, RefuseBadParametersBeforeAnythingIsDrawn) {
  expect_invalid(selection_question({{"a"}, {9871, 9872}}, choose(1)).error(), "names");
  expect_invalid(selection_question({{"a", "b"}, {9871, 9872}}, choose(0)).error(), "steps");
  expect_invalid(histogram_question({{"a", "b"}, {9871}}, {kRows, kEpsilon}).error(), "names");
  expect_invalid(histogram_question({}, {kRows, kEpsilon}).error(), "dimension");
  expect_invalid(partition_question({{"a"}, {-9871}}, {kEpsilon, kDelta}).error(), "0 or above");
  expect_invalid(running_total_question({1, 2, 3}, {kRows, Steps::of(2), kEpsilon}).error(), "3 values");
  expect_invalid(quantile_question({1}, 0.5, {kRows, ages(), kEpsilon, kDelta}).error(), "delta");
  expect_invalid(parse_partition_rule("coin").error(), "coin");
  // The rehearsal finds these errors: they depend on how many candidates there are.
  expect_invalid(rehearse(value_of(selection_question({{"a"}, {9871}}, choose(2))), {"1"}).error(), "");
  testing::expect_error(rehearse(value_of(mean_question({}, {kExchanged, ages(), kEpsilon})), {"1"}),
                        ErrorCode::kInputData, "no values");
  expect_invalid(
      rehearse(value_of(response_question(987, Categories::of(5), PrivacyUnit::kPerson, kEpsilon)), {"1"}).error(), "");
}

TEST(Questions, CanAllBeReleased) {
  const testing::TemporaryFolder folder;
  const std::string place = folder.path("ledger");
  const auto ledger = value_of(Ledger::create(place, SigningKey::generate(), {}));
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    for (const PrivacyUnit unit : {PrivacyUnit::kRow, PrivacyUnit::kPerson}) {
      BudgetTerms terms =
          testing::terms(std::string(name_of(adjacency)) + std::string(name_of(unit)), 100, 1e-3, Rule::kBasic);
      terms.adjacency = adjacency;
      terms.unit = unit;
      expect_good(ledger->create_budget(terms));
    }
  }
  int key = 0;
  for (const Question& question : every_question()) {
    SCOPED_TRACE(question.mechanism);
    const std::string budget =
        std::string(name_of(question.statement.adjacency)) + std::string(name_of(question.statement.unit));
    const AnswerRequest request{budget, "key" + std::to_string(++key), {"1.2.3"}};
    LedgerOutlet outlet;
    const ReleasedAnswer first = value_of(release_answer(request, question, *ledger, outlet));
    const VerifiedRelease verified = value_of(verify_release(first.release.bytes));
    expect_good(verify_in_ledger(verified, *ledger));
    const ReleasedAnswer again = value_of(release_answer(request, question, *ledger, outlet));
    EXPECT_TRUE(again.again);
    EXPECT_EQ(again.release.bytes, first.release.bytes);
  }
  testing::expect_clean(place);
}

}  // namespace
}  // namespace noisefloor
