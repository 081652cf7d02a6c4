// Reports from a ledger: the record of each use, the summary of a budget, and how long the budget will last.
//
// Guarantee:     "spent" is an upper bound on the joint cost of all uses up to then at the budget's δ, however they
//                were chosen; "left" is the total minus "spent". Under planned, "spent" is the certified ε of the uses
//                that were made.
// Thread safety: as in ledger.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/accounting/comparison.h"
#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor {

struct AuditRecord {
  std::uint64_t sequence;
  TimeMs time;
  SpendStatus status;
  ReserveEntry use;
  std::optional<Digest> release;
  std::optional<double> accuracy;
  Rule rule;
  double epsilon_spent;  // by this and all uses before it
  double delta_spent;
  double epsilon_left;
  double delta_left;
  std::string by = {};  // the member who reserved it, if the ledger has roles
};

// One JSON object. `version` is the version of the program, and hence of its accountants.
[[nodiscard]] std::string to_json(const AuditRecord& record, const std::string& version);

// Calls `take` with each record of one budget, or of all budgets if none is named, in order.
[[nodiscard]] Result<void> for_each_record(Ledger& ledger, const std::optional<std::string>& budget,
                                           const std::function<void(const AuditRecord&)>& take);

// A time at which the owner set the ledger's clock back.
struct ClockChange {
  std::uint64_t sequence;
  TimeMs time;    // from where times go on
  TimeMs before;  // of the entry before it
  std::string reason;
};

[[nodiscard]] Result<std::vector<ClockChange>> clock_changes(Ledger& ledger);

// A role that was given or taken.
struct RoleChange {
  std::uint64_t sequence;
  TimeMs time;
  std::string what;  // "ann becomes an analyst", "ann is revoked: left the team"
  std::string by;
};

[[nodiscard]] Result<std::vector<RoleChange>> role_changes(Ledger& ledger);
// An adoption, or a witness that was added or dropped.
struct GuardChange {
  std::uint64_t sequence;
  TimeMs time;
  std::string_view kind;                      // "adopt" or "witness"
  std::string what;                           // in words, with the reason
  std::optional<std::uint64_t> missing = {};  // of an adoption: the last entry that is missing
};

[[nodiscard]] Result<std::vector<GuardChange>> guard_changes(Ledger& ledger);

struct BudgetSummary {
  LedgerState::Budget budget;
  Delta at;             // the δ of the figures below
  double odometer;      // the cost of all uses so far, valid at all times
  Interval if_planned;  // the certified ε had all uses been fixed in advance; no guarantee for uses chosen adaptively
  std::vector<AccountantAnswer> beside;  // basic and advanced composition, for comparison
};

[[nodiscard]] Result<BudgetSummary> summarize(Ledger& ledger, const std::string& budget, std::optional<Delta> at);

// The share that some uses of a budget have in its spending, in ε at the δ of the budget that pays in the end: the
// parent's, if the budget has one.
struct BudgetShares {
  std::shared_ptr<const BudgetTerms> terms;  // of the budget that pays
  double before = 0;                         // spent when the first of these uses was reserved
  double own = 0;                            // spent by these uses
  double after = 0;                          // spent by others since
  std::string left;                          // in the words of its rule
};
// Returns nothing if the budget that pays is a planned one, whose items are paid for together.
[[nodiscard]] Result<std::optional<BudgetShares>> shares_of(Ledger& ledger, const std::string& budget,
                                                            std::span<const std::uint64_t> reservations);

struct Forecast {
  std::uint64_t last;               // the reservation that is taken as the pattern
  std::uint64_t more;               // how many like it still fit
  bool at_least;                    // even more than that may fit
  std::optional<TimeMs> exhausted;  // when, at the rate of the last uses
};

// Returns nothing if the budget was not used yet.
[[nodiscard]] Result<std::optional<Forecast>> forecast(Ledger& ledger, const std::string& budget);

}  // namespace noisefloor
