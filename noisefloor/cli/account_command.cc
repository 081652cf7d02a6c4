#include "noisefloor/cli/account_command.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/accounting/calibrate.h"
#include "noisefloor/accounting/comparison.h"
#include "noisefloor/accounting/pld.h"
#include "noisefloor/accounting/tradeoff.h"
#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/input.h"
#include "noisefloor/config/run_event.h"
#include "noisefloor/event/json.h"
#include "noisefloor/report/chart.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// --- What is asked -------------------------------------------------------------------------------------------------------

// The options of all subcommands, as text. Each subcommand declares those that it has.
struct Options {
  std::string sample_rate;
  std::string batch_size;
  std::string rows;
  std::string noise_multiplier;
  std::string steps;
  std::string epochs;
  std::string count = "1";
  std::string epsilon;
  std::string local_epsilon;
  std::string categories = "2";
  std::string delta;
  std::string accountant = "pld";
  std::string adjacency = "add-remove";
  std::string sampling = "poisson";
  std::string unit = "row";
  std::string input;
  std::string curve;
  std::string output;
  std::string solve = "noise-multiplier";
};

Result<double> number(const char* name, const std::string& text) { return parse_number(name, text); }

// An event with what is known about how it came about.
struct Question {
  DpStatement statement;
  std::string sampling;               // "poisson", "fixed-size", or "none"
  std::vector<std::string> warnings;  // things that look mis-stated
  std::vector<std::string> remarks;   // what the number does and does not cover
  Json parameters = Json::object();
};

Result<double> sampling_rate(const Options& o) {
  if (!o.sample_rate.empty()) {
    if (!o.batch_size.empty()) return invalid_argument("give --sample-rate, or --batch-size and --rows; not both");
    return number("--sample-rate", o.sample_rate);
  }
  if (o.batch_size.empty() || o.rows.empty()) {
    return invalid_argument("a sampling rate is needed: give --sample-rate, or --batch-size and --rows");
  }
  NF_TRY(const std::uint64_t batch, parse_count("--batch-size", o.batch_size));
  NF_TRY(const std::uint64_t rows, parse_count("--rows", o.rows));
  if (batch == 0 || batch > rows) {
    return invalid_argument(fmt::format("--batch-size must be from 1 to the {} rows; got {}", rows, batch));
  }
  return static_cast<double>(batch) / static_cast<double>(rows);
}

Result<Steps> number_of_steps(const Options& o, double rate) {
  if (!o.steps.empty()) {
    if (!o.epochs.empty()) return invalid_argument("give --steps or --epochs; not both");
    NF_TRY(const std::uint64_t count, parse_count("--steps", o.steps));
    return Steps::make(count);
  }
  if (o.epochs.empty()) return invalid_argument("a number of steps is needed: give --steps or --epochs");
  NF_TRY(const double epochs, number("--epochs", o.epochs));
  NF_TRY(const SamplingRate checked, SamplingRate::make(rate));
  return steps_for_epochs(epochs, checked);
}

void warn_about(double rate, double steps, Question& question) {
  if (rate * steps < 1) {
    question.warnings.push_back(fmt::format(
        "sample rate {:.4g} times {:.0f} steps is {:.3g}: fewer than one expected use of each record. Was a batch "
        "size or a number of epochs meant?",
        rate, steps, rate * steps));
  }
  if (rate > 0.5 && rate < 1) {
    question.warnings.push_back(
        fmt::format("a sample rate of {:.4g} takes most records in every step: there is little amplification. Was "
                    "batch / rows meant?",
                    rate));
  }
}

Result<Question> begin(const Options& o, DpEvent event) {
  NF_TRY(const Adjacency adjacency, parse_adjacency(o.adjacency));
  NF_TRY(const PrivacyUnit unit, parse_privacy_unit(o.unit));
  return Question{{adjacency, unit, std::move(event)}, "none", {}, {}, Json::object()};
}

constexpr const char* kShuffledRefusal =
    "no valid bound is known for batches of a shuffled data set: they are not covered by Poisson accounting, which can "
    "be far "
    "too low for them (Chua et al. 2024). Sample with --sampling poisson or fixed-size, or account for --sample-rate 1";

// The event of a DP-SGD run; noise, steps and rate may be replaced by what a calibration tries.
struct DpSgd {
  Adjacency adjacency = Adjacency::kAddRemove;
  bool fixed_size = false;
  std::optional<Rows> batch;
  std::optional<Rows> rows;

