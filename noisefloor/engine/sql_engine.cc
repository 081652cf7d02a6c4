#include "noisefloor/engine/sql_engine.h"

#include <fmt/format.h>

#include <optional>

#include "noisefloor/engine/kernel.h"
#include "noisefloor/engine/sql_shapes.h"
#include "noisefloor/engine/sql_writer.h"

namespace noisefloor::engine {
namespace {

// Statements of several servers run in transactions that begin before any of them is answered.
class Transactions {
 public:
  [[nodiscard]] Result<void> begin(SqlServer& server) {
    NF_TRY_VOID(server.begin());
    begun_.push_back(&server);
    return success();
  }
  Transactions() = default;
  Transactions(const Transactions&) = delete;
  Transactions& operator=(const Transactions&) = delete;
  ~Transactions() {
    for (SqlServer* server : begun_) server->end();
  }

 private:
  std::vector<SqlServer*> begun_;
};

}  // namespace

Error failed_measurement(std::string_view kind) {
  const std::string why = kind.empty() ? "" : fmt::format(" ({})", kind);
  return io_error(fmt::format("the engine gave no answer{}: what was reserved for it is spent", why));
}

Result<Measured> SqlEngine::measure(const Measurement& m) {
  NF_TRY_VOID(check_measurement(m));
  const bool by_servers = is_added_by_servers(m, servers_.front()->dialect(), servers_.size());
  std::vector<std::vector<Statement>> statements;
  for (const std::unique_ptr<SqlServer>& server : servers_) {
    if (by_servers) {
      NF_TRY(std::vector<Statement> several, total_statements(m, server->dialect()));
      statements.push_back(std::move(several));
    } else {
      NF_TRY(Statement one, rows_statement(m, server->dialect()));
      statements.push_back({std::move(one)});
    }
  }
  Transactions transactions;
  for (const std::unique_ptr<SqlServer>& server : servers_) NF_TRY_VOID(transactions.begin(*server));
  Totals totals(m);
  std::optional<Kernel> kernel;
  if (!by_servers) kernel.emplace(m, statements.front().front().types);
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    for (std::size_t i = 0; i < statements[s].size(); ++i) {
      NF_TRY_VOID(
          servers_[s]->run(statements[s][i].select, statements[s][i].types, [&](const Batch& batch) -> Result<void> {
            if (by_servers) return totals.add(i, batch);
            kernel->add(batch);
            return success();
          }));
    }
  }
  return by_servers ? totals.finish() : kernel->finish();
}

Result<std::vector<std::string>> SqlEngine::explain(const Measurement& m) {
  NF_TRY_VOID(check_measurement(m));
  std::vector<std::string> texts;
  for (const std::unique_ptr<SqlServer>& server : servers_) {
    std::string text;
    if (is_added_by_servers(m, server->dialect(), servers_.size())) {
      NF_TRY(const std::vector<Statement> statements, total_statements(m, server->dialect()));
      for (const Statement& statement : statements) {
        NF_TRY_VOID(server->check(statement.select));
        text += (text.empty() ? "" : ";\n") + statement.select;
      }
    } else {
      NF_TRY(Statement statement, rows_statement(m, server->dialect()));
      NF_TRY_VOID(server->check(statement.select));
      text = std::move(statement.select);
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

Result<void> SqlEngine::read_relation(const Relation& relation, const std::string& unit, const TakeBatch& take) {
  const std::vector<NamedColumn> columns = columns_of(relation);
  Transactions transactions;
  for (const std::unique_ptr<SqlServer>& server : servers_) NF_TRY_VOID(transactions.begin(*server));
  for (const std::unique_ptr<SqlServer>& server : servers_) {
    NF_TRY(SqlRows rows, sql_of(relation, server->dialect()));
    std::vector<Type> types;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      types.push_back(columns[i].type);
      if (columns[i].name != unit) continue;
      const std::string belongs = server->dialect().belongs(columns[i].type, fmt::format("c{}", i));
      if (!belongs.empty()) rows.select = fmt::format("SELECT * FROM ({}) AS s WHERE {}", rows.select, belongs);
    }
    NF_TRY_VOID(server->run(rows.select, types, take));
  }
  return success();
}

}  // namespace noisefloor::engine
