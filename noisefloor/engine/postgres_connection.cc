#include "noisefloor/engine/postgres_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "noisefloor/base/text.h"
#include "noisefloor/engine/sql_engine.h"

namespace noisefloor::engine {
namespace {

using Answer = std::unique_ptr<PGresult, decltype([](PGresult* r) { PQclear(r); })>;

constexpr std::string_view kSignature("PGCOPY\n\377\r\n\0", 11);

std::uint64_t big_endian(const char* bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = value << 8U | static_cast<unsigned char>(bytes[i]);
  return value;
}

// The binary form of COPY, in pieces of any size.
class CopyReader {
 public:
  explicit CopyReader(std::span<const Type> types) : types_(types), batch_(types) {}

  // False if the bytes are not what was asked for.
  [[nodiscard]] Result<bool> read(std::string_view piece, const TakeBatch& take) {
    // Usually a piece is one row.
    if (!rest_.empty()) {
      rest_ += piece;
      piece = rest_;
    }
    for (;;) {
      const std::optional<std::size_t> used = read_one(piece);
      if (!used) return false;
      if (*used == 0) break;
      piece.remove_prefix(*used);
      if (batch_.is_full()) NF_TRY_VOID(batch_.flush(take));
    }
    rest_ = std::string(piece);
    return true;
  }
  [[nodiscard]] Result<bool> finish(const TakeBatch& take) {
    NF_TRY_VOID(batch_.flush(take));
    return ended_ && rest_.empty();
  }

 private:
  // The bytes of the header, a row or the end, if they are all there, and else 0. Nothing if they are wrong.
  std::optional<std::size_t> read_one(std::string_view bytes) {
    if (!begun_) {
      if (bytes.size() < 19) return 0;
      const std::size_t extension = big_endian(bytes.data() + 15, 4);
      if (!bytes.starts_with(kSignature) || extension != 0) return std::nullopt;
      begun_ = true;
      return 19;
    }
    if (bytes.size() < 2) return 0;
    const std::uint64_t count = big_endian(bytes.data(), 2);
    if (count == 0xFFFF) {
      ended_ = true;
      return 2;
    }
    if (ended_ || count != types_.size()) return std::nullopt;
    // Look first whether the row is complete.
    std::size_t end = 2;
    for (std::size_t i = 0; i < count; ++i) {
      if (bytes.size() < end + 4) return 0;
      const auto length = static_cast<std::int32_t>(big_endian(bytes.data() + end, 4));
      end += 4 + static_cast<std::size_t>(std::max(length, 0));
      if (bytes.size() < end) return 0;
    }
    const char* at = bytes.data() + 2;
    for (const Type type : types_) {
      const auto length = static_cast<std::int32_t>(big_endian(at, 4));
      at += 4;
      if (!add(type, at, length)) return std::nullopt;
      at += std::max(length, 0);
    }
    return end;
  }

  bool add(Type type, const char* data, std::int32_t length) {
    if (length < 0) {
      batch_.add_null();
      return true;
    }
    const auto size = static_cast<std::size_t>(length);
    if (type == Type::kText) {
      batch_.add(std::string_view(data, size));
      return true;
    }
    if (size != (type == Type::kTruth ? 1U : 8U)) return false;
    const std::uint64_t bits = big_endian(data, size);
    if (type == Type::kNumber) {
      batch_.add(std::bit_cast<double>(bits));
    } else {
      batch_.add(static_cast<std::int64_t>(bits));
    }
    return true;
  }

