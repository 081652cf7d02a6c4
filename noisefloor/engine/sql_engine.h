// Internal to engine/: measurements on any engine that answers SQL, on one server or several.
//
// Rows of their own unit, and tables with one row for each unit, are added up by the servers. All other rows travel to
// the kernel (kernel.h), which is faster than the servers' own grouping by unit, because it does not sort all rows.
//
// Thread safety: as engine.h.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/engine/engine.h"
#include "noisefloor/engine/row_batch.h"
#include "noisefloor/engine/sql_dialect.h"

namespace noisefloor::engine {

class SqlServer {
 public:
  SqlServer() = default;
  SqlServer(const SqlServer&) = delete;
  SqlServer& operator=(const SqlServer&) = delete;
  virtual ~SqlServer() = default;

  [[nodiscard]] virtual const SqlDialect& dialect() const = 0;
  // All statements until end() see the same rows.
  [[nodiscard]] virtual Result<void> begin() { return success(); }
  virtual void end() {}
  // kInvalidArgument if the server would not take the SELECT, whatever the rows are. Reads no table.
  [[nodiscard]] virtual Result<void> check(const std::string& /*select*/) { return success(); }
  // Runs one SELECT whose columns have these types.
  [[nodiscard]] virtual Result<void> run(const std::string& select, std::span<const Type> types,
                                         const TakeBatch& take) = 0;
};

class SqlEngine : public Engine {
 public:
  [[nodiscard]] Result<Measured> measure(const Measurement& measurement) final;
  [[nodiscard]] Result<std::vector<std::string>> explain(const Measurement& measurement) final;
  // The rows of a relation, as batches.
  [[nodiscard]] Result<void> read_relation(const Relation& relation, const std::string& unit, const TakeBatch& take);

 protected:
  explicit SqlEngine(std::vector<std::unique_ptr<SqlServer>> servers) : servers_(std::move(servers)) {}
  [[nodiscard]] const std::vector<std::unique_ptr<SqlServer>>& servers() const { return servers_; }

 private:
  std::vector<std::unique_ptr<SqlServer>> servers_;
};

// The one text of all errors of a measurement. `kind` is "time", "connection", an SQLSTATE's class, or empty.
[[nodiscard]] Error failed_measurement(std::string_view kind);

}  // namespace noisefloor::engine
