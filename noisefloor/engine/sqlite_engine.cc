#include "noisefloor/engine/sqlite_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/engine/csv_rows.h"
#include "noisefloor/engine/placed_table.h"
#include "noisefloor/engine/sqlite_dialect.h"
#include "noisefloor/engine/sqlite_functions.h"
#include "noisefloor/engine/sqlite_tables.h"
#include "noisefloor/engine/text_functions.h"

namespace noisefloor::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kOperationsBetweenLooks = 20'000;

int authorize(void* /*data*/, int action, const char* /*first*/, const char* second, const char* /*database*/,
              const char* /*trigger*/) {
  if (action == SQLITE_SELECT || action == SQLITE_READ) return SQLITE_OK;
  if (action == SQLITE_FUNCTION && second != nullptr && is_our_function(second)) return SQLITE_OK;
  return SQLITE_DENY;
}

Type type_of_declaration(std::string_view declared) {
  const std::string word = lower_ascii(declared);
  const auto has = [&](std::string_view part) { return word.find(part) != std::string::npos; };
  if (has("bool")) return Type::kTruth;
  if (has("date") || has("timestamp")) return Type::kDate;
  if (has("int")) return Type::kInteger;
  if (has("real") || has("doub") || has("floa") || has("numeric") || has("decimal")) return Type::kNumber;
  return Type::kText;
}

class SqliteServer final : public SqlServer {
 public:
  SqliteServer(SqliteDatabase database, std::vector<PlacedTable> tables, std::chrono::milliseconds limit)
      : database_(std::move(database)), dialect_(std::move(tables)), limit_(limit) {
    sqlite3_progress_handler(database_.get(), kOperationsBetweenLooks, look_at_time, this);
  }

  [[nodiscard]] const SqlDialect& dialect() const override { return dialect_; }
  [[nodiscard]] sqlite3* database() const { return database_.get(); }
  // Statements of a transaction share one limit.
  [[nodiscard]] Result<void> begin() override {
    end_ = limit_.count() > 0 ? Clock::now() + limit_ : Clock::time_point::max();
    if (sqlite3_exec(database_.get(), "BEGIN", nullptr, nullptr, nullptr) != SQLITE_OK) return failed_measurement("");
    sqlite3_set_authorizer(database_.get(), authorize, nullptr);
    return success();
  }
  void end() override {
    sqlite3_set_authorizer(database_.get(), nullptr, nullptr);
    end_ = Clock::time_point::max();
    sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }

  [[nodiscard]] Result<void> check(const std::string& select) override {
    sqlite3_stmt* prepared = nullptr;
    const int status =
        sqlite3_prepare_v2(database_.get(), select.c_str(), static_cast<int>(select.size()) + 1, &prepared, nullptr);
    const SqliteStatement statement(prepared);
    if (status == SQLITE_OK) return success();
    return invalid_argument(
        "this query has more joins and subqueries within each other than SQLite takes: ask it in parts, or put the "
        "tables into DuckDB or PostgreSQL");
  }

  [[nodiscard]] Result<void> run(const std::string& select, std::span<const Type> types,
                                 const TakeBatch& take) override {
    sqlite3_stmt* prepared = nullptr;
    const int status =
        sqlite3_prepare_v2(database_.get(), select.c_str(), static_cast<int>(select.size()) + 1, &prepared, nullptr);
    const SqliteStatement statement(prepared);
    if (status != SQLITE_OK) return failed_measurement(status == SQLITE_INTERRUPT ? "time" : "");
    BatchBuilder batch(types);
    for (;;) {
      const int step = sqlite3_step(prepared);
      if (step == SQLITE_DONE) return batch.flush(take);
      if (step != SQLITE_ROW) return failed_measurement(step == SQLITE_INTERRUPT ? "time" : "");
      for (std::size_t i = 0; i < types.size(); ++i) add_cell(batch, prepared, static_cast<int>(i), types[i]);
      if (batch.is_full()) NF_TRY_VOID(batch.flush(take));
    }
  }

 private:
  static void add_cell(BatchBuilder& batch, sqlite3_stmt* statement, int i, Type type) {
    if (sqlite3_column_type(statement, i) == SQLITE_NULL) {
      batch.add_null();
    } else if (type == Type::kText) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
      batch.add(
          std::string_view(text == nullptr ? "" : text, static_cast<std::size_t>(sqlite3_column_bytes(statement, i))));
    } else if (type == Type::kNumber) {
      batch.add(sqlite3_column_double(statement, i));
    } else {
      batch.add(static_cast<std::int64_t>(sqlite3_column_int64(statement, i)));
    }
  }

  static int look_at_time(void* self) { return Clock::now() > static_cast<SqliteServer*>(self)->end_ ? 1 : 0; }

  SqliteDatabase database_;
  SqliteDialect dialect_;
  std::chrono::milliseconds limit_;
  Clock::time_point end_ = Clock::time_point::max();
};

