// Attacks by someone who may write to the database, and even by a thief of the key: verification finds and names what
// they change, and the ledger refuses further writes.
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <sqlite3.h>

#include <filesystem>
#include <map>
#include <thread>

#include "noisefloor/base/hex.h"
#include "noisefloor/ledger/open_store.h"
#include "tests/support/faulty_vfs.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/ledger_place.h"

namespace noisefloor {
namespace {

using testing::Backend;
using testing::content_of;
using testing::expect_clean;
using testing::expect_error;
using testing::expect_good;
using testing::LedgerPlace;
using testing::overwrite;
using testing::pure;
using testing::request;
using testing::terms;
using testing::text_of;
using testing::value_of;

// Changes the tables of a ledger by SQL.
class Intruder {
 public:
  explicit Intruder(const std::string& location) : location_(location), file_(!location.starts_with("postgresql://")) {
    if (file_) {
      execute(
          "DROP TRIGGER IF EXISTS entries_do_not_change; DROP TRIGGER IF EXISTS entries_do_not_go; "
          "DROP TRIGGER IF EXISTS signatures_do_not_change; DROP TRIGGER IF EXISTS signatures_do_not_go");
    } else {
      server_.reset(PQconnectdb(location.c_str()));
      execute(
          "SET client_min_messages = error; DROP TRIGGER IF EXISTS entries_do_not_change ON noisefloor_ledger.entries; "
          "DROP TRIGGER IF EXISTS head_moves_forward ON noisefloor_ledger.head; DROP TRIGGER IF EXISTS "
          "head_does_not_go ON noisefloor_ledger.head; DROP TRIGGER IF EXISTS entries_are_by_their_author ON "
          "noisefloor_ledger.entries");
      if (version() >= kStoreVersionWithRoles)
        execute("DROP TRIGGER IF EXISTS signatures_do_not_change ON @signatures");
    }
  }

  // Runs the statements; `@` stands for the schema.
  void execute(std::string sql) const {
    for (std::size_t at = sql.find('@'); at != std::string::npos; at = sql.find('@', at)) {
      sql.replace(at, 1, file_ ? "" : "noisefloor_ledger.");
    }
    if (file_) {
      sqlite3* db = nullptr;
      ASSERT_EQ(sqlite3_open(location_.c_str(), &db), SQLITE_OK);
      EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db) << "\n"
                                                                                     << sql;
      sqlite3_close(db);
    } else {
      const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(server_.get(), sql.c_str()), PQclear);
      EXPECT_EQ(PQresultStatus(result.get()), PGRES_COMMAND_OK) << PQerrorMessage(server_.get()) << "\n" << sql;
    }
  }

