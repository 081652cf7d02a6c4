#include "noisefloor/ledger/terms.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "noisefloor/base/printable.h"
#include "noisefloor/ledger/state.h"
#include "tests/support/ledger_pieces.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::expect_good;
using testing::pure;
using testing::terms;

// Names that version 0.1 accepted, with what they hold.
const std::initializer_list<std::pair<std::string, std::string>> kOldNames{
    {"total\u202Elatot", "U+202E"}, {"\u200Btrial", "U+200B"}, {"a\u009B31m", "U+009B"}, {"\U000E0041x", "U+E0041"},
    {"tri\u00ADal", "U+00AD"},      {"a\u00A0b", "U+00A0"},    {" trial", "U+0020"},     {"trial ", "U+0020"}};

LedgerState begun() {
  LedgerState state;
  expect_good(state.apply({0, 0, GenesisEntry{}}));
  return state;
}

TEST(CheckName, AcceptsWhatPeopleCanRead) {
  for (const char* name : {"trial", "age of patients, 2026", "naïve \"quoted\" \\", "模型", "e\u0301"}) {
    expect_good(check_name("the name", name));
    expect_good(check_kept_name("the name", name));
  }
}

TEST(CheckName, NamesTheCharacterThatItRefuses) {
  for (const auto& [name, offender] : kOldNames) {
    const std::string message = expect_error(check_name("the name", name), ErrorCode::kInvalidArgument, offender);
    EXPECT_NE(message.find(": leave "), std::string::npos) << "no remedy: " << message;
    EXPECT_TRUE(is_printable(std::string_view(message))) << offender;
  }
  expect_error(check_name("the name", "a\x1b[2J"), ErrorCode::kInvalidArgument, "'a\\u{1b}[2J' holds U+001B");
  expect_error(check_name("the name", "a\xff"), ErrorCode::kInvalidArgument, "'a\\xff' holds the byte 0xff");
  expect_error(check_name("the name", ""), ErrorCode::kInvalidArgument, "empty");
  expect_error(check_name("the name", std::string(201, 'x')), ErrorCode::kInvalidArgument, "at most 200");
}

TEST(CheckName, KeepsTheRuleOfVersion01ForNamesInALedger) {
  for (const auto& [name, offender] : kOldNames) expect_good(check_kept_name("the name", name));
  for (const char* name : {"", "a\n", "\x1b[2J", "\x7f", "\xff", "\xED\xA0\x80"}) {
    EXPECT_FALSE(check_kept_name("the name", name).has_value());
  }
}

TEST(LedgerStateNames, AreReadAsVersion01WroteThemAndRefusedWhenNew) {
  for (const auto& [name, offender] : kOldNames) {
    const Entry budget{1, 0, BudgetEntry{terms(name, 1, 0, Rule::kBasic), {}}};
    LedgerState state = begun();
    expect_error(state.apply_new(budget), ErrorCode::kInvalidArgument, offender);
    EXPECT_TRUE(state.budgets().empty()) << "a refused entry changes nothing";
    expect_good(state.apply(budget));
    ASSERT_NE(state.find(name), nullptr);
    expect_good(check_terms(*state.find(name)->terms));
    // A new part of it, and a new key, are no new name of its own.
    Entry part{2, 0, BudgetEntry{terms("part", 0.5, 0, Rule::kBasic, name), {{0.5}, 0}}};
    expect_good(state.apply_new(part));
    ReserveEntry use{name, "key", {}, "", "", std::nullopt, {{0.25}, 0}, {}, {}};
    expect_good(state.apply_new({3, 0, use}));
    use.key = name;
    expect_error(state.apply_new({4, 0, use}), ErrorCode::kInvalidArgument, offender);
    expect_good(state.apply({4, 0, use}));
    use.key = "another key";
    use.note.purpose = name;
    expect_error(state.apply_new({5, 0, use}), ErrorCode::kInvalidArgument, offender);
    expect_error(state.apply_new({5, 0, AdoptEntry{1, name}}), ErrorCode::kInvalidArgument, offender);
    expect_error(state.apply_new({5, 0, DatasetEntry{name, {}, "", "", "", {}, {}}}), ErrorCode::kInvalidArgument,
                 offender);
    expect_good(state.apply({5, 0, DatasetEntry{name, {}, "", "", "", {}, {}}}));
    expect_error(state.apply_new({6, 0, RetireEntry{name, name}}), ErrorCode::kInvalidArgument, offender);
    expect_good(state.apply_new({6, 0, RetireEntry{name, "consent expired"}}));
  }
}

TEST(LedgerStateNames, OfPlansAreCheckedToo) {
  BudgetTerms planned = terms("planned", 1, 0, Rule::kPlanned);
  planned.plan = {{"co\u200Bunt", pure(0.125), Steps::of(4)}};
  expect_good(check_terms(planned));
  expect_error(begun().apply_new({1, 0, BudgetEntry{planned, {}}}), ErrorCode::kInvalidArgument, "U+200B");
  expect_good(begun().apply({1, 0, BudgetEntry{planned, {}}}));
}

}  // namespace
}  // namespace noisefloor
