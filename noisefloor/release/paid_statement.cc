#include "noisefloor/release/paid_statement.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "noisefloor/event/json.h"

namespace noisefloor {
namespace {

Result<void> expect_paid(const LedgerState& state, const std::string& budget,
                         std::span<const std::uint64_t> reservations) {
  for (const std::uint64_t sequence : reservations) {
    const LedgerState::Spend* found = state.find_spend(sequence);
    if (found == nullptr || found->status == SpendStatus::kAborted) {
      return verification_failed(
          fmt::format("the ledger has no reservation {}, with which the certificate says it was paid", sequence));
    }
    if (state.budgets()[found->budget].terms->name != budget) {
      return verification_failed(
          fmt::format("reservation {} belongs to another budget than the certificate says", sequence));
    }
  }
  return success();
}

Result<DpEvent> reserved_event(Ledger& ledger, std::uint64_t sequence) {
  NF_TRY(const Entry entry, ledger.entry(sequence));
  const auto* reserve = std::get_if<ReserveEntry>(&entry.body);
  if (reserve == nullptr) return verification_failed(fmt::format("entry {} is not a reservation", sequence));
  return parse_event(reserve->event);
}

}  // namespace

Result<DpStatement> paid_statement(Ledger& ledger, const std::string& budget,
                                   std::span<const std::uint64_t> reservations,
                                   const std::optional<StartPoint>& start) {
  if (reservations.empty()) return verification_failed("the certificate names no reservation that paid");
  const auto expect_own = [&](const LedgerState& state) { return expect_paid(state, budget, reservations); };
  const auto expect_start = [&](const LedgerState& state) {
    return expect_paid(state, start->budget, start->reservations);
  };
  NF_TRY_VOID(ledger.read(expect_own));
  if (start) NF_TRY_VOID(ledger.read(expect_start));
  NF_TRY(const LedgerState::Budget paying, ledger.budget(budget));
  std::vector<DpStatement> parts;
  for (const std::uint64_t sequence : reservations) {
    NF_TRY(DpEvent event, reserved_event(ledger, sequence));
    parts.push_back({paying.terms->adjacency, paying.terms->unit, std::move(event)});
  }
  if (start && start->counted) parts.push_back(*start->counted);
  return compose(parts);
}

}  // namespace noisefloor
