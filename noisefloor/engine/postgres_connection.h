// Internal to engine/: a connection to PostgreSQL that reads rows in binary form.
//
// Thread safety: one thread at a time.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/row_batch.h"

namespace noisefloor::engine {

class PostgresConnection {
 public:
  [[nodiscard]] static Result<std::unique_ptr<PostgresConnection>> open(const std::string& location,
                                                                        std::chrono::milliseconds limit);

  // False if the statement fails.
  [[nodiscard]] bool execute(const std::string& sql);
  // All rows as texts, NULL as empty ones. Nothing if the statement fails.
  [[nodiscard]] std::optional<std::vector<std::vector<std::string>>> texts(const std::string& select);
  // The rows of a SELECT whose columns are bigint, double precision, text and boolean, as the types say.
  [[nodiscard]] Result<void> copy(const std::string& select, std::span<const Type> types, const TakeBatch& take);
  // What may be said of the last failure: see failed_measurement().
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  using Connection = std::unique_ptr<PGconn, Finish>;

  explicit PostgresConnection(Connection connection) : connection_(std::move(connection)) {}
  [[nodiscard]] bool is_done(const PGresult* result, ExecStatusType wanted);
  void finish_copy();

  Connection connection_;
  std::string failure_;
};

}  // namespace noisefloor::engine
