#include "noisefloor/engine/duckdb_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/engine/csv_rows.h"
#include "noisefloor/engine/duckdb_dialect.h"
#include "noisefloor/engine/duckdb_tables.h"
#include "noisefloor/engine/placed_table.h"
#include "noisefloor/engine/sql_engine.h"

namespace noisefloor::engine {
namespace {

// Interrupts the connection when the time is over.
class Watch {
 public:
  Watch(DuckdbConnection& connection, std::chrono::milliseconds limit) {
    if (limit.count() <= 0) return;
    thread_ = std::thread([this, &connection, limit] {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, limit, [&] { return done_; })) return;
      over_ = true;
      connection.interrupt();
    });
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] bool is_over() {
    const std::lock_guard lock(mutex_);
    return over_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  bool over_ = false;
  std::thread thread_;
};

// The columns of a chunk, as a batch. Integers and numbers stay where they are.
class ChunkBatch {
 public:
  ChunkBatch(const duckdb::Library& library, std::span<const Type> types) : library_(library), types_(types) {
    columns_.resize(types.size());
  }

  const Batch& of(duckdb::Handle chunk) {
    batch_.rows = library_.data_chunk_get_size(chunk);
    batch_.columns.clear();
    for (std::size_t i = 0; i < types_.size(); ++i) batch_.columns.push_back(column(chunk, i));
    return batch_;
  }

 private:
  struct Column {
    std::vector<std::uint8_t> present;
    std::vector<std::int64_t> whole;
    std::vector<std::string_view> texts;
  };

  BatchColumn column(duckdb::Handle chunk, std::size_t i) {
    const duckdb::Handle vector = library_.data_chunk_get_vector(chunk, i);
    const void* data = library_.vector_get_data(vector);
    const std::uint64_t* validity = library_.vector_get_validity(vector);
    Column& column = columns_[i];
    BatchColumn out{.type = types_[i]};
    if (validity != nullptr) {
      column.present.resize(batch_.rows);
      for (std::size_t row = 0; row < batch_.rows; ++row) column.present[row] = is_valid(validity, row) ? 1 : 0;
      out.present = column.present.data();
    }
    if (types_[i] == Type::kNumber) {
      out.numbers = static_cast<const double*>(data);
    } else if (types_[i] == Type::kText) {
      column.texts.resize(batch_.rows);
      const auto* texts = static_cast<const duckdb::RawText*>(data);
      for (std::size_t row = 0; row < batch_.rows; ++row) {
        column.texts[row] = out.has(row) ? text_of(texts[row]) : std::string_view();
      }
      out.texts = column.texts.data();
    } else if (types_[i] == Type::kTruth) {
      column.whole.resize(batch_.rows);
      const auto* truths = static_cast<const std::uint8_t*>(data);
      for (std::size_t row = 0; row < batch_.rows; ++row) column.whole[row] = truths[row] != 0 ? 1 : 0;
      out.whole = column.whole.data();
    } else {
      out.whole = static_cast<const std::int64_t*>(data);
    }
    return out;
  }

  const duckdb::Library& library_;
  std::span<const Type> types_;
  std::vector<Column> columns_;
  Batch batch_;
};

int held_type(Type type) {
  switch (type) {
    case Type::kNumber:
      return duckdb::kDouble;
    case Type::kText:
      return duckdb::kVarchar;
    case Type::kTruth:
      return duckdb::kBoolean;
    default:
      return duckdb::kBigint;
  }
}

class DuckdbServer final : public SqlServer {
 public:
  DuckdbServer(std::unique_ptr<DuckdbConnection> connection, std::vector<PlacedTable> tables,
               std::chrono::milliseconds limit)
      : connection_(std::move(connection)), dialect_(std::move(tables)), limit_(limit) {}

  [[nodiscard]] const SqlDialect& dialect() const override { return dialect_; }
  [[nodiscard]] DuckdbConnection& connection() { return *connection_; }

  [[nodiscard]] Result<void> begin() override {
    if (!connection_->execute("BEGIN TRANSACTION READ ONLY")) return failed_measurement("");
    return success();
  }
  void end() override { static_cast<void>(connection_->execute("ROLLBACK")); }

  [[nodiscard]] Result<void> run(const std::string& select, std::span<const Type> types,
                                 const TakeBatch& take) override {
    Watch watch(*connection_, limit_);
    DuckdbRows rows(connection_->library());
    if (!connection_->stream(select, rows)) return failed_measurement(watch.is_over() ? "time" : "");
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (connection_->library().column_type(&rows.raw(), i) != held_type(types[i])) {
        return internal_error("DuckDB gave a column of another type than was asked for");
      }
    }
    ChunkBatch batch(connection_->library(), types);
    while (duckdb::Handle chunk = rows.next()) NF_TRY_VOID(take(batch.of(chunk)));
    if (rows.has_failed() || watch.is_over()) return failed_measurement(watch.is_over() ? "time" : "");
    return success();
  }

 private:
  std::unique_ptr<DuckdbConnection> connection_;
  DuckdbDialect dialect_;
  std::chrono::milliseconds limit_;
};

