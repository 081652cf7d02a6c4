#include "noisefloor/config/dataset_file.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/config/tables_section.h"
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
  const bool tables = data.kind == internal::DataKind::kTables;
  if (tables) {
    reader.elsewhere("rows_per_person", "each [[table]] says it for itself: max_rows_per_unit = …");
  } else if (reader.takes("rows_per_person", chosen, {PrivacyUnit::kPerson})) {
    reader.size("rows_per_person", 1, kMaxRowsPerPerson, rows);
  }
  if (of.value == PrivacyUnit::kPerson) {
    reader.require("column", column, "add column = \"…\", the column that tells persons apart");
    if (!tables) {
      reader.require("rows_per_person", rows, "add rows_per_person = …, the most rows that one person contributes");
    }
    if (data.kind && data.kind != internal::DataKind::kCsv && !tables) {
      reader.error("unit_does_not_fit", of.place, "only a CSV file has a column that tells persons apart",
                   R"(set of = "row", or use a CSV file)");
    }
  }
  reader.finish();
  return {of.value.value_or(PrivacyUnit::kRow), column.value.value_or(""), rows.value.value_or(1)};
}

constexpr internal::Names<BlockKind, 2> kBlockKinds{{{"date", BlockKind::kDate}, {"batch", BlockKind::kBatch}}};
constexpr internal::Names<BlockPeriod, 5> kPeriods{{{"day", BlockPeriod::kDay},
                                                    {"week", BlockPeriod::kWeek},
                                                    {"month", BlockPeriod::kMonth},
                                                    {"quarter", BlockPeriod::kQuarter},
                                                    {"year", BlockPeriod::kYear}}};

// [blocks]: how the rows of a growing dataset are divided. Each block has the whole budget for itself.
std::optional<BlockTerms> read_blocks(const toml::table& table, const DataSection& data, const DatasetUnit& unit,
                                      std::optional<Adjacency> neighbours, Findings& findings) {
  SectionReader reader(table, "[blocks]", findings);
  Located<BlockKind> by;
  Located<std::string> column;
  Located<BlockPeriod> period;
  Located<std::size_t> unlock;
  reader.choice("by", kBlockKinds, by);
  reader.require("by", by, R"(add by = "date" for blocks by the dates in a column, or by = "batch" for one file each)");
  if (reader.takes("column", selector("by", kBlockKinds, by), {BlockKind::kDate})) reader.text("column", column);
  reader.choice("period", kPeriods, period);
  reader.size("unlock", 1, kMaxUnlock, unlock);
  const auto* file = std::get_if<TextFile>(&data.data.train);
  if (by.value == BlockKind::kDate) {
    reader.require("column", column, "add column = \"…\", the column with each row's date, such as 2026-03-05");
    if (data.kind && data.kind != internal::DataKind::kCsv) {
      reader.error("blocks_do_not_fit", by.place, "only a CSV file has a column of dates",
                   R"(set by = "batch", or use a CSV file)");
    }
    if (neighbours == Adjacency::kReplaceOne) {
      reader.error("blocks_do_not_fit", by.place,
                   "a row that is exchanged may get a date in another block: no block's budget covers that",
                   R"(set adjacency = "add-remove" under [budget], or by = "batch")");
    }
  }
  if (by.value == BlockKind::kDate || unlock.value.value_or(1) > 1) {
    reader.require("period", period, R"(add period = "day", "week", "month", "quarter" or "year")");
  }
  if (by.value == BlockKind::kBatch && (file == nullptr || file->path.find(kBatchInPath) == std::string::npos)) {
    reader.error("blocks_do_not_fit", by.place, "the file of [data] does not say where the name of a batch goes",
                 R"(write {block} for it, as in file = "visits-{block}.csv")");
  }
  if (unit.unit == PrivacyUnit::kPerson) {
    reader.error("blocks_do_not_fit", by.place,
                 "a person's rows may lie in any number of blocks, whose budgets would add up for that person",
                 R"(set of = "row" under [unit], or remove [blocks])");
  }
  reader.finish();
  if (!by.has()) return std::nullopt;
  return BlockTerms{*by, column.value.value_or(""), period.value.value_or(BlockPeriod::kDay),
                    static_cast<std::uint32_t>(unlock.value.value_or(1))};
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
  const toml::table* blocks_table = reader.section("blocks");
  const bool tables = internal::holds_tables(document);
  std::vector<const toml::table*> table_list;
  if (tables) {
    table_list = reader.sections("table", "table");
    if (!reader.holds("table")) {
      reader.missing("section_missing", "[[table]]", "add one for each table that queries may name");
    }
    reader.elsewhere("blocks", "a query reads all rows of a table, and cannot keep to blocks: remove [blocks]");
  }
  if (!reader.holds("data")) reader.missing("section_missing", "[data]", "add [data], with format and file");
  const bool open_to_all = is_public.value.value_or(false);
  if (open_to_all) {
    reader.elsewhere("budget", "public data cost nothing and have no budget: remove [budget], or public = true");
    reader.elsewhere("blocks", "blocks divide a budget, and public data have none: remove [blocks], or public = true");
  } else if (!reader.holds("budget")) {
    reader.missing(
        "section_missing", "[budget]",
        "add [budget] with epsilon and delta for all uses together; or public = true for data that are public");
  }
  reader.finish();

  DataSection data;
  if (tables) {
    data.kind = internal::DataKind::kTables;
    data.data.train = TextFile{};
  } else if (data_table != nullptr) {
    data = internal::read_dataset_section(*data_table, findings);
  }
  DatasetUnit unit;
  if (unit_table != nullptr) unit = read_unit(*unit_table, data, findings);
  if (tables)
    data.data.format = internal::read_tables(*data_table, table_list, {unit.unit, unit.person, open_to_all}, findings);
  BudgetKeys budget;
  if (budget_table != nullptr && !open_to_all) {
    budget = internal::read_budget_section(*budget_table, BudgetOf::kDataset, findings);
  }
  if (people.stated() && unit.unit == PrivacyUnit::kRow && !has_errors(findings.list())) {
    findings.error("key_not_used", people.place, "people is for data of persons, and the unit is a row",
                   R"(remove people, or set of = "person" in [unit])");
  }
  std::optional<BlockTerms> blocks;
  if (blocks_table != nullptr && !open_to_all && !tables) {
    blocks = read_blocks(*blocks_table, data, unit, budget.neighbours(), findings);
  }
  if (has_errors(findings.list())) return std::nullopt;
  DatasetDescription description{.name = *name,
                                 .format = std::move(data.data.format),
                                 .files = std::move(data.data.train),
                                 .unit = std::move(unit)};
  if (rows.has()) description.rows = *rows;
  if (people.has()) description.people = *people;
  if (!open_to_all) description.budget = budget_of(budget, *name);
  description.blocks = std::move(blocks);
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
