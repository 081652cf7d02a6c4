#include "noisefloor/engine/duckdb_tables.h"

#include <fmt/format.h>

#include <cstring>

#include "noisefloor/base/overloaded.h"
#include "noisefloor/engine/sql_dialect.h"

namespace noisefloor::engine {
namespace {

Error not_written() { return io_error("DuckDB could not write a table: see whether memory or the disk is full"); }

std::string_view held_as(Type type) {
  switch (type) {
    case Type::kNumber:
      return "DOUBLE";
    case Type::kText:
      return "VARCHAR";
    case Type::kTruth:
      return "BOOLEAN";
    default:
      return "BIGINT";
  }
}

class DuckdbWriter final : public TableWriter {
 public:
  DuckdbWriter(const duckdb::Library& library, duckdb::Handle appender) : library_(library), appender_(appender) {}
  ~DuckdbWriter() override { library_.appender_destroy(&appender_); }
  DuckdbWriter(const DuckdbWriter&) = delete;
  DuckdbWriter& operator=(const DuckdbWriter&) = delete;

  [[nodiscard]] Result<void> add(std::span<const Value> row) override {
    for (const Value& value : row) {
      const int status =
          std::visit(Overloaded{[&](std::monostate) { return library_.append_null(appender_); },
                                [&](std::int64_t whole) { return library_.append_int64(appender_, whole); },
                                [&](double x) { return library_.append_double(appender_, x); },
                                [&](const std::string& text) {
                                  return library_.append_varchar_length(appender_, text.data(), text.size());
                                },
                                [&](bool truth) { return library_.append_bool(appender_, truth); }},
                     value);
      if (status != 0) return not_written();
    }
    if (library_.appender_end_row(appender_) != 0) return not_written();
    return success();
  }
  [[nodiscard]] Result<void> finish() override {
    if (library_.appender_close(appender_) != 0) return not_written();
    return success();
  }

 private:
  const duckdb::Library& library_;
  duckdb::Handle appender_;
};

}  // namespace

DuckdbRows::~DuckdbRows() {
  if (chunk_ != nullptr) library_.destroy_data_chunk(&chunk_);
  library_.destroy_result(&raw_);
}

duckdb::Handle DuckdbRows::next() {
  if (chunk_ != nullptr) library_.destroy_data_chunk(&chunk_);
  chunk_ = library_.fetch_chunk(raw_);
  return chunk_;
}

bool DuckdbRows::has_failed() {
  const char* error = library_.result_error(&raw_);
  return error != nullptr && *error != 0;
}

std::unique_ptr<DuckdbConnection> DuckdbConnection::open(const duckdb::Library& library, const std::string& path,
                                                         bool read_only) {
  std::unique_ptr<DuckdbConnection> made(new DuckdbConnection(library));
  duckdb::Handle config = nullptr;
  if (library.create_config(&config) != 0) return nullptr;
  bool done = !read_only || library.set_config(config, "access_mode", "READ_ONLY") == 0;
  done = done && library.set_config(config, "autoinstall_known_extensions", "false") == 0;
  done = done && library.set_config(config, "autoload_known_extensions", "false") == 0;
  char* error = nullptr;  // it may name files
  done = done && library.open_ext(path.empty() ? nullptr : path.c_str(), &made->database_, config, &error) == 0;
  if (error != nullptr) library.release(error);
  library.destroy_config(&config);
  done = done && library.connect(made->database_, &made->connection_) == 0;
  return done ? std::move(made) : nullptr;
}

DuckdbConnection::~DuckdbConnection() {
  if (connection_ != nullptr) library_.disconnect(&connection_);
  if (database_ != nullptr) library_.close(&database_);
}

bool DuckdbConnection::execute(const std::string& sql) {
  duckdb::RawResult result{};
  const bool done = library_.query(connection_, sql.c_str(), &result) == 0;
  library_.destroy_result(&result);
  return done;
}

bool DuckdbConnection::stream(const std::string& sql, DuckdbRows& rows) {
  duckdb::Handle prepared = nullptr;
  duckdb::Handle pending = nullptr;
  bool done = library_.prepare(connection_, sql.c_str(), &prepared) == 0;
  done = done && library_.pending_prepared_streaming(prepared, &pending) == 0;
  done = done && library_.execute_pending(pending, &rows.raw()) == 0;
  if (pending != nullptr) library_.destroy_pending(&pending);
  library_.destroy_prepare(&prepared);
  return done;
}

std::optional<std::vector<std::vector<std::string>>> DuckdbConnection::texts(const std::string& select,
                                                                             std::size_t columns) {
  DuckdbRows rows(library_);
  if (!stream(select, rows)) return std::nullopt;
  std::vector<std::vector<std::string>> texts;
  while (duckdb::Handle chunk = rows.next()) {
    const std::size_t begin = texts.size();
    texts.resize(begin + library_.data_chunk_get_size(chunk));
    for (std::size_t i = 0; i < columns; ++i) {
      const duckdb::Handle vector = library_.data_chunk_get_vector(chunk, i);
      const auto* cells = static_cast<const duckdb::RawText*>(library_.vector_get_data(vector));
      const std::uint64_t* validity = library_.vector_get_validity(vector);
      for (std::size_t row = begin; row < texts.size(); ++row) {
        texts[row].emplace_back(is_valid(validity, row - begin) ? text_of(cells[row - begin]) : std::string_view());
      }
    }
  }
  if (rows.has_failed()) return std::nullopt;
  return texts;
}

Result<std::unique_ptr<TableWriter>> DuckdbConnection::write_table(const std::string& table,
                                                                   const std::vector<NamedColumn>& columns) {
  std::vector<std::string> definitions;
  for (const NamedColumn& column : columns) {
    definitions.push_back(fmt::format("{} {}", quoted_name(column.name), held_as(column.type)));
  }
  if (!execute(fmt::format("CREATE TABLE {} ({})", quoted_name(table), fmt::join(definitions, ", ")))) {
    return not_written();
  }
  duckdb::Handle appender = nullptr;
  const int status = library_.appender_create(connection_, nullptr, table.c_str(), &appender);
  auto writer = std::make_unique<DuckdbWriter>(library_, appender);
  if (status != 0) return not_written();
  return std::unique_ptr<TableWriter>(std::move(writer));
}

std::string_view text_of(const duckdb::RawText& raw) {
  if (raw.length <= sizeof raw.bytes) return {raw.bytes, raw.length};
  const char* elsewhere = nullptr;
  std::memcpy(&elsewhere, raw.bytes + 4, sizeof elsewhere);
  return {elsewhere, raw.length};
}

}  // namespace noisefloor::engine
