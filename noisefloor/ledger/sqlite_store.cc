#include "noisefloor/ledger/sqlite_store.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

constexpr const char* kSqliteSchema = R"(
CREATE TABLE entries (sequence INTEGER PRIMARY KEY, text TEXT NOT NULL, hash BLOB NOT NULL) STRICT;
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), ledger BLOB NOT NULL, epoch INTEGER NOT NULL,
                   sequence INTEGER NOT NULL, hash BLOB NOT NULL, signature BLOB NOT NULL) STRICT;
CREATE TABLE answers (reservation INTEGER PRIMARY KEY, answer BLOB NOT NULL) STRICT;
CREATE TRIGGER entries_do_not_change BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries do not change'); END;
CREATE TRIGGER entries_do_not_go BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries do not go'); END;
PRAGMA application_id = 1313229873;
PRAGMA user_version = 1;
)";

// Created within the first transaction that needs it.
constexpr const char* kSqliteSketchSchema = R"(
CREATE TABLE sketches (entry INTEGER PRIMARY KEY, sketch BLOB NOT NULL) STRICT;
)";

// Created within the first transaction that needs it.
constexpr const char* kSqliteSignatureSchema = R"(
CREATE TABLE signatures (sequence INTEGER PRIMARY KEY, signature BLOB NOT NULL) STRICT;
CREATE TRIGGER signatures_do_not_change BEFORE UPDATE ON signatures BEGIN
  SELECT RAISE(ABORT, 'signatures do not change'); END;
CREATE TRIGGER signatures_do_not_go BEFORE DELETE ON signatures BEGIN SELECT RAISE(ABORT, 'signatures do not go'); END;
)";

using Database = std::unique_ptr<sqlite3, decltype([](sqlite3* db) { sqlite3_close_v2(db); })>;
using Statement = std::unique_ptr<sqlite3_stmt, decltype([](sqlite3_stmt* s) { sqlite3_finalize(s); })>;

// Says what a result code of SQLite means for the owner of the ledger.
Error explain(sqlite3* db, int code, const std::string& path) {
  const std::string place = shown(path);
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return io_error(fmt::format("the ledger {} is held by another process; try again", place));
    case SQLITE_FULL:
      return io_error(fmt::format("the disk of the ledger {} is full: nothing was written. Free some space", place));
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return io_error(fmt::format("the ledger {} cannot be written to: check its permissions", place));
    case SQLITE_CANTOPEN: {
      const int why = sqlite3_system_errno(db);
      return io_error(fmt::format("the ledger {} could not be opened{}{}", place, why == 0 ? "" : ": ",
                                  why == 0 ? "" : std::strerror(why)));
    }
    // Our statements are fixed. They fail only if tables and rows are not as we left them.
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return verification_failed(fmt::format(
          "the ledger {} is damaged ({}): restore it from a copy and run `budget verify`", place, sqlite3_errmsg(db)));
    case SQLITE_NOMEM:
      return internal_error("out of memory");
    default:
      return io_error(fmt::format("the ledger {} could not be read or written: {}", place, sqlite3_errmsg(db)));
  }
}

Error damaged(const std::string& path, std::string_view what) {
  return verification_failed(fmt::format("the ledger {} is damaged: {}", shown(path), what));
}