  [[nodiscard]] DpEvent event(SamplingRate rate, NoiseMultiplier noise, Steps steps) const {
    const DpEvent gaussian = GaussianEvent{noise};
    if (fixed_size) return SelfComposedEvent{steps, FixedSizeSampledEvent{*batch, *rows, gaussian}};
    return SelfComposedEvent{steps, PoissonSampledEvent{rate, gaussian}};
  }
};

Result<DpSgd> read_dpsgd(const Options& o) {
  DpSgd plan;
  NF_TRY(plan.adjacency, parse_adjacency(o.adjacency));
  if (o.sampling == "shuffled") return invalid_argument(kShuffledRefusal);
  if (o.sampling != "poisson" && o.sampling != "fixed-size") {
    return invalid_argument(
        fmt::format("--sampling must be poisson or fixed-size; got {}", noisefloor::shown(o.sampling)));
  }
  plan.fixed_size = o.sampling == "fixed-size";
  if (plan.fixed_size) {
    if (o.batch_size.empty() || o.rows.empty()) {
      return invalid_argument("--sampling fixed-size needs --batch-size and --rows");
    }
    NF_TRY_VOID(sampling_rate(o));
    NF_TRY(const std::uint64_t batch, parse_count("--batch-size", o.batch_size));
    NF_TRY(const std::uint64_t rows, parse_count("--rows", o.rows));
    NF_TRY(plan.batch, Rows::make(batch));
    NF_TRY(plan.rows, Rows::make(rows));
  }
  return plan;
}

void explain_dpsgd(const DpSgd& plan, Question& question) {
  question.sampling = plan.fixed_size ? "fixed-size" : "poisson";
  question.remarks.emplace_back(
      plan.fixed_size
          ? "Batches are uniform subsets of a fixed size. The noise multiplier is sigma divided by the most that "
            "exchanging one record can move the sum (twice the clip norm)."
          : "Each record joins each batch by its own coin. Batches cut from a shuffled list are NOT covered. The "
            "noise multiplier is sigma divided by the clip norm.");
  question.remarks.emplace_back(
      "It covers every step's gradient sum and all that is made of them. It does not cover choosing hyper-parameters "
      "on the "
      "same data, nor statistics computed on the side.");
}

Result<Question> dpsgd_question(const Options& o) {
  NF_TRY(const DpSgd plan, read_dpsgd(o));
  NF_TRY(const double q, sampling_rate(o));
  NF_TRY(const SamplingRate rate, SamplingRate::make(q));
  NF_TRY(const Steps steps, number_of_steps(o, q));
  NF_TRY(const double z, number("--noise-multiplier", o.noise_multiplier));
  NF_TRY(const NoiseMultiplier noise, NoiseMultiplier::make(z));
  NF_TRY(Question question, begin(o, plan.event(rate, noise, steps)));
  question.parameters = {{"sample_rate", q}, {"noise_multiplier", z}, {"steps", steps.value()}};
  warn_about(q, static_cast<double>(steps.value()), question);
  explain_dpsgd(plan, question);
  return question;
}

Result<Steps> count_of(const Options& o) {
  NF_TRY(const std::uint64_t count, parse_count("--count", o.count));
  return Steps::make(count);
}

Result<Question> gaussian_question(const Options& o) {
  NF_TRY(const double z, number("--noise-multiplier", o.noise_multiplier));
  NF_TRY(const NoiseMultiplier noise, NoiseMultiplier::make(z));
  NF_TRY(const Steps count, count_of(o));
  NF_TRY(Question question, begin(o, SelfComposedEvent{count, GaussianEvent{noise}}));
  question.parameters = {{"noise_multiplier", z}, {"count", count.value()}};
  question.remarks.emplace_back("The noise multiplier is sigma divided by the L2 sensitivity under these neighbours.");
  return question;
}

Result<Question> laplace_question(const Options& o) {
  NF_TRY(const double z, number("--noise-multiplier", o.noise_multiplier));
  NF_TRY(const NoiseMultiplier noise, NoiseMultiplier::make(z));
  NF_TRY(const Steps count, count_of(o));
  NF_TRY(Question question, begin(o, SelfComposedEvent{count, LaplaceEvent{noise}}));
  question.parameters = {{"noise_multiplier", z}, {"count", count.value()}};
  question.remarks.emplace_back(
      "The noise multiplier is the Laplace scale divided by the L1 sensitivity: each is 1/multiplier-DP.");
  return question;
}

