#include "noisefloor/ledger/witness_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/ledger/file_lock.h"
#include "noisefloor/ledger/open_store.h"
#include "noisefloor/ledger/postgres_witness.h"

namespace noisefloor {
namespace {

bool is_address(const std::string& place) { return place.find("://") != std::string::npos; }

class FileWitness final : public WitnessPlace {
 public:
  explicit FileWitness(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] std::string name() const override { return path_; }
  [[nodiscard]] Result<void> lock(const Digest& /*ledger*/) override {
    const std::string path = path_ + ".lock";
    lock_ = std::make_unique<FileLock>(path, O_RDWR | O_CREAT, LOCK_EX);
    if (lock_->is_held()) return success();
    return io_error(fmt::format("the lock {} of the witness could not be taken: {}. Nothing was written", shown(path),
                                std::strerror(errno)));
  }
  [[nodiscard]] Result<std::optional<Witness>> read(const Digest& /*ledger*/) override {
    std::error_code error;
    if (!std::filesystem::exists(path_, error) && !error) return std::optional<Witness>();
    NF_TRY(Witness witness, read_witness(path_));
    return std::optional(witness);
  }
  [[nodiscard]] Result<void> write(const Witness& witness) override { return write_witness(path_, witness); }
  void unlock() override { lock_.reset(); }

 private:
  std::string path_;
  std::unique_ptr<FileLock> lock_;
};

// Heads are kept beside the peer's file and not in it: SQLite has one lock for a whole file, and two ledgers that watch
// each other would wait for each other.
class PeerWitness final : public WitnessPlace {
 public:
  explicit PeerWitness(std::string peer) : peer_(std::move(peer)) {}

  [[nodiscard]] std::string name() const override { return peer_; }
  [[nodiscard]] Result<void> lock(const Digest& ledger) override {
    std::error_code error;
    std::filesystem::create_directories(folder(), error);
    if (error) {
      return io_error(
          fmt::format("the peer {} cannot keep heads: the folder {} could not be made: {}. Nothing was "
                      "written",
                      shown(peer_), shown(folder()), error.message()));
    }
    return file_of(ledger).lock(ledger);
  }
  [[nodiscard]] Result<std::optional<Witness>> read(const Digest& ledger) override {
    return file_of(ledger).read(ledger);
  }
  [[nodiscard]] Result<void> write(const Witness& witness) override {
    return file_of(witness.head.ledger).write(witness);
  }
  void unlock() override {
    if (file_) file_->unlock();
  }

 private:
  [[nodiscard]] std::string folder() const { return peer_ + ".witnessed"; }
  FileWitness& file_of(const Digest& ledger) {
    if (!file_ || ledger != ledger_) {
      ledger_ = ledger;
      file_ = std::make_unique<FileWitness>(folder() + "/" + to_hex(ledger) + ".witness");
    }
    return *file_;
  }

  std::string peer_;
  Digest ledger_{};
  std::unique_ptr<FileWitness> file_;
};

bool is_sqlite_file(const std::string& path) {
  std::string begin(15, '\0');
  std::ifstream(path, std::ios::binary).read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin == "SQLite format 3";
}

}  // namespace

std::string full_place(const std::string& place) {
  if (is_address(place)) return place;
  std::error_code error;
  const std::filesystem::path full = std::filesystem::weakly_canonical(place, error);
  return error ? place : full.string();
}

Result<std::unique_ptr<WitnessPlace>> open_witness_place(const std::string& place, const WitnessPlaceOptions& options) {
  if (place.starts_with("postgresql://") || place.starts_with("postgres://")) {
    return internal::open_postgres_witness(place, options);
  }
  if (is_address(place)) {
    return invalid_argument(fmt::format(
        "the place {} of a witness is of no known kind: name a file, or another ledger by its path or postgresql://…",
        shown(place)));
  }
  if (!is_sqlite_file(place)) return std::unique_ptr<WitnessPlace>(std::make_unique<FileWitness>(place));
  NF_TRY(const std::unique_ptr<LedgerStore> store, open_store(place, {.read_only = true, .busy_ms = options.busy_ms}));
  NF_TRY(const std::unique_ptr<LedgerTransaction> look, store->begin(LedgerStore::Mode::kRead));
  NF_TRY(const std::optional<Head> head, look->head());
  if (!head) return verification_failed(fmt::format("the peer {} has no entries", shown(place)));
  if (head->ledger == options.ledger) {
    return invalid_argument(fmt::format(
        "{} is this ledger, or a copy of it, and cannot be its own witness: name another ledger", shown(place)));
  }
  return std::unique_ptr<WitnessPlace>(std::make_unique<PeerWitness>(place));
}

}  // namespace noisefloor
