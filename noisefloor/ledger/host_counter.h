// A counter on this machine, outside of the ledger's folder: how many entries a ledger has had.
//
// A folder that is copied away and copied back brings its fence along, and both say that nothing happened in between.
// The counter is somewhere else, one small file for each ledger, and keeps what it has seen. It works for ledgers in
// databases as well: a dump that is restored has fewer entries than the counter.
//
// Guarantee:     the counter is never ahead of the ledger: it is moved on after the commit. It is durable when it is
//                made, and nobody waits for the disk when it is moved on: after a crash of the machine it may be
//                behind, which makes it weaker and never wrong. Writers that finish out of order do not set it back.
// Not promised:  anything against someone who also restores or deletes the folder of the counters. The fence notices
//                that the counter alone was deleted.
// Thread safety: all members may be called from several threads, and several processes may move the counter on.
#pragma once

#include <optional>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/seen.h"

namespace noisefloor {

// Where counters are kept.
struct CounterPlaces {
  std::string folder;      // of the files; empty: there are none
  bool in_kernel = false;  // whether the kernel keeps one as well (kernel_counter.h)
  friend bool operator==(const CounterPlaces&, const CounterPlaces&) = default;
};

// NOISEFLOOR_STATE_DIR, where "none" stands for no counters; else $XDG_STATE_HOME/noisefloor; else
// $HOME/.local/state/noisefloor; else, for root, /var/lib/noisefloor. The kernel keeps a counter unless
// NOISEFLOOR_STATE_DIR is set. kIo, with the remedy, where none of these says a place.
[[nodiscard]] Result<CounterPlaces> counter_places_by_environment();

class HostCounter {
 public:
  HostCounter(const std::string& folder, const Digest& ledger);

  [[nodiscard]] const std::string& path() const { return path_; }
  // Tells this counter from those of other users, machines and folders: 16 hexadecimal digits. The fence keeps it.
  [[nodiscard]] const std::string& mark() const { return mark_; }

  // For a writer, a counter that could not be moved on later is an error.
  enum class Use : std::uint8_t { kLook, kWrite };
  // Returns nothing if there is no counter, and kVerificationFailed if the file cannot be read as one. For a writer the
  // folder is made.
  [[nodiscard]] Result<std::optional<Seen>> read(Use use) const;
  // Makes the counter, or moves it on unless another writer has moved it further.
  [[nodiscard]] Result<void> advance(const Seen& seen) const;
  // Puts the counter to this, also if that is back, and durably: the ledger was adopted.
  [[nodiscard]] Result<void> reset(const Seen& seen) const;

 private:
  std::string folder_;
  std::string path_;
  std::string mark_;
  Digest ledger_;
};

}  // namespace noisefloor
