// Everything outside of a ledger's history that knows how far it had come: the fence, the counters of this machine, and
// witnesses. They are asked before every write, and moved on after it.
//
// Guarantee:     check() succeeds only if this is the file or database that the fence names, and the history has every
//                entry that the fence, the counters and the witnesses have seen. An adoption is the exception that its
//                change states. move_on() comes after the commit, so that nothing is ever ahead of the ledger.
// Thread safety: none.
//
// Internal to ledger/.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/fence.h"
#include "noisefloor/ledger/host_counter.h"
#include "noisefloor/ledger/kernel_counter.h"
#include "noisefloor/ledger/state.h"
#include "noisefloor/ledger/store.h"
#include "noisefloor/ledger/witness_place.h"

namespace noisefloor::internal {

struct GuardSettings {
  std::vector<std::string> witnesses;     // asked beside those that the ledger's entries name
  std::optional<CounterPlaces> counters;  // nothing: as the environment says
  int busy_ms;
};

// What a write is, as far as guards treat it in another way.
struct GuardedChange {
  bool adopts = false;
  bool gives_up = false;    // the adoption goes on although entries are missing that were seen
  std::string joins = {};   // a witness that is asked from this write on
  std::string leaves = {};  // a witness that is no longer asked
};

// What somebody says of a ledger.
struct Sighting {
  enum class By : std::uint8_t { kFence, kCounter, kWitness, kRegistered, kJoining };
  By by;
  std::string who;           // in words, as in "the counter X of this machine"
  std::optional<Seen> seen;  // nothing: a witness does not know the ledger
  std::optional<PublicKey> signer = {};
};

// The end of the history, for a witness to keep.
[[nodiscard]] Witness witness_of(const LedgerState& state, const Head& head, TimeMs time);

// What the counters of this machine have seen of a ledger. They are only read.
[[nodiscard]] Result<std::vector<Sighting>> counters_of(const std::optional<CounterPlaces>& places,
                                                        const Digest& ledger);

// What a witness that the ledger's entries name has seen of it.
[[nodiscard]] Result<Sighting> ask_registered(const std::string& name, const Digest& ledger);

// Says why the history does not hold what was seen, or nothing if it does. `head` is the end of the history.
[[nodiscard]] Result<std::optional<std::string>> doubt_of(const Sighting& sighting, LedgerTransaction& transaction,
                                                          const LedgerState& state, const Head& head);

// The error for a ledger that was seen, and is not there. `place` is where it should be.
[[nodiscard]] Error lost_ledger(const std::string& who, const Head& head, const std::string& place);

class Guards {
 public:
  // `file` is the path of a ledger that is a file; `place` names the ledger in messages.
  Guards(GuardSettings settings, std::optional<std::string> file, std::string place);
  ~Guards();

  // Before a write, within its transaction. Keeps witnesses locked until release(). `before` is null for a ledger that
  // is being made. Returns the last entry that was seen and is missing, for an adoption that gives it up.
  [[nodiscard]] Result<std::optional<std::uint64_t>> check(LedgerTransaction& transaction, const LedgerState& state,
                                                           const Head* before, const GuardedChange& change);
  // After the commit.
  [[nodiscard]] Result<void> move_on(const LedgerState& state, const Head& head, TimeMs time, bool makes_fence);
  void release();
  // Whether the database has no fence yet, as those of older programs. From check().
  [[nodiscard]] bool lacks_fence() const { return lacks_fence_; }
  // Call this when the history has to be read anew.
  void forget() { known_.reset(); }

  // For a reader: what the fence, the counters and, if they are asked, the witnesses have seen. Read this before the
  // history, because others may write in between.
  [[nodiscard]] Result<std::vector<Sighting>> look(const LedgerState& state, bool ask_witnesses);

 private:
  [[nodiscard]] Result<void> find_counters(const Digest& ledger);
  [[nodiscard]] Result<std::vector<Sighting>> ask_counters(bool writes, const std::optional<Fence>& fence, bool adopts);
  [[nodiscard]] Result<std::optional<Fence>> check_fence(LedgerTransaction& transaction, const LedgerState& state,
                                                         const Head& head, bool adopts,
                                                         std::vector<Sighting>& sightings);
  [[nodiscard]] Result<WitnessPlace*> place_of(const std::string& name, const Digest& ledger);
  [[nodiscard]] Result<void> lock_witnesses(const LedgerState& state, const Head* before, const GuardedChange& change,
                                            std::vector<Sighting>& sightings);

  GuardSettings settings_;
  std::optional<std::string> file_;
  std::string place_;
  std::optional<FenceFile> fence_;
  bool found_counters_ = false;
  std::optional<HostCounter> host_;
  std::optional<KernelCounter> kernel_;
  std::map<std::string, std::unique_ptr<WitnessPlace>> places_;
  std::vector<WitnessPlace*> locked_;
  std::optional<Seen> known_;  // is in the history: this object wrote it, or checked it
  bool lacks_fence_ = false;   // the database has none yet
};

}  // namespace noisefloor::internal
