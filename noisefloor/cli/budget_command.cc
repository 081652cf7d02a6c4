#include "noisefloor/cli/budget_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/input.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/event/json.h"
#include "noisefloor/ledger/audit.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/ledger/verify.h"
#include "noisefloor/ledger/witness.h"
#include "version.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;
using noisefloor::shown;

constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 20;

struct Options : LedgerAccess {
  // Budgets
  std::string budget;
  std::string parent;
  std::string epsilon;
  std::string delta;
  std::string adjacency = "add-remove";
  std::string unit = "row";
  std::string rule;
  std::string plan;
  std::string failures;
  std::string orders;
  std::string from;
  std::string until;
  // Uses
  std::string key;
  std::string event;
  std::string item;
  std::string rho;
  std::string noise_multiplier;
  std::string steps;
  std::string sample_rate;
  std::string pipeline;
  std::string purpose;
  std::vector<std::string> techniques;
  std::string configuration;
  std::string reservation;
  std::string release;
  std::string digest;
  bool keep = false;
  std::string accuracy;
  // The rest
  std::string output;
  std::string reason;
  std::string public_key;
};

// --- Reading what was asked for --------------------------------------------------------------------------------------

Result<double> number(std::string_view what, const std::string& text) {
  if (text.empty()) return invalid_argument(fmt::format("{} is missing", what));
  return parse_number(what, text);
}

template <class T>
Result<T> quantity(std::string_view what, const std::string& text) {
  NF_TRY(const double value, number(what, text));
  return T::make(value);
}

Result<std::optional<Delta>> optional_delta(const Options& o) {
  if (o.delta.empty()) return std::optional<Delta>();
  NF_TRY(const Delta delta, quantity<Delta>("--delta", o.delta));
  return std::optional(delta);
}

Result<std::vector<PlanItem>> read_plan(const std::string& path) {
  NF_TRY(const std::string text, read_text(path));
  const Json json = Json::parse(text, nullptr, false);
  const auto bad = [&](std::string_view what) {
    return input_data_error(fmt::format(
        "{}: {}. A plan is {{\"items\": [{{\"name\": \"…\", \"times\": 1, \"event\": {{…}}}}]}}", shown(path), what));
  };
  if (!json.is_object() || !json.contains("items") || !json["items"].is_array()) return bad("it has no list of items");
  std::vector<PlanItem> items;
  for (const Json& one : json["items"]) {
    if (!one.is_object() || !one.contains("name") || !one["name"].is_string() || !one.contains("event")) {
      return bad("an item needs a name and an event");
    }
    for (const auto& [field, value] : one.items()) {
      if (field != "name" && field != "event" && field != "times")
        return bad(fmt::format("an item has no field {}", shown(field)));
    }
    std::uint64_t times = 1;
    if (one.contains("times")) {
      if (!one["times"].is_number_unsigned()) return bad("times is a whole number, 1 or above");
      times = one["times"].get<std::uint64_t>();
    }
    NF_TRY(const Steps count, Steps::make(times));
    NF_TRY(DpEvent event, parse_event(one["event"].dump()));
    items.push_back({one["name"].get<std::string>(), std::move(event), count});
  }
  return items;
}

Result<std::vector<double>> read_orders(const std::string& text) {
  std::vector<double> orders;
  if (text.empty()) return orders;
  for (const std::string_view part : split_list(text)) {
    NF_TRY(const double order, parse_number("--orders", part));
    orders.push_back(order);
  }
  return orders;
}

Result<BudgetTerms> terms_of(const Options& o, const std::string& name) {
  NF_TRY(const Epsilon epsilon, quantity<Epsilon>("--epsilon", o.epsilon));
  NF_TRY(const Delta delta, quantity<Delta>("--delta", o.delta.empty() ? "0" : o.delta));
  NF_TRY(const Adjacency adjacency, parse_adjacency(o.adjacency));
  NF_TRY(const PrivacyUnit unit, parse_privacy_unit(o.unit));
  // Rényi divergences know of sampling, and need a δ.
  const std::string chosen = !o.plan.empty()     ? "planned"
                             : !o.rule.empty()   ? o.rule
                             : delta.value() > 0 ? "rdp"
                                                 : "basic";
  NF_TRY(const Rule rule, parse_rule(chosen));
  if (rule == Rule::kPlanned && o.plan.empty())
    return invalid_argument("a planned budget needs its plan: give --plan FILE");
  BudgetTerms terms{name, epsilon, delta, adjacency, unit, rule, default_failures(rule)};
  terms.parent = o.parent;
  if (!o.failures.empty()) {
    NF_TRY(terms.failures, number("--failures", o.failures));
  }
  NF_TRY(terms.orders, read_orders(o.orders));
  if (!o.plan.empty()) {
    NF_TRY(terms.plan, read_plan(o.plan));
  }
  if (!o.from.empty()) {
    NF_TRY(terms.from, parse_time(o.from));
  }
  if (!o.until.empty()) {
    NF_TRY(terms.until, parse_time(o.until));
  }
  return terms;
}

