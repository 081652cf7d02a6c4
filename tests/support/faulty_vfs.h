// A file system for SQLite on which things go wrong: LedgerOptions::sqlite_vfs = FaultyVfs::kName.
//
// It passes everything on to the system's own, counts what is written (writes, syncs, truncations, deletions) and what
// is read, and at the operation it is armed for does what it was told: ends the process, or fails. Replayed by its
// seed.
//
// A power loss leaves, of all that was written since the last sync of a file, any part: every 512-byte sector of every
// write is there or not; files that are new to the folder may be gone and files that were deleted may be back, until
// the folder was synced; shared memory is gone; and the fence, which nobody syncs, is any of those that were written.
// The real disk is not synced: what counts is what this file system was asked to sync.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/random/bit_stream.h"
#include "noisefloor/random/uniform.h"

namespace noisefloor::testing {

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

// Keeps the file that is there, and with it the inode that the fence knows.
inline void overwrite(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

enum class Fault : std::uint8_t {
  kNone,
  kKill,       // SIGKILL before the operation; for a write also in the middle of it, as the seed says
  kPowerLoss,  // the machine stops before the operation
  kFull,       // writes say that the disk is full
  kIoError,    // writes, syncs, truncations and deletions fail
  kReadError,  // reads fail
};

class FaultyVfs {
 public:
  static constexpr const char* kName = "noisefloor-faulty";

  static FaultyVfs& instance() {
    static FaultyVfs* const one = new FaultyVfs;  // SQLite keeps it
    return *one;
  }
  FaultyVfs(const FaultyVfs&) = delete;
  FaultyVfs& operator=(const FaultyVfs&) = delete;

  // From now on, the operation number `at` (0, 1, …) is hit, and all later ones too if the fault is `lasting`.
  void arm(Fault fault, std::uint64_t at, bool lasting = true, std::uint64_t seed = 1) {
    const std::lock_guard lock(mutex_);
    fault_ = fault;
    at_ = at;
    lasting_ = lasting;
    seed_ = seed;
    writes_ = reads_ = 0;
    hit_ = false;
    keeping_ = fault == Fault::kPowerLoss;
  }
  void disarm() { arm(Fault::kNone, 0); }
  [[nodiscard]] std::uint64_t writes() const { return writes_; }
  [[nodiscard]] std::uint64_t reads() const { return reads_; }
  // Whether the workload came as far as the operation that was armed.
  [[nodiscard]] bool was_hit() const { return hit_; }

 private:
  static constexpr std::size_t kSector = 512;

  // One change of a file that was not synced yet.
  struct Change {
    std::size_t offset;
    std::string bytes;
    bool truncates;
  };
  struct Image {
    std::string synced;
    std::string now;
    std::vector<Change> since;  // between the two
  };
  struct File {
    sqlite3_file base;
    sqlite3_file* real;
    std::string* path;
    bool syncs_folder;  // with its first sync
  };

  FaultyVfs() : real_(sqlite3_vfs_find(nullptr)) {
    vfs_ = *real_;
    vfs_.zName = kName;
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.pNext = nullptr;
    vfs_.xOpen = open;
    vfs_.xDelete = remove;
    methods_.iVersion = 2;  // no memory-mapped reads
    methods_.xClose = close;
    methods_.xRead = read;
    methods_.xWrite = write;
    methods_.xTruncate = truncate;
    methods_.xSync = sync;
    methods_.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) { return of(f)->pMethods->xFileSize(of(f), size); };
    methods_.xLock = [](sqlite3_file* f, int level) { return of(f)->pMethods->xLock(of(f), level); };
    methods_.xUnlock = [](sqlite3_file* f, int level) { return of(f)->pMethods->xUnlock(of(f), level); };
    methods_.xCheckReservedLock = [](sqlite3_file* f, int* out) {
      return of(f)->pMethods->xCheckReservedLock(of(f), out);
    };
    methods_.xFileControl = [](sqlite3_file* f, int op, void* arg) {
      return of(f)->pMethods->xFileControl(of(f), op, arg);
    };
    methods_.xSectorSize = [](sqlite3_file* f) { return of(f)->pMethods->xSectorSize(of(f)); };
    methods_.xDeviceCharacteristics = [](sqlite3_file* f) { return of(f)->pMethods->xDeviceCharacteristics(of(f)); };
    methods_.xShmMap = [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
      return of(f)->pMethods->xShmMap(of(f), page, size, extend, out);
    };
    methods_.xShmLock = [](sqlite3_file* f, int offset, int n, int flags) {
      return of(f)->pMethods->xShmLock(of(f), offset, n, flags);
    };
    methods_.xShmBarrier = [](sqlite3_file* f) { of(f)->pMethods->xShmBarrier(of(f)); };
    methods_.xShmUnmap = [](sqlite3_file* f, int remove) { return of(f)->pMethods->xShmUnmap(of(f), remove); };
    if (sqlite3_vfs_register(&vfs_, 0) != SQLITE_OK) std::abort();
  }

  static sqlite3_file* of(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real; }
  static const std::string& path_of(sqlite3_file* file) { return *reinterpret_cast<File*>(file)->path; }

  static int open(sqlite3_vfs* /*vfs*/, const char* name, sqlite3_file* out, int flags, int* flags_out) {
    FaultyVfs& self = instance();
    auto* file = reinterpret_cast<File*>(out);
    *file = File{};
    file->real = reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(out) + sizeof(File));
    const bool is_new = name != nullptr && ::access(name, F_OK) != 0;
    const int code = self.real_->xOpen(self.real_, name, file->real, flags, flags_out);
    if (code != SQLITE_OK) return code;
    file->base.pMethods = &self.methods_;
    file->path = new std::string(name == nullptr ? "" : name);
    const bool journal = (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0;
    file->syncs_folder = journal && (flags & SQLITE_OPEN_CREATE) != 0;
    const std::lock_guard lock(self.mutex_);
    if (!self.keeping_ || name == nullptr) return SQLITE_OK;
    self.images_.try_emplace(*file->path, Image{content_of(*file->path), content_of(*file->path), {}});
    if (is_new) self.new_names_.insert(*file->path);
    return SQLITE_OK;
  }

  static int close(sqlite3_file* file) {
    delete reinterpret_cast<File*>(file)->path;
    return of(file)->pMethods->xClose(of(file));
  }

  static int read(sqlite3_file* file, void* into, int size, sqlite3_int64 offset) {
    FaultyVfs& self = instance();
    {
      const std::lock_guard lock(self.mutex_);
      const bool now = self.due(self.reads_++, Fault::kReadError);
      if (now && self.fault_ == Fault::kReadError) return SQLITE_IOERR_READ;
    }
    return of(file)->pMethods->xRead(of(file), into, size, offset);
  }

  static int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 offset) {
    FaultyVfs& self = instance();
    const std::lock_guard lock(self.mutex_);
    const std::string_view bytes(static_cast<const char*>(from), static_cast<std::size_t>(size));
    if (self.strike()) {
      if (self.fault_ == Fault::kKill && self.seed_ % 2 == 1) {
        static_cast<void>(of(file)->pMethods->xWrite(of(file), from, size / 2, offset));
      }
      if (self.fault_ == Fault::kPowerLoss)
        self.note(file, {static_cast<std::size_t>(offset), std::string(bytes), false});
      self.stop();
      return self.fault_ == Fault::kFull ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    }
    self.note(file, {static_cast<std::size_t>(offset), std::string(bytes), false});
    return of(file)->pMethods->xWrite(of(file), from, size, offset);
  }

  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    FaultyVfs& self = instance();
    const std::lock_guard lock(self.mutex_);
    if (self.strike()) {
      self.stop();
      if (self.fault_ != Fault::kFull) return SQLITE_IOERR_TRUNCATE;
    }
    self.note(file, {static_cast<std::size_t>(size), {}, true});
    return of(file)->pMethods->xTruncate(of(file), size);
  }

  static int sync(sqlite3_file* file, int /*flags*/) {
    FaultyVfs& self = instance();
    const std::lock_guard lock(self.mutex_);
    if (self.strike()) {
      self.stop();
      if (self.fault_ != Fault::kFull) return SQLITE_IOERR_FSYNC;
    }
    if (!self.keeping_) return SQLITE_OK;
    Image& image = self.images_[path_of(file)];
    image.synced = image.now;
    image.since.clear();
    bool& first = reinterpret_cast<File*>(file)->syncs_folder;
    if (first) self.sync_folder();
    first = false;
    return SQLITE_OK;
  }

  static int remove(sqlite3_vfs* /*vfs*/, const char* name, int sync_folder) {
    FaultyVfs& self = instance();
    const std::lock_guard lock(self.mutex_);
    if (self.strike()) {
      self.stop();
      if (self.fault_ != Fault::kFull) return SQLITE_IOERR_DELETE;
    }
    if (self.keeping_ && ::access(name, F_OK) == 0) {
      self.deleted_[name] = self.images_[name].synced;
      self.images_.erase(name);
      self.new_names_.erase(name);
    }
    const int code = self.real_->xDelete(self.real_, name, 0);
    if (self.keeping_ && sync_folder != 0) self.sync_folder();
    return code;
  }

  // Whether operation `number` of this kind is to fail.
  bool due(std::uint64_t number, Fault kind) {
    const bool of_this_kind = (fault_ == Fault::kReadError) == (kind == Fault::kReadError) && fault_ != Fault::kNone;
    if (!of_this_kind || number < at_ || (number > at_ && !lasting_)) return false;
    hit_ = true;
    return true;
  }
  bool strike() {
    if (keeping_) keep_fence();
    return due(writes_++, fault_ == Fault::kReadError ? Fault::kNone : fault_);
  }

  void note(sqlite3_file* file, Change change) {
    if (!keeping_) return;
    Image& image = images_[path_of(file)];
    apply(change, image.now, [] { return true; });
    image.since.push_back(std::move(change));
  }
  // Those sectors of a change that survive.
  template <class Survives>
  static void apply(const Change& change, std::string& content, const Survives& survives) {
    if (change.truncates) {
      if (survives()) content.resize(change.offset, '\0');
      return;
    }
    for (std::size_t done = 0; done < change.bytes.size();) {
      const std::size_t at = change.offset + done;
      const std::size_t size = std::min(change.bytes.size() - done, kSector - at % kSector);
      if (survives()) {
        if (content.size() < at + size) content.resize(at + size, '\0');
        content.replace(at, size, change.bytes, done, size);
      }
      done += size;
    }
  }
  void sync_folder() {
    new_names_.clear();
    deleted_.clear();
  }

  // Fences that were written and may be what a power loss leaves.
  void keep_fence() {
    for (const auto& [path, image] : images_) {
      if (path.ends_with("-wal") || path.ends_with("-journal")) continue;
      const std::string now = content_of(path + ".fence");
      std::vector<std::string>& known = fences_[path + ".fence"];
      if (!now.empty() && (known.empty() || known.back() != now)) known.push_back(now);
    }
  }

  // Ends the process, if that is the fault.
  void stop() {
    if (fault_ == Fault::kPowerLoss) lose_power();
    if (fault_ == Fault::kKill || fault_ == Fault::kPowerLoss) ::kill(::getpid(), SIGKILL);
  }

  void lose_power() {
    ReplayRandom random = ReplayRandom::create(seed_).value();
    const auto coin = [&] { return fair_coin(random); };
    for (const auto& [path, image] : images_) {
      ::unlink((path + "-shm").c_str());
      if (new_names_.contains(path) && coin()) {
        ::unlink(path.c_str());
        continue;
      }
      // Often nothing, or all, of what was not synced gets to the disk; otherwise any part of it.
      const std::uint64_t how = uniform_below(random, 4);
      const auto survives = [&] { return how == 0 ? false : how == 1 ? true : coin(); };
      std::string content = image.synced;
      for (const Change& change : image.since) apply(change, content, survives);
      overwrite(path, content);
    }
    for (const auto& [path, content] : deleted_) {
      if (!images_.contains(path) && coin()) overwrite(path, content);
    }
    for (const auto& [path, versions] : fences_) {
      if (!versions.empty()) overwrite(path, versions[uniform_below(random, versions.size())]);
    }
  }

  sqlite3_vfs* real_;
  sqlite3_vfs vfs_{};
  sqlite3_io_methods methods_{};

  std::mutex mutex_;
  Fault fault_ = Fault::kNone;
  std::uint64_t at_ = 0;
  bool lasting_ = true;
  std::uint64_t seed_ = 1;
  std::uint64_t writes_ = 0;
  std::uint64_t reads_ = 0;
  bool hit_ = false;
  bool keeping_ = false;
  std::map<std::string, Image> images_;
  std::set<std::string> new_names_;
  std::map<std::string, std::string> deleted_;
  std::map<std::string, std::vector<std::string>> fences_;
};

}  // namespace noisefloor::testing
