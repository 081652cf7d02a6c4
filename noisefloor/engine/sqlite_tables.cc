#include "noisefloor/engine/sqlite_tables.h"

#include <fmt/format.h>

#include "noisefloor/base/overloaded.h"
#include "noisefloor/engine/sql_dialect.h"

namespace noisefloor::engine {
namespace {

Error not_written() { return io_error("SQLite could not write a table: see whether the disk is full"); }

std::string_view held_as(Type type) {
  return type == Type::kNumber ? "REAL" : type == Type::kText ? "TEXT" : "INTEGER";
}

class SqliteWriter final : public TableWriter {
 public:
  SqliteWriter(sqlite3* database, SqliteStatement insert) : database_(database), insert_(std::move(insert)) {}
  ~SqliteWriter() override {
    insert_.reset();
    if (!finished_) sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  SqliteWriter(const SqliteWriter&) = delete;
  SqliteWriter& operator=(const SqliteWriter&) = delete;

  [[nodiscard]] Result<void> add(std::span<const Value> row) override {
    for (std::size_t i = 0; i < row.size(); ++i) bind(static_cast<int>(i) + 1, row[i]);
    const bool done = sqlite3_step(insert_.get()) == SQLITE_DONE;
    sqlite3_reset(insert_.get());
    if (!done) return not_written();
    return success();
  }

  [[nodiscard]] Result<void> finish() override {
    insert_.reset();
    if (sqlite3_exec(database_, "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK) return not_written();
    finished_ = true;
    return success();
  }

 private:
  void bind(int place, const Value& value) {
    sqlite3_stmt* insert = insert_.get();
    std::visit(Overloaded{[&](std::monostate) { sqlite3_bind_null(insert, place); },
                          [&](std::int64_t whole) { sqlite3_bind_int64(insert, place, whole); },
                          [&](double x) { sqlite3_bind_double(insert, place, x); },
                          [&](const std::string& text) {
                            sqlite3_bind_text(insert, place, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
                          },
                          [&](bool truth) { sqlite3_bind_int(insert, place, truth ? 1 : 0); }},
               value);
  }

  sqlite3* database_;
  SqliteStatement insert_;
  bool finished_ = false;
};

}  // namespace

Result<std::unique_ptr<TableWriter>> write_sqlite_table(sqlite3* database, const std::string& table,
                                                        const std::vector<NamedColumn>& columns) {
  std::vector<std::string> definitions;
  for (const NamedColumn& column : columns) {
    definitions.push_back(fmt::format("{} {}", quoted_name(column.name), held_as(column.type)));
  }
  const std::vector<std::string> places(columns.size(), "?");
  const std::string create =
      fmt::format("BEGIN; CREATE TABLE {} ({})", quoted_name(table), fmt::join(definitions, ", "));
  const std::string insert = fmt::format("INSERT INTO {} VALUES ({})", quoted_name(table), fmt::join(places, ", "));
  if (sqlite3_exec(database, create.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return not_written();
  sqlite3_stmt* statement = nullptr;
  const int status = sqlite3_prepare_v2(database, insert.c_str(), -1, &statement, nullptr);
  auto writer = std::make_unique<SqliteWriter>(database, SqliteStatement(statement));
  if (status != SQLITE_OK) return not_written();
  return std::unique_ptr<TableWriter>(std::move(writer));
}

}  // namespace noisefloor::engine
