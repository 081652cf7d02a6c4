// The program as its users meet it: exit codes, streams, help, and bad input of every kind.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "noisefloor/event/json.h"
#include "program.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_clean_failure;
using testing::noisefloor_run;
using testing::Outcome;
using testing::shell;

const std::string kLaplace = "mechanism laplace --value 342 --sensitivity 1 ";

// One working call of every mechanism.
const std::vector<std::string>& working_calls() {
  static const std::vector<std::string> calls = [] {
    static const testing::TemporaryFolder folder;
    const std::string data = folder.path("numbers.txt");
    std::ofstream file(data);
    for (int i = 0; i < 1000; ++i) file << i % 100 << "\n";
    const std::string from_file = "--input " + data + " --lower 0 --upper 100 ";
    return std::vector<std::string>{
        kLaplace + "--epsilon 0.5",
        "mechanism gaussian --value 72.5 --sensitivity 0.01 --epsilon 1 --delta 1e-5 --adjacency replace-one",
        "mechanism gaussian --value 72.5 --sensitivity 0.01 --epsilon 1 --delta 1e-5 --calibration "
        "classical-beyond-its-proof",
        "mechanism geometric --value -342 --sensitivity 1 --epsilon 0.5",
        "mechanism sum " + from_file + "--epsilon 1",
        "mechanism sum " + from_file + "--epsilon 1 --delta 1e-6 --unit person --rows-per-unit 3",
        "mechanism mean " + from_file + "--epsilon 1",
        "mechanism mean " + from_file + "--epsilon 1 --delta 1e-6 --adjacency replace-one",
        "mechanism quantile " + from_file + "--epsilon 1 --level 0.9",
        "mechanism exponential --scores drama=42000,comedy=38000 --sensitivity 1 --epsilon 1",
        "mechanism permute-and-flip --scores 3,2,1 --sensitivity 1 --epsilon 1 --top 2 --monotonic",
        "mechanism noisy-max --scores 3,2,1 --sensitivity 1 --epsilon 1",
        "mechanism above-threshold --values 12,80,500,7 --threshold 300 --sensitivity 1 --epsilon 1",
        "mechanism randomized-response --value 3 --categories 5 --epsilon 1",
        "mechanism histogram --counts low=12000,medium=35000,high=28000,very_high=5000 --epsilon 1",
        "mechanism histogram --counts 1,0,0 --epsilon 1 --delta 1e-6",
        "mechanism partition-selection --counts flu=900,gout=40,kuru=1 --epsilon 1 --delta 1e-6",
        "mechanism tree-count --values 3,0,5,2 --steps 365 --epsilon 1",
    };
  }();
  return calls;
}

TEST(Cli, EveryMechanismAnswersInWordsAndInJson) {
  for (const std::string& call : working_calls()) {
    const Outcome words = noisefloor_run(call);
    EXPECT_EQ(words.exit_code, 0) << call << words.err;
    EXPECT_NE(words.out.find("guarantee"), std::string::npos) << call;
    EXPECT_EQ(words.err, "") << call;

    const Outcome json = noisefloor_run(call + " --json");
    EXPECT_EQ(json.exit_code, 0) << call;
    const auto parsed = nlohmann::json::parse(json.out);
    for (const char* field : {"mechanism", "epsilon", "delta", "adjacency", "unit", "private", "statement"}) {
      EXPECT_TRUE(parsed.contains(field)) << call << " " << field;
    }
    EXPECT_TRUE(parsed["private"].get<bool>()) << call;
    EXPECT_TRUE(parse_statement(parsed["statement"].dump()).has_value()) << call;
  }
}

TEST(Cli, LaplaceStatesScaleIntervalAndEvent) {
  const auto json = nlohmann::json::parse(noisefloor_run(kLaplace + "--epsilon 0.5 --json").out);
  EXPECT_EQ(json["scale"], 2.0);
  const double value = json["value"];
  EXPECT_NEAR(value, 342, 2 * 40);  // beyond 40 scales: probability e^-40
  EXPECT_NEAR(json["interval"]["upper"].get<double>() - value, 2 * std::log(20), 1e-6);
  EXPECT_NEAR(value - json["interval"]["lower"].get<double>(), 2 * std::log(20), 1e-6);
  EXPECT_EQ(json["statement"]["event"]["kind"], "discrete_laplace");
}

