#include "noisefloor/ledger/postgres_store.h"

#include <endian.h>
#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "noisefloor/base/check.h"
#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

constexpr const char* kPostgresSchema = R"(
CREATE SCHEMA noisefloor_ledger;
CREATE TABLE noisefloor_ledger.format (version bigint NOT NULL);
INSERT INTO noisefloor_ledger.format VALUES (1);
CREATE TABLE noisefloor_ledger.entries (sequence bigint PRIMARY KEY, text text NOT NULL, hash bytea NOT NULL);
CREATE TABLE noisefloor_ledger.head (one bigint PRIMARY KEY CHECK (one = 1), ledger bytea NOT NULL, epoch bigint NOT NULL,
                                     sequence bigint NOT NULL, hash bytea NOT NULL, signature bytea NOT NULL);
CREATE TABLE noisefloor_ledger.answers (reservation bigint PRIMARY KEY, answer bytea NOT NULL);
CREATE TABLE noisefloor_ledger.fence (one bigint PRIMARY KEY CHECK (one = 1), system text NOT NULL, timeline text NOT NULL,
                                      database bigint NOT NULL, entries bigint NOT NULL);
CREATE FUNCTION noisefloor_ledger.refuse() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'entries do not change'; END $$;
CREATE TRIGGER entries_do_not_change BEFORE UPDATE OR DELETE OR TRUNCATE ON noisefloor_ledger.entries
  FOR EACH STATEMENT EXECUTE FUNCTION noisefloor_ledger.refuse();
)";

// Created within the first transaction that needs it.
constexpr const char* kPostgresSketchSchema = R"(
CREATE TABLE noisefloor_ledger.sketches (entry bigint PRIMARY KEY, sketch bytea NOT NULL);
)";

// Created within the first transaction that needs it.
//
// The triggers are a second line: readers find every entry that breaks a rule or was not signed by its author. They
// keep a member who has raw SQL from writing for others, and everyone from mistakes. `members` says which role of the
// database writes for which member; only the owner of the tables writes there, and other owners of the ledger.
constexpr const char* kPostgresRoleSchema = R"(
CREATE TABLE noisefloor_ledger.signatures (sequence bigint PRIMARY KEY, signature bytea NOT NULL);
CREATE TABLE noisefloor_ledger.members (database_role text PRIMARY KEY, member text NOT NULL);
CREATE TRIGGER signatures_do_not_change BEFORE UPDATE OR DELETE OR TRUNCATE ON noisefloor_ledger.signatures
  FOR EACH STATEMENT EXECUTE FUNCTION noisefloor_ledger.refuse();
CREATE FUNCTION noisefloor_ledger.is_owner() RETURNS boolean LANGUAGE sql STABLE SET search_path = pg_catalog AS
  $$ SELECT pg_has_role(session_user, relowner, 'USAGE') FROM pg_class
     WHERE oid = 'noisefloor_ledger.entries'::regclass $$;
CREATE FUNCTION noisefloor_ledger.check_entry() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
  DECLARE
    name text;
    ending text;
    written bigint;
  BEGIN
    SELECT member INTO name FROM noisefloor_ledger.members WHERE database_role = session_user;
    IF NOT FOUND THEN
      IF noisefloor_ledger.is_owner() THEN RETURN NEW; END IF;
      RAISE EXCEPTION 'the database role % is no member of this ledger: an owner adds it with role add', session_user;
    END IF;
    ending := ',"by":' || to_json(name)::text || '}';
    IF right(NEW.text, length(ending)) <> ending THEN
      RAISE EXCEPTION 'the database role % writes for the member % only', session_user, name;
    END IF;
    written := (regexp_match(NEW.text, '^\{"sequence":[0-9]+,"time":(-?[0-9]{1,18}),'))[1]::bigint;
    IF written IS NULL OR abs(written - extract(epoch FROM clock_timestamp()) * 1000) > 300000 THEN
      RAISE EXCEPTION 'the time of the entry is not that of the server: set the clock of this machine right';
    END IF;
    RETURN NEW;
  END $$;
CREATE TRIGGER entries_are_by_their_author BEFORE INSERT ON noisefloor_ledger.entries
  FOR EACH ROW EXECUTE FUNCTION noisefloor_ledger.check_entry();
