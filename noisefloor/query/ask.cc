#include "noisefloor/query/ask.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/base/text.h"
#include "noisefloor/dataset/described_tables.h"
#include "noisefloor/query/bought.h"
#include "noisefloor/query/explanation.h"
#include "noisefloor/query/lazy_engine.h"
#include "noisefloor/query/noise.h"
#include "noisefloor/query/parse.h"
#include "noisefloor/query/reuse.h"
#include "noisefloor/query/shown_table.h"
#include "noisefloor/statistics/column_questions.h"

namespace noisefloor::query {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kTakenAsPublic =
    "tables, bounds, units and public names of groups are those of the dataset's description, stated without looking "
    "at the data";

Error needs_no_noise(const DatasetDescription& description) {
  return invalid_argument(
      fmt::format("the dataset {} is public: no budget pays for it, and no noise is needed. Ask its database directly",
                  shown(description.name)));
}

// What the ledger knows of the dataset: the budget that pays, and since which entry its rows are what they are.
struct Standing {
  std::string budget;                      // empty: none yet, or nothing is given out any more
  std::optional<std::uint64_t> rows = {};  // the entry with which the present rows came
};

Result<Standing> standing_of(const DatasetDescription& description, Ledger* ledger) {
  Standing standing;
  if (ledger == nullptr) return standing;
  NF_TRY_VOID(ledger->read([&](const LedgerState& state) -> Result<void> {
    const LedgerState::Dataset* const known = state.find_dataset(description.name);
    if (known == nullptr || known->is_public() || known->retired) return success();
    standing.budget = known->budget;
    standing.rows = known->entry;
    for (const LedgerState::Dataset::Content& content : known->contents) {
      standing.rows = std::max(*standing.rows, content.entry);
    }
    return success();
  }));
  return standing;
}

struct Bill {
  Plans plans;                                        // to be bought
  std::vector<std::size_t> places;                    // of these among all statements
  std::vector<std::optional<DerivedAnswer>> derived;  // of all statements: what follows from what was bought
  std::vector<std::optional<std::size_t>> same_as;    // of all statements: an earlier one with the same text
  std::optional<Question> question;                   // nothing if all follow
  DatasetAsker asker;
};

// What has to be bought: everything, if the analyst names the question anew.
class Billing {
 public:
  Billing(const DescribedRows& rows, std::span<const std::string> statements, const AskTerms& terms)
      : rows_(rows), statements_(statements), terms_(terms) {}

  [[nodiscard]] static Result<Billing> of(const DescribedRows& rows, std::span<const std::string> statements,
                                          const AskTerms& terms) {
    if (rows.description.is_public()) return needs_no_noise(rows.description);
    Billing made(rows, statements, terms);
    NF_TRY(const TablesFormat tables, tables_of(rows.description));
    NF_TRY_VOID(made.plan());
    // Terms that mean nothing are refused, also where nothing has to be bought.
    std::vector<std::size_t> every(made.all_.size());
    std::iota(every.begin(), every.end(), 0);
    NF_TRY_VOID(made.split(every, made.all_));
    made.engine_ = std::make_shared<LazyEngine>(source_of(tables, rows.folder));
    return made;
  }

  [[nodiscard]] Result<Bill> bill(Ledger* ledger, const Standing& standing) {
    Bill bill;
    bill.derived.resize(all_.size());
    bill.same_as.resize(all_.size());
    std::vector<KeptQueries> kept;
    const bool looks = terms_.key.empty() && ledger != nullptr && !standing.budget.empty();
    if (looks) {
      NF_TRY(kept, answers_in(*ledger, standing.budget, *about().provenance.dataset, *standing.rows));
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
      for (std::size_t j = 0; j < i && !bill.same_as[i]; ++j) {
        if (all_[j].canonical == all_[i].canonical && !bill.same_as[j]) bill.same_as[i] = j;
      }
      if (bill.same_as[i]) continue;
      NF_TRY(bill.derived[i], derived_answer(all_[i], terms_.noise.epsilon, kept));
      if (!bill.derived[i]) bill.places.push_back(i);
    }
    NF_TRY_VOID(finish(bill, standing));
    return bill;
  }