TEST(Cli, TwoCallsDrawDifferentNoise) {
  EXPECT_NE(noisefloor_run(kLaplace + "--epsilon 0.5").out, noisefloor_run(kLaplace + "--epsilon 0.5").out);
}

TEST(Cli, ReplayedNoiseRepeatsAndIsMarked) {
  const std::string call = kLaplace + "--epsilon 0.5 --replay-seed 7";
  const Outcome first = noisefloor_run(call);
  EXPECT_EQ(first.out, noisefloor_run(call).out);
  EXPECT_NE(first.out.find("NOT PRIVATE"), std::string::npos);
  const auto json = nlohmann::json::parse(noisefloor_run(call + " --json").out);
  EXPECT_FALSE(json["private"].get<bool>());
  EXPECT_NE(json["statement"].dump().find("non_private"), std::string::npos);
}

TEST(Cli, BadNumbersAreRefusedByName) {
  for (const char* bad : {"0", "-1", "nan", "inf", "-inf", "1e400", "''", "1ms", "0x1", "one", "1e-30", "' 1'"}) {
    expect_clean_failure(kLaplace + "--epsilon " + bad, 2);
  }
  EXPECT_EQ(noisefloor_run(kLaplace + "--epsilon -1").err,
            "noisefloor: epsilon must be a finite number above 0; got -1\n");
  for (const char* bad : {"0", "-1", "1", "2", "nan", "''"}) {
    expect_clean_failure("mechanism gaussian --value 1 --sensitivity 1 --epsilon 1 --delta " + std::string(bad), 2);
  }
  expect_clean_failure("mechanism laplace --value 1 --sensitivity 0 --epsilon 1", 2);
  expect_clean_failure("mechanism laplace --value nan --sensitivity 1 --epsilon 1", 2);
  expect_clean_failure(kLaplace + "--epsilon 1 --unit household", 2);
  expect_clean_failure(kLaplace + "--epsilon 1 --adjacency bounded", 2);
  expect_clean_failure(kLaplace + "--epsilon 1 --confidence 1", 2);
  expect_clean_failure(kLaplace + "--epsilon 1 --rows-per-unit 5", 2);
  expect_clean_failure("mechanism randomized-response --value 5 --categories 5 --epsilon 1", 2);
  expect_clean_failure("mechanism geometric --value 1.5 --sensitivity 1 --epsilon 1", 2);
  expect_clean_failure("mechanism histogram --counts 1,2.5 --epsilon 1", 2);
  expect_clean_failure("mechanism histogram --counts '' --epsilon 1", 2);
  expect_clean_failure("mechanism exponential --scores 1,2 --sensitivity 1 --epsilon 1 --top 3", 2);
  expect_clean_failure("mechanism exponential --scores 1,2 --sensitivity 1 --epsilon 1 --top 0", 2);
  expect_clean_failure("mechanism tree-count --values 1,2,3 --steps 2 --epsilon 1", 2);
  expect_clean_failure("mechanism gaussian --value 1 --sensitivity 1 --epsilon 2 --delta 1e-5 --calibration classical",
                       2);
}

TEST(Cli, BadUsageIsRefusedByName) {
  expect_clean_failure("", 2);
  expect_clean_failure("mechanism", 2);
  expect_clean_failure("frobnicate", 2);
  expect_clean_failure("mechanism frobnicate", 2);
  expect_clean_failure(kLaplace, 2);
  expect_clean_failure(kLaplace + "--epsilon", 2);
  expect_clean_failure(kLaplace + "--epsilon 1 --epsilon 2", 2);
  expect_clean_failure(kLaplace + "--epsilon 1 --frobnicate", 2);
  expect_clean_failure(kLaplace + "--epsilon 1 stray", 2);
  expect_clean_failure("completion tcsh", 2);
  EXPECT_NE(noisefloor_run("frobnicate").err.find("'frobnicate'"), std::string::npos);
}

