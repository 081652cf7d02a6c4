// Disks that are full, failing or read-only, files that are missing, foreign, cut or damaged, clocks that go back: the
// ledger notices each of them and reserves nothing, and it works again once the fault is gone.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

#include <filesystem>

#include "noisefloor/ledger/fence.h"
#include "noisefloor/ledger/open_store.h"
#include "tests/support/child_process.h"
#include "tests/support/faulty_vfs.h"
#include "tests/support/kept_counters.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/ledger_place.h"

namespace noisefloor {
namespace {

using testing::Backend;
using testing::ChildProcess;
using testing::content_of;
using testing::expect_clean;
using testing::expect_error;
using testing::expect_good;
using testing::Fault;
using testing::FaultyVfs;
using testing::LedgerPlace;
using testing::overwrite;
using testing::pure;
using testing::request;
using testing::terms;
using testing::text_of;
using testing::value_of;

// The whole content of a ledger.
struct Content {
  std::vector<std::string> texts;
  std::vector<Digest> hashes;
  std::vector<std::optional<std::string>> answers;
  Head head;
  friend bool operator==(const Content& a, const Content& b) {
    return a.texts == b.texts && a.hashes == b.hashes && a.answers == b.answers && a.head.hash == b.head.hash &&
           a.head.signature == b.head.signature && a.head.sequence == b.head.sequence && a.head.epoch == b.head.epoch &&
           a.head.ledger == b.head.ledger;
  }
};

Result<Content> content_of_ledger(const std::string& path) {
  Content content{};
  NF_TRY(const auto store, open_store(path, {.read_only = true}));
  NF_TRY(const auto look, store->begin(LedgerStore::Mode::kRead));
  NF_TRY(const std::optional<Head> head, look->head());
  if (!head) return io_error("no head");
  content.head = *head;
  NF_TRY_VOID(look->entries(0, INT64_MAX, [&](const StoredEntry& one) -> Result<void> {
    content.texts.push_back(one.text);
    content.hashes.push_back(one.hash);
    return success();
  }));
  for (std::uint64_t i = 0; i < content.texts.size(); ++i) {
    NF_TRY(std::optional<std::string> answer, look->answer(i));
    content.answers.push_back(std::move(answer));
  }
  return content;
}

class FaultsTest : public ::testing::Test {
 protected:
  explicit FaultsTest(bool by_analyst = false) {
    expect_good(SigningKey::generate().save(place_.path("key")));
    if (by_analyst) {
      const auto owner = value_of(Ledger::create(path(), SigningKey::generate(), faulty()));
      expect_good(owner->create_budget(terms("trial", 1000, 0, Rule::kBasic)));
      NewRole role{"ann", Role::kAnalyst, key().public_key(), {"trial"}};
      role.quota = Quota{Epsilon::of(500), Delta::of(0), kShortestPeriod};
      expect_good(owner->add_role(role));
      for (int i = 0; i < 4; ++i) expect_good(spend(*value_of(open()), "first" + std::to_string(i)));
    } else {
      const auto ledger = value_of(Ledger::create(path(), key(), faulty()));
      expect_good(ledger->create_budget(terms("trial", 1000, 0, Rule::kBasic)));
      for (int i = 0; i < 4; ++i) expect_good(spend(*ledger, "first" + std::to_string(i)));
    }
    keep();
  }
  ~FaultsTest() override { FaultyVfs::instance().disarm(); }

  [[nodiscard]] const std::string& path() const { return place_.location(); }
  [[nodiscard]] std::string fence_path() const { return path() + ".fence"; }
  [[nodiscard]] SigningKey key() const { return SigningKey::load(place_.path("key")).value(); }
  static LedgerOptions faulty() {
    FaultyVfs::instance();
    LedgerOptions options;
    options.sqlite_vfs = FaultyVfs::kName;
    return options;
  }
  // Power does not fail here, so the file system need not wait for the disk.
  [[nodiscard]] Result<std::unique_ptr<Ledger>> open(LedgerOptions options = faulty()) const {
    return Ledger::open(path(), key(), std::move(options));
  }
  static Result<void> spend(Ledger& ledger, const std::string& key) {
    NF_TRY(Reservation made, ledger.reserve(request("trial", key, pure(0.125))));
    made.begin();
    return ledger.commit(made.sequence(), blake2b(key), key);
  }
  void keep() {
    ledger_ = content_of(path());
    fence_ = content_of(fence_path());
    counters_.keep();
  }
  // Restores the files as they were at keep(), in the same inodes.
  void put_back() const {
    for (const char* beside : {"-wal", "-shm", "-journal"}) std::filesystem::remove(path() + beside);
    overwrite(path(), ledger_);
    overwrite(fence_path(), fence_);
    counters_.put_back();
  }
  // Leaves entries that are only in the log, as a killed process does.
  void leave_a_log(int spends) const {
    const ChildProcess child = ChildProcess::run([&] {
      const auto ledger = value_of(open());
      for (int i = 0; i < spends; ++i) expect_good(spend(*ledger, "logged" + std::to_string(i)));
      return ::kill(::getpid(), SIGKILL);
    });
    ASSERT_TRUE(child.was_killed());
    ASSERT_GT(content_of(path() + "-wal").size(), 0U);
  }

