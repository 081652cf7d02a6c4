#include <fmt/format.h>

#include <algorithm>

#include "noisefloor/base/text.h"
#include "noisefloor/ledger/state.h"

namespace noisefloor {

Result<void> LedgerState::add(const Entry& /*entry*/, const WitnessEntry& e) {
  NF_TRY_VOID(check_name("the place of a witness", e.place));
  if (without_password(e.place) != e.place) {
    return invalid_argument(
        fmt::format("the place {} of a witness holds a password, and entries are kept for good: leave it out, and put "
                    "it into ~/.pgpass",
                    shown(e.place)));
  }
  const auto place = std::find(witnesses_.begin(), witnesses_.end(), e.place);
  if (e.dropped.empty()) {
    if (place != witnesses_.end()) {
      return invalid_argument(fmt::format("the ledger has the witness {} already", shown(e.place)));
    }
    witnesses_.push_back(e.place);
    return success();
  }
  NF_TRY_VOID(check_name("the reason", e.dropped));
  if (place == witnesses_.end()) {
    std::string known;
    for (const std::string& one : witnesses_) known += (known.empty() ? "" : ", ") + shown(one);
    return invalid_argument(fmt::format("the ledger has no witness {}; {}", shown(e.place),
                                        known.empty() ? "it has none at all" : "it has: " + known));
  }
  witnesses_.erase(place);
  return success();
}

bool LedgerState::has_given_up(std::uint64_t epoch, std::uint64_t sequence) const {
  return std::any_of(given_up_.begin(), given_up_.end(),
                     [&](const auto& adoption) { return adoption.first > epoch && adoption.second >= sequence; });
}

}  // namespace noisefloor
