#include "noisefloor/summary/page_summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

HtmlReport page_at(double epsilon) {
  HtmlReport page;
  page.name = "toy";
  page.promise = {.epsilon_lower = epsilon, .epsilon_upper = epsilon, .delta = 1e-5, .unit = "row"};
  return page;
}

TEST(PageSummary, AReportSaysItsPromiseAndWhetherALedgerWasAsked) {
  HtmlReport page = page_at(2);
  const Summary summary = summary_of(page, "toy/report.html", 1234);
  const Json json = Json::parse(summary.as_json());
  EXPECT_EQ(json["report"], "toy/report.html");
  EXPECT_EQ(json["bytes"], 1234);
  EXPECT_EQ(json["private"], true);
  EXPECT_EQ(json["epsilon"]["upper"], 2);
  EXPECT_EQ(json["ledger_checked"], false);
  EXPECT_EQ(summary.as_text(), "Report on toy\n  report  toy/report.html\n  says    " + promise_in_words(page) + "\n");
  page.budget = HtmlReport::Budget{.name = "toy"};
  EXPECT_EQ(Json::parse(summary_of(page, "f", 1).as_json())["ledger_checked"], true);
}

TEST(PageSummary, WhatIsNotPrivateSaysSo) {
  const Json json = Json::parse(summary_of(page_at(HUGE_VAL), "f", 1).as_json());
  EXPECT_EQ(json["private"], false);
  EXPECT_EQ(json["epsilon"]["upper"], "infinite");
}

TEST(PageSummary, AReportThatWasNotWrittenIsNotNamed) {
  Summary summary("x");
  add_report_page(summary, "");
  EXPECT_EQ(summary.as_text(), "x\n");
  add_report_page(summary, "a/report.html");
  EXPECT_EQ(Json::parse(summary.as_json())["report"], "a/report.html");
  EXPECT_EQ(summary.as_text(), "x\n  report  a/report.html\n");
}

TEST(PageSummary, StepsHoldWhatCommandsPrinted) {
  Summary summary("x");
  add_steps(summary, std::vector<RanCommand>{{"noisefloor plan", 0, R"({"steps":3})"}, {"noisefloor train", 3, {}}});
  const Json steps = Json::parse(summary.as_json())["steps"];
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0]["command"], "noisefloor plan");
  EXPECT_EQ(steps[0]["result"]["steps"], 3);
  EXPECT_EQ(steps[1]["exit_code"], 3);
  EXPECT_FALSE(steps[1].contains("result"));
}

}  // namespace
}  // namespace noisefloor
