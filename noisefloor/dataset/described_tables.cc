#include "noisefloor/dataset/described_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "noisefloor/base/spelling.h"
#include "noisefloor/base/text.h"
#include "noisefloor/dataset/records.h"
#include "noisefloor/engine/source.h"
#include "noisefloor/table/csv.h"

namespace noisefloor {
namespace {

constexpr int kGridBits = 20;

// "Visits 2026" gives "visits_2026".
std::string table_name(const std::string& dataset) {
  std::string name;
  for (const char c : dataset) {
    const bool small = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool capital = c >= 'A' && c <= 'Z';
    name += small ? c : (capital ? static_cast<char>(c - 'A' + 'a') : '_');
  }
  if (name.front() >= '0' && name.front() <= '9') name.insert(name.begin(), '_');
  return name;
}

// At most 1, so that whole numbers are on the grid.
double grid_of(double lower, double upper) {
  const double most = std::max(std::abs(lower), std::abs(upper));
  return std::min(1.0, std::exp2(std::ceil(std::log2(most)) - kGridBits));
}

DescribedColumn number(const std::string& name, double lower, double upper) {
  return {.name = name, .type = engine::Type::kNumber, .lower = lower, .upper = upper, .step = grid_of(lower, upper)};
}

DescribedColumn text(const std::string& name, const std::vector<std::string>& values) {
  DescribedColumn column{.name = name, .type = engine::Type::kText, .values = values};
  for (const std::string& value : values) column.max_length = std::max<std::uint64_t>(column.max_length, value.size());
  return column;
}

DescribedColumn described(const FeatureColumn& feature) {
  if (const auto* texts = std::get_if<CategoricalColumn>(&feature)) return text(texts->name, texts->values);
  const auto& numeric = std::get<NumericColumn>(feature);
  DescribedColumn column = number(numeric.name, numeric.lower, numeric.upper);
  column.missing = numeric.missing;
  return column;
}

TablesFormat table_of(const DatasetDescription& description, const CsvTable& csv) {
  DescribedTable table{.name = table_name(description.name), .place = std::get<TextFile>(description.files).path};
  table.is_public = description.is_public();
  table.separator = csv.format.separator;
  table.trim = csv.format.trim;
  table.missing = csv.schema.missing;
  for (const FeatureColumn& feature : csv.schema.features) table.columns.push_back(described(feature));
  if (const auto* label = std::get_if<LabelColumn>(&csv.schema.outcome)) {
    table.columns.push_back(text(label->name, label->classes));
  } else {
    const auto& target = std::get<TargetColumn>(csv.schema.outcome);
    table.columns.push_back(number(target.name, target.lower, target.upper));
  }
  if (description.unit.unit == PrivacyUnit::kPerson) {
    const std::uint64_t most = description.unit.rows_per_person;
    table.columns.push_back({.name = description.unit.person, .type = engine::Type::kText});
    table.unit = UnitPath{description.unit.person};
    table.one_row_per_unit = false;
    table.max_groups = std::min(table.max_groups, most);
    table.max_rows_per_group = std::min(table.max_rows_per_group, most);
    table.max_rows_per_unit = most;
  }
  return {.engine = engine::EngineKind::kSqlite, .tables = {std::move(table)}};
}

// Names in queries and in most catalogues do not depend on case.
bool same_name(std::string_view a, std::string_view b) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return small(x) == small(y); });
}

// The columns that the table has.
Result<std::vector<std::string>> header_of(const TablesFormat& format, const DescribedTable& table,
                                           const std::string& folder, std::unique_ptr<engine::Engine>& engine) {
  if (is_csv_file(format, table)) {
    CsvFormat written;
    written.separator = table.separator;
    written.trim = table.trim;
    NF_TRY(ByteSource source, ByteSource::open(resolved(folder, table.place)));
    NF_TRY(const CsvReader reader, CsvReader::open(std::move(source), written, OddRecords::become_null()));
    return reader.header();
  }
  if (engine == nullptr) {
    NF_TRY(engine, engine::open_engine(source_of(format, folder)));
  }
  NF_TRY(const std::vector<engine::CatalogueTable> catalogue, engine->catalogue());
  std::vector<std::string> names;
  for (const engine::CatalogueTable& one : catalogue) {
    if (one.name != table.name) continue;
    for (const engine::CatalogueColumn& column : one.columns) names.push_back(column.name);
  }
  if (!names.empty()) return names;
  return invalid_argument(
      fmt::format("there is no table {} at the place that [data] states; correct one of the two", shown(table.place)));
}

}  // namespace

std::vector<std::string> files_of(const TablesFormat& format) {
  if (format.engine == engine::EngineKind::kPostgresql) return {};
  if (!format.locations.empty()) return format.locations;
  std::vector<std::string> files;
  for (const DescribedTable& table : format.tables) files.push_back(table.place);
  return files;
}

Result<void> check_catalogue(const TablesFormat& format, const std::string& folder) {
  std::unique_ptr<engine::Engine> engine;
  for (const DescribedTable& table : format.tables) {
    NF_TRY(const std::vector<std::string> header, header_of(format, table, folder, engine));
    std::vector<std::string> wanted = table.unique;
    for (const DescribedColumn& column : table.columns) wanted.push_back(column.name);
    if (table.unit) wanted.push_back(table.unit->column);
    for (const std::string& name : wanted) {
      if (std::any_of(header.begin(), header.end(), [&](const std::string& one) { return same_name(one, name); })) {
        continue;
      }
      return invalid_argument(fmt::format("the table {} has no column {}; {}", shown(table.name), shown(name),
                                          suggestion(name, {header.begin(), header.end()})));
    }
  }
  return success();
}

Result<TablesFormat> tables_of(const DatasetDescription& description) {
  const auto* csv = std::get_if<CsvTable>(&description.format);
  if (const auto* tables = std::get_if<TablesFormat>(&description.format)) return *tables;
  if (csv == nullptr) {
    return invalid_argument(
        fmt::format("the dataset {} holds no tables: queries are for CSV and Parquet files, SQLite, DuckDB and "
                    "PostgreSQL",
                    shown(description.name)));
  }
  if (description.blocks) {
    return invalid_argument(
        fmt::format("the dataset {} has {}, and a query reads all rows of a table: ask for sums, means and quantiles "
                    "of blocks with `noisefloor mechanism`",
                    shown(description.name), in_words(*description.blocks)));
  }
  return table_of(description, *csv);
}

}  // namespace noisefloor
