// Whatever a record of private rows holds, the program says the same: no error, no text and no number is an answer
// about it, except through noise.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "program.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/toy_training.h"

namespace noisefloor {
namespace {

using testing::Outcome;
using testing::shell;
using testing::toy_table;
using testing::toy_toml;
using Json = nlohmann::json;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// The same keys and types, and the same values except for those that noise or a clock decides.
void expect_same_form(const Json& a, const Json& b, const std::string& where) {
  ASSERT_EQ(a.is_number(), b.is_number()) << where;
  if (!a.is_number()) {
    ASSERT_EQ(a.type(), b.type()) << where;
  }
  if (a.is_object()) {
    ASSERT_EQ(a.size(), b.size()) << where << a << b;
    for (const auto& [key, value] : a.items()) {
      ASSERT_TRUE(b.contains(key)) << where << "/" << key;
      expect_same_form(value, b.at(key), where + "/" + key);
    }
  }
}

class CliPrivateRows : public ::testing::Test {
 protected:
  CliPrivateRows() {
    // The rows for tests are public, and in a file of their own.
    toml_ = replaced(toy_toml("steps = 10\nnoise_multiplier = 20\n"), "test_fraction = 0.2\n", "test = \"test.csv\"\n");
    std::string tests = "x,y,kind\n";
    for (int i = 0; i < 300; ++i) tests += (i % 2 == 0 ? "0." : "-0.") + std::to_string(1000 + i) + ",0.25,yes\n";
    write("test.csv", tests);
    write("train.toml", toml_);
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path(name), std::ios::binary) << text;
  }
  [[nodiscard]] Outcome run(const std::string& command) const {
    return shell("cd '" + folder_.path("") + "' && " + command);
  }
  // A table like the toy's whose last record is this line, or is not there.
  void write_rows(const std::string& line) const { write("data.csv", toy_table() + line); }

  // Both outputs and the exit code, of a command that spends nothing.
  [[nodiscard]] std::string words(const std::string& command) const {
    const Outcome outcome = run(command);
    return std::to_string(outcome.exit_code) + "\n" + outcome.out + outcome.err;
  }

