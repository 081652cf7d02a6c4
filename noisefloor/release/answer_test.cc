#include "noisefloor/release/answer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "noisefloor/release/verify_release.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;
using testing::expect_invalid;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

DpStatement statement() {
  return {Adjacency::kAddRemove, PrivacyUnit::kPerson, EpsilonDeltaEvent{PrivacyLoss::of(1), Delta::of(0)}};
}

// Something of every type, as an SQL engine might give it.
Answer rich_answer() {
  AnswerColumn group{"region", AnswerColumn::Texts{"north", "", "süd"}};
  group.missing = {1};
  AnswerColumn count{"patients", AnswerColumn::Integers{12, -1, INT64_MAX}};
  count.confidence = Confidence::of(0.95);
  count.ranges = {{10, 14}, {-kInfinite, 3}, {0, kInfinite}};
  AnswerColumn mean{"mean age", AnswerColumn::Numbers{0.1, -0.0, 1e300}};
  mean.grid = 0x1p-20;
  const AnswerColumn large{"large", AnswerColumn::Truths{true, false, true}};
  Answer answer{
      "query",
      {{{"value", 3.0, 0.5, ErrorBars{Confidence::of(0.9), {2, 4.5}}},
        {"votes", std::int64_t{7}, {}, ErrorBars{Confidence::of(0.5), {7, 7}}},
        {"best", std::string("\"quoted\"\n")},
        {"above", true},
        {"rows", AnswerTable{{group, count, mean, large}}}},
       {{"rank_error", Confidence::of(0.95), 33.25}},
       {{"scale", 2.0, "sensitivity / epsilon"}, {"threshold", std::int64_t{15}}, {"rule", std::string("x")}}},
      statement(),
      Delta::of(1e-6)};
  answer.asked = AskedFor{Epsilon::of(0.5), false};
  answer.configuration = R"({"b":1,"a":[1.0,2]})";
  answer.data = "bounds are public";
  answer.dataset = AnswerDataset{"patients", "00ff"};
  answer.program_version = "1.2.3";
  return answer;
}

Answer parsed(const std::string& text) {
  Result<Answer> answer = parse_answer(text);
  EXPECT_TRUE(answer.has_value()) << answer.error().message;
  return std::move(answer).value();
}

TEST(Answer, RoundTripsThroughJson) {
  const Answer answer = rich_answer();
  ASSERT_TRUE(check_answer(answer).has_value()) << check_answer(answer).error().message;
  const Answer read = parsed(to_json(answer));
  EXPECT_EQ(to_json(read), to_json(answer));
  EXPECT_EQ(read.statement, answer.statement);
  EXPECT_EQ(read.delta, answer.delta);
  EXPECT_EQ(read.configuration, answer.configuration);
  EXPECT_EQ(read.dataset->digest, "00ff");
  EXPECT_FALSE(read.asked->proved);
  EXPECT_EQ(std::get<double>(find_value(read, "value")->value), 3.0);
  EXPECT_EQ(find_value(read, "value")->error_bars->range.upper, 4.5);
  EXPECT_EQ(std::get<std::string>(find_value(read, "best")->value), "\"quoted\"\n");
  EXPECT_EQ(std::get<std::int64_t>(find_fact(read, "threshold")->value), 15);
  EXPECT_EQ(find_value(read, "nothing"), nullptr);
  const auto& table = std::get<AnswerTable>(find_value(read, "rows")->value);
  EXPECT_EQ(table.rows(), 3U);
  EXPECT_EQ(std::get<AnswerColumn::Integers>(table.find("patients")->cells)[2], INT64_MAX);
  EXPECT_EQ(table.find("patients")->ranges[1].lower, -kInfinite);
  EXPECT_EQ(table.find("patients")->ranges[2].upper, kInfinite);
  EXPECT_TRUE(std::signbit(std::get<AnswerColumn::Numbers>(table.find("mean age")->cells)[1]));
  EXPECT_EQ(table.find("region")->missing, (std::vector<std::size_t>{1}));
  EXPECT_EQ(table.find("nothing"), nullptr);
}

TEST(Answer, MayHoldATableWithoutRows) {
  Answer answer = rich_answer();
  AnswerColumn column{"n", AnswerColumn::Integers{}};
  column.confidence = Confidence::of(0.9);
  answer.content = {{{"rows", AnswerTable{{column}}}}};
  ASSERT_TRUE(check_answer(answer).has_value());
  EXPECT_EQ(to_json(parsed(to_json(answer))), to_json(answer));
}

