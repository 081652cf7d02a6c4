// Internal to engine/: SQL for PostgreSQL 12 and later.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/engine/native_sql.h"
#include "noisefloor/engine/placed_table.h"

namespace noisefloor::engine {

class PostgresDialect final : public NativeSql {
 public:
  // This server is number `server` of `servers`.
  PostgresDialect(std::vector<PlacedTable> tables, std::uint64_t server, std::uint64_t servers)
      : tables_(std::move(tables)), server_(server), servers_(servers) {}

  [[nodiscard]] Result<std::string> scan(const Scan& scan) const override;
  [[nodiscard]] bool is_never_null(const Scan& scan, const std::string& column) const override;
  [[nodiscard]] std::string by_bytes(const std::string& text) const override;
  [[nodiscard]] std::string minimum(Type type, const std::string& column) const override;
  [[nodiscard]] std::string maximum(Type type, const std::string& column) const override;
  [[nodiscard]] std::string exact_sum(const std::string& column, bool is_small) const override;
  [[nodiscard]] std::string fenced(const std::string& select) const override;
  // A unit belongs to the server whose number PostgreSQL itself gives it as a hash partition: rows that were divided by
  // PARTITION BY HASH (unit), with remainder 0 on the first server, are where they belong. Rows of a unit that are on
  // another server are left out there.
  [[nodiscard]] std::string belongs(Type unit, const std::string& column) const override;

  // As DuckdbDialect::cell.
  [[nodiscard]] std::string cell(const PlacedColumn& column) const;

 protected:
  [[nodiscard]] std::string type_name(Type type) const override;
  [[nodiscard]] std::string typed(Type type, const std::string& text) const override;
  [[nodiscard]] std::string wide_type() const override { return "numeric"; }
  [[nodiscard]] std::string like(const std::string& text, const std::string& pattern) const override;
  [[nodiscard]] std::string matches(const std::string& text, const std::string& pattern) const override;
  [[nodiscard]] std::string bytes_of(const std::string& text) const override;
  [[nodiscard]] std::string characters_of(const std::string& text) const override;
  [[nodiscard]] std::string trimmed(const std::string& text) const override;
  [[nodiscard]] std::string integer_of(const std::string& text) const override;
  [[nodiscard]] std::string number_of(const std::string& text) const override;
  [[nodiscard]] std::string whole_of(const std::string& number) const override;
  [[nodiscard]] std::string date_of(const std::string& text) const override;
  [[nodiscard]] std::string date_trunc(const std::string& word, const std::string& days) const override;
  [[nodiscard]] std::string date_part(const std::string& word, const std::string& days) const override;
  [[nodiscard]] std::string modulo(const std::string& a, const std::string& b) const override;

 private:
  std::vector<PlacedTable> tables_;
  std::uint64_t server_;
  std::uint64_t servers_;
};

}  // namespace noisefloor::engine
