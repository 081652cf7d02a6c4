#include "noisefloor/config/tables_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "noisefloor/base/spelling.h"
#include "noisefloor/base/text.h"

namespace noisefloor::internal {
namespace {

using engine::EngineKind;
using engine::Type;

constexpr Names<EngineKind, 3> kEngines{
    {{"sqlite", EngineKind::kSqlite}, {"duckdb", EngineKind::kDuckdb}, {"postgresql", EngineKind::kPostgresql}}};
constexpr Names<Type, 5> kTypes{{{"integer", Type::kInteger},
                                 {"number", Type::kNumber},
                                 {"text", Type::kText},
                                 {"date", Type::kDate},
                                 {"truth", Type::kTruth}}};
constexpr std::size_t kMostRows = std::size_t{1} << 40;
constexpr std::size_t kMostBound = 1'000'000'000;
constexpr std::size_t kMostLetters = 4096;
constexpr double kLargestInteger = 9007199254740992.0;  // 2^53

// Names in queries do not depend on case.
std::string folded(std::string_view name) {
  std::string small(name);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return small;
}

// --- [[table.column]]

class ColumnReader {
 public:
  ColumnReader(const toml::table& table, const std::string& section, Findings& findings)
      : reader_(table, section, findings) {}

  DescribedColumn read() {
    Located<std::string> name;
    reader_.text("name", name);
    reader_.require("name", name, "add name = \"…\", as the table has it");
    reader_.choice("type", kTypes, type_);
    reader_.require("type", type_, R"(add type = "integer", "number", "text", "date" or "truth")");
    column_.name = name.value.value_or("");
    column_.type = type_.value.value_or(Type::kText);
    read_bounds();
    read_text();
    reader_.finish();
    return std::move(column_);
  }

 private:
  bool takes(std::string_view key, std::initializer_list<Type> types) {
    return reader_.takes(key, selector("type", kTypes, type_), types);
  }

  void read_bounds() {
    Located<double> lower;
    Located<double> upper;
    Located<double> step;
    Located<double> missing;
    Located<bool> range;
    const bool date = type_.value == Type::kDate;
    for (const auto& [key, field] : {std::pair{"lower", &lower}, std::pair{"upper", &upper}}) {
      if (!takes(key, {Type::kInteger, Type::kNumber, Type::kDate})) continue;
      if (date) {
        reader_.day(key, *field);
      } else {
        reader_.number(key, *field);
      }
    }
    if (takes("step", {Type::kNumber})) reader_.number("step", step, kAboveZero);
    if (takes("missing", {Type::kInteger, Type::kNumber})) reader_.number("missing", missing);
    if (takes("public_range", {Type::kInteger, Type::kDate})) reader_.flag("public_range", range);
    if (lower.stated() != upper.stated()) {
      reader_.missing("key_missing", lower.stated() ? "upper" : "lower",
                      "state both bounds, known without looking at the data, or none");
    }
    const bool both = lower.has() && upper.has();
    if (both && !(*lower < *upper)) {
      reader_.error("bounds_out_of_order", std::max(lower.place, upper.place),
                    fmt::format("lower of column {} is not below upper", shown(column_.name)),
                    "give the lower bound as lower and the upper one as upper");
    }
    if (type_.value == Type::kInteger) {
      for (const auto* bound : {&lower, &upper, &missing}) expect_whole(*bound);
    }
    if (step.stated() && !both) {
      reader_.error("key_not_used", step.place, "step is that of a number with bounds", "add lower and upper");
    }
    if (missing.has() && !(both && *missing >= *lower && *missing <= *upper)) {
      reader_.error("out_of_range", missing.place,
                    fmt::format("missing of column {} must be within its bounds", shown(column_.name)),
                    "add lower and upper, and give the number between them that stands for a missing value");
    }
    if (range.value.value_or(false) && !both) {
      reader_.error("key_not_used", range.place, "public_range is about the values from lower to upper",
                    "add lower and upper");
    }
    column_.lower = lower.value;
    column_.upper = upper.value;
    column_.step = step.value;
    column_.missing = missing.value;
    column_.public_range = range.value.value_or(false);
  }

  void expect_whole(const Located<double>& bound) {
    if (!bound.has() || (std::floor(*bound) == *bound && std::abs(*bound) <= kLargestInteger)) return;
    reader_.error(
        "out_of_range", bound.place,
        fmt::format("{} is no whole number up to 2^53, and column {} holds integers", *bound, shown(column_.name)),
        R"(round it, or set type = "number")");
  }