// A statement that is prepared once, and bound and stepped many times.
class Query {
 public:
  Query(sqlite3* db, const std::string& path, const char* sql) : db_(db), path_(path) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) error_ = explain(db, code, path);
    statement_.reset(statement);
  }

  [[nodiscard]] bool failed() const { return error_.has_value(); }
  void reset() {
    sqlite3_reset(statement_.get());
    next_ = 1;
  }
  void bind(std::uint64_t value) { sqlite3_bind_int64(statement_.get(), next_++, static_cast<sqlite3_int64>(value)); }
  void bind(std::span<const std::uint8_t> bytes) {
    sqlite3_bind_blob64(statement_.get(), next_++, bytes.data(), bytes.size(), SQLITE_STATIC);
  }
  void bind_text(std::string_view text) {
    sqlite3_bind_text64(statement_.get(), next_++, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  void bind_blob(std::string_view text) {
    sqlite3_bind_blob64(statement_.get(), next_++, text.data(), text.size(), SQLITE_STATIC);
  }

  // Steps, and returns whether there is a row.
  [[nodiscard]] Result<bool> step() {
    if (error_) return *error_;
    const int code = sqlite3_step(statement_.get());
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    Error error = explain(db_, code, path_);
    sqlite3_reset(statement_.get());
    return error;
  }
  [[nodiscard]] Result<void> run() {
    NF_TRY(const bool row, step());
    reset();
    if (row) return internal_error("a statement of the ledger returned a row unexpectedly");
    return success();
  }

  [[nodiscard]] std::uint64_t whole(int column) const {
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_.get(), column));
  }
  [[nodiscard]] std::string_view bytes(int column) const {
    const void* data = sqlite3_column_blob(statement_.get(), column);
    return {static_cast<const char*>(data), static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
  }
  template <std::size_t N>
  [[nodiscard]] bool read(int column, std::array<std::uint8_t, N>& into) const {
    const std::string_view data = bytes(column);
    if (data.size() != N) return false;
    std::copy(data.begin(), data.end(), into.begin());
    return true;
  }

 private:
  sqlite3* db_;
  const std::string& path_;
  Statement statement_;
  std::optional<Error> error_;  // from preparing the statement
  int next_ = 1;
};

// The state of a file that is read without locks: whoever writes to it changes one of these.
struct FileState {
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t changed_ns = 0;
  bool has_log = false;
  friend bool operator==(const FileState&, const FileState&) = default;
};

