// The subcommands of `budget` that look at a ledger, or write files beside it, and spend nothing.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/budget_command.h"
#include "noisefloor/cli/budget_report.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/cli/quantity_option.h"
#include "noisefloor/cli/report_json.h"
#include "noisefloor/ledger/audit.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/ledger/verify.h"
#include "noisefloor/ledger/witness.h"
#include "version.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;
using noisefloor::shown;

struct BudgetOptions : LedgerAccess {
  std::string budget;
};

struct ShowOptions : BudgetOptions {
  std::string delta;
};

struct VerifyCommandOptions : LedgerAccess {
  std::string public_key;
};

struct ExportOptions : BudgetOptions {
  std::string output;
};

struct WitnessOptions : LedgerAccess {
  std::string output;
};

Result<Report> run_show(const ShowOptions& o) {
  NF_TRY(std::unique_ptr<Ledger> ledger, open_to_read(o));
  if (o.budget.empty()) {
    Report report(fmt::format("Ledger {}", location_of(o)));
    Json all = Json::array();
    NF_TRY_VOID(ledger->read([&](const LedgerState& state) -> Result<void> {
      for (const LedgerState::Budget& budget : state.budgets()) {
        report.line(budget.terms->name, fmt::format("{}  epsilon {}, delta {}, {}", bar(budget.account.spent_share()),
                                                    budget.terms->epsilon.value(), budget.terms->delta.value(),
                                                    name_of(budget.terms->rule)));
        all.push_back(budget_json(budget));
      }
      report.set("entries", state.next_sequence());
      return success();
    }));
    report.set("budgets", std::move(all));
    return report;
  }
  NF_TRY(const std::optional<Delta> at, optional_quantity<Delta>("--delta", o.delta));
  NF_TRY(const BudgetSummary summary, summarize(*ledger, o.budget, at));
  Report report(fmt::format("Budget {}", o.budget));
  describe(report, summary.budget);
  const double delta = summary.at.value();
  const bool planned = summary.budget.terms->rule == Rule::kPlanned;
  report.line("epsilon so far", fmt::format("{:.6g} at delta {:g}{}", summary.odometer, delta,
                                            planned ? "" : " (however the uses were chosen)"));
  report.line("had all been fixed before", shown_interval(summary.if_planned.lower, summary.if_planned.upper));
  Json beside = Json::object();
  for (const AccountantAnswer& answer : summary.beside) {
    report.line(fmt::format("by {} composition", name_of(answer.accountant)),
                fmt::format("{:.6g} ({})", answer.epsilon, answer.how));
    beside[std::string(name_of(answer.accountant))] = answer.epsilon;
  }
  report.set("budget", budget_json(summary.budget));
  report.set("delta", delta);
  report.set("epsilon_spent", summary.odometer);
  report.set("epsilon_if_planned", interval_json(summary.if_planned.lower, summary.if_planned.upper));
  report.set("beside", std::move(beside));
  return report;
}

Result<Report> run_history(const BudgetOptions& o) {
  NF_TRY(std::unique_ptr<Ledger> ledger, open_to_read(o));
  std::optional<std::string> only;
  if (!o.budget.empty()) {
    NF_TRY_VOID(ledger->budget(o.budget));
    only = o.budget;
  }
  Report report(o.budget.empty() ? "History" : fmt::format("History of {}", o.budget));
  Json records = Json::array();
  NF_TRY_VOID(for_each_record(*ledger, only, [&](const AuditRecord& r) {
    records.push_back(Json::parse(to_json(r, NOISEFLOOR_VERSION)));
    report.line(fmt::format("{:>6}  {}  {:<9}", r.sequence, show_time(r.time), name_of(r.status)),
                fmt::format("{}  epsilon so far {:.6g}, left {:.6g}  {}", r.use.budget, r.epsilon_spent, r.epsilon_left,
                            r.use.note.purpose.empty() ? r.use.key : r.use.note.purpose));
  }));
  if (records.empty()) report.remark("Nothing was spent yet.");
  report.set("records", std::move(records));
  return report;
}

