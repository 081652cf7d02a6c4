#include "noisefloor/summary/pate_summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

void expect_text(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
}

constexpr const char* kFile = R"(name = "toy"
[budget]
epsilon = 2.0
delta = 1e-5
[data]
format = "csv"
train = "private.csv"
rows = 2000
label = "kind"
classes = ["no", "yes"]
[[data.column]]
name = "x"
lower = -1
upper = 1
[model]
kind = "logistic"
[teachers]
count = 250
[public]
file = "public.csv"
[votes]
aggregator = "gnmax"
noise = 40
)";

TEST(PateSummary, SaysHowManyAnswersFitWithoutReadingRows) {
  const PateFile file = parse_pate_file(kFile, "nowhere/toy.toml").value();
  const Summary summary = votes_plan_summary(file).value();
  const std::string text = summary.as_text();
  expect_text(text, "201 answers (the most that fit)");
  expect_text(text, "noise 80");
  const Json json = Json::parse(summary.as_json());
  EXPECT_EQ(json["asked"]["answers"], 201);
  EXPECT_EQ(json["fits"][2]["noise"], 40);
  EXPECT_EQ(json["fits"][2]["answers"], 201);
  EXPECT_NEAR(json["fits"][4]["answers"].get<double>(), 4 * 201, 3) << "twice the noise buys four times as many";
}

TEST(PateSummary, MarksTheCustodiansFigures) {
  Summary summary("Own figures");
  add_own_figures(summary, {0.9, 1.0, 2.0, {}}, "own-figures.private.json");
  expect_text(summary.as_text(), "NOT FOR RELEASE");
}

TEST(PateSummary, TellsHowLongTeachersWillTake) {
  EXPECT_EQ(progress_line(TeachingProgress{10, 250, 5, 61}), "10 of 250 teachers have learned, 1:01 left");
}

}  // namespace
}  // namespace noisefloor