Result<Question> response_question(const Options& o) {
  NF_TRY(const double e, number("--local-epsilon", o.local_epsilon));
  NF_TRY(const Epsilon epsilon, Epsilon::make(e));
  NF_TRY(const std::uint64_t k, parse_count("--categories", o.categories));
  NF_TRY(const Categories categories, Categories::make(k));
  NF_TRY(const Steps count, count_of(o));
  NF_TRY(Question question, begin(o, SelfComposedEvent{count, RandomizedResponseEvent{epsilon, categories}}));
  question.parameters = {{"local_epsilon", e}, {"categories", k}, {"count", count.value()}};
  question.remarks.emplace_back(
      "All answers of one person together, seen by anyone: the local model, without shuffling.");
  return question;
}

Result<Question> events_question(const Options& o) {
  NF_TRY(const std::string text, read_text(o.input));
  NF_TRY(DpStatement statement, parse_statement(text));
  Question question{std::move(statement), "as the events say", {}, {}, Json::object()};
  question.remarks.emplace_back(
      "The events are taken as they are: whether they describe what was run, they cannot tell.");
  return question;
}

// --- Answers -------------------------------------------------------------------------------------------------------------

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void describe(Report& report, const Question& question) {
  report.set("adjacency", name_of(question.statement.adjacency));
  report.set("unit", name_of(question.statement.unit));
  report.set("sampling", question.sampling);
  report.set("parameters", question.parameters);
  report.set("warnings", question.warnings);
  report.set("statement", Json::parse(to_json(question.statement)));
}

void add_remarks(Report& report, const Question& question, double epsilon) {
  const bool add_remove = question.statement.adjacency == Adjacency::kAddRemove;
  if (std::isfinite(epsilon)) {
    report.remark(
        fmt::format("It says: {} one {}, no outcome becomes more than e^{:.4g} = {:.4g} times as likely, but for "
                    "outcomes of probability delta.",
                    add_remove ? "by adding or removing" : "by exchanging", name_of(question.statement.unit), epsilon,
                    std::exp(epsilon)));
  }
  for (const std::string& remark : question.remarks) report.remark(remark);
  for (const std::string& warning : question.warnings) report.remark("WARNING: " + warning);
}

Result<void> write_curve(const Options& o, const Question& question, Report& report) {
  Chart chart;
  std::string x_name = "delta";
  std::string y_name = "epsilon";
  const std::string neighbours = std::string(name_of(question.statement.adjacency));
  if (o.curve == "epsilon") {
    chart = {"Privacy loss by failure probability",
             "certified bounds, " + neighbours,
             "delta",
             "epsilon",
             true,
             {{}},
             true,
             ""};
    for (int i = 0; i <= 60; ++i) {
      const double delta = std::pow(10.0, -12 + i * 0.2 * 11.0 / 12);
      const Result<Interval> epsilon = pld_epsilon(question.statement.event, question.statement.adjacency,
                                                   Delta::make(std::min(delta, 0.1)).value());
      if (epsilon.has_value() && std::isfinite(epsilon.value().upper)) {
        chart.series.front().points.push_back({std::min(delta, 0.1), epsilon.value().lower, epsilon.value().upper});
      }
    }
  } else if (o.curve == "tradeoff") {
    chart = {"What a test of one record can do",
             "least type II error, certified, " + neighbours,
             "type I error (false alarms)",
             "type II error (misses)",
             false,
             {{}},
             true,
             "perfect privacy: guessing"};
    x_name = "alpha";
    y_name = "beta";
    std::vector<double> alphas;
    for (int i = 0; i <= 100; ++i) alphas.push_back(i / 100.0);
    NF_TRY(const auto curve, tradeoff_curve(question.statement.event, question.statement.adjacency, alphas, 40));
    for (const TradeoffPoint& p : curve) chart.series.front().points.push_back({p.alpha, p.beta_lower, p.beta_upper});
  } else {
    return invalid_argument(fmt::format("--curve must be epsilon or tradeoff; got {}", noisefloor::shown(o.curve)));
  }
  if (chart.series.front().points.size() < 2)
    return invalid_argument("there is no curve: these events have no finite epsilon");
  const std::string prefix = o.output.empty() ? o.curve + "-curve" : o.output;
  NF_TRY_VOID(write_file(prefix + ".csv", to_csv(chart, x_name, y_name)));
  NF_TRY_VOID(write_file(prefix + ".svg", to_svg(chart)));
  report.set("curve", Json{{"kind", o.curve}, {"csv", prefix + ".csv"}, {"svg", prefix + ".svg"}});
  report.line("curve", fmt::format("{0}.csv and {0}.svg", prefix));
  return success();
}