TEST(Cli, MisspeltCommandsAndOptionsGetTheNearestName) {
  EXPECT_EQ(noisefloor_run("trian").err, "noisefloor: there is no command 'trian'; did you mean 'train'?\n");
  EXPECT_EQ(noisefloor_run("mechanism laplcae").err,
            "noisefloor: there is no command 'laplcae'; did you mean 'laplace'?\n");
  EXPECT_EQ(noisefloor_run(kLaplace + "--epsilno 1").err,
            "noisefloor: there is no option '--epsilno'; did you mean '--epsilon'?\n");
  EXPECT_EQ(noisefloor_run(kLaplace + "--epsilno=1 --json").err,
            "noisefloor: there is no option '--epsilno'; did you mean '--epsilon'?\n");
  EXPECT_EQ(noisefloor_run(kLaplace + "--epsilon 1 --frobnicate").err,
            "noisefloor: there is no option '--frobnicate'; --help shows what is possible\n");
  // Nothing is near: all are named.
  EXPECT_NE(noisefloor_run("frobnicate").err.find("there are: account, calibrate"), std::string::npos);
  expect_clean_failure("trian", 2);
  expect_clean_failure(kLaplace + "--epsilno 1", 2);
}

// tests/cli/private_rows_test.cc compares what the program says about all kinds of lines.
TEST(Cli, BadFilesAreRefusedAndBadLinesAreNoErrors) {
  const std::string tail = " --lower 0 --upper 1 --epsilon 1";
  expect_clean_failure("mechanism mean --input /no/such/file" + tail, 4);
  expect_clean_failure("mechanism mean --input /" + tail, 4);
  for (const char* command : {"sum", "mean", "quantile"}) {
    const Outcome outcome =
        shell("printf '1\\n2\\nsecret7\\n' | noisefloor mechanism " + std::string(command) + " --input -" + tail);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(outcome.out.find("secret7"), std::string::npos);
  }
  EXPECT_EQ(shell("printf '1\\n\\n2\\n' | noisefloor mechanism sum --input -" + tail).exit_code, 0);
  EXPECT_EQ(shell("printf '1\\r\\n 2 \\n\\n\\n' | noisefloor mechanism sum --input -" + tail).exit_code, 0);
  EXPECT_EQ(shell("printf '1\\n2' | noisefloor mechanism sum --input -" + tail).exit_code, 0);
}

TEST(Cli, PrivateArgumentsAreNotShownInErrors) {
  for (const char* call : {"mechanism laplace --value 98765x --sensitivity 1 --epsilon 1",
                           "mechanism geometric --value 98765.5 --sensitivity 1 --epsilon 1",
                           "mechanism histogram --counts 1,98765x --epsilon 1",
                           "mechanism randomized-response --value 98765 --categories 5 --epsilon 1",
                           "mechanism laplace --value 98765 --sensitivity 0 --epsilon 1"}) {
    const Outcome outcome = noisefloor_run(call);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.err.find("98765"), std::string::npos) << outcome.err;
  }
}