TEST(Answer, RefusesBadFieldsByNameAndNotByValue) {
  const auto refuse = [](const std::string& named, const std::function<void(Answer&)>& spoil) {
    Answer answer = rich_answer();
    spoil(answer);
    const Result<void> checked = check_answer(answer);
    ASSERT_FALSE(checked.has_value()) << named;
    expect_invalid(checked.error(), named);
  };
  const auto table = [](Answer& answer) -> AnswerTable& {
    return std::get<AnswerTable>(answer.content.values[4].value);
  };
  refuse("value", [](Answer& a) { a.content.values[0].value = std::nan(""); });
  refuse("value", [](Answer& a) { a.content.values[0].value = kInfinite; });
  refuse("value", [](Answer& a) { a.content.values[0].grid = 0; });
  refuse("value", [](Answer& a) { a.content.values[0].error_bars->range = {987, 1}; });
  refuse("value", [](Answer& a) { a.content.values[0].error_bars->range.lower = std::nan(""); });
  refuse("value", [](Answer& a) { a.content.values[0].error_bars->range = {kInfinite, kInfinite}; });
  refuse("votes", [](Answer& a) { a.content.values[1].grid = 1; });
  refuse("best", [](Answer& a) { a.content.values[2].value = std::string("\xff"); });
  refuse("best", [](Answer& a) { a.content.values[2].error_bars = ErrorBars{Confidence::of(0.5), {0, 1}}; });
  refuse("twice", [](Answer& a) { a.content.values[1].name = "value"; });
  refuse("twice", [](Answer& a) { a.content.facts[0].name = "value"; });
  refuse("name", [](Answer& a) { a.content.values[1].name.clear(); });
  refuse("rank_error", [](Answer& a) { a.content.bounds[0].at_most = kInfinite; });
  refuse("scale", [](Answer& a) { a.content.facts[0].value = std::nan(""); });
  refuse("rows", [&](Answer& a) { table(a).columns.clear(); });
  refuse("rows", [&](Answer& a) { a.content.values[4].grid = 1.0; });
  refuse("patients", [&](Answer& a) { table(a).columns[1].ranges.pop_back(); });
  refuse("patients", [&](Answer& a) { table(a).columns[1].confidence.reset(); });
  refuse("patients", [&](Answer& a) { table(a).columns[1].cells = AnswerColumn::Integers{1, 2}; });
  refuse("twice", [&](Answer& a) { table(a).columns[1].name = "region"; });
  refuse("region", [&](Answer& a) { table(a).columns[0].missing = {3}; });
  refuse("region", [&](Answer& a) { table(a).columns[0].missing = {1, 1}; });
  refuse("region", [&](Answer& a) { table(a).columns[0].missing = {0}; });
  refuse("mean age", [&](Answer& a) { std::get<AnswerColumn::Numbers>(table(a).columns[2].cells)[0] = std::nan(""); });
  refuse("configuration", [](Answer& a) { a.configuration = "[1]"; });
  refuse("configuration", [](Answer& a) { a.configuration = R"({ "a": 1 })"; });
  refuse("mechanism", [](Answer& a) { a.mechanism.clear(); });
  refuse("provenance", [](Answer& a) { a.data = "\xff"; });
  refuse("statement", [](Answer& a) { a.replayed = true; });
}

// Removes every field, at every depth, or changes its type.
void spoil_each(const Json& whole, const Json::json_pointer& at,
                const std::function<void(const std::string&, const Json&)>& use) {
  const Json& value = whole.at(at);
  if (value.is_structured()) {
    for (const auto& [name, inner] : value.items()) {
      (void)inner;
      spoil_each(whole, at / name, use);
      Json less = whole;
      less.at(at).is_array() ? less.at(at).erase(std::stoul(name)) : (void)less.at(at).erase(name);
      if (value.is_object()) use("without " + (at / name).to_string(), less);
    }
    return;
  }
  Json changed = whole;
  changed[at] = value.is_string() ? Json(1) : value.is_null() ? Json::object() : Json("text");
  use(at.to_string(), changed);
}

TEST(Answer, IsReadStrictly) {
  const Json whole = Json::parse(to_json(rich_answer()));
  int tried = 0;
  // These may be missing, and where any string is allowed, another string is too.
  spoil_each(whole, Json::json_pointer(""), [&](const std::string& where, const Json& changed) {
    const bool optional = where == "without /asked" || where == "without /dataset" ||
                          where == "without /dataset/digest" || where.ends_with("/grid") ||
                          where.ends_with("/interval") || where.ends_with("/meaning") ||
                          where.find("/configuration") != std::string::npos;
    if (optional && where.starts_with("without")) return;
    if (where.starts_with("/configuration")) return;
    ++tried;
    const auto read = parse_answer(changed.dump());
    EXPECT_FALSE(read.has_value()) << where;
  });
  EXPECT_GT(tried, 60);
  Json more = whole;
  more["note"] = "harmless";
  EXPECT_FALSE(parse_answer(more.dump()).has_value());
  Json later = whole;
  later["noisefloor_answer"] = 2;
  EXPECT_FALSE(parse_answer(later.dump()).has_value());
  EXPECT_TRUE(is_typed_answer(later.dump())) << "of a later version, which is not one of version 0.1";
  for (const char* other : {"", "{}", "[]", "nonsense", R"({"value":1})"}) {
    EXPECT_FALSE(parse_answer(other).has_value()) << other;
    EXPECT_FALSE(is_typed_answer(other)) << other;
  }
}

// Writing JSON of so many levels back would overflow the stack.
TEST(Answer, RefusesHostileDepthWithoutAnOverflow) {
  const std::string deep = std::string(10'000'000, '[') + std::string(10'000'000, ']');
  EXPECT_EQ(parse_answer(R"({"noisefloor_answer":1,"a":)" + deep + "}").error().code, ErrorCode::kInputData);
  for (const char* key : {"certificate", "noisefloor_certificate", "value"}) {
    const std::string hostile = std::string(R"({")") + key + R"(":)" + deep + "}";
    EXPECT_EQ(verify_release(hostile).error().code, ErrorCode::kInputData) << key;
  }
  EXPECT_FALSE(
      verify_release(R"({"value":1,"certificate":{"noisefloor_certificate":2,"a":)" + deep + "}}").has_value());
  // Brackets inside a string are not levels.
  Answer answer = rich_answer();
  answer.data = std::string(1000, '[') + "\"\\\"";
  EXPECT_EQ(parsed(to_json(answer)).data, answer.data);
}

}  // namespace
}  // namespace noisefloor
