#include "noisefloor/report/assembled_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/toy_run.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::value_of;

class AssembledReportTest : public ::testing::Test {
 protected:
  [[nodiscard]] AssembledReport on(const std::string& name, const Trusted& trusted = {}) const {
    return value_of(report_on(runs_.path(name), trusted));
  }
  static const HtmlReport::Figure* figure(const std::vector<HtmlReport::Figure>& figures, const std::string& id) {
    const auto found = std::find_if(figures.begin(), figures.end(), [&](const auto& one) { return one.id == id; });
    return found == figures.end() ? nullptr : &*found;
  }
  static const HtmlReport::Check* check(const HtmlReport& page, const std::string& what) {
    const auto found =
        std::find_if(page.checks.begin(), page.checks.end(), [&](const auto& one) { return one.what == what; });
    return found == page.checks.end() ? nullptr : &*found;
  }

  testing::ToyRuns runs_;
};

TEST_F(AssembledReportTest, PromisesWhatTheCertificatePromises) {
  const Sealed model = runs_.train("run");
  const AssembledReport report = on("run", {&runs_.ledger(), true});
  const HtmlReport& page = report.page;
  EXPECT_EQ(page.name, "toy");
  EXPECT_EQ(page.noun, "model");
  EXPECT_EQ(page.promise.epsilon_upper, model.certificate.epsilon.upper);
  EXPECT_EQ(page.promise.delta, 1e-5);
  EXPECT_EQ(page.promise.unit, "row");
  ASSERT_EQ(report.verdicts.size(), 1U);
  EXPECT_EQ(report.verdicts[0].payment, Payment::kPaid);
  EXPECT_FALSE(report.is_sweep);
  ASSERT_TRUE(page.budget);
  EXPECT_EQ(page.budget->name, "trial");
  EXPECT_EQ(page.budget->before, 0);
  EXPECT_NEAR(page.budget->own, model.certificate.epsilon.upper, 1e-6);
  // The curve of ε at other δ passes through the promise: it was computed from the events and not copied.
  const HtmlReport::Figure* curve = figure(page.privacy, "epsilon-curve");
  ASSERT_NE(curve, nullptr);
  const auto at = std::find_if(curve->chart.series[0].points.begin(), curve->chart.series[0].points.end(),
                               [](const Chart::Point& p) { return std::abs(p.x / 1e-5 - 1) < 1e-9; });
  ASSERT_NE(at, curve->chart.series[0].points.end());
  EXPECT_NEAR(at->upper, model.certificate.epsilon.upper, 1e-6);
  ASSERT_TRUE(page.odds);
  EXPECT_GT(page.odds->advantage, 0);
  // The front end adds these, so they are empty here.
  EXPECT_TRUE(page.commands.empty());
  EXPECT_EQ(page.program, "");
  EXPECT_TRUE(page.results.empty() && page.utility.empty() && page.training.empty());
  EXPECT_EQ(check(page, "Quality and curves:"), nullptr);
}

TEST_F(AssembledReportTest, ShowsOnlyALedgerThatPaid) {
  (void)runs_.train("run");
  EXPECT_NE(on("run").page.no_budget.find("which was not at hand"), std::string::npos);
  testing::ToyRuns others;
  const AssembledReport beside = on("run", {&others.ledger(), false});
  EXPECT_FALSE(beside.page.budget);
  ASSERT_NE(check(beside.page, "Ledger:"), nullptr);
  EXPECT_FALSE(check(beside.page, "Ledger:")->done);
  expect_error(report_on(runs_.path("run"), {&others.ledger(), true}), ErrorCode::kVerificationFailed,
               "another ledger");
}

TEST_F(AssembledReportTest, ShowsWhatTheBudgetSpentBeforeAndSince) {
  const double own = runs_.train("run").certificate.epsilon.upper;
  const double next = runs_.train("next", 30.0).certificate.epsilon.upper;
  const auto first = on("run", {&runs_.ledger(), true}).page.budget;
  const auto second = on("next", {&runs_.ledger(), true}).page.budget;
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->before, 0);
  EXPECT_NEAR(first->after, next, 1e-6);
  EXPECT_NEAR(second->before, own, 1e-6);
  EXPECT_EQ(second->after, 0);
}

TEST_F(AssembledReportTest, SaysThatQualityWasMeasuredOnPrivateRows) {
  (void)runs_.train("run");
  runs_.write("run/run.json", R"({"test":{"examples":5000,"private_rows":true,"loss":0.3,"accuracy":0.925}})");
  const HtmlReport page = on("run").page;
  ASSERT_EQ(page.results.size(), 1U);
  EXPECT_EQ(page.results[0].note, "5,000 examples, kept from private rows and measured without noise");
}