CREATE FUNCTION noisefloor_ledger.check_head() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
  BEGIN
    IF NEW.ledger <> OLD.ledger OR NEW.sequence <= OLD.sequence OR NEW.epoch < OLD.epoch THEN
      RAISE EXCEPTION 'the head moves forward only';
    END IF;
    RETURN NEW;
  END $$;
CREATE TRIGGER head_moves_forward BEFORE UPDATE ON noisefloor_ledger.head
  FOR EACH ROW EXECUTE FUNCTION noisefloor_ledger.check_head();
CREATE TRIGGER head_does_not_go BEFORE DELETE OR TRUNCATE ON noisefloor_ledger.head
  FOR EACH STATEMENT EXECUTE FUNCTION noisefloor_ledger.refuse();
)";
// Ledgers of older programs get it with the first write of their owner.
constexpr const char* kPostgresFenceSchema = R"(
CREATE TABLE IF NOT EXISTS noisefloor_ledger.fence (one bigint PRIMARY KEY CHECK (one = 1), system text NOT NULL,
  timeline text NOT NULL, database bigint NOT NULL, entries bigint NOT NULL);
)";
// Which database this is, and which one the fence names. A dump that is restored has other numbers.
constexpr const char* kPostgresFence =
    "SELECT (SELECT oid::bigint FROM pg_database WHERE datname = current_database()), "
    "'noisefloor_ledger.entries'::regclass::oid::bigint, f.system, f.timeline, f.database, f.entries "
    "FROM (SELECT 1) one LEFT JOIN noisefloor_ledger.fence f ON true";
constexpr const char* kPostgresHasFence = "SELECT to_regclass('noisefloor_ledger.fence') IS NOT NULL";

constexpr std::uint64_t kChunk = 10'000;    // entries that are fetched at once
constexpr std::size_t kRowsAtOnce = 1'000;  // entries per statement, which takes at most 65,535 parameters

using Connection = std::unique_ptr<PGconn, decltype([](PGconn* c) { PQfinish(c); })>;
using Answer = std::unique_ptr<PGresult, decltype([](PGresult* r) { PQclear(r); })>;