Result<Report> answer_delta(const Options& o, const Question& question) {
  NF_TRY(const double e, number("--epsilon", o.epsilon));
  NF_TRY(const PrivacyLoss epsilon, PrivacyLoss::make(e));
  const auto start = Clock::now();
  NF_TRY(const Interval delta, pld_delta(question.statement.event, question.statement.adjacency, epsilon));
  Report report("Privacy accounting: delta at an epsilon");
  report.set("epsilon", e);
  report.set("delta", interval_json(delta.lower, delta.upper));
  report.set("accountant", "pld");
  report.line("epsilon", shown(e));
  report.line("delta", shown_interval(delta.lower, delta.upper));
  describe(report, question);
  report.set("seconds", seconds_since(start));
  if (!o.curve.empty()) NF_TRY_VOID(write_curve(o, question, report));
  add_remarks(report, question, e);
  return report;
}

Result<Report> answer_all(const Options& o, const Question& question, Delta delta) {
  Report report("Privacy accounting: epsilon by every accountant");
  Json table = Json::array();
  Interval best{0, HUGE_VAL};
  const auto start = Clock::now();
  report.line("delta", shown(delta.value()));
  for (Accountant accountant : all_accountants()) {
    const auto began = Clock::now();
    const Result<AccountantAnswer> answer =
        epsilon_by(accountant, question.statement.event, question.statement.adjacency, delta);
    const std::string name(name_of(accountant));
    if (!answer.has_value()) {
      table.push_back(Json{{"accountant", name}, {"refused", answer.error().message}});
      report.line(name, "- " + answer.error().message);
      continue;
    }
    const AccountantAnswer& a = answer.value();
    if (accountant == Accountant::kPld) best = {a.lower.value_or(0), a.epsilon};
    table.push_back(Json{{"accountant", name},
                         {"epsilon", interval_json(a.lower.value_or(0), a.epsilon)},
                         {"estimate", a.is_estimate},
                         {"how", a.how},
                         {"seconds", seconds_since(began)}});
    report.line(name,
                fmt::format("{:<12} {}{}", std::isfinite(a.epsilon) ? fmt::format("{:.8g}", a.epsilon) : "infinite",
                            a.is_estimate ? "ESTIMATE, no bound: " : "", a.how));
  }
  report.set("epsilon", interval_json(best.lower, best.upper));
  report.set("delta", delta.value());
  report.set("accountant", "all");
  report.set("comparison", table);
  describe(report, question);
  report.set("seconds", seconds_since(start));
  if (!o.curve.empty()) NF_TRY_VOID(write_curve(o, question, report));
  add_remarks(report, question, best.upper);
  return report;
}

Result<Report> answer(const Options& o, const Question& question) {
  if (o.delta.empty() == o.epsilon.empty()) {
    return invalid_argument("give --delta to learn epsilon, or --epsilon to learn delta; one of them");
  }
  if (!o.epsilon.empty()) {
    if (o.accountant != "pld") return invalid_argument("delta at an epsilon is computed by --accountant pld only");
    return answer_delta(o, question);
  }
  NF_TRY(const double d, number("--delta", o.delta));
  NF_TRY(const Delta delta, Delta::make(d));
  if (o.accountant == "all") return answer_all(o, question, delta);
  NF_TRY(const Accountant accountant, parse_accountant(o.accountant));
  const auto start = Clock::now();
  NF_TRY(const AccountantAnswer found,
         epsilon_by(accountant, question.statement.event, question.statement.adjacency, delta));
  const double seconds = seconds_since(start);
  Report report("Privacy accounting: epsilon at a delta");
  report.set("epsilon", interval_json(found.lower.value_or(0), found.epsilon));
  report.set("delta", d);
  report.set("accountant", name_of(accountant));
  report.set("estimate", found.is_estimate);
  report.line("epsilon", found.is_estimate ? fmt::format("{:.8g} (ESTIMATE, no bound)", found.epsilon)
                         : found.lower     ? shown_interval(*found.lower, found.epsilon)
                                           : fmt::format("{:.8g} (an upper bound)", found.epsilon));
  report.line("delta", shown(d));
  report.line("accountant", fmt::format("{}: {}", name_of(accountant), found.how));
  report.line("neighbours",
              fmt::format("one {} {}", name_of(question.statement.unit),
                          question.statement.adjacency == Adjacency::kAddRemove ? "added or removed"
                                                                                : "exchanged for another"));
  if (question.sampling != "none") report.line("sampling", question.sampling);
  describe(report, question);
  report.set("seconds", seconds);
  if (!o.curve.empty()) NF_TRY_VOID(write_curve(o, question, report));
  add_remarks(report, question, found.epsilon);
  return report;
}

