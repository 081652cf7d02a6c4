// Budgets, uses and requests as short as tests want them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/ledger/ledger.h"
#include "noisefloor/ledger/verify.h"

namespace noisefloor::testing {

inline BudgetTerms terms(std::string name, double epsilon, double delta, Rule rule, std::string parent = {}) {
  BudgetTerms made{std::move(name),
                   Epsilon::make(epsilon).value(),
                   Delta::make(delta).value(),
                   Adjacency::kAddRemove,
                   PrivacyUnit::kRow,
                   rule,
                   default_failures(rule)};
  made.parent = std::move(parent);
  if (rule == Rule::kRdp) made.orders = {2, 8, 32};  // few, so that charges are quick
  return made;
}

inline DpEvent pure(double epsilon) { return EpsilonDeltaEvent{PrivacyLoss::make(epsilon).value(), Delta::of(0)}; }
inline DpEvent gaussian(double z) { return GaussianEvent{NoiseMultiplier::make(z).value()}; }

inline ReserveRequest request(std::string budget, std::string key, DpEvent event, std::string item = {}) {
  ReserveRequest made{std::move(budget), std::move(key), {Adjacency::kAddRemove, PrivacyUnit::kRow, std::move(event)}};
  made.item = std::move(item);
  return made;
}

template <class T>
T value_of(Result<T> result) {
  if (!result.has_value()) {
    ADD_FAILURE() << result.error().message;
    std::abort();
  }
  return std::move(result).value();
}

inline void expect_good(const Result<void>& result) { EXPECT_TRUE(result.has_value()) << result.error().message; }

// Makes a ledger on which `key` is that of the first owner; with `by_member`, that of another owner, called "second".
inline std::unique_ptr<Ledger> new_ledger(const std::string& location, SigningKey key, const LedgerOptions& options,
                                          bool by_member) {
  if (!by_member) return value_of(Ledger::create(location, std::move(key), options));
  {
    const auto first = value_of(Ledger::create(location, SigningKey::generate(), options));
    expect_good(first->add_role({"second", Role::kOwner, key.public_key()}));
  }
  return value_of(Ledger::open(location, std::move(key), options));
}

// The message, for more looks at it.
template <class T>
std::string expect_error(const Result<T>& result, ErrorCode code, std::string_view part) {
  EXPECT_FALSE(result.has_value()) << "an error with '" << part << "' was due";
  if (result.has_value()) return {};
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
  EXPECT_LT(result.error().message.size(), 700U);
  return result.error().message;
}

inline std::string text_of(const VerifyReport& report) {
  std::string text;
  for (const VerifyFinding& one : report.findings) {
    text += (one.entry ? "entry " + std::to_string(*one.entry) : std::string("ledger")) + ": " + one.what + "\n";
  }
  return text;
}

inline void expect_clean(const std::string& location, std::vector<std::string> witnesses = {}) {
  const Result<VerifyReport> report = verify_ledger(location, {std::move(witnesses), {}, {}});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_TRUE(report.value().findings.empty()) << text_of(report.value());
}

}  // namespace noisefloor::testing