Result<Report> run_forecast(const BudgetOptions& o) {
  NF_TRY(std::unique_ptr<Ledger> ledger, open_to_read(o));
  NF_TRY(const std::optional<Forecast> found, forecast(*ledger, o.budget));
  NF_TRY(const LedgerState::Budget budget, ledger->budget(o.budget));
  Report report(fmt::format("Forecast of {}", o.budget));
  report.line("spent", bar(budget.account.spent_share()));
  report.line("left", budget.account.left());
  report.set("budget", o.budget);
  report.set("spent_share", budget.account.spent_share());
  report.set("left", budget.account.left());
  report.set("more", found ? Json(found->more) : Json());
  report.set("exhausted", found && found->exhausted ? Json(show_time(*found->exhausted)) : Json());
  if (!found) {
    report.remark("Nothing was spent yet, so that there is no rate to go by.");
    return report;
  }
  report.set("like_reservation", found->last);
  report.remark(fmt::format("Uses like the last one (reservation {}): {}{} more, then it is exhausted.", found->last,
                            found->at_least ? "more than " : "", found->more));
  if (found->exhausted && found->more > 0)
    report.remark(fmt::format("At the rate of the last uses that is on {}.", show_time(*found->exhausted)));
  return report;
}

Result<Report> run_verify(const VerifyCommandOptions& o) {
  const auto start = std::chrono::steady_clock::now();
  VerifyOptions options;
  options.witnesses = o.witnesses;
  if (!o.public_key.empty()) {
    if (!from_hex(o.public_key, options.key.emplace())) {
      return invalid_argument(fmt::format("--public-key must be 64 hexadecimal digits; got {}", shown(o.public_key)));
    }
  }
  if (::isatty(STDERR_FILENO) != 0) {
    options.progress = [](std::uint64_t done, std::uint64_t all) {
      fmt::print(stderr, "\r{} of {} entries", done, all);
      if (done >= all) fmt::print(stderr, "\n");
    };
  }
  NF_TRY(const VerifyReport found, verify_ledger(location_of(o), options));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const bool holds = found.findings.empty();
  Report report(fmt::format("Ledger {}: {}", location_of(o), holds ? "VERIFIED" : "NOT TRUE"));
  report.line("entries", fmt::format("{} in {:.3g} s", found.entries, seconds));
  report.line("charges", fmt::format("{} checked against their events ({} recomputed)", found.charges, found.distinct));
  if (found.answers > 0) report.line("answers", fmt::format("{} stored answers checked", found.answers));
  report.line("key", to_hex(found.key));
  if (found.head) report.line("head", fmt::format("entry {}, {}", found.head->sequence, to_hex(found.head->hash)));
  Json findings = Json::array();
  for (const VerifyFinding& finding : found.findings) {
    const std::string where = finding.entry ? fmt::format("entry {}", *finding.entry) : "ledger";
    report.line(where, finding.what);
    findings.push_back({{"entry", finding.entry ? Json(*finding.entry) : Json()}, {"what", finding.what}});
  }
  if (holds) {
    report.remark(
        o.witnesses.empty()
            ? "Every entry follows from the one before, and no budget was exceeded. Whether later entries were cut "
              "off, only a witness can tell: --witness FILE."
            : "Every entry follows from the one before, no budget was exceeded, and the witnesses saw this history.");
  } else {
    report.remark("Do not rely on this ledger, and spend nothing from it, before this is explained.");
    report.exit_with(exit_code(ErrorCode::kVerificationFailed));
  }
  Json budgets = Json::array();
  for (const LedgerState::Budget& budget : found.state.budgets()) budgets.push_back(budget_json(budget));
  report.set("verified", holds);
  report.set("entries", found.entries);
  report.set("charges", found.charges);
  report.set("recomputed", found.distinct);
  report.set("answers", found.answers);
  report.set("public_key", to_hex(found.key));
  report.set("head",
             found.head ? Json{{"sequence", found.head->sequence}, {"hash", to_hex(found.head->hash)}} : Json());
  report.set("findings", std::move(findings));
  report.set("budgets", std::move(budgets));
  report.set("seconds", seconds);
  return report;
}