  testing::TemporaryFolder folder_;
  std::string toml_;
};

const std::vector<std::string>& odd_lines() {
  static const std::vector<std::string> lines{"x,0.1,yes\n",
                                              ",0.1,yes\n",
                                              "0.1,0.2,maybe\n",
                                              "0.1,0.2,\n",
                                              "0.1,0.2\n",
                                              "0.1,0.2,yes,no\n",
                                              "\n",
                                              "\"0.1,0.2,yes\n",
                                              "\"0.1\"2,0.2,yes\n",
                                              "nan,inf,yes\n",
                                              "\xff,\xfe,yes\n",
                                              std::string("0.1,\0,yes\n", 10),
                                              "0.1,0.2,yes\r",
                                              "987," + std::string(70'000, '9') + ",yes\n"};
  return lines;
}

// The attacks of the issue: each asks in which record something stands.
TEST_F(CliPrivateRows, NoSchemaAsksForTheRecordThatDoesNotFitIt) {
  std::string table = "x,y,kind\n";
  for (int i = 0; i < 300; ++i)
    table += (i == 57 ? "0.57" : "0.5") + std::string(",0.1,") + (i == 9 ? "yes\n" : "no\n");
  const std::vector<std::pair<std::string, std::string>> questions{
      {"label = \"kind\"\n", "label = \"kind\"\nmissing = [\"0.57\"]\n"},
      {"classes = [\"no\", \"yes\"]", "classes = [\"no\", \"maybe\"]"},
      {"classes = [\"no\", \"yes\"]", "classes = [\"maybe\", \"no\"]"},
      {"name = \"x\"\nlower = -1\nupper = 1", "name = \"kind\"\nlower = -1\nupper = 1"},
      {"label = \"kind\"\nclasses = [\"no\", \"yes\"]", "target = \"kind\"\ntarget_lower = 0\ntarget_upper = 1"}};
  for (const auto& [from, to] : questions) {
    std::string toml = replaced(toml_, from, to);
    if (to.find("name = \"kind\"") == 0) toml = replaced(toml, "label = \"kind\"", "label = \"x\"");
    if (to.find("target") == 0)
      toml = replaced(toml, "kind = \"logistic\"", "kind = \"ridge\"") + "weight_decay = 0.1\n";
    write("train.toml", replaced(toml, "test = \"test.csv\"\n", ""));
    std::vector<std::string> said;
    for (const std::string& content : {table, replaced(table, "0.57", "0.5"), replaced(table, "yes", "no")}) {
      write("data.csv", content);
      said.push_back(words("noisefloor train train.toml --dry-run --json") + words("noisefloor check train.toml"));
      EXPECT_EQ(said.back().substr(0, 2), "0\n") << said.back();
      EXPECT_EQ(said.back(), said.front()) << to;
    }
    // And the training itself goes on, and says nothing about it.
    write("data.csv", table);
    const Outcome outcome =
        run("rm -rf out l l.* && noisefloor train train.toml --replay-seed 1 --quiet --output out --json --create "
            "--ledger l");
    EXPECT_EQ(outcome.exit_code, 0) << to << outcome.err;
    EXPECT_EQ(outcome.err, "");
  }
}

// Complete outputs on neighbours: with each kind of odd record, with an ordinary one, and with none.
TEST_F(CliPrivateRows, TrainingSaysTheSameOfNeighbours) {
  write_rows("");
  const std::string dry = words("noisefloor train train.toml --dry-run --json");
  const std::string table = words("noisefloor train train.toml --dry-run");
  const std::string checked = words("noisefloor check train.toml --json");
  ASSERT_EQ(dry.substr(0, 2), "0\n") << dry;
  const std::string command =
      "rm -rf out l l.* && noisefloor train train.toml --json --quiet --replay-seed 3 --output out --create --ledger l";
  const Json report = Json::parse(run(command).out);
  const std::string certificate = testing::read_file(folder_.path("out/certificate.json"));
  std::vector<std::string> lines = odd_lines();
  lines.emplace_back("0.1,0.2,no\n");
  for (const std::string& line : lines) {
    write_rows(line);
    EXPECT_EQ(words("noisefloor train train.toml --dry-run --json"), dry) << line;
    EXPECT_EQ(words("noisefloor train train.toml --dry-run"), table) << line;
    EXPECT_EQ(words("noisefloor check train.toml --json"), checked) << line;
    const Outcome outcome = run(command);
    ASSERT_EQ(outcome.exit_code, 0) << line << outcome.err;
    EXPECT_EQ(outcome.err, "") << line;
    expect_same_form(Json::parse(outcome.out), report, "report");
    Json own = Json::parse(testing::read_file(folder_.path("out/certificate.json")));
    Json other = Json::parse(certificate);
    for (Json* one : {&own, &other}) one->erase("released");
    for (const char* key : {"digest", "public_key", "signature"}) {
      own.erase(key);
      other.erase(key);
    }
    EXPECT_EQ(own, other) << "a certificate differs in what was released alone: " << line;
  }
}

// A null record is one that is not there: the model of a table with odd records is that of a table without them if they
// come last and are not drawn into the stream of coins before others.
TEST_F(CliPrivateRows, AnOddRecordContributesNothing) {
  const auto model = [&](const std::string& content) {
    write("data.csv", content);
    const Outcome outcome =
        run("rm -rf out l l.* && noisefloor train train.toml --quiet --replay-seed 3 --output out --create --ledger l");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(testing::read_file(folder_.path("out/certificate.json")))["released"];
  };
  std::string table = toy_table();
  const std::size_t at = table.find('\n', 2000) + 1;
  const std::size_t end = table.find('\n', at) + 1;
  // Two odd records of different kinds in the place of one ordinary record.
  const std::string before = table.substr(0, at);
  const std::string after = table.substr(end);
  const Json one = model(before + "x,0.5,yes\n" + after);
  EXPECT_EQ(one, model(before + "0.5,0.5,perhaps\n" + after));
  EXPECT_EQ(one, model(before + "\"\n" + after));
  EXPECT_NE(one, model(table)) << "the ordinary record does contribute";
}

TEST_F(CliPrivateRows, TheNumberOfRowsIsNowhere) {
  for (const int more : {0, 1, 321}) {
    std::string table = toy_table();
    for (int i = 0; i < more; ++i) table += "0.1,0.2,no\n";
    write("data.csv", table);
    const Outcome outcome = run("rm -rf out && noisefloor train train.toml --json --create --ledger l" +
                                std::to_string(more) + " --output out");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(Json::parse(outcome.out)["examples"], 2000);
    const Json certificate = Json::parse(testing::read_file(folder_.path("out/certificate.json")));
    EXPECT_EQ(certificate["configuration"]["rows"], 2000);
    EXPECT_NE(certificate.dump().find("the number of rows to learn from, 2000, is taken as public"), std::string::npos);
    for (const std::string& said :
         {outcome.out, outcome.err, certificate.dump(), testing::read_file(folder_.path("out/metrics.jsonl")),
          testing::read_file(folder_.path("out/run.json"))}) {
      if (more > 0) {
        EXPECT_EQ(said.find(std::to_string(2000 + more)), std::string::npos) << said;
      }
    }
  }
  // Without a statement the training is refused, with the key to add, whatever the rows are.
  write("train.toml", replaced(toml_, "rows = 2000\n", ""));
  const std::string refused = words("noisefloor train train.toml --dry-run");
  EXPECT_EQ(refused.substr(0, 2), "2\n");
  EXPECT_NE(refused.find("add rows = … to [data]"), std::string::npos) << refused;
  EXPECT_EQ(refused.find("2321"), std::string::npos);
  write_rows("");
  EXPECT_EQ(words("noisefloor train train.toml --dry-run"), refused);
}

// Public rows keep their errors, with lines.
TEST_F(CliPrivateRows, PublicTestRowsHaveErrorsWithLines) {
  write_rows("");
  write("test.csv", toy_table() + "0.1,0.2,maybe\n");
  const Outcome outcome = run("noisefloor train train.toml --dry-run");
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("test.csv:2002: label column 'kind'"), std::string::npos) << outcome.err;
  EXPECT_NE(run("noisefloor check train.toml").out.find("test.csv:2002"), std::string::npos);
}

// The one way to see what does not fit says so first.
TEST_F(CliPrivateRows, TheCustodianIsTold) {
  write_rows("0.1,987,maybe\n\n");
  const Outcome outcome = run("noisefloor dataset inspect train.toml");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.rfind("EXACT FACTS ABOUT PRIVATE ROWS", 0), 0U) << outcome.out;
  EXPECT_NE(outcome.out.find("data.csv:2002: label column 'kind'"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("data.csv:2003: expected 3 cells"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("987"), std::string::npos);
  const Json json = Json::parse(run("noisefloor dataset inspect train.toml --json").out);
  EXPECT_EQ(json["for_custodian_only"], true);
  EXPECT_EQ(json["records"], 2002);
  EXPECT_EQ(json["null_records"], 2);
}

// Statistics of a column, of a file and of standard input: the noise is the same, and so are exact sums.
TEST_F(CliPrivateRows, MechanismsMapWhatIsNoNumberByThePublicRule) {
  const auto lines = [](const std::string& odd) { return "10\n20\n" + odd + "30\n"; };
  for (const char* mechanism : {"sum", "mean", "quantile"}) {
    const auto said = [&](const std::string& numbers, const std::string& more) {
      write("numbers.txt", numbers);
      return words("noisefloor mechanism " + std::string(mechanism) +
                   " --input - --lower 5 --upper 40 --epsilon 1 --replay-seed 4 --json " + more + " <numbers.txt");
    };
    for (const std::string& odd :
         {std::string("x\n"), std::string("\n"), std::string("nan\n"), std::string("1 2\n"), std::string("1e999\n"),
          std::string(5000, '1') + "\n", std::string("\xff\n"), std::string("\0\n", 2)}) {
      EXPECT_EQ(said(lines(odd), ""), said(lines(""), "")) << mechanism << odd;
      const std::string exchange = "--adjacency replace-one";
      EXPECT_EQ(said(lines(odd), exchange), said(lines("5\n"), exchange)) << mechanism << odd;
    }
    EXPECT_EQ(said(lines("x\n"), "").substr(0, 2), "0\n");
  }
  write("patients.toml",
        "name = \"patients\"\n[data]\nformat = \"csv\"\nfile = \"data.csv\"\nlabel = \"kind\"\nclasses = [\"no\", "
        "\"yes\"]\n[[data.column]]\nname = \"x\"\nlower = -1\nupper = 1\n[budget]\nepsilon = 1\ndelta = 0\n");
  const std::string command = "noisefloor mechanism mean --dataset patients.toml --column x --epsilon 0.5 --key k ";
  write_rows("");
  const std::string dry = words(command + "--dry-run --json");
  ASSERT_EQ(dry.substr(0, 2), "0\n") << dry;
  for (const std::string& line : odd_lines()) {
    write_rows(line);
    EXPECT_EQ(words(command + "--dry-run --json"), dry) << line;
    const Outcome outcome = run("rm -rf *.ledger* && " + command + "--create --ledger l.ledger --json");
    EXPECT_EQ(outcome.exit_code, 0) << line << outcome.err;
    EXPECT_EQ(outcome.err, "") << line;
  }
}

}  // namespace
}  // namespace noisefloor
