#include "noisefloor/summary/ledger_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/ledger/audit.h"
#include "noisefloor/summary/budget_summary.h"
#include "noisefloor/summary/summary_json.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

// The budget that was asked for, which must exist; nothing stands for all of them.
Result<std::optional<std::string>> asked_for(Ledger& ledger, const std::string& budget) {
  if (budget.empty()) return std::optional<std::string>{};
  NF_TRY_VOID(ledger.budget(budget));
  return std::optional(budget);
}

Result<Json> budgets_json(Ledger& ledger, const std::optional<std::string>& only) {
  Json budgets = Json::array();
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    for (const LedgerState::Budget& budget : state.budgets()) {
      if (!only || budget.terms->name == *only) budgets.push_back(budget_json(budget));
    }
    return success();
  }));
  return budgets;
}

// A further column of a line, if there is something in it.
std::string named(std::string_view name, const std::string& text) {
  return text.empty() ? "" : fmt::format("  {} {}", name, text);
}

Json findings_json(const VerifyReport& found) {
  Json findings = Json::array();
  for (const VerifyFinding& finding : found.findings) {
    findings.push_back({{"entry", finding.entry ? Json(*finding.entry) : Json()}, {"what", finding.what}});
  }
  return findings;
}

void add_lines(Summary& summary, const VerifyReport& found, double seconds) {
  summary.line("entries", fmt::format("{} in {:.3g} s", found.entries, seconds));
  summary.line("charges",
               fmt::format("{} checked against their events ({} recomputed)", found.charges, found.distinct));
  if (found.answers > 0) summary.line("answers", fmt::format("{} stored answers checked", found.answers));
  summary.line("key", to_hex(found.key));
  if (found.state.has_roles()) {
    summary.line("authority", fmt::format("{} members; {} signatures checked, each by the author of its entry",
                                          found.state.members().size(), found.signatures));
  }
  if (found.head) summary.line("head", fmt::format("entry {}, {}", found.head->sequence, to_hex(found.head->hash)));
  if (found.witnesses > 0) {
    summary.line("witnesses", fmt::format("{} that the ledger names saw this history", found.witnesses));
  }
  for (const std::string& one : found.unasked) summary.line("not asked", one);
  for (const VerifyFinding& finding : found.findings) {
    summary.line(finding.entry ? fmt::format("entry {}", *finding.entry) : "ledger", finding.what);
  }
}

std::string conclusion(const VerifyReport& found, const VerifiedLedger& how) {
  if (!found.findings.empty()) {
    return "Do not rely on this ledger, and spend nothing from it, before this is explained.";
  }
  if (how.witnessed || found.witnesses > 0) {
    return "Every entry follows from the one before, no budget was exceeded, and the witnesses saw this history.";
  }
  return fmt::format(
      "Every entry follows from the one before, and no budget was exceeded. Whether later entries were cut off, only a "
      "witness can tell{}{}.",
      how.remedy.empty() ? "" : ": ", how.remedy);
}

}  // namespace

void add_ledger(Summary& summary, const UsedLedger& ledger) {
  if (ledger.is_new) {
    summary.remark(
        fmt::format("A new ledger {} with the key {}: keep the key apart from the ledger, and a witness "
                    "(`budget witness`) apart from both.",
                    shown(ledger.location), shown(ledger.key_file)));
  }
  summary.set("ledger", without_password(ledger.location));
  summary.set("new_ledger", ledger.is_new);
}

void add_doubt(Summary& summary, Ledger& ledger) {
  const Result<void> current = ledger.expect_current(Ledger::Asked::kThisMachine);
  if (current.has_value()) return;
  summary.remark("Do not rely on this: " + current.error().message);
  summary.set("doubt", current.error().message);
}

Result<Summary> summary_of_witnesses(Ledger& ledger, const std::string& location) {
  Summary summary(fmt::format("Witnesses of the ledger {}", without_password(location)));
  Json all = Json::array();
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    for (const std::string& one : state.witnesses()) all.push_back(without_password(one));
    return success();
  }));
  for (const Json& one : all) summary.line("asked", one.get<std::string>());
  summary.remark(all.empty() ? "No place is asked. This machine's counters find a restored backup on this machine only."
                             : "Every writer asks each of them first, and writes nothing if one cannot be asked.");
  summary.set("witnesses", all);
  return summary;
}