  void set_text(std::uint64_t entry, const std::string& text) const {
    execute("UPDATE @entries SET text = " + quoted(text) + where(entry));
  }
  void set_hash(std::uint64_t entry, const Digest& hash) const {
    execute("UPDATE @entries SET hash = " + blob(hash) + where(entry));
  }
  void remove_from(std::uint64_t first) const {
    execute("DELETE FROM @entries WHERE sequence >= " + std::to_string(first) +
            "; DELETE FROM @answers WHERE reservation >= " + std::to_string(first));
    if (version() >= kStoreVersionWithRoles) {
      execute("DELETE FROM @signatures WHERE sequence >= " + std::to_string(first));
    }
  }
  void insert(const StoredEntry& entry) const { execute(insertion(entry)); }
  void set_head(const Head& head) const {
    execute("UPDATE @head SET ledger = " + blob(head.ledger) + ", epoch = " + std::to_string(head.epoch) +
            ", sequence = " + std::to_string(head.sequence) + ", hash = " + blob(head.hash) +
            ", signature = " + blob(head.signature));
  }
  void set_answer(std::uint64_t reservation, std::string_view answer) const {
    execute("UPDATE @answers SET answer = " + blob(answer) + " WHERE reservation = " + std::to_string(reservation));
  }
  void set_answers(const std::map<std::uint64_t, std::string>& answers) const {
    std::string all = "DELETE FROM @answers";
    for (const auto& [reservation, answer] : answers) {
      all += "; INSERT INTO @answers (reservation, answer) VALUES (" + std::to_string(reservation) + ", " +
             blob(answer) + ")";
    }
    execute(all);
  }
  void set_signatures(const std::map<std::uint64_t, Signature>& signatures) const {
    std::string all = "DELETE FROM @signatures";
    for (const auto& [sequence, signature] : signatures) {
      all += "; INSERT INTO @signatures (sequence, signature) VALUES (" + std::to_string(sequence) + ", " +
             blob(signature) + ")";
    }
    execute(all);
  }
  [[nodiscard]] std::map<std::uint64_t, Signature> signatures() const {
    std::map<std::uint64_t, Signature> found;
    const auto store = value_of(open_store(location_, {.read_only = true}));
    const auto look = value_of(store->begin(LedgerStore::Mode::kRead));
    expect_good(look->signatures(0, INT64_MAX, [&](std::uint64_t sequence, const Signature& one) -> Result<void> {
      found[sequence] = one;
      return success();
    }));
    return found;
  }
  // Replaces the whole history.
  void replace(const std::vector<StoredEntry>& entries, const Head& head) const {
    std::string all = "DELETE FROM @entries";
    for (const StoredEntry& one : entries) all += "; " + insertion(one);
    execute(all);
    set_head(head);
    // Signatures in the middle of a row by one author need not be there, so whoever holds the key leaves them out.
    if (version() >= kStoreVersionWithRoles) execute("DELETE FROM @signatures WHERE sequence > 3");
  }
  [[nodiscard]] std::uint64_t version() const {
    std::uint64_t found = 1;
    if (file_) {
      sqlite3* db = nullptr;
      sqlite3_stmt* statement = nullptr;
      EXPECT_EQ(sqlite3_open(location_.c_str(), &db), SQLITE_OK);
      EXPECT_EQ(sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &statement, nullptr), SQLITE_OK);
      if (sqlite3_step(statement) == SQLITE_ROW) found = static_cast<std::uint64_t>(sqlite3_column_int64(statement, 0));
      sqlite3_finalize(statement);
      sqlite3_close(db);
    } else {
      const std::unique_ptr<PGresult, decltype(&PQclear)> result(
          PQexec(server_.get(), "SELECT version FROM noisefloor_ledger.format"), PQclear);
      if (PQntuples(result.get()) == 1) found = std::stoull(PQgetvalue(result.get(), 0, 0));
    }
    return found;
  }
  // Returns the entries with the hashes that the ledger's own code would have written from `first` on.
  [[nodiscard]] static std::vector<StoredEntry> rechained(std::vector<StoredEntry> entries) {
    Digest hash = kNoEntry;
    for (StoredEntry& one : entries) hash = one.hash = chain_hash(hash, one.text);
    return entries;
  }

  [[nodiscard]] std::vector<StoredEntry> entries() const {
    std::vector<StoredEntry> found;
    const auto store = value_of(open_store(location_, {.read_only = true}));
    const auto look = value_of(store->begin(LedgerStore::Mode::kRead));
    expect_good(look->entries(0, INT64_MAX, [&](const StoredEntry& one) -> Result<void> {
      found.push_back(one);
      return success();
    }));
    return found;
  }
  [[nodiscard]] std::map<std::uint64_t, std::string> answers() const {
    std::map<std::uint64_t, std::string> found;
    const std::uint64_t last = head().sequence;
    const auto store = value_of(open_store(location_, {.read_only = true}));
    const auto look = value_of(store->begin(LedgerStore::Mode::kRead));
    for (std::uint64_t i = 0; i <= last; ++i) {
      if (const auto answer = value_of(look->answer(i))) found[i] = *answer;
    }
    return found;
  }
  [[nodiscard]] Head head() const {
    const auto store = value_of(open_store(location_, {.read_only = true}));
    return *value_of(value_of(store->begin(LedgerStore::Mode::kRead))->head());
  }

 private:
  static std::string where(std::uint64_t entry) { return " WHERE sequence = " + std::to_string(entry); }
  [[nodiscard]] std::string insertion(const StoredEntry& entry) const {
    return "INSERT INTO @entries (sequence, text, hash) VALUES (" + std::to_string(entry.sequence) + ", " +
           quoted(entry.text) + ", " + blob(entry.hash) + ")";
  }
  static std::string quoted(std::string text) {
    for (std::size_t at = text.find('\''); at != std::string::npos; at = text.find('\'', at + 2)) text.insert(at, "'");
    return "'" + text + "'";
  }
  [[nodiscard]] std::string blob(std::string_view bytes) const { return blob(bytes_of(bytes)); }
  [[nodiscard]] std::string blob(std::span<const std::uint8_t> bytes) const {
    return file_ ? "x'" + to_hex(bytes) + "'" : "'\\x" + to_hex(bytes) + "'::bytea";
  }

  std::string location_;
  bool file_;
  std::unique_ptr<PGconn, decltype(&PQfinish)> server_{nullptr, PQfinish};
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in " << text;
  return text.replace(at, from.size(), to);
}

