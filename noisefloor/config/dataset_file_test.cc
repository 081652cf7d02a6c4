#include "noisefloor/config/dataset_file.h"

#include <gtest/gtest.h>

#include <string>

#include "noisefloor/config/training.h"

namespace noisefloor {
namespace {

constexpr const char* kPatients = R"(name = "patients"
rows = 20000

[data]
format = "csv"
file = "patients.csv.gz"
label = "ill"
classes = ["no", "yes"]
[[data.column]]
name = "age"
lower = 0
upper = 120

[unit]
of = "person"
column = "patient"
rows_per_person = 10

[budget]
epsilon = 3
delta = 1e-6
rule = "rdp"
adjacency = "add-remove"
)";

std::string without(std::string text, const std::string& line) {
  const std::size_t at = text.find(line + "\n");
  EXPECT_NE(at, std::string::npos) << line;
  return text.erase(at, line.size() + 1);
}

// The first finding that a text leads to.
Finding finding_in(const std::string& text) {
  const DatasetText read = read_dataset(text);
  EXPECT_FALSE(read.description.has_value());
  EXPECT_FALSE(read.findings.empty());
  return read.findings.empty() ? Finding{} : read.findings.front();
}

std::string all_messages(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& one : findings) text += one.message + ": " + one.remedy + "\n";
  return text;
}

TEST(DatasetFile, HoldsEveryStatement) {
  const DatasetText read = read_dataset(kPatients);
  ASSERT_TRUE(read.description.has_value()) << all_messages(read.findings);
  const DatasetDescription& d = *read.description;
  EXPECT_EQ(d.name, "patients");
  EXPECT_EQ(d.rows, 20'000U);
  EXPECT_EQ(std::get<TextFile>(d.files).path, "patients.csv.gz");
  EXPECT_EQ(d.unit, (DatasetUnit{PrivacyUnit::kPerson, "patient", 10}));
  ASSERT_FALSE(d.is_public());
  EXPECT_EQ(d.budget->name, "patients");
  EXPECT_EQ(d.budget->epsilon, Epsilon::of(3));
  EXPECT_EQ(d.budget->rule, Rule::kRdp);
  EXPECT_TRUE(is_dataset(kPatients));
}

TEST(DatasetFile, RefusesABudgetForPublicData) {
  const std::string text =
      "name = \"open\"\npublic = true\n[data]\nformat = \"text\"\nfile = \"plays.txt\"\nlength = 8\n";
  const DatasetText read = read_dataset(text);
  ASSERT_TRUE(read.description.has_value()) << all_messages(read.findings);
  EXPECT_TRUE(read.description->is_public());
  const Finding finding = finding_in(text + "[budget]\nepsilon = 1\ndelta = 0\n");
  EXPECT_EQ(finding.place.line, 7U);
  EXPECT_NE(finding.remedy.find("public data cost nothing"), std::string::npos) << finding.remedy;
}

TEST(DatasetFile, HoldsTheNumberOfPeople) {
  std::string text = kPatients;
  const Digest before = digest_of(*read_dataset(text).description);
  text.replace(text.find("rows = 20000"), 12, "rows = 20000\npeople = 2000");
  const DatasetText read = read_dataset(text);
  ASSERT_TRUE(read.description.has_value()) << all_messages(read.findings);
  EXPECT_EQ(read.description->people, 2000U);
  EXPECT_NE(digest_of(*read.description), before);
  const std::string unit = "[unit]\nof = \"person\"\ncolumn = \"patient\"\nrows_per_person = 10\n";
  text.erase(text.find(unit), unit.size());
  EXPECT_EQ(finding_in(text).code, "key_not_used");
  // They stand at the top, and not in [data].
  for (const char* key : {"rows", "people"}) {
    std::string inside = kPatients;
    inside.replace(inside.find("format ="), 0, std::string(key) + " = 5\n");
    EXPECT_NE(finding_in(inside).remedy.find("at the top of its description"), std::string::npos) << key;
  }
}

TEST(DatasetFile, FindsWhatIsMissingOrMisspelt) {
  EXPECT_EQ(finding_in(without(kPatients, "name = \"patients\"")).code, "key_missing");
  EXPECT_EQ(finding_in(without(kPatients, "epsilon = 3")).code, "epsilon_missing");
  EXPECT_EQ(finding_in(without(kPatients, "column = \"patient\"")).code, "key_missing");
  const Finding misspelt = finding_in(without(kPatients, "rows = 20000") + "epsilom = 2\n");
  EXPECT_EQ(misspelt.code, "unknown_key");
  EXPECT_NE(misspelt.remedy.find("epsilon"), std::string::npos) << misspelt.remedy;
  EXPECT_GT(misspelt.place.line, 20U);
  std::string split = kPatients;
  split.replace(split.find("label ="), 0, "test_fraction = 0.2\n");
  EXPECT_NE(finding_in(split).remedy.find("training file"), std::string::npos);
  std::string row = kPatients;
  row.replace(row.find("\"person\""), 8, "\"row\"");
  EXPECT_EQ(finding_in(row).code, "key_not_used");
}

TEST(DatasetFile, NeverFailsOnDamagedText) {
  const std::string text = kPatients;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const DatasetText read = read_dataset(text.substr(0, at));
    EXPECT_TRUE(read.description.has_value() || has_errors(read.findings)) << at;
  }
}