  void expect_no_writes(std::string_view part) const {
    const Result<std::unique_ptr<Ledger>> ledger = open();
    if (!ledger.has_value()) {
      expect_error(ledger, ErrorCode::kVerificationFailed, part);
      return;
    }
    expect_error(ledger.value()->reserve(request("trial", "more", pure(0.125))), ErrorCode::kVerificationFailed, part);
    expect_error(ledger.value()->create_budget(terms("more", 1, 0, Rule::kBasic)), ErrorCode::kVerificationFailed,
                 part);
  }
  [[nodiscard]] VerifyReport verified() const { return value_of(verify_ledger(path(), {})); }
  void expect_found(std::optional<std::uint64_t> entry, const std::string& part) const {
    const VerifyReport report = verified();
    ASSERT_FALSE(report.findings.empty()) << part;
    EXPECT_EQ(report.findings.front().entry, entry) << text_of(report);
    EXPECT_NE(text_of(report).find(part), std::string::npos) << text_of(report);
  }

  // Injects the fault at every operation of a workload, until the workload ends before the fault.
  void fail_everywhere(Fault fault, bool lasting, std::string_view message, int at_least) {
    FaultyVfs& disk = FaultyVfs::instance();
    int failures = 0;
    for (std::uint64_t k = 0; !HasFailure(); ++k) {
      SCOPED_TRACE(::testing::Message() << "operation " << k);
      put_back();
      std::vector<std::string> granted;
      bool hit = false;
      {
        disk.arm(fault, k, lasting);
        Result<std::unique_ptr<Ledger>> ledger = open(faulty());
        const auto check = [&](const Error& error) {
          ++failures;
          EXPECT_TRUE(disk.was_hit());
          EXPECT_EQ(error.code, ErrorCode::kIo) << error.message;
          EXPECT_NE(error.message.find(message), std::string::npos) << error.message;
        };
        if (!ledger.has_value()) check(ledger.error());
        for (int i = 0; i < 6 && ledger.has_value(); ++i) {
          const std::string name = "round" + std::to_string(i);
          Result<Reservation> made = ledger.value()->reserve(request("trial", name, pure(0.125)));
          if (!made.has_value()) {
            check(made.error());
            continue;
          }
          granted.push_back(name);
          const Result<void> committed = ledger.value()->commit(made.value().sequence(), blake2b(name), name);
          if (!committed.has_value()) check(committed.error());
        }
        hit = disk.was_hit();
        disk.disarm();
        // The same ledger works again.
        if (ledger.has_value()) {
          expect_good(spend(*ledger.value(), "later"));
          granted.emplace_back("later");
        }
      }
      expect_clean(path());
      const auto ledger = value_of(open());
      expect_good(ledger->read([&](const LedgerState& state) -> Result<void> {
        for (const std::string& one : granted) EXPECT_TRUE(state.find_key("trial", one)) << one;
        return success();
      }));
      expect_good(spend(*ledger, "at last"));
      if (!hit) break;
    }
    EXPECT_GE(failures, at_least);
  }