class TamperTest : public ::testing::TestWithParam<testing::Setting> {
 protected:
  static constexpr std::uint64_t kLast = 13;

  void SetUp() override {
    if (!place_.is_there()) GTEST_SKIP() << "no PostgreSQL server: run through ctest";
    expect_good(SigningKey::generate().save(place_.path("key")));
    SigningKey first = GetParam().by_member ? SigningKey::generate() : key();
    ledger_key_ = first.public_key();
    auto ledger = value_of(Ledger::create(place_.location(), std::move(first), {}));  // entry 0
    expect_good(ledger->create_budget(terms("trial", 1, 0, Rule::kBasic)));           // 1
    BudgetTerms plan = terms("plan", 5, 1e-6, Rule::kPlanned);                        // 2
    plan.plan = {{"cheap", pure(0.125), Steps::of(8)}, {"dear", pure(1), Steps::of(1)}};
    expect_good(ledger->create_budget(plan));
    if (GetParam().by_member) {  // the key whose holder attacks is that of another owner, who has written all the rest
      expect_good(ledger->add_role({"second", Role::kOwner, key().public_key()}));  // 3
      ledger = value_of(open());
    } else {
      expect_good(ledger->create_budget(terms("rho", 1, 1e-6, Rule::kZcdp)));  // 3
    }
    spend(*ledger, request("trial", "a", pure(0.25)));  // 4, 5
    early_ = value_of(ledger->witness());
    expect_good(ledger->abort(value_of(ledger->reserve(request("trial", "b", pure(0.125))))));  // 6, 7
    spend(*ledger, request("trial", "c", pure(0.125)));                                         // 8, 9
    spend(*ledger, request("plan", "d", pure(1), "dear"));                                      // 10, 11
    spend(*ledger, request("plan", "e", pure(0.125), "cheap"));                                 // 12, 13
    late_ = value_of(ledger->witness());
    ASSERT_EQ(late_->head.sequence, kLast);
    expect_good(write_witness(early_path(), *early_));
    expect_good(write_witness(late_path(), *late_));
  }
  static void spend(Ledger& ledger, const ReserveRequest& asked) {
    const Reservation made = value_of(ledger.reserve(asked));
    expect_good(ledger.commit(made.sequence(), blake2b("answer " + asked.key), "answer " + asked.key));
  }

  [[nodiscard]] std::string early_path() const { return place_.path("early.json"); }
  [[nodiscard]] std::string late_path() const { return place_.path("late.json"); }
  [[nodiscard]] SigningKey key() const { return SigningKey::load(place_.path("key")).value(); }
  [[nodiscard]] bool is_file() const { return GetParam() == Backend::kSqlite; }
  [[nodiscard]] Result<std::unique_ptr<Ledger>> open(const std::string& witness = {}) const {
    LedgerOptions options;
    options.witness = witness;
    return Ledger::open(place_.location(), key(), std::move(options));
  }
  [[nodiscard]] Head signed_head(const std::vector<StoredEntry>& entries) const {
    return sign_head(key(), late_->head.ledger, 0, entries.back().sequence, entries.back().hash);
  }

  // Expects that the first finding is about this entry, and that the report says `part`.
  void expect_found(std::optional<std::uint64_t> entry, const std::string& part,
                    std::vector<std::string> witnesses = {}) const {
    const VerifyReport report = value_of(verify_ledger(place_.location(), {std::move(witnesses), {}, {}}));
    ASSERT_FALSE(report.findings.empty()) << "nothing was found; expected: " << part;
    EXPECT_EQ(report.findings.front().entry, entry) << text_of(report);
    EXPECT_NE(text_of(report).find(part), std::string::npos) << text_of(report);
  }
  // Expects that nothing can be spent or made, and that the attempts wrote nothing.
  void expect_no_writes(const std::string& witness = {}) const {
    const std::size_t before = count_entries();
    Result<std::unique_ptr<Ledger>> ledger = open(witness);
    if (!ledger.has_value()) {
      EXPECT_EQ(ledger.error().code, ErrorCode::kVerificationFailed) << ledger.error().message;
    } else {
      expect_error(ledger.value()->create_budget(terms("more", 1, 0, Rule::kBasic)), ErrorCode::kVerificationFailed,
                   "");
      expect_error(ledger.value()->reserve(request("trial", "more", pure(0.125))), ErrorCode::kVerificationFailed, "");
      ledger.value().reset();
    }
    EXPECT_EQ(count_entries(), before);
  }
  [[nodiscard]] std::size_t count_entries() const {
    std::size_t count = 0;
    const auto store = value_of(open_store(place_.location(), {.read_only = true}));
    const auto look = value_of(store->begin(LedgerStore::Mode::kRead));
    static_cast<void>(look->entries(0, INT64_MAX, [&](const StoredEntry&) -> Result<void> {
      ++count;
      return success();
    }));
    return count;
  }