constexpr const char* kTraining = R"(name = "risk"

[data]
dataset = "shared/patients.toml"
test_fraction = 0.2

[model]
kind = "logistic"

[training]
target_epsilon = 1
batch_size = 100
epochs = 2
clip_norm = 1.0
learning_rate = 0.1
)";

Result<std::string> named(const std::string& path) {
  if (path == "shared/patients.toml") return std::string(kPatients);
  return io_error("there is no file " + path);
}

TEST(TrainingFile, MayNameItsDataset) {
  const TrainingText read = read_training(kTraining, named);
  ASSERT_TRUE(read.training.has_value()) << all_messages(read.findings);
  const Training& training = *read.training;
  EXPECT_EQ(std::get<TextFile>(training.data.train).path, "shared/patients.csv.gz");
  EXPECT_EQ(training.data.test_fraction, 0.2);
  EXPECT_EQ(training.privacy.budget, "patients");
  EXPECT_EQ(training.privacy.epsilon, Epsilon::of(3));
  EXPECT_EQ(digest_of(description_of(training)), digest_of(*read_dataset(kPatients).description));
}

TEST(TrainingFile, CannotContradictItsDataset) {
  std::string text = kTraining;
  text.replace(text.find("test_fraction"), 0, "label = \"other\"\n");
  TrainingText read = read_training(text, named);
  EXPECT_FALSE(read.training.has_value());
  ASSERT_FALSE(read.findings.empty());
  EXPECT_EQ(read.findings.front().place.line, 5U);
  read = read_training(std::string(kTraining) + "[budget]\nepsilon = 30\ndelta = 1e-6\n", named);
  EXPECT_FALSE(read.training.has_value());
  ASSERT_FALSE(read.findings.empty());
  EXPECT_EQ(read.findings.front().place.line, 16U);
}

TEST(TrainingFile, SaysWhatIsWrongWithItsDataset) {
  const auto first = [](const ReadNamedFile& files) {
    const TrainingText read = read_training(kTraining, files);
    EXPECT_FALSE(read.training.has_value());
    return read.findings.empty() ? Finding{} : read.findings.front();
  };
  EXPECT_EQ(first({}).place.line, 4U);
  EXPECT_NE(first([](const std::string&) -> Result<std::string> {
              return io_error("no such file");
            }).message.find("no such file"),
            std::string::npos);
  const Finding inside = first([](const std::string&) -> Result<std::string> { return std::string("name = 3\n"); });
  EXPECT_NE(inside.message.find("'shared/patients.toml', line "), std::string::npos) << inside.message;
}

// A file of version 0.1 describes a dataset in [data] and [budget] too.
TEST(TrainingFile, DescribesItsDatasetByItself) {
  const TrainingText read = read_training(R"(name = "risk"
[budget]
name = "trial"
epsilon = 3
delta = 1e-6
[data]
format = "libsvm"
train = "a9a"
classes = ["-1", "1"]
dimension = 123
lower = 0
upper = 1
[model]
kind = "logistic"
[training]
batch_size = 100
epochs = 2
clip_norm = 1.0
learning_rate = 0.1
)");
  ASSERT_TRUE(read.training.has_value()) << all_messages(read.findings);
  const DatasetDescription d = description_of(*read.training);
  EXPECT_EQ(d.name, "trial");
  EXPECT_EQ(std::get<TextFile>(d.files).path, "a9a");
  EXPECT_EQ(d.budget->name, "trial");
  EXPECT_EQ(d.budget->rule, Rule::kBasic);
  EXPECT_EQ(d.unit, DatasetUnit{});
}

constexpr const char* kVisits = R"(name = "visits"

[data]
format = "csv"
file = "visits.csv"
label = "ill"
classes = ["no", "yes"]
[[data.column]]
name = "age"
lower = 0
upper = 120

