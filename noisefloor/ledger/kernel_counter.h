// A counter in the kernel's keyring of this user: how many entries a ledger has had, until the machine restarts.
//
// A home folder that is restored from a backup together with the ledger brings its counters (host_counter.h) along. The
// keyring is in no folder.
//
// Guarantee:     never ahead of the ledger: it is moved on after the commit. Where the kernel has no keyrings, does not
//                let this process use them (containers), or has no room, there is quietly no counter.
// Not promised:  anything after a restart of the machine, or after the last process of this user has ended. Two writers
//                that finish at the same moment may set it back by their own entries, which makes it weaker and never
//                wrong.
// Thread safety: all members may be called from several threads and processes.
#pragma once

#include <optional>
#include <string>

#include "noisefloor/ledger/seen.h"

namespace noisefloor {

class KernelCounter {
 public:
  explicit KernelCounter(const Digest& ledger);

  // Returns nothing if there is none.
  [[nodiscard]] std::optional<Seen> read() const;
  // Makes the counter, or moves it on unless another writer has moved it further.
  void advance(const Seen& seen) const;
  // Puts the counter to this, also if that is back: the ledger was adopted.
  void reset(const Seen& seen) const;
  // Removes it.
  void remove() const;

 private:
  std::string name_;
  Digest ledger_;
};

}  // namespace noisefloor