Type type_of_held(std::string_view held) {
  if (held == "BOOLEAN") return Type::kTruth;
  if (held == "DATE" || held.starts_with("TIMESTAMP")) return Type::kDate;
  if (held == "FLOAT" || held == "DOUBLE" || held.starts_with("DECIMAL")) return Type::kNumber;
  return held.find("INT") != std::string_view::npos ? Type::kInteger : Type::kText;
}

class DuckdbEngine final : public SqlEngine {
 public:
  DuckdbEngine(std::vector<std::unique_ptr<SqlServer>> server, std::vector<PlacedTable> tables, bool files)
      : SqlEngine(std::move(server)),
        connection_(static_cast<DuckdbServer&>(*servers().front()).connection()),
        tables_(std::move(tables)),
        files_(files) {}

  [[nodiscard]] std::string name() const override { return "duckdb"; }

  [[nodiscard]] Result<std::vector<CatalogueTable>> catalogue() override {
    std::vector<CatalogueTable> tables;
    if (files_) {
      for (const PlacedTable& table : tables_) {
        NF_TRY(const auto columns, described(table.from));
        tables.push_back({.name = table.name, .columns = columns});
      }
      return tables;
    }
    const auto names = connection_.texts(
        "SELECT CAST(table_name AS VARCHAR) FROM information_schema.tables WHERE table_schema = 'main' ORDER BY 1", 1);
    if (!names) return input_data_error("the catalogue of the DuckDB file cannot be read");
    for (const std::vector<std::string>& row : *names) {
      NF_TRY(const auto columns, described(quoted_name(row[0])));
      CatalogueTable table{.name = row[0], .columns = columns};
      const auto keys = connection_.texts(
          fmt::format("SELECT CAST(constraint_column_names[1] AS VARCHAR) FROM duckdb_constraints() WHERE table_name = "
                      "{} AND constraint_type IN ('PRIMARY KEY', 'UNIQUE') AND len(constraint_column_names) = 1",
                      quoted_text(row[0])),
          1);
      const auto foreign = connection_.texts(
          fmt::format("SELECT CAST(constraint_column_names[1] AS VARCHAR), CAST(referenced_table AS VARCHAR), "
                      "CAST(referenced_column_names[1] AS VARCHAR) FROM duckdb_constraints() WHERE table_name = {} AND "
                      "constraint_type = 'FOREIGN KEY' AND len(constraint_column_names) = 1",
                      quoted_text(row[0])),
          3);
      if (!keys || !foreign) return input_data_error("the catalogue of the DuckDB file cannot be read");
      for (const std::vector<std::string>& key : *keys) table.unique.push_back(key[0]);
      for (const std::vector<std::string>& key : *foreign) table.foreign.push_back({key[0], key[1], key[2]});
      tables.push_back(std::move(table));
    }
    return tables;
  }

  [[nodiscard]] Result<void> read_rows(const std::string& name, const TakeRow& take) override {
    const auto table = std::ranges::find(tables_, name, &PlacedTable::name);
    const std::string from = table != tables_.end() ? table->from : quoted_name(name);
    const Error unreadable = input_data_error(fmt::format("the table {} cannot be read", shown(name)));
    const auto columns =
        connection_.texts(fmt::format("SELECT CAST(column_name AS VARCHAR) FROM (DESCRIBE SELECT * FROM {})", from), 1);
    if (!columns) return unreadable;
    std::vector<std::string> casts;
    for (const std::vector<std::string>& column : *columns) {
      casts.push_back(fmt::format("CAST({} AS VARCHAR)", quoted_name(column[0])));
    }
    DuckdbRows rows(connection_.library());
    if (!connection_.stream(fmt::format("SELECT {} FROM {}", fmt::join(casts, ", "), from), rows)) return unreadable;
    const std::vector<Type> types(casts.size(), Type::kText);
    ChunkBatch batches(connection_.library(), types);
    std::vector<std::string_view> cells(casts.size());
    while (duckdb::Handle chunk = rows.next()) {
      const Batch& batch = batches.of(chunk);
      for (std::size_t row = 0; row < batch.rows; ++row) {
        for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = batch.columns[i].texts[row];
        NF_TRY_VOID(take(cells));
      }
    }
    if (rows.has_failed()) return unreadable;
    return success();
  }

 private:
  [[nodiscard]] Result<std::vector<CatalogueColumn>> described(const std::string& from) {
    const auto rows = connection_.texts(
        fmt::format("SELECT CAST(column_name AS VARCHAR), CAST(column_type AS VARCHAR), CAST(\"null\" AS VARCHAR) FROM "
                    "(DESCRIBE SELECT * FROM {})",
                    from),
        3);
    if (!rows) return input_data_error("a table of the DuckDB source cannot be read");
    std::vector<CatalogueColumn> columns;
    for (const auto& row : *rows) columns.push_back({row[0], type_of_held(row[1]), row[2] == "YES"});
    return columns;
  }

  DuckdbConnection& connection_;
  std::vector<PlacedTable> tables_;
  bool files_;
};