// The parameters of a statement, in binary form.
class Parameters {
 public:
  Parameters& add(std::uint64_t value) {
    wholes_.push_back(htobe64(value));
    return add(reinterpret_cast<const char*>(&wholes_.back()), sizeof(std::uint64_t));
  }
  Parameters& add(std::span<const std::uint8_t> bytes) {
    return add(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  Parameters& add(std::string_view text) { return add(text.data(), text.size()); }

  [[nodiscard]] int size() const { return static_cast<int>(values_.size()); }
  [[nodiscard]] const char* const* values() const { return values_.data(); }
  [[nodiscard]] const int* lengths() const { return lengths_.data(); }
  [[nodiscard]] const int* formats() const { return formats_.data(); }

 private:
  Parameters& add(const char* data, std::size_t size) {
    NF_CHECK(size <= INT32_MAX, "parameters are small");
    values_.push_back(data);
    lengths_.push_back(static_cast<int>(size));
    formats_.push_back(1);
    return *this;
  }

  std::deque<std::uint64_t> wholes_;  // a deque, because its elements do not move
  std::vector<const char*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
};

std::uint64_t whole(const Answer& rows, int row, int column) {
  std::uint64_t value = 0;
  if (PQgetlength(rows.get(), row, column) == sizeof value) {
    std::memcpy(&value, PQgetvalue(rows.get(), row, column), sizeof value);
  }
  return be64toh(value);
}
std::string_view bytes(const Answer& rows, int row, int column) {
  return {PQgetvalue(rows.get(), row, column), static_cast<std::size_t>(PQgetlength(rows.get(), row, column))};
}
template <std::size_t N>
bool read(const Answer& rows, int row, int column, std::array<std::uint8_t, N>& into) {
  const std::string_view data = bytes(rows, row, column);
  if (data.size() != N) return false;
  std::copy(data.begin(), data.end(), into.begin());
  return true;
}

class PostgresStore final : public LedgerStore {
 public:
  PostgresStore(Connection connection, StoreOptions options)
      : connection_(std::move(connection)), options_(std::move(options)) {}

  [[nodiscard]] Result<std::unique_ptr<LedgerTransaction>> begin(Mode mode) override;
  [[nodiscard]] std::string place() const override {
    const char* host = PQhost(connection_.get());
    const char* name = PQdb(connection_.get());
    return fmt::format("{} on {}", name == nullptr ? "" : name, host == nullptr || *host == 0 ? "this host" : host);
  }

  // Sets the options of the session. Call this for every new connection.
  [[nodiscard]] Result<void> set_up() {
    NF_TRY_VOID(execute(fmt::format(
        "SET synchronous_commit = on; SET lock_timeout = {}; SET client_min_messages = warning", options_.busy_ms)));
    // Not every user may ask for these, and not every server tells.
    cluster_.system = text_or_nothing("SELECT system_identifier::text FROM pg_control_system()");
    cluster_.timeline = text_or_nothing("SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)");
    has_fence_ = text_or_nothing(kPostgresHasFence) == "t";
    return success();
  }
  // Which server this is, as far as it tells: empty if it does not.
  struct Cluster {
    std::string system;
    std::string timeline;
  };
  [[nodiscard]] const Cluster& cluster() const { return cluster_; }
  [[nodiscard]] bool has_fence() const { return has_fence_; }
  void find_fence() { has_fence_ = true; }
  // The last of several statements that was answered with rows, as text.
  [[nodiscard]] Result<Answer> ask(const std::string& sql) {
    Answer rows(PQexec(connection_.get(), sql.c_str()));
    NF_TRY_VOID(check(rows));
    return rows;
  }
  [[nodiscard]] Result<void> execute(const std::string& sql) {
    const Answer rows(PQexec(connection_.get(), sql.c_str()));
    return check(rows);
  }
  // A transaction in which a statement failed answers COMMIT with a rollback, and reports no error.
  [[nodiscard]] Result<void> commit() {
    const Answer rows(PQexec(connection_.get(), "COMMIT"));
    NF_TRY_VOID(check(rows));
    if (std::string_view(PQcmdStatus(rows.get())) == "COMMIT") return success();
    return io_error(fmt::format("the database rolled back the changes to the ledger {}: try again", shown(place())));
  }
  [[nodiscard]] Result<Answer> query(const char* sql, const Parameters& parameters) {
    Answer rows(PQexecParams(connection_.get(), sql, parameters.size(), nullptr, parameters.values(),
                             parameters.lengths(), parameters.formats(), 1));
    NF_TRY_VOID(check(rows));
    return rows;
  }
  // Returns 0 if the table does not hold exactly one number.
  [[nodiscard]] Result<std::uint64_t> version() {
    NF_TRY(const Answer rows, query("SELECT version FROM noisefloor_ledger.format", Parameters()));
    return PQntuples(rows.get()) == 1 ? whole(rows, 0, 0) : 0;
  }
  [[nodiscard]] std::string quoted(const std::string& identifier) const {
    const std::unique_ptr<char, decltype(&PQfreemem)> text(
        PQescapeIdentifier(connection_.get(), identifier.data(), identifier.size()), PQfreemem);
    return text == nullptr ? std::string() : std::string(text.get());
  }
  [[nodiscard]] Error damaged(std::string_view what) const {
    return verification_failed(fmt::format("the ledger {} is damaged: {}", shown(place()), what));
  }

 private:
  [[nodiscard]] Result<void> check(const Answer& rows) const {
    const ExecStatusType status = PQresultStatus(rows.get());
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return success();
    const char* state = PQresultErrorField(rows.get(), PG_DIAG_SQLSTATE);
    const std::string_view code = state == nullptr ? "" : state;
    const char* text = PQresultErrorField(rows.get(), PG_DIAG_MESSAGE_PRIMARY);
    if (code == "55P03" || code == "40001" || code == "40P01") {
      return io_error(fmt::format("the ledger {} is held by another process; try again", shown(place())));
    }
    if (code == "3F000" || code == "42P01") {
      return io_error(fmt::format("there is no ledger in {}: `budget create` makes one", shown(place())));
    }
    if (code == "42501" || code == "25006") {
      return io_error(fmt::format("the ledger {} cannot be written to: check the rights of its user", shown(place())));
    }
    if (code == "53100") {
      return io_error(fmt::format("the disk of the ledger {} is full: nothing was written", shown(place())));
    }
    // Our statements are fixed. They fail only if tables and rows are not as we left them (classes 22, 23 and 42), or
    // if pages are not (XX).
    if (code.starts_with("22") || code.starts_with("23") || code.starts_with("42") || code.starts_with("XX00")) {
      return verification_failed(
          fmt::format("the ledger {} is damaged ({}): restore it from a copy and run `budget verify`", shown(place()),
                      text != nullptr ? text : ""));
    }
    return io_error(fmt::format("the ledger {} could not be read or written: {}", shown(place()),
                                text != nullptr ? text : "the connection was lost"));
  }

  [[nodiscard]] std::string text_or_nothing(const char* sql) {
    const Answer rows(PQexec(connection_.get(), sql));
    const bool one = PQresultStatus(rows.get()) == PGRES_TUPLES_OK && PQntuples(rows.get()) == 1;
    return one ? PQgetvalue(rows.get(), 0, 0) : "";
  }

  Connection connection_;
  StoreOptions options_;
  Cluster cluster_;
  bool has_fence_ = false;
};

class PostgresTransaction final : public LedgerTransaction {
 public:
  explicit PostgresTransaction(PostgresStore& store) : store_(store) {}
  PostgresTransaction(const PostgresTransaction&) = delete;
  PostgresTransaction& operator=(const PostgresTransaction&) = delete;
  ~PostgresTransaction() override {
    if (open_)
      static_cast<void>(store_.execute("ROLLBACK"));  // fails if the connection is lost, and the transaction with it
  }

  [[nodiscard]] Result<std::optional<Head>> head() override {
    NF_TRY(const Answer rows, store_.query("SELECT ledger, epoch, sequence, hash, signature, (SELECT max(version) FROM "
                                           "noisefloor_ledger.format) FROM noisefloor_ledger.head",
                                           Parameters()));
    if (PQntuples(rows.get()) == 0) return std::optional<Head>();
    version_ = whole(rows, 0, 5);
    Head head{};
    head.epoch = whole(rows, 0, 1);
    head.sequence = whole(rows, 0, 2);
    if (!read(rows, 0, 0, head.ledger) || !read(rows, 0, 3, head.hash) || !read(rows, 0, 4, head.signature)) {
      return store_.damaged("its head has the wrong size");
    }
    return std::optional(head);
  }

  [[nodiscard]] Result<void> entries(std::uint64_t first, std::uint64_t last, const Take& take) override {
    last = std::min<std::uint64_t>(last, INT64_MAX - 1);
    StoredEntry entry{};
    while (first <= last) {
      // A query for a range uses the index even before there are statistics of the entries that were just written.
      const std::uint64_t end = std::min(last, first + kChunk - 1);
      NF_TRY(const Answer rows,
             store_.query("SELECT sequence, text, hash FROM noisefloor_ledger.entries WHERE sequence "
                          "BETWEEN $1 AND $2 ORDER BY sequence",
                          Parameters().add(first).add(end)));
      const int count = PQntuples(rows.get());
      for (int i = 0; i < count; ++i) {
        entry.sequence = whole(rows, i, 0);
        entry.text = bytes(rows, i, 1);
        if (!read(rows, i, 2, entry.hash)) return store_.damaged(fmt::format("entry {} has no hash", entry.sequence));
        NF_TRY_VOID(take(entry));
      }
      first = end + 1;
      if (count > 0 || first > last) continue;
      // This is the end, or a gap of any width.
      NF_TRY(const Answer next, store_.query("SELECT min(sequence) FROM noisefloor_ledger.entries WHERE sequence "
                                             "BETWEEN $1 AND $2",
                                             Parameters().add(first).add(last)));
      if (PQgetisnull(next.get(), 0, 0) != 0) break;
      first = whole(next, 0, 0);
    }
    return success();
  }

  [[nodiscard]] Result<std::optional<std::string>> answer(std::uint64_t reservation) override {
    NF_TRY(const Answer rows, store_.query("SELECT answer FROM noisefloor_ledger.answers WHERE reservation = $1",
                                           Parameters().add(reservation)));
    if (PQntuples(rows.get()) == 0) return std::optional<std::string>();
    return std::optional(std::string(bytes(rows, 0, 0)));
  }

  [[nodiscard]] Result<std::vector<std::uint64_t>> answered() override {
    NF_TRY(const Answer rows, store_.query("SELECT reservation FROM noisefloor_ledger.answers", Parameters()));
    std::vector<std::uint64_t> reservations(static_cast<std::size_t>(PQntuples(rows.get())));
    for (std::size_t i = 0; i < reservations.size(); ++i) reservations[i] = whole(rows, static_cast<int>(i), 0);
    return reservations;
  }

  [[nodiscard]] Result<std::optional<std::string>> sketch(std::uint64_t entry) override {
    NF_TRY(const bool some, has_sketches());
    if (!some) return std::optional<std::string>();
    NF_TRY(const Answer rows,
           store_.query("SELECT sketch FROM noisefloor_ledger.sketches WHERE entry = $1", Parameters().add(entry)));
    if (PQntuples(rows.get()) == 0) return std::optional<std::string>();
    return std::optional(std::string(bytes(rows, 0, 0)));
  }

  [[nodiscard]] Result<std::vector<std::uint64_t>> sketched() override {
    std::vector<std::uint64_t> entries;
    NF_TRY(const bool some, has_sketches());
    if (!some) return entries;
    NF_TRY(const Answer rows, store_.query("SELECT entry FROM noisefloor_ledger.sketches", Parameters()));
    for (int i = 0; i < PQntuples(rows.get()); ++i) entries.push_back(whole(rows, i, 0));
    return entries;
  }

  [[nodiscard]] Result<void> keep_sketch(std::uint64_t entry, std::string_view sketch) override {
    NF_TRY_VOID(raise_version(kStoreVersionWithSketches));
    return run("INSERT INTO noisefloor_ledger.sketches (entry, sketch) VALUES ($1, $2)",
               Parameters().add(entry).add(sketch));
  }

  [[nodiscard]] Result<void> raise_version(std::uint64_t version) override {
    NF_TRY(const std::uint64_t has, this->version());
    if (has >= version) return success();
    if (has < kStoreVersionWithSketches && version >= kStoreVersionWithSketches) {
      NF_TRY_VOID(store_.execute(kPostgresSketchSchema));
    }
    if (has < kStoreVersionWithRoles && version >= kStoreVersionWithRoles) {
      NF_TRY_VOID(store_.execute(kPostgresRoleSchema));
    }
    NF_TRY_VOID(store_.execute(fmt::format("UPDATE noisefloor_ledger.format SET version = {}", version)));
    version_ = version;
    return success();
  }

  [[nodiscard]] Result<std::optional<std::string>> find_moved() override {
    using Moved = std::optional<std::string>;
    if (!store_.has_fence()) return Moved();
    if (!fence_) {
      NF_TRY(fence_, store_.ask(kPostgresFence));
    }
    const auto field = [&](int column) { return std::string(PQgetvalue(fence_.get(), 0, column)); };
    if (PQntuples(fence_.get()) != 1 || PQgetisnull(fence_.get(), 0, 4) != 0) return Moved();
    const PostgresStore::Cluster& cluster = store_.cluster();
    const auto differ = [](const std::string& a, const std::string& b) { return !a.empty() && !b.empty() && a != b; };
    if (differ(field(2), cluster.system)) return Moved("its fence names another database server");
    if (differ(field(3), cluster.timeline)) {
      return Moved("its server was restored to a moment, or a standby took over, after the fence was written");
    }
    if (field(4) != field(0)) return Moved("its fence names another database");
    if (field(5) != field(1)) return Moved("its tables were restored from a dump");
    return Moved();
  }

  [[nodiscard]] Result<bool> lacks_fence() override {
    if (store_.has_fence()) {
      if (!fence_) {
        NF_TRY(fence_, store_.ask(kPostgresFence));
      }
      return PQntuples(fence_.get()) == 1 && PQgetisnull(fence_.get(), 0, 4) != 0;
    }
    NF_TRY(const Answer rows, store_.ask("SELECT has_schema_privilege('noisefloor_ledger', 'CREATE') AND "
                                         "to_regclass('noisefloor_ledger.fence') IS NULL"));
    return PQgetvalue(rows.get(), 0, 0) == std::string_view("t");
  }

  [[nodiscard]] Result<void> set_fence() override {
    if (!store_.has_fence()) NF_TRY_VOID(store_.execute(kPostgresFenceSchema));
    const PostgresStore::Cluster& cluster = store_.cluster();
    // Both numbers are asked for here, because the ledger may be made in this very transaction.
    return run(
        "INSERT INTO noisefloor_ledger.fence (one, system, timeline, database, entries) VALUES (1, $1, $2, (SELECT "
        "oid::bigint FROM pg_database WHERE datname = current_database()), "
        "'noisefloor_ledger.entries'::regclass::oid::bigint) ON CONFLICT (one) DO UPDATE SET system = excluded.system, "
        "timeline = excluded.timeline, database = excluded.database, entries = excluded.entries",
        Parameters().add(cluster.system).add(cluster.timeline));
  }

  // What begin() has read on the way.
  void know_fence(Answer fence) { fence_ = std::move(fence); }

  [[nodiscard]] Result<void> append(const StoredEntry& entry) override {
    appended_.push_back(entry);
    return success();
  }

  // The signature is kept by the same statement, because every statement is a round trip.
  [[nodiscard]] Result<void> set_head(const Head& head) override {
    NF_TRY(const std::uint64_t has, version());
    const std::string keep = has < kStoreVersionWithRoles
                                 ? ""
                                 : "WITH kept AS (INSERT INTO noisefloor_ledger.signatures (sequence, signature) "
                                   "VALUES ($3, $5)) ";
    const std::string sql =
        keep +
        "INSERT INTO noisefloor_ledger.head (one, ledger, epoch, sequence, hash, signature) VALUES (1, $1, $2, $3, $4, "
        "$5) "
        "ON CONFLICT (one) DO UPDATE SET ledger = excluded.ledger, epoch = excluded.epoch, sequence = "
        "excluded.sequence, "
        "hash = excluded.hash, signature = excluded.signature";
    return run(sql.c_str(),
               Parameters().add(head.ledger).add(head.epoch).add(head.sequence).add(head.hash).add(head.signature));
  }

  [[nodiscard]] Result<void> signatures(std::uint64_t first, std::uint64_t last, const TakeSignature& take) override {
    NF_TRY(const std::uint64_t has, version());
    if (has < kStoreVersionWithRoles) return success();
    last = std::min<std::uint64_t>(last, INT64_MAX - 1);
    // Pages by key: signatures have gaps.
    while (first <= last) {
      NF_TRY(const Answer rows,
             store_.query("SELECT sequence, signature FROM noisefloor_ledger.signatures WHERE sequence BETWEEN $1 AND "
                          "$2 ORDER BY sequence LIMIT 10000",
                          Parameters().add(first).add(last)));
      const int count = PQntuples(rows.get());
      for (int i = 0; i < count; ++i) {
        Signature signature{};
        const std::uint64_t sequence = whole(rows, i, 0);
        if (!read(rows, i, 1, signature)) {
          return store_.damaged(fmt::format("the signature of entry {} has the wrong size", sequence));
        }
        NF_TRY_VOID(take(sequence, signature));
        first = sequence + 1;
      }
      if (count < 10'000) break;
    }
    return success();
  }

  [[nodiscard]] Result<void> allow(const std::string& database_role, const std::string& member, Role role) override {
    NF_TRY(const Answer rows,
           store_.query("SELECT r.rolsuper OR pg_has_role(r.rolname, c.relowner, 'MEMBER') FROM pg_roles r, pg_class c "
                        "WHERE r.rolname = $1::text AND c.oid = 'noisefloor_ledger.entries'::regclass",
                        Parameters().add(database_role)));
    if (PQntuples(rows.get()) == 0) {
      return invalid_argument(
          fmt::format("the database has no role {}: make it with CREATE ROLE", shown(database_role)));
    }
    if (bytes(rows, 0, 0) != std::string_view("\0", 1)) {
      return invalid_argument(
          fmt::format("the database role {} is a superuser or owns the tables of the ledger, and "
                      "gets past any rule: name another one",
                      shown(database_role)));
    }
    NF_TRY(const Answer tied, store_.query("SELECT member FROM noisefloor_ledger.members WHERE database_role = $1",
                                           Parameters().add(database_role)));
    if (PQntuples(tied.get()) > 0) {
      return invalid_argument(
          fmt::format("the database role {} writes for the member {} already: every member needs one "
                      "of its own",
                      shown(database_role), shown(bytes(tied, 0, 0))));
    }
    const std::string to =
        " TO " + store_.quoted(database_role) + (role == Role::kOwner ? " WITH GRANT OPTION; " : "; ");
    std::string sql =
        "GRANT USAGE ON SCHEMA noisefloor_ledger" + to + "GRANT SELECT ON ALL TABLES IN SCHEMA noisefloor_ledger" + to;
    if (role != Role::kAuditor) {
      sql +=
          "GRANT INSERT ON noisefloor_ledger.entries, noisefloor_ledger.signatures, noisefloor_ledger.answers, "
          "noisefloor_ledger.sketches, noisefloor_ledger.head" +
          to + "GRANT UPDATE ON noisefloor_ledger.head" + to;
    }
    if (role == Role::kOwner) {
      sql += "GRANT INSERT, UPDATE, DELETE ON noisefloor_ledger.members" + to +
             "GRANT UPDATE ON noisefloor_ledger.format" + to;
    }
    NF_TRY_VOID(store_.execute(sql));
    return run("INSERT INTO noisefloor_ledger.members (database_role, member) VALUES ($1, $2)",
               Parameters().add(database_role).add(member));
  }

  [[nodiscard]] Result<void> disallow(const std::string& member) override {
    NF_TRY(const std::uint64_t has, version());
    if (has < kStoreVersionWithRoles) return success();
    NF_TRY(const Answer rows,
           store_.query("SELECT m.database_role FROM noisefloor_ledger.members m JOIN pg_roles r ON r.rolname = "
                        "m.database_role WHERE m.member = $1",
                        Parameters().add(member)));
    std::string sql;
    for (int i = 0; i < PQntuples(rows.get()); ++i) {
      const std::string from = " FROM " + store_.quoted(std::string(bytes(rows, i, 0))) + " CASCADE; ";
      sql += "REVOKE ALL ON ALL TABLES IN SCHEMA noisefloor_ledger" + from + "REVOKE ALL ON SCHEMA noisefloor_ledger" +
             from;
    }
    if (!sql.empty()) NF_TRY_VOID(store_.execute(sql));
    return run("DELETE FROM noisefloor_ledger.members WHERE member = $1", Parameters().add(member));
  }

  [[nodiscard]] Result<void> keep_answer(std::uint64_t reservation, std::string_view answer) override {
    return run("INSERT INTO noisefloor_ledger.answers (reservation, answer) VALUES ($1, $2)",
               Parameters().add(reservation).add(answer));
  }

  [[nodiscard]] Result<void> commit() override {
    NF_CHECK(open_, "a transaction is committed once");
    for (std::size_t i = 0; i < appended_.size(); i += kRowsAtOnce)
      NF_TRY_VOID(insert(i, std::min(i + kRowsAtOnce, appended_.size())));
    NF_TRY_VOID(store_.commit());
    open_ = false;
    return success();
  }

 private:
  [[nodiscard]] Result<bool> has_sketches() {
    NF_TRY(const std::uint64_t has, version());
    return has >= kStoreVersionWithSketches;
  }
  // The version as this transaction sees it. head() has read it on the way.
  [[nodiscard]] Result<std::uint64_t> version() {
    if (!version_) {
      NF_TRY(version_, store_.version());
    }
    return *version_;
  }
  [[nodiscard]] Result<void> run(const char* sql, const Parameters& parameters) {
    NF_TRY_VOID(store_.query(sql, parameters));
    return success();
  }
  // Entries wait for the commit and are then written by one statement, because every statement is a round trip.
  [[nodiscard]] Result<void> insert(std::size_t from, std::size_t to) {
    std::string sql = "INSERT INTO noisefloor_ledger.entries (sequence, text, hash) VALUES ";
    Parameters parameters;
    for (std::size_t i = from; i < to; ++i) {
      const std::size_t n = 3 * (i - from);
      sql += fmt::format("{}(${},${},${})", i == from ? "" : ",", n + 1, n + 2, n + 3);
      parameters.add(appended_[i].sequence).add(appended_[i].text).add(appended_[i].hash);
    }
    return run(sql.c_str(), parameters);
  }

  PostgresStore& store_;
  std::vector<StoredEntry> appended_;
  std::optional<std::uint64_t> version_;
  Answer fence_;  // the answer to kPostgresFence, once it was asked
  bool open_ = true;
};

Result<std::unique_ptr<LedgerTransaction>> PostgresStore::begin(Mode mode) {
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    PQreset(connection_.get());
    NF_TRY_VOID(set_up());
  }
  if (mode == Mode::kRead) {
    NF_TRY_VOID(execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
    return std::unique_ptr<LedgerTransaction>(std::make_unique<PostgresTransaction>(*this));
  }
  // The lock makes writers serial. The level SERIALIZABLE would only add failures: PostgreSQL releases the lock before
  // it has noted the commit for that level, so that it takes the next writer for a concurrent one. The first query
  // after the lock takes the snapshot, which hence has all that the writer before has committed.
  auto transaction = std::make_unique<PostgresTransaction>(*this);
  const std::string begin =
      "BEGIN ISOLATION LEVEL REPEATABLE READ; LOCK TABLE noisefloor_ledger.head IN EXCLUSIVE MODE; ";
  // The fence comes along in the same round trip.
  NF_TRY(Answer rows, ask(begin + (has_fence_ ? kPostgresFence : kPostgresHasFence)));
  if (has_fence_) {
    transaction->know_fence(std::move(rows));
  } else if (PQgetvalue(rows.get(), 0, 0) == std::string_view("t")) {
    has_fence_ = true;  // another writer has made it
  }
  return std::unique_ptr<LedgerTransaction>(std::move(transaction));
}

// Whether the password stands where libpq looks for it. libpq takes a password with an @ or a / in it apart, and its
// messages then show a piece of it as the name of a host or a port.
bool is_well_formed(const std::string& location) {
  const std::size_t begin = location.find("://") + 3;
  const std::size_t at = location.find('@', begin);
  if (at != std::string::npos) {
    if (location.find('@', at + 1) != std::string::npos || location.find_first_of("/?", begin) < at) return false;
  }
  // What is left has no password, or one under ?password=, and a colon only before a port.
  const std::string open = without_password(location);
  if (open.find("***") != std::string::npos) return false;
  const auto free = [](PQconninfoOption* options) { PQconninfoFree(options); };
  char* why = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(free)> parsed(PQconninfoParse(location.c_str(), &why), free);
  PQfreemem(why);  // it may quote the password
  return parsed != nullptr;
}

}  // namespace

Result<std::unique_ptr<LedgerStore>> open_postgres(const std::string& location, const StoreOptions& options) {
  if (!is_well_formed(location)) {
    return invalid_argument(fmt::format(
        "the place {} of a ledger cannot be read: write postgresql://USER:PASSWORD@HOST:PORT/NAME, with %40 for @, %2F "
        "for /, %3F for ? and %3A for : in the first two",
        shown(location)));
  }
  Connection connection(PQconnectdb(location.c_str()));
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    std::string text = PQerrorMessage(connection.get());
    while (!text.empty() && text.back() == '\n') text.pop_back();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return io_error(fmt::format("PostgreSQL could not be reached: {}", without_password(text)));
  }
  auto store = std::make_unique<PostgresStore>(std::move(connection), options);
  NF_TRY_VOID(store->set_up());
  if (options.create) {
    NF_TRY(const Answer rows,
           store->query("SELECT 1 FROM pg_namespace WHERE nspname = 'noisefloor_ledger'", Parameters()));
    if (PQntuples(rows.get()) > 0) {
      return io_error(fmt::format("there is a ledger in {} already: open that one, or use another database",
                                  shown(store->place())));
    }
    NF_TRY_VOID(store->execute(fmt::format("BEGIN;{}COMMIT", kPostgresSchema)));
    store->find_fence();
  }
  NF_TRY(const std::uint64_t version, store->version());
  if (version < 1 || version > kNewestStoreVersion) {
    return verification_failed(
        fmt::format("the ledger {} has version {}, and this program reads versions 1 to {}: use a newer program",
                    shown(store->place()), version, kNewestStoreVersion));
  }
  return std::unique_ptr<LedgerStore>(std::move(store));
}

}  // namespace noisefloor
