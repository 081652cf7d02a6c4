#include "noisefloor/cli/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "noisefloor/accounting/membership.h"
#include "noisefloor/accounting/pld.h"
#include "noisefloor/accounting/tradeoff.h"
#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/run_folder.h"
#include "noisefloor/event/json.h"
#include "noisefloor/ledger/audit.h"
#include "noisefloor/report/html.h"
#include "version.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::size_t kMostPoints = 200;  // of a line
constexpr std::array<double, 2> kFalseAlarms{0.01, 0.001};
constexpr std::array<double, 2> kPriors{0.5, 0.01};

// --- Privacy -----------------------------------------------------------------------------------------------------------------

HtmlReport::Promise promise_of(const DpStatement& statement, Interval epsilon, Delta delta) {
  return {epsilon.lower, epsilon.upper, delta.value(), std::string(name_of(statement.unit)),
          statement.adjacency == Adjacency::kReplaceOne};
}

HtmlReport::Figure epsilon_figure(const DpStatement& statement, const HtmlReport::Promise& promise) {
  Chart chart;
  chart.title = "ε at other δ";
  chart.subtitle = "certified bounds of the same release";
  chart.x_label = "δ (chance of an exception)";
  chart.y_label = "ε";
  chart.log_x = true;
  chart.series = {{"", {}}};
  for (int i = 0; i <= 32; ++i) {
    const double delta = std::pow(10.0, -10 + i / 4.0);
    const auto epsilon = pld_epsilon(statement.event, statement.adjacency, Delta::make(delta).value());
    if (!epsilon.has_value() || !std::isfinite(epsilon.value().upper)) continue;
    chart.series.front().points.push_back({delta, epsilon.value().lower, epsilon.value().upper});
  }
  const bool within = promise.delta >= 1e-10 && promise.delta <= 1e-2;
  if (within) {
    chart.spot = {promise.delta, promise.epsilon_upper, "as promised, at δ = " + shown_power(promise.delta)};
  }
  return {"epsilon-curve", std::move(chart),
          "A smaller δ allows for fewer exceptions and costs a larger ε. All points hold at once: they are one "
          "guarantee, seen at "
          "different δ."};
}

Result<HtmlReport::Figure> tradeoff_figure(const DpStatement& statement) {
  Chart chart;
  chart.title = "What a test for one record can do";
  chart.subtitle = "least share of misses of any test, by its false alarms";
  chart.x_label = "type I error (false alarms)";
  chart.y_label = "type II error (misses)";
  chart.diagonal = "guessing: perfect privacy";
  std::vector<double> alphas;
  for (int i = 0; i <= 50; ++i) alphas.push_back(std::pow(i / 50.0, 2));
  NF_TRY(const std::vector<TradeoffPoint> curve, tradeoff_curve(statement.event, statement.adjacency, alphas));
  Chart::Series series;
  for (const TradeoffPoint& p : curve) series.points.push_back({p.alpha, p.beta_lower, p.beta_upper});
  chart.series = {std::move(series)};
  return HtmlReport::Figure{
      "trade-off", std::move(chart),
      "The nearer the line is to the dashed one, the less a test is better than guessing. No test of any kind "
      "gets below it."};
}

void add_privacy(HtmlReport& report, const DpStatement& statement, Delta delta) {
  if (!std::isfinite(report.promise.epsilon_upper)) return;
  HtmlReport::Figure curve = epsilon_figure(statement, report.promise);
  if (curve.chart.series.front().points.size() > 1) report.privacy.push_back(std::move(curve));
  auto tradeoff = tradeoff_figure(statement);
  if (tradeoff.has_value()) report.privacy.push_back(std::move(tradeoff).value());
  const auto bounds = membership_bounds(statement.event, statement.adjacency, delta, kFalseAlarms);
  if (!bounds.has_value()) return;
  HtmlReport::Odds odds{bounds.value().advantage, {}, {}};
  for (const MembershipTest& test : bounds.value().tests) odds.found.emplace_back(test.false_alarms, test.found);
  for (const double prior : kPriors)
    odds.beliefs.emplace_back(prior, belief_after(prior, report.promise.epsilon_upper));
  report.odds = std::move(odds);
}