std::string text_in(sqlite3_stmt* statement, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  return text == nullptr ? "" : std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
}

class SqliteEngine final : public SqlEngine {
 public:
  SqliteEngine(std::unique_ptr<SqliteServer> server, Source source)
      : SqlEngine(one(server)),
        database_(static_cast<SqliteServer&>(*servers().front()).database()),
        source_(std::move(source)) {}

  [[nodiscard]] std::string name() const override { return "sqlite"; }

  [[nodiscard]] Result<std::vector<CatalogueTable>> catalogue() override {
    std::vector<CatalogueTable> tables;
    NF_TRY_VOID(
        each("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'view') AND "
             "name NOT LIKE 'sqlite_%' ORDER BY name",
             {}, [&](sqlite3_stmt* row) { tables.push_back({.name = text_in(row, 0), .columns = {}}); }));
    for (CatalogueTable& table : tables) {
      std::vector<std::string> primary;
      NF_TRY_VOID(
          each("SELECT name, type, \"notnull\", pk FROM pragma_table_info(?)", table.name, [&](sqlite3_stmt* row) {
            const bool is_key = sqlite3_column_int(row, 3) > 0;
            if (is_key) primary.push_back(text_in(row, 0));
            table.columns.push_back({.name = text_in(row, 0),
                                     .type = type_of_declaration(text_in(row, 1)),
                                     .nullable = sqlite3_column_int(row, 2) == 0 && !is_key});
          }));
      if (primary.size() == 1) table.unique = primary;
      std::vector<std::string> indexes;
      NF_TRY_VOID(each("SELECT name FROM pragma_index_list(?) WHERE \"unique\" = 1 AND partial = 0", table.name,
                       [&](sqlite3_stmt* row) { indexes.push_back(text_in(row, 0)); }));
      for (const std::string& index : indexes) {
        std::vector<std::string> columns;
        NF_TRY_VOID(each("SELECT name FROM pragma_index_info(?)", index,
                         [&](sqlite3_stmt* row) { columns.push_back(text_in(row, 0)); }));
        const bool is_new = columns.size() == 1 && !columns[0].empty() &&
                            std::ranges::find(table.unique, columns[0]) == table.unique.end();
        if (is_new) table.unique.push_back(columns[0]);
      }
      NF_TRY_VOID(each("SELECT \"from\", \"table\", coalesce(\"to\", \"from\") FROM pragma_foreign_key_list(?)",
                       table.name, [&](sqlite3_stmt* row) {
                         table.foreign.push_back({text_in(row, 0), text_in(row, 1), text_in(row, 2)});
                       }));
    }
    return tables;
  }

  [[nodiscard]] Result<void> read_rows(const std::string& name, const TakeRow& take) override {
    std::string from = quoted_name(name);
    const auto named = std::ranges::find(source_.tables, name, &SourceTable::name);
    if (named != source_.tables.end() && !is_file(source_)) from = quoted_place(*named);
    sqlite3_stmt* prepared = nullptr;
    const std::string select = fmt::format("SELECT * FROM {}", from);
    const int status = sqlite3_prepare_v2(database_, select.c_str(), -1, &prepared, nullptr);
    const SqliteStatement statement(prepared);
    if (status != SQLITE_OK) return input_data_error(fmt::format("the table {} cannot be read", shown(name)));
    const int columns = sqlite3_column_count(prepared);
    std::vector<std::string> texts(static_cast<std::size_t>(columns));
    std::vector<std::string_view> cells(texts.size());
    int step = SQLITE_ROW;
    while ((step = sqlite3_step(prepared)) == SQLITE_ROW) {
      for (int i = 0; i < columns; ++i) {
        texts[static_cast<std::size_t>(i)] = text_in(prepared, i);
        cells[static_cast<std::size_t>(i)] = texts[static_cast<std::size_t>(i)];
      }
      NF_TRY_VOID(take(cells));
    }
    if (step != SQLITE_DONE) return input_data_error(fmt::format("the table {} cannot be read", shown(name)));
    return success();
  }

 private:
  static std::vector<std::unique_ptr<SqlServer>> one(std::unique_ptr<SqliteServer>& server) {
    std::vector<std::unique_ptr<SqlServer>> servers;
    servers.push_back(std::move(server));
    return servers;
  }