Result<Summary> summary_of_ledger(Ledger& ledger, const std::string& location) {
  Summary summary(fmt::format("Ledger {}", without_password(location)));
  Json all = Json::array();
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    for (const LedgerState::Budget& budget : state.budgets()) {
      const BudgetTerms& terms = *budget.terms;
      summary.line(terms.name, fmt::format("{}  epsilon {}, delta {}, {}", bar(budget.account.spent_share()),
                                           terms.epsilon.value(), terms.delta.value(), name_of(terms.rule)));
      all.push_back(budget_json(budget));
    }
    for (const std::string& place : state.witnesses()) summary.line("witness", without_password(place));
    summary.set("entries", state.next_sequence());
    return success();
  }));
  summary.set("budgets", all);
  add_doubt(summary, ledger);
  return summary;
}

Result<Summary> summary_of_history(Ledger& ledger, const std::string& budget, const std::string& version) {
  NF_TRY(const std::optional<std::string> only, asked_for(ledger, budget));
  Summary summary(budget.empty() ? "History" : fmt::format("History of {}", budget));
  Json records = Json::array();
  NF_TRY(const std::vector<ClockChange> changes, clock_changes(ledger));
  NF_TRY(const std::vector<GuardChange> guards, guard_changes(ledger));
  Json clock = Json::array();
  Json guarded = Json::array();
  const auto show_guards_before = [&](std::uint64_t sequence) {
    for (; guarded.size() < guards.size() && guards[guarded.size()].sequence < sequence;) {
      const GuardChange& g = guards[guarded.size()];
      summary.line(fmt::format("{:>6}  {}  {:<9}", g.sequence, show_time(g.time), g.kind), g.what);
      guarded.push_back({{"sequence", g.sequence},
                         {"time", show_time(g.time)},
                         {"kind", g.kind},
                         {"what", g.what},
                         {"missing", g.missing ? Json(*g.missing) : Json()}});
    }
  };
  const auto show_changes_before = [&](std::uint64_t sequence) {
    for (; clock.size() < changes.size() && changes[clock.size()].sequence < sequence;) {
      const ClockChange& c = changes[clock.size()];
      show_guards_before(c.sequence);
      summary.line(fmt::format("{:>6}  {}  {:<9}", c.sequence, show_time(c.time), "clock"),
                   fmt::format("set back from {}: {}", show_time(c.before), c.reason));
      clock.push_back({{"sequence", c.sequence},
                       {"time", show_time(c.time)},
                       {"before", show_time(c.before)},
                       {"reason", c.reason}});
    }
    show_guards_before(sequence);
  };
  NF_TRY(const std::vector<RoleChange> role_list, role_changes(ledger));
  Json roles = Json::array();
  const auto show_roles_before = [&](std::uint64_t sequence) {
    for (; roles.size() < role_list.size() && role_list[roles.size()].sequence < sequence;) {
      const RoleChange& c = role_list[roles.size()];
      summary.line(fmt::format("{:>6}  {}  {:<9}", c.sequence, show_time(c.time), "role"),
                   fmt::format("{}  by {}", c.what, c.by));
      roles.push_back({{"sequence", c.sequence}, {"time", show_time(c.time)}, {"what", c.what}, {"by", c.by}});
    }
  };
  NF_TRY_VOID(for_each_record(ledger, only, [&](const AuditRecord& r) {
    show_changes_before(r.sequence);
    show_roles_before(r.sequence);
    records.push_back(Json::parse(to_json(r, version)));
    summary.line(
        fmt::format("{:>6}  {}  {:<9}", r.sequence, show_time(r.time), name_of(r.status)),
        fmt::format("{}  epsilon so far {:.6g}, left {:.6g}  key {}{}{}{}", r.use.budget, r.epsilon_spent,
                    r.epsilon_left, r.use.key, named("blocks", fmt::format("{}", fmt::join(r.use.blocks, ","))),
                    named("purpose", r.use.note.purpose), named("pipeline", r.use.note.pipeline) + named("by", r.by)));
  }));
  show_changes_before(UINT64_MAX);
  show_roles_before(UINT64_MAX);
  if (records.empty()) summary.remark("Nothing was spent yet.");
  summary.set("records", records);
  summary.set("clock", clock);
  if (!roles.empty()) summary.set("roles", roles);
  summary.set("guards", guarded);
  return summary;
}