  LedgerPlace place_{GetParam()};
  PublicKey ledger_key_{};
  std::optional<Witness> early_;
  std::optional<Witness> late_;
};

INSTANTIATE_TEST_SUITE_P(Sqlite, TamperTest, ::testing::Values(testing::kAsOwner, testing::kAsMember));
INSTANTIATE_TEST_SUITE_P(Postgres, TamperTest,
                         ::testing::Values(testing::kAsOwnerOnPostgres, testing::kAsMemberOnPostgres));

TEST_P(TamperTest, FindsNothingInAnUntouchedLedger) {
  expect_clean(place_.location(), {early_path(), late_path()});
  const Intruder intruder(place_.location());  // only drops the triggers
  expect_clean(place_.location(), {early_path(), late_path()});
  expect_good(value_of(open(late_path()))->create_budget(terms("more", 1, 0, Rule::kBasic)));
}

TEST_P(TamperTest, StopsHonestMistakesByTriggers) {
  const auto attempt = [&](const std::string& sql) {
    if (is_file()) {
      sqlite3* db = nullptr;
      EXPECT_EQ(sqlite3_open(place_.location().c_str(), &db), SQLITE_OK);
      EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_CONSTRAINT) << sql;
      sqlite3_close(db);
    } else {
      PGconn* connection = PQconnectdb(place_.location().c_str());
      PGresult* result = PQexec(connection, ("SET search_path = noisefloor_ledger; " + sql).c_str());
      EXPECT_EQ(PQresultStatus(result), PGRES_FATAL_ERROR) << sql;
      PQclear(result);
      PQfinish(connection);
    }
  };
  attempt("UPDATE entries SET text = '' WHERE sequence = 4");
  attempt("DELETE FROM entries WHERE sequence = 4");
  expect_clean(place_.location());
}

// Edits every entry in turn.
TEST_P(TamperTest, FindsAnEditedText) {
  const Intruder intruder(place_.location());
  const std::vector<StoredEntry> good = intruder.entries();
  for (const StoredEntry& one : good) {
    intruder.set_text(one.sequence, replaced(one.text, "\"time\":1", "\"time\":2"));
    expect_found(one.sequence, "altered");
    expect_no_writes();
    intruder.set_text(one.sequence, "");
    expect_found(one.sequence, "altered");
    intruder.set_text(one.sequence, one.text);
  }
  expect_clean(place_.location());
}

TEST_P(TamperTest, FindsAnEditedTextWithItsHash) {
  const Intruder intruder(place_.location());
  std::vector<StoredEntry> entries = intruder.entries();
  entries[4].text = replaced(entries[4].text, R"("key":"a")", R"("key":"z")");
  intruder.set_text(4, entries[4].text);
  intruder.set_hash(4, chain_hash(entries[3].hash, entries[4].text));
  // The next entry no longer follows from it; on a ledger with roles, its own signature does not hold either.
  expect_found(GetParam().by_member ? std::uint64_t{4} : std::uint64_t{5}, "altered");
  expect_no_writes();
}

TEST_P(TamperTest, FindsAnEditOfTheLastEntryWithItsHash) {
  const Intruder intruder(place_.location());
  std::vector<StoredEntry> entries = intruder.entries();
  entries[kLast].text = replaced(entries[kLast].text, "\"time\":1", "\"time\":2");
  entries = Intruder::rechained(entries);
  intruder.set_text(kLast, entries[kLast].text);
  intruder.set_hash(kLast, entries[kLast].hash);
  expect_found(kLast, "another hash");
  expect_no_writes();
}

TEST_P(TamperTest, FindsAChainRewrittenWithoutTheKey) {
  const Intruder intruder(place_.location());
  std::vector<StoredEntry> entries = intruder.entries();
  entries[4].text = replaced(entries[4].text, "[0.25]", "[0.125]");
  entries = Intruder::rechained(entries);
  Head head = intruder.head();
  intruder.replace(entries, head);
  expect_found(4, "less than its event costs");
  expect_found(4, "another hash");
  expect_no_writes();
  head.hash = entries.back().hash;  // under the old signature
  intruder.replace(entries, head);
  expect_found(4, "not signed");
  expect_no_writes();
  intruder.replace(entries, sign_head(SigningKey::generate(), head.ledger, 0, kLast, head.hash));
  expect_found(4, "not signed");
  expect_found(4, "another history up to here", {early_path()});
  expect_no_writes();
}