  // All statements, whatever was bought.
  [[nodiscard]] Result<Bill> whole(const Standing& standing) {
    Bill bill;
    bill.derived.resize(all_.size());
    bill.same_as.resize(all_.size());
    for (std::size_t i = 0; i < all_.size(); ++i) {
      for (std::size_t j = 0; j < i && !bill.same_as[i]; ++j) {
        if (all_[j].canonical == all_[i].canonical && !bill.same_as[j]) bill.same_as[i] = j;
      }
      if (!bill.same_as[i]) bill.places.push_back(i);
    }
    NF_TRY_VOID(finish(bill, standing));
    return bill;
  }

  [[nodiscard]] NoiseSplit split_of_all() const {
    std::vector<std::size_t> every(all_.size());
    std::iota(every.begin(), every.end(), 0);
    return *splits_.at(every);
  }
  [[nodiscard]] AnswerRequest about() const { return request_about(rows_.description, {}); }
  [[nodiscard]] const std::vector<Plan>& plans() const { return all_; }
  [[nodiscard]] LazyEngine& engine() { return *engine_; }

 private:
  // The split of these statements, whose plans are equal to `plans`. Each is made once: accounting takes time.
  [[nodiscard]] Result<std::shared_ptr<const NoiseSplit>> split(const std::vector<std::size_t>& places,
                                                                const std::vector<Plan>& plans) {
    auto found = splits_.find(places);
    if (found == splits_.end()) {
      NF_TRY(NoiseSplit made, split_budget(plans, terms_.noise));
      found = splits_.emplace(places, std::make_shared<const NoiseSplit>(std::move(made))).first;
    }
    return found->second;
  }

  [[nodiscard]] Result<void> finish(Bill& bill, const Standing& standing) {
    bill.asker = {terms_.key, terms_.program_version, terms_.unknown};
    if (bill.places.empty()) return success();
    // Plans hold secrets and are not copied: those that are bought are planned anew.
    NF_TRY(std::vector<Plan> again, plans_of(rows_.description, statements_, terms_.limits));
    std::vector<Plan> bought;
    for (const std::size_t place : bill.places) bought.push_back(std::move(again[place]));
    bill.plans = std::make_shared<const std::vector<Plan>>(std::move(bought));
    NF_TRY(const auto divided, split(bill.places, *bill.plans));
    bill.question = queries_question(bill.plans, terms_.noise, engine_, divided);
    bill.question->data = kTakenAsPublic;
    // A key that was used for another dataset, or for another description of this one, is another question's.
    Json configuration = Json::parse(bill.question->configuration);
    const AnswerRequest asked = about();
    configuration["dataset"] = asked.provenance.dataset->name;
    configuration["description"] = asked.provenance.dataset->digest;
    bill.question->configuration = configuration.dump();
    // Other rows are another question.
    if (bill.asker.key.empty()) {
      bill.asker.key = key_of(*bill.question);
      if (standing.rows) bill.asker.key += fmt::format("-{}", *standing.rows);
    }
    return success();
  }

  [[nodiscard]] Result<void> plan() {
    NF_TRY(all_, plans_of(rows_.description, statements_, terms_.limits));
    return success();
  }

  const DescribedRows& rows_;
  std::span<const std::string> statements_;
  const AskTerms& terms_;
  std::vector<Plan> all_;
  std::shared_ptr<LazyEngine> engine_;
  std::map<std::vector<std::size_t>, std::shared_ptr<const NoiseSplit>> splits_;
};

// The tables of an answer, under the names that these plans give their columns.
Result<std::vector<AnswerTable>> tables_in(const Answer& answer, const std::vector<Plan>& plans,
                                           Confidence confidence) {
  NF_TRY(const Bought bought, parse_bought(answer.configuration));
  const Error wrong = verification_failed("the answer under this key is not one of these queries");
  if (bought.plans.size() != plans.size()) return wrong;
  std::vector<AnswerTable> tables;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const AnswerValue* const value = find_value(answer, bought_name(i, plans.size()));
    const auto* table = value == nullptr ? nullptr : std::get_if<AnswerTable>(&value->value);
    if (table == nullptr || bought.plans[i].quantities.size() != plans[i].quantities.size()) return wrong;
    NoisedGroups noised;
    NF_TRY(noised.groups, groups_in(*table, bought.plans[i].key_types, bought.plans[i].quantities.size()));
    for (const BoughtQuantity& quantity : bought.plans[i].quantities) {
      noised.errors.push_back(quantity.error);
      noised.has_error.push_back(quantity.has_error);
    }
    tables.push_back(shown_table(plans[i], noised, confidence));
  }
  return tables;
}