  template <class TakeStatement>
  [[nodiscard]] Result<void> each(const char* sql, const std::string& parameter, const TakeStatement& take) {
    sqlite3_stmt* prepared = nullptr;
    const int status = sqlite3_prepare_v2(database_, sql, -1, &prepared, nullptr);
    const SqliteStatement statement(prepared);
    if (status != SQLITE_OK) return input_data_error("the catalogue of the SQLite file cannot be read");
    if (!parameter.empty()) sqlite3_bind_text(prepared, 1, parameter.c_str(), -1, SQLITE_TRANSIENT);
    int step = SQLITE_ROW;
    while ((step = sqlite3_step(prepared)) == SQLITE_ROW) take(prepared);
    if (step != SQLITE_DONE) return input_data_error("the catalogue of the SQLite file cannot be read");
    return success();
  }

  sqlite3* database_;
  Source source_;
};

Result<void> secure(sqlite3* database) {
  bool done = sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr) == SQLITE_OK &&
              sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr) == SQLITE_OK &&
              sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr) == SQLITE_OK &&
              sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 0, nullptr) == SQLITE_OK &&
              sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr) == SQLITE_OK;
  done = done && sqlite3_exec(database, "PRAGMA query_only = ON", nullptr, nullptr, nullptr) == SQLITE_OK;
  done = done && register_functions(database);
  if (!done) return internal_error("this build of SQLite cannot be restricted to reading");
  return success();
}

Result<void> load(sqlite3* database, const Source& source, const SourceTable& table) {
  const std::string path = path_of(source, table);
  if (is_parquet(path)) {
    return invalid_argument(fmt::format("{} is a Parquet file: state engine = \"duckdb\" to read it", shown(path)));
  }
  std::vector<NamedColumn> columns;
  for (const SourceColumn& column : table.columns) columns.push_back({column.name, column.type});
  NF_TRY(const std::unique_ptr<TableWriter> writer, write_sqlite_table(database, table.name, columns));
  if (source.without_rows) return writer->finish();
  NF_TRY_VOID(for_each_csv_row(path, table.columns, [&](std::span<const Value> row) { return writer->add(row); }));
  return writer->finish();
}

Result<void> check_columns(sqlite3* database, const PlacedTable& table) {
  sqlite3_stmt* prepared = nullptr;
  const std::string select = fmt::format("SELECT * FROM {} LIMIT 0", table.from);
  const int status = sqlite3_prepare_v2(database, select.c_str(), -1, &prepared, nullptr);
  const SqliteStatement statement(prepared);
  if (status != SQLITE_OK) return input_data_error(fmt::format("the database has no table {}", shown(table.name)));
  for (const PlacedColumn& column : table.columns) {
    bool found = false;
    for (int i = 0; i < sqlite3_column_count(prepared); ++i) found |= column.name == sqlite3_column_name(prepared, i);
    if (!found) {
      return input_data_error(
          fmt::format("the table {} of the database has no column {}", shown(table.name), shown(column.name)));
    }
  }
  return success();
}

}  // namespace

Result<std::unique_ptr<Engine>> open_sqlite(const Source& source) {
  if (source.locations.size() > 1) {
    return invalid_argument("a source of SQLite is one file: only PostgreSQL may have several servers");
  }
  const bool files = is_file(source);
  const std::filesystem::path place = files ? ":memory:" : source.locations.front();
  const std::string path =
      files || place.is_absolute() || source.folder.empty() ? place.string() : (source.folder / place).string();
  sqlite3* opened = nullptr;
  const int flags = files ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const int status = sqlite3_open_v2(path.c_str(), &opened, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  SqliteDatabase database(opened);
  if (status != SQLITE_OK) return io_error(fmt::format("the SQLite file {} cannot be opened", shown(path)));
  std::vector<PlacedTable> tables;
  for (const SourceTable& table : source.tables) {
    PlacedTable placed{.name = table.name,
                       .from = files ? quoted_name(table.name) : quoted_place(table),
                       .columns = {},
                       .is_fitted = files};
    for (const SourceColumn& column : table.columns) placed.columns.push_back({column.name, column.type});
    if (files) NF_TRY_VOID(load(opened, source, table));
    tables.push_back(std::move(placed));
  }
  NF_TRY_VOID(secure(opened));
  for (const PlacedTable& table : tables) NF_TRY_VOID(check_columns(opened, table));
  return std::unique_ptr<Engine>(std::make_unique<SqliteEngine>(
      std::make_unique<SqliteServer>(std::move(database), std::move(tables), source.time_limit), source));
}

}  // namespace noisefloor::engine