  std::span<const Type> types_;
  BatchBuilder batch_;
  std::string rest_;
  bool begun_ = false;
  bool ended_ = false;
};

}  // namespace

Result<std::unique_ptr<PostgresConnection>> PostgresConnection::open(const std::string& location,
                                                                     std::chrono::milliseconds limit) {
  std::unique_ptr<PostgresConnection> made(new PostgresConnection(Connection(PQconnectdb(location.c_str()))));
  // libpq's own message may show a part of a password that it took for a host.
  if (PQstatus(made->connection_.get()) != CONNECTION_OK) {
    return io_error(
        fmt::format("PostgreSQL could not be reached at {}: check host, database, user and password", shown(location)));
  }
  const std::string settings = fmt::format(
      "SET search_path = ''; SET default_transaction_read_only = on; SET statement_timeout = {}; SET TimeZone = 'UTC'; "
      "SET client_encoding = 'UTF8'; SET standard_conforming_strings = on; SET client_min_messages = error; "
      "SET extra_float_digits = 3; SET bytea_output = 'hex'; SET DateStyle = 'ISO'",
      limit.count());
  if (!made->execute(settings)) {
    return io_error(fmt::format("PostgreSQL at {} did not accept the settings of a reader", shown(location)));
  }
  const auto encoding = made->texts("SHOW server_encoding");
  if (!encoding || encoding->size() != 1 || (*encoding)[0][0] != "UTF8") {
    return invalid_argument(
        fmt::format("the database at {} must have the encoding UTF8: create it with ENCODING 'UTF8'", shown(location)));
  }
  return made;
}

bool PostgresConnection::is_done(const PGresult* result, ExecStatusType wanted) {
  if (PQresultStatus(result) == wanted) return true;
  const char* field = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string_view state = field == nullptr ? "" : field;
  if (state.size() != 5 || PQstatus(connection_.get()) != CONNECTION_OK) {
    failure_ = "connection";
  } else if (state == "57014") {
    failure_ = "time";
  } else {
    failure_ = state.starts_with("22") ? "" : fmt::format("SQLSTATE {}", state.substr(0, 2));
  }
  return false;
}

bool PostgresConnection::execute(const std::string& sql) {
  const Answer answer(PQexec(connection_.get(), sql.c_str()));
  return is_done(answer.get(), PGRES_COMMAND_OK);
}

std::optional<std::vector<std::vector<std::string>>> PostgresConnection::texts(const std::string& select) {
  const Answer answer(PQexec(connection_.get(), select.c_str()));
  if (!is_done(answer.get(), PGRES_TUPLES_OK)) return std::nullopt;
  std::vector<std::vector<std::string>> rows(static_cast<std::size_t>(PQntuples(answer.get())));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (int i = 0; i < PQnfields(answer.get()); ++i) {
      rows[row].emplace_back(PQgetvalue(answer.get(), static_cast<int>(row), i));
    }
  }
  return rows;
}

Result<void> PostgresConnection::copy(const std::string& select, std::span<const Type> types, const TakeBatch& take) {
  {
    const Answer begun(PQexec(connection_.get(), fmt::format("COPY ({}) TO STDOUT (FORMAT binary)", select).c_str()));
    if (!is_done(begun.get(), PGRES_COPY_OUT)) return failed_measurement(failure_);
  }
  CopyReader reader(types);
  for (;;) {
    char* data = nullptr;
    const int size = PQgetCopyData(connection_.get(), &data, 0);
    if (size < 0) {
      const Answer ended(PQgetResult(connection_.get()));
      const bool done = size == -1 && is_done(ended.get(), PGRES_COMMAND_OK);
      if (!done && size != -1) failure_ = "connection";
      finish_copy();
      if (!done) return failed_measurement(failure_);
      break;
    }
    const Result<bool> read = reader.read({data, static_cast<std::size_t>(size)}, take);
    PQfreemem(data);
    if (!read) {
      PQreset(connection_.get());  // the rest of the rows is not wanted
      return read.error();
    }
    if (!read.value()) {
      PQreset(connection_.get());
      return internal_error("PostgreSQL gave rows of another form than was asked for");
    }
  }
  NF_TRY(const bool whole, reader.finish(take));
  if (!whole) return failed_measurement("connection");
  return success();
}

void PostgresConnection::finish_copy() {
  while (const Answer more{PQgetResult(connection_.get())}) {
  }
}

}  // namespace noisefloor::engine
