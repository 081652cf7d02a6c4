#include <gtest/gtest.h>

#include <string>

#include "noisefloor/config/dataset_file.h"
#include "noisefloor/config/training.h"

namespace noisefloor {
namespace {

using engine::EngineKind;
using engine::Type;

constexpr const char* kHospital = R"(name = "hospital"

[data]
format = "tables"
engine = "duckdb"
file = "hospital.duckdb"

[[table]]
name = "patients"
unique = ["pid"]
[[table.column]]
name = "pid"
type = "integer"
[[table.column]]
name = "age"
type = "integer"
lower = 0
upper = 120
[[table.column]]
name = "sex"
type = "text"
values = ["F", "M", "X"]

[[table]]
name = "visits"
table = "main.visits"
unique = ["vid"]
max_groups = 3
max_rows_per_group = 2
max_rows = 1e9
[[table.column]]
name = "pid"
type = "integer"
[[table.column]]
name = "vid"
type = "integer"
[[table.column]]
name = "code"
type = "integer"
[[table.column]]
name = "cost"
type = "number"
lower = 0
upper = 5000
step = 0.01
missing = 0
[[table.column]]
name = "day"
type = "date"
lower = 2026-01-01
upper = "2026-12-31"
public_range = true
[[table.column]]
name = "note"
type = "text"
max_length = 200

[[table]]
name = "items"
unit = "visit"
refers_to = "visits.vid"
[[table.column]]
name = "visit"
type = "integer"
[[table.column]]
name = "iid"
type = "integer"
[[table.column]]
name = "price"
type = "number"

[[table]]
name = "drugs"
public = true
[[table.column]]
name = "class"
type = "text"

[unit]
of = "person"
column = "pid"

[budget]
epsilon = 1
delta = 1e-6
)";

std::string all_messages(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& one : findings) text += one.message + ": " + one.remedy + "\n";
  return text;
}

std::string with(std::string text, const std::string& line, const std::string& other) {
  const std::size_t at = text.find(line);
  EXPECT_NE(at, std::string::npos) << line;
  return text.replace(at, line.size(), other);
}

Finding finding_in(const std::string& text) {
  const DatasetText read = read_dataset(text);
  EXPECT_FALSE(read.description.has_value()) << text;
  EXPECT_FALSE(read.findings.empty());
  return read.findings.empty() ? Finding{} : read.findings.front();
}