  LedgerPlace place_{Backend::kSqlite};
  std::string ledger_;
  std::string fence_;
  testing::KeptCounters counters_;
};

// The same with an analyst who has a quota.
class FaultsByAnalystTest : public FaultsTest {
 protected:
  FaultsByAnalystTest() : FaultsTest(true) {}
};

TEST_F(FaultsByAnalystTest, SurvivesADiskThatIsFullFromAnyWriteOn) {
  fail_everywhere(Fault::kFull, true, "is full", 100);
}
TEST_F(FaultsByAnalystTest, SurvivesErrorsOfAllWritesFromAnyOn) {
  fail_everywhere(Fault::kIoError, true, "could not be read or written", 100);
}
TEST_F(FaultsByAnalystTest, SurvivesAnErrorOfAnyOneWrite) {
  fail_everywhere(Fault::kIoError, false, "could not be read or written", 30);
}
TEST_F(FaultsByAnalystTest, FindsALogThatWasDeleted) {
  leave_a_log(3);
  for (const char* beside : {"-wal", "-shm"}) std::filesystem::remove(path() + beside);
  EXPECT_FALSE(verified().findings.empty());
  expect_error(value_of(open())->reserve(request("trial", "more", pure(0.125))), ErrorCode::kVerificationFailed,
               "rolled back");
}
TEST_F(FaultsByAnalystTest, RecognisesACopy) {
  const std::string copy = place_.path("copy.ledger");
  std::filesystem::copy_file(path(), copy);
  std::filesystem::copy_file(fence_path(), copy + ".fence");
  const auto ledger = value_of(Ledger::open(copy, key(), {}));
  expect_error(ledger->reserve(request("trial", "x", pure(0.125))), ErrorCode::kVerificationFailed, "is a copy");
  expect_error(ledger->adopt("mine"), ErrorCode::kInvalidArgument, "nothing else");
  expect_clean(copy);
}

TEST_F(FaultsTest, SurvivesADiskThatIsFullFromAnyWriteOn) { fail_everywhere(Fault::kFull, true, "is full", 100); }
TEST_F(FaultsTest, SurvivesErrorsOfAllWritesFromAnyOn) {
  fail_everywhere(Fault::kIoError, true, "could not be read or written", 100);
}
TEST_F(FaultsTest, SurvivesAnErrorOfAnyOneWrite) {
  fail_everywhere(Fault::kIoError, false, "could not be read or written", 30);
}
TEST_F(FaultsTest, SurvivesErrorsOfAllReadsFromAnyOn) {
  fail_everywhere(Fault::kReadError, true, "could not be read or written", 8);
}
TEST_F(FaultsTest, SurvivesAnErrorOfAnyOneRead) {
  fail_everywhere(Fault::kReadError, false, "could not be read or written", 5);
}

TEST_F(FaultsTest, ReportsADiskThatIsFullAtCreation) {
  FaultyVfs& disk = FaultyVfs::instance();
  const std::string made = place_.path("new.ledger");
  for (std::uint64_t k = 0;; ++k) {
    SCOPED_TRACE(k);
    disk.arm(Fault::kFull, k);
    const Result<std::unique_ptr<Ledger>> ledger = Ledger::create(made, key(), faulty());
    const bool hit = disk.was_hit();
    disk.disarm();
    if (!hit) break;
    // A disk that takes no more writes still syncs.
    if (!ledger.has_value()) expect_error(ledger, ErrorCode::kIo, "is full");
    for (const char* beside : {"", "-wal", "-shm", "-journal", ".fence"}) std::filesystem::remove(made + beside);
    ASSERT_LT(k, 1000U);
  }
}

// Makes the file system treat the test as a user without rights, even if root runs it.
class Unprivileged {
 public:
  Unprivileged() {
    if (::geteuid() == 0) ::setfsuid(65534);
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;
  ~Unprivileged() {
    if (::geteuid() == 0) ::setfsuid(0);
  }
};

TEST_F(FaultsTest, AUserWhoMayNotWriteCanRead) {
  const std::string folder = std::filesystem::path(path()).parent_path();
  for (const char* beside : {"-wal", "-shm"}) std::filesystem::remove(path() + beside);
  const auto allow = [&](mode_t of_folder, mode_t of_file) {
    ASSERT_EQ(::chmod(folder.c_str(), of_folder), 0);
    ASSERT_EQ(::chmod(path().c_str(), of_file), 0);
    ASSERT_EQ(::chmod(fence_path().c_str(), of_file), 0);
  };
  allow(0555, 0444);
  std::unique_ptr<Ledger> reader;
  {
    const Unprivileged user;
    reader = testing::value_of(Ledger::open_to_read(path(), {}));
    expect_good(reader->read([](const LedgerState& state) -> Result<void> {
      EXPECT_EQ(state.next_sequence(), 10U);
      return success();
    }));
    expect_clean(path());
  }
  EXPECT_FALSE(std::filesystem::exists(path() + "-shm")) << "a reader left something behind";
  // Someone writes meanwhile: the reader says so, and reads the new entries when it opens the ledger again.
  allow(0755, 0644);
  expect_good(spend(*testing::value_of(Ledger::open(path(), key(), {})), "meanwhile"));
  allow(0555, 0444);
  const Unprivileged user;
  const auto look = [](const LedgerState&) -> Result<void> { return success(); };
  expect_error(reader->read(look), ErrorCode::kIo, "was written to while it was read");
  reader = testing::value_of(Ledger::open_to_read(path(), {}));
  expect_good(reader->read([](const LedgerState& state) -> Result<void> {
    EXPECT_GT(state.next_sequence(), 10U);
    return success();
  }));
}

// Entries that are only in the log would be missed: this is an error with the remedy, and not a shorter history.
TEST_F(FaultsTest, ALogThatAReaderCannotReadIsAnError) {
  const std::string folder = std::filesystem::path(path()).parent_path();
  for (const char* beside : {"-wal", "-shm"}) std::filesystem::remove(path() + beside);
  overwrite(path() + "-wal", "entries");
  ASSERT_EQ(::chmod(folder.c_str(), 0555), 0);
  ASSERT_EQ(::chmod(path().c_str(), 0444), 0);
  {
    const Unprivileged user;
    expect_error(Ledger::open_to_read(path(), {}), ErrorCode::kIo, "Have its owner write to it once");
  }
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
}

TEST_F(FaultsTest, RefusesToWriteToReadOnlyFilesAndFolders) {
  const std::string folder = std::filesystem::path(path()).parent_path();
  const auto allow = [&](mode_t of_folder, mode_t of_file, mode_t of_fence) {
    for (const char* beside : {"-wal", "-shm"}) std::filesystem::remove(path() + beside);  // left by an earlier reader
    ASSERT_EQ(::chmod(folder.c_str(), of_folder), 0);
    ASSERT_EQ(::chmod(path().c_str(), of_file), 0);
    ASSERT_EQ(::chmod(fence_path().c_str(), of_fence), 0);
  };
  const auto attempt = [&]() -> Result<void> {
    SigningKey owner = key();
    const Unprivileged user;
    LedgerOptions options;
    options.counters = CounterPlaces{};  // the folder of counters belongs to whoever runs the tests
    NF_TRY(const auto ledger, Ledger::open(path(), std::move(owner), options));
    return spend(*ledger, "x");
  };
  allow(0777, 0444, 0666);
  expect_error(attempt(), ErrorCode::kIo, "cannot be written to: check its permissions");
  allow(0555, 0666, 0666);
  expect_error(attempt(), ErrorCode::kIo, "check its permissions");
  allow(0777, 0000, 0666);
  expect_error(attempt(), ErrorCode::kIo, "could not be opened: Permission denied");
  // A fence that cannot be moved on would be useless later.
  allow(0777, 0666, 0444);
  expect_error(attempt(), ErrorCode::kIo, "the fence");
  allow(0777, 0666, 0666);
  expect_clean(path());
  EXPECT_EQ(verified().entries, 10U) << "something was written";
  expect_good(attempt());
}

TEST_F(FaultsTest, RefusesMissingAndForeignFiles) {
  const auto expect_refused = [&](ErrorCode code, std::string_view part) {
    expect_error(open(), code, part);
    expect_error(Ledger::open_to_read(path(), {}), code, part);
    const Result<VerifyReport> report = verify_ledger(path(), {});
    if (code == ErrorCode::kIo) {
      expect_error(report, code, part);
    } else {
      EXPECT_NE(text_of(value_of(verify_ledger(path(), {}))).find(part), std::string::npos);
    }
  };
  std::filesystem::rename(path(), path() + ".away");
  expect_refused(ErrorCode::kIo, "there is no ledger");
  std::filesystem::create_directory(path());
  expect_error(open(), ErrorCode::kIo, "could not be");
  std::filesystem::remove(path());
  overwrite(path(), "");
  expect_refused(ErrorCode::kVerificationFailed, "not a ledger");
  overwrite(path(), std::string(20'000, 'x'));
  expect_refused(ErrorCode::kVerificationFailed, "is damaged");
  std::filesystem::remove(path());
  const auto execute = [&](const char* sql) {
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  };
  execute("CREATE TABLE entries (sequence, text, hash)");
  expect_refused(ErrorCode::kVerificationFailed, "not a ledger");
  std::filesystem::remove(path());
  std::filesystem::rename(path() + ".away", path());
  execute(fmt::format("PRAGMA user_version = {}", kNewestStoreVersion + 1).c_str());
  expect_refused(ErrorCode::kVerificationFailed, "use a newer program");
  execute("PRAGMA user_version = 1");
  expect_good(spend(*value_of(open()), "again"));
  execute("ALTER TABLE head RENAME TO tail");
  expect_refused(ErrorCode::kVerificationFailed, "no such table: head");
  execute("ALTER TABLE tail RENAME TO head; ALTER TABLE entries RENAME COLUMN hash TO mash");
  expect_refused(ErrorCode::kVerificationFailed, "no such column: hash");
}

TEST_F(FaultsTest, NoticesATruncatedFile) {
  for (std::size_t size = 0; size < ledger_.size(); size += size % 4096 == 0 ? 100U : 1996U) {
    SCOPED_TRACE(size);
    put_back();
    overwrite(path(), ledger_.substr(0, size));
    EXPECT_FALSE(verified().findings.empty());
    // The last page holds answers. Its loss is found, but does not prevent writes.
    if (size <= ledger_.size() - 4096) expect_no_writes("");
  }
  put_back();
  expect_good(spend(*value_of(open()), "again"));
}

// --- Damage ----------------------------------------------------------------------------------------------------------

class DamageTest : public FaultsTest {
 protected:
  // Flips a bit of every `stride`-th byte. Verification finds it, and names the entry if it is in one; or the flip has
  // changed nothing.
  void flip_bytes(std::size_t stride) {
    const Content good = value_of(content_of_ledger(path()));
    std::vector<std::optional<std::uint64_t>> entry_at(ledger_.size());
    for (std::size_t i = 0; i < good.texts.size(); ++i) {
      const std::size_t from = ledger_.find(good.texts[i]);
      ASSERT_NE(from, std::string::npos);
      ASSERT_EQ(ledger_.find(good.texts[i], from + 1), std::string::npos);
      // The hash follows the text.
      for (std::size_t at = from; at < from + good.texts[i].size() + kDigestBytes; ++at) entry_at[at] = i;
    }
    std::size_t found = 0;
    std::size_t harmless = 0;
    for (std::size_t at = 0; at < ledger_.size() && !HasFailure(); at += stride) {
      SCOPED_TRACE(::testing::Message() << "byte " << at);
      put_back();
      std::string damaged = ledger_;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at / stride % 8)));
      overwrite(path(), damaged);
      const Result<VerifyReport> report = verify_ledger(path(), {});
      const bool is_found = !report.has_value() || !report.value().findings.empty();
      (is_found ? found : harmless) += 1;
      if (entry_at[at]) {
        ASSERT_TRUE(report.has_value());
        bool named = false;
        for (const VerifyFinding& one : report.value().findings) named = named || one.entry == entry_at[at];
        EXPECT_TRUE(named) << "entry " << *entry_at[at] << " was hit: " << text_of(report.value());
        EXPECT_FALSE(open().has_value());
      } else if (!is_found) {
        const Result<Content> content = content_of_ledger(path());
        ASSERT_TRUE(content.has_value()) << content.error().message;
        EXPECT_TRUE(content.value() == good);
        // A write either succeeds and keeps all earlier entries, or it is refused.
        const Result<std::unique_ptr<Ledger>> ledger = open();
        const Result<void> spent = ledger.has_value() ? spend(*ledger.value(), "after") : ledger.error();
        if (spent.has_value()) {
          expect_clean(path());
        } else {
          EXPECT_TRUE(spent.error().code == ErrorCode::kVerificationFailed || spent.error().code == ErrorCode::kIo);
        }
      }
    }
    EXPECT_GT(found, ledger_.size() / stride / 10);
    EXPECT_GT(harmless, 0U);
  }

