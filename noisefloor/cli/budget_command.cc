#include "noisefloor/cli/commands.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/input.h"
#include "noisefloor/base/quantity_text.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/cli/training_numbers.h"
#include "noisefloor/ledger/audit.h"
#include "noisefloor/ledger/budget_question.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/summary/budget_summary.h"
#include "noisefloor/summary/ledger_summary.h"

namespace noisefloor::cli {
namespace {

constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 20;

// --- Options, as text ------------------------------------------------------------------------------------------------

struct TermsOptions {
  std::string epsilon;
  std::string delta = "0";
  std::string rule;
  std::string plan;
  std::string failures;
  std::string orders;
  std::string from;
  std::string until;
};

struct CreateOptions : LedgerAccess {
  std::string budget;
  TermsOptions terms;
  std::string adjacency = "add-remove";
  std::string unit = "row";
};

struct SplitOptions : LedgerAccess {
  std::string parent;
  std::string budget;
  TermsOptions terms;
  bool dry_run = false;
};

struct UseOptions {
  std::string epsilon;
  std::string delta;
  std::string noise_multiplier;
  TrainingNumbers training;
  std::string rho;
  std::string event;
  std::string item;
  std::string kind = "other";
};

struct NoteOptions {
  std::string pipeline;
  std::string purpose;
  std::vector<std::string> techniques;
  std::string configuration;
};

struct ReserveOptions : LedgerAccess {
  std::string budget;
  std::string key;
  UseOptions use;
  NoteOptions note;
  std::string blocks;
  std::string output;
  bool dry_run = false;
};

struct CommitOptions : LedgerAccess {
  std::string reservation;
  std::string release;
  std::string digest;
  bool keep = false;
  std::string accuracy;
};

struct AdoptOptions : LedgerAccess {
  std::string reason;
  bool lost = false;
};

// --- Reading what was asked for --------------------------------------------------------------------------------------

Result<StatedTerms> stated_terms(const TermsOptions& o, const std::string& name) {
  NF_TRY(const Epsilon epsilon, quantity<Epsilon>("--epsilon", o.epsilon));
  NF_TRY(const Delta delta, quantity<Delta>("--delta", o.delta));
  StatedTerms stated{.name = name, .epsilon = epsilon, .delta = delta};
  if (!o.plan.empty()) {
    NF_TRY(const std::string plan, read_text(o.plan));
    NF_TRY(stated.plan, plan_items_in(plan, o.plan));
  } else if (!o.rule.empty()) {
    NF_TRY(stated.rule, parse_rule(o.rule));
    if (stated.rule == Rule::kPlanned) return invalid_argument("a planned budget needs its plan: give --plan FILE");
  }
  if (!o.failures.empty()) {
    NF_TRY(stated.failures, parse_number("--failures", o.failures));
  }
  NF_TRY(stated.orders, parse_orders(o.orders));
  NF_TRY(stated.from, parse_optional_time(o.from));
  NF_TRY(stated.until, parse_optional_time(o.until));
  return stated;
}

Result<StatedUse> stated_use(const UseOptions& o) {
  StatedUse use;
  use.item = o.item;
  if (!o.event.empty()) {
    NF_TRY(use.event, read_text(o.event));
  }
  NF_TRY(use.rho, optional_quantity<Rho>("--rho", o.rho));
  NF_TRY(use.noise, optional_quantity<NoiseMultiplier>("--noise-multiplier", o.noise_multiplier));
  NF_TRY(use.training, o.training.read());
  NF_TRY(use.epsilon, optional_quantity<Epsilon>("--epsilon", o.epsilon));
  NF_TRY(use.delta, optional_quantity<Delta>("--delta", o.delta));
  return use;
}

// --- Commands --------------------------------------------------------------------------------------------------------

Result<Summary> run_create(const CreateOptions& o) {
  NF_TRY(StatedTerms stated, stated_terms(o.terms, o.budget));
  NF_TRY(stated.adjacency, parse_adjacency(o.adjacency));
  NF_TRY(stated.unit, parse_privacy_unit(o.unit));
  NF_TRY(const BudgetTerms terms, terms_of(std::move(stated)));
  NF_TRY_VOID(check_name("the name of a budget", terms.name));
  NF_TRY(const OpenedLedger opened, open_or_create(o));
  NF_TRY_VOID(opened.ledger->create_budget(terms));
  NF_TRY(const LedgerState::Budget budget, opened.ledger->budget(o.budget));
  NF_TRY(const std::string key_file, key_file_of(o));
  return summary_of_new_budget(budget, {location_of(o), key_file, opened.is_new});
}

Result<Summary> run_split(const SplitOptions& o) {
  NF_TRY(std::unique_ptr<Ledger> ledger, open_to_write(o));
  NF_TRY(const LedgerState::Budget parent, ledger->budget(o.parent));
  NF_TRY(StatedTerms stated, stated_terms(o.terms, o.budget));
  stated.parent = o.parent;
  stated.adjacency = parent.terms->adjacency;
  stated.unit = parent.terms->unit;
  NF_TRY(const BudgetTerms terms, terms_of(std::move(stated)));
  if (o.dry_run) {
    NF_TRY(const LedgerState after, ledger->rehearse(terms));
    NF_TRY(const LedgerState::Budget* const child, after.need(o.budget));
    NF_TRY(const LedgerState::Budget* const left, after.need(o.parent));
    return summary_of_part(*child, *left, true);
  }
  NF_TRY_VOID(ledger->create_budget(terms));
  NF_TRY(const LedgerState::Budget after, ledger->budget(o.parent));
  NF_TRY(const LedgerState::Budget child, ledger->budget(o.budget));
  return summary_of_part(child, after, false);
}

Result<ReserveRequest> request_of(const ReserveOptions& o, const BudgetTerms& terms) {
  NF_TRY(const StatedUse use, stated_use(o.use));
  NF_TRY(DpEvent event, event_of_use(use, terms));
  NF_TRY(std::vector<std::string> blocks, stated_blocks(terms, o.blocks));
  Note note{o.note.pipeline, o.note.purpose, o.note.techniques, {}};
  if (!o.note.configuration.empty()) {
    NF_TRY(note.configuration, read_text(o.note.configuration));
  }
  ReserveRequest request{o.budget,         o.key,    {terms.adjacency, terms.unit, std::move(event)},
                         use.delta,        use.item, std::move(note),
                         std::move(blocks)};
  NF_TRY(request.use, parse_use_kind(o.use.kind));
  return request;
}

Result<Summary> rehearse(Ledger& ledger, const ReserveRequest& request) {
  NF_TRY(const LedgerState::Budget after, ledger.rehearse(request));
  Summary summary = summary_of_rehearsal(request, after);
  summary.remark("Nothing was spent. The same command without --dry-run reserves it.");
  return summary;
}

// Gives an earlier answer to whoever asked again, and says where it went.
Result<void> give_again(Summary& summary, const std::string& answer, const std::string& output) {
  if (!output.empty()) NF_TRY_VOID(write_file(output, answer));
  summary.line("answer", output.empty() ? fmt::format("{} bytes; --output FILE writes them", answer.size())
                                        : fmt::format("written to {}", output));
  return success();
}

Result<Summary> run_reserve(const ReserveOptions& o) {
  NF_TRY(std::unique_ptr<Ledger> ledger, open_to_write(o));
  NF_TRY(const LedgerState::Budget budget, ledger->budget(o.budget));
  NF_TRY(const ReserveRequest request, request_of(o, *budget.terms));
  if (o.dry_run) return rehearse(*ledger, request);
  NF_TRY(const Reservation reservation, ledger->reserve(request));
  NF_TRY(const LedgerState::Budget after, ledger->budget(o.budget));
  Summary summary = summary_of(reservation, request, after);
  if (!reservation.earlier_release()) {
    summary.remark(
        fmt::format("It is spent from now on. Draw the noise, then: noisefloor budget commit {} --release FILE",
                    reservation.sequence()));
  } else if (const std::optional<std::string>& answer = reservation.earlier_answer()) {
    NF_TRY_VOID(give_again(summary, *answer, o.output));
  }
  return summary;
}

Result<Summary> run_commit(const CommitOptions& o) {
  NF_TRY(const std::uint64_t sequence, parse_count("the reservation", o.reservation));
  if (o.release.empty() == o.digest.empty()) {
    return invalid_argument("give either --release FILE or --digest HEX: what was released");
  }
  Digest digest{};
  std::optional<std::string> answer;
  if (!o.release.empty()) {
    NF_TRY(std::string content, read_file(o.release, kMaxAnswerBytes));
    digest = blake2b(content);
    if (o.keep) answer = std::move(content);
  } else {
    if (!from_hex(o.digest, digest)) {
      return invalid_argument(
          fmt::format("--digest must be 64 hexadecimal digits (BLAKE2b-256); got {}", shown(o.digest)));
    }
    if (o.keep) return invalid_argument("--keep needs the bytes: give --release FILE");
  }
  std::optional<double> accuracy;
  if (!o.accuracy.empty()) {
    NF_TRY(accuracy, parse_number("--accuracy", o.accuracy));
  }
  NF_TRY(std::unique_ptr<Ledger> ledger, open_to_write(o));
  NF_TRY_VOID(
      ledger->commit(sequence, digest, answer ? std::optional<std::string_view>(*answer) : std::nullopt, accuracy));
  return summary_of_commit(sequence, digest, answer ? std::optional(answer->size()) : std::nullopt);
}

Result<Summary> run_adopt(const AdoptOptions& o) {
  NF_TRY(std::unique_ptr<Ledger> ledger, open_to_write(o, OpenFor::kMending));
  NF_TRY_VOID(ledger->adopt(o.reason, o.lost ? Ledger::Lost::kGivenUp : Ledger::Lost::kNothing));
  NF_TRY(const Witness head, ledger->witness());
  return summary_of_adoption(location_of(o), head);
}

Result<Summary> run_clock(const AdoptOptions& o) {
  NF_TRY(std::unique_ptr<Ledger> ledger, open_to_write(o));
  NF_TRY(const TimeMs before, ledger->set_clock(o.reason));
  return summary_of_clock(*ledger, location_of(o), before);
}

// --- Declarations ----------------------------------------------------------------------------------------------------

void declare(CLI::App& command, TermsOptions& o) {
  const OptionGroup total(command, "Total");
  const OptionGroup rule(command, "Rule");
  const OptionGroup time(command, "Time");
  total.required("--epsilon", o.epsilon, "Total privacy loss", "E");
  total.optional("--delta", o.delta, "Total failure probability", "D");
  rule.optional(
      "--rule", o.rule,
      "How costs of uses add up that are chosen one after the other: rdp (the default), zcdp (no sampling), approx-dp, "
      "basic (the default without a delta)",
      "RULE");
  rule.optional("--plan", o.plan, R"(All uses, fixed in advance: JSON {"items": [{"name", "times", "event"}]})",
                "FILE");
  rule.optional("--failures", o.failures, "Share of delta that uses may spend as their own", "SHARE");
  rule.optional("--orders", o.orders, "Renyi orders of the rule rdp, as 2,4,8", "LIST");
  time.optional("--from", o.from, "Uses before this time (UTC) are refused", "TIME");
  time.optional("--until", o.until, "Uses from this time (UTC) on are refused", "TIME");
}

void declare(CLI::App& command, CreateOptions& o) {
  OptionGroup(command).required("budget", o.budget, "Name of the budget", "NAME");
  declare(command, o.terms);
  add_adjacency_option(command, o.adjacency);
  add_unit_option(command, o.unit);
}

void declare(CLI::App& command, SplitOptions& o) {
  const OptionGroup options(command);
  options.required("parent", o.parent, "Name of the budget that pays", "PARENT");
  options.required("--into", o.budget, "Name of the part: a team, an analyst, a month", "NAME");
  declare(command, o.terms);
  options.flag("--dry-run", o.dry_run, "Only say whether it would fit: nothing is made or spent");
}

void declare(CLI::App& command, UseOptions& o) {
  const OptionGroup spent(command, "What is spent");
  spent.optional("--epsilon", o.epsilon, "A use that is (E, D)-DP", "E");
  spent.optional("--delta", o.delta, "The D of --epsilon, or what a use may spend of delta (rules basic, approx-dp)",
                 "D");
  spent.optional("--noise-multiplier", o.noise_multiplier,
                 "Gaussian noise: sigma over the sensitivity; with sampled batches, over the clip norm", "S");
  o.training.add_to(spent);
  spent.optional("--rho", o.rho, "A use that is rho-zCDP", "R");
  spent.optional("--event", o.event, "JSON of any event (- is standard input)", "FILE");
  spent.optional("--item", o.item, "An item of the plan", "NAME");
  spent.with_default("--use", o.kind, "Kind of use: training, statistic, 'utility graph' or other", "KIND");
}

void declare(CLI::App& command, NoteOptions& o) {
  const OptionGroup record(command, "Record");
  record.optional("--pipeline", o.pipeline, "For the audit record", "ID");
  record.optional("--purpose", o.purpose, "For the audit record", "TEXT");
  record.repeatable("--technique", o.techniques, "For the audit record; may be repeated", "NAME");
  record.optional("--configuration", o.configuration, "For the audit record: a JSON object", "FILE");
}

void declare(CLI::App& command, ReserveOptions& o) {
  const OptionGroup options(command);
  options.required("budget", o.budget, "Name of the budget", "NAME");
  options.required("--key", o.key, "Name of this request: the same key gets the same answer and is paid for once",
                   "KEY");
  options.optional("--blocks", o.blocks, "The blocks that it touches, of a budget by blocks: 2026-01..2026-03", "LIST");
  options.flag("--dry-run", o.dry_run, "Only say whether it would fit: nothing is spent");
  declare(command, o.use);
  declare(command, o.note);
  OptionGroup(command, "Output")
      .optional("--output", o.output, "Where an earlier answer goes, if there is one", "FILE");
}

void declare(CLI::App& command, CommitOptions& o) {
  const OptionGroup options(command);
  options.required("reservation", o.reservation, "Number of the reservation", "N");
  options.optional("--release", o.release, "File that was released: its digest is recorded", "FILE");
  options.optional("--digest", o.digest, "Instead: its BLAKE2b-256 (b2sum -l 256)", "HEX");
  options.flag("--keep", o.keep, "Keep the bytes, for the same request when it comes again");
  options.optional("--accuracy", o.accuracy, "How good it is, if that is public; for the audit record", "A");
}

void declare(CLI::App& command, AdoptOptions& o) {
  OptionGroup(command).required("--reason", o.reason, "Why, for the history", "TEXT");
}

// A subcommand that writes to the ledger.
template <class Options>
void add_writing(CLI::App& budget, Action& action, const char* name, const char* description, const char* example,
                 Result<Summary> (*run)(const Options&)) {
  const auto declare_all = [](CLI::App& command, Options& o) {
    declare(command, o);
    o.add_to(command, true, true);
  };
  add_command<Options>(budget, action, name, description, example, declare_all, run);
}

}  // namespace

void add_budget_command(CLI::App& app, Action& action) {
  CLI::App& budget = add_command_group(
      app, "budget", "Keep a privacy budget that cannot be overspent",
      R"(Life of a spend: reserve (durable; counts as spent from then on), draw the noise, commit what was released.
Examples:
  noisefloor budget create trial --epsilon 3 --delta 1e-5
  noisefloor budget reserve trial --key mean-age --noise-multiplier 20 --purpose "Mean age per site"
  noisefloor budget commit 2 --release answer.json --keep
  noisefloor budget show trial
  noisefloor budget witness --output trial.witness
  noisefloor budget verify --witness trial.witness)");
  add_writing(budget, action, "create", "Make a budget (and a ledger with a new key, if there is none)",
              "trial --epsilon 3 --delta 1e-5 --unit person", run_create);
  add_writing(budget, action, "split", "Give part of a budget to a team, an analyst or a time window",
              "trial --into cardiology --epsilon 1 --delta 5e-7 --until 2027-01-01", run_split);
  add_writing(budget, action, "reserve", "Spend, durably, before any noise is drawn",
              "trial --key mean-age --noise-multiplier 20 --purpose \"Mean age per site\"", run_reserve);
  add_writing(budget, action, "commit", "Record what was released for a reservation", "2 --release answer.json --keep",
              run_commit);
  add_budget_look_commands(budget, action);
  const auto declare_adopt = [](CLI::App& command, AdoptOptions& o) {
    declare(command, o);
    OptionGroup(command).flag("--lost", o.lost,
                              "Also if entries are missing that were seen: what they spent counts no longer");
    o.add_to(command, true, true);
  };
  add_command<AdoptOptions>(budget, action, "adopt", "Go on with a restored or moved copy",
                            "--reason \"disk was replaced\" --witness trial.witness", declare_adopt, run_adopt);
  add_writing(budget, action, "clock", "Go on from the present time, after a clock that was ahead wrote entries",
              "--reason \"the clock of host 3 jumped to 2099\"", run_clock);
}

}  // namespace noisefloor::cli
