// A place that keeps the last signed head of a ledger, and that writers ask before they write.
//
// Whoever restores a ledger from a backup does not restore its witnesses, if these are somewhere else: a file on
// another mount, or another ledger, which keeps heads for its peers. A later kind of place, such as a server that is
// asked over HTTP, needs these same four operations.
//
// Guarantee:     between lock() and unlock() no other writer that asks the same place writes to the same ledger. What
//                was kept is never set back, except by the owner of the place.
// Requires:      lock() comes before read() and write() of a writer; a reader may read() without a lock.
// Errors:        kIo if the place cannot be reached; kVerificationFailed for what no program has written there.
// Thread safety: one owner at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/witness.h"

namespace noisefloor {

class WitnessPlace {
 public:
  WitnessPlace() = default;
  WitnessPlace(const WitnessPlace&) = delete;
  WitnessPlace& operator=(const WitnessPlace&) = delete;
  virtual ~WitnessPlace() = default;  // unlocks

  // The place for use in messages, without any password.
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual Result<void> lock(const Digest& ledger) = 0;
  // What it has seen of this ledger; nothing if it has not seen it. A place that keeps one head only returns that of
  // another ledger as well.
  [[nodiscard]] virtual Result<std::optional<Witness>> read(const Digest& ledger) = 0;
  // Keeps this head instead, durably.
  [[nodiscard]] virtual Result<void> write(const Witness& witness) = 0;
  virtual void unlock() = 0;
};

struct WitnessPlaceOptions {
  Digest ledger{};       // whose witness it is to be: a ledger cannot be the witness of itself
  int busy_ms = 60'000;  // how long to wait for other writers
};

// `place` is a file with one witness, whether it is there or not; a ledger in SQLite, beside which heads of its peers
// are kept in a folder NAME.witnessed; or postgresql://… with a ledger, which keeps them in a table. The peer's key is
// not needed.
[[nodiscard]] Result<std::unique_ptr<WitnessPlace>> open_witness_place(const std::string& place,
                                                                       const WitnessPlaceOptions& options);

// One place has one text: the path of a file begins with a slash.
[[nodiscard]] std::string full_place(const std::string& place);

}  // namespace noisefloor