// --- Calibration ---------------------------------------------------------------------------------------------------------

// What was solved for, under its name in JSON.
struct Found {
  const char* name = "";
  Json value;
  std::string text;
  Interval epsilon{0, 0};
};

struct Solution {
  Found found;
  Question question;
};

Result<Report> report_solution(const Options& o, const Solution& solution, double seconds) {
  const Found& found = solution.found;
  Report report("Calibration: the best parameter for a budget");
  report.set(found.name, found.value);
  report.set("epsilon", interval_json(found.epsilon.lower, found.epsilon.upper));
  report.set("delta", parse_finite(o.delta).value());
  report.set("target_epsilon", parse_finite(o.epsilon).value());
  report.set("accountant", "pld");
  report.line(found.name, found.text);
  report.line("epsilon", shown_interval(found.epsilon.lower, found.epsilon.upper));
  report.line("delta", o.delta);
  if (solution.question.sampling != "none") report.line("sampling", solution.question.sampling);
  describe(report, solution.question);
  report.set("seconds", seconds);
  add_remarks(report, solution.question, found.epsilon.upper);
  return report;
}

Result<Target> read_target(const Options& o) {
  NF_TRY(const Adjacency adjacency, parse_adjacency(o.adjacency));
  NF_TRY(const double e, number("--epsilon", o.epsilon));
  NF_TRY(const double d, number("--delta", o.delta));
  NF_TRY(const Epsilon epsilon, Epsilon::make(e));
  NF_TRY(const Delta delta, Delta::make(d));
  return Target{adjacency, epsilon, delta};
}

Error unknown_solve(const Options& o, const char* known) {
  return invalid_argument(fmt::format("--solve must be {}; got {}", known, noisefloor::shown(o.solve)));
}

Result<Solution> solve_dpsgd(const Options& o) {
  NF_TRY(const Target target, read_target(o));
  NF_TRY(const DpSgd plan, read_dpsgd(o));
  SamplingRate rate = SamplingRate::of(1);
  Steps steps = Steps::of(1);
  NoiseMultiplier noise = NoiseMultiplier::of(1);
  if (o.solve != "sample-rate") {
    NF_TRY(const double q, sampling_rate(o));
    NF_TRY(rate, SamplingRate::make(q));
  }
  if (o.solve != "steps") {
    if (o.solve == "sample-rate" && o.steps.empty()) return invalid_argument("--solve sample-rate needs --steps");
    NF_TRY(steps, number_of_steps(o, rate.value()));
  }
  if (o.solve != "noise-multiplier") {
    NF_TRY(const double z, number("--noise-multiplier", o.noise_multiplier));
    NF_TRY(noise, NoiseMultiplier::make(z));
  }
  Found solution;
  if (o.solve == "noise-multiplier") {
    NF_TRY(const auto best, calibrate_noise(target, [&](NoiseMultiplier z) { return plan.event(rate, z, steps); }));
    noise = best.value;
    solution = {"noise_multiplier", noise.value(),
                fmt::format("{:.9g} (the least that keeps the budget)", noise.value()), best.epsilon};
  } else if (o.solve == "steps") {
    NF_TRY(const auto best, calibrate_steps(target, [&](Steps t) { return plan.event(rate, noise, t); }));
    steps = best.value;
    solution = {"steps", steps.value(), fmt::format("{} (the most within the budget)", steps.value()), best.epsilon};
  } else if (o.solve == "sample-rate") {
    if (plan.fixed_size) return invalid_argument("--solve sample-rate is for --sampling poisson");
    NF_TRY(const auto best, calibrate_rate(target, [&](SamplingRate q) { return plan.event(q, noise, steps); }));
    rate = best.value;
    solution = {"sample_rate", rate.value(), fmt::format("{:.9g} (the largest within the budget)", rate.value()),
                best.epsilon};
  } else {
    return unknown_solve(o, "noise-multiplier, steps or sample-rate");
  }
  NF_TRY(Question question, begin(o, plan.event(rate, noise, steps)));
  question.parameters = {{"sample_rate", rate.value()}, {"noise_multiplier", noise.value()}, {"steps", steps.value()}};
  warn_about(rate.value(), static_cast<double>(steps.value()), question);
  explain_dpsgd(plan, question);
  return Solution{std::move(solution), std::move(question)};
}

