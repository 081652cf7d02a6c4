#include "noisefloor/base/input.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/commands.h"
#include "noisefloor/cli/described.h"
#include "noisefloor/cli/query_options.h"
#include "noisefloor/summary/query_summary.h"
#include "version.h"

namespace noisefloor::cli {

void QueryOptions::add_terms_to(CLI::App& command) {
  const OptionGroup privacy(command, "Privacy");
  privacy.required("--epsilon", text.epsilon, "What the answer may cost, above 0", "E");
  privacy.with_default("--delta", text.delta, "Above 0 for groups with private names, and for Gaussian noise", "D");
  privacy.with_default("--noise", text.noise, "auto, laplace or gaussian", "NOISE");
  privacy.optional("--weights", text.weights, "How much each number's error counts: 1,5", "LIST");
  privacy.optional("--key-share", text.key_share, "Share of epsilon for choosing which private names to show", "SHARE");
  privacy.optional("--max-groups", text.max_groups, "Groups that one person counts in: less than described", "N");
  privacy.optional("--max-rows-per-group", text.max_rows_per_group,
                   "Rows of one person in a group: less than described", "N");
  privacy.optional("--max-rows-per-unit", text.max_rows_per_unit, "Rows of one person in all: less than described",
                   "N");
  privacy.repeatable("--bound", text.bounds, "Narrower bounds of a column: cost=0..500; may be repeated", "BOUND");
  OptionGroup(command, "Output").with_default("--confidence", text.confidence, "Of the intervals", "P");
  OptionGroup(command, "Dataset").flag("--create", create, "Add the dataset, its budget and the ledger where missing");
}

Result<query::AskTerms> QueryOptions::terms() const {
  NF_TRY(query::AskTerms terms, query::terms_of(text));
  terms.key = key;
  terms.program_version = NOISEFLOOR_VERSION;
  if (create) terms.unknown = NewDatasets::kAdd;
  return terms;
}

Result<Summary> run_statements(const QueryOptions& o, const DescribedRows& rows,
                               const std::vector<std::string>& statements) {
  NF_TRY(const query::AskTerms terms, o.terms());
  NF_TRY(const std::vector<query::Plan> plans, query::plans_of(rows.description, statements, terms.limits));
  const bool explained = std::any_of(plans.begin(), plans.end(), [](const query::Plan& plan) { return plan.explain; });
  std::optional<query::Forecast> found;
  const auto outlook = [&](Ledger* ledger) -> Result<Outlook> {
    NF_TRY(found, query::forecast(rows, statements, terms, ledger));
    return found->outlook;
  };
  if (o.explain || explained) {
    std::unique_ptr<Ledger> ledger;
    if (ledger_is_there(o)) {
      NF_TRY(ledger, open_to_read(o));
    }
    NF_TRY(const std::string text, query::explanation(rows, statements, terms, ledger.get()));
    return summary_of_explanation(text);
  }
  if (o.dry_run) {
    NF_TRY_VOID(outlook_at(o, outlook));
    return summary_of(*found);
  }
  if (rows.description.is_public()) return query::forecast(rows, statements, terms, nullptr).error();
  NF_TRY(const OpenedLedger opened, open_to_pay(o, o.create, terms_of(rows.description), o.dataset, outlook));
  ChosenOutlet chosen(o);
  std::optional<DatasetConflict> conflict;
  Result<query::Asked> asked = query::ask(rows, statements, terms, *opened.ledger, chosen.outlet(), &conflict);
  if (!asked.has_value()) return with_remedy(std::move(asked).error(), conflict, o.dataset);
  if (o.csv) return csv_of(asked.value());
  NF_TRY(Summary summary, summary_of(asked.value(), *opened.ledger, rows.description.name));
  if (asked.value().released) chosen.name_files(summary);
  return summary;
}

namespace {

Result<Summary> run_query(const QueryOptions& o) {
  if (o.statement.empty() == o.file.empty()) {
    return invalid_argument("give one query in quotes, or --file FILE with one or more");
  }
  std::string text = o.statement;
  if (!o.file.empty()) {
    NF_TRY(text, read_text(o.file));
  }
  NF_TRY(const std::vector<std::string> statements, query::statements_in(text));
  NF_TRY(const DescribedRows rows, described_rows(o.dataset));
  return run_statements(o, rows, statements);
}

}  // namespace

void add_query_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, QueryOptions& o) {
    const OptionGroup options(command);
    options.required("DATASET", o.dataset, "Description of the dataset, whose budget pays (docs/formats/dataset.md)",
                     "FILE");
    options.optional("STATEMENT", o.statement, "A query, in quotes", "SQL");
    options.optional("--file", o.file,
                     "Queries that end with semicolons: one answer, cheaper than one by one; - is "
                     "standard input",
                     "FILE");
    options.flag("--explain", o.explain,
                 "Say what it would do, cost and how exact it would be; read and spend nothing");
    options.flag("--dry-run", o.dry_run, "Say what it would cost and whether it fits; read and spend nothing");
    o.add_terms_to(command);
    const OptionGroup output(command, "Output");
    output.flag("--csv", o.csv, "Print the answer as CSV");
    output.optional("--output", o.output, "Write the answer here, and its certificate beside it", "FILE");
    OptionGroup(command, "Ledger")
        .optional("--key", o.key, "A name for this question: under a new one the same question is asked afresh", "KEY");
    o.LedgerAccess::add_to(command, true, true);
    set_footer(command, R"(Examples:
  noisefloor query visits.toml "SELECT count(*) FROM visits" --epsilon 0.1
  noisefloor query visits.toml "SELECT ward, avg(cost) FROM visits GROUP BY ward" --epsilon 0.5 --delta 1e-6
  noisefloor query visits.toml --file monthly.sql --epsilon 1 --key 2026-11 --output monthly.json
  noisefloor query visits.toml "EXPLAIN (PRIVACY) SELECT sum(cost) FROM visits" --epsilon 0.5)");
  };
  add_command<QueryOptions>(app, action, "query", "Ask a dataset in SQL, and pay from its budget", nullptr, declare,
                            run_query);
}

}  // namespace noisefloor::cli
