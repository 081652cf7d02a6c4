// The database that keeps the history: the interface between the ledger and its two implementations, which share one
// test suite.
//
// Guarantee:     transactions are serialisable. A write transaction sees all that was committed before it began and
//                excludes every other writer. Entries that commit() has reported as written survive a crash of the
//                process, and a crash of the machine as far as the disk keeps its promises. A transaction that is
//                destroyed without commit() leaves nothing.
// Errors:        kIo if the database or the disk refuses; kVerificationFailed for content that no ledger can have.
// Thread safety: one owner at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/entry.h"

namespace noisefloor {

struct StoredEntry {
  std::uint64_t sequence;
  std::string text;
  Digest hash;
};

class LedgerTransaction {
 public:
  LedgerTransaction() = default;
  LedgerTransaction(const LedgerTransaction&) = delete;
  LedgerTransaction& operator=(const LedgerTransaction&) = delete;
  virtual ~LedgerTransaction() = default;  // rolls back unless committed

  // Returns nothing for a ledger without entries.
  [[nodiscard]] virtual Result<std::optional<Head>> head() = 0;
  // Calls `take` with all entries from `first` to `last`, in order. Stops at the first error of `take`, and returns it.
  using Take = std::function<Result<void>(const StoredEntry&)>;
  [[nodiscard]] virtual Result<void> entries(std::uint64_t first, std::uint64_t last, const Take& take) = 0;
  // Returns nothing if there is no entry with this sequence.
  [[nodiscard]] Result<std::optional<StoredEntry>> entry(std::uint64_t sequence);
  // The released answer of a reservation, if it was kept.
  [[nodiscard]] virtual Result<std::optional<std::string>> answer(std::uint64_t reservation) = 0;
  // The reservations whose answers are kept.
  [[nodiscard]] virtual Result<std::vector<std::uint64_t>> answered() = 0;

  // The sketch of a dataset's rows that is kept for the entry with this sequence: sealed bytes, for holders of the
  // ledger's key.
  [[nodiscard]] virtual Result<std::optional<std::string>> sketch(std::uint64_t entry) = 0;
  // The entries for which a sketch is kept.
  [[nodiscard]] virtual Result<std::vector<std::uint64_t>> sketched() = 0;

  // Calls `take` with the signatures of heads that are kept for entries from `first` to `last`, in order. Stores before
  // version 4 keep none.
  using TakeSignature = std::function<Result<void>(std::uint64_t sequence, const Signature& signature)>;
  [[nodiscard]] virtual Result<void> signatures(std::uint64_t first, std::uint64_t last, const TakeSignature& take) = 0;

  // Asks the database to check its own file, if it can.
  [[nodiscard]] virtual Result<void> check_file() { return success(); }

  [[nodiscard]] virtual Result<void> append(const StoredEntry& entry) = 0;
  // From version 4 on, also keeps the signature for readers who come later.
  [[nodiscard]] virtual Result<void> set_head(const Head& head) = 0;
  [[nodiscard]] virtual Result<void> keep_answer(std::uint64_t reservation, std::string_view answer) = 0;
  // Raises the version to 2, that of the first stores with sketches.
  [[nodiscard]] virtual Result<void> keep_sketch(std::uint64_t entry, std::string_view sketch) = 0;
  // Makes room for what this version can hold. Programs that do not know it refuse to open the store from then on.
  // Changes nothing if the store has this version or a newer one.
  [[nodiscard]] virtual Result<void> raise_version(std::uint64_t version) = 0;
  // Gives a role of the database the rights that a member with this role needs, and ties it to the member's entries.
  // kInvalidArgument for databases that have no roles, and for roles that get past any rule.
  [[nodiscard]] virtual Result<void> allow(const std::string& database_role, const std::string& member, Role role);
  // Takes the rights from all roles of the database that are tied to this member.
  [[nodiscard]] virtual Result<void> disallow(const std::string& member);

  // The fence of a database that is not a file: which database it was when the ledger was made or adopted. Says why
  // this is another one, or nothing if it is the same, or if no fence was written yet.
  [[nodiscard]] virtual Result<std::optional<std::string>> find_moved() { return std::optional<std::string>(); }
  // Whether a fence has yet to be written, and may be.
  [[nodiscard]] virtual Result<bool> lacks_fence() { return false; }
  // Says that this database is the ledger from now on.
  [[nodiscard]] virtual Result<void> set_fence() { return success(); }
  [[nodiscard]] virtual Result<void> commit() = 0;
};

// The version of a store's content. Version 1 has no table of sketches. Versions 1 and 2 have no entries of the kind
// `clock`, and versions 1 to 3 none by roles, of exposures, of blocks or of witnesses.
inline constexpr std::uint64_t kStoreVersionWithSketches = 2;
inline constexpr std::uint64_t kStoreVersionWithClock = 3;
inline constexpr std::uint64_t kStoreVersionWithRoles = 4;
inline constexpr std::uint64_t kNewestStoreVersion = kStoreVersionWithRoles;

// The first version of a store that may hold entries with such a body.
[[nodiscard]] std::uint64_t store_version_of(const EntryBody& body);

struct StoreOptions {
  bool create = false;  // refused if there is one already
  bool read_only = false;
  int busy_ms = 60'000;  // how long to wait for another writer
  std::string vfs = {};  // SQLite's name of a file system; empty for the system's own. Tests put faults there.
};

class LedgerStore {
 public:
  LedgerStore() = default;
  LedgerStore(const LedgerStore&) = delete;
  LedgerStore& operator=(const LedgerStore&) = delete;
  virtual ~LedgerStore() = default;

  enum class Mode : std::uint8_t { kRead, kWrite };
  [[nodiscard]] virtual Result<std::unique_ptr<LedgerTransaction>> begin(Mode mode) = 0;

  // The location for use in messages, without any password.
  [[nodiscard]] virtual std::string place() const = 0;
  // The path, if the store is a file.
  [[nodiscard]] virtual std::optional<std::string> file() const { return std::nullopt; }
};

}  // namespace noisefloor
