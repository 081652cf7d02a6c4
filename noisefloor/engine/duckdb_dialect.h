// Internal to engine/: SQL for DuckDB.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "noisefloor/engine/native_sql.h"
#include "noisefloor/engine/placed_table.h"

namespace noisefloor::engine {

class DuckdbDialect final : public NativeSql {
 public:
  explicit DuckdbDialect(std::vector<PlacedTable> tables) : tables_(std::move(tables)) {}

  [[nodiscard]] Result<std::string> scan(const Scan& scan) const override;
  [[nodiscard]] bool is_never_null(const Scan& scan, const std::string& column) const override;
  [[nodiscard]] std::string exact_sum(const std::string& column, bool is_small) const override;
  // DuckDB does not merge projections into one expression.
  [[nodiscard]] std::string fenced(const std::string& select) const override { return select; }

  // The cell as a value of the type, whatever it is; empty if a column of this DuckDB type cannot be one.
  [[nodiscard]] std::string cell(const PlacedColumn& column) const;

 protected:
  [[nodiscard]] std::string type_name(Type type) const override;
  [[nodiscard]] std::string typed(Type type, const std::string& text) const override;
  [[nodiscard]] std::string wide_type() const override { return "HUGEINT"; }
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
};

}  // namespace noisefloor::engine
