#include "noisefloor/config/tables_starter.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/config/starter.h"
#include "noisefloor/config/starter_pieces.h"
#include "noisefloor/engine/source.h"
#include "noisefloor/table/outline.h"

namespace noisefloor {
namespace {

using engine::CatalogueColumn;
using engine::CatalogueKey;
using engine::CatalogueTable;
using engine::EngineKind;
using engine::Type;
using internal::blank;
using internal::list_of;
using internal::toml_text;
namespace fs = std::filesystem;

bool is_server(std::string_view place) {
  return place.starts_with("postgresql://") || place.starts_with("postgres://") ||
         place.find("dbname=") != std::string_view::npos || place.find("host=") != std::string_view::npos;
}

bool ends_with_one_of(std::string_view place, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return place.ends_with(end); });
}

bool is_duckdb(std::string_view place) { return ends_with_one_of(place, {".duckdb", ".ddb"}); }
bool is_sqlite(std::string_view place) { return ends_with_one_of(place, {".db", ".sqlite", ".sqlite3"}); }
bool is_parquet(std::string_view place) { return place.ends_with(".parquet"); }

bool is_key(const CatalogueTable& table, const std::string& column) {
  return std::find(table.unique.begin(), table.unique.end(), column) != table.unique.end() ||
         std::any_of(table.foreign.begin(), table.foreign.end(),
                     [&](const CatalogueKey& key) { return key.column == column; });
}

std::string column_text(const CatalogueTable& table, const CatalogueColumn& column) {
  std::string out =
      fmt::format("[[table.column]]\nname = {}\ntype = \"{}\"\n", toml_text(column.name), name_of(column.type));
  if (is_key(table, column.name)) return out;
  switch (column.type) {
    case Type::kInteger:
      return out + fmt::format("lower = {0}\nupper = {0}\n", blank());
    case Type::kNumber:
      return out + fmt::format("lower = {0}\nupper = {0}\n# step = 0.01  # sums are exact to this\n", blank());
    case Type::kText:
      return out + "# values = [\"…\"]  # all texts that may be names of groups, if they are public\n";
    case Type::kDate:
      return out + "# lower = 2026-01-01\n# upper = 2026-12-31\n# public_range = true  # each day may be named\n";
    case Type::kTruth:
      return out;
  }
  return out;
}

std::string table_text(const TablesFormat& source, const DescribedTable& place, const CatalogueTable& table) {
  std::string out = fmt::format("\n[[table]]\nname = {}\n", toml_text(table.name));
  if (source.locations.empty()) out += fmt::format("file = {}\n", toml_text(place.place));
  if (place.separator != ',') out += fmt::format("separator = {}\n", toml_text(std::string(1, place.separator)));
  out += "# public = true  # if anybody may see all of it: then it has no unit\n";
  if (!table.unique.empty()) out += fmt::format("unique = {}\n", list_of(table.unique));
  for (const CatalogueKey& key : table.foreign) {
    out += fmt::format("# {0} refers to {1}.{2}. Where persons are only there: unit = {0}, refers_to = {3}\n",
                       toml_text(key.column), key.table, key.refers, toml_text(key.table + "." + key.refers));
  }
  out +=
      "# max_groups = 4          # groups of a query that one person may be counted in\n"
      "# max_rows_per_group = 4  # rows of one person that count in each of them\n";
  for (const CatalogueColumn& column : table.columns) out += column_text(table, column);
  return out;
}

// What a CSV file shows of itself: names and types.
Result<std::pair<DescribedTable, CatalogueTable>> outlined(const std::string& file, const std::string& place) {
  NF_TRY(const CsvOutline outline, outline_csv(file));
  CatalogueTable table;
  table.name = starter_name(file);
  std::replace(table.name.begin(), table.name.end(), '-', '_');
  for (const ColumnOutline& column : outline.columns) {
    if (column.type == ColumnType::kEmpty) continue;
    const Type type = column.type == ColumnType::kWhole    ? Type::kInteger
                      : column.type == ColumnType::kNumber ? Type::kNumber
                                                           : Type::kText;
    table.columns.push_back({column.name, type});
  }
  DescribedTable described{.name = table.name, .place = place};
  described.separator = outline.format.separator;
  return std::pair{std::move(described), std::move(table)};
}

Result<void> expect_no_password(const std::string& place) {
  if (without_password(place) == place && place.find("password") == std::string::npos) return success();
  return invalid_argument(
      "the address holds a password, and a description is no place for it: leave it out, libpq takes it from "
      "~/.pgpass or from PGPASSWORD");
}

struct Outlined {
  TablesFormat source;
  std::vector<CatalogueTable> catalogue;
};

Result<Outlined> outline_files(const std::vector<std::string>& files, const fs::path& folder) {
  Outlined all;
  for (const std::string& file : files) {
    const std::string place = internal::seen_from(folder, file);
    if (!is_parquet(file)) {
      NF_TRY(auto one, outlined(file, place));
      all.source.tables.push_back(std::move(one.first));
      all.catalogue.push_back(std::move(one.second));
      continue;
    }
    all.source.engine = EngineKind::kDuckdb;
    std::string name = starter_name(file);
    std::replace(name.begin(), name.end(), '-', '_');
    engine::Source source{.engine = EngineKind::kDuckdb, .locations = {}, .tables = {}};
    source.tables = {{name, file, {}}};
    NF_TRY(const std::unique_ptr<engine::Engine> engine, engine::open_engine(source));
    NF_TRY(std::vector<CatalogueTable> found, engine->catalogue());
    if (found.size() != 1) return input_data_error(fmt::format("{} holds no table", shown(file)));
    found.front().name = name;
    all.source.tables.push_back({.name = name, .place = place});
    all.catalogue.push_back(std::move(found.front()));
  }
  return all;
}

