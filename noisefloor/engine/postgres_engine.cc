#include "noisefloor/engine/postgres_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/engine/placed_table.h"
#include "noisefloor/engine/postgres_connection.h"
#include "noisefloor/engine/postgres_dialect.h"
#include "noisefloor/engine/sql_engine.h"

namespace noisefloor::engine {
namespace {

// A domain is what it is made of; an enumeration is "enum". PostgreSQL does not enforce NOT NULL in foreign tables,
// which may also be parts of a table.
constexpr const char* kHeldTypes =
    "SELECT a.attname, CASE WHEN t.typtype = 'e' THEN 'enum' WHEN t.typtype = 'd' THEN b.typname ELSE t.typname END, "
    "a.attnotnull AND EXISTS (SELECT FROM pg_class c WHERE c.oid = a.attrelid AND c.relkind = 'r' AND NOT "
    "c.relhassubclass) FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = "
    "t.typbasetype "
    "WHERE a.attrelid = to_regclass({}) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";

Type type_of_held(std::string_view held) {
  if (held == "int2" || held == "int4" || held == "int8") return Type::kInteger;
  if (held == "float4" || held == "float8" || held == "numeric") return Type::kNumber;
  if (held == "date" || held == "timestamp" || held == "timestamptz") return Type::kDate;
  return held == "bool" ? Type::kTruth : Type::kText;
}

// With an empty search path every table is named with its schema.
std::string place_of(const SourceTable& table) {
  const std::string place = quoted_place(table);
  const bool has_schema = (table.place.empty() ? table.name : table.place).find('.') != std::string::npos;
  return has_schema ? place : "\"public\"." + place;
}

class PostgresServer final : public SqlServer {
 public:
  PostgresServer(std::unique_ptr<PostgresConnection> connection, std::vector<PlacedTable> tables, std::size_t server,
                 std::size_t servers)
      : connection_(std::move(connection)), dialect_(std::move(tables), server, servers) {}

  [[nodiscard]] const SqlDialect& dialect() const override { return dialect_; }
  [[nodiscard]] PostgresConnection& connection() { return *connection_; }

  [[nodiscard]] Result<void> begin() override {
    if (!connection_->execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")) {
      return failed_measurement(connection_->failure());
    }
    return success();
  }
  void end() override { static_cast<void>(connection_->execute("ROLLBACK")); }
  [[nodiscard]] Result<void> run(const std::string& select, std::span<const Type> types,
                                 const TakeBatch& take) override {
    return connection_->copy(select, types, take);
  }

 private:
  std::unique_ptr<PostgresConnection> connection_;
  PostgresDialect dialect_;
};

class PostgresEngine final : public SqlEngine {
 public:
  PostgresEngine(std::vector<std::unique_ptr<SqlServer>> servers, Source source)
      : SqlEngine(std::move(servers)), source_(std::move(source)) {}

  [[nodiscard]] std::string name() const override { return "postgresql"; }

  // Of the first server: all have the same tables.
  [[nodiscard]] Result<std::vector<CatalogueTable>> catalogue() override {
    const Error unreadable = io_error("the catalogue of PostgreSQL cannot be read");
    PostgresConnection& connection = connection_of(0);
    const auto tables = connection.texts(
        "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN "
        "('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND n.nspname NOT IN ('pg_catalog', 'information_schema') "
        "AND n.nspname NOT LIKE 'pg\\_%' ORDER BY 1, 2");
    if (!tables) return unreadable;
    std::vector<CatalogueTable> catalogue;
    for (const std::vector<std::string>& row : *tables) {
      const std::string place = quoted_text(quoted_name(row[0]) + "." + quoted_name(row[1]));
      const auto columns = connection.texts(fmt::format(kHeldTypes, place));
      const auto unique = connection.texts(fmt::format(
          "SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] "
          "WHERE i.indrelid = to_regclass({}) AND i.indisunique AND i.indisvalid AND i.indnkeyatts = 1 AND i.indpred "
          "IS "
          "NULL",
          place));
      const auto foreign = connection.texts(fmt::format(
          "SELECT a.attname, n.nspname, f.relname, b.attname FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = "
          "c.conrelid AND a.attnum = c.conkey[1] JOIN pg_class f ON f.oid = c.confrelid JOIN pg_namespace n ON n.oid = "
          "f.relnamespace JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = c.confkey[1] WHERE c.conrelid "
          "= to_regclass({}) AND c.contype = 'f' AND array_length(c.conkey, 1) = 1",
          place));
      if (!columns || !unique || !foreign) return unreadable;
      CatalogueTable table{.name = named(row[0], row[1]), .columns = {}};
      for (const auto& column : *columns) {
        table.columns.push_back({column[0], type_of_held(column[1]), column[2] != "t"});
      }
      for (const auto& column : *unique) table.unique.push_back(column[0]);
      for (const auto& key : *foreign) table.foreign.push_back({key[0], named(key[1], key[2]), key[3]});
      catalogue.push_back(std::move(table));
    }
    return catalogue;
  }

