// Who may do what on a ledger: owners, analysts and auditors.
//
// Owners write everything. Analysts reserve from the budgets that they were given, and settle what they reserved.
// Auditors write nothing. LedgerState::apply keeps these rules (state_roles.cc), and so does every reader.
//
// Thread safety: pure functions; plain data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/crypto/signing.h"
#include "noisefloor/ledger/terms.h"

namespace noisefloor {

enum class Role : std::uint8_t { kOwner, kAnalyst, kAuditor };
[[nodiscard]] std::string_view name_of(Role role);  // "owner", "analyst", "auditor"
[[nodiscard]] Result<Role> parse_role(std::string_view text);

// What a reservation is for, as its program declares it. A certificate is checked against it.
enum class UseKind : std::uint8_t { kTraining, kStatistic, kUtilityGraph, kOther };
[[nodiscard]] std::string_view name_of(UseKind kind);  // "training", "statistic", "utility graph", "other"
[[nodiscard]] Result<UseKind> parse_use_kind(std::string_view text);

// All uses that an analyst makes of one budget within one period are together (ε, δ)-DP, by the rule of that budget.
struct Quota {
  Epsilon epsilon;
  Delta delta;
  TimeMs period;  // periods follow each other from the time of the entry that gave the role
};
inline constexpr TimeMs kShortestPeriod = TimeMs{60} * 60 * 1000;                  // an hour
inline constexpr TimeMs kLongestPeriod = TimeMs{100} * 366 * 24 * 60 * 60 * 1000;  // about a hundred years

// "30d", "12h" or "2w".
[[nodiscard]] Result<TimeMs> parse_period(std::string_view text);
[[nodiscard]] std::string show_period(TimeMs period);

// The name of whoever made the ledger.
inline constexpr std::string_view kFirstOwner = "owner";

// The two keys that rows are recognised with (row_sketch.h), sealed for one member.
inline constexpr std::size_t kSealedRowKeyBytes = 64 + kSealedForBytes;
using SealedRowKeys = std::array<std::uint8_t, kSealedRowKeyBytes>;

inline constexpr std::size_t kMaxRoleBudgets = 1'000;

}  // namespace noisefloor