TEST_F(AssembledReportTest, ShowsQualityBesideItsBaseline) {
  (void)runs_.train("run");
  runs_.write("run/run.json",
              R"({"command":"noisefloor train toy.toml","test":{"examples":5000,"loss":0.3,"accuracy":0.925,)"
              R"("majority_accuracy":0.625,"auc":0.97318}})");
  runs_.write("run/metrics.jsonl",
              "{\"step\":5,\"epsilon\":0.5,\"clip_norm\":1,\"test_loss\":0.7,\"test_accuracy\":0.625}\n"
              "{\"step\":20,\"epsilon\":0.9,\"clip_norm\":1,\"test_loss\":0.5,\"test_accuracy\":0.875}\n");
  const AssembledReport report = on("run");
  EXPECT_EQ(report.command, "noisefloor train toy.toml");
  const HtmlReport& page = report.page;
  ASSERT_EQ(page.results.size(), 2U);
  EXPECT_EQ(page.results[0].name, "Accuracy on test data");
  EXPECT_EQ(page.results[0].value, "92.50 %");
  EXPECT_EQ(page.results[0].note, "5,000 examples, taken as public; the most frequent class alone gets 62.50 %");
  EXPECT_EQ(page.results[1].name, "AUC on test data");
  EXPECT_EQ(page.results[1].value, "0.9732");
  const HtmlReport::Figure* bought = figure(page.utility, "privacy-utility");
  ASSERT_NE(bought, nullptr);
  EXPECT_EQ(bought->chart.subtitle, "accuracy on 1,000 test rows drawn at random, taken as public");
  ASSERT_TRUE(bought->chart.level);
  EXPECT_EQ(bought->chart.level->y, 62.5);
  EXPECT_EQ(bought->chart.level->label, "the most frequent class alone: 62.50 %");
  ASSERT_NE(figure(page.training, "loss"), nullptr);
  EXPECT_EQ(figure(page.training, "accuracy"), nullptr) << "it is shown by ε already";
  EXPECT_EQ(figure(page.training, "clip-norm"), nullptr) << "it did not adapt";
  ASSERT_NE(check(page, "Quality and curves:"), nullptr);
  EXPECT_FALSE(check(page, "Quality and curves:")->done) << "nobody has signed them";
}

TEST_F(AssembledReportTest, MeasuresFewRowsInFull) {
  (void)runs_.train("run");
  runs_.write("run/run.json", R"({"validation":{"examples":400,"loss":2,"rmse":2,"mean_rmse":3.5}})");
  runs_.write(
      "run/metrics.jsonl",
      "{\"step\":5,\"epsilon\":0.5,\"validation_loss\":4}\n{\"step\":9,\"epsilon\":0.9,\"validation_loss\":2}\n");
  const HtmlReport page = on("run").page;
  ASSERT_NE(figure(page.utility, "privacy-utility"), nullptr);
  EXPECT_EQ(figure(page.utility, "privacy-utility")->chart.subtitle,
            "loss on all 400 validation rows, taken as public");
  ASSERT_EQ(page.results.size(), 1U);
  EXPECT_EQ(page.results[0].name, "Root mean squared error on validation data");
  EXPECT_EQ(page.results[0].note, "400 examples, taken as public; the mean alone gets 3.5");
}

TEST_F(AssembledReportTest, ShowsNoPrivacyFiguresWithoutPrivacy) {
  (void)runs_.train("plain", std::nullopt);
  const HtmlReport page = on("plain", {&runs_.ledger(), true}).page;
  EXPECT_TRUE(std::isinf(page.promise.epsilon_upper));
  EXPECT_TRUE(page.privacy.empty());
  EXPECT_FALSE(page.odds);
  EXPECT_EQ(page.no_budget.rfind("Nothing was charged", 0), 0U);
}

// Whoever sees all models of a sweep has seen all of their noise: the promise is about them together.
TEST_F(AssembledReportTest, PromisesForASweepWhatAllOfItsModelsCost) {
  const double one = runs_.train("sweep/epsilon-1").certificate.epsilon.upper;
  const double half = runs_.train("sweep/epsilon-0.5", 30.0).certificate.epsilon.upper;
  (void)runs_.train("sweep/without-privacy", std::nullopt);
  runs_.write("sweep/sweep.csv",
              "epsilon,noise_multiplier,loss,accuracy,auc,f1,recall_at_20,loss_of_utility\n"
              "0.5,3,0.4,0.8,0.85,,,0.11\n1,2,0.3,0.9,0.95,,,-0.0001\ninf,,0.2,0.9,0.96,,,0\n");
  const AssembledReport report = on("sweep", {&runs_.ledger(), true});
  const HtmlReport& page = report.page;
  EXPECT_TRUE(report.is_sweep);
  ASSERT_EQ(report.verdicts.size(), 3U);
  EXPECT_EQ(report.verdicts[0].file, runs_.path("sweep/epsilon-0.5/model.safetensors"));
  EXPECT_EQ(report.verdicts[1].payment, Payment::kPaid);
  EXPECT_EQ(report.verdicts[2].payment, Payment::kNotCharged);
  EXPECT_EQ(page.noun, "2 private models");
  EXPECT_GT(page.promise.epsilon_upper, std::max(one, half));
  EXPECT_LE(page.promise.epsilon_upper, one + half);
  EXPECT_DOUBLE_EQ(page.promise.delta, 2e-5);
  ASSERT_EQ(page.warnings.size(), 1U);
  ASSERT_TRUE(page.budget);
  EXPECT_NEAR(page.budget->own, one + half, 1e-6);
  ASSERT_EQ(page.results_tables.size(), 1U);
  const HtmlReport::Table& table = page.results_tables[0];
  EXPECT_EQ(table.head,
            (std::vector<std::string>{"ε", "certified ε", "noise", "accuracy", "AUC", "loss", "utility lost"}))
      << "columns without a number are left out";
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[1].back(), "0.0 %") << "what rounds to nothing has no sign";
  EXPECT_EQ(table.rows[2][0], "∞");
  EXPECT_EQ(table.rows[2][1], "not private");
  EXPECT_EQ(table.rows[2][2], "–");
  runs_.damage("sweep/epsilon-1/model.safetensors");
  expect_error(report_on(runs_.path("sweep"), {}), ErrorCode::kVerificationFailed, "the content of the file is not");
}

TEST_F(AssembledReportTest, PutsTheFileInTheFolder) {
  (void)runs_.train("run");
  EXPECT_EQ(report_file_of(runs_.path("run")), runs_.path("run/report.html"));
  EXPECT_EQ(report_file_of(runs_.path("run/model.safetensors")), runs_.path("run/report.html"));
  EXPECT_EQ(report_file_of("model.safetensors"), "report.html");
}

}  // namespace
}  // namespace noisefloor