// The event of a use: a file, an item of the plan, or from numbers.
Result<DpEvent> event_of(const Options& o, const BudgetTerms& terms) {
  if (terms.rule == Rule::kPlanned) {
    for (const PlanItem& item : terms.plan) {
      if (item.name == o.item) return item.event;
    }
    return DpEvent(ZeroCostEvent{});  // which the ledger refuses, with the names that there are
  }
  if (!o.event.empty()) {
    NF_TRY(const std::string text, read_text(o.event));
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_object() && json.contains("noisefloor_event")) {
      NF_TRY(const DpStatement statement, parse_statement(text));
      if (statement.adjacency != terms.adjacency || statement.unit != terms.unit) {
        return invalid_argument(fmt::format("the budget {} is about {} of one {}, and the event about {} of one {}",
                                            shown(terms.name), name_of(terms.adjacency), name_of(terms.unit),
                                            name_of(statement.adjacency), name_of(statement.unit)));
      }
      return statement.event;
    }
    return parse_event(text);
  }
  if (!o.rho.empty()) {
    NF_TRY(const Rho rho, quantity<Rho>("--rho", o.rho));
    if (rho.value() == 0) return invalid_argument("--rho must be above 0; got 0");
    return DpEvent(ZcdpEvent{rho, Delta::of(0)});
  }
  if (!o.noise_multiplier.empty()) {
    NF_TRY(const NoiseMultiplier noise, quantity<NoiseMultiplier>("--noise-multiplier", o.noise_multiplier));
    DpEvent event = GaussianEvent{noise};
    if (!o.sample_rate.empty()) {
      NF_TRY(const SamplingRate rate, quantity<SamplingRate>("--sample-rate", o.sample_rate));
      event = PoissonSampledEvent{rate, event};
    }
    if (!o.steps.empty()) {
      NF_TRY(const std::uint64_t count, parse_count("--steps", o.steps));
      NF_TRY(const Steps steps, Steps::make(count));
      event = SelfComposedEvent{steps, event};
    }
    return event;
  }
  if (!o.epsilon.empty()) {
    NF_TRY(const Epsilon epsilon, quantity<Epsilon>("--epsilon", o.epsilon));
    NF_TRY(const std::optional<Delta> delta, optional_delta(o));
    NF_TRY(const PrivacyLoss loss, PrivacyLoss::make(epsilon.value()));
    return DpEvent(EpsilonDeltaEvent{loss, delta.value_or(Delta::of(0))});
  }
  return invalid_argument(
      "what is to be spent? Give --epsilon E [--delta D], --noise-multiplier S [--steps T] [--sample-rate Q], --rho R, "
      "--event FILE, or --item NAME of a plan");
}

// --- Showing ---------------------------------------------------------------------------------------------------------

Json terms_json(const BudgetTerms& t) {
  Json json{{"name", t.name},           {"epsilon", t.epsilon.value()},
            {"delta", t.delta.value()}, {"adjacency", name_of(t.adjacency)},
            {"unit", name_of(t.unit)},  {"rule", name_of(t.rule)}};
  if (t.rule == Rule::kZcdp) json["rho"] = t.rho;
  if (t.rule == Rule::kRdp) json["orders"] = t.orders;
  if (t.rule == Rule::kPlanned) {
    json["plan"] = Json::array();
    for (const PlanItem& item : t.plan) {
      json["plan"].push_back(
          {{"name", item.name}, {"times", item.times.value()}, {"event", Json::parse(to_json(item.event))}});
    }
  }
  if (!t.parent.empty()) json["parent"] = t.parent;
  if (t.from) json["from"] = show_time(*t.from);
  if (t.until) json["until"] = show_time(*t.until);
  return json;
}