// --- Ledger ------------------------------------------------------------------------------------------------------------------

// Whether this is the ledger that paid. One that lies around by chance and is another one is not looked at.
Result<bool> is_payer(const VerifiedRelease& release, const LedgerAtHand& at_hand) {
  const Certificate& certificate = release.certificate.certificate;
  if (!certificate.spend || at_hand.ledger == nullptr) return false;
  bool same = false;
  NF_TRY_VOID(at_hand.ledger->read([&](const LedgerState& state) -> Result<void> {
    same = state.genesis().ledger == certificate.spend->ledger;
    return success();
  }));
  if (!same && !at_hand.named) return false;
  NF_TRY_VOID(verify_in_ledger(release, *at_hand.ledger));
  return true;
}

Result<void> add_budget(HtmlReport& report, const std::string& budget, const std::vector<std::uint64_t>& reservations,
                        Ledger& ledger) {
  NF_TRY(const std::optional<BudgetShares> shares, shares_of(ledger, budget, reservations));
  if (!shares) {
    report.no_budget = fmt::format("Paid for by the plan of the budget {}, whose items are reserved together.", budget);
    return success();
  }
  report.budget = {
      shares->terms->name,
      shares->terms->epsilon.value(),
      shares->terms->delta.value(),
      shares->before,
      shares->own,
      shares->after,
      fmt::format("By the rule {} of this budget, what is left is: {}.", name_of(shares->terms->rule), shares->left)};
  if (std::isfinite(report.promise.epsilon_upper) && shares->own > 1.001 * report.promise.epsilon_upper) {
    report.budget->left_in_words +=
        fmt::format(" That rule has charged ε {}: more than the ε ≤ {} above, which is what all of it costs together.",
                    shown_at_least(shares->own, 4), shown_at_least(report.promise.epsilon_upper, 3));
  }
  return success();
}

constexpr const char* kNothingCharged =
    "Nothing was charged: noise that can be repeated, or none at all, protects nobody and is paid for by no budget.";

Result<void> add_ledger(HtmlReport& report, const VerifiedRelease& release, const LedgerAtHand& at_hand) {
  const Certificate& certificate = release.certificate.certificate;
  if (!certificate.spend) {
    report.no_budget = kNothingCharged;
    return success();
  }
  NF_TRY(const bool paid, is_payer(release, at_hand));
  if (!paid) {
    report.no_budget = fmt::format(
        "It was paid from the budget {}. What is left there stands in its ledger, which was not at hand when this was "
        "written.",
        certificate.spend->budget);
    report.checks.push_back({"Ledger:", "not looked at; noisefloor verify with --ledger does.", false});
    return success();
  }
  report.checks.push_back(
      {"Ledger:", fmt::format("it has paid for this from the budget {}{}.", certificate.spend->budget,
                              release.has_content ? ", and has the digest of this file" : "")});
  return add_budget(report, certificate.spend->budget, certificate.spend->reservations, *at_hand.ledger);
}

// --- Tables ------------------------------------------------------------------------------------------------------------------

std::string in_words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string cell_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.8g}", value.get<double>());
  return value.dump();
}