TEST_P(TamperTest, FindsADeletedEntry) {
  const Intruder intruder(place_.location());
  const std::vector<StoredEntry> good = intruder.entries();
  for (const StoredEntry& one : good) {
    intruder.execute("DELETE FROM @entries WHERE sequence = " + std::to_string(one.sequence));
    expect_found(one.sequence, one.sequence == kLast ? "the last entry is" : "missing");
    expect_no_writes();
    intruder.insert(one);
  }
  expect_clean(place_.location());
  intruder.execute("DELETE FROM @entries");
  expect_found(0, "missing");
  expect_no_writes();
  intruder.execute("DELETE FROM @head");
  expect_found(std::nullopt, "no entries");
  expect_no_writes();
}

TEST_P(TamperTest, FindsACutOffEnd) {
  const Intruder intruder(place_.location());
  for (const std::uint64_t first : {kLast, kLast - 1, std::uint64_t{6}}) {
    intruder.remove_from(first);
    expect_found(first, "the last entry is");
    expect_no_writes();
  }
}

// The earlier head is genuine, and so are all remaining entries: only records kept elsewhere can reveal this.
TEST_P(TamperTest, FindsACutOffEndUnderAnEarlierHead) {
  const auto live = value_of(open());
  {
    const Intruder intruder(place_.location());
    intruder.remove_from(6);
    intruder.set_head(early_->head);
  }
  // A process that had the ledger open notices.
  expect_error(live->reserve(request("trial", "x", pure(0.125))), ErrorCode::kVerificationFailed, "rolled back");
  if (is_file()) {
    expect_found(6, "rolled back");
    expect_no_writes();
  } else {
    // A database has no fence against this, but this machine has a counter.
    expect_found(kLast, "the counter");
    expect_no_writes();
  }
  const VerifyReport report = value_of(verify_ledger(place_.location(), {{late_path()}, {}, {}}));
  EXPECT_EQ(report.findings.back().entry, kLast) << text_of(report);
  EXPECT_NE(report.findings.back().what.find("rolled back"), std::string::npos) << text_of(report);
  expect_no_writes(late_path());
  // Not even its owner can adopt it.
  expect_error(value_of(open(late_path()))->adopt("restored"), ErrorCode::kVerificationFailed, "does not have");
  // An earlier witness does not object.
  expect_error(value_of(open(early_path()))->adopt("restored"), ErrorCode::kVerificationFailed, "are lost");
  expect_good(value_of(open(early_path()))->adopt("restored", Ledger::Lost::kGivenUp));
}

TEST_P(TamperTest, FindsAHeadSetBackOverLaterEntries) {
  Intruder(place_.location()).set_head(early_->head);
  expect_found(6, "the last entry is 13");
  expect_no_writes();
}

TEST_P(TamperTest, FindsEntriesThatChangedPlaces) {
  const Intruder intruder(place_.location());
  const std::vector<StoredEntry> good = intruder.entries();
  for (const bool with_hashes : {false, true}) {
    for (const std::uint64_t one : {std::uint64_t{4}, std::uint64_t{12}}) {
      for (const std::uint64_t other : {one + 1, kLast}) {
        if (one == other) continue;
        const StoredEntry& a = good[one];
        const StoredEntry& b = good[other];
        intruder.set_text(one, b.text);
        intruder.set_text(other, a.text);
        if (with_hashes) intruder.set_hash(one, b.hash), intruder.set_hash(other, a.hash);
        expect_found(one, "altered");
        expect_no_writes();
        intruder.replace(good, late_->head);
      }
    }
  }
  // The chain is valid and a thief has signed it, but the entries are not at the places that they state.
  std::vector<StoredEntry> entries = good;
  std::swap(entries[6].text, entries[8].text);
  entries = Intruder::rechained(entries);
  intruder.replace(entries, signed_head(entries));
  expect_found(6, "where entry 6 should be");
  expect_no_writes();
}

