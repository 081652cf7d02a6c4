// Internal to engine/: SQL for SQLite. What SQLite itself does not compute as evaluate.h says is a registered function.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/engine/placed_table.h"
#include "noisefloor/engine/sql_dialect.h"

namespace noisefloor::engine {

class SqliteDialect final : public SqlDialect {
 public:
  explicit SqliteDialect(std::vector<PlacedTable> tables) : tables_(std::move(tables)) {}

  [[nodiscard]] std::string constant(const Expression& e) const override;
  [[nodiscard]] bool repeats_arguments(const Expression& /*e*/) const override { return false; }
  [[nodiscard]] std::string call(const Expression& e, const std::vector<SqlArgument>& arguments) const override;
  [[nodiscard]] bool leaves_range(const Expression& /*e*/) const override { return false; }
  [[nodiscard]] std::string normalised(const std::string& column) const override { return column; }
  [[nodiscard]] Result<std::string> scan(const Scan& scan) const override;
  [[nodiscard]] std::string saturated_sum(const std::string& column) const override;
  [[nodiscard]] std::string exact_sum(const std::string& column, bool is_small) const override;
  [[nodiscard]] std::string fenced(const std::string& select) const override;
  [[nodiscard]] bool fences_joins() const override { return true; }
  [[nodiscard]] bool groups_by_sorting() const override { return true; }

 private:
  std::vector<PlacedTable> tables_;
};

}  // namespace noisefloor::engine