Summary summary_of(const VerifyReport& found, const VerifiedLedger& how) {
  const bool holds = found.findings.empty();
  Summary summary(fmt::format("Ledger {}: {}", without_password(how.location), holds ? "VERIFIED" : "NOT TRUE"));
  add_lines(summary, found, how.seconds);
  summary.remark(conclusion(found, how));
  if (!holds) summary.fail_with(ErrorCode::kVerificationFailed);
  Json budgets = Json::array();
  for (const LedgerState::Budget& budget : found.state.budgets()) budgets.push_back(budget_json(budget));
  summary.set("verified", holds);
  summary.set("entries", found.entries);
  summary.set("charges", found.charges);
  summary.set("recomputed", found.distinct);
  summary.set("answers", found.answers);
  if (found.state.has_roles()) {
    summary.set("members", found.state.members().size());
    summary.set("signatures", found.signatures);
  }
  summary.set("public_key", to_hex(found.key));
  summary.set("head",
              found.head ? Json{{"sequence", found.head->sequence}, {"hash", to_hex(found.head->hash)}} : Json());
  summary.set("findings", findings_json(found));
  summary.set("budgets", budgets);
  summary.set("seconds", how.seconds);
  return summary;
}

Result<AuditDocument> audit_document(Ledger& ledger, const std::string& location, const std::string& budget,
                                     const std::string& version) {
  NF_TRY(const std::optional<std::string> only, asked_for(ledger, budget));
  NF_TRY(Json budgets, budgets_json(ledger, only));
  Json records = Json::array();
  NF_TRY_VOID(for_each_record(ledger, only,
                              [&](const AuditRecord& r) { records.push_back(Json::parse(to_json(r, version))); }));
  NF_TRY(const Witness head, ledger.witness());
  const std::size_t count = records.size();
  const Json document{{"noisefloor_audit", 1},
                      {"ledger", without_password(location)},
                      {"budgets", std::move(budgets)},
                      {"records", std::move(records)},
                      {"head", Json::parse(to_json(head))}};
  return AuditDocument{document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n", count};
}

Summary summary_of(const AuditDocument& document) {
  Summary summary("Audit records");
  replace_json(summary, Json::parse(document.text));
  return summary;
}

Summary summary_of_written(const AuditDocument& document, const std::string& path) {
  Summary summary("Audit records");
  summary.line("written", fmt::format("{} records to {}", document.records, path));
  summary.set("records", document.records);
  summary.set("output", path);
  return summary;
}

Summary summary_of(const Witness& witness, const std::string& path) {
  Summary summary("Witness");
  summary.line("written to", path);
  summary.line("entry", fmt::format("{}", witness.head.sequence));
  summary.line("hash", to_hex(witness.head.hash));
  summary.set("output", path);
  summary.set("witness", Json::parse(to_json(witness)));
  return summary;
}

Result<Summary> summary_of_clock(Ledger& ledger, const std::string& location, TimeMs before) {
  Summary summary(fmt::format("Ledger {} goes on from the present time", without_password(location)));
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    const std::uint64_t entry = state.next_sequence() - 1;
    std::vector<std::string> closed;
    for (const LedgerState::Budget& budget : state.budgets()) {
      if (budget.closed == entry) closed.push_back(budget.terms->name);
    }
    summary.line("entry", fmt::format("{}", entry));
    summary.line("time",
                 fmt::format("{}; the entry before it says {}", show_time(state.last_time()), show_time(before)));
    if (!closed.empty()) summary.line("stay closed", fmt::format("{}", fmt::join(closed, ", ")));
    summary.set("sequence", entry);
    summary.set("time", show_time(state.last_time()));
    summary.set("before", show_time(before));
    summary.set("stay_closed", Json(closed));
    return success();
  }));
  summary.remark("The history shows this. Budgets whose time was over by the clock that was ahead stay closed.");
  return summary;
}

Summary summary_of_adoption(const std::string& location, const Witness& head) {
  Summary summary(fmt::format("Ledger {} goes on here", without_password(location)));
  summary.line("epoch", fmt::format("{}", head.head.epoch));
  summary.line("entry", fmt::format("{}", head.head.sequence));
  summary.remark("Every other copy must be retired: two copies that are both written to spend the same budget twice.");
  summary.set("epoch", head.head.epoch);
  summary.set("sequence", head.head.sequence);
  return summary;
}

}  // namespace noisefloor