TEST_P(TamperTest, FindsAnInsertedEntry) {
  const Intruder intruder(place_.location());
  const std::vector<StoredEntry> good = intruder.entries();
  // At the end: the entry follows from the last one, and only the head does not include it.
  const std::string more =
      to_json(Entry{kLast + 1, 4'000'000'000'000, BudgetEntry{terms("gift", 9, 0, Rule::kBasic), {}}});
  intruder.insert({kLast + 1, more, chain_hash(good.back().hash, more)});
  expect_found(kLast + 1, "the last entry is 14");
  expect_no_writes();
  intruder.execute("DELETE FROM @entries WHERE sequence = 14");
  // Far beyond the end, where no head is: the entry is not part of the history, and is found without counting up to it.
  constexpr std::uint64_t kFar = std::uint64_t{1} << 60;
  intruder.insert({kFar, more, chain_hash(good.back().hash, more)});
  expect_found(kLast + 1, "missing");
  intruder.execute("DELETE FROM @entries WHERE sequence = " + std::to_string(kFar));
  // In between.
  intruder.execute("UPDATE @entries SET sequence = sequence + 100 WHERE sequence >= 6");
  intruder.execute("UPDATE @entries SET sequence = sequence - 99 WHERE sequence >= 100");
  intruder.insert({6, good[4].text, chain_hash(good[5].hash, good[4].text)});
  expect_found(6, "where entry 6 should be");
  expect_no_writes();
}

TEST_P(TamperTest, FindsAnotherAnswer) {
  const Intruder intruder(place_.location());
  const auto ask = [&] { return value_of(open())->reserve(request("trial", "a", pure(0.25))); };
  EXPECT_EQ(value_of(ask()).earlier_answer(), "answer a");
  intruder.set_answer(4, "answer b");
  expect_found(5, "not the one that was committed");
  expect_error(ask(), ErrorCode::kVerificationFailed, "altered");
  intruder.set_answer(4, "answer a");
  // An answer for a use that was taken back.
  intruder.execute("INSERT INTO @answers (reservation, answer) SELECT 6, answer FROM @answers WHERE reservation = 4");
  expect_found(6, "was not committed");
  intruder.execute("DELETE FROM @answers WHERE reservation = 6");
  // An answer that is gone is neither given out nor drawn anew.
  intruder.execute("DELETE FROM @answers WHERE reservation = 4");
  expect_found(5, "gone");
  const Reservation again = value_of(ask());
  EXPECT_EQ(again.earlier_release(), blake2b("answer a"));
  EXPECT_FALSE(again.earlier_answer());
}

// The chain is valid and signed. The forgery shows in entries that do not add up, or in what a witness or the fence saw
// before.
TEST_P(TamperTest, FindsForgeriesByAThiefOfTheKey) {
  const Intruder intruder(place_.location());
  const std::vector<StoredEntry> good = intruder.entries();
  Entry generous = value_of(parse_entry(good[3].text));
  if (auto* const budget = std::get_if<BudgetEntry>(&generous.body)) budget->terms.rho *= 1.5;
  Entry guessed = value_of(parse_entry(good[7].text));
  std::get<AbortEntry>(guessed.body).token[0] ^= 1;
  struct Forgery {
    std::uint64_t entry;
    std::string from;
    std::string to;
    std::string found;  // empty if only a witness can tell
  };
  const std::vector<Forgery> forgeries = {
      {4, "\"charge\":{\"amounts\":[0.25]", "\"charge\":{\"amounts\":[0.125]", "less than its event costs"},
      {4, "\"charge\":{\"amounts\":[0.25]", "\"charge\":{\"amounts\":[]", "less than its event costs"},
      {12, "\"item\":\"cheap\"", "\"item\":\"none\"", "no item"},
      // The event of one item under the name of another one that may be used more often.
      {12, R"("epsilon":0.125)", R"("epsilon":1)", "planned with another event"},
      {3, good[3].text, to_json(generous), "its rho"},
      {7, good[7].text, to_json(guessed), "without the token"},
      {1, "\"epsilon\":1,", "\"epsilon\":0.25,", "breaks a rule"},
      {2, "\"times\":8", "\"times\":80", "its terms do not hold"},
      {1, "\"epsilon\":1,", "\"epsilon\":9,", ""},
      {5, "\"release\":\"", "\"release\":\"0", "form"},
  };
  for (const Forgery& forgery : forgeries) {
    SCOPED_TRACE(forgery.to);
    std::vector<StoredEntry> entries = good;
    std::string& text = entries[forgery.entry].text;
    text = replaced(text, forgery.from, forgery.to);
    entries = Intruder::rechained(entries);
    intruder.replace(entries, signed_head(entries));
    if (GetParam().by_member && forgery.entry == 3) continue;  // there is no such budget, and nothing was changed
    if (GetParam().by_member && forgery.entry < 3) {
      // These entries were written by another owner, whose key the thief does not have.
      const VerifyReport report = value_of(verify_ledger(place_.location(), {}));
      EXPECT_NE(text_of(report).find("not signed by 'owner'"), std::string::npos) << text_of(report);
      expect_no_writes();
      continue;
    }
    if (!forgery.found.empty()) {
      const VerifyReport report = value_of(verify_ledger(place_.location(), {}));
      ASSERT_FALSE(report.findings.empty());
      EXPECT_NE(text_of(report).find(forgery.found), std::string::npos) << text_of(report);
      const std::uint64_t named =
          forgery.found == "breaks a rule" ? 6 : forgery.entry;  // where the smaller total is exceeded
      EXPECT_EQ(report.findings.front().entry, named) << text_of(report);
    }
    const VerifyReport report = value_of(verify_ledger(place_.location(), {{late_path()}, {}, {}}));
    EXPECT_NE(text_of(report).find("another history"), std::string::npos) << text_of(report);
    expect_no_writes(late_path());
    if (is_file()) expect_no_writes();  // the fence is a kind of witness
  }
}

