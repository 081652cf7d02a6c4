#include "noisefloor/engine/postgres_dialect.h"

#include <fmt/format.h>

#include "noisefloor/engine/evaluate.h"

namespace noisefloor::engine {
namespace {

// Named in full where a name could be taken for another one: the search path is empty but for pg_catalog.
constexpr const char* kEpoch = "DATE '1970-01-01'";

bool is_plain_integer(std::string_view held) { return held == "int2" || held == "int4" || held == "int8"; }

std::string days_of_date(const std::string& guard, const std::string& date) {
  return fmt::format("CASE WHEN {} THEN CAST({} - {} AS bigint) END", guard, date, kEpoch);
}

}  // namespace

std::string PostgresDialect::type_name(Type type) const {
  switch (type) {
    case Type::kInteger:
    case Type::kDate:
      return "bigint";
    case Type::kNumber:
      return "double precision";
    case Type::kText:
      return "text";
    case Type::kTruth:
      return "boolean";
  }
  return "";
}

std::string PostgresDialect::typed(Type type, const std::string& text) const {
  return fmt::format("CAST({} AS {})", quoted_text(text), type_name(type));
}

std::string PostgresDialect::by_bytes(const std::string& text) const { return fmt::format("({}) COLLATE \"C\"", text); }

std::string PostgresDialect::minimum(Type type, const std::string& column) const {
  return type == Type::kTruth ? fmt::format("bool_and({})", column) : SqlDialect::minimum(type, column);
}
std::string PostgresDialect::maximum(Type type, const std::string& column) const {
  return type == Type::kTruth ? fmt::format("bool_or({})", column) : SqlDialect::maximum(type, column);
}

std::string PostgresDialect::exact_sum(const std::string& column, bool /*is_small*/) const {
  return fmt::format("CAST(sum({}) AS text)", column);
}

std::string PostgresDialect::fenced(const std::string& select) const { return select + " OFFSET 0"; }

std::string PostgresDialect::belongs(Type unit, const std::string& column) const {
  if (servers_ <= 1) return "";
  constexpr const char* kSeed = "8816678312871386365";  // of PostgreSQL's hash partitions
  std::string hash;
  switch (unit) {
    case Type::kText:
      hash = fmt::format("hashtextextended(({}) COLLATE \"C\", {})", column, kSeed);
      break;
    case Type::kDate:
      hash = fmt::format("hashint4extended(CAST({} - 10957 AS integer), {})", column, kSeed);
      break;
    case Type::kTruth:
      hash = fmt::format("hashint4extended(CAST({} AS integer), {})", column, kSeed);
      break;
    default:
      hash = fmt::format("hashint8extended({}, {})", column, kSeed);
      break;
  }
  // The remainder of (hash + 0x49a0f4dd15e5a8e3) modulo 2^64, in halves: PostgreSQL has no unsigned integers.
  const std::string low = fmt::format("(({} & 4294967295) + 367372515)", hash);
  const std::string high =
      fmt::format("(((({} >> 32) & 4294967295) + 1235285213 + ({} >> 32)) & 4294967295)", hash, low);
  return fmt::format("(({} % {}) * {} + ({} & 4294967295) % {}) % {} = {}", high, servers_,
                     (std::uint64_t{1} << 32U) % servers_, low, servers_, servers_, server_);
}

std::string PostgresDialect::like(const std::string& text, const std::string& pattern) const {
  return fmt::format("({} LIKE {} ESCAPE '')", text, pattern);
}
std::string PostgresDialect::matches(const std::string& text, const std::string& pattern) const {
  return fmt::format("({} ~ {})", by_bytes(text), quoted_text(pattern));
}
std::string PostgresDialect::bytes_of(const std::string& text) const { return fmt::format("octet_length({})", text); }
std::string PostgresDialect::characters_of(const std::string& text) const {
  return fmt::format("char_length({})", text);
}
std::string PostgresDialect::trimmed(const std::string& text) const { return fmt::format("btrim({}, ' ')", text); }
std::string PostgresDialect::integer_of(const std::string& text) const {
  return fmt::format("CAST({} AS bigint)", text);
}
std::string PostgresDialect::number_of(const std::string& text) const {
  return fmt::format("CAST({} AS double precision)", text);
}
std::string PostgresDialect::whole_of(const std::string& number) const {
  return fmt::format("CAST({} AS bigint)", number);
}

std::string PostgresDialect::date_of(const std::string& text) const {
  // Whether the month has that day is looked at before the date is made.
  const std::string year = fmt::format("CAST(substr({}, 1, 4) AS integer)", text);
  const std::string month = fmt::format("CAST(substr({}, 6, 2) AS integer)", text);
  const std::string day = fmt::format("CAST(substr({}, 9, 2) AS integer)", text);
  const std::string month_end =
      fmt::format("extract(day FROM make_date({}, {}, 1) + interval '1 month' - interval '1 day')", year, month);
  return fmt::format(
      "CASE WHEN {} THEN CASE WHEN {} >= 1 THEN CASE WHEN {} <= {} THEN CAST(make_date({}, {}, {}) - {} AS bigint) END "
      "END END",
      matches(text, "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([ T]|$)"), year, day, month_end, year, month,
      day, kEpoch);
}

std::string PostgresDialect::date_trunc(const std::string& word, const std::string& days) const {
  return fmt::format("CAST(CAST(date_trunc({}, CAST({} + {} AS timestamp)) AS date) - {} AS bigint)", quoted_text(word),
                     kEpoch, days, kEpoch);
}
std::string PostgresDialect::date_part(const std::string& word, const std::string& days) const {
  return fmt::format("CAST(extract({} FROM {} + {}) AS bigint)", word, kEpoch, days);
}
std::string PostgresDialect::modulo(const std::string& a, const std::string& b) const {
  return fmt::format("CASE WHEN {1} = -1 THEN {0} - {0} ELSE {0} % NULLIF({1}, 0) END", a, b);
}

std::string PostgresDialect::cell(const PlacedColumn& column) const {
  const std::string name = quoted_name(column.name);
  const std::string& held = column.held;
  const bool is_integer = held == "int2" || held == "int4" || held == "int8";
  const bool is_real = held == "float4" || held == "float8";
  const bool is_text = held == "text" || held == "varchar" || held == "bpchar" || held == "name" || held == "citext";
  switch (column.type) {
    case Type::kInteger:
      if (held == "int8") return name;
      if (is_integer) return fmt::format("CAST({} AS bigint)", name);
      if (held == "bool") return fmt::format("CAST(CAST({} AS integer) AS bigint)", name);
      if (is_real) {
        return fmt::format("CASE WHEN abs({0}) <= 9007199254740992 AND floor({0}) = {0} THEN CAST({0} AS bigint) END",
                           name);
      }
      if (held != "numeric") return "";
      return fmt::format(
          "CASE WHEN {0} BETWEEN -9223372036854775808 AND 9223372036854775807 THEN CASE WHEN {0} = trunc({0}) THEN "
          "CAST({0} AS bigint) END END",
          name);
    case Type::kNumber:
      if (is_integer) return fmt::format("CAST({} AS double precision)", name);
      if (held == "float8") return normalised(name);
      if (is_real) return normalised(fmt::format("CAST({} AS double precision)", name));
      if (held != "numeric") return "";
      return fmt::format(
          "CASE WHEN abs({0}) <= 1e150 THEN CASE WHEN abs({0}) < 1e-150 THEN {1} ELSE CAST({0} AS double precision) "
          "END "
          "END",
          name, typed(Type::kNumber, "0"));
    case Type::kText: {
      if (!is_text && !is_integer && held != "bool" && held != "uuid" && held != "enum") return "";
      const std::string text = held == "text" ? name : fmt::format("CAST({} AS text)", name);
      return fmt::format("(CASE WHEN octet_length({0}) <= {1} THEN {0} END) COLLATE \"C\"", text, kMaxText);
    }
    case Type::kDate:
      if (held == "date") {
        return days_of_date(fmt::format("{} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'", name), name);
      }
      if (held == "timestamp" || held == "timestamptz") {
        return days_of_date(fmt::format("{0} >= {1} '0001-01-01' AND {0} < {1} '10000-01-01'", name, held),
                            fmt::format("CAST({} AS date)", name));
      }
      return is_text ? date_of(fmt::format("CAST({} AS text)", name)) : "";
    case Type::kTruth:
      if (held == "bool") return name;
      return is_integer ? fmt::format("CASE {} WHEN 0 THEN FALSE WHEN 1 THEN TRUE END", name) : "";
  }
  return "";
}

bool PostgresDialect::is_never_null(const Scan& scan, const std::string& column) const {
  const auto table = find_table(tables_, scan);
  if (!table) return false;
  // A number or a date that does not fit becomes NULL when it is read.
  const PlacedColumn& placed = find_column(*table.value(), column);
  return placed.never_null && placed.type == Type::kInteger && is_plain_integer(placed.held);
}

Result<std::string> PostgresDialect::scan(const Scan& scan) const {
  NF_TRY(const PlacedTable* const table, find_table(tables_, scan));
  std::vector<std::string> selected;
  for (const NamedColumn& column : scan.columns) {
    selected.push_back(fmt::format("{} AS c{}", cell(find_column(*table, column.name)), selected.size()));
  }
  if (selected.empty()) selected.emplace_back("1 AS c0");
  return fmt::format("SELECT {} FROM {}", fmt::join(selected, ", "), table->from);
}

}  // namespace noisefloor::engine
