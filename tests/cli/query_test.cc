// The commands query and sql as their users type them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "program.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::Outcome;
using testing::shell;
using Json = nlohmann::json;

class CliQuery : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream rows(folder_.path("visits.csv"));
    rows << "pid,dept,ward,cost\n";
    for (int pid = 0; pid < 500; ++pid) {
      rows << pid << "," << (pid % 3 == 0 ? "ICU" : "ER") << "," << (pid < 2 ? "987" : "north") << "," << pid % 300
           << "\n";
    }
    std::ofstream(folder_.path("visits.toml")) << R"(name = "visits"
[data]
format = "tables"
[[table]]
name = "visits"
file = "visits.csv"
max_groups = 2
max_rows_per_group = 2
[[table.column]]
name = "pid"
type = "integer"
[[table.column]]
name = "dept"
type = "text"
values = ["ICU", "ER", "A"]
[[table.column]]
name = "ward"
type = "text"
[[table.column]]
name = "cost"
type = "number"
lower = 0
upper = 500
step = 1
[unit]
of = "person"
column = "pid"
[budget]
epsilon = 3
delta = 1e-5
)";
  }
  [[nodiscard]] Outcome run(const std::string& command) const {
    return shell("cd '" + folder_.path("") + "' && " + command);
  }
  [[nodiscard]] Outcome query(const std::string& arguments) const {
    return run("noisefloor query visits.toml " + arguments);
  }
  void expect_failure(const std::string& arguments, int code, const std::string& part) const {
    const Outcome outcome = query(arguments);
    EXPECT_EQ(outcome.exit_code, code) << arguments << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("987"), std::string::npos) << "a private value leaked: " << outcome.err;
  }

  testing::TemporaryFolder folder_;
};

constexpr const char* kByDept = "'SELECT dept, count(*) FROM visits GROUP BY dept'";

TEST_F(CliQuery, AnswersWithIntervalsCostAndWhatIsLeft) {
  const Outcome first = query(std::string(kByDept) + " --epsilon 1 --create");
  ASSERT_EQ(first.exit_code, 0) << first.err;
  for (const char* const part : {"dept", "count(*)", "95 % interval", "ICU", "A ", "epsilon 1 ", "left", "epsilon 2"}) {
    EXPECT_NE(first.out.find(part), std::string::npos) << part << "\n" << first.out;
  }
  const Outcome again = query("'select COUNT(*) AS n, dept from visits v group by v.dept' --epsilon 1");
  EXPECT_NE(again.out.find("nothing was spent"), std::string::npos) << again.out;
  const Outcome csv = query(std::string(kByDept) + " --epsilon 1 --csv");
  EXPECT_EQ(csv.out.rfind("dept,count(*),count(*)_lower,count(*)_upper\n", 0), 0U) << csv.out;
  const Json json = Json::parse(query(std::string(kByDept) + " --epsilon 1 --json").out, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["values"][0]["name"], "answer") << json.dump(1).substr(0, 400);
}

TEST_F(CliQuery, WritesAReleaseThatVerifyAndReportKnow) {
  ASSERT_EQ(query(std::string(kByDept) + " --epsilon 1 --create --output answer.json").exit_code, 0);
  const Outcome verified = run("noisefloor verify answer.json --ledger noisefloor.ledger");
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_NE(verified.out.find("has paid for it"), std::string::npos) << verified.out;
  ASSERT_EQ(run("noisefloor report answer.json --output report.html").exit_code, 0);
  std::ifstream page(folder_.path("report.html"));
  const std::string html{std::istreambuf_iterator<char>(page), {}};
  EXPECT_NE(html.find("ICU"), std::string::npos);
  EXPECT_NE(html.find("<svg"), std::string::npos);
  EXPECT_EQ(run("sed -i 's/\"count\"/\"counts\"/; s/ICU/ICE/' answer.json && noisefloor verify answer.json").exit_code,
            6);
}

TEST_F(CliQuery, ExplainsAndForecastsWithoutSpending) {
  ASSERT_EQ(run("noisefloor dataset add visits.toml").exit_code, 0);
  const Outcome flag = query(std::string(kByDept) + " --epsilon 1 --explain");
  const Outcome word = query("'EXPLAIN (PRIVACY) SELECT dept, count(*) FROM visits GROUP BY dept' --epsilon 1");
  ASSERT_EQ(flag.exit_code, 0) << flag.err;
  EXPECT_EQ(flag.out, word.out);
  for (const char* const part :
       {"one unit moves all groups", "Laplace noise of scale 4", "SELECT", "left", "nothing was spent"}) {
    EXPECT_NE(flag.out.find(part), std::string::npos) << part << "\n" << flag.out;
  }
  const Outcome dry = query(std::string(kByDept) + " --epsilon 1 --dry-run");
  EXPECT_NE(dry.out.find("would cost"), std::string::npos) << dry.out;
  EXPECT_NE(run("noisefloor budget show visits").out.find("epsilon 3"), std::string::npos);
  // Not even the file has to be there.
  std::filesystem::remove(folder_.path("visits.csv"));
  EXPECT_EQ(query(std::string(kByDept) + " --epsilon 1 --explain").exit_code, 0);
}

TEST_F(CliQuery, AsksAFileAsOnePlan) {
  std::ofstream(folder_.path("all.sql")) << "SELECT count(*) FROM visits; -- first\nSELECT dept, sum(cost) FROM visits "
                                            "GROUP BY dept;\n";
  const Outcome made = query("--file all.sql --epsilon 1 --create");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.out.find("sum(cost)"), std::string::npos);
  EXPECT_NE(made.out.find("epsilon 2 "), std::string::npos) << made.out;
  EXPECT_EQ(run("cat all.sql | noisefloor query visits.toml --file - --epsilon 1").exit_code, 0);
}

TEST_F(CliQuery, RefusesBeforeAnythingIsSpent) {
  ASSERT_EQ(run("noisefloor dataset add visits.toml").exit_code, 0);
  expect_failure("'SELECT * FROM visits' --epsilon 1", 2, "aggregate");
  expect_failure("'SELECT count(*) FROM staff' --epsilon 1", 2, "no table 'staff'");
  expect_failure("'SELECT ward, count(*) FROM visits GROUP BY ward' --epsilon 1", 2, "delta");
  expect_failure(std::string(kByDept) + " --epsilon 0", 2, "epsilon");
  expect_failure(std::string(kByDept) + " --epsilon 1 --noise none", 2, "auto, laplace or gaussian");
  expect_failure(std::string(kByDept) + " --epsilon 1 --bound cost=5", 2, "COLUMN=LOWER..UPPER");
  expect_failure(std::string(kByDept) + " --epsilon 1 --max-groups 9", 2, "at most 2");
  expect_failure(std::string(kByDept) + " --epsilon 4", 3, "epsilon");
  expect_failure("--epsilon 1", 2, "--file");
  EXPECT_NE(run("noisefloor budget show visits").out.find("left                       epsilon 3"), std::string::npos);
}

TEST_F(CliQuery, HoldsAConversation) {
  const Outcome outcome =
      run("printf 'SELECT dept, count(*)\\nFROM visits GROUP BY dept;\\n\\\\explain SELECT count(*) FROM visits;\\n"
          "\\\\tables\\n\\\\budget\\nSELECT nonsense;\\n\\\\q\\n' | noisefloor sql visits.toml --epsilon 0.5 --create");
  for (const char* const part : {"ICU", "Paid for", "nothing was read", "tells persons apart", "epsilon 2.5"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  }
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
}

}  // namespace
}  // namespace noisefloor