std::string bar(double share) {
  constexpr int width = 30;
  const int filled = static_cast<int>(std::ceil(std::clamp(share, 0.0, 1.0) * width));
  std::string text;
  for (int i = 0; i < width; ++i) text += i < filled ? "█" : "░";
  return fmt::format("{} {:.1f} %", text, 100 * share);
}

std::string rule_in_words(const BudgetTerms& t) {
  switch (t.rule) {
    case Rule::kPlanned:
      return fmt::format("planned: {} items fixed in advance, composed by their privacy losses", t.plan.size());
    case Rule::kZcdp:
      return fmt::format("zcdp: uses may be chosen one after the other, up to rho {:.6g}", t.rho);
    case Rule::kRdp:
      return fmt::format("rdp: uses may be chosen one after the other; {} Renyi orders", t.orders.size());
    case Rule::kApproxDp:
      return "approx-dp: uses may be chosen one after the other, at the rate of advanced composition";
    case Rule::kBasic:
      return "basic: epsilon and delta add up";
  }
  return {};
}

void describe(Report& report, const LedgerState::Budget& b) {
  const BudgetTerms& t = *b.terms;
  report.line("total", fmt::format("epsilon {}, delta {}", t.epsilon.value(), t.delta.value()));
  report.line("neighbours",
              fmt::format("one {} {}", name_of(t.unit),
                          t.adjacency == Adjacency::kAddRemove ? "added or removed" : "exchanged for another"));
  report.line("rule", rule_in_words(t));
  if (!t.parent.empty()) report.line("part of", t.parent);
  if (t.from || t.until) {
    report.line("open", fmt::format("{} to {}", t.from ? show_time(*t.from) : "always",
                                    t.until ? show_time(*t.until) : "always"));
  }
  report.line("spent", bar(b.account.spent_share()));
  report.line("left", b.account.left());
  report.line("uses", fmt::format("{} ({} committed, {} open, {} aborted)", b.spends, b.committed, b.open, b.aborted));
  if (!b.children.empty()) report.line("parts", fmt::format("{}", fmt::join(b.children, ", ")));
}

Json budget_json(const LedgerState::Budget& b) {
  Json json = terms_json(*b.terms);
  json["spent_share"] = b.account.spent_share();
  json["left"] = b.account.left();
  json["uses"] = {{"reserved", b.spends}, {"committed", b.committed}, {"open", b.open}, {"aborted", b.aborted}};
  json["parts"] = b.children;
  return json;
}

// --- Commands --------------------------------------------------------------------------------------------------------

Result<Report> run_create(const Options& o) {
  NF_TRY(const BudgetTerms terms, terms_of(o, o.budget));
  NF_TRY_VOID(check_name("the name of a budget", terms.name));
  NF_TRY(const OpenedLedger opened, open_or_create(o));
  NF_TRY_VOID(opened.ledger->create_budget(terms));
  NF_TRY(const LedgerState::Budget budget, opened.ledger->budget(o.budget));
  Report report(fmt::format("Budget {}", o.budget));
  describe(report, budget);
  if (terms.rule == Rule::kPlanned) {
    NF_TRY(const Interval whole, plan_epsilon(*budget.terms));
    report.line("whole plan", fmt::format("epsilon {}", shown_interval(whole.lower, whole.upper)));
    report.set("plan_epsilon", interval_json(whole.lower, whole.upper));
  }
  if (opened.is_new) {
    NF_TRY(const std::string key_file, key_file_of(o));
    report.remark(
        fmt::format("A new ledger {} with the key {}: keep the key apart from the ledger, and a witness "
                    "(`budget witness`) apart from both.",
                    shown(location_of(o)), shown(key_file)));
  }
  report.set("ledger", location_of(o));
  report.set("new_ledger", opened.is_new);
  report.set("budget", budget_json(budget));
  return report;
}

