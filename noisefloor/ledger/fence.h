// The fence beside a ledger's file: which file it is, and how far it has come.
//
// A database file that is put back from a backup, or whose log was deleted, is a perfectly good file with fewer entries.
// The fence is a small file of its own (NAME.fence) that says how many entries there were at least. It also names the file
// by its inode and time of birth, so that a copy of ledger and fence together is known for a copy.
//
// Guarantee:     never ahead of the ledger: it is written after the commit, and not waited for. After a crash of the machine it
//                may be behind, which makes it weaker and never wrong. Writers that finish out of order do not set it back.
// Thread safety: all members may be called from several threads, and several processes may write it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/entry.h"

namespace noisefloor {

// What tells one file from its copies.
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
};

class FenceFile {
 public:
  explicit FenceFile(const std::string& ledger_path) : path_(ledger_path + ".fence") {}

  // What it is read for. One that cannot be moved on later is an error for a writer.
  enum class Use : std::uint8_t { kLook, kWrite };
  // Nothing if there is no file; kVerificationFailed if it cannot be read as a fence.
  [[nodiscard]] Result<std::optional<Fence>> read(Use use) const;
  // Makes the file durably, over whatever is there.
  [[nodiscard]] Result<void> create(const Fence& fence) const;
  // Moves the fence that is there on, unless another writer has moved it further.
  [[nodiscard]] Result<void> advance(const Fence& fence) const;

 private:
  std::string path_;
};

}  // namespace noisefloor