  void read_text() {
    Located<std::vector<std::string>> values;
    Located<std::size_t> length;
    if (takes("values", {Type::kText})) reader_.texts("values", values);
    if (takes("max_length", {Type::kText})) reader_.size("max_length", 1, kMostLetters, length);
    column_.values = values.value;
    for (const std::string& value : values.value.value_or(std::vector<std::string>{})) {
      if (value.size() <= length.value.value_or(kMostLetters)) continue;
      reader_.error(
          "out_of_range", length.place,
          fmt::format("max_length is {}, and values of column {} has a longer one", *length, shown(column_.name)),
          "raise max_length");
    }
    if (length.has()) {
      column_.max_length = *length;
    } else if (column_.values) {
      for (const std::string& value : *column_.values) {
        column_.max_length = std::max<std::uint64_t>(column_.max_length, value.size());
      }
    }
  }

  SectionReader reader_;
  Located<Type> type_;
  DescribedColumn column_;
};

// --- [[table]]

struct ReadTable {
  DescribedTable table;
  Place place;
  Place refers_place = {};
};

class TableReader {
 public:
  TableReader(const toml::table& table, std::size_t number, const TablesUnit& unit, const TablesFormat& format,
              Findings& findings)
      : section_(fmt::format("[[table]] number {}", number)),
        reader_(table, section_, findings),
        unit_(unit),
        format_(format),
        findings_(findings) {}

  ReadTable read() {
    Located<std::string> name;
    reader_.text("name", name);
    reader_.require("name", name, "add name = \"…\", by which queries call the table");
    table_.name = name.value.value_or("");
    Located<bool> is_public;
    reader_.flag("public", is_public);
    table_.is_public = unit_.public_data || is_public.value.value_or(false);
    read_place();
    read_unit();
    read_bounds();
    read_columns();
    reader_.finish();
    return {std::move(table_), reader_.place(), refers_place_};
  }

 private:
  void read_place() {
    Located<std::string> file;
    Located<std::string> table;
    const bool files = format_.locations.empty();
    if (files) {
      reader_.text("file", file);
      reader_.require("file", file,
                      "add file = \"….csv\" or \"….parquet\"; or name the database of all tables in [data]");
      reader_.unused("table", "tables of a database, and [data] names none");
      if (file.has() && file.value->ends_with(".parquet") && format_.engine != EngineKind::kDuckdb) {
        reader_.error("engine_does_not_fit", file.place, "only DuckDB reads Parquet files",
                      R"(set engine = "duckdb" under [data])");
      }
      table_.place = file.value.value_or("");
    } else {
      reader_.text("table", table);
      reader_.unused("file", "tables that are files, and [data] names a database");
      table_.place = table.value.value_or(table_.name);
    }
    Located<std::string> separator;
    Located<bool> trim;
    Located<std::vector<std::string>> missing;
    if (!files || table_.place.ends_with(".parquet")) {
      for (const char* key : {"separator", "trim", "missing"}) reader_.unused(key, "tables that are CSV files");
      return;
    }
    reader_.text("separator", separator);
    reader_.flag("trim", trim);
    reader_.texts("missing", missing);
    if (separator.has() && separator.value->size() != 1) {
      reader_.error("out_of_range", separator.place, "separator must be one character", R"(write separator = ";")");
    } else if (separator.has()) {
      table_.separator = separator.value->front();
    }
    table_.trim = trim.value.value_or(false);
    if (missing.has()) table_.missing = *missing;
  }

  void read_unit() {
    Located<std::string> unit;
    Located<std::string> refers;
    Located<bool> one;
    reader_.texts("unique", unique_);
    table_.unique = unique_.value.value_or(std::vector<std::string>{});
    const bool persons = unit_.unit == PrivacyUnit::kPerson && !table_.is_public;
    if (!persons) {
      for (const char* key : {"unit", "refers_to", "one_row_per_unit", "max_rows_per_unit"}) {
        reader_.unused(key, table_.is_public ? "tables that are not public" : R"([unit] with of = "person")");
      }
      return;
    }
    reader_.text("unit", unit);
    reader_.text("refers_to", refers);
    reader_.flag("one_row_per_unit", one);
    UnitPath path{unit.value.value_or(unit_.column)};
    if (refers.has()) {
      refers_place_ = refers.place;
      const std::size_t dot = refers.value->rfind('.');
      if (dot == std::string::npos || dot == 0 || dot + 1 == refers.value->size()) {
        reader_.error("out_of_range", refers.place, fmt::format("refers_to is {}", shown(*refers.value)),
                      R"(name a table and its column: refers_to = "patients.pid")");
      } else {
        path.table = refers.value->substr(0, dot);
        path.refers = refers.value->substr(dot + 1);
      }
    }
    table_.unit = std::move(path);
    const bool declared =
        std::find(table_.unique.begin(), table_.unique.end(), table_.unit->column) != table_.unique.end();
    table_.one_row_per_unit = one.value.value_or(declared && table_.unit->table.empty());
  }