// Nothing if it is not there, or no text.
std::string text_in(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

void add_rows(HtmlReport::Table& table, const std::string& before, const Json& json) {
  for (const auto& [key, value] : json.items()) {
    const std::string name = before.empty() ? in_words(key) : before + ": " + in_words(key);
    if (value.is_object()) {
      add_rows(table, name, value);
    } else {
      table.rows.push_back({name, cell_of(value)});
    }
  }
}

std::string shown_bounds(const Interval& epsilon) {
  if (!std::isfinite(epsilon.upper)) return "infinite";
  return fmt::format("{:.10g} to {:.10g}", epsilon.lower, epsilon.upper);
}

HtmlReport::Table plan_table(const PlanFile& p) {
  HtmlReport::Table plan{"Plan", {}, {}};
  plan.rows = {{"phase", fmt::format("{} of at most {}", p.phase, p.phases)},
               {"ε of this phase", fmt::format("at most {:g}; certified {:.6g}", p.epsilon.value(), p.certified.upper)},
               {"δ of this phase", fmt::format("{:g}", p.delta.value())},
               {"ε of earlier phases", fmt::format("{:.6g}", p.epsilon_before)},
               {"clip norm, noise multiplier", fmt::format("{:g}, {:g}", p.clip.value(), p.noise.value())},
               {"steps, batch", fmt::format("{}, {} of {} rows", p.steps.value(), p.batch.value(), p.rows.value())},
               {"rests on", p.utility}};
  if (p.target_accuracy) plan.rows.push_back({"target accuracy", fmt::format("{:g}", *p.target_accuracy)});
  return plan;
}

void add_certificate_tables(HtmlReport& report, const RunFolder& folder) {
  const Certificate& c = folder.release.certificate.certificate;
  HtmlReport::Table privacy{"Privacy", {}, {}};
  privacy.rows = {{"ε, certified bounds", shown_bounds(c.epsilon)},
                  {"δ", fmt::format("{}", c.delta.value())},
                  {"neighbours", std::string(name_of(c.statement.adjacency))},
                  {"unit", std::string(name_of(c.statement.unit))},
                  {"randomness", c.replayed ? "repeatable: not private" : "secure"},
                  {"accountant", text_in(folder.certificate, "accountant")},
                  {"event", to_json(c.statement.event)},
                  {"taken as public", c.data}};
  report.parameters.push_back(std::move(privacy));
  HtmlReport::Table origin{"Release", {}, {}};
  origin.rows = {{"program", "noisefloor " + c.program_version},
                 {"digest of what was released", to_hex(c.released)},
                 {"signed by", folder.release.certificate.key ? to_hex(*folder.release.certificate.key) : "nobody"}};
  if (c.spend) {
    std::string reservations;
    for (const std::uint64_t n : c.spend->reservations)
      reservations += (reservations.empty() ? "" : ", ") + std::to_string(n);
    origin.rows.push_back({"ledger", to_hex(c.spend->ledger)});
    origin.rows.push_back({"budget", c.spend->budget});
    origin.rows.push_back({"reservations", reservations});
    origin.rows.push_back({"entries of the ledger then", std::to_string(c.spend->head)});
    origin.rows.push_back({"hash of the last one", to_hex(c.spend->head_hash)});
  }
  report.parameters.push_back(std::move(origin));
  if (folder.plan) report.parameters.push_back(plan_table(*folder.plan));
  HtmlReport::Table settings{"Settings", {}, {}};
  add_rows(settings, "", Json::parse(c.configuration.empty() ? "{}" : c.configuration, nullptr, false));
  if (c.kind == ReleaseKind::kModel) settings.rows.push_back({"steps taken", std::to_string(c.steps)});
  report.parameters.push_back(std::move(settings));
}

// --- Curves of the run -------------------------------------------------------------------------------------------------------

// Evenly thinned, with the last one.
template <class T>
std::vector<T> thinned(const std::vector<T>& all) {
  if (all.size() <= kMostPoints) return all;
  std::vector<T> some;
  for (std::size_t i = 0; i < kMostPoints; ++i) some.push_back(all[i * (all.size() - 1) / (kMostPoints - 1)]);
  return some;
}

struct Words {
  std::string id;
  std::string title;
  std::string subtitle;
  std::string x_label;
  std::string y_label;
  std::string reading;
};

// A figure of two columns of the metrics, if there are two points of it.
template <class X, class Y>
void add_curve(std::vector<HtmlReport::Figure>& figures, const std::vector<MetricsLine>& metrics, Words words, X x, Y y,
               bool from_zero = false) {
  Chart::Series series;
  for (const MetricsLine& line : metrics) {
    const std::optional<double> at = x(line);
    const std::optional<double> value = y(line);
    if (!at || !value || !std::isfinite(*at) || !std::isfinite(*value)) continue;
    if (!series.points.empty() && !(*at > series.points.back().x)) continue;
    series.points.push_back({*at, *value, *value});
  }
  series.points = thinned(series.points);
  if (series.points.size() < 2) return;
  Chart chart;
  chart.title = std::move(words.title);
  chart.subtitle = std::move(words.subtitle);
  chart.x_label = std::move(words.x_label);
  chart.y_label = std::move(words.y_label);
  chart.from_zero = from_zero;
  chart.marks = series.points.size() <= 30;
  chart.series = {std::move(series)};
  figures.push_back({std::move(words.id), std::move(chart), std::move(words.reading)});
}

std::optional<double> in_percent(const std::optional<double>& share) {
  return share ? std::optional(100 * *share) : std::nullopt;
}

void add_utility_graph(HtmlReport& report, const RunFolder& folder) {
  if (folder.utility.empty()) return;
  Chart chart;
  chart.title = "Utility graph";
  chart.subtitle = "share of accuracy that is left with noise on finished weights";
  chart.x_label = "noise multiplier";
  chart.y_label = "share of accuracy left (%)";
  chart.log_x = true;
  chart.marks = true;
  double low = folder.utility.front().noise_multiplier;
  double high = low;
  for (const UtilityLine& line : folder.utility) {
    const std::string name = "clip norm " + line.clip_norm;
    if (chart.series.empty() || chart.series.back().name != name) chart.series.push_back({name, {}});
    chart.series.back().points.push_back({line.noise_multiplier, 100 * line.lowest, 100 * line.highest});
    low = std::min(low, line.noise_multiplier);
    high = std::max(high, line.noise_multiplier);
  }
  if (!(high > low)) return;
  report.utility.push_back(
      {"utility-graph", std::move(chart),
       folder.plan ? fmt::format("From it the plan took clip norm {:g} and noise multiplier {:.4g}, before "
                                 "anything was trained privately.",
                                 folder.plan->clip.value(), folder.plan->noise.value())
                   : "Settings whose line has fallen low are hopeless before anything is trained privately."});
}

void add_curves(HtmlReport& report, const RunFolder& folder) {
  const std::vector<MetricsLine>& m = folder.metrics;
  const auto step = [](const MetricsLine& line) { return std::optional(line.step); };
  const auto epsilon = [](const MetricsLine& line) { return line.epsilon; };
  const auto accuracy = [](const MetricsLine& line) { return in_percent(line.accuracy); };
  const auto loss = [](const MetricsLine& line) { return line.loss; };
  const std::string on = fmt::format("on up to 1000 {} examples, taken as public", folder.watched);
  const bool has_accuracy =
      std::any_of(m.begin(), m.end(), [](const MetricsLine& line) { return line.accuracy.has_value(); });
  if (has_accuracy) {
    add_curve(report.utility, m,
              {"privacy-utility", "What ε bought", "accuracy " + on, "ε spent so far", "accuracy (%)",
               "Each point is this training after some steps, with the ε that they had cost. Only the last model was "
               "released."},
              epsilon, accuracy);
  } else {
    add_curve(report.utility, m,
              {"privacy-utility", "What ε bought", "loss " + on, "ε spent so far", "loss",
               "Each point is this training after some steps, with the ε that they had cost. Only the last model was "
               "released."},
              epsilon, loss);
  }
  const bool by_epsilon = !report.utility.empty();
  add_utility_graph(report, folder);
  add_curve(report.training, m, {"loss", "Loss", on, "step", "loss", "Lower is better."}, step, loss);
  if (has_accuracy && !by_epsilon) {
    add_curve(report.training, m, {"accuracy", "Accuracy", on, "step", "accuracy (%)", "Higher is better."}, step,
              accuracy);
  }
  add_curve(report.training, m,
            {"epsilon-by-step", "Privacy spent", "certified upper bound after each step", "step", "ε",
             "The whole of it was reserved before the first step."},
            step, epsilon, true);
  const bool adapts =
      std::any_of(m.begin(), m.end(), [&](const MetricsLine& l) { return l.clip_norm != m.front().clip_norm; });
  if (adapts) {
    add_curve(
        report.training, m,
        {"clip-norm", "Clip norm", "as it adapted", "step", "clip norm", "Its own noise is part of the same release."},
        step, [](const MetricsLine& line) { return line.clip_norm; }, true);
  }
}

// Test and validation, as train measured them at the end.
void add_results(HtmlReport& report, const Json& run) {
  if (!run.is_object()) return;
  for (const char* which : {"test", "validation"}) {
    const auto found = run.find(which);
    if (found == run.end() || !found->is_object()) continue;
    const auto number = [&](const char* key) -> std::optional<double> {
      const auto at = found->find(key);
      return at != found->end() && at->is_number() ? std::optional(at->get<double>()) : std::nullopt;
    };
    const auto examples = found->find("examples");
    const std::string note = examples != found->end() && examples->is_number_unsigned()
                                 ? shown_count(examples->get<std::uint64_t>()) + " examples, taken as public"
                                 : "";
    if (const auto accuracy = number("accuracy")) {
      report.results.push_back(
          {fmt::format("Accuracy on {} data", which), fmt::format("{:.2f} %", 100 * *accuracy), note});
    } else if (const auto loss = number("loss")) {
      report.results.push_back({fmt::format("Loss on {} data", which), fmt::format("{:.4g}", *loss), note});
    }
    if (const auto perplexity = number("perplexity")) {
      report.results.push_back({fmt::format("Perplexity on {} data", which), fmt::format("{:.4g}", *perplexity), note});
    }
  }
}

// --- One run -----------------------------------------------------------------------------------------------------------------

void add_checks(HtmlReport& report, const RunFolder& folder) {
  const VerifiedRelease& release = folder.release;
  if (std::isfinite(report.promise.epsilon_upper)) {
    report.checks.push_back({"ε:", "recomputed from the events that the certificate states."});
  }
  report.checks.push_back(
      release.has_content ? HtmlReport::Check{"Content:", "it is what the certificate is about, unaltered."}
                          : HtmlReport::Check{"Content:", "not looked at: this is from a certificate alone.", false});
  report.checks.push_back(release.certificate.key
                              ? HtmlReport::Check{"Signature:", "by the key of the ledger that paid."}
                              : HtmlReport::Check{"Signature:", "none, as nothing was charged.", false});
}

void add_not_covered(HtmlReport& report, const Json& certificate) {
  const auto found = certificate.find("not_covered");
  if (found == certificate.end() || !found->is_array()) return;
  for (const Json& item : *found) {
    if (item.is_string()) report.not_covered.push_back(item.get<std::string>());
  }
}

std::string ledger_option(const LedgerAtHand& at_hand) {
  if (at_hand.ledger == nullptr) return "";
  // An address may hold a password.
  const bool is_address = at_hand.place.find("://") != std::string::npos;
  return " --ledger " + (is_address ? std::string("PLACE") : shell_word(at_hand.place));
}

void add_unsigned_note(HtmlReport& report) {
  if (report.results.empty() && report.utility.empty() && report.training.empty()) return;
  report.checks.push_back(
      {"Quality and curves:", "from the files that the run wrote beside it, which are not signed.", false});
}

Result<HtmlReport> report_on_run(const std::string& path, const LedgerAtHand& at_hand) {
  NF_TRY(const RunFolder folder, read_run_folder(path));
  const Certificate& certificate = folder.release.certificate.certificate;
  HtmlReport report;
  report.name = certificate.name;
  report.noun = name_of(certificate.kind);
  report.certificate_alone = !folder.release.has_content;
  report.promise = promise_of(certificate.statement, certificate.epsilon, certificate.delta);
  report.program = std::string("noisefloor ") + NOISEFLOOR_VERSION;
  add_checks(report, folder);
  NF_TRY_VOID(add_ledger(report, folder.release, at_hand));
  add_privacy(report, certificate.statement, certificate.delta);
  add_results(report, folder.run);
  add_curves(report, folder);
  add_unsigned_note(report);
  add_certificate_tables(report, folder);
  add_not_covered(report, folder.certificate);
  const bool paid = report.budget.has_value();
  report.commands.push_back({"Check that all of this is so:",
                             "noisefloor verify " + shell_word(folder.path) + (paid ? ledger_option(at_hand) : "")});
  if (const std::string command = folder.run.is_object() ? text_in(folder.run, "command") : ""; !command.empty()) {
    report.commands.push_back(
        {std::isfinite(certificate.epsilon.upper)
             ? "How it was trained. Again it draws fresh noise, needs another --key and --output, and is charged "
               "again:"
             : "How it was trained:",
         command});
  }
  report.commands.push_back({"Write this report again:", "noisefloor report " + shell_word(path)});
  return report;
}

// --- A sweep -----------------------------------------------------------------------------------------------------------------

struct Swept {
  SweepLine line;
  RunFolder folder;
};

bool is_private(const Swept& run) { return std::isfinite(run.folder.release.certificate.certificate.epsilon.upper); }

void add_sweep_curve(HtmlReport& report, const std::vector<Swept>& runs) {
  const bool has_accuracy = runs.front().line.cells.contains("accuracy");
  const char* column = has_accuracy ? "accuracy" : "loss";
  const double scale = has_accuracy ? 100 : 1;
  Chart chart;
  chart.title = "What privacy costs";
  chart.subtitle = "each point is one training, measured on test data that are taken as public";
  chart.x_label = "ε of the training";
  chart.y_label = has_accuracy ? "accuracy (%)" : "loss";
  chart.log_x = true;
  chart.from_zero = false;
  chart.marks = true;
  Chart::Series series;
  for (const Swept& run : runs) {
    if (!run.line.cells.contains(column)) continue;
    const double value = scale * run.line.cells[column].get<double>();
    if (run.line.epsilon == "inf") {
      chart.level = {value, fmt::format("without privacy: {:.4g}{}", value, has_accuracy ? " %" : "")};
    } else if (const auto epsilon = parse_finite(run.line.epsilon)) {
      series.points.push_back({*epsilon, value, value});
    }
  }
  if (series.points.size() < 2) return;
  chart.series = {std::move(series)};
  report.utility.push_back({"privacy-utility", std::move(chart),
                            fmt::format("{} is better. One training for each point: another one would differ a little.",
                                        has_accuracy ? "Higher" : "Lower")});
}

void add_sweep_table(HtmlReport& report, const std::vector<Swept>& runs) {
  HtmlReport::Table table{"All trainings", {"ε", "certified ε", "noise", "accuracy", "loss", "F1", "utility lost"}, {}};
  for (const Swept& run : runs) {
    const auto cell = [&](const char* key, const char* format, double scale = 1) {
      return run.line.cells.contains(key) ? fmt::format(fmt::runtime(format), scale * run.line.cells[key].get<double>())
                                          : std::string("–");
    };
    const Interval& epsilon = run.folder.release.certificate.certificate.epsilon;
    table.rows.push_back({run.line.epsilon == "inf" ? "∞" : run.line.epsilon,
                          std::isfinite(epsilon.upper) ? fmt::format("{:.5g}", epsilon.upper) : "not private",
                          cell("noise_multiplier", "{:.4f}"), cell("accuracy", "{:.2f} %", 100), cell("loss", "{:.4f}"),
                          cell("f1", "{:.4f}"), cell("loss_of_utility", "{:.1f} %", 100)});
  }
  report.results_tables.push_back(std::move(table));
}

// All private ones together: that is what whoever sees all of them has seen.
Result<DpStatement> statement_of_all(const std::vector<Swept>& runs) {
  std::vector<DpStatement> parts;
  for (const Swept& run : runs) {
    if (is_private(run)) parts.push_back(run.folder.release.certificate.certificate.statement);
  }
  return compose(parts);
}

Result<void> add_sweep_ledger(HtmlReport& report, const std::vector<Swept>& runs, const LedgerAtHand& at_hand) {
  std::vector<std::uint64_t> reservations;
  std::string budget;
  bool paid = true;
  for (const Swept& run : runs) {
    const Certificate& certificate = run.folder.release.certificate.certificate;
    if (!certificate.spend) continue;
    NF_TRY(const bool in_ledger, is_payer(run.folder.release, at_hand));
    paid = paid && in_ledger;
    budget = certificate.spend->budget;
    reservations.insert(reservations.end(), certificate.spend->reservations.begin(),
                        certificate.spend->reservations.end());
  }
  if (reservations.empty()) {
    report.no_budget = kNothingCharged;
    return success();
  }
  if (!paid) {
    report.no_budget = fmt::format(
        "They were paid from the budget {}. What is left there stands in its ledger, which was not at hand when this "
        "was written.",
        budget);
    report.checks.push_back({"Ledger:", "not looked at; noisefloor verify with --ledger does.", false});
    return success();
  }
  report.checks.push_back({"Ledger:", fmt::format("it has paid for all of them from the budget {}.", budget)});
  return add_budget(report, budget, reservations, *at_hand.ledger);
}

Result<HtmlReport> report_on_sweep(const std::string& path, const LedgerAtHand& at_hand) {
  NF_TRY(std::vector<SweepLine> lines, read_sweep(path));
  std::vector<Swept> runs;
  for (SweepLine& line : lines) {
    NF_TRY(RunFolder folder, read_run_folder((fs::path(path) / sweep_run_name(line.epsilon)).string()));
    runs.push_back({std::move(line), std::move(folder)});
  }
  const Certificate& first = runs.front().folder.release.certificate.certificate;
  const auto count = static_cast<std::size_t>(std::count_if(runs.begin(), runs.end(), is_private));
  HtmlReport report;
  report.name = first.name + ": a sweep";
  report.program = std::string("noisefloor ") + NOISEFLOOR_VERSION;
  report.several = count != 1;
  report.noun = count == 0 ? fmt::format("{} models", runs.size())
                           : fmt::format("{}private model{}", count == 1 ? "" : std::to_string(count) + " ",
                                         count == 1 ? "" : "s");
  report.promise = promise_of(first.statement, {HUGE_VAL, HUGE_VAL}, first.delta);
  if (count > 0) {
    NF_TRY(const DpStatement all, statement_of_all(runs));
    double sum = 0;
    for (const Swept& run : runs) sum += is_private(run) ? run.folder.release.certificate.certificate.delta.value() : 0;
    NF_TRY(const Delta delta, Delta::make(sum));
    NF_TRY(const Interval epsilon, certified_epsilon(all, delta));
    report.promise = promise_of(all, epsilon, delta);
    report.checks.push_back({"ε:", "recomputed from the events of all certificates, composed."});
    add_privacy(report, all, delta);
  }
  report.checks.push_back({"Certificates:", fmt::format("all {} hold, each for its model.", runs.size())});
  if (count > 0 && count < runs.size()) {
    report.warnings.emplace_back(
        "The model that was trained without privacy is in this folder for comparison. Nothing said here holds for it: "
        "it must not "
        "be handed on.");
  }
  NF_TRY_VOID(add_sweep_ledger(report, runs, at_hand));
  add_sweep_curve(report, runs);
  add_sweep_table(report, runs);
  add_unsigned_note(report);
  add_certificate_tables(report, runs.front().folder);
  report.parameters.front().caption = fmt::format("Privacy of {}", sweep_run_name(runs.front().line.epsilon));
  for (std::size_t i = 1; i < report.parameters.size(); ++i) report.parameters[i].caption += " of the same";
  add_not_covered(report, runs.front().folder.certificate);
  for (const Swept& run : runs) {
    report.commands.push_back({fmt::format("Check {}:", sweep_run_name(run.line.epsilon)),
                               "noisefloor verify " + shell_word(run.folder.path) +
                                   (report.budget && is_private(run) ? ledger_option(at_hand) : "")});
  }
  report.commands.push_back({"Write this report again:", "noisefloor report " + shell_word(path)});
  return report;
}

}  // namespace

std::string shell_word(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:=,+@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

Result<HtmlReport> report_on(const std::string& path, const LedgerAtHand& at_hand) {
  return is_sweep_folder(path) ? report_on_sweep(path, at_hand) : report_on_run(path, at_hand);
}

std::string report_file_of(const std::string& path) {
  std::error_code ignored;
  const fs::path folder = fs::is_directory(path, ignored) ? fs::path(path) : fs::path(path).parent_path();
  return (folder / kReportName).string();
}

Result<std::string> write_report(const std::string& folder, const LedgerAtHand& at_hand) {
  NF_TRY(const HtmlReport report, report_on(folder, at_hand));
  const std::string path = report_file_of(folder);
  NF_TRY_VOID(write_file(path, to_html(report)));
  return path;
}

std::string try_to_write_report(const std::string& folder, const LedgerAtHand& at_hand) {
  const Result<std::string> written = write_report(folder, at_hand);
  if (written.has_value()) return written.value();
  fmt::print(stderr, "warning: there is no report: {}\n", written.error().message);
  return "";
}

}  // namespace noisefloor::cli
