// The fence beside a ledger's file: it records which file the ledger is, and how many entries it has had.
//
// A database file that is put back from a backup, or whose log was deleted, is a perfectly good file with fewer
// entries. The fence is a small file of its own (NAME.fence) that says how many entries there were at least. It also
// names the ledger's file by its inode and time of birth, so that a copy of ledger and fence together is recognised as
// a copy.
//
// Guarantee:     the fence is never ahead of the ledger: it is written after the commit, and nobody waits until it is
//                on the disk. After a crash of the machine it may be behind, which makes it weaker and never wrong.
//                Writers that finish out of order do not set it back.
// Thread safety: all members may be called from several threads, and several processes may write the fence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/entry.h"

namespace noisefloor {

// Distinguishes a file from its copies.
struct FileIdentity {
  std::uint64_t inode;
  std::int64_t born_ns;  // 0 where the file system does not say
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

[[nodiscard]] Result<FileIdentity> identity_of(const std::string& path);

struct Fence {
  Digest ledger;
  FileIdentity file;
  std::uint64_t epoch;
  std::uint64_t sequence;
  Digest hash;
  // The counters of this ledger outside of its folder that were made (host_counter.h), the latest last: a counter that
  // is named here and is not there was deleted.
  std::vector<std::string> counters = {};
};

inline constexpr std::size_t kMaxFenceCounters = 5;

class FenceFile {
 public:
  explicit FenceFile(const std::string& ledger_path) : path_(ledger_path + ".fence") {}

  // Why the fence is read. For a writer, a fence that could not be moved on later is an error.
  enum class Use : std::uint8_t { kLook, kWrite };
  // Returns nothing if there is no file, and kVerificationFailed if the file cannot be read as a fence.
  [[nodiscard]] Result<std::optional<Fence>> read(Use use) const;
  // Makes the file durably, and replaces an earlier one.
  [[nodiscard]] Result<void> create(const Fence& fence) const;
  // Moves the existing fence on, unless another writer has moved it further, and adds its counters to those that the
  // fence has. Only the latest five are kept.
  [[nodiscard]] Result<void> advance(const Fence& fence) const;

 private:
  std::string path_;
};

}  // namespace noisefloor
