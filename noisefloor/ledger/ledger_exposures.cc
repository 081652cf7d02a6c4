#include <algorithm>
#include <utility>

#include "noisefloor/ledger/ledger_batch.h"

namespace noisefloor {

Result<std::uint64_t> Ledger::expose(const ExposureEntry& exposure) {
  std::uint64_t sequence = 0;
  const auto find_earlier = [&](const LedgerState& state) {
    const std::optional<std::uint64_t> earlier = state.find_exposure(exposure);
    if (!earlier) return false;
    sequence = *earlier;
    return true;
  };
  NF_TRY_VOID(write([&](Batch& batch) -> Result<void> {
    // A dataset that was retired since is refused again, and not answered from the record.
    const LedgerState::Dataset* const dataset = batch.state().find_dataset(exposure.dataset);
    const bool open = dataset != nullptr && !dataset->retired && !dataset->is_public() &&
                      batch.state().check_open(*batch.state().find(dataset->budget)).has_value();
    if (open && find_earlier(batch.state())) return success();
    NF_TRY(sequence, batch.append(exposure));
    return success();
  }));
  return sequence;
}

Result<void> Ledger::rehearse(const ExposureEntry& exposure) {
  NF_TRY(const TimeMs time, now());
  return read([&](const LedgerState& state) -> Result<void> {
    if (state.find_exposure(exposure)) return success();
    LedgerState after = state;
    return after.apply_new({state.next_sequence(), std::max(time, state.last_time()), exposure, author()});
  });
}

Result<void> Ledger::keep_exposed(std::uint64_t exposure, const Digest& release) {
  return write([&](Batch& batch) -> Result<void> {
    const auto& all = batch.state().exposures();
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.entry == exposure; });
    const bool known = found != all.end() &&
                       std::find(found->releases.begin(), found->releases.end(), release) != found->releases.end();
    if (known) return success();
    NF_TRY_VOID(batch.append(ExposedEntry{exposure, release}));
    return success();
  });
}

Result<std::optional<std::string>> Ledger::private_owner(const RowSketch& rows) {
  std::optional<std::string> owner;
  NF_TRY_VOID(write([&](Batch& batch) -> Result<void> {
    NF_TRY(const std::optional<DatasetConflict> conflict, find_owner(batch, "", true, std::nullopt, rows));
    if (conflict) owner = conflict->owner;
    return success();
  }));
  return owner;
}

}  // namespace noisefloor
