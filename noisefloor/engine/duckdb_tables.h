// Internal to engine/: a database of DuckDB, its connection, and tables that are written to it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/duckdb_library.h"
#include "noisefloor/engine/relation.h"
#include "noisefloor/engine/table_writer.h"

namespace noisefloor::engine {

// The rows of a statement, as they come.
class DuckdbRows {
 public:
  explicit DuckdbRows(const duckdb::Library& library) : library_(library) {}
  DuckdbRows(const DuckdbRows&) = delete;
  DuckdbRows& operator=(const DuckdbRows&) = delete;
  ~DuckdbRows();

  [[nodiscard]] duckdb::RawResult& raw() { return raw_; }
  // The next chunk, valid until next() is called again; null at the end.
  [[nodiscard]] duckdb::Handle next();
  // Whether the end came too early.
  [[nodiscard]] bool has_failed();

 private:
  const duckdb::Library& library_;
  duckdb::RawResult raw_{};
  duckdb::Handle chunk_ = nullptr;
};

class DuckdbConnection {
 public:
  // An empty path is a database in memory. Nothing if it cannot be opened.
  [[nodiscard]] static std::unique_ptr<DuckdbConnection> open(const duckdb::Library& library, const std::string& path,
                                                              bool read_only);
  DuckdbConnection(const DuckdbConnection&) = delete;
  DuckdbConnection& operator=(const DuckdbConnection&) = delete;
  ~DuckdbConnection();

  [[nodiscard]] const duckdb::Library& library() const { return library_; }
  [[nodiscard]] bool execute(const std::string& sql);
  // Begins to answer the statement.
  [[nodiscard]] bool stream(const std::string& sql, DuckdbRows& rows);
  // All rows, as texts; NULL is empty. Nothing if the statement fails.
  [[nodiscard]] std::optional<std::vector<std::vector<std::string>>> texts(const std::string& select,
                                                                           std::size_t columns);
  void interrupt() { library_.interrupt(connection_); }

  // Makes the table, and fills it.
  [[nodiscard]] Result<std::unique_ptr<TableWriter>> write_table(const std::string& table,
                                                                 const std::vector<NamedColumn>& columns);

 private:
  explicit DuckdbConnection(const duckdb::Library& library) : library_(library) {}

  const duckdb::Library& library_;
  duckdb::Handle database_ = nullptr;
  duckdb::Handle connection_ = nullptr;
};

[[nodiscard]] std::string_view text_of(const duckdb::RawText& raw);
[[nodiscard]] inline bool is_valid(const std::uint64_t* validity, std::size_t row) {
  return validity == nullptr || (validity[row / 64] >> (row % 64) & 1U) != 0;
}

}  // namespace noisefloor::engine
