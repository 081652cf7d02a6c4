// Recomputes the whole ledger and trusts nothing in it.
//
// Guarantee:     a report without findings means that every entry follows from the one before it, every entry was made
//                by its author (the first owner, whose key is in the first entry, or a member by the chain of roles),
//                who had the right to, every rule was kept at every entry, every charge is at least what the accountant
//                of this program finds for its event, every total and plan holds, every stored answer is the one that
//                was committed, every sketch of a dataset's rows is the one that was kept, and the fence, this
//                machine's counters and the given witnesses saw this history. Findings name their entry. A damaged
//                store is a finding too.
// Not promised:  that the events say what was really done, and without a witness, that no later entries are missing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/entry.h"
#include "noisefloor/ledger/host_counter.h"
#include "noisefloor/ledger/state.h"

namespace noisefloor {

struct VerifyFinding {
  std::optional<std::uint64_t> entry;
  std::string what;
};

struct VerifyReport {
  std::uint64_t entries = 0;
  std::uint64_t charges = 0;   // charges that were recomputed or known from an equal one
  std::uint64_t distinct = 0;  // charges that were recomputed
  std::uint64_t answers = 0;
  std::uint64_t sketches = 0;    // sketches of the rows of datasets
  std::uint64_t signatures = 0;  // of heads, which are kept from version 4 on
  std::vector<VerifyFinding> findings;
  std::uint64_t witnesses = 0;       // of those that the ledger's entries name: how many saw this history
  std::vector<std::string> unasked;  // which of them could not be asked, and why
  std::optional<Head> head;
  PublicKey key{};
  LedgerState state;  // up to the first finding
};

struct VerifyOptions {
  std::vector<std::string> witnesses;
  std::optional<PublicKey> key;  // the key that the ledger must have
  // Called now and then with the number of entries that were checked and the number of all entries.
  std::function<void(std::uint64_t, std::uint64_t)> progress;
  // Where this machine counts entries (host_counter.h). Nothing: as the environment says.
  std::optional<CounterPlaces> counters = {};
};

// Returns an error only if the ledger cannot be opened at all.
[[nodiscard]] Result<VerifyReport> verify_ledger(const std::string& location, const VerifyOptions& options);

}  // namespace noisefloor