Result<Report> run_export(const ExportOptions& o) {
  NF_TRY(std::unique_ptr<Ledger> ledger, open_to_read(o));
  std::optional<std::string> only;
  if (!o.budget.empty()) {
    NF_TRY_VOID(ledger->budget(o.budget));
    only = o.budget;
  }
  Json budgets = Json::array();
  NF_TRY_VOID(ledger->read([&](const LedgerState& state) -> Result<void> {
    for (const LedgerState::Budget& budget : state.budgets()) {
      if (!only || budget.terms->name == *only) budgets.push_back(budget_json(budget));
    }
    return success();
  }));
  Json records = Json::array();
  NF_TRY_VOID(for_each_record(
      *ledger, only, [&](const AuditRecord& r) { records.push_back(Json::parse(to_json(r, NOISEFLOOR_VERSION))); }));
  NF_TRY(const Witness head, ledger->witness());
  const std::size_t count = records.size();
  const Json document{{"noisefloor_audit", 1},
                      {"ledger", location_of(o)},
                      {"budgets", std::move(budgets)},
                      {"records", std::move(records)},
                      {"head", Json::parse(to_json(head))}};
  Report report("Audit records");
  if (!o.output.empty()) {
    NF_TRY_VOID(write_file(o.output, document.dump(2) + "\n"));
    report.line("written", fmt::format("{} records to {}", count, o.output));
    report.set("records", count);
    report.set("output", o.output);
    return report;
  }
  for (const auto& [field, value] : document.items()) report.set(field.c_str(), value);
  report.line("records", fmt::format("{}; --output FILE or --json shows them", count));
  return report;
}

Result<Report> run_witness(const WitnessOptions& o) {
  NF_TRY(std::unique_ptr<Ledger> ledger, open_to_read(o));
  NF_TRY(const Witness witness, ledger->witness());
  NF_TRY_VOID(write_witness(o.output, witness));
  Report report("Witness");
  report.line("written to", o.output);
  report.line("entry", fmt::format("{}", witness.head.sequence));
  report.line("hash", to_hex(witness.head.hash));
  report.remark("Keep it where whoever can change the ledger cannot change it. `budget verify --witness` compares.");
  report.set("output", o.output);
  report.set("witness", Json::parse(to_json(witness)));
  return report;
}

void name_of_one(CLI::App& command, BudgetOptions& o) {
  command.add_option("budget", o.budget, "Name of the budget")->type_name("NAME")->required();
}

void name_of_any(CLI::App& command, BudgetOptions& o) {
  command.add_option("budget", o.budget, "Name of a budget; all if none is given")->type_name("NAME");
}

}  // namespace

void add_budget_look_commands(CLI::App& budget, Action& action) {
  add_command<ShowOptions>(
      budget, action, "show", "Show what is spent and left", "trial --delta 1e-6",
      [](CLI::App& command, ShowOptions& o) {
        name_of_any(command, o);
        command.add_option("--delta", o.delta, "Show epsilon at this delta instead of the budget's")->type_name("D");
        o.add_to(command, false, false);
      },
      run_show);
  add_command<BudgetOptions>(
      budget, action, "history", "List all uses", "trial",
      [](CLI::App& command, BudgetOptions& o) {
        name_of_any(command, o);
        o.add_to(command, false, false);
      },
      run_history);
  add_command<BudgetOptions>(
      budget, action, "forecast", "Say how many more uses fit", "trial",
      [](CLI::App& command, BudgetOptions& o) {
        name_of_one(command, o);
        o.add_to(command, false, false);
      },
      run_forecast);
  add_command<VerifyCommandOptions>(
      budget, action, "verify", "Recompute everything, and compare with witnesses", "--witness trial.witness",
      [](CLI::App& command, VerifyCommandOptions& o) {
        command.add_option("--public-key", o.public_key, "The key that the ledger must have")->type_name("HEX");
        o.add_to(command, false, true);
      },
      run_verify);
  add_command<ExportOptions>(
      budget, action, "export", "Write the audit records as JSON", "trial --output audit.json",
      [](CLI::App& command, ExportOptions& o) {
        name_of_any(command, o);
        command.add_option("--output", o.output, "Where the JSON goes")->type_name("FILE");
        o.add_to(command, false, false);
      },
      run_export);
  add_command<WitnessOptions>(
      budget, action, "witness", "Write the signed head, to be kept elsewhere", "--output trial.witness",
      [](CLI::App& command, WitnessOptions& o) {
        command.add_option("--output", o.output, "Where the witness goes")->type_name("FILE")->required();
        o.add_to(command, false, false);
      },
      run_witness);
}

}  // namespace noisefloor::cli
