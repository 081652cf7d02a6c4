#include "noisefloor/query/ask.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/dataset/described_tables.h"
#include "noisefloor/query/explanation.h"
#include "noisefloor/query/lazy_engine.h"
#include "noisefloor/query/noise.h"
#include "noisefloor/query/parse.h"
#include "noisefloor/statistics/column_questions.h"

namespace noisefloor::query {
namespace {

// A question that is ready, and what it is known by.
struct Prepared {
  Plans plans;
  std::shared_ptr<LazyEngine> engine;
  Question question;
  DatasetAsker asker;
};

Error needs_no_noise(const DatasetDescription& description) {
  return invalid_argument(
      fmt::format("the dataset {} is public: no budget pays for it, and no noise is needed. Ask its database directly",
                  shown(description.name)));
}

Result<Prepared> prepare(const DescribedRows& rows, std::span<const std::string> statements, const AskTerms& terms) {
  if (rows.description.is_public()) return needs_no_noise(rows.description);
  NF_TRY(const TablesFormat tables, tables_of(rows.description));
  NF_TRY(std::vector<Plan> made, plans_of(rows.description, statements, terms.limits));
  const auto plans = std::make_shared<const std::vector<Plan>>(std::move(made));
  auto engine = std::make_shared<LazyEngine>(source_of(tables, rows.folder));
  NF_TRY(Question question, queries_question(plans, terms.noise, engine));
  question.data =
      "tables, bounds, units and public names of groups are those of the dataset's description, stated without looking "
      "at the data";
  DatasetAsker asker{terms.key.empty() ? key_of(question) : terms.key, terms.program_version, terms.unknown};
  return Prepared{plans, std::move(engine), std::move(question), std::move(asker)};
}

// The budget that the ledger has for the dataset, or else the described one.
Result<std::string> budget_of(const DatasetDescription& description, Ledger& ledger) {
  std::string budget = description.budget->name;
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    const LedgerState::Dataset* const known = state.find_dataset(description.name);
    if (known != nullptr && !known->is_public()) budget = known->budget;
    if (known != nullptr && known->retired) budget.clear();  // nothing of it is given out any more
    return success();
  }));
  return budget;
}

std::vector<AnswerTable> tables_in(const Answer& answer, std::size_t plans) {
  std::vector<AnswerTable> tables;
  for (std::size_t i = 0; i < plans; ++i) {
    const AnswerValue* const value = find_value(answer, table_name(i, plans));
    if (value != nullptr) tables.push_back(std::get<AnswerTable>(value->value));
  }
  return tables;
}

Result<Asked> asked_of(ReleasedAnswer released, std::size_t plans) {
  if (!released.answer) return verification_failed("the answer under this key was written by another program");
  Asked asked;
  asked.tables = tables_in(*released.answer, plans);
  asked.is_free = released.again;
  asked.paid_by = released.release.certificate.spend->reservations;
  asked.released = std::move(released);
  return asked;
}

// Whether the ledger has answered this very key.
Result<bool> is_answered(Ledger& ledger, const std::string& budget, const std::string& key) {
  bool answered = false;
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    const std::optional<std::uint64_t> known = state.find_key(budget, key);
    answered = known && state.find_spend(*known)->status == SpendStatus::kCommitted;
    return success();
  }));
  return answered;
}

bool has_budget(Ledger& ledger, const std::string& budget) {
  bool there = false;
  const Result<void> read = ledger.read([&](const LedgerState& state) -> Result<void> {
    there = state.find(budget) != nullptr;
    return success();
  });
  return read.has_value() && there;
}

}  // namespace

Result<DescribedTables> policy_of(const DatasetDescription& description) {
  NF_TRY(TablesFormat tables, tables_of(description));
  const Adjacency adjacency = description.budget ? description.budget->adjacency : Adjacency::kAddRemove;
  DescribedTables policy{description.name, std::move(tables), description.unit.unit, adjacency};
  NF_TRY_VOID(check_policy(policy));
  return policy;
}