Result<Outlined> outline_database(const std::vector<std::string>& places, const fs::path& folder) {
  Outlined all;
  engine::Source source;
  source.locations = places;
  source.engine = is_server(places.front())   ? EngineKind::kPostgresql
                  : is_duckdb(places.front()) ? EngineKind::kDuckdb
                                              : EngineKind::kSqlite;
  for (const std::string& place : places) NF_TRY_VOID(expect_no_password(place));
  NF_TRY(const std::unique_ptr<engine::Engine> engine, engine::open_engine(source));
  NF_TRY(all.catalogue, engine->catalogue());
  if (all.catalogue.empty()) return input_data_error(fmt::format("{} holds no table", shown(places.front())));
  all.source.engine = source.engine;
  all.source.locations = places;
  if (source.engine != EngineKind::kPostgresql) {
    all.source.locations = {internal::seen_from(folder, places.front())};
  }
  for (const CatalogueTable& table : all.catalogue) all.source.tables.push_back({.name = table.name});
  return all;
}

Result<Outlined> outline_places(const std::vector<std::string>& places, const fs::path& folder) {
  const auto is_database = [](const std::string& place) {
    return is_server(place) || is_duckdb(place) || is_sqlite(place);
  };
  if (std::none_of(places.begin(), places.end(), is_database)) return outline_files(places, folder);
  if (places.size() > 1 && !std::all_of(places.begin(), places.end(), is_server)) {
    return invalid_argument(
        "a description is of one database, of PostgreSQL servers that hold parts of the same tables, or of files: "
        "name one of these");
  }
  return outline_database(places, folder);
}

std::string name_from(const std::string& place) {
  if (!is_server(place)) return starter_name(place);
  std::string_view base = place;
  if (const std::size_t key = base.find("dbname="); key != std::string_view::npos) {
    base.remove_prefix(key + 7);
  } else {
    base.remove_prefix(std::min(base.size(), base.rfind('/') + 1));
  }
  return starter_name(std::string(base.substr(0, base.find_first_of(" ?&'"))));
}

}  // namespace

bool are_tables(const std::vector<std::string>& places) {
  if (places.size() != 1) return true;
  const std::string& place = places.front();
  return is_server(place) || is_duckdb(place) || is_sqlite(place) || is_parquet(place);
}

std::string starter_tables(const std::string& name, const TablesFormat& source,
                           const std::vector<CatalogueTable>& catalogue) {
  std::string out = fmt::format(
      "# {}: the names and types of tables and columns come from the data's catalogue, and nothing else does.\n"
      "# Replace each {} with what anybody could know without looking at the data. Remove tables and columns that\n"
      "# nobody may ask about: what is not named here does not exist for a query.\n"
      "name = {}\n\n[data]\nformat = \"tables\"\n",
      name, blank(), toml_text(name));
  const std::string_view engine = source.engine == EngineKind::kSqlite   ? "sqlite"
                                  : source.engine == EngineKind::kDuckdb ? "duckdb"
                                                                         : "postgresql";
  out += fmt::format("engine = \"{}\"\n", engine);
  if (source.engine == EngineKind::kPostgresql) {
    out += fmt::format("servers = {}\n", list_of(source.locations));
  } else if (!source.locations.empty()) {
    out += fmt::format("file = {}\n", toml_text(source.locations.front()));
  }
  for (std::size_t i = 0; i < catalogue.size(); ++i) out += table_text(source, source.tables[i], catalogue[i]);
  out += fmt::format(
      "\n# Whose rows are they? The column that tells persons apart, in every table that is not public and names no\n"
      "# other. If every row is a person of its own: of = \"row\", without column.\n"
      "[unit]\nof = \"person\"\ncolumn = {}\n"
      "\n# What all uses of these data may cost together. delta should be far below one over the number of persons.\n"
      "[budget]\nepsilon = 3.0\ndelta = 1e-7\n",
      blank());
  return out;
}

Result<TablesStarterFile> write_tables_starter(const TablesStarterRequest& request) {
  const fs::path folder = request.folder;
  NF_TRY(const Outlined found, outline_places(request.places, folder));
  const std::string name = request.name.empty() ? name_from(request.places.front()) : request.name;
  const fs::path description = folder / (name + ".toml");
  NF_TRY_VOID(internal::expect_new(description));
  std::error_code ignored;  // a folder that cannot be made is reported when the file is written
  fs::create_directories(folder, ignored);
  NF_TRY_VOID(write_file(description.string(), starter_tables(name, found.source, found.catalogue)));
  TablesStarterFile made{description.string(), found.catalogue.size()};
  for (const CatalogueTable& table : found.catalogue) made.columns += table.columns.size();
  return made;
}

}  // namespace noisefloor