  void read_bounds() {
    Located<std::size_t> rows;
    Located<std::size_t> groups;
    Located<std::size_t> each;
    Located<std::size_t> all;
    reader_.size("max_rows", 1, kMostRows, rows);
    if (table_.is_public || unit_.unit == PrivacyUnit::kRow) {
      for (const char* key : {"max_groups", "max_rows_per_group"}) {
        reader_.unused(key, table_.is_public ? "tables that are not public" : R"([unit] with of = "person")");
      }
    } else {
      reader_.size("max_groups", 1, kMostBound, groups);
      reader_.size("max_rows_per_group", 1, kMostBound, each);
      reader_.size("max_rows_per_unit", 1, kMostBound, all);
    }
    if (rows.has()) table_.max_rows = *rows;
    if (groups.has()) table_.max_groups = *groups;
    if (each.has()) table_.max_rows_per_group = *each;
    if (all.has()) table_.max_rows_per_unit = *all;
    if (table_.one_row_per_unit || unit_.unit == PrivacyUnit::kRow) {
      if (!groups.has()) table_.max_groups = 1;
      if (!each.has()) table_.max_rows_per_group = 1;
    }
  }

  void read_columns() {
    std::size_t number = 0;
    std::set<std::string> names;
    for (const toml::table* one : reader_.sections("column", "table.column")) {
      const std::string section = fmt::format("[[table.column]] number {} of {}", ++number,
                                              table_.name.empty() ? section_ : shown(table_.name));
      DescribedColumn column = ColumnReader(*one, section, findings_).read();
      if (!column.name.empty() && !names.insert(folded(column.name)).second) {
        reader_.error("duplicate_name", place_of(one->source()),
                      fmt::format("column {} of {} is listed twice", shown(column.name), shown(table_.name)),
                      "remove one of the two; names do not depend on case");
      }
      table_.columns.push_back(std::move(column));
    }
    if (table_.columns.empty()) {
      reader_.missing("key_missing", "[[table.column]]", "add one for each column that queries may name");
    }
  }

  std::string section_;
  SectionReader reader_;
  const TablesUnit& unit_;
  const TablesFormat& format_;
  Findings& findings_;
  DescribedTable table_;
  Located<std::vector<std::string>> unique_;
  Place refers_place_ = {};
};

// --- [data]

TablesFormat read_place(const toml::table& data, Findings& findings) {
  SectionReader reader(data, "[data]", findings);
  TablesFormat format;
  Located<EngineKind> engine;
  Located<std::string> file;
  Located<std::vector<std::string>> servers;
  reader.skip("format");
  reader.choice("engine", kEngines, engine);
  const auto chosen = selector("engine", kEngines, engine, std::optional(EngineKind::kSqlite));
  if (reader.takes("file", chosen, {EngineKind::kSqlite, EngineKind::kDuckdb})) reader.text("file", file);
  if (reader.takes("servers", chosen, {EngineKind::kPostgresql})) {
    reader.texts("servers", servers);
    if (engine.value == EngineKind::kPostgresql) {
      reader.require("servers", servers,
                     "add servers = [\"host=… dbname=…\"], one for each server that holds a part of the rows");
    }
  }
  format.engine = engine.value.value_or(EngineKind::kSqlite);
  if (file.has()) format.locations = {*file};
  for (const std::string& server : servers.value.value_or(std::vector<std::string>{})) {
    if (server.empty()) {
      reader.error("out_of_range", servers.place, "servers holds an empty text", R"(write "host=… dbname=…")");
    } else if (without_password(server) != server || folded(server).find("password") != std::string::npos) {
      reader.error("password_in_file", servers.place, "servers holds a password, and this file is no place for it",
                   "leave it out: libpq takes it from ~/.pgpass or from PGPASSWORD");
    }
    format.locations.push_back(server);
  }
  for (const char* key : {"label", "target", "group", "classes", "column", "separator", "trim", "missing"}) {
    reader.elsewhere(key, R"(tables say what they hold in [[table]] and [[table.column]])");
  }
  reader.finish();
  return format;
}

const ReadTable* find(const std::vector<ReadTable>& tables, const std::string& name) {
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const ReadTable& one) { return folded(one.table.name) == folded(name); });
  return found == tables.end() ? nullptr : &*found;
}

