// Answers that were released, and may be given again: they cost nothing more.
#include <fmt/format.h>

#include <algorithm>

#include "noisefloor/ledger/ledger.h"

namespace noisefloor {
namespace {

template <class Body>
Result<Body> read_body(LedgerTransaction& transaction, std::uint64_t sequence) {
  NF_TRY(const std::optional<StoredEntry> stored, transaction.entry(sequence));
  if (stored) {
    NF_TRY(Entry entry, parse_entry(stored->text));
    if (auto* body = std::get_if<Body>(&entry.body)) return std::move(*body);
  }
  return verification_failed(
      fmt::format("entry {} is no longer what it was: restore the ledger from a copy", sequence));
}

}  // namespace

Result<void> Ledger::kept_answers(std::string_view budget, std::string_view technique,
                                  const std::function<Result<void>(const KeptAnswer&)>& take) {
  std::vector<KeptAnswer> found;
  NF_TRY_VOID(look([&](LedgerTransaction& transaction) -> Result<void> {
    NF_TRY(const LedgerState::Budget* const asked, state_.need(budget));
    const LedgerState::Budget* const payer = &state_.payer_of(asked->terms->name);
    NF_TRY(std::vector<std::uint64_t> answered, transaction.answered());
    std::sort(answered.begin(), answered.end());
    for (const std::uint64_t reservation : answered) {
      const LedgerState::Spend* const spend = state_.find_spend(reservation);
      if (spend == nullptr || spend->status != SpendStatus::kCommitted) continue;
      const std::string& name = state_.budgets()[spend->budget].terms->name;
      if (&state_.payer_of(name) != payer) continue;
      NF_TRY(ReserveEntry reserved, read_body<ReserveEntry>(transaction, reservation));
      const std::vector<std::string>& techniques = reserved.note.techniques;
      if (std::find(techniques.begin(), techniques.end(), technique) == techniques.end()) continue;
      NF_TRY(const CommitEntry commit, read_body<CommitEntry>(transaction, spend->settled));
      NF_TRY(std::optional<std::string> bytes, transaction.answer(reservation));
      if (!bytes || blake2b(*bytes) != commit.release) {
        return verification_failed(fmt::format(
            "the stored answer of reservation {} was altered: restore the ledger from a copy", reservation));
      }
      found.push_back(
          {reservation, name, std::move(reserved.key), std::move(reserved.note.configuration), *std::move(bytes)});
    }
    return success();
  }));
  for (const KeptAnswer& one : found) {
    NF_TRY_VOID(take(one));
  }
  return success();
}

}  // namespace noisefloor