// The same event is used once as the item that it was planned for and once as a cheaper one.
TEST_P(TamperTest, FindsAThiefWhoPutsDearUsesUnderACheapName) {
  const Intruder intruder(place_.location());
  std::vector<StoredEntry> entries = intruder.entries();
  const std::string dear = replaced(entries[10].text, "\"item\":\"dear\"", "\"item\":\"cheap\"");
  entries[12].text = replaced(replaced(dear, "\"sequence\":10", "\"sequence\":12"), "\"key\":\"d\"", "\"key\":\"e\"");
  entries = Intruder::rechained(entries);
  intruder.replace(entries, signed_head(entries));
  expect_found(12, "planned with another event");
}

TEST_P(TamperTest, FindsAnOlderCopyInPlaceOfTheLedger) {
  if (is_file()) {
    // The copy was taken when nobody had the ledger open, so that it is complete.
    const std::string now = content_of(place_.location());
    expect_good(value_of(open(late_path()))->create_budget(terms("more", 1, 0, Rule::kBasic)));
    // The copy overwrites the same file.
    overwrite(place_.location(), now);
    expect_found(14, "rolled back");
    expect_no_writes();
    // The copy becomes another file, with the current fence and with the earlier one.
    std::filesystem::remove(place_.location());
    overwrite(place_.location(), now);
    expect_found(14, "rolled back");
    expect_no_writes();
    std::filesystem::remove(place_.location() + ".fence");
    expect_no_writes();
  } else {
    const Intruder intruder(place_.location());
    const std::vector<StoredEntry> then = intruder.entries();
    const Head head = intruder.head();
    expect_good(value_of(open(late_path()))->create_budget(terms("more", 1, 0, Rule::kBasic)));
    intruder.replace(then, head);
  }
  const VerifyReport report = value_of(verify_ledger(place_.location(), {{late_path()}, {}, {}}));
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings.back().entry, 14U) << text_of(report);
  expect_no_writes(late_path());
}

// Two copies share a witness and try to spend at the same moment: only one can.
TEST_P(TamperTest, LetsOneSideOfAForkSpendUnderASharedWitness) {
  const LedgerPlace other(GetParam());
  const int rounds = is_file() ? 20 : 8;
  const auto clone = [&](const std::string& from, const std::string& to) {
    if (is_file()) {
      for (const char* beside : {"", "-wal", "-shm", ".fence"}) std::filesystem::remove(to + beside);
      std::filesystem::copy_file(from, to);
    } else {
      const Intruder source(from);
      const Intruder target(to);
      target.replace(source.entries(), source.head());
      target.set_answers(source.answers());
      if (GetParam().by_member) target.set_signatures(source.signatures());
    }
  };
  if (!is_file()) testing::new_ledger(other.location(), key(), {}, GetParam().by_member);
  LedgerOptions options;
  options.witness = late_path();
  std::string first = place_.location();
  std::string second = other.location();
  std::uint64_t length = kLast + 1;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    clone(first, second);
    std::array<std::optional<Result<void>>, 2> outcomes;
    const std::array<std::string, 2> where{first, second};
    std::vector<std::thread> spenders;
    for (std::size_t i = 0; i < 2; ++i) {
      spenders.emplace_back([&, i] {
        Result<std::unique_ptr<Ledger>> ledger = Ledger::open(where[i], key(), options);
        if (!ledger.has_value()) {
          outcomes[i] = ledger.error();
        } else if (is_file() && i == 1) {
          outcomes[i] = ledger.value()->adopt("restored");  // a copy must be adopted
        } else {
          outcomes[i] = ledger.value()->create_budget(terms("round" + std::to_string(round), 1, 0, Rule::kBasic));
        }
      });
    }
    for (std::thread& one : spenders) one.join();
    ASSERT_NE(outcomes[0]->has_value(), outcomes[1]->has_value())
        << (outcomes[0]->has_value() ? "both" : outcomes[0]->error().message + " | " + outcomes[1]->error().message);
    const Result<void>& lost = outcomes[0]->has_value() ? *outcomes[1] : *outcomes[0];
    EXPECT_EQ(lost.error().code, ErrorCode::kVerificationFailed) << lost.error().message;
    EXPECT_NE(lost.error().message.find("another copy was written to"), std::string::npos) << lost.error().message;
    if (outcomes[1]->has_value()) std::swap(first, second);
    ++length;
    EXPECT_EQ(read_witness(late_path()).value().head.sequence + 1, length);
    expect_clean(first, {late_path()});
  }
}

