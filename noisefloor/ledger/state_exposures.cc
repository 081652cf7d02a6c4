#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/ledger/state.h"

namespace noisefloor {

std::optional<std::uint64_t> LedgerState::find_exposure(const ExposureEntry& e) const {
  const auto found = std::find_if(exposures_.begin(), exposures_.end(), [&](const Exposure& one) {
    return one.kind == e.kind && one.what == e.what && one.key == e.key && datasets_[one.dataset].name == e.dataset;
  });
  if (found == exposures_.end()) return std::nullopt;
  return found->entry;
}

std::vector<LedgerState::Exposure> LedgerState::exposures_of(std::string_view budget, std::uint64_t before) const {
  const Budget* const payer = &payer_of(budget);
  std::vector<Exposure> found;
  for (const Exposure& one : exposures_) {
    if (one.entry < before && &payer_of(datasets_[one.dataset].budget) == payer) found.push_back(one);
  }
  return found;
}

const LedgerState::Exposure* LedgerState::exposure_that_made(const Digest& release) const {
  const auto found = std::find_if(exposures_.begin(), exposures_.end(), [&](const Exposure& one) {
    return std::find(one.releases.begin(), one.releases.end(), release) != one.releases.end();
  });
  return found == exposures_.end() ? nullptr : &*found;
}

Result<void> LedgerState::add(const Entry& entry, const ExposureEntry& e) {
  NF_TRY_VOID(check_name("the key", e.key));
  NF_TRY(const Dataset* const dataset, open_dataset(e.dataset));
  if (dataset->is_public()) {
    return invalid_argument(
        fmt::format("the dataset {} is public: nothing is exposed by looking at its rows", shown(e.dataset)));
  }
  NF_TRY_VOID(check_open(*find(dataset->budget)));
  if (const auto earlier = find_exposure(e)) {
    return invalid_argument(
        fmt::format("entry {} has recorded this exposure of the dataset {} already", *earlier, shown(e.dataset)));
  }
  exposures_.push_back(
      {entry.sequence, entry.time, static_cast<std::uint32_t>(dataset - datasets_.data()), e.kind, e.what, e.key});
  return success();
}

Result<void> LedgerState::add(const Entry& /*entry*/, const ExposedEntry& e) {
  const auto found =
      std::find_if(exposures_.begin(), exposures_.end(), [&](const Exposure& one) { return one.entry == e.exposure; });
  if (found == exposures_.end()) return invalid_argument(fmt::format("there is no exposure {}", e.exposure));
  if (std::find(found->releases.begin(), found->releases.end(), e.release) != found->releases.end()) {
    return invalid_argument(fmt::format("the ledger has this model of exposure {} already", e.exposure));
  }
  found->releases.push_back(e.release);
  return success();
}

}  // namespace noisefloor
