#include "noisefloor/release/exposures.h"

#include <fmt/format.h>

#include <algorithm>

#include "noisefloor/base/text.h"

namespace noisefloor {

Result<std::vector<CertifiedExposure>> exposures_before(Ledger& ledger, const std::string& budget, std::uint64_t head) {
  std::vector<CertifiedExposure> found;
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    if (state.find(budget) == nullptr) {
      return verification_failed(
          fmt::format("the ledger has no budget {}, which the certificate names", shown(budget)));
    }
    for (const LedgerState::Exposure& one : state.exposures_of(budget, head)) {
      found.push_back({one.entry, one.kind, one.time});
    }
    return success();
  }));
  return found;
}

Result<void> expect_exposures(const Certificate& certificate, Ledger& ledger) {
  const CertifiedSpend& spend = *certificate.spend;
  NF_TRY(const std::vector<CertifiedExposure> known, exposures_before(ledger, spend.budget, spend.head));
  const std::vector<CertifiedExposure>& named = certificate.exposures;
  for (const CertifiedExposure& one : known) {
    if (std::find(named.begin(), named.end(), one) != named.end()) continue;
    return verification_failed(
        fmt::format("the certificate leaves out that these rows were looked at without noise before it was sealed: "
                    "entry {} of the ledger, {}",
                    one.entry, name_of(one.kind)));
  }
  if (named.size() == known.size()) return success();
  return verification_failed("the certificate names exposures of its rows that the ledger does not know");
}

}  // namespace noisefloor
