#include "noisefloor/config/starter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "noisefloor/config/blank.h"
#include "noisefloor/config/training.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

const CsvOutline kVisits{{.separator = ';'},
                         {{"age", ColumnType::kWhole},
                          {"bad \"name\"\n", ColumnType::kText},
                          {"nothing", ColumnType::kEmpty},
                          {"weight", ColumnType::kNumber}}};

const StarterNames kNames{"visits", "visits.csv", "visits.toml"};

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

TEST(Starter, HasABlankForEachBoundAndEachListOfValues) {
  const std::string text = starter_description(kNames, kVisits, {});
  EXPECT_TRUE(holds(text, "separator = \";\"")) << text;
  EXPECT_EQ(count(text, "= \"FILL IN\""), 6U) << text;    // bounds of two columns, the label, and the number of rows
  EXPECT_EQ(count(text, "= [\"FILL IN\"]"), 2U) << text;  // values of one, and the classes
  EXPECT_FALSE(holds(text, "\"nothing\"")) << "an empty column is left out";
  EXPECT_TRUE(holds(text, R"(name = "bad \"name\"\u000A")")) << text;
}

TEST(Starter, FillsTheBlanksFromAPublicTable) {
  const std::vector<PublicColumn> known{{18, 90, {}}, {0, 0, {"a", "b"}}, {}, {2.5, 2.5, {}}};
  const std::string text = starter_description(kNames, kVisits, known);
  EXPECT_EQ(count(text, kBlank), 2U) << "the label and its classes are left: " << text;
  EXPECT_TRUE(holds(text, "lower = 18\nupper = 90\n")) << text;
  EXPECT_TRUE(holds(text, "values = [\"a\", \"b\"]")) << text;
  EXPECT_TRUE(holds(text, "lower = 2.5\nupper = 3.5\n")) << "a constant column gets room: " << text;
  EXPECT_TRUE(holds(text, "public = true")) << text;
}

// Nobody can train with a starter file by accident: each blank is a separate error, with its line.
TEST(Starter, MakesEachBlankAnErrorWithItsLine) {
  const TrainingText read = read_training(R"(name = "x"
[budget]
epsilon = 1.0
delta = 1e-6
[data]
format = "csv"
train = "x.csv"
label = "FILL IN"
classes = ["FILL IN"]
[[data.column]]
name = "age"
lower = "FILL IN"
upper = 90
[model]
kind = "logistic"
[training]
batch_size = 10
epochs = 1
clip_norm = 1.0
learning_rate = 1.0
)");
  EXPECT_FALSE(read.training.has_value());
  std::vector<std::uint32_t> lines;
  for (const Finding& finding : read.findings) {
    EXPECT_EQ(finding.code, "blank") << finding.message;
    lines.push_back(finding.place.line);
  }
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines, (std::vector<std::uint32_t>{8, 9, 12}));
}

// The files that init writes can be filled in and read: only the blanks are missing.
TEST(Starter, IsCompleteOnceTheBlanksAreFilledIn) {
  const CsvOutline outline{{}, {{"age", ColumnType::kWhole}, {"ward", ColumnType::kText}}};
  std::string description = starter_description(kNames, outline, {});
  const auto fill = [&](std::string_view blank, const std::string& with) {
    const std::size_t at = description.find(blank);
    ASSERT_NE(at, std::string::npos) << blank;
    description.replace(at, blank.size(), with);
  };
  fill("rows = \"FILL IN\"", "rows = 20000");
  fill("label = \"FILL IN\"", "label = \"ill\"");
  fill("classes = [\"FILL IN\"]", "classes = [\"no\", \"yes\"]");
  fill("lower = \"FILL IN\"", "lower = 0");
  fill("upper = \"FILL IN\"", "upper = 120");
  fill("values = [\"FILL IN\"]", "values = [\"heart\", \"lung\"]");
  const TrainingText read =
      read_training(starter_training(kNames), [&](const std::string& path) -> Result<std::string> {
        EXPECT_EQ(path, "visits.toml");
        return description;
      });
  for (const Finding& finding : read.findings) ADD_FAILURE() << finding.place.line << ": " << finding.message;
  ASSERT_TRUE(read.training.has_value());
  EXPECT_EQ(read.training->privacy.budget, "visits");
}

TEST(Starter, TakesNamesFromThePathOfTheTable) {
  EXPECT_EQ(starter_name("data/Visits 2024.csv.gz"), "visits-2024");
  EXPECT_EQ(starter_name("x.csv"), "x");
  EXPECT_EQ(starter_name(".csv"), "data");
  EXPECT_EQ(starter_name("__a__.csv"), "a");
}

class WrittenStarter : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(table_) << "age,ill\n31,no\n77,yes\n"; }
  [[nodiscard]] static std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  testing::TemporaryFolder folder_;
  std::string table_ = folder_.path("Visits 2024.csv");
};

TEST_F(WrittenStarter, NamesTheTableAsSeenFromItsFolder) {
  const Result<StarterFiles> made = write_starter({.table = table_, .folder = folder_.path("new")});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made.value().description, folder_.path("new/visits-2024.toml"));
  EXPECT_EQ(made.value().training, folder_.path("new/visits-2024-training.toml"));
  EXPECT_EQ(made.value().columns, 2U);
  const std::string description = read(made.value().description);
  EXPECT_TRUE(holds(description, "../Visits 2024.csv")) << description;
  EXPECT_FALSE(holds(description, "77")) << "a bound was read from private data: " << description;
  EXPECT_TRUE(holds(read(made.value().training), "visits-2024.toml"));
}

TEST_F(WrittenStarter, ReadsBoundsFromAPublicTable) {
  const StarterFiles made =
      write_starter({.table = table_, .name = "open", .folder = folder_.path("new"), .is_public = true}).value();
  EXPECT_TRUE(holds(read(made.description), "lower = 31\nupper = 77\n")) << read(made.description);
}

TEST_F(WrittenStarter, OverwritesNothing) {
  const StarterRequest request{.table = table_, .folder = folder_.path("new")};
  const StarterFiles made = write_starter(request).value();
  std::ofstream(made.training) << "mine";
  std::filesystem::remove(made.description);
  const Result<StarterFiles> again = write_starter(request);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(holds(again.error().message, "overwrites nothing")) << again.error().message;
  EXPECT_EQ(read(made.training), "mine");
  EXPECT_FALSE(std::filesystem::exists(made.description)) << "it was written before the other was found";
}

}  // namespace
}  // namespace noisefloor