  // Does the same to the log. The fence has seen every entry in it.
  void damage_log(std::size_t stride) {
    leave_a_log(3);
    const std::string log = content_of(path() + "-wal");
    const std::string main = content_of(path());
    const std::string fence = content_of(fence_path());
    const Content good = value_of(content_of_ledger(path()));
    const auto with_log = [&](const std::optional<std::string>& damaged) {
      for (const char* beside : {"-wal", "-shm"}) std::filesystem::remove(path() + beside);
      overwrite(path(), main);
      overwrite(fence_path(), fence);
      if (damaged) overwrite(path() + "-wal", *damaged);
    };
    const auto check = [&] {
      const VerifyReport report = verified();
      if (report.findings.empty()) {
        EXPECT_TRUE(value_of(content_of_ledger(path())) == good);
        return false;
      }
      EXPECT_TRUE(report.findings.front().entry.has_value()) << text_of(report);
      expect_no_writes("");
      return true;
    };
    // The log as it is.
    with_log(log);
    EXPECT_FALSE(check());
    // The log is gone.
    with_log(std::nullopt);
    EXPECT_TRUE(check());
    expect_found(10, "rolled back");
    expect_no_writes("rolled back");
    for (std::size_t at = 0; at < log.size() && !HasFailure(); at += stride) {
      SCOPED_TRACE(::testing::Message() << "byte " << at);
      std::string damaged = log;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at / stride % 8)));
      with_log(damaged);
      EXPECT_TRUE(check()) << "a damaged log was taken for a whole one";
      with_log(log.substr(0, at));
      EXPECT_TRUE(check()) << "a cut log was taken for a whole one";
    }
    with_log(log);
    expect_good(spend(*value_of(open()), "again"));
  }
};
using SlowDamageTest = DamageTest;