[blocks]
by = "date"
column = "visited"
period = "month"
unlock = 3

[budget]
epsilon = 1
delta = 0
)";

std::string with(std::string text, const std::string& line, const std::string& other) {
  const std::size_t at = text.find(line);
  EXPECT_NE(at, std::string::npos) << line;
  return text.replace(at, line.size(), other);
}

TEST(DatasetBlocks, AreReadWithTheirPeriodAndUnlock) {
  const DatasetText read = read_dataset(kVisits);
  ASSERT_TRUE(read.description.has_value()) << all_messages(read.findings);
  EXPECT_EQ(read.description->blocks, (BlockTerms{BlockKind::kDate, "visited", BlockPeriod::kMonth, 3}));
  EXPECT_EQ(terms_of(*read.description).blocks, read.description->blocks);
  const DatasetText batches = read_dataset(
      with(with(kVisits, "by = \"date\"\ncolumn = \"visited\"\nperiod = \"month\"\nunlock = 3", "by = \"batch\""),
           "visits.csv", "visits-{block}.csv"));
  ASSERT_TRUE(batches.description.has_value()) << all_messages(batches.findings);
  EXPECT_EQ(batches.description->blocks, (BlockTerms{BlockKind::kBatch, "", BlockPeriod::kDay, 1}));
  // How the rows are divided is part of the statement, and which blocks a use touches is not.
  DatasetDescription chosen = *read.description;
  ASSERT_TRUE(choose_blocks(chosen, "2026-02,2026-01").has_value());
  EXPECT_EQ(chosen.chosen, std::vector<std::string>{"2026-01..2026-02"});
  EXPECT_EQ(digest_of(chosen), digest_of(*read.description));
  for (const auto& [line, other] :
       {std::pair{"unlock = 3", "unlock = 2"}, {"\"month\"", "\"week\""}, {"\"visited\"", "\"born\""}}) {
    EXPECT_NE(digest_of(*read_dataset(with(kVisits, line, other)).description), digest_of(*read.description)) << line;
  }
}

TEST(DatasetBlocks, AreRefusedWhereNothingCanBePromised) {
  const auto message = [](const std::string& text) {
    const Finding finding = finding_in(text);
    return finding.message + ": " + finding.remedy;
  };
  const auto expect = [&](const std::string& text, const std::string& part) {
    EXPECT_NE(message(text).find(part), std::string::npos) << message(text);
  };
  expect(with(kVisits, "delta = 0\n", "delta = 0\nadjacency = \"replace-one\"\n"), "may get a date in another block");
  expect(with(kVisits, "[blocks]", "[unit]\nof = \"person\"\ncolumn = \"id\"\nrows_per_person = 2\n[blocks]"),
         "budgets would add up for that person");
  expect(with(kVisits, "column = \"visited\"\n", ""), "column with each row's date");
  expect(with(kVisits, "period = \"month\"\n", ""), "add period");
  expect(with(kVisits, "by = \"date\"", "by = \"row\""), "row");
  expect(with(kVisits, "unlock = 3", "unlock = 61"), "60");
  expect(with(kVisits, "by = \"date\"\ncolumn = \"visited\"", "by = \"batch\""), "{block}");
  expect(with(with(kVisits, "by = \"date\"", "by = \"batch\""), "visits.csv", "v-{block}.csv"), "column");
}

TEST(DatasetBlocks, ATrainingNamesThoseThatItLearnsFrom) {
  const std::string training = R"(name = "t"
[data]
dataset = "visits.toml"
blocks = ["2026-01..2026-02", "2026-04"]
[model]
kind = "logistic"
[privacy]
target_epsilon = 1
target_delta = 1e-6
[training]
batch_size = 10
epochs = 1
clip = 1
learning_rate = 0.1
)";
  const auto named = [](const std::string&) -> Result<std::string> { return std::string(kVisits); };
  const TrainingText read = read_training(training, named);
  const std::string all = all_messages(read.findings);
  EXPECT_EQ(all.find("blocks"), std::string::npos) << all;
  const TrainingText none = read_training(with(training, "blocks = [\"2026-01..2026-02\", \"2026-04\"]\n", ""), named);
  EXPECT_NE(all_messages(none.findings).find("name those that this use touches"), std::string::npos);
  const TrainingText wrong = read_training(with(training, "2026-04", "April"), named);
  EXPECT_NE(all_messages(wrong.findings).find("'April' is no block"), std::string::npos)
      << all_messages(wrong.findings);
}

}  // namespace
}  // namespace noisefloor
