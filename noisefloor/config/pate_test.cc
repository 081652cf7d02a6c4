#include "noisefloor/config/pate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "noisefloor/config/any_file.h"

namespace noisefloor {
namespace {

constexpr const char* kFile = R"(name = "toy"
[budget]
epsilon = 2.0
delta = 1e-5
[data]
format = "csv"
train = "private.csv"
test = "test.csv"
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
count = 50
[public]
file = "public.csv"
[votes]
noise = 20
threshold = 40
threshold_noise = 30
queries = 100
)";

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kFile;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string codes_of(const std::string& text) {
  std::string codes;
  const PateText read = read_pate(text);
  for (const Finding& finding : read.findings) codes += finding.code + " ";
  EXPECT_EQ(read.pate.has_value(), !has_errors(read.findings));
  return codes;
}

TEST(PateFileText, ReadsWhatItSays) {
  const PateText read = read_pate(kFile);
  ASSERT_TRUE(read.pate.has_value()) << (read.findings.empty() ? "" : read.findings.front().message);
  const Pate& pate = *read.pate;
  EXPECT_EQ(pate.count, 50);
  EXPECT_EQ(pate.votes.aggregator, Aggregator::kConfident);
  EXPECT_EQ(pate.votes.noise, NoiseScale::of(20));
  EXPECT_EQ(pate.votes.threshold, 40);
  EXPECT_EQ(pate.votes.target_epsilon, Epsilon::of(2)) << "all of the budget";
  EXPECT_EQ(pate.votes.queries, Steps::of(100));
  EXPECT_FALSE(pate.votes.answers.has_value()) << "as many as fit";
  EXPECT_EQ(pate.student.kind, StudentKind::kSpread);
  EXPECT_FALSE(pate.tests_held_out());
  EXPECT_EQ(pate.teachers.privacy.unit, PrivacyUnit::kRow);
  EXPECT_EQ(description_of(pate.teachers).name, "toy");
}

TEST(PateFileText, IsToldFromOtherFiles) {
  EXPECT_TRUE(is_pate(kFile));
  EXPECT_FALSE(is_pate("[model]\nkind = \"logistic\"\n"));
  const CheckedFile checked = check_file(kFile);
  EXPECT_TRUE((std::holds_alternative<std::optional<Pate>>(checked.content)));
  EXPECT_EQ(description_in(kFile, "toy.toml").value().name, "toy");
}

TEST(PateFileText, RefusesWhatWouldDoNothing) {
  EXPECT_EQ(codes_of(changed("[votes]", "[votes]\naggregator = \"gnmax\"")), "key_not_used key_not_used ");
  EXPECT_EQ(codes_of(changed("queries = 100", "queries = 100\nrounds = 3")), "key_not_used ");
  EXPECT_EQ(codes_of(std::string(kFile) + "[student]\nkind = \"supervised\"\nneighbours = 5\n"), "key_not_used ");
  EXPECT_NE(codes_of(changed("count = 50", "count = 50\nclip_norm = 1.0")), "") << "noise is on votes";
  EXPECT_NE(codes_of(std::string(kFile) + "[training]\nsteps = 1\n"), "");
  EXPECT_NE(codes_of(changed("rows = 2000", "rows = 2000\ntest_fraction = 0.1")), "");
}

TEST(PateFileText, RefusesWhatCannotBe) {
  EXPECT_EQ(codes_of(changed("threshold = 40", "threshold = 51")), "out_of_range ");
  EXPECT_EQ(codes_of(changed("queries = 100", "queries = 100\nanswers = 101")), "out_of_range ");
  EXPECT_EQ(codes_of(changed("count = 50", "count = 1")), "out_of_range ");
  EXPECT_EQ(codes_of(changed("queries = 100", "queries = 100\ntarget_epsilon = 3")), "target_above_total ");
  EXPECT_EQ(codes_of(changed("delta = 1e-5", "delta = 0")), "gaussian_needs_delta ");
  EXPECT_EQ(codes_of(changed("noise = 20\n", "")), "key_missing ");
  EXPECT_EQ(codes_of(changed("queries = 100\n", "")), "key_missing ");
  EXPECT_EQ(codes_of(changed("[public]\nfile = \"public.csv\"\n", "")), "section_missing ");
}

TEST(PateFileText, ReadsTheSanitisedCost) {
  const PateText read = read_pate(std::string(kFile) + "[votes.sanitised]\norder = 20\ndelta = 1e-6\n");
  ASSERT_TRUE(read.pate.has_value());
  EXPECT_EQ(read.pate->sanitised->order, 20);
  EXPECT_EQ(read.pate->sanitised->smoothness, 0.02);
  EXPECT_EQ(codes_of(std::string(kFile) + "[votes.sanitised]\norder = 1\ndelta = 1e-6\n"), "out_of_range ");
  EXPECT_EQ(codes_of(std::string(kFile) + "[votes.sanitised]\norder = 20\nsmoothness = 0.03\ndelta = 1e-6\n"),
            "out_of_range ");
  EXPECT_EQ(codes_of(std::string(kFile) + "[votes.sanitised]\norder = 20\ndelta = 1e-5\n"), "target_above_total ");
}

TEST(PateFileText, KnowsWhenTheTestIsHeldOut) {
  const std::string same = changed("test = \"test.csv\"", "test = \"public.csv\"");
  EXPECT_TRUE(read_pate(same).pate->tests_held_out());
}

}  // namespace
}  // namespace noisefloor