// Repeated noise of one kind: solve for the noise or for the number of queries.
template <class Event>
Result<Solution> solve_repeated(const Options& o) {
  NF_TRY(const Target target, read_target(o));
  Found solution;
  Steps count = Steps::of(1);
  NoiseMultiplier noise = NoiseMultiplier::of(1);
  const auto event = [](Steps k, NoiseMultiplier z) { return SelfComposedEvent{k, Event{z}}; };
  if (o.solve == "noise-multiplier") {
    NF_TRY(count, count_of(o));
    NF_TRY(const auto best, calibrate_noise(target, [&](NoiseMultiplier z) -> DpEvent { return event(count, z); }));
    noise = best.value;
    solution = {"noise_multiplier", noise.value(),
                fmt::format("{:.9g} (the least that keeps the budget)", noise.value()), best.epsilon};
  } else if (o.solve == "steps" || o.solve == "count") {
    NF_TRY(const double z, number("--noise-multiplier", o.noise_multiplier));
    NF_TRY(noise, NoiseMultiplier::make(z));
    NF_TRY(const auto best, calibrate_steps(target, [&](Steps k) -> DpEvent { return event(k, noise); }));
    count = best.value;
    solution = {"count", count.value(), fmt::format("{} (the most queries within the budget)", count.value()),
                best.epsilon};
  } else {
    return unknown_solve(o, "noise-multiplier or count");
  }
  NF_TRY(Question question, begin(o, event(count, noise)));
  question.parameters = {{"noise_multiplier", noise.value()}, {"count", count.value()}};
  return Solution{std::move(solution), std::move(question)};
}

// --- Declarations --------------------------------------------------------------------------------------------------------

void declare_delta_or_epsilon(CLI::App& command, Options& o) {
  command.add_option("--delta", o.delta, "Failure probability: asks for epsilon")->type_name("D")->group("Question");
  command.add_option("--epsilon", o.epsilon, "Privacy loss: asks for delta")->type_name("E")->group("Question");
  command
      .add_option("--accountant", o.accountant, "pld (certified), rdp, zcdp, gdp, basic, advanced, or all to compare")
      ->type_name("NAME")
      ->capture_default_str()
      ->group("Question");
  command.add_option("--curve", o.curve, "Write a curve as CSV and SVG: epsilon (over delta) or tradeoff")
      ->type_name("KIND")
      ->group("Output");
  command.add_option("--output", o.output, "Where the curve goes: PREFIX.csv and PREFIX.svg")
      ->type_name("PREFIX")
      ->group("Output");
}

void declare_neighbours(CLI::App& command, Options& o) {
  add_adjacency_option(command, o.adjacency);
  add_unit_option(command, o.unit);
}

void declare_dpsgd(CLI::App& command, Options& o) {
  command.add_option("--sample-rate", o.sample_rate, "Probability that a record joins a batch")->type_name("Q");
  command.add_option("--batch-size", o.batch_size, "Instead of a rate: (expected) records in a batch")->type_name("B");
  command.add_option("--rows", o.rows, "Instead of a rate: records in the data set")->type_name("N");
  command.add_option("--noise-multiplier", o.noise_multiplier, "Sigma divided by the clip norm")->type_name("S");
  command.add_option("--steps", o.steps, "Number of batches")->type_name("T");
  command.add_option("--epochs", o.epochs, "Instead of steps: passes over the data")->type_name("K");
  command.add_option("--sampling", o.sampling, "poisson or fixed-size (replace-one, without replacement)")
      ->type_name("HOW")
      ->capture_default_str();
}

void declare_noise(CLI::App& command, Options& o) {
  command.add_option("--noise-multiplier", o.noise_multiplier, "Noise scale divided by the sensitivity")
      ->type_name("S");
  command.add_option("--count", o.count, "How many releases")->type_name("K")->capture_default_str();
}