TEST_F(DamageTest, FindsDamageToSomeBytesOfTheFile) { flip_bytes(29); }
TEST_F(SlowDamageTest, FindsDamageToAnyByteOfTheFile) { flip_bytes(1); }
TEST_F(DamageTest, FindsDamageToSomeBytesOfTheLog) { damage_log(211); }
TEST_F(SlowDamageTest, FindsDamageToAnyByteOfTheLog) { damage_log(1); }

// No query meets this damage, but the next write might.
TEST_F(FaultsTest, FindsDamageThatOnlyTheDatabaseCanSee) {
  const std::size_t page = ledger_.find(value_of(content_of_ledger(path())).texts[3]) / 4096 * 4096;
  std::string damaged = ledger_;
  damaged[page + 7] = 50;  // its count of unused bytes
  overwrite(path(), damaged);
  expect_found(std::nullopt, "ragmentation");
  put_back();
  expect_good(spend(*value_of(open()), "again"));
}

// --- The fence -------------------------------------------------------------------------------------------------------

TEST_F(FaultsTest, RefusesToWriteWithoutAFence) {
  const auto live = value_of(open());
  std::filesystem::remove(fence_path());
  expect_error(live->reserve(request("trial", "x", pure(0.125))), ErrorCode::kVerificationFailed, "no fence beside it");
  expect_no_writes("no fence beside it");
  expect_clean(path());  // a copy may be read
  EXPECT_EQ(verified().entries, 10U);
  expect_good(value_of(open())->adopt("the fence was lost"));
  expect_good(spend(*value_of(open()), "again"));
  // A process that had the ledger open all the time continues under the new fence, and moves it on.
  expect_good(spend(*live, "and again"));
  EXPECT_EQ(value_of(FenceFile(path()).read(FenceFile::Use::kLook))->sequence, verified().entries - 1);
}

