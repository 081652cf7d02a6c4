// Internal to engine/: what is sent to a server for a measurement, and how its rows are read.
//
// Thread safety: plain data; pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "noisefloor/engine/measurement.h"
#include "noisefloor/engine/row_batch.h"
#include "noisefloor/engine/sql_dialect.h"

namespace noisefloor::engine {

struct Statement {
  std::string select;
  std::vector<Type> types;
};

// Every row with its unit, its keys, and the arguments of all aggregates that have one: for the kernel.
[[nodiscard]] Result<Statement> rows_statement(const Measurement& m, const SqlDialect& dialect);

// Whether the servers, all of this dialect, add the rows up themselves.
[[nodiscard]] bool is_added_by_servers(const Measurement& m, const SqlDialect& dialect, std::size_t servers);
// The statements for that: the first gives totals, and one more for each aggregate of kind kValues.
[[nodiscard]] Result<std::vector<Statement>> total_statements(const Measurement& m, const SqlDialect& dialect);

// Adds what the servers answer.
class Totals {
 public:
  explicit Totals(const Measurement& m) : m_(m) {
    if (m.listed) listed_.insert(m.listed->begin(), m.listed->end());
  }
  // `statement` is the place of the statement that gave the batch.
  [[nodiscard]] Result<void> add(std::size_t statement, const Batch& batch);
  [[nodiscard]] Measured finish();

 private:
  [[nodiscard]] MeasuredGroup* group(const Batch& batch, std::size_t row);

  const Measurement& m_;
  std::set<std::vector<Cell>> listed_;
  std::map<std::vector<Cell>, MeasuredGroup> groups_;
  std::map<std::vector<Cell>, std::vector<std::map<std::int64_t, std::uint64_t>>> values_;
};

}  // namespace noisefloor::engine