Result<std::vector<Plan>> plans_of(const DatasetDescription& description, std::span<const std::string> statements,
                                   const PlanOptions& limits) {
  NF_TRY(const DescribedTables policy, policy_of(description));
  std::vector<Plan> plans;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    Result<Plan> plan = plan_query(policy, statements[i], limits);
    if (!plan.has_value()) {
      Error error = plan.error();
      if (statements.size() > 1) error.message = fmt::format("statement {}: {}", i + 1, error.message);
      return error;
    }
    plans.push_back(std::move(plan).value());
  }
  return plans;
}

Result<Asked> ask(const DescribedRows& rows, std::string_view statement, const AskTerms& terms, Ledger& ledger,
                  Outlet& outlet) {
  const std::string one(statement);
  return ask(rows, {&one, 1}, terms, ledger, outlet);
}

Result<Asked> ask(const DescribedRows& rows, std::span<const std::string> statements, const AskTerms& terms,
                  Ledger& ledger, Outlet& outlet, std::optional<DatasetConflict>* conflict) {
  NF_TRY(Prepared made, prepare(rows, statements, terms));
  NF_TRY(const std::string budget, budget_of(rows.description, ledger));
  if (!budget.empty() && has_budget(ledger, budget)) {
    AnswerRequest request = request_about(rows.description, made.asker);
    request.budget = budget;
    NF_TRY(const bool answered, is_answered(ledger, budget, made.asker.key));
    if (answered) {
      NF_TRY(ReleasedAnswer released, release_answer(request, made.question, ledger, outlet));
      return asked_of(std::move(released), made.plans->size());
    }
  }
  NF_TRY_VOID(made.engine->open());
  for (const Plan& plan : *made.plans) NF_TRY_VOID(made.engine->explain(plan.measurement));  // before anything is spent
  NF_TRY(ReleasedAnswer released, ask_dataset(rows, made.question, made.asker, ledger, outlet, conflict));
  return asked_of(std::move(released), made.plans->size());
}

Result<Forecast> forecast(const DescribedRows& rows, std::span<const std::string> statements, const AskTerms& terms,
                          Ledger* ledger) {
  NF_TRY(Prepared made, prepare(rows, statements, terms));
  NF_TRY(Outlook outlook, outlook_about(rows.description, made.question, made.asker, ledger));
  AnswerRequest request = request_about(rows.description, made.asker);
  return Forecast{std::move(made.question), std::move(request), std::move(outlook)};
}

Result<std::string> explanation(const DescribedRows& rows, std::span<const std::string> statements,
                                const AskTerms& terms, Ledger* ledger) {
  NF_TRY(Prepared made, prepare(rows, statements, terms));
  NF_TRY(const NoiseSplit split, split_budget(*made.plans, terms.noise));
  NF_TRY(const TablesFormat tables, tables_of(rows.description));
  engine::Source source = source_of(tables, rows.folder);
  source.without_rows = true;
  const Result<std::unique_ptr<engine::Engine>> engine = engine::open_engine(source);
  std::string text =
      explained(rows.description, *made.plans, split, terms.noise, engine.has_value() ? engine.value().get() : nullptr,
                engine.has_value() ? std::string() : engine.error().message);
  NF_TRY(const Outlook outlook, outlook_about(rows.description, made.question, made.asker, ledger));
  if (outlook.asked_before) return text + "  bought          before: asking costs nothing\n";
  if (!outlook.left.empty()) text += fmt::format("  left            {}\n", outlook.left);
  text += outlook.fits ? "  fits            yes\n" : fmt::format("  fits            no: {}\n", outlook.refusal);
  return text;
}

Result<std::vector<std::string>> statements_in(std::string_view text) {
  NF_TRY(std::vector<std::string> statements, split_statements(text));
  if (statements.empty()) return invalid_argument("there is no query: write SELECT … FROM …");
  return statements;
}

}  // namespace noisefloor::query