TEST_F(FaultsTest, AcceptsAFenceThatIsBehind) {
  const std::string then = fence_;
  expect_good(spend(*value_of(open()), "again"));
  overwrite(fence_path(), then);
  expect_clean(path());
  expect_good(spend(*value_of(open()), "and again"));
  EXPECT_NE(content_of(fence_path()), then);
  // The current fence reveals an older file.
  overwrite(path(), ledger_);
  expect_found(10, "rolled back");
  expect_no_writes("rolled back");
}

TEST_F(FaultsTest, RefusesToWriteBesideADamagedFence) {
  for (std::size_t at = 0; at < fence_.size(); ++at) {
    std::string damaged = fence_;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    overwrite(fence_path(), damaged);
    const Result<std::optional<Fence>> read = FenceFile(path()).read(FenceFile::Use::kLook);
    expect_error(read, ErrorCode::kVerificationFailed, "is damaged");
  }
  for (const std::string& text : {std::string(), fence_.substr(0, 511), fence_ + " ", std::string(512, '\0')}) {
    overwrite(fence_path(), text);
    expect_found(std::nullopt, "is damaged");
    expect_no_writes("is damaged");
  }
  put_back();
  expect_good(spend(*value_of(open()), "again"));
}

TEST_F(FaultsTest, NeverMovesAFenceBack) {
  const FenceFile file(path());
  Fence fence = value_of(file.read(FenceFile::Use::kLook)).value();
  const std::uint64_t now = fence.sequence;
  fence.sequence = now - 1;  // a writer that was overtaken
  expect_good(file.advance(fence));
  EXPECT_EQ(value_of(file.read(FenceFile::Use::kLook))->sequence, now);
  fence.sequence = now + 1;
  expect_good(file.advance(fence));
  EXPECT_EQ(value_of(file.read(FenceFile::Use::kLook))->sequence, now + 1);
}