// What the statements would cost one by one, each at the whole δ.
Result<double> one_by_one(const std::vector<Plan>& plans, const NoiseTerms& terms) {
  NF_TRY(const NoiseSplit split, split_budget(plans, terms));
  double sum = 0;
  for (const PlanNoise& plan : split.plans) {
    NF_TRY(const Interval epsilon, pld_epsilon(plan.event, split.statement.adjacency, split.delta));
    sum += epsilon.upper;
  }
  return sum;
}

// Puts together what was bought now and what follows from earlier answers.
Result<Asked> asked_of(const std::vector<Plan>& plans, const Bill& bill, std::optional<ReleasedAnswer> released,
                       const NoiseTerms& terms) {
  Asked asked;
  std::vector<AnswerTable> bought;
  if (released) {
    if (!released->answer) return verification_failed("the answer under this key was written by another program");
    NF_TRY(bought, tables_in(*released->answer, *bill.plans, terms.confidence));
    asked.paid_by = released->release.certificate.spend->reservations;
  }
  asked.is_free = !released || released->again;
  asked.tables.resize(plans.size());
  for (std::size_t i = 0; i < bill.places.size(); ++i) asked.tables[bill.places[i]] = std::move(bought[i]);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (!bill.derived[i]) continue;
    const DerivedAnswer& from = *bill.derived[i];
    asked.tables[i] = shown_table(plans[i], from.groups, terms.confidence);
    asked.notes.push_back(fmt::format("{}computed from what reservation {} bought, for nothing: {}",
                                      plans.size() == 1 ? "" : fmt::format("query {}: ", i + 1), from.reservation,
                                      from.how));
    if (std::find(asked.paid_by.begin(), asked.paid_by.end(), from.reservation) == asked.paid_by.end()) {
      asked.paid_by.push_back(from.reservation);
    }
  }
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (bill.same_as[i]) asked.tables[i] = asked.tables[*bill.same_as[i]];
  }
  if (released && !released->again && bill.places.size() > 1) {
    NF_TRY(const double apart, one_by_one(*bill.plans, terms));
    const double together = released->release.certificate.epsilon.upper;
    if (apart > together * 1.001) {
      asked.notes.push_back(
          fmt::format("asked one by one, with the same noise, they would cost epsilon {:.4g}", apart));
    }
  }
  asked.released = std::move(released);
  return asked;
}

