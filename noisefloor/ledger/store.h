// Where the history is kept: the seam between the ledger and its databases. Two implementations, one test suite.
//
// Guarantee:     transactions are serialisable. A write transaction sees all that was committed before it began and excludes
//                every other writer. What commit() has reported as done survives a crash of the process, and of the machine
//                as far as the disk keeps its word. A transaction that goes without commit() leaves nothing.
// Errors:        kIo for what the database or the disk refuses, kVerificationFailed for content that cannot be.
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

  // Nothing in a ledger without entries.
  [[nodiscard]] virtual Result<std::optional<Head>> head() = 0;
  // All entries from `first` on, in order, up to `last`. Stops with the error of `take`.
  using Take = std::function<Result<void>(const StoredEntry&)>;
  [[nodiscard]] virtual Result<void> entries(std::uint64_t first, std::uint64_t last, const Take& take) = 0;
  // Nothing if there is none with this sequence.
  [[nodiscard]] Result<std::optional<StoredEntry>> entry(std::uint64_t sequence);
  // What was released for a reservation, if it was kept.
  [[nodiscard]] virtual Result<std::optional<std::string>> answer(std::uint64_t reservation) = 0;
  // The reservations whose answers are kept.
  [[nodiscard]] virtual Result<std::vector<std::uint64_t>> answered() = 0;

  // What is kept of the rows of a dataset by the entry with this sequence: sealed bytes, for holders of the ledger's key.
  [[nodiscard]] virtual Result<std::optional<std::string>> sketch(std::uint64_t entry) = 0;
  // The entries with such bytes.
  [[nodiscard]] virtual Result<std::vector<std::uint64_t>> sketched() = 0;

  // What the database itself finds wrong with the file that it is in, where it can tell.
  [[nodiscard]] virtual Result<void> check_file() { return success(); }

  [[nodiscard]] virtual Result<void> append(const StoredEntry& entry) = 0;
  [[nodiscard]] virtual Result<void> set_head(const Head& head) = 0;
  [[nodiscard]] virtual Result<void> keep_answer(std::uint64_t reservation, std::string_view answer) = 0;
  // The first one makes the store one of version 2, which programs that know of no datasets refuse to open.
  [[nodiscard]] virtual Result<void> keep_sketch(std::uint64_t entry, std::string_view sketch) = 0;
  [[nodiscard]] virtual Result<void> commit() = 0;
};

// Of what a store holds. Version 1 has no sketches.
inline constexpr std::uint64_t kStoreVersionWithSketches = 2;

struct StoreOptions {
  bool create = false;  // refused if there is one
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

  // Where it is, for messages: never a password.
  [[nodiscard]] virtual std::string place() const = 0;
  // The path, if it is a file.
  [[nodiscard]] virtual std::optional<std::string> file() const { return std::nullopt; }
};

}  // namespace noisefloor
