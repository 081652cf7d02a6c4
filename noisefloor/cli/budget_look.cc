// The subcommands of `budget` that look at a ledger, or write files beside it, and spend nothing.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/quantity_text.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/commands.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/ledger/audit.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/ledger/verify.h"
#include "noisefloor/ledger/witness.h"
#include "noisefloor/summary/budget_summary.h"
#include "noisefloor/summary/ledger_summary.h"
#include "version.h"

namespace noisefloor::cli {
namespace {

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
  std::string add;
  std::string drop;
  std::string reason;
};

Result<Summary> run_show_budget(const ShowOptions& o) {
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_read(o));
  if (o.budget.empty()) return summary_of_ledger(*ledger, location_of(o));
  NF_TRY(const std::optional<Delta> at, optional_quantity<Delta>("--delta", o.delta));
  NF_TRY(const BudgetSummary found, summarize(*ledger, o.budget, at));
  Summary summary = summary_of(found);
  add_doubt(summary, *ledger);
  return summary;
}

Result<Summary> run_history(const BudgetOptions& o) {
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_read(o));
  return summary_of_history(*ledger, o.budget, NOISEFLOOR_VERSION);
}

Result<Summary> run_forecast(const BudgetOptions& o) {
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_read(o));
  NF_TRY(const std::optional<Forecast> found, forecast(*ledger, o.budget));
  NF_TRY(const LedgerState::Budget budget, ledger->budget(o.budget));
  return summary_of_forecast(budget, found);
}

Result<VerifyOptions> read_verify(const VerifyCommandOptions& o) {
  VerifyOptions options;
  options.witnesses = o.witnesses;
  if (!o.public_key.empty() && !from_hex(o.public_key, options.key.emplace())) {
    return invalid_argument(fmt::format("--public-key must be 64 hexadecimal digits; got {}", shown(o.public_key)));
  }
  if (::isatty(STDERR_FILENO) != 0) {
    options.progress = [](std::uint64_t done, std::uint64_t all) {
      fmt::print(stderr, "\r{} of {} entries", done, all);
      if (done >= all) fmt::print(stderr, "\n");
    };
  }
  return options;
}

Result<Summary> run_verify_ledger(const VerifyCommandOptions& o) {
  const auto start = std::chrono::steady_clock::now();
  NF_TRY(const VerifyOptions options, read_verify(o));
  NF_TRY(const VerifyReport found, verify_ledger(location_of(o), options));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return summary_of(found, VerifiedLedger{location_of(o), taken.count(), !o.witnesses.empty(), "--witness FILE"});
}

Result<Summary> run_export(const ExportOptions& o) {
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_read(o));
  NF_TRY(const AuditDocument document, audit_document(*ledger, location_of(o), o.budget, NOISEFLOOR_VERSION));
  if (!o.output.empty()) {
    NF_TRY_VOID(write_file(o.output, document.text));
    return summary_of_written(document, o.output);
  }
  Summary summary = summary_of(document);
  summary.line("records", fmt::format("{}; --output FILE or --json shows them", document.records));
  return summary;
}

Result<Summary> run_witness(const WitnessOptions& o) {
  if ((o.output.empty() ? 0 : 1) + (o.add.empty() ? 0 : 1) + (o.drop.empty() ? 0 : 1) != 1) {
    return invalid_argument("give one of --output FILE, --add PLACE and --drop PLACE");
  }
  if (o.output.empty()) {
    NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_write(o, OpenFor::kMending));
    NF_TRY_VOID(o.drop.empty() ? ledger->add_witness(o.add) : ledger->drop_witness(o.drop, o.reason));
    return summary_of_witnesses(*ledger, location_of(o));
  }
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_read(o));
  NF_TRY(const Witness witness, ledger->witness());
  NF_TRY_VOID(write_witness(o.output, witness));
  Summary summary = summary_of(witness, o.output);
  summary.remark("Keep it where whoever can change the ledger cannot change it. `budget verify --witness` compares.");
  return summary;
}

// --- Declarations ----------------------------------------------------------------------------------------------------

void declare_one(CLI::App& command, BudgetOptions& o) {
  OptionGroup(command).required("budget", o.budget, "Name of the budget", "NAME");
}

void declare_any(CLI::App& command, BudgetOptions& o) {
  OptionGroup(command).optional("budget", o.budget, "Name of a budget; all if none is given", "NAME");
}

void declare_show_budget(CLI::App& command, ShowOptions& o) {
  declare_any(command, o);
  OptionGroup(command).optional("--delta", o.delta, "Show epsilon at this delta instead of the budget's", "D");
}

void declare_verify_ledger(CLI::App& command, VerifyCommandOptions& o) {
  OptionGroup(command).optional("--public-key", o.public_key, "The key that the ledger must have", "HEX");
}

void declare_export(CLI::App& command, ExportOptions& o) {
  declare_any(command, o);
  OptionGroup(command).optional("--output", o.output, "Where the JSON goes", "FILE");
}

void declare_witness(CLI::App& command, WitnessOptions& o) {
  const OptionGroup options(command);
  options.optional("--output", o.output, "Write the signed head to this file, to be kept elsewhere", "FILE");
  options.optional("--add", o.add, "Ask this place before every write: a file on another mount, or another ledger",
                   "PLACE");
  options.optional("--drop", o.drop, "Ask this place no longer; with --reason", "PLACE");
  options.optional("--reason", o.reason, "Why, for the history", "TEXT");
  o.add_to(command, true, true);
}

// A subcommand that only reads the ledger.
template <class Options>
void add_look(CLI::App& budget, Action& action, const char* name, const char* description, const char* example,
              void (*declare)(CLI::App&, Options&), Result<Summary> (*run)(const Options&),
              bool with_witnesses = false) {
  const auto declare_all = [=](CLI::App& command, Options& o) {
    declare(command, o);
    o.add_to(command, false, with_witnesses);
  };
  add_command<Options>(budget, action, name, description, example, declare_all, run);
}

}  // namespace

void add_budget_look_commands(CLI::App& budget, Action& action) {
  add_look(budget, action, "show", "Show what is spent and left", "trial --delta 1e-6", declare_show_budget,
           run_show_budget);
  add_look(budget, action, "history", "List all uses", "trial", declare_any, run_history);
  add_look(budget, action, "forecast", "Say how many more uses fit", "trial", declare_one, run_forecast);
  add_look(budget, action, "verify", "Recompute everything, and compare with witnesses", "--witness trial.witness",
           declare_verify_ledger, run_verify_ledger, true);
  add_look(budget, action, "export", "Write the audit records as JSON", "trial --output audit.json", declare_export,
           run_export);
  add_command<WitnessOptions>(budget, action, "witness", "Let somebody else know how far the ledger has come",
                              "--add /mnt/elsewhere/trial.witness", declare_witness, run_witness);
}

}  // namespace noisefloor::cli