template <Result<Question> (*Ask)(const Options&)>
Result<Report> run_account(const Options& o) {
  NF_TRY(const Question question, Ask(o));
  return answer(o, question);
}

template <Result<Solution> (*Solve)(const Options&)>
Result<Report> run_calibrate(const Options& o) {
  const auto start = Clock::now();
  NF_TRY(const Solution solution, Solve(o));
  return report_solution(o, solution, seconds_since(start));
}

template <void (*Declare)(CLI::App&, Options&)>
void declare_account(CLI::App& command, Options& o) {
  Declare(command, o);
  declare_neighbours(command, o);
  declare_delta_or_epsilon(command, o);
}

template <void (*Declare)(CLI::App&, Options&)>
void declare_calibrate(CLI::App& command, Options& o) {
  Declare(command, o);
  declare_neighbours(command, o);
  command.add_option("--epsilon", o.epsilon, "The budget")->required()->type_name("E")->group("Target");
  command.add_option("--delta", o.delta, "Failure probability")->required()->type_name("D")->group("Target");
  command.add_option("--solve", o.solve, "What to find: noise-multiplier, steps (or count), sample-rate")
      ->type_name("WHAT")
      ->capture_default_str()
      ->group("Target");
}

void declare_response(CLI::App& command, Options& o) {
  command.add_option("--local-epsilon", o.local_epsilon, "Epsilon of one answer")->required()->type_name("E");
  command.add_option("--categories", o.categories, "Number of possible answers")->type_name("K")->capture_default_str();
  command.add_option("--count", o.count, "Answers that one person gives")->type_name("N")->capture_default_str();
}

void declare_events(CLI::App& command, Options& o) {
  command.add_option("--input", o.input, "A statement as JSON (docs/formats/event.md); - is standard input")
      ->required()
      ->type_name("FILE");
  declare_delta_or_epsilon(command, o);
}

}  // namespace

void add_account_command(CLI::App& app, Action& action) {
  CLI::App* account =
      app.add_subcommand("account", "What a plan costs: certified epsilon at delta, or delta at epsilon");
  account->require_subcommand(1);
  add_command<Options>(*account, action, "dpsgd", "Private training: noisy gradient sums over sampled batches",
                       "--sample-rate 0.01 --noise-multiplier 1 --steps 1000 --delta 1e-5 --accountant all",
                       declare_account<declare_dpsgd>, run_account<dpsgd_question>);
  add_command<Options>(*account, action, "gaussian", "Gaussian noise, once or many times",
                       "--noise-multiplier 1 --count 1000 --delta 1e-5", declare_account<declare_noise>,
                       run_account<gaussian_question>);
  add_command<Options>(*account, action, "laplace", "Laplace noise, once or many times",
                       "--noise-multiplier 10 --count 100 --delta 1e-6", declare_account<declare_noise>,
                       run_account<laplace_question>);
  add_command<Options>(*account, action, "randomized-response", "Randomized answers of one person",
                       "--local-epsilon 0.1 --count 100 --delta 1e-6", declare_account<declare_response>,
                       run_account<response_question>);
  add_command<Options>(*account, action, "events", "Any composition, as a statement in JSON",
                       "--input run.json --delta 1e-6", declare_events, run_account<events_question>);
}

void add_calibrate_command(CLI::App& app, Action& action) {
  CLI::App* calibrate = app.add_subcommand("calibrate", "Which noise, steps or sampling rate fit a budget");
  calibrate->require_subcommand(1);
  add_command<Options>(*calibrate, action, "dpsgd", "Private training",
                       "--sample-rate 0.01 --steps 10000 --epsilon 8 --delta 1e-5", declare_calibrate<declare_dpsgd>,
                       run_calibrate<solve_dpsgd>);
  add_command<Options>(*calibrate, action, "gaussian", "Gaussian noise", "--count 10 --epsilon 1 --delta 1e-6",
                       declare_calibrate<declare_noise>, run_calibrate<solve_repeated<GaussianEvent>>);
  add_command<Options>(*calibrate, action, "laplace", "Laplace noise", "--count 10 --epsilon 1 --delta 1e-6",
                       declare_calibrate<declare_noise>, run_calibrate<solve_repeated<LaplaceEvent>>);
}

}  // namespace noisefloor::cli
