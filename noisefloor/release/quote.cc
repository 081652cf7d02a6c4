#include "noisefloor/release/quote.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/ledger/what_fits.h"
#include "noisefloor/release/certificate.h"

namespace noisefloor {
namespace {

Result<void> expect_same_promise(const BudgetTerms& terms, const DpStatement& statement) {
  if (contains<NonPrivateEvent>(statement.event)) {
    return invalid_argument(
        "a result without noise, or with noise that can be repeated, is not private and cannot be released");
  }
  if (statement.adjacency == terms.adjacency && statement.unit == terms.unit) return success();
  return invalid_argument(fmt::format("the budget {} is about {} of one {}, and this use about {} of one {}",
                                      shown(terms.name), name_of(terms.adjacency), name_of(terms.unit),
                                      name_of(statement.adjacency), name_of(statement.unit)));
}

bool is_open_now(const BudgetTerms& terms) {
  const TimeMs now =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  return (!terms.from || now >= *terms.from) && (!terms.until || now < *terms.until);
}

struct EarlierUse {
  std::uint64_t reservation;
  SpendStatus status;
};
Result<std::optional<EarlierUse>> earlier_use(const ReserveRequest& request, Ledger& ledger) {
  std::optional<EarlierUse> found;
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    const auto sequence = state.find_key(request.budget, request.key);
    if (sequence) found = EarlierUse{*sequence, state.find_spend(*sequence)->status};
    return success();
  }));
  return found;
}

Quote of_earlier(Quote made, const EarlierUse& earlier) {
  made.reservation = earlier.reservation;
  made.fits = earlier.status == SpendStatus::kCommitted;
  if (!made.fits) {
    made.why_not = fmt::format("the key belongs to reservation {}, which is {}: use a new key", earlier.reservation,
                               name_of(earlier.status));
  }
  return made;
}

}  // namespace

Result<Quote> quote(const ReserveRequest& request, Ledger& ledger) {
  NF_TRY(LedgerState::Budget budget, ledger.budget(request.budget));
  NF_TRY_VOID(expect_same_promise(*budget.terms, request.statement));
  NF_TRY(const Interval epsilon, certified_epsilon(request.statement, request.delta.value_or(Delta::of(0))));
  NF_TRY(const Charge charge, charge_for(*budget.terms, request.statement.event, request.delta));
  Quote made{epsilon, budget.account.left()};
  NF_TRY(const std::optional<EarlierUse> earlier, earlier_use(request, ledger));
  if (earlier) return of_earlier(std::move(made), *earlier);
  if (!is_open_now(*budget.terms)) {
    made.why_not = fmt::format("the budget {} is not open at this time", shown(request.budget));
    return made;
  }
  Account after = budget.account;
  const Result<void> spent = after.spend(charge, request.item);
  made.fits = spent.has_value();
  if (made.fits) return made;
  if (spent.error().code != ErrorCode::kBudgetExhausted) return spent.error();
  made.why_not = spent.error().message;
  made.what_fits = what_fits(*budget.terms, budget.account, request.statement.event, request.delta);
  return made;
}

}  // namespace noisefloor