TEST_P(TamperTest, FindsANewLedgerInPlaceOfTheOldOne) {
  const LedgerPlace other(GetParam());
  SigningKey another = SigningKey::generate();
  expect_good(another.save(other.path("key")));
  expect_good(value_of(Ledger::create(other.location(), std::move(another), {}))
                  ->create_budget(terms("trial", 1, 0, Rule::kBasic)));
  if (is_file()) {
    overwrite(place_.location(), content_of(other.location()));
  } else {
    const Intruder source(other.location());
    Intruder(place_.location()).replace(source.entries(), source.head());
  }
  expect_error(open(), ErrorCode::kInvalidArgument, "this is not the key");
  VerifyReport report = value_of(verify_ledger(place_.location(), {{}, ledger_key_, {}}));
  EXPECT_EQ(report.findings.front().entry, 0U);
  EXPECT_NE(text_of(report).find("another key"), std::string::npos) << text_of(report);
  report = value_of(verify_ledger(place_.location(), {{late_path()}, {}, {}}));
  EXPECT_NE(text_of(report).find("made anew"), std::string::npos) << text_of(report);
  // Someone has the new key, but neither the fence nor the witness.
  LedgerOptions options;
  options.witness = late_path();
  if (is_file()) options.witness = {};
  const auto ledger = value_of(Ledger::open(place_.location(), SigningKey::load(other.path("key")).value(), options));
  expect_error(ledger->create_budget(terms("more", 1, 0, Rule::kBasic)), ErrorCode::kVerificationFailed, "another");
}

// A fork of the same length, or longer, is put into the file itself: the fence has seen other entries.
TEST(TamperFenceTest, FindsAForkThatWasPutBack) {
  const LedgerPlace place(Backend::kSqlite);
  const LedgerPlace other(Backend::kSqlite);
  const std::array<std::uint8_t, 32> seed{7};
  expect_good(value_of(Ledger::create(place.location(), SigningKey::from_seed(seed), {}))
                  ->create_budget(terms("trial", 1, 0, Rule::kBasic)));
  std::filesystem::copy_file(place.location(), other.location());
  expect_good(value_of(Ledger::open(place.location(), SigningKey::from_seed(seed), {}))
                  ->create_budget(terms("mine", 1, 0, Rule::kBasic)));
  {
    const auto fork = value_of(Ledger::open(other.location(), SigningKey::from_seed(seed), {}));
    expect_error(fork->create_budget(terms("x", 1, 0, Rule::kBasic)), ErrorCode::kVerificationFailed, "no fence");
    expect_good(fork->adopt("a fork", Ledger::Lost::kGivenUp));  // this machine knows the other entries
    expect_good(fork->create_budget(terms("theirs", 1, 0, Rule::kBasic)));
  }
  overwrite(place.location(), content_of(other.location()));
  const VerifyReport report = value_of(verify_ledger(place.location(), {}));
  EXPECT_EQ(report.findings.at(0).entry, 2U) << text_of(report);
  EXPECT_NE(text_of(report).find("another history"), std::string::npos) << text_of(report);
  const auto ledger = value_of(Ledger::open(place.location(), SigningKey::from_seed(seed), {}));
  expect_error(ledger->create_budget(terms("x", 1, 0, Rule::kBasic)), ErrorCode::kVerificationFailed, "rolled back");
}

}  // namespace
}  // namespace noisefloor
