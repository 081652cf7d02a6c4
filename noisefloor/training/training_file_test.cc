#include "noisefloor/training/training_file.h"

#include <gtest/gtest.h>

#include "noisefloor/training/examples.h"
#include "noisefloor/training/network.h"
#include "noisefloor/training/output_files.h"
#include "tests/support/toy_job.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::value_of;

class TrainingFileTest : public testing::ToyJob {};

TEST_F(TrainingFileTest, ResolvesPathsRelativeToTheFile) {
  const TrainingFile read = file();
  EXPECT_EQ(read.training.name, "toy");
  EXPECT_EQ(read.resolve("data.csv"), path("data.csv"));
  EXPECT_EQ(read.resolve("/elsewhere/data.csv"), "/elsewhere/data.csv");
}

TEST_F(TrainingFileTest, HasTheDigestOfTheTextThatWasRead) {
  const TrainingFile before = file();
  write("toy.toml", before.text + "# changed\n");
  EXPECT_EQ(before.digest(), value_of(parse_training_file(before.text, "elsewhere/toy.toml")).digest());
  EXPECT_NE(before.digest(), file().digest());
}

// The same training, with its data described in a file of another folder.
TEST_F(TrainingFileTest, ReadsANamedDatasetFromItsFolder) {
  const TrainingFile before = file();
  const std::string text = before.text;
  const std::size_t data = text.find("[data]");
  const std::size_t model = text.find("[model]");
  std::string columns = text.substr(data, model - data);
  columns.replace(columns.find("train = \"data.csv\""), 18, "file = \"../data.csv\"");
  columns.erase(columns.find("test_fraction = 0.2\n"), 20);
  columns.erase(columns.find("rows = 2000\n"), 12);
  std::filesystem::create_directories(path("sets"));
  const std::string budget = "[budget]\nepsilon = 2.0\ndelta = 1e-5\n";
  write("sets/toy.toml", "name = \"toy\"\nrows = 2000\n" + columns + budget);
  write("toy.toml", "name = \"toy\"\n[data]\ndataset = \"sets/toy.toml\"\ntest_fraction = 0.2\n" + text.substr(model));
  const TrainingFile named = file();
  EXPECT_EQ(named.training.privacy.budget, "toy");
  EXPECT_EQ(value_of(read_examples(named, 1)).train, value_of(read_examples(before, 1)).train);
  // A plan for one description of the data is not a plan for another.
  write("sets/toy.toml", "name = \"toy\"\nrows = 2000\n" + columns + "[budget]\nepsilon = 2.5\ndelta = 1e-5\n");
  EXPECT_NE(file().digest(), named.digest());
}

TEST_F(TrainingFileTest, ReportsErrorsInOneLineWithTheirPlace) {
  expect_error(read_training_file(path("none.toml")), ErrorCode::kIo, "none.toml");
  change("learning_rate", "learning_rat");
  change("kind = \"logistic\"", "kind = \"logistik\"");
  const std::string error =
      expect_error(read_training_file(path("toy.toml")), ErrorCode::kInvalidArgument, "toy.toml:");
  EXPECT_EQ(error.find('\n'), std::string::npos);
  EXPECT_NE(error.find("more)"), std::string::npos) << error;
}

TEST_F(TrainingFileTest, SplitsByTheSeedAlone) {
  const TrainingExamples examples = value_of(read_examples(file(), 1));
  EXPECT_EQ(examples.train.rows + examples.test->rows, 2000U);
  EXPECT_FALSE(examples.validation.has_value());
  EXPECT_EQ(value_of(read_test_examples(file(), 1)), *examples.test);
  EXPECT_EQ(value_of(read_examples(file(), 1)).train, examples.train);
  change("test_fraction = 0.2", "test_fraction = 0.2\nsplit_seed = 5");
  EXPECT_NE(value_of(read_examples(file(), 1)).train, examples.train);
  change("test_fraction = 0.2\nsplit_seed = 5\n", "");
  expect_error(read_test_examples(file(), 1), ErrorCode::kInvalidArgument, "test_fraction");
  expect_error(expect_test_examples(value_of(read_examples(file(), 1))), ErrorCode::kInvalidArgument, "test_fraction");
}

// Private rows that do not fit become null to learn from, and are left out of the rows for tests.
TEST_F(TrainingFileTest, KeepsNullRecordsAmongTheRowsToLearnFrom) {
  const TrainingExamples before = value_of(read_examples(file(), 1));
  std::string table = read("data.csv");
  for (std::size_t at = table.find("yes"); at != std::string::npos; at = table.find("yes", at))
    table.replace(at, 3, "may");
  write("data.csv", table);
  const TrainingExamples after = value_of(read_examples(file(), 1));
  EXPECT_EQ(after.train.rows, before.train.rows);
  EXPECT_EQ(after.train.nulls.size(), after.train.rows);
  EXPECT_LT(after.test->rows, before.test->rows);
  EXPECT_TRUE(after.test->nulls.empty());
  // The same rows where they are public.
  write("open.toml",
        "name = \"open\"\npublic = true\n[data]\nformat = \"csv\"\nfile = \"data.csv\"\nlabel = "
        "\"kind\"\nclasses = [\"no\", \"yes\"]\n[[data.column]]\nname = \"x\"\nlower = -1\nupper = 1\n");
  const std::string text = read("toy.toml");
  write("toy.toml", text.substr(0, text.find("[data]")) + "[data]\ndataset = \"open.toml\"\ntest_fraction = 0.2\n" +
                        text.substr(text.find("[model]")));
  expect_error(read_examples(file(), 1), ErrorCode::kInputData, "data.csv:");
}

TEST_F(TrainingFileTest, RefusesAModelThatNeedsTorchWithoutIt) {
  TrainingFile read = file();
  EXPECT_TRUE(require_backend(read.training, read.location, no_torch).has_value());
  read.training.model.torch.emplace();
  expect_error(require_backend(read.training, read.location, no_torch), ErrorCode::kInvalidArgument, "needs libtorch");
  const TrainingExamples examples = value_of(read_examples(file(), 1));
  expect_error(bind_model(read.training, examples.train, {}), ErrorCode::kInvalidArgument, "needs libtorch");
}

TEST_F(TrainingFileTest, RemovesOnlyNewAndEmptyFolders) {
  std::filesystem::create_directories(path("there"));
  const NewFolders made(path("there/new/deeper/"));
  std::filesystem::create_directories(path("there/new/deeper"));
  made.remove_empty();
  EXPECT_TRUE(exists("there"));
  EXPECT_FALSE(exists("there/new"));
  const NewFolders filled(path("there/new/deeper"));
  std::filesystem::create_directories(path("there/new/deeper"));
  write("there/new/precious", "x");
  filled.remove_empty();
  EXPECT_FALSE(exists("there/new/deeper"));
  EXPECT_TRUE(exists("there/new/precious"));
  const NewFolders none(path("there"));
  none.remove_empty();
  EXPECT_TRUE(exists("there"));
}

}  // namespace
}  // namespace noisefloor
