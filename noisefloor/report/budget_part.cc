#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "noisefloor/ledger/audit.h"
#include "noisefloor/report/html.h"
#include "noisefloor/report/report_parts.h"

namespace noisefloor::internal {
namespace {

Result<bool> is_named_ledger(const CertifiedSpend& spend, Ledger& ledger) {
  bool same = false;
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    same = state.genesis().ledger == spend.ledger;
    return success();
  }));
  return same;
}

// The spends of all verdicts that were charged.
struct Spends {
  std::string budget;
  std::vector<std::uint64_t> reservations;
  bool all_paid = true;
};

Result<Spends> ask_about(std::vector<Verdict>& verdicts, const Trusted& trusted) {
  Spends spends;
  for (Verdict& verdict : verdicts) {
    const std::optional<CertifiedSpend>& spend = verdict.certificate().spend;
    if (!spend) continue;
    spends.budget = spend->budget;
    spends.reservations.insert(spends.reservations.end(), spend->reservations.begin(), spend->reservations.end());
    if (trusted.ledger == nullptr) continue;
    NF_TRY(const bool named, is_named_ledger(*spend, *trusted.ledger));
    const LedgerIs ledger_is = trusted.must_have_paid ? LedgerIs::kNamed : LedgerIs::kFound;
    if (named || trusted.must_have_paid) NF_TRY_VOID(verify_payment(verdict, *trusted.ledger, ledger_is));
  }
  for (const Verdict& verdict : verdicts) spends.all_paid &= verdict.payment != Payment::kNotLookedAt;
  return spends;
}

Result<void> add_shares(HtmlReport& page, const Spends& spends, Ledger& ledger) {
  NF_TRY(const std::optional<BudgetShares> shares, shares_of(ledger, spends.budget, spends.reservations));
  if (!shares) {
    page.no_budget =
        fmt::format("Paid for by the plan of the budget {}, whose items are reserved together.", spends.budget);
    return success();
  }
  page.budget = {
      shares->terms->name,
      shares->terms->epsilon.value(),
      shares->terms->delta.value(),
      shares->before,
      shares->own,
      shares->after,
      fmt::format("By the rule {} of this budget, what is left is: {}.", name_of(shares->terms->rule), shares->left)};
  if (std::isfinite(page.promise.epsilon_upper) && shares->own > 1.001 * page.promise.epsilon_upper) {
    page.budget->left_in_words +=
        fmt::format(" That rule has charged ε {}: more than the ε ≤ {} above, which is what all of it costs together.",
                    shown_at_least(shares->own, 4), shown_at_least(page.promise.epsilon_upper, 3));
  }
  return success();
}

}  // namespace

Result<void> add_budget(HtmlReport& page, std::vector<Verdict>& verdicts, const Trusted& trusted) {
  NF_TRY(const Spends spends, ask_about(verdicts, trusted));
  const bool several = verdicts.size() > 1;
  if (spends.reservations.empty()) {
    page.no_budget =
        "Nothing was charged: noise that can be repeated, or none at all, protects nobody and is paid for by no "
        "budget.";
    return success();
  }
  if (!spends.all_paid) {
    page.no_budget = fmt::format(
        "{} paid from the budget {}. What is left there stands in its ledger, which was not at hand when this was "
        "written.",
        several ? "They were" : "It was", spends.budget);
    page.checks.push_back({"Ledger:", "not looked at. Verify with the ledger to know that it has paid.", false});
    return success();
  }
  const bool same_file = !several && verdicts.front().release.has_content;
  page.checks.push_back(
      {"Ledger:", fmt::format("it has paid for {} from the budget {}{}.", several ? "all of them" : "this",
                              spends.budget, same_file ? ", and has the digest of this file" : "")});
  return add_shares(page, spends, *trusted.ledger);
}

Result<void> add_signers(HtmlReport& page, std::vector<Verdict>& verdicts, const Trusted& trusted) {
  NF_TRY_VOID(verify_signers(verdicts, trusted.signers));
  const auto is_signed = [](const Verdict& verdict) { return verdict.release.certificate.key.has_value(); };
  const auto is_unknown = [&](const Verdict& verdict) { return is_signed(verdict) && !verdict.signer; };
  if (std::none_of(verdicts.begin(), verdicts.end(), is_signed)) {
    page.checks.push_back({"Signature:", "none, as nothing was charged.", false});
    return success();
  }
  page.signer_unknown = std::any_of(verdicts.begin(), verdicts.end(), is_unknown);
  if (page.signer_unknown) {
    page.checks.push_back(
        {"Signature:", "valid, by a key that is unknown: whoever made this may have signed it.", false});
    return success();
  }
  page.checks.push_back({"Signature:", "valid, by a key that is known to whoever wrote this report."});
  return success();
}

}  // namespace noisefloor::internal