TEST(TablesFile, HoldsEveryStatement) {
  const DatasetText read = read_dataset(kHospital);
  ASSERT_TRUE(read.description.has_value()) << all_messages(read.findings);
  EXPECT_TRUE(is_dataset(kHospital));
  EXPECT_EQ(read.description->unit, (DatasetUnit{PrivacyUnit::kPerson, "pid", 1}));
  const auto& format = std::get<TablesFormat>(read.description->format);
  EXPECT_EQ(format.engine, EngineKind::kDuckdb);
  EXPECT_EQ(format.locations, (std::vector<std::string>{"hospital.duckdb"}));
  ASSERT_EQ(format.tables.size(), 4U);
  const DescribedTable& patients = format.tables[0];
  EXPECT_TRUE(patients.one_row_per_unit);  // its unit is unique
  EXPECT_EQ(patients.max_groups, 1U);
  EXPECT_EQ(patients.max_rows_per_group, 1U);
  EXPECT_EQ(patients.place, "patients");
  EXPECT_EQ(patients.columns[1].upper, 120);
  EXPECT_EQ(patients.columns[2].values, (std::vector<std::string>{"F", "M", "X"}));
  const DescribedTable& visits = format.tables[1];
  EXPECT_FALSE(visits.one_row_per_unit);
  EXPECT_EQ(visits.place, "main.visits");
  EXPECT_EQ(visits.unit->column, "pid");
  EXPECT_EQ(visits.unit->table, "");
  EXPECT_EQ(visits.max_groups, 3U);
  EXPECT_EQ(visits.max_rows_per_group, 2U);
  EXPECT_EQ(visits.max_rows, 1'000'000'000U);
  EXPECT_EQ(visits.columns[3].step, 0.01);
  EXPECT_EQ(visits.columns[3].missing, 0);
  EXPECT_EQ(visits.columns[4].lower, 20454);  // days
  EXPECT_EQ(visits.columns[4].upper, 20818);
  EXPECT_TRUE(visits.columns[4].public_range);
  EXPECT_EQ(visits.columns[5].max_length, 200U);
  const DescribedTable& items = format.tables[2];
  EXPECT_EQ(items.unit->column, "visit");
  EXPECT_EQ(items.unit->table, "visits");
  EXPECT_EQ(items.unit->refers, "vid");
  EXPECT_TRUE(format.tables[3].is_public);
  EXPECT_FALSE(format.tables[3].unit.has_value());
}

TEST(TablesFile, KeepsEnginesApart) {
  const std::string files =
      with(with(kHospital, "engine = \"duckdb\"\nfile = \"hospital.duckdb\"\n", ""), "table = \"main.visits\"\n", "");
  EXPECT_NE(finding_in(files).remedy.find("add file ="), std::string::npos);
  EXPECT_NE(finding_in(with(kHospital, "table = \"main.visits\"", "file = \"visits.csv\"")).message.find("file"),
            std::string::npos);
  const std::string server = with(with(kHospital, "\"duckdb\"", "\"postgresql\""), "file = \"hospital.duckdb\"",
                                  "servers = [\"host=a dbname=h\", \"postgresql://b/h\"]");
  const DatasetText read = read_dataset(server);
  ASSERT_TRUE(read.description.has_value()) << all_messages(read.findings);
  EXPECT_EQ(std::get<TablesFormat>(read.description->format).locations.size(), 2U);
  // The place of the rows is no part of the dataset.
  EXPECT_EQ(digest_of(*read.description), digest_of(*read_dataset(kHospital).description));
  for (const char* secret : {"host=a password=geheim", "postgresql://me:geheim@b/h", "host=a PASSWORD = 'x'"}) {
    const Finding found = finding_in(with(server, "host=a dbname=h", secret));
    EXPECT_EQ(found.code, "password_in_file") << secret;
    EXPECT_EQ(found.message.find("geheim"), std::string::npos);
  }
  EXPECT_EQ(finding_in(with(server, "servers = [\"host=a dbname=h\", \"postgresql://b/h\"]", "")).code, "key_missing");
}

TEST(TablesFile, EveryStatementIsInTheDigest) {
  const Digest whole = digest_of(*read_dataset(kHospital).description);
  for (const auto& [line, other] : std::vector<std::pair<std::string, std::string>>{
           {"upper = 120", "upper = 121"},
           {"\"X\"]", "\"Y\"]"},
           {"max_groups = 3", "max_groups = 4"},
           {"max_rows_per_group = 2", "max_rows_per_group = 3"},
           {"max_rows = 1e9", "max_rows = 1e8"},
           {"step = 0.01", "step = 0.1"},
           {"missing = 0", "missing = 1"},
           {"lower = 2026-01-01", "lower = 2026-01-02"},
           {"public_range = true", ""},
           {"max_length = 200", "max_length = 201"},
           {"unique = [\"vid\"]\n", "unique = [\"vid\", \"code\"]\n"},
           {"unit = \"visit\"", "unit = \"iid\""},
           {"public = true\n", "unit = \"class\"\n"},
           {"name = \"class\"\ntype = \"text\"", "name = \"class\"\ntype = \"integer\""}}) {
    const DatasetText read = read_dataset(with(kHospital, line, other));
    ASSERT_TRUE(read.description.has_value()) << line << all_messages(read.findings);
    EXPECT_NE(digest_of(*read.description), whole) << line;
  }
  EXPECT_EQ(digest_of(*read_dataset(with(kHospital, "hospital.duckdb", "moved.duckdb")).description), whole);
  EXPECT_EQ(digest_of(*read_dataset(with(kHospital, "main.visits", "other.visits")).description), whole);
}

TEST(TablesFile, FindsWhatIsWrongWithItsLine) {
  const auto code = [](const std::string& line, const std::string& other) {
    return finding_in(with(kHospital, line, other)).code;
  };
  EXPECT_EQ(code("type = \"integer\"", "typ = \"integer\""), "key_missing");
  EXPECT_EQ(code("upper = 120", ""), "key_missing");
  EXPECT_EQ(code("upper = 120", "upper = -1"), "bounds_out_of_order");
  EXPECT_EQ(code("upper = 120", "upper = 120.5"), "out_of_range");
  EXPECT_EQ(code("upper = 120", "upper = 120\nstep = 1"), "key_not_used");
  EXPECT_EQ(code("missing = 0", "missing = 5001"), "out_of_range");
  EXPECT_EQ(code("lower = 2026-01-01", "lower = 5"), "wrong_type");
  EXPECT_EQ(code("lower = 2026-01-01", "lower = \"2026-02-30\""), "wrong_type");
  EXPECT_EQ(code("name = \"sex\"", "name = \"AGE\""), "duplicate_name");
  EXPECT_EQ(code("name = \"drugs\"", "name = \"Visits\""), "duplicate_name");
  EXPECT_EQ(code("refers_to = \"visits.vid\"", "refers_to = \"visit.vid\""), "unknown_value");
  EXPECT_EQ(code("refers_to = \"visits.vid\"", "refers_to = \"drugs.vid\""), "unknown_value");
  EXPECT_EQ(code("refers_to = \"visits.vid\"", "refers_to = \"visits.day\""), "refers_to_not_unique");
  EXPECT_EQ(code("refers_to = \"visits.vid\"", "refers_to = \"visits\""), "out_of_range");
  EXPECT_EQ(code("name = \"drugs\"\npublic = true", "name = \"drugs\"\npublic = true\nunit = \"pid\""), "key_not_used");
  EXPECT_EQ(code("column = \"pid\"", "column = \"pid\"\nrows_per_person = 3"), "unknown_key");
  EXPECT_EQ(code("[unit]", "[blocks]\nby = \"date\"\ncolumn = \"day\"\nperiod = \"month\"\n[unit]"), "unknown_key");
  EXPECT_EQ(code("of = \"person\"\ncolumn = \"pid\"", "of = \"row\""), "key_not_used");  // items names a unit
  EXPECT_EQ(code("format = \"tables\"", "format = \"table\""), "unknown_value");
  EXPECT_EQ(code("file = \"hospital.duckdb\"", "file = \"hospital.duckdb\"\nlabel = \"ill\""), "unknown_key");
  EXPECT_EQ(code("name = \"pid\"\ntype = \"integer\"\n[[table.column]]\nname = \"age\"", "name = \"age\""),
            "unknown_value");
  EXPECT_EQ(code("unique = [\"vid\"]", "unique = [\"vod\", \"vid\"]"), "unknown_value");
  const Finding misspelt = finding_in(with(kHospital, "max_groups = 3", "max_group = 3"));
  EXPECT_EQ(misspelt.place.line, 28U);
  EXPECT_NE(misspelt.remedy.find("max_groups"), std::string::npos) << misspelt.remedy;
}

TEST(TablesFile, FindsACircleOfReferences) {
  const std::string text = with(kHospital, "table = \"main.visits\"\n", "unit = \"code\"\nrefers_to = \"items.iid\"\n");
  EXPECT_EQ(finding_in(with(text, "unit = \"visit\"", "unit = \"visit\"\nunique = [\"iid\"]")).code,
            "unit_in_a_circle");
}

TEST(TablesFile, PublicTablesAloneNeedNoBudget) {
  std::string text = with(kHospital, "[budget]\nepsilon = 1\ndelta = 1e-6\n", "");
  text = with(with(text, "name = \"hospital\"\n", "name = \"hospital\"\npublic = true\n"),
              "unit = \"visit\"\nrefers_to = \"visits.vid\"\n", "");
  text = with(text, "max_groups = 3\nmax_rows_per_group = 2\n", "");
  const DatasetText read = read_dataset(text);
  ASSERT_TRUE(read.description.has_value()) << all_messages(read.findings);
  EXPECT_TRUE(read.description->is_public());
}

TEST(TablesFile, NoTrainingTakesTables) {
  const std::string training =
      "name = \"m\"\n[data]\ndataset = \"hospital.toml\"\n[model]\nkind = \"logistic\"\n[training]\n"
      "target_epsilon = 1\ntarget_delta = 1e-6\nbatch_size = 10\nepochs = 1\nclip_norm = 1\nlearning_rate = 1\n";
  const TrainingText named =
      read_training(training, [](const std::string&) -> Result<std::string> { return std::string(kHospital); });
  EXPECT_FALSE(named.training.has_value());
  EXPECT_NE(all_messages(named.findings).find("these data are tables"), std::string::npos)
      << all_messages(named.findings);
  const TrainingText own =
      read_training(with(training, "dataset = \"hospital.toml\"", "format = \"tables\"\ntrain = \"a.csv\""), {});
  EXPECT_FALSE(own.training.has_value());
  EXPECT_NE(all_messages(own.findings).find("these data are tables"), std::string::npos) << all_messages(own.findings);
}

TEST(TablesFile, NeverFailsOnDamagedText) {
  const std::string text = kHospital;
  for (std::size_t at = 0; at < text.size(); at += 3) {
    std::string damaged = text;
    damaged.erase(at, 1 + at % 7);
    (void)read_dataset(damaged);
    damaged = text;
    damaged.insert(at, "[\"");
    (void)read_dataset(damaged);
  }
}

}  // namespace
}  // namespace noisefloor
