// The budget that decides, round by round, whether a machine may use private data: a site's own ledger, or the
// coordinator's where it adds the noise.
//
// Guarantee:     (of every implementation) kGranted is durable, comes once for each key, and is never taken back. So
//                whoever draws noise only after kGranted draws it once for each key, whatever crashes, and whichever
//                old copy of its own store it finds afterwards.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/ledger/ledger.h"

namespace noisefloor::federated {

enum class BudgetAnswer : std::uint8_t {
  kGranted,      // noise may be drawn, now and not again
  kBegunBefore,  // it was granted before: whatever came of it is all that there will be
  kExhausted,    // refused; nothing is spent
};

class RoundBudget {
 public:
  RoundBudget() = default;
  RoundBudget(const RoundBudget&) = delete;
  RoundBudget& operator=(const RoundBudget&) = delete;
  virtual ~RoundBudget() = default;

  // An error means that the budget cannot be asked now; it may have been granted all the same.
  [[nodiscard]] virtual Result<BudgetAnswer> reserve(const std::string& key, const DpStatement& statement) = 0;
};

// The answer of a ledger (ledger/ledger.h). A reservation is committed at once with the digest of its key: that marks
// it as begun.
class LedgerBudget final : public RoundBudget {
 public:
  // `delta` as in ReserveRequest. The ledger must outlive this.
  LedgerBudget(Ledger& ledger, std::string budget, std::optional<Delta> delta = {})
      : ledger_(ledger), budget_(std::move(budget)), delta_(delta) {}

  [[nodiscard]] Result<BudgetAnswer> reserve(const std::string& key, const DpStatement& statement) override;

 private:
  Ledger& ledger_;
  std::string budget_;
  std::optional<Delta> delta_;
};

}  // namespace noisefloor::federated