  [[nodiscard]] Result<void> read_rows(const std::string& name, const TakeRow& take) override {
    const auto table = std::ranges::find(source_.tables, name, &SourceTable::name);
    const SourceTable plain{.name = name, .columns = {}};
    const std::string place = place_of(table == source_.tables.end() ? plain : *table);
    for (std::size_t i = 0; i < servers().size(); ++i) {
      const auto columns = connection_of(i).texts(fmt::format(kHeldTypes, quoted_text(place)));
      if (!columns || columns->empty()) {
        return input_data_error(fmt::format("the table {} cannot be read", shown(name)));
      }
      std::vector<std::string> texts;
      for (const auto& column : *columns) texts.push_back(fmt::format("CAST({} AS text)", quoted_name(column[0])));
      const std::vector<Type> types(texts.size(), Type::kText);
      std::vector<std::string_view> cells(texts.size());
      const TakeBatch take_texts = [&](const Batch& batch) -> Result<void> {
        for (std::size_t row = 0; row < batch.rows; ++row) {
          for (std::size_t c = 0; c < cells.size(); ++c) cells[c] = batch.columns[c].texts[row];
          NF_TRY_VOID(take(cells));
        }
        return success();
      };
      NF_TRY_VOID(
          connection_of(i).copy(fmt::format("SELECT {} FROM {}", fmt::join(texts, ", "), place), types, take_texts));
    }
    return success();
  }

 private:
  static std::string named(const std::string& schema, const std::string& table) {
    return schema == "public" ? table : schema + "." + table;
  }
  [[nodiscard]] PostgresConnection& connection_of(std::size_t i) {
    return static_cast<PostgresServer&>(*servers()[i]).connection();
  }

  Source source_;
};

Result<void> find_held_types(PostgresConnection& connection, PlacedTable& table) {
  const auto rows = connection.texts(fmt::format(kHeldTypes, quoted_text(table.from)));
  if (!rows || rows->empty()) {
    return input_data_error(fmt::format("PostgreSQL has no table {} that this user may read", shown(table.name)));
  }
  const PostgresDialect dialect({}, 0, 1);
  for (PlacedColumn& column : table.columns) {
    const auto at = std::ranges::find(*rows, column.name, [](const auto& row) { return row[0]; });
    if (at == rows->end()) {
      return input_data_error(fmt::format("the table {} has no column {}", shown(table.name), shown(column.name)));
    }
    column.held = (*at)[1];
    column.never_null = (*at)[2] == "t";
    if (dialect.cell(column).empty()) {
      return input_data_error(fmt::format("the column {} of the table {} holds {}, which is no {}", shown(column.name),
                                          shown(table.name), shown(column.held), name_of(column.type)));
    }
  }
  return success();
}

}  // namespace

Result<std::unique_ptr<Engine>> open_postgres(const Source& source) {
  if (source.locations.empty()) {
    return invalid_argument("a source of PostgreSQL needs a place: postgresql://USER@HOST/DATABASE");
  }
  std::vector<std::unique_ptr<SqlServer>> servers;
  for (std::size_t i = 0; i < source.locations.size(); ++i) {
    NF_TRY(std::unique_ptr<PostgresConnection> connection,
           PostgresConnection::open(source.locations[i], source.time_limit));
    std::vector<PlacedTable> tables;
    for (const SourceTable& table : source.tables) {
      PlacedTable placed{.name = table.name, .from = place_of(table), .columns = {}};
      for (const SourceColumn& column : table.columns) placed.columns.push_back({column.name, column.type});
      NF_TRY_VOID(find_held_types(*connection, placed));
      tables.push_back(std::move(placed));
    }
    servers.push_back(
        std::make_unique<PostgresServer>(std::move(connection), std::move(tables), i, source.locations.size()));
  }
  return std::unique_ptr<Engine>(std::make_unique<PostgresEngine>(std::move(servers), source));
}

}  // namespace noisefloor::engine