TEST_F(FaultsTest, RecognisesACopy) {
  const std::string copy = place_.path("copy.ledger");
  std::filesystem::copy_file(path(), copy);
  std::filesystem::copy_file(fence_path(), copy + ".fence");
  const auto ledger = value_of(Ledger::open(copy, key(), {}));
  expect_error(ledger->reserve(request("trial", "x", pure(0.125))), ErrorCode::kVerificationFailed, "is a copy");
  expect_clean(copy);
  // The original is not affected.
  expect_good(spend(*value_of(open()), "again"));
}

TEST_F(FaultsTest, RefusesAFileThatWasReplacedWhileOpen) {
  const auto live = value_of(open());
  expect_good(spend(*live, "again"));
  std::filesystem::rename(path(), path() + ".away");
  overwrite(path(), ledger_);
  expect_error(spend(*live, "x"), ErrorCode::kIo, "moved or replaced");
  std::filesystem::rename(path() + ".away", path());
  expect_good(spend(*live, "y"));
}

// --- Clocks, witnesses, other writers --------------------------------------------------------------------------------

TEST_F(FaultsTest, RefusesAClockThatGoesBack) {
  TimeMs now = 4'000'000'000'000;
  LedgerOptions options;
  options.clock = [&] { return now; };
  const auto ledger = value_of(open(options));
  expect_good(spend(*ledger, "a"));
  const std::uint64_t before = verified().entries;
  for (const TimeMs back : {TimeMs{10'000}, TimeMs{3'600'000}, TimeMs{4'000'000'000'000}}) {
    now = 4'000'000'000'000 - back;
    expect_error(ledger->reserve(request("trial", "b", pure(0.125))), ErrorCode::kIo, "set it right");
    expect_error(ledger->create_budget(terms("b", 1, 0, Rule::kBasic)), ErrorCode::kIo, "set it right");
  }
  EXPECT_EQ(verified().entries, before);
  now = 4'000'000'000'000;
  expect_good(spend(*ledger, "b"));
  expect_clean(path());
}

TEST_F(FaultsTest, RefusesAWitnessThatCannotBeReadOrWritten) {
  LedgerOptions options;
  options.witness = place_.path("nowhere/witness.json");
  expect_error(value_of(open(options))->reserve(request("trial", "x", pure(0.125))), ErrorCode::kIo, "witness");
  options.witness = place_.path("witness.json");
  expect_error(value_of(open(options))->reserve(request("trial", "x", pure(0.125))), ErrorCode::kIo, "witness");
  overwrite(options.witness, "{}");
  expect_error(value_of(open(options))->reserve(request("trial", "x", pure(0.125))), ErrorCode::kVerificationFailed,
               "witness");
  EXPECT_EQ(verified().entries, 10U);
  expect_good(write_witness(options.witness, value_of(value_of(open())->witness())));
  expect_good(spend(*value_of(open(options)), "again"));
}

TEST_F(FaultsTest, GivesUpWhenAnotherWriterKeepsTheLock) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  LedgerOptions options;
  options.busy_ms = 20;
  const auto ledger = value_of(open(options));
  expect_error(spend(*ledger, "x"), ErrorCode::kIo, "held by another process");
  sqlite3_close(db);
  expect_good(spend(*ledger, "x"));
}

// A configuration that a caller passes in must not be able to end the process.
TEST_F(FaultsTest, RefusesADeepConfiguration) {
  ReserveRequest asked = request("trial", "deep", pure(0.125));
  const std::size_t depth = 30'000;
  asked.note.configuration = "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
  expect_error(value_of(open())->reserve(asked), ErrorCode::kInvalidArgument, "configuration");
  asked.note.configuration = "{\"a\":" + std::string(30, '[') + std::string(30, ']') + "}";
  EXPECT_TRUE(value_of(open())->reserve(asked).has_value());
}

}  // namespace
}  // namespace noisefloor
