// A fresh place for a ledger, in SQLite or in PostgreSQL: what the suite that runs against both is given.
#pragma once

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <unistd.h>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "tests/support/temporary_folder.h"

namespace noisefloor::testing {

enum class Backend { kSqlite, kPostgres };

// A backend, and whether the suite works with the key of a member on a ledger with roles, instead of the first owner's.
struct Setting {
  Backend backend;
  bool by_member = false;
  operator Backend() const { return backend; }  // NOLINT(google-explicit-constructor): suites take either
};
inline constexpr Setting kAsOwner{Backend::kSqlite};
inline constexpr Setting kAsMember{Backend::kSqlite, true};
inline constexpr Setting kAsOwnerOnPostgres{Backend::kPostgres};
inline constexpr Setting kAsMemberOnPostgres{Backend::kPostgres, true};

class LedgerPlace {
 public:
  explicit LedgerPlace(Backend backend) {
    if (backend == Backend::kSqlite) {
      location_ = folder_.path("test.ledger");
      return;
    }
    const char* file = std::getenv("NOISEFLOOR_TEST_POSTGRES");
    if (file == nullptr) return;
    std::getline(std::ifstream(file) >> std::ws, server_);
    static std::atomic<int> count = 0;
    database_ = "test_" + std::to_string(::getpid()) + "_" + std::to_string(++count);
    execute("CREATE DATABASE " + database_);
    location_ = server_;
    location_.replace(location_.find("/postgres?"), 10, "/" + database_ + "?");
  }
  LedgerPlace(const LedgerPlace&) = delete;
  LedgerPlace& operator=(const LedgerPlace&) = delete;
  ~LedgerPlace() {
    if (!database_.empty()) execute("DROP DATABASE " + database_ + " WITH (FORCE)");
  }

  // False where no server was started: run through ctest.
  [[nodiscard]] bool is_there() const { return !location_.empty(); }
  [[nodiscard]] const std::string& location() const { return location_; }
  // The place as another role of the database sees it.
  [[nodiscard]] std::string location_as(const std::string& database_role) const {
    std::string other = location_;
    const std::size_t at = other.find("user=postgres");
    return at == std::string::npos ? other : other.replace(at, 13, "user=" + database_role);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }

 private:
  void execute(const std::string& sql) {
    PGconn* connection = PQconnectdb(server_.c_str());
    PGresult* result = PQexec(connection, sql.c_str());
    EXPECT_EQ(PQresultStatus(result), PGRES_COMMAND_OK) << PQerrorMessage(connection);
    PQclear(result);
    PQfinish(connection);
  }

  TemporaryFolder folder_;
  std::string server_;
  std::string database_;
  std::string location_;
};

}  // namespace noisefloor::testing