// Arguments, names and paths cannot clear the screen, reorder the message or add a line of their own.
TEST(Cli, ErrorsAreWrittenOutWhateverTheyQuote) {
  const std::string hostile = "'x\x1b[2J\nnoisefloor: done\u202E\u200B\u009B'";
  for (const std::string& call :
       {hostile, "mechanism " + hostile, "account dpsgd --" + hostile, "verify " + hostile, "check " + hostile,
        "train " + hostile, "budget create " + hostile + " --epsilon 1 --ledger /no/such/ledger",
        "mechanism sum --lower 0 --upper 1 --epsilon 1 --input " + hostile, kLaplace + "--epsilon " + hostile}) {
    const Outcome outcome = noisefloor_run(call);
    EXPECT_NE(outcome.exit_code, 0) << call;
    EXPECT_EQ(outcome.out, "") << call;
    EXPECT_NE(outcome.err.find("\\u{1b}[2J\\u{a}"), std::string::npos) << call << "\n" << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << call << "\n" << outcome.err;
    for (const char* raw : {"\x1b", "\u202E", "\u200B", "\u009B"}) {
      EXPECT_EQ(outcome.err.find(raw), std::string::npos) << call << "\n" << outcome.err;
    }
  }
  EXPECT_NE(noisefloor_run("budget create 'a\u202Eb' --epsilon 1 --ledger /no/such/ledger").err.find("U+202E"),
            std::string::npos);
}

// Ten gigabytes of garbage, of three kinds: reading stops at the first bad line, so this is quick.
// Garbage is no error, because an error would tell where it is. It takes no memory: neither a line without an end nor
// the number of lines does.
TEST(Cli, LongLinesTakeNoMemory) {
  for (const char* garbage : {"yes garbage", "cat /dev/zero", "cat /dev/urandom"}) {
    const Outcome outcome = shell("ulimit -v 400000; " + std::string(garbage) +
                                  " | head -c 500000000 | noisefloor mechanism sum --input - --lower 0 --upper 1 "
                                  "--epsilon 1 --replay-seed 1");
    EXPECT_EQ(outcome.exit_code, 0) << garbage << outcome.err;
    EXPECT_EQ(outcome.err, "") << garbage;
  }
}

TEST(Cli, AFullDiskIsAnErrorAndNotSilence) {
  EXPECT_EQ(shell("noisefloor " + kLaplace + "--epsilon 1 >/dev/full").exit_code, 5);
}

TEST(Cli, HelpHasExamplesThatWork) {
  const Outcome top = noisefloor_run("--help");
  EXPECT_EQ(top.exit_code, 0);
  EXPECT_NE(top.out.find("Exit codes"), std::string::npos);
  EXPECT_EQ(noisefloor_run("--version").exit_code, 0);
  // Each mechanism's help ends with an example; those that need no file must run as they stand.
  const std::string list = noisefloor_run("mechanism --help").out;
  int tried = 0;
  for (const std::string& call : working_calls()) {
    std::istringstream words(call);
    std::string mechanism;
    std::string name;
    words >> mechanism >> name;
    EXPECT_NE(list.find("  " + name + " "), std::string::npos) << name;
    const std::string help = noisefloor_run("mechanism " + name + " --help").out;
    const std::size_t at = help.find("Example:\n  noisefloor ");
    ASSERT_NE(at, std::string::npos) << name;
    const std::string example = help.substr(at + 11, help.find('\n', at + 11) - at - 11);
    if (example.find("--input") != std::string::npos || example.find("--dataset") != std::string::npos) continue;
    EXPECT_EQ(shell(example).exit_code, 0) << example;
    ++tried;
  }
  EXPECT_GT(tried, 10);
}

TEST(Cli, CompletionIsValidShellAndKnowsTheOptions) {
  const Outcome bash = shell(
      "noisefloor completion bash > /dev/null && source <(noisefloor completion bash) && "
      "COMP_WORDS=(noisefloor mechanism lap) COMP_CWORD=2 && _noisefloor && echo \"${COMPREPLY[*]}\" && "
      "COMP_WORDS=(noisefloor mechanism laplace --eps) COMP_CWORD=3 && _noisefloor && echo \"${COMPREPLY[*]}\"");
  EXPECT_EQ(bash.exit_code, 0) << bash.err;
  EXPECT_EQ(bash.out, "laplace\n--epsilon\n");
  EXPECT_NE(noisefloor_run("completion zsh").out.find("bashcompinit"), std::string::npos);
  EXPECT_NE(noisefloor_run("completion fish").out.find("-a laplace"), std::string::npos);
}

}  // namespace
}  // namespace noisefloor