Result<Report> run_split(const Options& o) {
  NF_TRY(std::unique_ptr<Ledger> ledger, open_to_write(o));
  NF_TRY(const LedgerState::Budget parent, ledger->budget(o.parent));
  Options part = o;
  part.adjacency = name_of(parent.terms->adjacency);
  part.unit = name_of(parent.terms->unit);
  NF_TRY(const BudgetTerms terms, terms_of(part, o.budget));
  NF_TRY_VOID(ledger->create_budget(terms));
  NF_TRY(const LedgerState::Budget after, ledger->budget(o.parent));
  NF_TRY(const LedgerState::Budget child, ledger->budget(o.budget));
  Report report(fmt::format("Budget {}, part of {}", o.budget, o.parent));
  describe(report, child);
  report.remark(fmt::format("Left in {}: {}.", o.parent, after.account.left()));
  report.set("budget", budget_json(child));
  report.set("parent", budget_json(after));
  return report;
}

Result<Report> run_show(const Options& o) {
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
  NF_TRY(const std::optional<Delta> at, optional_delta(o));
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

Result<Report> run_reserve(const Options& o) {
  NF_TRY(std::unique_ptr<Ledger> ledger, open_to_write(o));
  NF_TRY(const LedgerState::Budget budget, ledger->budget(o.budget));
  NF_TRY(DpEvent event, event_of(o, *budget.terms));
  NF_TRY(const std::optional<Delta> delta, optional_delta(o));
  Note note{o.pipeline, o.purpose, o.techniques, {}};
  if (!o.configuration.empty()) {
    NF_TRY(note.configuration, read_text(o.configuration));
  }
  const DpStatement statement{budget.terms->adjacency, budget.terms->unit, std::move(event)};
  NF_TRY(const Reservation reservation, ledger->reserve({o.budget, o.key, statement, delta, o.item, note}));
  NF_TRY(const LedgerState::Budget after, ledger->budget(o.budget));
  const bool repeated = reservation.earlier_release().has_value();
  Report report(fmt::format("Reservation {} of {}", reservation.sequence(), o.budget));
  report.set("reservation", reservation.sequence());
  report.set("budget", budget_json(after));
  report.set("repeated", repeated);
  report.set("statement", Json::parse(to_json(statement)));
  if (repeated) {
    report.line("answered before", to_hex(*reservation.earlier_release()));
    report.set("release", to_hex(*reservation.earlier_release()));
    if (const auto& answer = reservation.earlier_answer()) {
      if (!o.output.empty()) NF_TRY_VOID(write_file(o.output, *answer));
      report.line("answer", o.output.empty() ? fmt::format("{} bytes; --output FILE writes them", answer->size())
                                             : fmt::format("written to {}", o.output));
      report.set("answer_hex", to_hex({reinterpret_cast<const std::uint8_t*>(answer->data()), answer->size()}));
    }
    report.remark("This request was answered before: give out that answer, and draw no new noise.");
    return report;
  }
  report.line("event", to_json(statement.event));
  report.line("spent", bar(after.account.spent_share()));
  report.line("left", after.account.left());
  report.remark(fmt::format("It is spent from now on. Draw the noise, then: noisefloor budget commit {} --release FILE",
                            reservation.sequence()));
  return report;
}

Result<Report> run_commit(const Options& o) {
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
    NF_TRY(accuracy, number("--accuracy", o.accuracy));
  }
  NF_TRY(std::unique_ptr<Ledger> ledger, open_to_write(o));
  NF_TRY_VOID(
      ledger->commit(sequence, digest, answer ? std::optional<std::string_view>(*answer) : std::nullopt, accuracy));
  Report report(fmt::format("Reservation {} is committed", sequence));
  report.line("release", to_hex(digest));
  if (o.keep) report.line("answer", fmt::format("{} bytes are kept for the same request", answer->size()));
  report.set("reservation", sequence);
  report.set("release", to_hex(digest));
  report.set("kept", o.keep);
  return report;
}