bool has_column(const DescribedTable& table, const std::string& name) {
  return std::any_of(table.columns.begin(), table.columns.end(),
                     [&](const DescribedColumn& column) { return column.name == name; });
}

// Columns that units and keys are made of have a type as well.
void check_keys(const ReadTable& one, Findings& findings) {
  std::vector<std::string> keys = one.table.unique;
  if (one.table.unit) keys.push_back(one.table.unit->column);
  std::vector<std::string_view> names;
  for (const DescribedColumn& column : one.table.columns) names.push_back(column.name);
  for (const std::string& key : keys) {
    if (has_column(one.table, key)) continue;
    const bool is_unit = one.table.unit && one.table.unit->column == key;
    findings.error(
        "unknown_value", one.place,
        fmt::format("{} of table {} has no [[table.column]]",
                    is_unit ? "the unit " + shown(key) : "the unique column " + shown(key), shown(one.table.name)),
        fmt::format("add one with name = \"{}\" and its type{}", key,
                    is_unit ? ", or name the table's own with unit = \"…\"" : ""));
  }
}

// Every path to a unit ends at a table with a column of its own, over columns that are unique there.
void check_path(const ReadTable& from, const std::vector<ReadTable>& tables, Findings& findings) {
  const ReadTable* table = &from;
  for (std::size_t steps = 0; table->table.unit && !table->table.unit->table.empty(); ++steps) {
    const UnitPath& path = *table->table.unit;
    const ReadTable* next = find(tables, path.table);
    if (next == nullptr || next->table.is_public) {
      std::vector<std::string_view> names;
      for (const ReadTable& one : tables) {
        if (!one.table.is_public) names.push_back(one.table.name);
      }
      findings.error("unknown_value", table->refers_place,
                     fmt::format("refers_to of {} names {}, which is no private [[table]]", shown(table->table.name),
                                 shown(path.table)),
                     suggestion(path.table, names));
      return;
    }
    const auto& unique = next->table.unique;
    const bool own = next->table.one_row_per_unit && next->table.unit && next->table.unit->column == path.refers;
    if (!own && std::find(unique.begin(), unique.end(), path.refers) == unique.end()) {
      findings.error("refers_to_not_unique", table->refers_place,
                     fmt::format("refers_to of {} names {}.{}, which is not declared unique", shown(table->table.name),
                                 shown(path.table), shown(path.refers)),
                     fmt::format("add unique = [{}] to the [[table]] {}, if the database guarantees it",
                                 "\"" + path.refers + "\"", shown(path.table)));
      return;
    }
    if (steps > tables.size()) {
      findings.error("unit_in_a_circle", from.refers_place,
                     fmt::format("the path from {} to a unit leads in a circle", shown(from.table.name)),
                     "let one of its tables have the unit's column itself: remove its refers_to");
      return;
    }
    table = next;
  }
}

}  // namespace

bool holds_tables(const toml::table& document) {
  return document["data"]["format"].value_exact<std::string_view>() == "tables";
}

TablesFormat read_tables(const toml::table& data, const std::vector<const toml::table*>& tables, const TablesUnit& unit,
                         Findings& findings) {
  TablesFormat format = read_place(data, findings);
  std::vector<ReadTable> read;
  for (const toml::table* one : tables) {
    ReadTable table = TableReader(*one, read.size() + 1, unit, format, findings).read();
    if (!table.table.name.empty() && find(read, table.table.name) != nullptr) {
      findings.error("duplicate_name", table.place, fmt::format("table {} is listed twice", shown(table.table.name)),
                     "remove one of the two; names do not depend on case");
    }
    read.push_back(std::move(table));
  }
  if (unit.unit == PrivacyUnit::kPerson) {
    for (const ReadTable& one : read) check_path(one, read, findings);
  }
  for (const ReadTable& one : read) check_keys(one, findings);
  const bool all_public =
      std::all_of(read.begin(), read.end(), [](const ReadTable& one) { return one.table.is_public; });
  if (!unit.public_data && !read.empty() && all_public) {
    findings.error("no_private_table", read.front().place, "every [[table]] is public, and there is a [budget]",
                   "remove public = true from a table, or say public = true at the top of the description");
  }
  for (ReadTable& one : read) format.tables.push_back(std::move(one.table));
  return format;
}

}  // namespace noisefloor::internal