FileState state_of(const std::string& path) {
  struct stat file {};
  struct stat log {};
  if (::stat(path.c_str(), &file) != 0) return {};
  const bool has_log = ::stat((path + "-wal").c_str(), &log) == 0 && log.st_size > 0;
  return {file.st_ino, file.st_size, file.st_mtim.tv_sec * 1'000'000'000 + file.st_mtim.tv_nsec, has_log};
}

class SqliteStore;

class SqliteTransaction final : public LedgerTransaction {
 public:
  explicit SqliteTransaction(SqliteStore& store) : store_(store) {}
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;
  ~SqliteTransaction() override;

  [[nodiscard]] Result<std::optional<Head>> head() override;
  [[nodiscard]] Result<void> entries(std::uint64_t first, std::uint64_t last, const Take& take) override;
  [[nodiscard]] Result<std::optional<std::string>> answer(std::uint64_t reservation) override;
  [[nodiscard]] Result<std::vector<std::uint64_t>> answered() override;
  [[nodiscard]] Result<std::optional<std::string>> sketch(std::uint64_t entry) override;
  [[nodiscard]] Result<std::vector<std::uint64_t>> sketched() override;
  [[nodiscard]] Result<void> signatures(std::uint64_t first, std::uint64_t last, const TakeSignature& take) override;
  [[nodiscard]] Result<void> check_file() override;
  [[nodiscard]] Result<void> append(const StoredEntry& entry) override;
  [[nodiscard]] Result<void> set_head(const Head& head) override;
  [[nodiscard]] Result<void> keep_answer(std::uint64_t reservation, std::string_view answer) override;
  [[nodiscard]] Result<void> keep_sketch(std::uint64_t entry, std::string_view sketch) override;
  [[nodiscard]] Result<void> raise_version(std::uint64_t version) override;
  [[nodiscard]] Result<void> commit() override;

 private:
  [[nodiscard]] Result<bool> has_sketches();

  SqliteStore& store_;
  bool open_ = true;
};

class SqliteStore final : public LedgerStore {
 public:
  SqliteStore(Database db, std::string path) : path_(std::move(path)), db_(std::move(db)) {}

  // Prepares the statements. Requires that the schema exists.
  void prepare() {
    const auto query = [&](const char* sql) { return std::make_unique<Query>(db_.get(), path_, sql); };
    begin_read = query("BEGIN");
    begin_write = query("BEGIN IMMEDIATE");
    commit = query("COMMIT");
    rollback = query("ROLLBACK");
    get_head = query("SELECT ledger, epoch, sequence, hash, signature FROM head");
    get_entries = query("SELECT sequence, text, hash FROM entries WHERE sequence BETWEEN ? AND ? ORDER BY sequence");
    get_answer = query("SELECT answer FROM answers WHERE reservation = ?");
    get_answered = query("SELECT reservation FROM answers");
    put_entry = query("INSERT INTO entries (sequence, text, hash) VALUES (?, ?, ?)");
    put_head = query(
        "INSERT INTO head (one, ledger, epoch, sequence, hash, signature) VALUES (1, ?, ?, ?, ?, ?) ON CONFLICT (one) "
        "DO "
        "UPDATE SET ledger = excluded.ledger, epoch = excluded.epoch, sequence = excluded.sequence, hash = "
        "excluded.hash, "
        "signature = excluded.signature");
    put_answer = query("INSERT INTO answers (reservation, answer) VALUES (?, ?)");
    get_version = query("PRAGMA user_version");
  }
  [[nodiscard]] Result<std::uint64_t> version() {
    get_version->reset();
    NF_TRY(const bool row, get_version->step());
    const std::uint64_t found = row ? get_version->whole(0) : 0;
    get_version->reset();
    return found;
  }
  // The statements about signatures. Requires version 4.
  [[nodiscard]] Query& put_signature() {
    return prepared(put_signature_, "INSERT INTO signatures (sequence, signature) VALUES (?, ?)");
  }
  [[nodiscard]] Query& get_signatures() {
    return prepared(get_signatures_,
                    "SELECT sequence, signature FROM signatures WHERE sequence BETWEEN ? AND ? ORDER BY sequence");
  }

  [[nodiscard]] Result<std::unique_ptr<LedgerTransaction>> begin(Mode mode) override {
    int moved = 0;
    sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (moved != 0) {
      return io_error(fmt::format(
          "the file of the ledger {} was moved or replaced while it was open: nothing was written. Open it again",
          shown(path_)));
    }
    NF_TRY_VOID(check_frozen());
    NF_TRY_VOID((mode == Mode::kWrite ? begin_write : begin_read)->run());
    return std::unique_ptr<LedgerTransaction>(std::make_unique<SqliteTransaction>(*this));
  }
  [[nodiscard]] std::string place() const override { return path_; }
  [[nodiscard]] std::optional<std::string> file() const override { return path_; }

  // Says that the file is read without locks, and was in this state before it was opened.
  void freeze(const FileState& state) { frozen_ = state; }
  // Checks that nobody has written to a file that is read without locks.
  [[nodiscard]] Result<void> check_frozen() const {
    if (!frozen_ || state_of(path_) == *frozen_) return success();
    return io_error(fmt::format("the ledger {} was written to while it was read: try again", shown(path_)));
  }

  [[nodiscard]] Result<void> execute(const char* sql) {
    const int code = sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return explain(db_.get(), code, path_);
    return success();
  }
  [[nodiscard]] Result<std::uint64_t> pragma(const char* sql) {
    Query query(db_.get(), path_, sql);
    NF_TRY(const bool row, query.step());
    return row ? query.whole(0) : 0;
  }
  // Returns the single text that answers `sql`.
  [[nodiscard]] Result<std::string> ask(const char* sql) {
    Query query(db_.get(), path_, sql);
    NF_TRY(const bool row, query.step());
    return row ? std::string(query.bytes(0)) : std::string();
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  // Prepares a statement that is too rare to be kept.
  [[nodiscard]] Query query(const char* sql) { return {db_.get(), path_, sql}; }

 private:
  // A statement that failed when it was prepared is prepared again: the table may have been made since.
  [[nodiscard]] Query& prepared(std::unique_ptr<Query>& query, const char* sql) {
    if (query == nullptr || query->failed()) query = std::make_unique<Query>(db_.get(), path_, sql);
    query->reset();
    return *query;
  }

  std::string path_;
  Database db_;
  std::optional<FileState> frozen_;

 public:
  // Declared after db_, so that they are destroyed before it.
  std::unique_ptr<Query> begin_read;
  std::unique_ptr<Query> begin_write;
  std::unique_ptr<Query> commit;
  std::unique_ptr<Query> rollback;
  std::unique_ptr<Query> get_head;
  std::unique_ptr<Query> get_entries;
  std::unique_ptr<Query> get_answer;
  std::unique_ptr<Query> get_answered;
  std::unique_ptr<Query> put_entry;
  std::unique_ptr<Query> put_head;
  std::unique_ptr<Query> put_answer;
  std::unique_ptr<Query> get_version;

 private:
  std::unique_ptr<Query> put_signature_;
  std::unique_ptr<Query> get_signatures_;
};

SqliteTransaction::~SqliteTransaction() {
  if (open_) static_cast<void>(store_.rollback->run());  // if this fails, SQLite has rolled back already
}

Result<std::optional<Head>> SqliteTransaction::head() {
  Query& query = *store_.get_head;
  query.reset();
  NF_TRY(const bool row, query.step());
  if (!row) {
    query.reset();
    return std::optional<Head>();
  }
  Head head{};
  head.epoch = query.whole(1);
  head.sequence = query.whole(2);
  const bool whole = query.read(0, head.ledger) && query.read(3, head.hash) && query.read(4, head.signature);
  query.reset();
  if (!whole) return damaged(store_.path(), "its head has the wrong size");
  return std::optional(head);
}

Result<void> SqliteTransaction::entries(std::uint64_t first, std::uint64_t last, const Take& take) {
  Query& query = *store_.get_entries;
  query.reset();
  query.bind(first);
  query.bind(std::min<std::uint64_t>(last, INT64_MAX));
  StoredEntry entry{};
  while (true) {
    NF_TRY(const bool row, query.step());
    if (!row) break;
    entry.sequence = query.whole(0);
    entry.text = query.bytes(1);
    const bool whole = query.read(2, entry.hash);
    if (!whole) {
      query.reset();
      return damaged(store_.path(), fmt::format("entry {} has no hash", entry.sequence));
    }
    Result<void> taken = take(entry);
    if (!taken.has_value()) {
      query.reset();
      // Pages that change while they are read look like a damaged history.
      NF_TRY_VOID(store_.check_frozen());
      return taken;
    }
  }
  query.reset();
  return store_.check_frozen();
}

Result<std::optional<std::string>> SqliteTransaction::answer(std::uint64_t reservation) {
  Query& query = *store_.get_answer;
  query.reset();
  query.bind(reservation);
  NF_TRY(const bool row, query.step());
  std::optional<std::string> answer;
  if (row) answer = query.bytes(0);
  query.reset();
  return answer;
}

Result<std::vector<std::uint64_t>> SqliteTransaction::answered() {
  Query& query = *store_.get_answered;
  query.reset();
  std::vector<std::uint64_t> reservations;
  while (true) {
    NF_TRY(const bool row, query.step());
    if (!row) break;
    reservations.push_back(query.whole(0));
  }
  query.reset();
  return reservations;
}

Result<bool> SqliteTransaction::has_sketches() {
  NF_TRY(const std::uint64_t version, store_.pragma("PRAGMA user_version"));
  return version >= kStoreVersionWithSketches;
}

Result<std::optional<std::string>> SqliteTransaction::sketch(std::uint64_t entry) {
  NF_TRY(const bool some, has_sketches());
  if (!some) return std::optional<std::string>();
  Query query = store_.query("SELECT sketch FROM sketches WHERE entry = ?");
  query.bind(entry);
  NF_TRY(const bool row, query.step());
  std::optional<std::string> sketch;
  if (row) sketch = query.bytes(0);
  return sketch;
}

Result<std::vector<std::uint64_t>> SqliteTransaction::sketched() {
  std::vector<std::uint64_t> entries;
  NF_TRY(const bool some, has_sketches());
  if (!some) return entries;
  Query query = store_.query("SELECT entry FROM sketches");
  while (true) {
    NF_TRY(const bool row, query.step());
    if (!row) break;
    entries.push_back(query.whole(0));
  }
  return entries;
}

Result<void> SqliteTransaction::signatures(std::uint64_t first, std::uint64_t last, const TakeSignature& take) {
  NF_TRY(const std::uint64_t version, store_.version());
  if (version < kStoreVersionWithRoles) return success();
  Query& query = store_.get_signatures();
  query.bind(first);
  query.bind(std::min<std::uint64_t>(last, INT64_MAX));
  Signature signature{};
  while (true) {
    NF_TRY(const bool row, query.step());
    if (!row) break;
    const std::uint64_t sequence = query.whole(0);
    const bool whole = query.read(1, signature);
    Result<void> taken =
        whole ? take(sequence, signature)
              : Result<void>(
                    damaged(store_.path(), fmt::format("the signature of entry {} has the wrong size", sequence)));
    if (!taken.has_value()) {
      query.reset();
      NF_TRY_VOID(store_.check_frozen());
      return taken;
    }
  }
  query.reset();
  return store_.check_frozen();
}

Result<void> SqliteTransaction::check_file() {
  NF_TRY(const std::string found, store_.ask("PRAGMA integrity_check(1)"));
  if (found != "ok") return damaged(store_.path(), found);
  return success();
}

Result<void> SqliteTransaction::append(const StoredEntry& entry) {
  Query& query = *store_.put_entry;
  query.reset();
  query.bind(entry.sequence);
  query.bind_text(entry.text);
  query.bind(entry.hash);
  return query.run();
}

Result<void> SqliteTransaction::set_head(const Head& head) {
  Query& query = *store_.put_head;
  query.reset();
  query.bind(head.ledger);
  query.bind(head.epoch);
  query.bind(head.sequence);
  query.bind(head.hash);
  query.bind(head.signature);
  NF_TRY_VOID(query.run());
  NF_TRY(const std::uint64_t version, store_.version());
  if (version < kStoreVersionWithRoles) return success();
  Query& keep = store_.put_signature();
  keep.bind(head.sequence);
  keep.bind(head.signature);
  return keep.run();
}

Result<void> SqliteTransaction::keep_answer(std::uint64_t reservation, std::string_view answer) {
  Query& query = *store_.put_answer;
  query.reset();
  query.bind(reservation);
  query.bind_blob(answer);
  return query.run();
}

Result<void> SqliteTransaction::keep_sketch(std::uint64_t entry, std::string_view sketch) {
  NF_TRY_VOID(raise_version(kStoreVersionWithSketches));
  Query query = store_.query("INSERT INTO sketches (entry, sketch) VALUES (?, ?)");
  query.bind(entry);
  query.bind_blob(sketch);
  return query.run();
}

Result<void> SqliteTransaction::raise_version(std::uint64_t version) {
  NF_TRY(const std::uint64_t has, store_.version());
  if (has >= version) return success();
  if (has < kStoreVersionWithSketches && version >= kStoreVersionWithSketches) {
    NF_TRY_VOID(store_.execute(kSqliteSketchSchema));
  }
  if (has < kStoreVersionWithRoles && version >= kStoreVersionWithRoles) {
    NF_TRY_VOID(store_.execute(kSqliteSignatureSchema));
  }
  return store_.execute(fmt::format("PRAGMA user_version = {}", version).c_str());
}

Result<void> SqliteTransaction::commit() {
  NF_CHECK(open_, "a transaction is committed once");
  NF_TRY_VOID(store_.commit->run());
  open_ = false;
  return success();
}

// The name of a file for SQLite's URI syntax.
std::string uri_of(const std::string& path) {
  std::string uri = path.starts_with('/') ? "file://" : "file:";
  for (const char c : path) {
    const bool special = c == '?' || c == '#' || c == '%';
    uri += special ? fmt::format("%{:02X}", static_cast<unsigned>(c)) : std::string(1, c);
  }
  return uri + "?immutable=1";
}

// Whether an error means that a reader may not make the index (-shm) that SQLite needs for files with a log.
bool lacks_index(int code) { return (code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_READONLY; }

// Opens a file in a folder that this user may not write to. SQLite then takes no locks and looks for no changes, so
// this is right only while nobody writes; SqliteStore::check_frozen notices if someone does.
Result<Database> open_frozen(const std::string& path, const StoreOptions& options, const FileState& before) {
  if (before.has_log) {
    return io_error(fmt::format(
        "the ledger {} has a log ({}-wal) that cannot be read without the right to write to the folder: a writer "
        "was cut short. Have its owner write to it once (this joins the two), or read it as a user who may write there",
        shown(path), shown(path)));
  }
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(uri_of(path).c_str(), &raw,
                                   SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                                   options.vfs.empty() ? nullptr : options.vfs.c_str());
  Database db(raw);
  if (code != SQLITE_OK) return explain(raw, code, path);
  return db;
}

}  // namespace

Result<std::unique_ptr<LedgerStore>> open_sqlite(const std::string& path, const StoreOptions& options) {
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (options.create && exists) {
    return io_error(fmt::format("there is a file {} already: open that ledger, or choose another name", shown(path)));
  }
  if (!options.create && !exists) {
    return io_error(
        fmt::format("there is no ledger {}: {}. `budget create` makes one", shown(path), std::strerror(errno)));
  }
  const int access =
      options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | (options.create ? SQLITE_OPEN_CREATE : 0);
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                                   options.vfs.empty() ? nullptr : options.vfs.c_str());
  Database db(raw);
  if (code != SQLITE_OK) return explain(raw, code, path);
  std::optional<FileState> frozen;
  if (options.read_only) {
    const FileState before = state_of(path);
    const int readable = sqlite3_exec(raw, "SELECT count(*) FROM sqlite_schema", nullptr, nullptr, nullptr);
    if (lacks_index(readable)) {
      NF_TRY(db, open_frozen(path, options, before));
      frozen = before;
    }
  }
  sqlite3_busy_timeout(db.get(), options.busy_ms);
  auto store = std::make_unique<SqliteStore>(std::move(db), path);
  if (frozen) store->freeze(*frozen);
  NF_TRY_VOID(store->execute("PRAGMA trusted_schema = OFF; PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON"));
  if (options.create) {
    NF_TRY_VOID(store->execute("PRAGMA journal_mode = WAL"));
    NF_TRY_VOID(store->execute(fmt::format("BEGIN IMMEDIATE; {} COMMIT", kSqliteSchema).c_str()));
  }
  NF_TRY(const std::uint64_t application, store->pragma("PRAGMA application_id"));
  NF_TRY(const std::uint64_t version, store->pragma("PRAGMA user_version"));
  if (application != 1313229873) return damaged(path, "it is not a ledger of noisefloor");
  if (version < 1 || version > kNewestStoreVersion) {
    return verification_failed(
        fmt::format("the ledger {} has version {}, and this program reads versions 1 to {}: use a newer program",
                    shown(path), version, kNewestStoreVersion));
  }
  store->prepare();
  return std::unique_ptr<LedgerStore>(std::move(store));
}

}  // namespace noisefloor