Result<Report> run_history(const Options& o) {
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

Result<Report> run_forecast(const Options& o) {
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

Result<Report> run_verify(const Options& o) {
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

Result<Report> run_export(const Options& o) {
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

Result<Report> run_witness(const Options& o) {
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

Result<Report> run_adopt(const Options& o) {
  NF_TRY(std::unique_ptr<Ledger> ledger, open_to_write(o));
  NF_TRY_VOID(ledger->adopt(o.reason));
  NF_TRY(const Witness head, ledger->witness());
  Report report(fmt::format("Ledger {} goes on here", location_of(o)));
  report.line("epoch", fmt::format("{}", head.head.epoch));
  report.line("entry", fmt::format("{}", head.head.sequence));
  report.remark("Every other copy must be retired: two copies that are both written to spend the same budget twice.");
  report.set("epoch", head.head.epoch);
  report.set("sequence", head.head.sequence);
  return report;
}

// --- Declarations ----------------------------------------------------------------------------------------------------

using Declare = void (*)(CLI::App&, Options&);
using Run = Result<Report> (*)(const Options&);

void budget_name(CLI::App& command, Options& o) {
  command.add_option("budget", o.budget, "Name of the budget")->type_name("NAME")->required();
}
void optional_budget_name(CLI::App& command, Options& o) {
  command.add_option("budget", o.budget, "Name of a budget; all if none is given")->type_name("NAME");
}
void declare_terms(CLI::App& command, Options& o) {
  command.add_option("--epsilon", o.epsilon, "Total privacy loss")->type_name("E")->required()->group("Total");
  command.add_option("--delta", o.delta, "Total failure probability")->type_name("D")->group("Total");
  command
      .add_option("--rule", o.rule,
                  "How costs of uses add up that are chosen one after the other: rdp (the default), zcdp (no "
                  "sampling), approx-dp, "
                  "basic (the default without a delta)")
      ->type_name("RULE")
      ->group("Rule");
  command.add_option("--plan", o.plan, R"(All uses, fixed in advance: JSON {"items": [{"name", "times", "event"}]})")
      ->type_name("FILE")
      ->group("Rule");
  command.add_option("--failures", o.failures, "Share of delta that uses may spend as their own")
      ->type_name("SHARE")
      ->group("Rule");
  command.add_option("--orders", o.orders, "Renyi orders of the rule rdp, as 2,4,8")->type_name("LIST")->group("Rule");
  command.add_option("--from", o.from, "Uses before this time (UTC) are refused")->type_name("TIME")->group("Time");
  command.add_option("--until", o.until, "Uses from this time (UTC) on are refused")->type_name("TIME")->group("Time");
}
void declare_create(CLI::App& command, Options& o) {
  budget_name(command, o);
  declare_terms(command, o);
  add_adjacency_option(command, o.adjacency);
  add_unit_option(command, o.unit);
}
void declare_split(CLI::App& command, Options& o) {
  command.add_option("parent", o.parent, "Name of the budget that pays")->type_name("PARENT")->required();
  command.add_option("--into", o.budget, "Name of the part: a team, an analyst, a month")
      ->type_name("NAME")
      ->required();
  declare_terms(command, o);
}
void declare_show(CLI::App& command, Options& o) {
  optional_budget_name(command, o);
  command.add_option("--delta", o.delta, "Show epsilon at this delta instead of the budget's")->type_name("D");
}
void declare_reserve(CLI::App& command, Options& o) {
  budget_name(command, o);
  command.add_option("--key", o.key, "Name of this request: the same key gets the same answer and is paid for once")
      ->type_name("KEY")
      ->required();
  command.add_option("--epsilon", o.epsilon, "A use that is (E, D)-DP")->type_name("E")->group("What is spent");
  command
      .add_option("--delta", o.delta, "The D of --epsilon, or what a use may spend of delta (rules basic, approx-dp)")
      ->type_name("D")
      ->group("What is spent");
  command.add_option("--noise-multiplier", o.noise_multiplier, "Gaussian noise over sensitivity")
      ->type_name("S")
      ->group("What is spent");
  command.add_option("--steps", o.steps, "How often")->type_name("T")->group("What is spent");
  command.add_option("--sample-rate", o.sample_rate, "On Poisson samples of this rate")
      ->type_name("Q")
      ->group("What is spent");
  command.add_option("--rho", o.rho, "A use that is rho-zCDP")->type_name("R")->group("What is spent");
  command.add_option("--event", o.event, "JSON of any event (- is standard input)")
      ->type_name("FILE")
      ->group("What is spent");
  command.add_option("--item", o.item, "An item of the plan")->type_name("NAME")->group("What is spent");
  command.add_option("--pipeline", o.pipeline, "For the audit record")->type_name("ID")->group("Record");
  command.add_option("--purpose", o.purpose, "For the audit record")->type_name("TEXT")->group("Record");
  command.add_option("--technique", o.techniques, "For the audit record; may be repeated")
      ->type_name("NAME")
      ->group("Record");
  command.add_option("--configuration", o.configuration, "For the audit record: a JSON object")
      ->type_name("FILE")
      ->group("Record");
  command.add_option("--output", o.output, "Where an earlier answer goes, if there is one")
      ->type_name("FILE")
      ->group("Output");
}
void declare_commit(CLI::App& command, Options& o) {
  command.add_option("reservation", o.reservation, "Number of the reservation")->type_name("N")->required();
  command.add_option("--release", o.release, "File that was released: its digest is recorded")->type_name("FILE");
  command.add_option("--digest", o.digest, "Instead: its BLAKE2b-256 (b2sum -l 256)")->type_name("HEX");
  command.add_flag("--keep", o.keep, "Keep the bytes, for the same request when it comes again");
  command.add_option("--accuracy", o.accuracy, "How good it is, if that is public; for the audit record")
      ->type_name("A");
}
void declare_verify(CLI::App& command, Options& o) {
  command.add_option("--public-key", o.public_key, "The key that the ledger must have")->type_name("HEX");
}
void declare_export(CLI::App& command, Options& o) {
  optional_budget_name(command, o);
  command.add_option("--output", o.output, "Where the JSON goes")->type_name("FILE");
}
void declare_witness(CLI::App& command, Options& o) {
  command.add_option("--output", o.output, "Where the witness goes")->type_name("FILE")->required();
}
void declare_adopt(CLI::App& command, Options& o) {
  command.add_option("--reason", o.reason, "Why, for the history")->type_name("TEXT")->required();
}

void add_sub(CLI::App& parent, Action& action, const char* name, const char* description, const char* example,
             Declare declare, Run run, bool writes, bool witnesses) {
  const auto declare_all = [&](CLI::App& command, Options& o) {
    declare(command, o);
    o.add_to(command, writes, witnesses);
  };
  add_command<Options>(parent, action, name, description, example, declare_all, run);
}

}  // namespace

void add_budget_command(CLI::App& app, Action& action) {
  CLI::App* budget = app.add_subcommand("budget", "Keep a privacy budget that cannot be overspent");
  budget->require_subcommand(1);
  budget->footer(
      R"(Life of a spend: reserve (durable; counts as spent from then on), draw the noise, commit what was released.
Examples:
  noisefloor budget create trial --epsilon 3 --delta 1e-5
  noisefloor budget reserve trial --key mean-age --noise-multiplier 20 --purpose "Mean age per site"
  noisefloor budget commit 2 --release answer.json --keep
  noisefloor budget show trial
  noisefloor budget witness --output trial.witness
  noisefloor budget verify --witness trial.witness)");
  add_sub(*budget, action, "create", "Make a budget (and a ledger with a new key, if there is none)",
          "trial --epsilon 3 --delta 1e-5 --unit person", declare_create, run_create, true, true);
  add_sub(*budget, action, "split", "Give part of a budget to a team, an analyst or a time window",
          "trial --into cardiology --epsilon 1 --delta 5e-7 --until 2027-01-01", declare_split, run_split, true, true);
  add_sub(*budget, action, "reserve", "Spend, durably, before any noise is drawn",
          "trial --key mean-age --noise-multiplier 20 --purpose \"Mean age per site\"", declare_reserve, run_reserve,
          true, true);
  add_sub(*budget, action, "commit", "Record what was released for a reservation", "2 --release answer.json --keep",
          declare_commit, run_commit, true, true);
  add_sub(*budget, action, "show", "Show what is spent and left", "trial --delta 1e-6", declare_show, run_show, false,
          false);
  add_sub(*budget, action, "history", "List all uses", "trial", optional_budget_name, run_history, false, false);
  add_sub(*budget, action, "forecast", "Say how many more uses fit", "trial", budget_name, run_forecast, false, false);
  add_sub(*budget, action, "verify", "Recompute everything, and compare with witnesses", "--witness trial.witness",
          declare_verify, run_verify, false, true);
  add_sub(*budget, action, "export", "Write the audit records as JSON", "trial --output audit.json", declare_export,
          run_export, false, false);
  add_sub(*budget, action, "witness", "Write the signed head, to be kept elsewhere", "--output trial.witness",
          declare_witness, run_witness, false, false);
  add_sub(*budget, action, "adopt", "Go on with a restored or moved copy",
          "--reason \"disk was replaced\" --witness trial.witness", declare_adopt, run_adopt, true, true);
}

}  // namespace noisefloor::cli