Result<void> load(DuckdbConnection& connection, const std::string& path, const SourceTable& table, bool without_rows) {
  std::vector<NamedColumn> columns;
  for (const SourceColumn& column : table.columns) columns.push_back({column.name, column.type});
  NF_TRY(const std::unique_ptr<TableWriter> writer, connection.write_table(table.name, columns));
  if (without_rows) return writer->finish();
  NF_TRY_VOID(for_each_csv_row(path, table.columns, [&](std::span<const Value> row) { return writer->add(row); }));
  return writer->finish();
}

// Columns that DuckDB keeps free of NULL: of tables, and not of what is made of tables.
std::vector<std::string> columns_without_null(DuckdbConnection& connection, const std::string& from) {
  const auto rows = connection.texts(
      "SELECT CAST(t.table_name AS VARCHAR), CAST(c.column_name AS VARCHAR) FROM duckdb_columns() c JOIN "
      "duckdb_tables() t ON c.table_oid = t.table_oid AND c.database_oid = t.database_oid WHERE NOT c.is_nullable AND "
      "t.schema_name = 'main' AND NOT t.temporary",
      2);
  std::vector<std::string> columns;
  for (const auto& row : rows.value_or(std::vector<std::vector<std::string>>())) {
    if (quoted_name(row[0]) == from) columns.push_back(row[1]);
  }
  return columns;
}

Result<void> find_held_types(DuckdbConnection& connection, PlacedTable& table) {
  const auto rows = connection.texts(
      fmt::format("SELECT CAST(column_name AS VARCHAR), CAST(column_type AS VARCHAR) FROM (DESCRIBE SELECT * FROM {})",
                  table.from),
      2);
  if (!rows) return input_data_error(fmt::format("DuckDB cannot read the table {}", shown(table.name)));
  const std::vector<std::string> never_null = columns_without_null(connection, table.from);
  const DuckdbDialect dialect({});
  for (PlacedColumn& column : table.columns) {
    const auto at = std::ranges::find(*rows, column.name, [](const auto& row) { return row[0]; });
    if (at == rows->end()) {
      return input_data_error(fmt::format("the table {} has no column {}", shown(table.name), shown(column.name)));
    }
    column.held = (*at)[1];
    column.never_null = std::ranges::find(never_null, column.name) != never_null.end();
    if (dialect.cell(column).empty()) {
      return input_data_error(fmt::format("the column {} of the table {} holds {}, which is no {}", shown(column.name),
                                          shown(table.name), shown(column.held), name_of(column.type)));
    }
  }
  return success();
}

// `paths`: files that stay readable.
Result<void> close_to_others(DuckdbConnection& connection, const std::vector<std::string>& paths) {
  std::vector<std::string> quoted;
  for (const std::string& path : paths) quoted.push_back(quoted_text(path));
  const std::string settings = fmt::format(
      "SET TimeZone = 'UTC'; SET temp_directory = ''; SET preserve_insertion_order = false; SET allowed_paths = [{}]; "
      "SET allow_community_extensions = false; SET enable_external_access = false; SET lock_configuration = true",
      fmt::join(quoted, ", "));
  if (!connection.execute(settings)) return internal_error("this version of DuckDB cannot be restricted to reading");
  return success();
}

}  // namespace

Result<std::unique_ptr<Engine>> open_duckdb(const Source& source) {
  if (source.locations.size() > 1) {
    return invalid_argument("a source of DuckDB is one file: only PostgreSQL may have several servers");
  }
  NF_TRY(const duckdb::Library* const library, duckdb::library());
  const bool files = is_file(source);
  std::string path;
  if (!files) {
    const std::filesystem::path place = source.locations.front();
    path = place.is_absolute() || source.folder.empty() ? place.string() : (source.folder / place).string();
  }
  std::unique_ptr<DuckdbConnection> connection = DuckdbConnection::open(*library, path, !files);
  if (connection == nullptr) return io_error(fmt::format("the DuckDB file {} cannot be opened", shown(path)));
  std::vector<PlacedTable> tables;
  std::vector<std::string> paths;
  for (const SourceTable& table : source.tables) {
    PlacedTable placed{.name = table.name, .from = quoted_place(table), .columns = {}};
    for (const SourceColumn& column : table.columns) placed.columns.push_back({column.name, column.type});
    if (files) {
      const std::string file = path_of(source, table);
      if (is_parquet(file)) {
        placed.from = fmt::format("read_parquet({})", quoted_text(file));
        paths.push_back(file);
      } else {
        placed.from = quoted_name(table.name);
        placed.is_fitted = true;
        NF_TRY_VOID(load(*connection, file, table, source.without_rows));
      }
    }
    if (!placed.is_fitted) NF_TRY_VOID(find_held_types(*connection, placed));
    tables.push_back(std::move(placed));
  }
  NF_TRY_VOID(close_to_others(*connection, paths));
  std::vector<std::unique_ptr<SqlServer>> servers;
  servers.push_back(std::make_unique<DuckdbServer>(std::move(connection), tables, source.time_limit));
  return std::unique_ptr<Engine>(std::make_unique<DuckdbEngine>(std::move(servers), std::move(tables), files));
}

}  // namespace noisefloor::engine
