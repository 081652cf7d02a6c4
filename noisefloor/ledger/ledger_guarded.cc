// What a ledger does with its guards: adoptions, witnesses, and whether it was rolled back.
#include <fmt/format.h>

#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/ledger/guards.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/ledger/ledger_batch.h"

namespace noisefloor {

Result<void> Ledger::adopt(const std::string& reason, Lost lost) {
  NF_TRY_VOID(check_name("the reason", reason));
  const auto work = [&](Batch& batch) -> Result<void> {
    NF_TRY_VOID(batch.append(AdoptEntry{batch.state().epoch() + 1, reason, batch.missing()}));
    return success();
  };
  return write_alone(work, Purpose::kAdoption, {.adopts = true, .gives_up = lost == Lost::kGivenUp});
}

Result<void> Ledger::add_witness(const std::string& place) {
  const WitnessEntry entry{full_place(place)};
  const auto work = [&](Batch& batch) -> Result<void> {
    NF_TRY_VOID(batch.append(entry));
    return success();
  };
  if (without_password(place) != place) {
    return invalid_argument(fmt::format(
        "the place {} of a witness holds a password, and the ledger would keep it for good: leave it out, and put it "
        "into ~/.pgpass",
        shown(place)));
  }
  return write_alone(work, Purpose::kOrdinary, {.joins = entry.place});
}

Result<void> Ledger::drop_witness(const std::string& place, const std::string& reason) {
  NF_TRY_VOID(check_name("the reason", reason));
  const WitnessEntry entry{full_place(place), reason};
  const auto work = [&](Batch& batch) -> Result<void> {
    NF_TRY_VOID(batch.append(entry));
    return success();
  };
  return write_alone(work, Purpose::kOrdinary, {.leaves = entry.place});
}

Result<void> Ledger::expect_current(Asked asked) {
  NF_TRY_VOID(read([](const LedgerState&) { return success(); }));
  const std::lock_guard lock(store_mutex_);
  NF_TRY(const std::vector<internal::Sighting> sightings, guards_->look(state_, asked == Asked::kWitnessesToo));
  NF_TRY(const std::unique_ptr<LedgerTransaction> transaction, store_->begin(LedgerStore::Mode::kRead));
  NF_TRY(const std::optional<Head> head, catch_up(*transaction));
  for (const internal::Sighting& one : sightings) {
    NF_TRY(const std::optional<std::string> doubt, internal::doubt_of(one, *transaction, state_, *head));
    if (!doubt) continue;
    return verification_failed(fmt::format(
        "the ledger {}: {}{}", shown(store_->place()), *doubt,
        one.seen ? ". If this is now the only copy, run `budget verify` with a witness and then `budget adopt`" : ""));
  }
  return success();
}

}  // namespace noisefloor
