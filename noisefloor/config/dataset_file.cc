#include "noisefloor/config/dataset_file.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/config/training_sections.h"

namespace noisefloor {
namespace {

using internal::BudgetKeys;
using internal::BudgetOf;
using internal::DataSection;
using internal::names_of;
using internal::SectionReader;
using internal::selector;

constexpr std::size_t kMaxRowsPerPerson = 1'000'000;
constexpr std::size_t kMaxStated = std::size_t{1} << 53;

DatasetUnit read_unit(const toml::table& table, const DataSection& data, Findings& findings) {
  SectionReader reader(table, "[unit]", findings);
  const auto units = names_of<PrivacyUnit>(PrivacyUnit::kRow, PrivacyUnit::kPerson);
  Located<PrivacyUnit> of;
  Located<std::string> column;
  Located<std::size_t> rows;
  reader.choice("of", units, of);
  reader.require("of", of, R"(add of = "row", or of = "person" where a person can have several rows)");
  const auto chosen = selector("of", units, of);
  if (reader.takes("column", chosen, {PrivacyUnit::kPerson})) reader.text("column", column);
  if (reader.takes("rows_per_person", chosen, {PrivacyUnit::kPerson})) {
    reader.size("rows_per_person", 1, kMaxRowsPerPerson, rows);
  }
  if (of.value == PrivacyUnit::kPerson) {
    reader.require("column", column, "add column = \"…\", the column that tells persons apart");
    reader.require("rows_per_person", rows, "add rows_per_person = …, the most rows that one person contributes");
    if (data.kind && data.kind != internal::DataKind::kCsv) {
      reader.error("unit_does_not_fit", of.place, "only a CSV file has a column that tells persons apart",
                   R"(set of = "row", or use a CSV file)");
    }
  }
  reader.finish();
  return {of.value.value_or(PrivacyUnit::kRow), column.value.value_or(""), rows.value.value_or(1)};
}

DatasetBudget budget_of(const BudgetKeys& keys, const std::string& name) {
  return {keys.name.value.value_or(name), *keys.epsilon, *keys.delta, *keys.neighbours(),
          keys.rule.value.value_or(Rule::kBasic)};
}

std::optional<DatasetDescription> read_document(const toml::table& document, Findings& findings) {
  SectionReader reader(document, "the dataset's description", findings);
  const Located<std::string> name = internal::read_name(reader, "what people call the dataset");
  Located<bool> is_public;
  Located<std::size_t> rows;
  reader.flag("public", is_public);
  Located<std::size_t> people;
  reader.size("rows", 1, kMaxStated, rows);
  reader.size("people", 1, kMaxStated, people);
  const toml::table* data_table = reader.section("data");
  const toml::table* unit_table = reader.section("unit");
  const toml::table* budget_table = reader.section("budget");
  if (!reader.holds("data")) reader.missing("section_missing", "[data]", "add [data], with format and file");
  const bool open_to_all = is_public.value.value_or(false);
  if (open_to_all) {
    reader.elsewhere("budget", "public data cost nothing and have no budget: remove [budget], or public = true");
  } else if (!reader.holds("budget")) {
    reader.missing(
        "section_missing", "[budget]",
        "add [budget] with epsilon and delta for all uses together; or public = true for data that are public");
  }
  reader.finish();

  DataSection data;
  if (data_table != nullptr) data = internal::read_dataset_section(*data_table, findings);
  DatasetUnit unit;
  if (unit_table != nullptr) unit = read_unit(*unit_table, data, findings);
  BudgetKeys budget;
  if (budget_table != nullptr && !open_to_all) {
    budget = internal::read_budget_section(*budget_table, BudgetOf::kDataset, findings);
  }
  if (people.stated() && unit.unit == PrivacyUnit::kRow && !has_errors(findings.list())) {
    findings.error("key_not_used", people.place, "people is for data of persons, and the unit is a row",
                   R"(remove people, or set of = "person" in [unit])");
  }
  if (has_errors(findings.list())) return std::nullopt;
  DatasetDescription description{.name = *name,
                                 .format = std::move(data.data.format),
                                 .files = std::move(data.data.train),
                                 .unit = std::move(unit)};
  if (rows.has()) description.rows = *rows;
  if (people.has()) description.people = *people;
  if (!open_to_all) description.budget = budget_of(budget, *name);
  return description;
}

}  // namespace

Located<std::string> internal::read_name(SectionReader& reader, std::string_view meaning) {
  Located<std::string> name;
  reader.text("name", name);
  reader.require("name", name, fmt::format("add name = \"…\" as the first line: {}", meaning));
  if (!name.has()) return name;
  if (const auto checked = check_name("name", *name); !checked.has_value()) {
    reader.error("out_of_range", name.place, checked.error().message, "choose a shorter, plain name");
  }
  return name;
}

DatasetText read_dataset(std::string_view text) {
  DatasetText result;
  Findings findings;
  const auto document =
      internal::parse_document(text, "leave out comments, or values that \"other\" can stand for", findings);
  if (document) result.description = read_document(*document, findings);
  result.findings = findings.sorted();
  return result;
}

bool is_dataset(std::string_view text) {
  Findings ignored;
  const auto document = internal::parse_document(text, "", ignored);
  return document && !document->contains("model") && (*document)["data"]["format"];
}

}  // namespace noisefloor