// The answer to this very question about these rows, if it was given before: its document, written again.
Result<std::optional<Asked>> asked_again(Billing& billing, const DescribedRows& rows, const AskTerms& terms,
                                         const Standing& standing, Ledger& ledger, Outlet& outlet) {
  if (standing.budget.empty()) return std::optional<Asked>{};
  NF_TRY(const Bill bill, billing.whole(standing));
  bool answered = false;
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    const std::optional<std::uint64_t> known = state.find_key(standing.budget, bill.asker.key);
    answered = known && state.find_spend(*known)->status == SpendStatus::kCommitted;
    return success();
  }));
  if (!answered) return std::optional<Asked>{};
  AnswerRequest request = request_about(rows.description, bill.asker);
  request.budget = standing.budget;
  NF_TRY(ReleasedAnswer released, release_answer(request, *bill.question, ledger, outlet));
  NF_TRY(Asked asked, asked_of(billing.plans(), bill, std::move(released), terms.noise));
  return std::optional<Asked>(std::move(asked));
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
  NF_TRY(Billing billing, Billing::of(rows, statements, terms));
  NF_TRY(Standing standing, standing_of(rows.description, &ledger));
  // The very same question: its document is given again.
  NF_TRY(std::optional<Asked> again, asked_again(billing, rows, terms, standing, ledger, outlet));
  if (again) return std::move(*again);
  NF_TRY(Bill bill, billing.bill(&ledger, standing));
  if (bill.question) {
    NF_TRY_VOID(billing.engine().open());
    // What an engine cannot be asked is found before anything is spent.
    for (const Plan& plan : *bill.plans) NF_TRY_VOID(billing.engine().explain(measurement_of(plan, {})));
    AnswerRequest request = request_about(rows.description, bill.asker);
    NF_TRY_VOID(rehearse(*bill.question, request.provenance));
    NF_TRY(const ReserveRequest spend, spend_of(request, *bill.question, &ledger));
    NF_TRY(request.budget, find_payer(ledger, rows, {&spend, 1}, terms.unknown, conflict));
    NF_TRY(const Standing claimed, standing_of(rows.description, &ledger));
    if (claimed.rows != standing.rows && terms.key.empty()) {
      // The rows are new, or others: what was bought about earlier ones answers nothing.
      NF_TRY(bill, billing.bill(&ledger, claimed));
      request.key = bill.asker.key;
    }
    if (bill.question) {
      NF_TRY(ReleasedAnswer released, release_answer(request, *bill.question, ledger, outlet));
      return asked_of(billing.plans(), bill, std::move(released), terms.noise);
    }
  }
  if (dynamic_cast<LedgerOutlet*>(&outlet) == nullptr) {
    return invalid_argument(
        "this answer follows from what was bought before, so there is no new release to write to a file: show it, or "
        "ask under a new key and pay");
  }
  return asked_of(billing.plans(), bill, std::nullopt, terms.noise);
}

Result<Forecast> forecast(const DescribedRows& rows, std::span<const std::string> statements, const AskTerms& terms,
                          Ledger* ledger) {
  NF_TRY(Billing billing, Billing::of(rows, statements, terms));
  NF_TRY(const Standing standing, standing_of(rows.description, ledger));
  NF_TRY(Bill bill, billing.bill(ledger, standing));
  if (bill.question) {
    NF_TRY(Outlook outlook, outlook_about(rows.description, *bill.question, bill.asker, ledger));
    return Forecast{std::move(bill.question), request_about(rows.description, bill.asker), std::move(outlook)};
  }
  Outlook free{.budget_is_there = true, .asked_before = true, .fits = true};
  return Forecast{std::nullopt, request_about(rows.description, bill.asker), std::move(free), true};
}

Result<std::string> explanation(const DescribedRows& rows, std::span<const std::string> statements,
                                const AskTerms& terms, Ledger* ledger) {
  NF_TRY(Billing billing, Billing::of(rows, statements, terms));
  const NoiseSplit split = billing.split_of_all();
  NF_TRY(const TablesFormat tables, tables_of(rows.description));
  engine::Source source = source_of(tables, rows.folder);
  source.without_rows = true;
  const Result<std::unique_ptr<engine::Engine>> engine = engine::open_engine(source);
  std::string text = explained(rows.description, billing.plans(), split, terms.noise,
                               engine.has_value() ? engine.value().get() : nullptr,
                               engine.has_value() ? std::string() : engine.error().message);
  NF_TRY(const Standing standing, standing_of(rows.description, ledger));
  NF_TRY(const Bill bill, billing.bill(ledger, standing));
  for (std::size_t i = 0; i < bill.derived.size(); ++i) {
    if (!bill.derived[i]) continue;
    text += fmt::format("  {:<15} {}reservation {} has bought it: nothing would be spent ({})\n", "free",
                        bill.derived.size() == 1 ? "" : fmt::format("query {}: ", i + 1), bill.derived[i]->reservation,
                        bill.derived[i]->how);
  }
  if (!bill.question) return text;
  NF_TRY(const Outlook outlook, outlook_about(rows.description, *bill.question, bill.asker, ledger));
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
