#include "noisefloor/training/outlook.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "noisefloor/base/text.h"
#include "noisefloor/ledger/account.h"
#include "noisefloor/ledger/what_fits.h"

namespace noisefloor {
namespace {

// A budget on which uses are tried.
struct Trial {
  BudgetTerms terms;
  Account account;
};

Result<void> expect_same_neighbours(const ReserveRequest& use, const BudgetTerms& terms) {
  if (use.statement.adjacency == terms.adjacency && use.statement.unit == terms.unit) return success();
  return invalid_argument(fmt::format("the budget {} is for one {} under {}, and this use is for one {} under {}",
                                      shown(terms.name), name_of(terms.unit), name_of(terms.adjacency),
                                      name_of(use.statement.unit), name_of(use.statement.adjacency)));
}

std::string refusal_of(const Trial& trial, const ReserveRequest& use, const std::string& why) {
  std::string message = fmt::format("the budget {} does not allow this: {}. Left: {}.", shown(trial.terms.name), why,
                                    trial.account.left());
  const std::vector<std::string> fits = what_fits(trial.terms, trial.account, use.statement.event, use.delta);
  for (std::size_t i = 0; i < fits.size(); ++i) message += (i == 0 ? " It would fit with " : ", or ") + fits[i];
  return message + (fits.empty() ? "" : ".") + " Nothing was spent";
}

}  // namespace

BudgetTerms budget_of(const TrainingPrivacy& privacy) {
  return {privacy.budget,
          privacy.epsilon,
          privacy.delta,
          privacy.adjacency,
          privacy.unit,
          Rule::kBasic,
          default_failures(Rule::kBasic)};
}

Result<Outlook> outlook_of(std::span<const ReserveRequest> uses, const BudgetTerms& if_new, Ledger* ledger) {
  Outlook outlook;
  std::optional<Trial> trial;
  std::vector<bool> known(uses.size(), false);
  if (ledger != nullptr) {
    NF_TRY_VOID(ledger->read([&](const LedgerState& state) -> Result<void> {
      const LedgerState::Budget* const found = state.find(if_new.name);
      if (found == nullptr) return success();
      outlook.budget_is_there = true;
      trial.emplace(Trial{*found->terms, found->account});
      for (std::size_t i = 0; i < uses.size(); ++i) known[i] = state.find_key(if_new.name, uses[i].key).has_value();
      return success();
    }));
  }
  if (!trial) {
    NF_TRY_VOID(check_terms(if_new));
    NF_TRY(Account account, Account::open(if_new));
    trial.emplace(Trial{if_new, std::move(account)});
  }
  outlook.makes_budget = !outlook.budget_is_there && !uses.empty();
  outlook.left = trial->account.left();
  outlook.asked_before = !uses.empty() && std::find(known.begin(), known.end(), false) == known.end();
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (known[i]) continue;
    NF_TRY_VOID(expect_same_neighbours(uses[i], trial->terms));
    NF_TRY(const Charge charge, charge_for(trial->terms, uses[i].statement.event, uses[i].delta));
    const Result<void> spent = trial->account.spend(charge, uses[i].item);
    if (spent.has_value()) continue;
    if (spent.error().code != ErrorCode::kBudgetExhausted) return spent.error();
    outlook.refusal = refusal_of(*trial, uses[i], spent.error().message);
    return outlook;
  }
  outlook.fits = true;
  return outlook;
}

Result<void> expect_fits(const Outlook& outlook) {
  if (outlook.fits) return success();
  return budget_exhausted(outlook.refusal);
}

}  // namespace noisefloor
